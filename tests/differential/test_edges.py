"""Rarer company: delistings beside others, settings changed in mid-run, feeds used again, brokers with hooks of their own."""

from __future__ import annotations

import datetime
import pickle

import backtrader as bt
import numpy as np
import pytest

from datafeeds import IndexData
from tests.differential.side_by_side import PANEL, STOCK, assert_same, cerebro_with
from tests.markets import random_panel
from tracker_strategies import EqualWeight, PATracker
from tracker_strategies.errors import ParameterError

FILLS = ("next_open", "open", "close")
CASH = 40_000.0
COMPLETE = random_panel(n_bars=40, n_assets=4, seed=3, ohlc=True)
LIVING = random_panel(n_bars=40, n_assets=4, seed=3, ohlc=True, gaps=True)  # S2 is delisted halfway


def run(panel, *strategies, feeds=PANEL, change=lambda broker: None, broker=None):
    cerebro = cerebro_with(feeds, panel)
    if broker is not None:
        cerebro.setbroker(broker)
    cerebro.broker.setcash(CASH)
    change(cerebro.broker)
    for strategy, params in strategies:
        cerebro.addstrategy(strategy, **params)
    return cerebro.run()


class Holder(bt.Strategy):
    """Holds, or is short of, some shares of one name."""

    params = (("size", 5), ("name", "S2"))

    def next(self):
        if len(self) == 12:
            (self.buy if self.p.size > 0 else self.sell)(self.getdatabyname(self.p.name), size=abs(self.p.size))


class Statuses(PATracker):
    def __init__(self):
        super().__init__()
        self.told = []

    def notify_order(self, order):
        self.told.append((len(self), order.data._name, order.getstatusname(), order.size, order.executed.dt))


@pytest.mark.parametrize("feeds", [PANEL, STOCK])
@pytest.mark.parametrize("size", [5, -5])
def test_a_delisted_name_that_others_hold_or_are_short_of(size, feeds):
    living = {"delist_after": 4, "listing_warmup": 2, "capital": 0.5}
    tracker, holder = run(LIVING, (PATracker, living), (Holder, {"size": size}), feeds=feeds)
    place = tracker.symbols.index("S2")
    assert tracker.route.sizes()[place] == 0.0
    assert holder.getposition(holder.getdatabyname("S2")).size == pytest.approx(size)


def test_a_delisted_name_of_two_trackers_is_booked_out_to_the_last_share():
    living = {"delist_after": 4, "listing_warmup": 2, "capital": 0.5}
    first, second = run(LIVING, (PATracker, living), (EqualWeight, living), change=lambda b: b.setcommission(commission=0.001))
    assert first.getposition(first.getdatabyname("S2")).size == 0
    assert first.route.value() + second.route.value() == pytest.approx(first.broker.getvalue(), rel=1e-9)


def test_a_neighbour_cancels_what_is_filled_without_the_check_of_orders():
    class Cancels(bt.Strategy):
        def next(self):
            if len(self) > 1:
                self.cancel(self.last)
            self.last = self.buy(self.data1, size=1)
            assert all(o.data is not None for o in (*self.broker.submitted, *self.broker.pending))

    for checks in (True, False):
        tracker, _ = run(COMPLETE, (PATracker, {"capital": 0.5}), (Cancels, {}), change=lambda b, c=checks: b.set_checksubmit(c))
        assert tracker.route.sizes().any()


def test_a_broker_that_lends_money_is_refused():
    with pytest.raises(ParameterError, match=r"lends money \(leverage=4\)"):
        run(COMPLETE, (PATracker, {}), change=lambda b: b.setcommission(leverage=4.0))


def test_interest_cannot_be_shared_by_parts():
    with pytest.raises(ParameterError, match="interest"):
        run(COMPLETE, (PATracker, {"capital": 0.5}), change=lambda b: b.setcommission(interest=0.05, interest_long=True))


@pytest.mark.parametrize("fill", FILLS)
def test_money_paid_into_two_parts_is_as_of_each_alone(fill):
    def flowing(cls, share):
        class Flowing(cls):
            def next(self):
                super().next()
                if len(self) == 15 and share:
                    self.broker.add_cash(share * 3000.0)

        return Flowing

    half = {"capital": 0.5, "fill": fill}
    both = run(COMPLETE, (flowing(PATracker, 1.0), half), (EqualWeight, half))
    for one, cls in zip(both, (PATracker, EqualWeight), strict=True):
        cerebro = cerebro_with(PANEL, COMPLETE)
        cerebro.broker.setcash(0.5 * CASH)
        cerebro.addstrategy(flowing(cls, 0.5), fill=fill)
        (alone,) = cerebro.run()
        assert one.route.value() == pytest.approx(alone.broker.getvalue(), rel=1e-9)
        np.testing.assert_allclose(one.route.sizes(), alone.route.sizes(), rtol=1e-8)


@pytest.mark.parametrize("fill", FILLS)
def test_a_withdrawal_from_two_parts_takes_from_each_its_share(fill):
    """While the account is overdrawn backtrader takes no buys, so that they come a bar later; sells bring it back at once."""

    class Leaving(Statuses):
        def next(self):
            super().next()
            if len(self) == 15:
                self.broker.add_cash(-9000.0)

    half = {"capital": 0.5, "fill": fill}
    both = run(COMPLETE, (Leaving, half), (EqualWeight, half))
    broker = both[0].broker
    assert [one.route.part.flow for one in both] == pytest.approx([-4500.0, -4500.0])
    assert {status for _, _, status, _, _ in both[0].told} <= {"Submitted", "Accepted", "Completed", "Canceled"}
    assert broker.getcash() >= 0.0
    assert sum(one.route.value() for one in both) == pytest.approx(broker.getvalue(), rel=1e-9)
    for one in both:
        assert one.route.part.cash <= 0.01 * one.route.value()  # invested again


CHANGES = {
    "commission": lambda b: b.setcommission(commission=0.02),
    "commission of one name": lambda b: b.setcommission(commission=0.02, name="S1"),
    "slippage": lambda b: b.set_slippage_perc(0.01, slip_open=True, slip_out=True),
}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("change", CHANGES)
def test_costs_that_change_in_mid_run(change, fill):
    """Both brokers fill the orders of that bar on the next, and nothing is refused from then on."""

    class Changing(Statuses):
        def next(self):
            super().next()
            if len(self) == 10:
                CHANGES[change](self.broker)

    ours, ordinary = (run(COMPLETE, (Changing, {"broker": b, "fill": fill}))[0] for b in ("basket", "ordinary"))
    assert_same(ours.told, ordinary.told)
    assert {status for _, _, status, _, _ in ours.told} == {"Submitted", "Accepted", "Completed"}
    assert ours.broker.getvalue() == pytest.approx(ordinary.broker.getvalue(), rel=1e-9)


# -- feeds used again ----------


class Count(bt.Strategy):
    def __init__(self):
        self.seen = []

    def next(self):
        self.seen.append((self.datetime[0], [d.close[0] for d in self.datas]))


def count(feeds, **mode):
    cerebro = bt.Cerebro(stdstats=False, **mode)
    for feed in feeds:
        cerebro.adddata(feed)
    cerebro.addstrategy(Count)
    return cerebro, cerebro.run()[0].seen


@pytest.mark.parametrize("mode", [{}, {"runonce": False}], ids=str)
def test_feeds_of_a_finished_run_in_another_cerebro(mode):
    feeds = IndexData(COMPLETE).feeds()
    _, first = count(feeds, **mode)
    assert len(first) == 40
    feeds[0].p.fromdate = datetime.datetime(2020, 1, 10)  # who led is moved bar by bar now
    _, second = count([feeds[1], feeds[0]], **mode)
    assert second
    _, third = count([feeds[2], feeds[1]], **mode)
    assert len(third) == 40


def test_a_cerebro_runs_again_after_its_feeds_were_lent():
    feeds = IndexData(COMPLETE).feeds()
    cerebro, first = count(feeds)
    count(feeds[2:4])
    for mode in ({"runonce": False}, {"runonce": True}):
        assert_same(cerebro.run(**mode)[0].seen, first)


# -- pickles, orders, hooks ----------


class WithLines(PATracker):
    """A tracker with an operation on lines."""

    def __init__(self):
        super().__init__()
        self.spread = self.data0.close - self.data1.close


def test_a_tracker_with_operations_on_lines_can_be_pickled():
    (done,) = run(COMPLETE, (WithLines, {}))
    again = pickle.loads(pickle.dumps(done))
    assert again.spread[0] == done.spread[0]
    assert np.isnan(again.spread[-100])


def test_every_way_to_read_the_orders_of_a_broker():
    class Reads(PATracker):
        def notify_order(self, order):
            orders = self.broker.orders
            assert order in orders
            assert orders.count(order) == 1
            assert orders[orders.index(order)] == order
            assert len(list(reversed(orders))) == len(orders) == len(orders.copy())

    for broker in ("basket", "ordinary"):
        run(COMPLETE, (Reads, {"broker": broker}))


class Hooked(bt.brokers.BackBroker):
    """A user's broker that looks at what is submitted, checked and announced, and takes no orders for one name."""

    calls: dict[str, int]

    def submit(self, order, check=True):
        if order.data._name == "S1":
            order.reject()
            self.notify(order)
            return order
        return super().submit(order, check)

    def check_submitted(self):
        self.calls["check"] = self.calls.get("check", 0) + 1
        super().check_submitted()

    def notify(self, order):
        self.calls["notify"] = self.calls.get("notify", 0) + 1
        super().notify(order)


def test_the_hooks_of_a_users_broker_see_the_orders_of_a_tracker():
    broker = Hooked()
    broker.calls = {}
    (done,) = run(COMPLETE, (Statuses, {}), broker=broker)
    assert isinstance(done.broker, Hooked)
    assert broker.calls["check"] == 40
    refused = [status for _, name, status, _, _ in done.told if name == "S1"]
    assert set(refused) == {"Rejected"}
    assert done.route.sizes()[1] == 0.0
    assert broker.calls["notify"] == len(done.told)


def test_a_history_of_orders_is_not_the_trackers():
    history = [[COMPLETE.dates[5].astype("datetime64[s]").item(), 6, float(COMPLETE.close[5, 1]), "S1"]]

    def total(with_history):
        cerebro = cerebro_with(PANEL, COMPLETE)
        cerebro.broker.setcash(CASH)
        if with_history:
            cerebro.add_order_history(history, notify=False)
        cerebro.addstrategy(PATracker, capital=0.5)
        (done,) = cerebro.run()
        return done.getposition(done.getdatabyname("S1")).size, done.route.sizes()

    (without, alone), (beside, own) = total(False), total(True)
    assert beside - without == pytest.approx(6.0)
    np.testing.assert_allclose(own, alone, rtol=1e-12)
