"""What happens to a cell in a worker process: find the panel, run, return a row. Engines and records never leave the process."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from datafeeds import MarketPanel
from tracker_strategies.analysis.metrics import METRIC_KEYS
from tracker_strategies.analysis.pages.words import why_unscored
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import DataError
from tracker_strategies.research import replay
from tracker_strategies.research.sweeps.asking.cells import Cell, Data
from tracker_strategies.research.sweeps.asking.values import as_json
from tracker_strategies.research.sweeps.running.shelf import panel_on
from tracker_strategies.runner import backtest

Row = dict[str, Any]
_NO_PATH = np.zeros(0, dtype=np.float32)


def evaluate(cell: Cell, code: str, shelf: str, *, whole: bool = False) -> Row:
    """The row of a cell: its description, its figures, and what it missed the index by, bar by bar on which that has a level.
    With ``whole``, the record of all bars of the window instead of figures, as ``record``.

    A cell that fails, whatever it raises, is a row too, with ``status`` "error" and the error's name and words; all figures are
    then missing. ``shelf`` is the folder with the panels.
    """
    begin = time.perf_counter()
    row = describe(cell, code)
    try:
        record = window_record(cell, shelf)
        row |= {"record": record} if whole else _figures(cell, record)
        row |= {"status": "ok", "error": ""}
    except BaseException as problem:  # a cell that wants to exit, too: this process is not its own
        row = failed(row, problem)
    row |= {"seconds": time.perf_counter() - begin, "finished": time.time(), "worker": f"{socket.gethostname()}:{os.getpid()}"}
    return row


def _figures(cell: Cell, record: RunRecord) -> Row:
    late = cell.window.score_from - cell.window.start
    scored = record.since(str(record.dates[late]) if late > 0 else None)
    r, y = scored.scored()
    if not len(r):
        raise DataError(f"no bar is scored, {why_unscored(scored)}")
    paths = {"active": (r - y).astype(np.float32), "excess": (np.log1p(r) - np.log1p(y)).astype(np.float32)}
    days = {"first_day": str(scored.dates[1])[:10], "last_day": str(scored.dates[-1])[:10]}
    return {**scored.metrics(), **paths, **days}


def failed(row: Row, problem: BaseException) -> Row:
    """The row of a cell that could not be run."""
    row |= dict.fromkeys(METRIC_KEYS) | {"status": "error", "error": _words(problem)[:1000]}
    row |= {"active": _NO_PATH, "excess": _NO_PATH, "first_day": "", "last_day": ""}
    return row | {"seconds": 0.0, "finished": time.time(), "worker": ""}


def _words(problem: BaseException) -> str:
    """Kind and words of an error on one line; a user's own may not even be able to tell what it is."""
    try:
        said = str(problem)
    except BaseException:
        said = "its words cannot be read"
    return " ".join(f"{type(problem).__name__}: {said}".encode(errors="replace").decode().split())


def window_record(cell: Cell, shelf: str) -> RunRecord:
    """Run a cell in this process; its record with all bars of the window."""
    run = replay if cell.engine == "replay" else backtest
    panel = _window(cell.data, cell.window.start, cell.window.stop, shelf)
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


@lru_cache(maxsize=4)
def _drawn(data: Data) -> MarketPanel:
    return data.open()


@lru_cache(maxsize=8)
def _window(data: Data, start: int, stop: int, shelf: str) -> MarketPanel:
    panel = _drawn(data) if data.synthetic else panel_on(shelf, data.sha)
    return panel if (start, stop) == (0, panel.n_bars) else panel.rows(start, stop)


def one_thread() -> Any:
    """One thread of linear algebra from now on, or for a ``with`` block: workers share the cores among themselves, and a sum must
    not depend on how many threads add it up.
    """
    import scipy.linalg  # noqa: F401 - its library has to be loaded to be limited
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)
