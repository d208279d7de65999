"""All names rebalanced on every bar, with commission: the basket broker against ordinary orders, and against other libraries."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import backtrader as bt

from benchmarks._markets import benchmark_panel, pandas_feeds
from benchmarks._measure import Report, side_by_side
from benchmarks.runs._peers import BPS, CASH, PEERS
from benchmarks.runs._preset import ListeningPreset, NaivePreset, Preset, random_weights
from datafeeds import IndexData, MarketPanel
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.costs import CostModel

NAIVE, ORDINARY, BASKET, FULL, HEARD = (
    "PandasData + order_target_percent",
    "panel, ordinary orders",
    "panel, baskets",
    "panel, baskets, all feeds added",
    "panel, baskets, notify_order",
)


def trade(panel: MarketPanel, add: Callable[[bt.Cerebro], Any], strategy: type[bt.Strategy], **params: Any) -> float:
    cerebro = bt.Cerebro(stdstats=False)
    add(cerebro)
    cerebro.broker.setcash(CASH)
    charge(cerebro.broker, CostModel(bps=BPS))
    cerebro.addstrategy(strategy, **params)
    return float(cerebro.run()[0].broker.getvalue())


def run() -> Report:
    panel = benchmark_panel()
    rows = random_weights(panel.n_bars, panel.n_assets)

    def theirs(cerebro: bt.Cerebro) -> None:
        for feed in pandas_feeds(panel):
            cerebro.adddata(feed, name=feed.p.name)

    def ours(cerebro: bt.Cerebro) -> None:
        IndexData(panel).add_to(cerebro, lazy=True)

    def all_feeds(cerebro: bt.Cerebro) -> None:
        IndexData(panel).add_to(cerebro)

    contenders: dict[str, Callable[[], float]] = {
        NAIVE: lambda: trade(panel, theirs, NaivePreset, rows=rows),
        ORDINARY: lambda: trade(panel, ours, Preset, rows=rows, broker="ordinary"),
        BASKET: lambda: trade(panel, ours, Preset, rows=rows),
        FULL: lambda: trade(panel, all_feeds, Preset, rows=rows),
        HEARD: lambda: trade(panel, ours, ListeningPreset, rows=rows),
    }
    repeats = {NAIVE: 1, ORDINARY: 1, BASKET: 7, FULL: 5, HEARD: 3}
    report = Report("engine")
    for name, peer in PEERS.items():
        if find_spec(name) is None:
            report.notes.append(f"{name} is not installed and not measured: pip install -e '.[bench]'")
            continue
        contenders[name] = lambda peer=peer: peer(panel, rows)  # type: ignore[misc]
        repeats[name] = 4 if name == "vectorbt" else 2
    timings, values = side_by_side(contenders, repeats)
    report.timings(timings, NAIVE)
    for row, name in zip(report.rows, timings, strict=True):
        row["final value"] = f"{values[name]:.2f}"
    fast = timings[BASKET].least
    report.claim("times faster than PandasData + order_target_percent", timings[NAIVE].least / fast, at_least=300)
    report.claim(
        "all feeds added, times faster than PandasData + order_target_percent",
        timings[NAIVE].least / timings[FULL].least,
        at_least=200,
    )
    report.claim(
        "with notify_order, times faster than PandasData + order_target_percent",
        timings[NAIVE].least / timings[HEARD].least,
        at_least=40,
    )
    report.claim(
        "final value against ordinary orders, relative difference", abs(values[BASKET] / values[ORDINARY] - 1.0), at_most=1e-9
    )
    for name, least in (("cvxportfolio", 5.0), ("bt", 30.0), ("vectorbt", 1.0)):
        if name in timings:
            warm = " (warm)" if name == "vectorbt" else ""
            report.claim(f"times faster than {name}{warm}", timings[name].least / fast, at_least=least)
    return report
