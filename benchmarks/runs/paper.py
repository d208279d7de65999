"""A step of the paper account after ten years of history, against the backtest of that history; and what a checkpoint saves."""

from __future__ import annotations

import itertools
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from benchmarks._measure import Report, side_by_side
from datafeeds import MarketPanel, open_source, synthetic_market
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.runner import backtest

N_ASSETS, N_BARS = 500, 2520
#: Sessions that the account has traded before the step that is measured.
TRADED = 3
#: Of an account that grows old.
OLD_NAMES, OLD_SESSIONS = 20, 2500
BACKTEST, REPLAY, CHECKPOINT, NOTHING = "backtest", "step, all replayed", "step, from a checkpoint", "step, nothing new"


def run() -> Report:
    panel = synthetic_market(N_ASSETS, N_BARS + 1, seed=7)
    costs = CostModel(bps=5)
    report = Report("paper")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(panel, N_BARS, folder / "old.parquet")
        _write(panel, N_BARS + 1, folder / "new.parquet")
        base = _account(panel, costs, folder, N_BARS - TRADED, N_BARS)
        fresh = itertools.count()

        def step(source: str, *, verify: bool = False) -> Callable[[], None]:
            """One step of a copy of the account that finds this source; everything is opened and closed by it."""

            def work() -> None:
                shutil.copy(folder / source, folder / "prices.parquet")
                account = folder / f"copy{next(fresh)}"
                shutil.copytree(base, account)
                with PaperAccount(account).journal(), PaperAccount(account).broker():
                    pass  # a copy is checked as a whole when it is used first
                begin = time.perf_counter()
                result = PaperAccount(account).step(verify=verify)
                spent[source, verify].append(time.perf_counter() - begin)
                assert result.way == ("" if source == "old.parquet" else "replay" if verify else "checkpoint")
                shutil.rmtree(account)

            return work

        spent: dict[tuple[str, bool], list[float]] = defaultdict(list)
        path = str(folder / "new.parquet")
        timings, _ = side_by_side(
            {
                BACKTEST: lambda: backtest(open_source(path), "pa", costs=costs, orders=False),
                REPLAY: step("new.parquet", verify=True),
                CHECKPOINT: step("new.parquet"),
                NOTHING: step("old.parquet"),
            },
            7,
        )
        for label, key in (
            (REPLAY, ("new.parquet", True)),
            (CHECKPOINT, ("new.parquet", False)),
            (NOTHING, ("old.parquet", False)),
        ):
            timings[label].seconds[:] = spent[key]  # copying the account is no part of a step
        report.timings(timings, BACKTEST)
        whole = timings[REPLAY].least / timings[BACKTEST].least
        report.claim(f"time of a step after {N_BARS} bars of {N_ASSETS} names / time of that backtest", whole, at_most=2.0)
        bar, session = _bar(panel, costs), _session(panel, costs, folder)
        beyond = timings[CHECKPOINT].least - timings[NOTHING].least
        report.claim(
            "time of a step with a checkpoint, without start-up / time of a session of an account without history",
            beyond / session,
            at_most=10.0,
        )
        report.notes.append(
            f"without start-up, a step takes {1e3 * beyond:.0f} ms: about 490 orders and their fills go to two databases on disk "
            f"before it ends. A bar of the backtest, which writes nothing, takes {1e3 * bar:.2f} ms; a session of an account "
            f"without history takes {1e3 * session:.0f} ms"
        )
        _flat(report, costs, folder)
    return report


def _flat(report: Report, costs: CostModel, folder: Path) -> None:
    """Processor time of a step, session after session for ten years."""
    panel = synthetic_market(OLD_NAMES, OLD_SESSIONS, seed=8)
    account = PaperAccount.create(folder / "old", "pa", "memory", panel=panel.rows(0, 1), start=panel.day(0), costs=costs)
    spent, replays = [], []
    for k in range(1, OLD_SESSIONS + 1):
        part = panel.rows(0, k)
        begin = time.process_time()
        result = PaperAccount(account.folder).step(part)
        spent.append(time.process_time() - begin)
        if result.way == "replay":
            replays.append(k)
    young, old = (statistics.median(spent[slice(*years)]) for years in ((200, 700), (2000, 2500)))
    report.claim("processor time per step, sessions 2001 to 2500 / sessions 201 to 700", old / young, at_most=1.2)
    apart = min(b - a for a, b in itertools.pairwise(replays))
    report.claim("sessions between two full replays", apart, at_least=250)
    report.notes.append(
        f"{OLD_NAMES} names: median {1e3 * young:.1f} ms in sessions 201 to 700, {1e3 * old:.1f} ms in 2001 to 2500; a late step "
        f"that checks its files and replays everything takes {1e3 * spent[replays[-1] - 1]:.0f} ms"
    )


def _write(panel: MarketPanel, rows: int, path: Path) -> None:
    panel.rows(0, rows).to_frame().to_parquet(path)


def _account(panel: MarketPanel, costs: CostModel, folder: Path, first: int, last: int) -> Path:
    """An account that has learned from all bars before the first and traded until the last."""
    shutil.copy(folder / "old.parquet", folder / "prices.parquet")
    start = str(panel.dates[first])[:10]
    account = PaperAccount.create(folder / "base", "pa", str(folder / "prices.parquet"), start=start, costs=costs)
    for rows in range(first + 1, last + 1):
        account.step(panel.rows(0, rows))
    return account.folder


def _bar(panel: MarketPanel, costs: CostModel) -> float:
    """Seconds of one bar of the backtest."""
    timings, _ = side_by_side({"backtest": lambda: backtest(panel, "pa", costs=costs, orders=False)}, 3)
    return timings["backtest"].least / panel.n_bars


def _session(panel: MarketPanel, costs: CostModel, folder: Path) -> float:
    """Seconds of one session, journalled and sent, of an account that has no history to replay."""
    account = PaperAccount.create(folder / "young", "pa", "memory", panel=panel, start=panel.day(0), costs=costs)
    account.step(panel.rows(0, 1))
    spent = []
    for rows in range(2, 8):
        part = panel.rows(0, rows)
        begin = time.perf_counter()
        account.step(part)
        spent.append(time.perf_counter() - begin)
    return min(spent)
