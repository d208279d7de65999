"""The short way over a usual bar gives what the long way gives, whatever happens around it."""

from dataclasses import replace

import backtrader as bt
import numpy as np
import pytest

from datafeeds import IndexData
from tests.markets import random_panel
from tracker_strategies import EnsembleTracker, PATracker, TrackingAnalyzer, charge
from tracker_strategies.errors import InputError
from tracker_strategies.execution import FillMode, Mandate
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.mandate.keeper import Keeper
from tracker_strategies.research import replay
from tracker_strategies.strategies.tracker import Tracker
from tracker_strategies.strategies.usual_bar import UsualBar

PLAIN = random_panel(90, 7, seed=3, ohlc=True)
SHUFFLED = replace(PLAIN, symbols=tuple(reversed(PLAIN.symbols)))
GAPS = random_panel(90, 7, seed=4, ohlc=True, gaps=True)


class Interferes(PATracker):
    """Pays in and takes out, changes the commission, and sends an order of its own."""

    def next(self):
        super().next()
        bars = len(self.data)
        if bars == 20:
            self.broker.add_cash(50_000.0)
        if bars == 30:
            self.broker.setcommission(0.002)
        if bars == 40:
            self.broker.add_cash(-200_000.0)
        if bars == 60:
            self.sell(data=self.assets[0], size=0.5)


class Hears(bt.Analyzer):
    """Everything that an analyzer can hear."""

    def start(self):
        self.heard = []

    def notify_order(self, order):
        self.heard.append(("order", order.data._name, order.getstatusname(), order.executed.size, order.executed.price))

    def notify_trade(self, trade):
        self.heard.append(("trade", trade.data._name, trade.status, trade.pnlcomm))

    def notify_cashvalue(self, cash, value):
        self.heard.append(("account", cash, value))

    def get_analysis(self):
        return self.heard


def outcome(panel, strategy, params, *, lazy, listener):
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro, lazy=lazy)
    cerebro.broker.setcash(1_000_000.0)
    charge(cerebro.broker, CostModel(bps=5, slippage_bps=2))
    cerebro.addstrategy(strategy, **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    if listener:
        cerebro.addanalyzer(Hears, _name="heard")
    run = cerebro.run()[0]
    held = {name: cerebro.broker.getposition(data) for name, data in zip(run.symbols, run.assets, strict=True)}
    return {
        "value": cerebro.broker.getvalue(),
        "cash": cerebro.broker.getcash(),
        "held": {name: (position.size, position.price) for name, position in held.items()},
        "weights": run.weights.tolist(),
        "tracking": dict(run.analyzers.tracking.get_analysis()),
        "heard": run.analyzers.heard.get_analysis() if listener else [],
    }


def same(ours, theirs):
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for key in ours:
            same(ours[key], theirs[key])
    elif isinstance(ours, list | tuple):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            same(mine, other)
    elif isinstance(ours, float | int):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-6, nan_ok=True)
    else:
        assert ours == theirs


@pytest.mark.parametrize("panel", [PLAIN, SHUFFLED, GAPS], ids=["plain", "names not sorted", "gaps"])
@pytest.mark.parametrize(
    ("strategy", "params"),
    [
        (PATracker, {"eps": 0.0}),
        (PATracker, {"eps": 0.0, "rebalance": 3}),
        (PATracker, {"eps": 0.002, "coordinates": "shares"}),
        (PATracker, {"lot": 1.0}),
        (PATracker, {"fill": "open"}),
        (PATracker, {"cash_flows": {"2020-02-03": 100_000.0, "2020-03-03": -300_000.0}}),
        (PATracker, {"max_weight": 0.3}),
        (EnsembleTracker, {}),
        (Interferes, {"eps": 0.0}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else " ".join(map(str, value)),
)
@pytest.mark.parametrize("listener", [False, True], ids=["nobody listens", "heard"])
def test_both_ways_end_alike(monkeypatch, panel, strategy, params, listener):
    short = outcome(panel, strategy, params, lazy=True, listener=listener)
    monkeypatch.setattr(UsualBar, "_takes_short_way", False)
    monkeypatch.setattr(Tracker, "_takes_short_way", False)
    monkeypatch.setattr(UsualBar, "open_usual", lambda self, bar, sizes, cash: None)
    same(short, outcome(panel, strategy, params, lazy=True, listener=listener))


def taken(monkeypatch):
    """How many bars were closed and opened on the short way, counted while it goes on."""
    counts = {"close": 0, "open": 0}
    close, opened = UsualBar.close_usual, UsualBar.open_usual

    def count_close(self, bar, route):
        done = close(self, bar, route)
        counts["close"] += done
        return done

    def count_open(self, bar, sizes, cash):
        done = opened(self, bar, sizes, cash)
        counts["open"] += done is not None
        return done

    monkeypatch.setattr(UsualBar, "close_usual", count_close)
    monkeypatch.setattr(UsualBar, "open_usual", count_open)
    return counts


def test_usual_bars_take_the_short_way(monkeypatch):
    counts = taken(monkeypatch)
    outcome(PLAIN, PATracker, {}, lazy=True, listener=False)
    assert counts == {"close": PLAIN.n_bars - 1, "open": PLAIN.n_bars - 1}  # all but the first, which has none before it


@pytest.mark.parametrize("params", [{"max_weight": 0.3}, {"fill": "close"}, {"trade_from": "2030-01-01"}])
def test_other_bars_do_not(monkeypatch, params):
    counts = taken(monkeypatch)
    outcome(PLAIN, PATracker, params, lazy=True, listener=False)
    assert counts == {"close": 0, "open": 0}


def test_the_replay_decides_alike_on_both(monkeypatch):
    short = replay(PLAIN, "pa", {"eps": 0.0}, costs=CostModel(bps=5), orders=True)
    monkeypatch.setattr(Tracker, "_takes_short_way", False)
    long = replay(PLAIN, "pa", {"eps": 0.0}, costs=CostModel(bps=5), orders=True)
    np.testing.assert_array_equal(short.decisions, long.decisions)
    np.testing.assert_array_equal(short.value, long.value)


class NeverOpens(Tracker):
    """Gives up what it decided."""

    def open(self, bar, route):
        self._decided = None


def own_tracker(change):
    """A strategy whose tracker is changed after it was made."""

    class Changed(PATracker):
        @classmethod
        def make_tracker(cls, p, symbols, costs, n_targets=1):
            tracker = super().make_tracker(p, symbols, costs, n_targets)
            change(tracker)
            return tracker

    return Changed


def never_opens(tracker):
    tracker.__class__ = NeverOpens


def equal_by_hand(tracker):
    tracker._out = lambda weights: np.full(len(weights), 1.0 / len(weights))


def capped_later(tracker):
    tracker.keeper = Keeper(Mandate(max_weight=0.3), PLAIN.symbols)


def filled_at_closes(tracker):
    tracker.fill = FillMode.CLOSE


@pytest.mark.parametrize("change", [never_opens, equal_by_hand, capped_later, filled_at_closes])
def test_a_tracker_that_was_changed_goes_the_long_way(monkeypatch, change):
    counts = taken(monkeypatch)
    strategy = own_tracker(change)
    quick = outcome(PLAIN, strategy, {"eps": 0.0}, lazy=True, listener=False)
    assert counts == {"close": 0, "open": 0}
    same(quick, outcome(PLAIN, strategy, {"eps": 0.0, "broker": "ordinary"}, lazy=True, listener=False))


class Stops(PATracker):
    """Is stopped by hand between a close and the next open."""

    def next(self):
        super().next()
        bars = len(self.data)
        if bars == 20:
            self.tracker.open, self.before = lambda bar, route: None, self.route.sizes().copy()
        if bars == 21:
            del self.tracker.open
            self.traded = float(np.abs(self.route.sizes() - self.before).max())


def test_a_step_put_on_a_tracker_after_its_decision_is_taken():
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PLAIN).add_to(cerebro)
    cerebro.addstrategy(Stops, eps=0.0)
    assert cerebro.run()[0].traded == 0.0


class Counts(Tracker):
    """Counts what it closes and opens."""

    closed = opened = 0

    def close(self, bar, route):
        super().close(bar, route)
        self.closed += 1

    def open(self, bar, route):
        super().open(bar, route)
        self.opened += 1


@pytest.mark.parametrize("bar", [0, 30])
def test_a_tracker_put_in_the_place_of_another_decides_from_then_on(bar):
    class Swaps(PATracker):
        def swap(self):
            self.tracker = self.make_tracker(self.p, self.symbols, self.tracker.rebalancer.costs)
            self.tracker.__class__ = Counts

        def start(self):
            if not bar:
                self.swap()

        def next(self):
            super().next()
            if len(self.data) == bar:
                self.swap()

    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PLAIN).add_to(cerebro)
    cerebro.addstrategy(Swaps, eps=0.0)
    run = cerebro.run()[0]
    assert (run.tracker.closed, run.bar) == (PLAIN.n_bars - bar, run.gate.read())
    assert run.tracker.opened in (PLAIN.n_bars - bar - 1, PLAIN.n_bars - bar)
    assert run.weights.sum() == pytest.approx(1.0)


def test_a_refused_bar_that_somebody_forgives_counts_as_one_without_a_level(monkeypatch):
    class Forgives(PATracker):
        def next(self):
            learner, refuses = self.algorithm, len(self.data) == 20
            if refuses:
                learner.update = lambda *args, **kwargs: learner._norm2(np.full(learner.n_assets, np.nan))
            try:
                super().next()
            except InputError:
                assert refuses
            finally:
                learner.__dict__.pop("update", None)

    params = {"eps": 0.0, "margin": 0.3}
    short = outcome(PLAIN, Forgives, params, lazy=True, listener=False)
    monkeypatch.setattr(Tracker, "_takes_short_way", False)
    same(short, outcome(PLAIN, Forgives, params, lazy=True, listener=False))
