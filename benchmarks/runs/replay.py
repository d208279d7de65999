"""The numpy replay against the fast way through cerebro, for the passive-aggressive tracker with costs."""

from __future__ import annotations

import numpy as np

from benchmarks._markets import N_ASSETS, N_BARS
from benchmarks._measure import Report, side_by_side
from datafeeds import synthetic_market
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
    return report
