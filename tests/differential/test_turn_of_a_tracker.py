"""The short turn of a strategy is backtrader's turn: everybody is called in the same order and sees the same."""

import backtrader as bt
import pytest

from datafeeds import IndexData
from tests.markets import random_panel
from tracker_strategies import PATracker, charge
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.strategies._host import Turn

PLAIN = random_panel(60, 5, seed=3, ohlc=True)
GAPS = random_panel(60, 5, seed=4, ohlc=True, gaps=True)


class Writes(PATracker):
    """Writes down every call, and what is to be seen at it."""

    def start(self):
        self.heard = []

    def write(self, what):
        account = self.broker.getcash(), self.broker.getvalue()
        self.heard.append((what, len(self), self.datetime[0], self._minperstatus, *account))

    def prenext(self):
        self.write("prenext")
        super().prenext()

    def nextstart(self):
        self.write("nextstart")
        super().nextstart()

    def next(self):
        self.write("next")
        super().next()

    def next_open(self):
        self.write("next_open")


class WritesAll(Writes):
    """Listens to everything."""

    def notify_order(self, order):
        self.write((order.data._name, order.getstatusname(), order.executed.size, order.executed.price))

    def notify_trade(self, trade):
        self.write((trade.data._name, trade.status, trade.pnlcomm))

    def notify_cashvalue(self, cash, value):
        self.write(("account", cash, value))


class Looks(bt.Analyzer):
    """Writes into the list of its strategy."""

    def prenext(self):
        self.strategy.write("analyzer before")

    def nextstart(self):
        self.strategy.write("analyzer begins")

    def next(self):
        self.strategy.write("analyzer")


class Watches(bt.Observer):
    """So does this."""

    lines = ("cash",)

    def prenext(self):
        self._owner.write("observer before")

    def next(self):
        self._owner.write("observer")
        self.lines.cash[0] = self._owner.broker.getcash()


class HasIndicator(WritesAll):
    """Begins late, because of an indicator."""

    def __init__(self):
        super().__init__()
        self.mean = bt.ind.SMA(self.data, period=5)


class BeginsLate(Writes):
    """Begins late, because a feed is to have some bars first."""

    def __init__(self):
        super().__init__()
        self.data.updateminperiod(5)


class HasLine(Writes):
    """Has a line of its own."""

    lines = ("height",)

    def next(self):
        super().next()
        self.lines.height[0] = self.broker.getvalue()


class HasStep(Writes):
    """Takes a part in backtrader's own steps."""

    def _next_analyzers(self, minperstatus, once=False):
        self.write("my step")
        super()._next_analyzers(minperstatus, once)


def heard(strategy, panel=PLAIN, *, lazy=True, listeners=(), **options):
    cerebro = bt.Cerebro(stdstats=False, **options)
    IndexData(panel).add_to(cerebro, lazy=lazy)
    charge(cerebro.broker, CostModel(bps=5))
    cerebro.addstrategy(strategy, eps=0.0)
    for listener in listeners:
        (cerebro.addobserver if issubclass(listener, bt.Observer) else cerebro.addanalyzer)(listener)
    run = cerebro.run()[0]
    assert len(run.heard) >= panel.n_bars
    return run


@pytest.mark.parametrize("strategy", [Writes, WritesAll, BeginsLate, HasIndicator, HasLine, HasStep])
@pytest.mark.parametrize("listeners", [(), (Looks,), (Watches,), (Looks, Watches, bt.analyzers.TimeReturn)], ids=len)
@pytest.mark.parametrize("options", [{}, {"cheat_on_open": True}, {"quicknotify": True}, {"exactbars": 1}], ids=str)
@pytest.mark.parametrize(("panel", "lazy"), [(PLAIN, True), (PLAIN, False), (GAPS, True)], ids=["lazy", "all feeds", "gaps"])
def test_all_hear_the_same_in_the_same_order(monkeypatch, strategy, listeners, options, panel, lazy):
    short = heard(strategy, panel, lazy=lazy, listeners=listeners, **options)
    monkeypatch.setattr(Turn, "of", lambda *_: None)
    long = heard(strategy, panel, lazy=lazy, listeners=listeners, **options)
    assert short.heard == long.heard
    if not options.get("exactbars"):
        assert list(short.datetime.array) == list(long.datetime.array)


@pytest.mark.parametrize(
    ("strategy", "short"),
    [(Writes, True), (WritesAll, True), (BeginsLate, True), (HasIndicator, False), (HasLine, False), (HasStep, False)],
)
def test_who_has_steps_of_its_own_takes_backtraders_turn(strategy, short):
    assert isinstance(heard(strategy)._usual_turn, Turn) is short


class Behind(bt.Strategy):
    """A turn of its own, further down the line of classes."""

    def _oncepost(self, dt):
        self.heard.append(("mine", dt))
        super()._oncepost(dt)


def test_a_turn_behind_the_tracker_is_taken():
    class Both(Writes, Behind):
        pass

    assert sum(what[0] == "mine" for what in heard(Both).heard) == PLAIN.n_bars


def test_before_it_has_enough_bars_it_is_told_so():
    told = [what for what, *_ in heard(BeginsLate).heard if isinstance(what, str) and what != "next_open"]
    assert told[:6] == ["prenext", "next", "prenext", "next", "prenext", "next"]
    assert told.count("prenext") == 4
    assert told[8] == "nextstart"


def test_steps_put_on_the_strategy_itself_count_too():
    class Puts(Writes):
        def start(self):
            super().start()
            self.clear = lambda: self.write("mine") or Writes.clear(self)

    run = heard(Puts)
    assert not isinstance(run._usual_turn, Turn)
    assert sum(what == "mine" for what, *_ in run.heard) == PLAIN.n_bars
