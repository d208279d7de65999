"""Who runs the cells: processes of this machine, or a Dask cluster. Rows come back in the order they are finished."""

from __future__ import annotations

import asyncio
import logging
import math
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Protocol, Self

from datafeeds import MarketPanel
from tracker_strategies._fingerprint import code_version
from tracker_strategies.errors import MissingExtraError, ParameterError
from tracker_strategies.research.sweeps.asking.cells import Cell, Data
from tracker_strategies.research.sweeps.errors import WorkerError
from tracker_strategies.research.sweeps.running.crew import Allowance, Crew
from tracker_strategies.research.sweeps.running.dask_worker import run_on_cluster, version_words
from tracker_strategies.research.sweeps.running.shelf import Shelf
from tracker_strategies.research.sweeps.running.worker import Row, describe, failed

#: Seconds to wait for a scheduler, and for its first worker.
PATIENCE = 10.0
#: Short cells go to a cluster together, so many that a task takes about this long: a task costs the scheduler milliseconds.
TASK_SECONDS, MOST_TOGETHER = 0.1, 64


class Engine(Protocol):
    """A context in which cells become rows."""

    def __enter__(self) -> Self:
        """Get ready; ship the panels."""

    def __exit__(self, *_: Any) -> None:
        """Stop what still runs."""

    def run(self, cells: Iterable[Cell]) -> Iterator[Row]:
        """Rows in the order in which they are finished. Cells are asked for as there is room for them."""

    def drain(self) -> bool:
        """Take no more cells and finish those under way, if that is better than to be interrupted; False if it is not."""


def engine_for(
    panels: Mapping[Data, MarketPanel],
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    allowance: Allowance | None = None,
) -> Engine:
    """Dask if there is a scheduler, else ``jobs`` processes of this machine; all cores by default."""
    shipped = {data.sha: panel for data, panel in panels.items() if not data.synthetic}
    if scheduler is not None:
        if jobs is not None:
            raise ParameterError(
                "jobs and scheduler cannot be combined: a cluster uses the workers that were started for it; omit one of them"
            )
        return DaskEngine(scheduler, shipped, allowance)
    return LocalEngine(jobs, shipped, allowance)


class LocalEngine:
    """Processes of this machine, each of which may die of its cell: see :mod:`~.crew`. Each computes with one thread."""

    def __init__(self, jobs: int | None, panels: Mapping[str, MarketPanel], allowance: Allowance | None = None) -> None:
        import joblib

        self._jobs = joblib.cpu_count() if jobs is None else jobs
        if isinstance(self._jobs, bool) or not isinstance(self._jobs, int) or self._jobs < 1:
            raise ParameterError(f"jobs={jobs!r} must be a number of processes >= 1")
        self._panels, self._allowance = dict(panels), allowance or Allowance()
        self._draining = False
        self._shelf: Shelf | None = None

    def __enter__(self) -> Self:
        self._shelf = Shelf(self._panels)
        return self

    def __exit__(self, *_: Any) -> None:
        assert self._shelf is not None
        self._shelf.remove()

    def run(self, cells: Iterable[Cell], *, whole: bool = False) -> Iterator[Row]:
        """See :class:`Engine`. With ``whole``, rows hold the records of their runs instead of figures."""
        assert self._shelf is not None
        crew = Crew(
            self._jobs, code_version(), self._shelf.path, self._allowance, whole=whole, goes_on=lambda: not self._draining
        )
        return crew.run(cells)

    def drain(self) -> bool:
        """What is under way is worth finishing."""
        self._draining = True
        return True


class DaskEngine:
    """The workers of a Dask scheduler, which may come and go.

    Panels travel as a worker plugin: the scheduler hands them to every worker once, to those that join later too, and they need
    no replica to survive. A worker runs its cells in a process beside it, so that a cell takes down neither the worker nor the
    cells that travel with it. A cell whose worker dies is run again on another by the scheduler.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://10.0.0.5:8786``.
    panels : mapping of fingerprint to panel
    allowance : Allowance
        What a cell may take.
    """

    def __init__(self, address: str, panels: Mapping[str, MarketPanel], allowance: Allowance | None = None) -> None:
        try:
            import distributed
        except ImportError:
            raise MissingExtraError("--scheduler needs Dask: pip install 'backtrader-index-tracker[cluster]'") from None
        self._dask, self._address, self._panels = distributed, address, dict(panels)
        self._allowance = allowance or Allowance()
        self._client: Any = None
        self._plugin = f"tracker-panels-{uuid.uuid4().hex}"

    def __enter__(self) -> Self:
        self._knock()
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what it would tell, the errors below tell
        try:
            self._client = self._dask.Client(self._address, timeout=PATIENCE, set_as_default=False)
            try:
                self._client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise WorkerError(
                    f"the scheduler at {self._address} has no workers; start some: dask worker {self._address}"
                ) from None
            self._check_versions()
            self._client.register_plugin(_shelf_plugin(self._plugin, self._panels), name=self._plugin)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _knock(self) -> None:
        """Speak to the scheduler once before a client does, which would be slow to give up."""

        async def handshake() -> None:
            safety = self._dask.Security().get_connection_args("client")
            comm = await self._dask.comm.connect(self._address, timeout=PATIENCE, **safety)
            await comm.close()

        try:
            asyncio.run(asyncio.wait_for(handshake(), PATIENCE + 1.0))
        except Exception as problem:  # whatever a stranger at that address answers, or does not
            words = " ".join(f"{problem}".split()) or "no answer"
            raise WorkerError(
                f"no Dask scheduler answers at {self._address} ({words[:160]}); start one: dask scheduler"
            ) from None

    def _check_versions(self) -> None:
        """Every worker must have this very package, or its rows would be another's."""
        ours = code_version()
        for who, theirs in self._client.run(code_version, on_error="return").items():
            if isinstance(theirs, BaseException):
                raise WorkerError(f"worker {who} cannot import the package ({theirs}); install the same version on all machines")
            if theirs != ours:
                raise WorkerError(version_words(who, theirs, ours))

    def __exit__(self, *_: Any) -> None:
        client, self._client = self._client, None
        if client is None:
            return
        try:
            if client.status == "running":
                client.unregister_worker_plugin(self._plugin)
        except Exception:
            pass  # the cluster is gone, and its shelves with it
        finally:
            client.close(timeout=2)

    def run(self, cells: Iterable[Cell]) -> Iterator[Row]:
        """See :class:`Engine`."""
        code, source = code_version(), iter(cells)
        waiting: dict[Any, list[Cell]] = {}
        finished = self._dask.as_completed(loop=self._client.loop, with_results=True, raise_errors=False)
        room, asked, size = 0, -math.inf, 1

        def send(batches: list[list[Cell]]) -> None:
            terms = {"code": code, "plugin": self._plugin, "allowance": self._allowance}
            futures = self._client.map(run_on_cluster, batches, key=f"cells-{uuid.uuid4().hex}", pure=False, **terms)
            waiting.update(zip(futures, batches, strict=True))
            finished.update(futures)

        try:
            while True:
                if time.monotonic() - asked > 5.0:  # workers come and go
                    room, asked = max(16, 4 * sum(self._client.nthreads().values())), time.monotonic()
                new = [taken for _ in range(room - len(waiting)) if (taken := list(islice(source, size)))]
                if new:
                    send(new)
                if not waiting:
                    return
                for future, result in finished.next_batch():
                    batch, status = waiting.pop(future), future.status
                    future.release()
                    if status == "error" and len(batch) > 1 and isinstance(result[1], self._dask.scheduler.KilledWorker):
                        send([[cell] for cell in batch])  # one of them kills workers; the others need not suffer
                        continue
                    rows = self._rows(status, result, batch, code)
                    spent = sum(row["seconds"] for row in rows) / len(rows)
                    size = min(MOST_TOGETHER, max(1, round(TASK_SECONDS / max(spent, 1e-6))))
                    yield from rows
        except (OSError, self._dask.client.FutureCancelledError):  # of Dask: the connection is gone
            raise self._gone() from None
        finally:
            if waiting and self._client is not None and self._client.status == "running":
                self._client.cancel(list(waiting), force=True)

    def drain(self) -> bool:
        """What a cluster has not begun is cancelled at once."""
        return False

    def _gone(self) -> WorkerError:
        return WorkerError(
            f"the connection to the scheduler at {self._address} was lost; finished rows are kept. "
            "Run the same command to continue"
        )

    def _rows(self, status: str, result: Any, batch: list[Cell], code: str) -> list[Row]:
        if status == "finished":
            rows: list[Row] = result
            return rows
        if status != "error":  # cancelled or lost, and nobody here has cancelled it
            raise self._gone()
        _, problem, _ = result
        if isinstance(problem, WorkerError):
            raise problem from None
        if isinstance(problem, self._dask.scheduler.KilledWorker):
            return [failed(describe(cell, code), problem) for cell in batch]
        raise WorkerError(
            f"a worker could not run a cell ({type(problem).__name__}: {problem}); check that the package is installed there"
        )


def _shelf_plugin(name: str, panels: Mapping[str, MarketPanel]) -> Any:
    """A worker plugin that puts panels on a shelf of every worker."""
    from tracker_strategies.research.sweeps.running._dask_shelf import ShelfPlugin

    return ShelfPlugin(name, dict(panels))
