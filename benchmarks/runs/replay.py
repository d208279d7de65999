"""The numpy replay against the fast way through cerebro, for the passive-aggressive tracker with costs; and both ways of adding
feeds to a cerebro, in CPU time.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import backtrader as bt
import numpy as np

from benchmarks._markets import N_ASSETS, N_BARS
from benchmarks._measure import Report, side_by_side
from datafeeds import IndexData, MarketPanel, synthetic_market
from tracker_strategies import PATracker, charge
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest


def run() -> Report:
    panel = synthetic_market(N_ASSETS, N_BARS, seed=7)
    costs = CostModel(bps=5)
    report = Report("replay")
    for fill in ("close", "next_open"):
        contenders = {
            f"cerebro, {fill}": lambda fill=fill: backtest(panel, "pa", {"fill": fill}, costs=costs, orders=False),
            f"replay, {fill}": lambda fill=fill: replay(panel, "pa", {"fill": fill}, costs=costs),
        }
        timings, records = side_by_side(contenders, 31)
        report.timings(timings, f"cerebro, {fill}")
        engine, arrays = records.values()
        slow, fast = timings.values()
        report.claim(f"{fill}: times faster than cerebro", slow.least / fast.least, at_least=3)
        report.claim(
            f"{fill}: largest relative difference of the account's value",
            float(np.abs(arrays.value / engine.value - 1).max()),
            at_most=1e-9,
        )
        report.claim(
            f"{fill}: largest difference of a weight", float(np.abs(arrays.decisions - engine.decisions).max()), at_most=1e-12
        )
    _ways_of_adding(report, costs)
    return report


def _ways_of_adding(report: Report, costs: CostModel) -> None:
    """All feeds, the targets only (lazy), and the replay."""

    def through_cerebro(panel: MarketPanel, *, lazy: bool) -> None:
        cerebro = bt.Cerebro(stdstats=False)
        IndexData(panel).add_to(cerebro, lazy=lazy)
        charge(cerebro.broker, costs)
        cerebro.addstrategy(PATracker)
        cerebro.run()

    for names, bars in ((N_ASSETS, N_BARS), (50, 2520)):
        panel = synthetic_market(names, bars, seed=7)
        ways: dict[str, Callable[[MarketPanel], Any]] = {
            "all feeds added": lambda panel: through_cerebro(panel, lazy=False),
            "lazy": lambda panel: through_cerebro(panel, lazy=True),
            "replay": lambda panel: replay(panel, "pa", costs=costs),
        }
        least = dict.fromkeys(ways, np.inf)
        for _ in range(7):
            for way, run_it in ways.items():
                gc.collect()
                start = time.process_time()
                run_it(panel)
                least[way] = min(least[way], time.process_time() - start)
        for way, seconds in least.items():
            report.rows.append({"contender": f"{way}, {names} names", "CPU us per bar": 1e6 * seconds / bars})
        if names == N_ASSETS:
            report.claim(
                f"{names} names: CPU with all feeds added / CPU with lazy feeds",
                least["all feeds added"] / least["lazy"],
                at_most=3.0,
            )
        else:
            report.claim(f"{names} names: CPU with lazy feeds / CPU of the replay", least["lazy"] / least["replay"], at_most=2.5)
