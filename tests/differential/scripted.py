"""A tracker's orders as an ordinary strategy would send them: the reference that runs beside trackers are compared with."""

from __future__ import annotations

from collections import defaultdict

import backtrader as bt
import numpy as np

from tracker_strategies import HoldingsAnalyzer


class Scripted(bt.Strategy):
    """Sends market orders from a list: at the close of a bar, shares by name."""

    params = (("orders", None), ("coc", False), ("news", None))

    def __init__(self):
        self.heard = []

    def next(self):
        for name, size in self.p.orders.get(self.datetime.datetime(), ()):
            send = self.buy if size > 0 else self.sell
            send(data=self.getdatabyname(name), size=abs(size), **({"coc": True} if self.p.coc else {}))

    prenext = next

    def notify_order(self, order):
        if self.p.news is not None:
            self.heard.append(self.p.news(order))


def script_of(run, name="holdings"):
    """The orders of a finished tracker, by the time of the bar at whose close they were decided.

    `run` must carry a HoldingsAnalyzer that keeps orders, and a :class:`Bars` analyzer.
    """
    table = run.analyzers.getbyname(name).orders
    times = run.analyzers.bars.times
    at_close = run.tracker.fill == "close"
    orders = defaultdict(list)
    for date, symbol, size in zip(table["date"], table["symbol"], table["size"], strict=True):
        place = int(np.searchsorted(np.array(times, dtype="datetime64[us]"), np.datetime64(date, "us")))
        orders[times[place if at_close else place - 1]].append((symbol, float(size)))
    return dict(orders)


class Bars(bt.Analyzer):
    """Times of all bars, and the account at each close."""

    def start(self):
        self.times, self.account = [], []

    def next(self):
        broker = self.strategy.broker
        self.times.append(self.strategy.datetime.datetime())
        self.account.append((broker.getcash(), broker.getvalue(), broker.fundvalue, broker.fundshares, broker.get_leverage()))

    prenext = next


def watch(cerebro):
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    cerebro.addanalyzer(Bars, _name="bars")
