"""A strategy beside a tracker fares as beside an ordinary strategy that sends the tracker's orders: nothing around it changes."""

from __future__ import annotations

import pickle
from functools import cache

import backtrader as bt
import numpy as np
import pytest

from datafeeds import IndexData
from tests.differential.random_strategy import RandomStrategy
from tests.differential.scripted import Scripted, script_of, watch
from tests.differential.side_by_side import PANEL, STOCK, assert_same, cerebro_with, seeds, some_slow
from tests.markets import random_panel
from tracker_strategies import CostModel, EqualWeight, HoldingsAnalyzer, PATracker, TrackingAnalyzer, charge
from tracker_strategies.errors import ParameterError

FILLS = ("next_open", "open", "close")
SEEDS = seeds(6)
CASH = 40_000.0
#: The last question and its answer: feeds and brokers differ, orders do not, so that one ordinary run is the reference of four.
REFERENCE: list = []


class Polite(RandomStrategy):
    """Says with each order that it does not cheat: in the reference the broker is told to cheat on close for the script alone."""

    def buy(self, *args, **kwargs):
        return super().buy(*args, **{"coc": False, **kwargs})

    def sell(self, *args, **kwargs):
        return super().sell(*args, **{"coc": False, **kwargs})


def together(kind, panel, main, params, seed, *, first, coc=False, neighbour=RandomStrategy, mode=None, costs=None, flows=True):
    """A tracker or its script, beside a random strategy that was added before or after it."""
    cerebro = cerebro_with(kind, panel, **(mode or {}))
    cerebro.broker.setcash(CASH)
    charge(cerebro.broker, costs or CostModel())
    if coc:
        cerebro.broker.set_coc(True)
    added = [(main, params), (neighbour, {"seed": seed, "size": 30, "flows": flows})]
    for strategy, more in added if first else reversed(added):
        cerebro.addstrategy(strategy, **more)
    watch(cerebro)
    runs = cerebro.run()
    mine, other = runs if first else reversed(runs)
    return mine, other


def assert_undisturbed(panel, seed, fill, *, first, broker="basket", feeds=PANEL, mode=None, costs=None, **params):
    terms = {"fill": fill, "broker": broker, "capital": 0.6, "listing_warmup": 2, "delist_after": 90, **params}
    rest = {"first": first, "mode": mode, "costs": costs, "flows": terms["capital"] is not None}
    ours, beside = together(feeds, panel, PATracker, terms, seed, **rest)
    orders = script_of(ours)
    assert orders
    asked = (panel, orders, seed, fill, rest)
    if not (REFERENCE and REFERENCE[0] == asked):
        script = {"orders": orders, "coc": fill == "close"}
        polite = Polite if fill == "close" else RandomStrategy
        REFERENCE[:] = asked, together(STOCK, panel, Scripted, script, seed, coc=fill == "close", neighbour=polite, **rest)
    theirs, reference = REFERENCE[1]
    assert any(entry[0] == "order" for entry in reference.log)
    assert_same(beside.log, reference.log, f"{fill} {feeds} {broker}")
    assert_same(ours.analyzers.bars.account, theirs.analyzers.bars.account)
    held = {d._name: (p.size, p.price) for d, p in ours.broker.positions.items() if p.size}
    wanted = {d._name: (p.size, p.price) for d, p in theirs.broker.positions.items() if p.size}
    assert_same(dict(sorted(held.items())), dict(sorted(wanted.items())))


@cache
def market(seed):
    return random_panel(n_bars=40, n_assets=4, seed=seed, ohlc=True, gaps=seed % 3 == 1)


@pytest.mark.parametrize("first", [True, False], ids=["tracker first", "neighbour first"])
@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("seed", some_slow(SEEDS, 3))
def test_a_neighbour_is_not_disturbed(seed, fill, first):
    for feeds in (PANEL, STOCK):
        for broker in ("basket", "ordinary"):
            assert_undisturbed(market(seed), seed, fill, first=first, feeds=feeds, broker=broker, costs=CostModel(bps=4))


@pytest.mark.parametrize("first", [True, False], ids=["tracker first", "neighbour first"])
@pytest.mark.parametrize("fill", ["next_open", "close"])
@pytest.mark.parametrize("seed", some_slow(SEEDS, 3))
def test_a_neighbour_that_competes_for_the_same_cash(seed, fill, first):
    """Without parts: a tracker spends all there is.

    Two things have no reference, because backtrader refuses ordinary orders there and the tracker's get through: orders sized by
    opens (fill mode "open") where they cost more at the closes at which orders are checked, and sells that bring an account back
    from a withdrawal that overdrew it.
    """
    for feeds in (PANEL, STOCK):
        assert_undisturbed(market(seed), seed, fill, first=first, feeds=feeds, capital=None, costs=CostModel(bps=4))


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize(
    "mode", [{"runonce": False}, {"preload": False}, {"exactbars": -1}, {"cheat_on_open": True}, {"quicknotify": True}], ids=str
)
def test_in_every_mode_of_cerebro(mode, fill):
    """With cheat_on_open the neighbour's next_open is called, as it asked for; without it, it is not."""
    for seed in (0, 3):
        panel = market(seed)
        if mode == {"cheat_on_open": True} and fill != "next_open":
            continue  # the script's own orders would cheat on open there
        mode = {**mode, "broker_coo": False} if "cheat_on_open" in mode else mode
        assert_undisturbed(panel, seed, fill, first=True, mode=mode)


def test_no_setting_of_cerebro_or_broker_is_touched():
    for fill in FILLS:
        cerebro = cerebro_with(PANEL, market(0))
        before = {k: getattr(cerebro.p, k) for k in cerebro.p._getkeys()}, dict(cerebro.broker.p._getkwargs())
        cerebro.addstrategy(PATracker, fill=fill)
        cerebro.addstrategy(RandomStrategy)
        cerebro.run()
        assert ({k: getattr(cerebro.p, k) for k in cerebro.p._getkeys()}, dict(cerebro.broker.p._getkwargs())) == before


@pytest.mark.parametrize("fill", FILLS)
def test_the_tracker_counts_and_sells_only_what_it_bought(fill):
    """A neighbour holds, and another shorts, the very names that are tracked."""

    class Holder(bt.Strategy):
        params = (("size", 20),)

        def next(self):
            if len(self) == 2:
                for name in ("S0", "S1"):
                    (self.buy if self.p.size > 0 else self.sell)(self.getdatabyname(name), size=abs(self.p.size))

    def run(*others):
        cerebro = cerebro_with(PANEL, market(0))
        cerebro.broker.setcash(CASH)
        cerebro.addstrategy(PATracker, fill=fill, capital=0.5)
        for size in others:
            cerebro.addstrategy(Holder, size=size)
        watch(cerebro)
        return cerebro.run()[0]

    alone, beside, shorted = run(), run(20), run(-15)
    for other, size in ((beside, 20.0), (shorted, -15.0)):
        np.testing.assert_allclose(other.route.sizes(), alone.route.sizes(), rtol=1e-12)
        np.testing.assert_array_equal(other.weights, alone.weights)
        total = other.broker.getposition(other.getdatabyname("S0")).size
        assert total == pytest.approx(float(alone.route.sizes()[0]) + size, rel=1e-12)


# -- two trackers in one account ----------


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("feeds", [PANEL, STOCK])
def test_two_trackers_with_parts_do_what_each_does_alone(feeds, fill):
    def run(*trackers, cash):
        cerebro = cerebro_with(feeds, market(0))
        cerebro.broker.setcash(cash)
        charge(cerebro.broker, CostModel(bps=5))
        for strategy, params in trackers:
            cerebro.addstrategy(strategy, fill=fill, **params)
        cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
        cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings")
        return cerebro.run()

    both = run((PATracker, {"capital": 0.25}), (EqualWeight, {"capital": 0.75}), cash=CASH)
    alone = [run((PATracker, {}), cash=0.25 * CASH)[0], run((EqualWeight, {}), cash=0.75 * CASH)[0]]
    for one, other in zip(both, alone, strict=True):
        np.testing.assert_allclose(one.route.sizes(), other.route.sizes(), rtol=1e-9)
        assert one.route.value() == pytest.approx(other.broker.getvalue(), rel=1e-9)
        for name in ("tracking", "holdings"):
            ours, theirs = (run.analyzers.getbyname(name).get_analysis() for run in (one, other))
            assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-12)
    broker = both[0].broker
    assert sum(s.route.value() for s in both) == pytest.approx(broker.getvalue(), rel=1e-12)
    assert sum(s.route.part.cash for s in both) == pytest.approx(broker.getcash(), abs=1e-9 * CASH)


def test_money_that_comes_in_is_shared_by_the_parts():
    class Saver(PATracker):
        def next(self):
            super().next()
            if len(self) == 9:
                self.broker.add_cash(1000.0)

    cerebro = cerebro_with(PANEL, market(0))
    cerebro.broker.setcash(CASH)
    cerebro.addstrategy(Saver, capital=0.4)
    cerebro.addstrategy(EqualWeight, capital=0.6)
    first, second = cerebro.run()
    assert (first.route.part.flow, second.route.part.flow) == pytest.approx((400.0, 600.0))
    assert first.route.value() + second.route.value() == pytest.approx(first.broker.getvalue(), rel=1e-12)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((None, None), "2 trackers share one account.*capital=0.5"),
        ((0.5, None), "2 trackers share one account.*capital=0.5"),
        ((0.7, 0.7), "sums to 1.4"),
        ((0.0, 0.5), r"capital=0\.0 must be a share"),
        ((float("nan"), 0.5), "capital must be a finite number, got nan"),
        (("half", 0.5), "capital must be a finite number, got 'half'"),
    ],
)
def test_parts_that_do_not_fit_are_refused_before_the_run(parts, message):
    seen = []

    class Tracker(PATracker):
        def next(self):
            seen.append(1)

    cerebro = cerebro_with(PANEL, market(0))
    for part in parts:
        cerebro.addstrategy(Tracker, capital=part)
    with pytest.raises(ParameterError, match=message):
        cerebro.run()
    assert not seen


# -- a tracker's subclass with orders of its own ----------


@pytest.mark.parametrize("broker", ["basket", "ordinary"])
@pytest.mark.parametrize("fill", FILLS)
def test_a_short_order_of_a_trackers_subclass_is_rejected_and_the_run_goes_on(fill, broker):
    class Bold(PATracker):
        def __init__(self):
            super().__init__()
            self.refused = []

        def next(self):
            super().next()
            if len(self) in (5, 12):
                self.sell(self.getdatabyname("S1"), size=1e5)

        def notify_order(self, order):
            if order.status == order.Rejected:
                self.refused.append((order.data._name, order.info.reason))

    cerebro = cerebro_with(PANEL, market(0))
    cerebro.broker.setcash(CASH)
    cerebro.addstrategy(Bold, fill=fill, broker=broker)
    (run,) = cerebro.run()
    assert [name for name, _ in run.refused] == ["S1", "S1"]
    assert all("long only" in reason and "100000" in reason.replace("1e+05", "100000") for _, reason in run.refused)
    assert len(run) == 40
    assert (run.route.sizes() >= 0.0).all()


def test_a_subclass_may_short_what_it_does_not_track():
    """A hedge with the index is none of the tracker's names."""

    class Hedged(PATracker):
        def next(self):
            super().next()
            if len(self) == 5:
                self.sell(self.data0, size=1)

    cerebro = cerebro_with(PANEL, market(0))
    cerebro.addstrategy(Hedged)
    (run,) = cerebro.run()
    assert run.getposition(run.data0).size == -1


def test_orders_of_a_subclass_fill_in_the_order_of_submission():
    """Sent before the tracker's, its own order fills first; sent after it, it fills last. Both brokers agree on every order."""

    def run(before, broker):
        class Own(PATracker):
            def __init__(self):
                super().__init__()
                self.filled = []

            def next(self):
                if before and len(self) == 7:
                    self.buy(self.assets[0], size=1)
                super().next()
                if not before and len(self) == 7:
                    self.buy(self.assets[0], size=1)

            def notify_order(self, order):
                if order.status == order.Completed:
                    self.filled.append((len(self), order.data._name, order.size))

        cerebro = cerebro_with(PANEL, market(0))
        cerebro.broker.setcash(CASH)
        cerebro.addstrategy(Own, entry_turnover=0.1, max_turnover=0.1, broker=broker)
        return [(name, size) for bar, name, size in cerebro.run()[0].filled if bar == 8]

    for before in (True, False):
        ours = run(before, "basket")
        assert_same(ours, run(before, "ordinary"))
        assert ours[0 if before else -1] == ("S0", 1)


@pytest.mark.parametrize("fill", FILLS)
def test_what_a_subclass_sells_first_the_tracker_sells_no_more(fill):
    """Its basket shrinks to what is left; nothing is refused and nothing goes short."""

    class Seller(PATracker):
        def __init__(self):
            super().__init__()
            self.statuses = []

        def next(self):
            if len(self) in (6, 9, 14):
                for asset in self.assets:
                    held = self.getposition(asset).size
                    if held:
                        self.sell(asset, size=held)  # everything, before the tracker's own orders of this bar
            super().next()

        def notify_order(self, order):
            self.statuses.append(order.getstatusname())

    cerebro = cerebro_with(PANEL, market(0))
    cerebro.broker.setcash(CASH)
    cerebro.addstrategy(Seller, fill=fill)
    (run,) = cerebro.run()
    assert {"Rejected", "Margin"} & set(run.statuses) == set()
    assert (run.route.sizes() >= 0.0).all()
    for asset, size in zip(run.assets, run.route.sizes(), strict=True):
        assert run.getposition(asset).size == pytest.approx(size, abs=1e-9)


def test_a_finished_run_can_be_pickled():
    """optstrategy with several processes and optreturn=False sends whole strategies back."""
    cerebro = bt.Cerebro(stdstats=False, maxcpus=2, optreturn=False)
    IndexData(market(0)).add_to(cerebro)
    cerebro.optstrategy(PATracker, eps=[0.0, 1e-3])
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    runs = [run[0] for run in cerebro.run()]
    assert len({run.analyzers.tracking.get_analysis()["te_rms"] for run in runs}) == 2
    assert all(run.broker.getvalue() > 0 for run in runs)


class OwnBroker(bt.brokers.BackBroker):
    """A user's broker."""


def test_a_users_own_broker_is_kept_and_can_be_pickled():
    cerebro = cerebro_with(PANEL, market(0))
    cerebro.setbroker(OwnBroker())
    cerebro.addstrategy(PATracker)
    (run,) = cerebro.run()
    assert isinstance(run.broker, OwnBroker)
    assert run.broker is cerebro.broker
    assert pickle.loads(pickle.dumps(run.broker)).getvalue() == run.broker.getvalue()


def test_a_broker_of_another_kind_is_refused_by_name():
    class Foreign(bt.BrokerBase):
        def getvalue(self, datas=None):
            return 1.0

        getcash = getvalue

        def getposition(self, data):
            return bt.Position()

        def submit(self, order):
            return order

        buy = sell = cancel = submit

    cerebro = cerebro_with(PANEL, market(0))
    cerebro.setbroker(Foreign())
    cerebro.addstrategy(PATracker)
    with pytest.raises(ParameterError, match=r"BackBroker.*not on Foreign"):
        cerebro.run()
