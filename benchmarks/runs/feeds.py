"""Loading feeds and running an empty strategy: the shared panel against backtrader's PandasData."""

from __future__ import annotations

from typing import Any

import backtrader as bt

from benchmarks._markets import benchmark_panel, pandas_feeds
from benchmarks._measure import Report, side_by_side
from datafeeds import IndexData


class Empty(bt.Strategy):
    """Looks at one price a bar, so that the values of both runs can be compared."""

    def __init__(self) -> None:
        self.total = 0.0

    def next(self) -> None:
        data = self.datas[1 + len(self) % (len(self.datas) - 1)]
        self.total += data.open[0] + data.high[0] + data.low[0] + data.close[0]


def _run(add: Any) -> float:
    cerebro = bt.Cerebro(stdstats=False)
    add(cerebro)
    cerebro.addstrategy(Empty)
    return float(cerebro.run()[0].total)


def run() -> Report:
    panel = benchmark_panel()

    def theirs(cerebro: bt.Cerebro) -> None:
        for feed in pandas_feeds(panel):
            cerebro.adddata(feed, name=feed.p.name)

    contenders = {"PandasData": lambda: _run(theirs), "panel feeds": lambda: _run(lambda c: IndexData(panel).add_to(c))}
    timings, totals = side_by_side(contenders, {"PandasData": 2, "panel feeds": 5})
    report = Report("feeds")
    report.timings(timings, "PandasData")
    report.claim("values seen differ by", abs(totals["PandasData"] - totals["panel feeds"]), at_most=0.0)
    ratio = timings["PandasData"].least / timings["panel feeds"].least
    report.claim(f"load {panel.n_assets} feeds x {panel.n_bars} bars and run an empty strategy, times faster", ratio, at_least=8)
    return report
