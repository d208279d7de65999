"""Runs a sweep: hands cells that have no row yet to an engine, and puts the rows that come back into the store."""

from __future__ import annotations

import json
import math
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, Self

from datafeeds import MarketPanel
from tracker_strategies._fingerprint import code_version
from tracker_strategies.analysis.inference.objectives import OBJECTIVES
from tracker_strategies.errors import ParameterError
from tracker_strategies.research.sweeps.asking.cells import Cell, Data
from tracker_strategies.research.sweeps.asking.refusing import checked_panels
from tracker_strategies.research.sweeps.asking.space import Candidate
from tracker_strategies.research.sweeps.asking.spec import Context, Sweep
from tracker_strategies.research.sweeps.asking.values import as_json
from tracker_strategies.research.sweeps.running.crew import CELL_SECONDS, Allowance
from tracker_strategies.research.sweeps.running.engines import Engine, engine_for
from tracker_strategies.research.sweeps.running.store import Store, read_batches
from tracker_strategies.research.sweeps.running.summary import Summary as Summary
from tracker_strategies.research.sweeps.running.worker import Row


class Watcher(Protocol):
    """Is notified of the progress of a sweep."""

    def begin(self, total: int, done: int) -> None:
        """Number of cells, and how many of them were done before."""

    def row(self, row: Row) -> None:
        """One more row is finished."""

    def stopping(self) -> None:
        """The sweep is stopping: it finishes the running cells."""


class Unwatched:
    """A watcher that ignores everything."""

    def begin(self, total: int, done: int) -> None:
        """Nothing."""

    def row(self, row: Row) -> None:
        """Nothing."""

    def stopping(self) -> None:
        """Nothing."""


class Progress:
    """Runs lists of cells and keeps count."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        total: int,
        watcher: Watcher,
        interrupts: Interrupts | None = None,
        *,
        retry: bool = False,
    ) -> None:
        self.store, self.engine, self.watcher, self.total = store, engine, watcher, total
        self._interrupts = interrupts or Interrupts(watcher)
        self._interrupts.engine = engine
        self.code = code_version()
        self._stored, self._seen = store.done(retry=retry), set[str]()
        self.before = self.ran = self.failed = self.failed_before = 0
        watcher.begin(total, 0)

    def run(self, cells: Iterable[Cell], on_row: Callable[[Row], None] | None = None) -> None:
        """Run those that have no row yet; a cell that is described twice is run once."""
        with closing(self.engine.run(self._new(cells))) as rows:  # type: ignore[type-var]
            for row in rows:
                self.store.add(row)
                self.ran += 1
                self.failed += row["status"] != "ok"
                self.watcher.row(row)
                if on_row is not None:
                    on_row(row)
        if self._interrupts.asked:
            raise KeyboardInterrupt

    def _new(self, cells: Iterable[Cell]) -> Iterator[Cell]:
        for cell in cells:
            key = cell.key(self.code)
            if key in self._seen:
                continue
            self._seen.add(key)
            if key in self._stored:
                self.before += 1
                self.failed_before += not self._stored[key]
                self.watcher.begin(self.total, self.before)
            else:
                yield cell

    def summary(self, *, stopped: bool = False) -> Summary:
        """So far."""
        return Summary(self.store.folder, self.total, self.before, self.ran, self.failed, stopped, self.failed_before)


def run_sweep(
    sweep: Sweep,
    folder: str | Path,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    watcher: Watcher | None = None,
    extend: bool = False,
    retry: bool = False,
    cell_seconds: float = CELL_SECONDS,
    cell_memory: float | None = None,
    panels: Mapping[Data, MarketPanel] | None = None,
) -> Summary:
    """Run all cells of a sweep that have no row in ``folder`` yet.

    Parameters
    ----------
    sweep : Sweep
    folder : path
        Where ``sweep.json`` and the rows are kept; see :mod:`~tracker_strategies.research.sweeps.running.store`.
    jobs : int, optional
        Processes of this machine; all cores by default.
    scheduler : str, optional
        Address of a Dask scheduler, instead.
    watcher : Watcher, optional
        Called with every row.
    extend : bool, default False
        Add to another sweep in the same folder.
    retry : bool, default False
        Run failed cells again.
    cell_seconds : float, default 3600
        A cell that takes longer is stopped, and is a failed row.
    cell_memory : float, optional
        Gigabytes that a cell may take; by default the machine's memory divided by its processes.
    panels : mapping, optional
        The sweep's panels, where they have been opened before: as :func:`~..asking.refusing.checked_panels` returns them.

    Returns
    -------
    Summary
        With ``stopped`` set if Ctrl-C or SIGTERM ended it early: what is finished is kept.

    Raises
    ------
    ParameterError, DataError, OutputError, WorkerError
        Before anything runs when the request makes no sense; later when the disk is full or the cluster goes away, with all
        finished rows kept.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space, Sweep, run_sweep
    >>> sweep = Sweep(Space(("pa",), {"eps": (1e-4, 3e-4)}), data=("synthetic:n_assets=5,n_bars=120",))
    >>> run_sweep(sweep, "sweep", jobs=1).total
    3
    """
    allowance = Allowance.of(cell_seconds, cell_memory)
    if sweep.search == "tpe":
        raise ParameterError(
            "search=tpe chooses parameters fold by fold: use it with 'tracker tune'; a sweep takes grid, random or halving"
        )
    panels = checked_panels(sweep) if panels is None else panels
    contexts = list(sweep.contexts(panels))
    total = count_cells(sweep, contexts)
    watcher, progress = watcher or Unwatched(), None
    told = description(sweep.tell(), total, panels)
    with Store(folder, told, extend=extend) as store, Interrupts(watcher) as interrupts:
        try:
            with engine_for(panels, jobs=jobs, scheduler=scheduler, allowance=allowance) as engine:
                progress = Progress(store, engine, total, watcher, interrupts, retry=retry)
                count_others(store, told, (context.cell(c, sweep) for context in contexts for c in sweep.candidates()))
                if sweep.search == "halving":
                    run_halving(sweep, contexts, progress)
                else:
                    progress.run(context.cell(c, sweep) for context in contexts for c in sweep.candidates())
        except KeyboardInterrupt:
            return progress.summary(stopped=True) if progress else Summary(store.folder, total, 0, 0, 0, True)
    return progress.summary()


def count_cells(sweep: Sweep, contexts: list[Context]) -> int:
    """Cells in all, those counted once that are described twice."""
    own = len({_name(c) for c in sweep.candidates()})
    if sweep.search != "halving":
        return own * len(contexts)
    sizes = [own - len(set(sweep.baselines))]
    while len(sizes) < sweep.halving.rungs:
        sizes.append(sweep.halving.survivors(sizes[-1]))
    return (sum(sizes) + len(set(sweep.baselines))) * len(contexts)


def count_others(store: Store, told: dict[str, Any], cells: Iterable[Cell]) -> None:
    """Write ``sweep.json`` where a sweep was before; its ``cells`` count rows too that another has left: all of them are trials.
    ``cells`` are those of this sweep, as far as they are known.
    """
    if store.before is None:
        return
    if (store.before["asked"], store.before["code"]) == (json.loads(json.dumps(told["asked"])), told["code"]):
        others = max(0, store.before["cells"] - told["cells"])
    else:
        others = len(store.done_by(told["code"]) - {cell.key(told["code"]) for cell in cells})
    store.describe(told | {"cells": told["cells"] + others})


def run_halving(sweep: Sweep, contexts: list[Context], progress: Progress) -> None:
    """Rounds of the successive halving; baselines have all bars at once."""
    objective, halving = OBJECTIVES[sweep.objective], sweep.halving
    base = [Candidate(name) for name in dict.fromkeys(sweep.baselines)]
    progress.run(context.cell(c, sweep) for context in contexts for c in base)
    every = {_name(c): c for c in sweep.candidates()}
    for c in base:
        del every[_name(c)]
    groups: dict[tuple[Any, ...], list[Context]] = {}
    for context in contexts:
        groups.setdefault((context.data.source, context.costs, context.fill, context.window.part), []).append(context)
    field = {group: list(every.values()) for group in groups}
    for rung, fraction in enumerate(halving.fractions()):
        place = {context: replace(context, window=context.window.cut(fraction, rung)) for context in contexts}
        progress.run(place[at].cell(c, sweep) for group, own in groups.items() for at in own for c in field[group])
        if rung == halving.rungs - 1:
            return
        progress.store.flush()
        scores = {key: objective.better(value) for key, value in _scores(progress.store.folder, objective.name)}
        for group, own in groups.items():
            ranked = []
            for c in field[group]:
                keys = [place[at].cell(c, sweep).key(progress.code) for at in own]
                ranked.append((sum(scores.get(key, math.inf) for key in keys), keys[0], c))
            ranked.sort(key=lambda entry: entry[:2])
            field[group] = [c for *_, c in ranked[: halving.survivors(len(ranked))]]


def _name(candidate: Candidate) -> tuple[str, str]:
    return candidate.strategy, as_json(candidate.params)


def _scores(folder: Path, name: str) -> Iterator[tuple[str, float]]:
    for batch in read_batches(folder, ("key", "status", name)):
        for key, status, value in zip(*(batch[c].to_pylist() for c in ("key", "status", name)), strict=True):
            if status == "ok":
                yield key, value


def description(asked: dict[str, Any], total: int, panels: Iterable[Data] = ()) -> dict[str, Any]:
    """``sweep.json``: what was asked for, how much that is, on which prices, by which code."""
    return {
        "asked": asked,
        "cells": total,
        "data": {data.source: data.sha for data in panels if data.sha},
        "code": code_version(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


class Interrupts:
    """Ctrl-C, and SIGTERM as batch systems send it: the first asks the engine to finish what is under way, the second does not
    ask. Either ends as a KeyboardInterrupt.
    """

    def __init__(self, watcher: Watcher) -> None:
        self.engine: Engine | None = None
        self.asked = False
        self._watcher = watcher
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._heard) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _heard(self, *_: Any) -> None:
        first, self.asked = not self.asked, True
        if first and self.engine is not None and self.engine.drain():
            self._watcher.stopping()
            return
        raise KeyboardInterrupt
