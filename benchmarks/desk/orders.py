"""Tomorrow's orders: against the numpy replay of the same data, and against themselves with the state of the day before."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._markets import N_ASSETS
from benchmarks._measure import Report
from datafeeds import MarketPanel, synthetic_market
from tracker_strategies import Account, OrderPlan, orders_for
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import replay

ROUNDS = 5
#: Six years of daily bars.
BARS = 1512
COSTS = CostModel(bps=5)
CASES: dict[str, dict[str, Any]] = {
    "ensemble": {},
    "ensemble, whole shares": {"lot": 1.0},
    "ensemble, limits": {"max_weight": 0.05, "max_turnover": 0.1},
    "pa": {},
}


def cpu(run: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one call, and what it returned."""
    start = time.process_time()
    found = run()
    return time.process_time() - start, found


def run() -> Report:
    panel = synthetic_market(N_ASSETS, BARS, seed=7)
    account = Account(1e6, dict.fromkeys(panel.symbols[::3], 100.0))
    report = Report("orders")
    for label, params in CASES.items():
        name = label.partition(",")[0]
        taken: dict[str, list[float]] = {"replay": [], "orders": [], "next day": []}
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder, "yesterday")
            orders_for(panel.rows(0, BARS - 1), name, account, params, costs=COSTS, state=kept)
            for _ in range(ROUNDS):
                today = Path(folder, "today")
                shutil.copytree(kept, today)
                seconds, plans = {}, {}
                for what, call in _contenders(panel, name, account, params, today).items():
                    seconds[what], plans[what] = cpu(call)
                    taken[what].append(seconds[what])
                shutil.rmtree(today)
        least = {what: min(values) for what, values in taken.items()}
        for what, value in least.items():
            report.rows.append({"contender": f"{label}: {what}", "min CPU s": value, "x replay": value / least["replay"]})
        report.claim(f"{label}: CPU of the orders / CPU of the replay", least["orders"] / least["replay"], at_most=1.5)
        if name == "ensemble":
            saved = least["next day"] / least["orders"]
            report.claim(f"{label}: CPU with yesterday's state / CPU of a full run", saved, at_most=0.1)
        apart = _difference(plans["orders"], plans["next day"])
        report.claim(f"{label}: largest relative difference of an order", apart, at_most=1e-9)
    report.notes.append("pa needs no state: it learns six years in less time than it takes to check whether the past has changed")
    return report


def _contenders(panel: MarketPanel, name: str, account: Account, params: dict[str, Any], state: Path) -> dict[str, Any]:
    return {
        "replay": lambda: replay(panel, name, params, costs=COSTS),
        "orders": lambda: orders_for(panel, name, account, params, costs=COSTS),
        "next day": lambda: orders_for(panel, name, account, params, costs=COSTS, state=state),
    }


def _difference(one: OrderPlan, two: OrderPlan) -> float:
    if one.table["client_order_id"].tolist() != two.table["client_order_id"].tolist():
        return float("inf")
    return float(np.abs(two.table["qty"] / one.table["qty"] - 1.0).max())
