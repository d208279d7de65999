"""Whoever listens to a tracker hears what an ordinary strategy with the same orders would have told: alone and in pairs."""

from __future__ import annotations

import inspect
import itertools
from functools import cache

import backtrader as bt
import numpy as np
import pytest

from tests.differential.random_strategy import seen_of, seen_of_trade
from tests.differential.scripted import Scripted, script_of, watch
from tests.differential.side_by_side import PANEL, STOCK, assert_same, cerebro_with, some_slow
from tests.differential.test_brokers import COMPANY
from tests.markets import random_panel
from tracker_strategies import CostModel, PATracker, charge

ABSTRACT = {bt.Analyzer, bt.analyzers.TimeFrameAnalyzerBase, bt.Observer}
ANALYZERS = {
    c.__name__: c for c in vars(bt.analyzers).values() if inspect.isclass(c) and issubclass(c, bt.Analyzer) and c not in ABSTRACT
}
OBSERVERS = {
    c.__name__: c for c in vars(bt.observers).values() if inspect.isclass(c) and issubclass(c, bt.Observer) and c not in ABSTRACT
}
FILLS = ("next_open", "open", "close")
PANELS = {
    "complete": random_panel(n_bars=26, n_assets=3, seed=8, ohlc=True),
    "gaps": random_panel(n_bars=40, n_assets=4, seed=8, ohlc=True, gaps=True),
}
COSTS = CostModel(bps=7)
#: In fill mode "open" shares are sized by the open, and backtrader checks an ordinary order by the close before: an account that
#: is not quite invested passes that check, so that there is something to compare with.
TURNOVER = {"next_open": 0.4, "open": 0.02, "close": 0.4}


def terms(fill):
    return {
        "fill": fill,
        "max_turnover": TURNOVER[fill],
        "entry_turnover": TURNOVER[fill],
        "listing_warmup": 2,
        "delist_after": 90,
    }


class Heard(bt.Analyzer):
    """Whether anything was asked of an analyzer at all would not show; this one writes down what backtrader tells it."""

    def start(self):
        self.news = []

    def notify_order(self, order):
        self.news.append(seen_of(order))

    def notify_trade(self, trade):
        self.news.append(seen_of_trade(trade))

    def notify_cashvalue(self, cash, value):
        self.news.append((cash, value))

    def notify_fund(self, cash, value, fundvalue, shares):
        self.news.append((fundvalue, shares))

    def get_analysis(self):
        return self.news


class Parent(bt.Analyzer):
    """Listens only through a child, as SharpeRatio does."""

    def __init__(self):
        self.child = Heard()

    def get_analysis(self):
        return self.child.get_analysis()


def lines_of(observers):
    """Lines of all observers by name; one that sits on every feed is kept in a list of its own."""
    each = [*observers, *getattr(observers, "buysell", ())]
    names = [f"{type(o).__name__} {o.data._name}" if isinstance(o, bt.observers.BuySell) else type(o).__name__ for o in each]
    return dict(zip(names, ([list(line.array) for line in o.lines] for o in each), strict=True))


def run(panel, strategy, analyzers=(), observers=(), *, kind=PANEL, stdstats=False, coc=False, **params):
    cerebro = cerebro_with(kind, panel, stdstats=stdstats)
    cerebro.broker.setcash(50_000.0)
    charge(cerebro.broker, COSTS)
    if coc:
        cerebro.broker.set_coc(True)
    cerebro.addstrategy(strategy, **params)
    for analyzer in analyzers:
        cerebro.addanalyzer(analyzer, _name=f"their_{analyzer.__name__}")
    if bt.analyzers.AnnualReturn in analyzers and bt.observers.Broker not in observers and not stdstats:
        observers = [*observers, bt.observers.Broker]  # it reads the observer's line
    for observer in observers:
        more = {"data": cerebro.datas[0]} if observer is bt.observers.Benchmark else {}
        (cerebro.addobservermulti if observer is bt.observers.BuySell else cerebro.addobserver)(observer, **more)
    watch(cerebro)
    (done,) = cerebro.run()
    return done


def told(done):
    """What the listeners have to say after a run, by their names, and the account."""
    analyses = {name: a.get_analysis() for name, a in done.analyzers.getitems() if name.startswith("their_")}
    return analyses | lines_of(done.observers), done.analyzers.bars.account


@cache
def script(market, fill):
    """The orders of a tracker, from a run to which nobody listened."""
    return script_of(run(PANELS[market], PATracker, **terms(fill)))


@cache
def theirs(market, fill, stdstats):
    """What all listeners hear of an ordinary strategy: backtrader tells each of them the same, whoever else listens."""
    analyzers = [*ANALYZERS.values(), Heard, Parent]
    terms = {"kind": STOCK, "coc": fill == "close", "orders": script(market, fill), "stdstats": stdstats}
    return told(run(PANELS[market], Scripted, analyzers, OBSERVERS.values(), **terms))


def assert_heard(market, fill, analyzers=(), observers=(), brokers=("basket", "ordinary"), stdstats=False):
    words, account = theirs(market, fill, stdstats)
    for broker in brokers:
        ours, money = told(run(PANELS[market], PATracker, analyzers, observers, broker=broker, stdstats=stdstats, **terms(fill)))
        assert len(ours) >= len(analyzers) + len(observers)
        assert_same(ours, {name: words[name] for name in ours}, f"{market} {fill} {broker}")
        assert_same(money, account, f"{market} {fill} {broker}")


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("market", PANELS)
@pytest.mark.parametrize("analyzer", [*ANALYZERS.values(), Heard, Parent], ids=lambda c: c.__name__)
def test_an_analyzer_alone(analyzer, market, fill):
    assert_heard(market, fill, [analyzer])


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("observer", OBSERVERS.values(), ids=lambda c: c.__name__)
def test_an_observer_alone(observer, fill):
    assert_heard("complete", fill, [], [observer])


LISTENERS = [*ANALYZERS.values(), Heard, *OBSERVERS.values()]


@pytest.mark.parametrize("broker", some_slow(["basket", "ordinary"], 1))
@pytest.mark.parametrize("first", LISTENERS, ids=lambda c: c.__name__)
def test_pairs_of_listeners(first, broker):
    for second in LISTENERS[LISTENERS.index(first) + 1 :]:
        both = (first, second)
        analyzers = [c for c in both if issubclass(c, bt.Analyzer)]
        observers = [c for c in both if issubclass(c, bt.Observer)]
        assert_heard("complete", "next_open", analyzers, observers, [broker])


@pytest.mark.parametrize("fill", FILLS)
def test_all_of_them_with_the_standard_observers(fill):
    assert_heard("complete", fill, [*ANALYZERS.values(), Heard], OBSERVERS.values(), stdstats=True)


@pytest.mark.parametrize(
    ("fill", "market", "mode"), [*itertools.product(FILLS, PANELS, ({}, {"quicknotify": True}, {"tradehistory": True}))]
)
def test_a_strategy_that_listens_itself(fill, market, mode):
    """Every attribute of every order and trade, as told to ``notify_order`` and ``notify_trade``, and ``broker.orders`` then."""

    class Ears:
        def notify_order(self, order):
            known = [(o.data._name, o.getstatusname(), o.size) for o in self.broker.orders]
            self.told.append((len(self), seen_of(order), known[-6:], len(known)))

        def notify_trade(self, trade):
            self.told.append((len(self), seen_of_trade(trade)))

    class OurEars(Ears, PATracker):
        def __init__(self):
            super().__init__()
            self.told = []

    class TheirEars(Ears, Scripted):
        def __init__(self):
            super().__init__()
            self.told = []

    def heard(kind, strategy, **params):
        cerebro = cerebro_with(kind, PANELS[market], **mode)
        cerebro.broker.setcash(50_000.0)
        charge(cerebro.broker, COSTS)
        if strategy is TheirEars and fill == "close":
            cerebro.broker.set_coc(True)
        cerebro.addstrategy(strategy, **params)
        return cerebro.run()[0].told

    theirs = heard(STOCK, TheirEars, orders=script(market, fill), coc=fill == "close")
    assert len(theirs) > 100
    for kind, broker in ((PANEL, "basket"), (PANEL, "ordinary"), (STOCK, "basket")):
        assert_same(heard(kind, OurEars, broker=broker, **terms(fill)), theirs, f"{kind} {broker}")


@pytest.mark.parametrize("fill", ["next_open", "close"])
@pytest.mark.parametrize("company", COMPANY)
@pytest.mark.parametrize("mode", [{}, {"runonce": False}], ids=str)
def test_a_tracker_beside_feeds_of_other_calendars(company, fill, mode):
    """On a turn that brings a bar of another feed only, nothing is decided and nothing of the tracker fills."""
    panel = PANELS["complete"]

    def account(kind, strategy, **params):
        cerebro = cerebro_with(kind, panel, **mode)
        COMPANY[company](cerebro)
        cerebro.broker.setcash(50_000.0)
        charge(cerebro.broker, COSTS)
        if strategy is Scripted and fill == "close":
            cerebro.broker.set_coc(True)
        cerebro.addstrategy(strategy, **params)
        watch(cerebro)
        return cerebro.run()[0]

    names = {"assets": [f"S{i}" for i in range(panel.n_assets)], **terms(fill)}
    alone = run(panel, PATracker, **terms(fill))
    ways = [(PANEL, "basket"), (PANEL, "ordinary"), (STOCK, "basket")]
    ours = [account(kind, PATracker, broker=broker, **names) for kind, broker in ways]
    theirs = account(STOCK, Scripted, orders=script_of(ours[0]), coc=fill == "close")
    bars = int(np.searchsorted(np.array(theirs.analyzers.bars.times, dtype="datetime64[ns]"), panel.dates[-1])) + 1
    for mine in ours:
        rows = (one.analyzers.bars.account[:bars] for one in (mine, theirs))
        np.testing.assert_allclose(*rows, rtol=1e-9, atol=1e-6)
        assert mine.analyzers.bars.account[bars - 1][1] == pytest.approx(alone.broker.getvalue(), rel=1e-9)
