"""What happens to a cell in a worker process: find the panel, run, return a row. Engines and records never leave the process."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from datafeeds import MarketPanel
from tracker_strategies._fingerprint import code_version
from tracker_strategies.analysis.metrics import METRIC_KEYS
from tracker_strategies.analysis.pages.words import why_unscored
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import DataError
from tracker_strategies.research import replay
from tracker_strategies.research.sweeps.asking.cells import Cell, Data
from tracker_strategies.research.sweeps.asking.values import as_json
from tracker_strategies.research.sweeps.errors import WorkerError
from tracker_strategies.runner import backtest

Row = dict[str, Any]
_SHIPPED: dict[str, MarketPanel] = {}
_USERS: Counter[str] = Counter()
_NO_PATH = np.zeros(0, dtype=np.float32)


def keep_panels(panels: Mapping[str, MarketPanel]) -> None:
    """Put shipped panels on this process's shelf, by fingerprint; cells find them there."""
    _SHIPPED.update(panels)
    _USERS.update(panels.keys())


def drop_panels(names: Iterable[str]) -> None:
    """Take them off again, but for those that another sweep on the same worker has put there too."""
    for name in names:
        _USERS[name] -= 1
        if _USERS[name] <= 0:
            _SHIPPED.pop(name, None)
    _drawn.cache_clear()
    _window.cache_clear()


def run_in_pool(cell: Cell, code: str, shelf: str) -> Row:
    """Run a cell in a process of the driver's machine. ``shelf`` is a folder with pickled panels; each is read once a process."""
    _single_threaded()
    _deaf_to_interrupts()
    if not cell.data.synthetic and cell.data.sha not in _SHIPPED:
        with Path(shelf, cell.data.sha).open("rb") as file:
            keep_panels({cell.data.sha: pickle.load(file)})
    return evaluate(cell, code)


def run_on_cluster(cells: Sequence[Cell], code: str) -> list[Row]:
    """Run cells in a worker of a cluster, which has had its panels since it joined.

    Raises
    ------
    WorkerError
        When this process runs another version of the package than the driver, whose version is ``code``: it must not answer.
    """
    if code != code_version():
        raise WorkerError(version_words(f"{socket.gethostname()}:{os.getpid()}", code_version(), code))
    _single_threaded()
    return [evaluate(cell, code) for cell in cells]


def version_words(who: str, theirs: str, ours: str) -> str:
    """What to say about a worker with another version of the package."""
    return f"worker {who} runs version {theirs} of the package, this sweep {ours}; install the same on all machines"


def evaluate(cell: Cell, code: str) -> Row:
    """The row of a cell: its description, its figures, and what it missed the index by, bar by bar on which that has a level.

    A cell that fails is a row too, with ``status`` "error" and the error's name and words; all figures are then missing.
    """
    begin = time.perf_counter()
    row = describe(cell, code)
    try:
        record = run_record(cell)
        r, y = record.scored()
        if not len(r):
            raise DataError(f"no bar is scored, {why_unscored(record)}")
        row |= record.metrics() | {"status": "ok", "error": ""}
        row |= {"active": (r - y).astype(np.float32), "excess": (np.log1p(r) - np.log1p(y)).astype(np.float32)}
        row |= {"first_day": str(record.dates[1])[:10], "last_day": str(record.dates[-1])[:10]}
    except Exception as problem:
        row = failed(row, problem)
    row |= {"seconds": time.perf_counter() - begin, "finished": time.time(), "worker": f"{socket.gethostname()}:{os.getpid()}"}
    return row


def failed(row: Row, problem: BaseException) -> Row:
    """The row of a cell that could not be run."""
    words = " ".join(f"{type(problem).__name__}: {problem}".split())
    row |= dict.fromkeys(METRIC_KEYS) | {"status": "error", "error": words[:1000], "active": _NO_PATH, "excess": _NO_PATH}
    return row | {"first_day": "", "last_day": "", "seconds": 0.0, "finished": time.time(), "worker": ""}


def run_record(cell: Cell) -> RunRecord:
    """Run a cell in this process; the scored part of its record."""
    record = window_record(cell)
    late = cell.window.score_from - cell.window.start
    return record.since(str(record.dates[late]) if late > 0 else None)


def window_record(cell: Cell) -> RunRecord:
    """Run a cell in this process; its record with all bars of the window."""
    run = replay if cell.engine == "replay" else backtest
    panel = _window(cell.data, cell.window.start, cell.window.stop)
    params = {**cell.mandate, **cell.params, "fill": cell.fill}
    return run(panel, cell.strategy, params, costs=cell.costs, cash=cell.cash, orders=False)


def describe(cell: Cell, code: str) -> Row:
    """What a row says about its cell."""
    window = asdict(cell.window)
    return {
        "key": cell.key(code),
        "strategy": cell.strategy,
        "params": as_json(cell.params),
        "data": cell.data.source,
        "targets": ",".join(cell.data.targets),
        "sha": cell.data.sha,
        "seed": cell.data.seed,
        "fill": cell.fill,
        "costs": as_json(asdict(cell.costs)),
        "engine": cell.engine,
        "cash": float(cell.cash),
        "mandate": as_json(cell.mandate),
        **window,
        "code": code,
    }


def panel_of(data: Data) -> MarketPanel:
    """The panel of a cell, from the shelf or drawn."""
    if data.synthetic:
        return _drawn(data)
    if data.sha not in _SHIPPED:
        raise DataError(f"the panel of {data.source} ({data.sha[:12]}) did not reach this process")
    return _SHIPPED[data.sha]


@lru_cache(maxsize=4)
def _drawn(data: Data) -> MarketPanel:
    return data.open()


@lru_cache(maxsize=8)
def _window(data: Data, start: int, stop: int) -> MarketPanel:
    panel = panel_of(data)
    return panel if (start, stop) == (0, panel.n_bars) else panel.rows(start, stop)


@cache
def _single_threaded() -> None:
    one_thread()


def one_thread() -> Any:
    """One thread of linear algebra from now on, or for a ``with`` block: workers share the cores among themselves, and a sum must
    not depend on how many threads add it up.
    """
    import scipy.linalg  # noqa: F401 - its library has to be loaded to be limited
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


@cache
def _deaf_to_interrupts() -> None:
    """Ctrl-C goes to every process of a terminal; what to do about it is for the driver to say."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
