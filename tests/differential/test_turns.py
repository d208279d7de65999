"""One turn for each clock: everybody but the feeds that follow is called as backtrader's own loop calls them."""

from __future__ import annotations

import io

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData
from datafeeds.feeds.feed import PanelFeed
from datafeeds.feeds.turns import TurnsOfClocks
from tests.differential.side_by_side import PANEL, STOCK, assert_same, cerebro_with
from tests.differential.test_feeds import COMPLETE, GAPS, PANELS
from tests.markets import ordinary_feeds


class Chronicle(bt.Strategy):
    """Writes down every call that a strategy gets, and what the feeds show then."""

    params = (("name", ""), ("log", None), ("stop_at", 0))

    def __init__(self):
        self.mean = bt.indicators.SMA(self.data1, period=3)
        self.add_timer(bt.timer.SESSION_START, cheat=True)
        self.add_timer(bt.timer.SESSION_END, weekdays=[2, 4])

    def write(self, what):
        seen = [(len(d), d.close[0], d.datetime[0]) if len(d) else None for d in self.datas]
        mean = self.mean[0] if len(self.mean) else None
        self.p.log.append((self.p.name, what, len(self), seen, mean, self.broker.getvalue()))

    def notify_timer(self, timer, when, *args, **kwargs):
        self.write(f"timer {timer.p.when} {when}")

    def prenext_open(self):
        self.write("prenext_open")

    def nextstart_open(self):
        self.write("nextstart_open")

    def next_open(self):
        self.write("next_open")
        self.buy(self.data1, size=1 + len(self) % 2)

    def prenext(self):
        self.write("prenext")

    def nextstart(self):
        self.write("nextstart")

    def next(self):
        self.write("next")
        self.sell(self.data2, size=1)
        if len(self) == self.p.stop_at:
            self.env.runstop()

    def notify_order(self, order):
        self.write(f"order {order.data._name} {order.getstatusname()} {order.executed.price}")

    def stop(self):
        self.write("stop")


class Told(bt.Analyzer):
    """Its hooks, in the order of everybody else's."""

    def prenext(self):
        self.strategy.write("analyzer prenext")

    def next(self):
        self.strategy.write("analyzer next")


class Watch(bt.Observer):
    """An observer among them."""

    lines = ("width",)

    def next(self):
        self._owner.write("observer next")
        self.lines.width[0] = self.data.high[0] - self.data.low[0] if len(self.data) else 0.0


class PlainCerebro(bt.Cerebro):
    """A loop of its own: backtrader's."""

    def _runonce(self, runstrats):
        self.own = True
        super()._runonce(runstrats)


def chronicle(cerebro, strategies=1, stop_at=0):
    log, table = [], io.StringIO()
    for k in range(strategies):
        cerebro.addstrategy(Chronicle, name=str(k), log=log, stop_at=stop_at)
    cerebro.addanalyzer(Told)
    cerebro.addobserver(Watch)
    cerebro.addwriter(bt.WriterFile, csv=True, out=table)
    cerebro.run()
    rows = [line.split(",") for line in table.getvalue().splitlines() if line[:1].isdigit()]
    return log, rows


@pytest.mark.parametrize("strategies", [1, 2])
@pytest.mark.parametrize("mode", [{}, {"cheat_on_open": True}, {"stdstats": True}], ids=str)
@pytest.mark.parametrize("market", PANELS)
def test_everybody_is_called_in_backtraders_order(market, mode, strategies):
    ours, theirs = (chronicle(cerebro_with(kind, PANELS[market], **mode), strategies) for kind in (PANEL, STOCK))
    assert theirs[0]
    assert theirs[1]
    assert_same(ours, theirs)


@pytest.mark.parametrize("other", ["first", "last"])
def test_feeds_from_elsewhere_keep_their_turn(other):
    """Bars of their own dates come between those of the panel; a second panel has a clock of its own."""

    def run(kind):
        cerebro = bt.Cerebro(stdstats=False)
        first, second = (ordinary_feeds(p) if kind == STOCK else IndexData(p).feeds() for p in (GAPS, COMPLETE))
        dates = pd.DatetimeIndex(COMPLETE.dates)[::2] - pd.Timedelta(hours=7)
        prices = pd.Series(np.linspace(90.0, 110.0, len(dates)), dates)
        columns = {"open": prices, "high": prices + 1.0, "low": prices - 1.0, "close": prices}
        early = bt.feeds.PandasData(dataname=pd.DataFrame(columns), volume=None, openinterest=None)
        feeds = [*first, *second]
        for k, feed in enumerate([early, *feeds] if other == "first" else [*feeds, early]):
            cerebro.adddata(feed, name=str(k))
        return chronicle(cerebro)

    theirs = run(STOCK)
    assert theirs[0]
    assert_same(run(PANEL), theirs)


def test_a_run_that_is_stopped_ends_on_the_same_call():
    ours, theirs = (chronicle(cerebro_with(kind, COMPLETE), 2, stop_at=9) for kind in (PANEL, STOCK))
    assert len(theirs[0]) < 120
    assert_same(ours, theirs)


def test_only_the_first_feed_of_a_clock_is_asked_on_a_bar(monkeypatch):
    asked = []

    def advance(self, *args, **kwargs):
        asked.append(self._name)
        return original(self, *args, **kwargs)

    original = PanelFeed.advance
    monkeypatch.setattr(PanelFeed, "advance", advance)
    cerebro = cerebro_with(PANEL, COMPLETE)
    cerebro.addstrategy(bt.Strategy)
    for _ in range(2):  # a run leaves nothing behind that the next one would miss
        asked.clear()
        cerebro.run()
        assert asked == ["INDEX"] * COMPLETE.n_bars
        assert "_runonce" not in cerebro.__dict__


def test_a_cerebro_or_a_feed_with_a_way_of_its_own_keeps_it():
    class Counting(PanelFeed):
        steps = 0

        def advance(self, size=1, datamaster=None, ticks=True):
            type(self).steps += 1
            super().advance(size, datamaster, ticks)

    cerebro = PlainCerebro(stdstats=False)
    feeds = IndexData(COMPLETE).add_to(cerebro)
    cerebro.adddata(Counting(clock=feeds[0].clock, symbol=COMPLETE.symbols[0]), name="counting")
    theirs = chronicle(cerebro)
    assert cerebro.own
    assert Counting.steps == COMPLETE.n_bars
    Counting.steps = 0
    cerebro = bt.Cerebro(stdstats=False)
    feeds = IndexData(COMPLETE).add_to(cerebro)
    cerebro.adddata(Counting(clock=feeds[0].clock, symbol=COMPLETE.symbols[0]), name="counting")
    assert_same(chronicle(cerebro), theirs)
    assert Counting.steps == COMPLETE.n_bars


def test_turns_are_taken_by_clocks_in_an_optimisation_too(monkeypatch):
    taken = []
    original = TurnsOfClocks.__call__

    def counted(self, runstrats):
        taken.append(len(runstrats))
        return original(self, runstrats)

    monkeypatch.setattr(TurnsOfClocks, "__call__", counted)
    ends = {}
    for kind in (PANEL, STOCK):
        cerebro = cerebro_with(kind, COMPLETE)
        cerebro.optstrategy(Chronicle, stop_at=(0, 9), log=([],))
        ends[kind] = [run[0].p.log[-1] for run in cerebro.run(maxcpus=1)]
    assert taken == [1, 1]
    assert_same(ends[PANEL], ends[STOCK])
