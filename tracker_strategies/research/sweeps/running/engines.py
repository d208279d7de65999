"""Who runs the cells: processes of this machine (joblib), or a Dask cluster. Rows come back in the order they are finished."""

from __future__ import annotations

import asyncio
import logging
import math
import pickle
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Protocol, Self

from datafeeds import MarketPanel
from tracker_strategies._fingerprint import code_version
from tracker_strategies.errors import MissingExtraError, OutputError, ParameterError
from tracker_strategies.research.sweeps.asking.cells import Cell, Data
from tracker_strategies.research.sweeps.errors import WorkerError
from tracker_strategies.research.sweeps.running.worker import (
    Row,
    describe,
    drop_panels,
    evaluate,
    failed,
    keep_panels,
    one_thread,
    run_in_pool,
    run_on_cluster,
    version_words,
)

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


def engine_for(panels: Mapping[Data, MarketPanel], *, jobs: int | None = None, scheduler: str | None = None) -> Engine:
    """Dask if there is a scheduler, else ``jobs`` processes of this machine; all cores by default."""
    shipped = {data.sha: panel for data, panel in panels.items() if not data.synthetic}
    if scheduler is not None:
        if jobs is not None:
            raise ParameterError("jobs and scheduler exclude each other: a cluster has the workers that were started for it")
        return DaskEngine(scheduler, shipped)
    return LocalEngine(jobs, shipped)


class LocalEngine:
    """Processes of this machine, through joblib; in this very process when there is only one.

    Panels are written to a temporary folder once and read by each process once. Each process computes with one thread.
    """

    def __init__(self, jobs: int | None, panels: Mapping[str, MarketPanel]) -> None:
        import joblib

        self._jobs = joblib.cpu_count() if jobs is None else jobs
        if isinstance(self._jobs, bool) or not isinstance(self._jobs, int) or self._jobs < 1:
            raise ParameterError(f"jobs={jobs!r} must be a number of processes >= 1")
        self._panels = dict(panels)
        self._draining = False
        self._shelf: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        if self._jobs == 1:
            keep_panels(self._panels)
        else:
            self._shelf = tempfile.TemporaryDirectory(prefix="tracker-sweep-", ignore_cleanup_errors=True)
            try:
                for name, panel in self._panels.items():
                    with Path(self._shelf.name, name).open("wb") as file:
                        pickle.dump(panel, file, protocol=pickle.HIGHEST_PROTOCOL)
            except OSError as problem:
                self._shelf.cleanup()
                where = tempfile.gettempdir()
                raise OutputError(
                    f"cannot put the prices into {where} for the processes: {problem.strerror}; make room or set TMPDIR"
                ) from None
        return self

    def __exit__(self, *_: Any) -> None:
        if self._shelf is None:
            drop_panels(list(self._panels))
        else:
            self._shelf.cleanup()

    def run(self, cells: Iterable[Cell]) -> Iterator[Row]:
        """See :class:`Engine`."""
        code = code_version()
        if self._jobs == 1:
            yield from self._here(cells, code)
            return
        import joblib
        from joblib.externals.loky.process_executor import BrokenProcessPool

        assert self._shelf is not None
        shelf = self._shelf.name
        with joblib.parallel_config(backend="loky", n_jobs=self._jobs, inner_max_num_threads=1, idle_worker_timeout=60):
            pool = joblib.Parallel(return_as="generator_unordered", pre_dispatch="2 * n_jobs")
            rows = pool(joblib.delayed(run_in_pool)(cell, code, shelf) for cell in takewhile(lambda _: not self._draining, cells))
        try:
            for row in rows:  # noqa: UP028 - `yield from` would close the pool with this generator, and kill its processes
                yield row
        except BrokenProcessPool:
            raise WorkerError(
                "a worker process died, perhaps for want of memory; finished rows are kept. Run the same command to go on, with "
                "fewer --jobs if memory was short"
            ) from None
        finally:  # whoever takes no more rows lets the processes finish what they have, rather than kill them
            self._draining = True
            for _ in rows:
                pass
            self._draining = False

    def drain(self) -> bool:
        """A pool that is interrupted takes its processes down with it: better to let them finish what they have."""
        self._draining = self._jobs > 1
        return self._draining

    def _here(self, cells: Iterable[Cell], code: str) -> Iterator[Row]:
        with one_thread():
            for cell in cells:
                yield evaluate(cell, code)


class DaskEngine:
    """The workers of a Dask scheduler, which may come and go.

    Panels travel as a worker plugin: the scheduler hands them to every worker once, to those that join later too, and they need
    no replica to survive. A cell whose worker dies is run again on another by the scheduler.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://10.0.0.5:8786``.
    panels : mapping of fingerprint to panel
    """

    def __init__(self, address: str, panels: Mapping[str, MarketPanel]) -> None:
        try:
            import distributed
        except ImportError:
            raise MissingExtraError("--scheduler needs Dask: pip install 'backtrader-index-tracker[cluster]'") from None
        self._dask, self._address, self._panels = distributed, address, dict(panels)
        self._client: Any = None
        self._plugin = ""

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
            if self._panels:
                self._plugin = f"tracker-panels-{uuid.uuid4().hex}"
                self._client.register_plugin(_shelf_plugin(self._panels), name=self._plugin)
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
                raise WorkerError(f"worker {who} cannot import the package ({theirs}); install the same on all machines")
            if theirs != ours:
                raise WorkerError(version_words(who, theirs, ours))

    def __exit__(self, *_: Any) -> None:
        client, self._client = self._client, None
        if client is None:
            return
        try:
            if self._plugin and client.status == "running":
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
            futures = self._client.map(run_on_cluster, batches, code=code, key=f"cells-{uuid.uuid4().hex}", pure=False)
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
        return WorkerError(f"the scheduler at {self._address} went away; finished rows are kept. Run the same command to go on")

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
        raise WorkerError(f"a worker could not run a cell ({type(problem).__name__}: {problem}); is the package installed there?")


def _shelf_plugin(panels: Mapping[str, MarketPanel]) -> Any:
    """A worker plugin that puts panels on the shelf of every worker process."""
    from tracker_strategies.research.sweeps.running._dask_shelf import Shelf

    return Shelf(dict(panels))
