"""The basket broker is backtrader's broker, only faster: the same money, positions, orders and trades, bar by bar."""

import backtrader as bt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datafeeds import IndexData
from tests.markets import random_panel
from tracker_strategies import CostModel, PATracker, charge
from tracker_strategies.errors import AccountError
from tracker_strategies.execution.basket.broker import host, takes_lane


class Ledger(bt.Analyzer):
    """Cash, value, fund value and positions at each close."""

    def start(self):
        self.rows = []

    def next(self):
        broker, assets = self.strategy.broker, self.strategy.assets
        held = [(p.size, p.price) if d in broker.positions and (p := broker.getposition(d)) else (0.0, 0.0) for d in assets]
        self.rows.append((broker.getcash(), broker.getvalue(), broker.get_fundvalue(), *np.ravel(held)))

    prenext = next


class Listening(PATracker):
    """Writes down every order and trade it is told of."""

    def __init__(self):
        super().__init__()
        self.news, self.trades = [], []

    def notify_order(self, order):
        e = order.executed
        self.news.append(
            (
                order.data._name,
                order.getstatusname(),
                order.isbuy(),
                order.size,
                e.size,
                e.price,
                e.comm,
                e.pnl,
                e.value,
                e.dt,
                e.psize,
                e.pprice,
            )
        )

    def notify_trade(self, trade):
        self.trades.append(
            (
                trade.data._name,
                trade.isopen,
                trade.justopened,
                trade.size,
                trade.price,
                trade.pnl,
                trade.pnlcomm,
                trade.commission,
            )
        )


class Busy(PATracker):
    """Sends orders of its own beside the tracker's: sells, because a buy would compete with the basket for cash."""

    def next(self):
        super().next()
        if len(self) % 7 == 3:
            for asset, terms in (
                (self.assets[0], {"exectype": bt.Order.Limit, "price": self.assets[0].close[0] * 1.001}),
                (self.assets[1], {}),
            ):
                if self.getposition(asset).size > 3.0:
                    self.sell(asset, size=1.0, **terms)


def run(panel, strategy=PATracker, *, costs=None, lazy=False, cash=100_000.0, fund=False, cerebro=None, **params):
    cerebro = cerebro or bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro, lazy=lazy)
    cerebro.broker.setcash(cash)
    if fund:
        cerebro.broker.set_fundmode(True)
    charge(cerebro.broker, costs or CostModel())
    cerebro.addstrategy(strategy, **{"listing_warmup": 2, "delist_after": 3, **params})
    cerebro.addanalyzer(Ledger, _name="ledger")
    return cerebro.run()[0]


def ledger(strategy):
    return np.array(strategy.analyzers.ledger.rows)


def assert_same_books(a, b, cash=100_000.0):
    np.testing.assert_allclose(ledger(a), ledger(b), rtol=1e-9, atol=1e-9 * cash)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    fill=st.sampled_from(["next_open", "open", "close"]),
    lot=st.sampled_from([0.0, 1.0, 10.0]),
    band=st.sampled_from([0.0, 0.005]),
    max_turnover=st.sampled_from([None, 0.05]),
    bps=st.sampled_from([0.0, 5.0, 50.0]),
    per_share=st.sampled_from([0.0, 0.01]),
    min_fee=st.sampled_from([0.0, 1.0]),
    slippage=st.sampled_from([0.0, 10.0]),
    gaps=st.booleans(),
    rebalance=st.sampled_from([1, 3, "weekly"]),
)
def test_money_and_positions_equal_the_ordinary_brokers(
    seed, fill, lot, band, max_turnover, bps, per_share, min_fee, slippage, gaps, rebalance
):
    panel = random_panel(n_bars=30, n_assets=5, seed=seed, ohlc=True, gaps=gaps)
    costs = CostModel(bps, per_share, min_fee, slippage)
    params = {"fill": fill, "lot": lot, "band": band, "max_turnover": max_turnover, "rebalance": rebalance}
    basket, ordinary = (run(panel, costs=costs, broker=b, **params) for b in ("basket", "ordinary"))
    assert basket.broker.owned is not None
    assert ordinary.broker.owned is None
    assert_same_books(basket, ordinary)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("fill", ["next_open", "open", "close"])
def test_every_order_and_trade_is_announced_as_by_the_ordinary_broker(fill, gaps):
    panel = random_panel(n_bars=40, n_assets=5, seed=4, ohlc=True, gaps=gaps)
    costs = CostModel(bps=10, slippage_bps=5)
    basket, ordinary = (run(panel, Listening, costs=costs, broker=b, fill=fill) for b in ("basket", "ordinary"))
    assert len(basket.news) == len(ordinary.news) > 300
    for ours, theirs in zip(basket.news, ordinary.news, strict=True):
        assert ours[:3] == theirs[:3]
        if ours[1] == "Completed":
            assert ours[3:] == pytest.approx(theirs[3:], rel=1e-9, abs=1e-6)
        else:
            assert (ours[3], ours[4]) == pytest.approx((theirs[3], 0.0), rel=1e-9)
    assert len(basket.trades) == len(ordinary.trades) > 0
    for ours, theirs in zip(basket.trades, ordinary.trades, strict=True):
        assert ours[:3] == theirs[:3]
        assert ours[3:] == pytest.approx(theirs[3:], rel=1e-9, abs=1e-6)


def test_orders_are_announced_quickly_when_cerebro_says_so():
    panel = random_panel(n_bars=20, n_assets=4, seed=4)
    strategy = run(panel, Listening, cerebro=bt.Cerebro(stdstats=False, quicknotify=True))
    assert {status for _, status, *_ in strategy.news} == {"Submitted", "Accepted", "Completed"}


def test_nobody_listens_no_order_is_made():
    strategy = run(random_panel(n_bars=20, n_assets=4, seed=4))
    assert strategy._orders == []
    with pytest.raises(AccountError, match="nothing listened"):
        list(strategy.broker.orders)


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_ordinary_orders_work_beside_baskets(fill):
    panel = random_panel(n_bars=60, n_assets=5, seed=9, ohlc=True)
    basket, ordinary = (
        run(panel, Busy, costs=CostModel(bps=5), broker=b, fill=fill, rebalance=5) for b in ("basket", "ordinary")
    )
    assert_same_books(basket, ordinary)
    assert basket.broker.owned is None  # the first ordinary order has closed the fast lane


def test_fund_mode_and_deposits():
    panel = random_panel(n_bars=40, n_assets=4, seed=2)

    class Saver(PATracker):
        def next(self):
            super().next()
            if len(self) == 15:
                self.broker.add_cash(50_000.0)

    basket, ordinary = (run(panel, Saver, fund=True, broker=b) for b in ("basket", "ordinary"))
    assert_same_books(basket, ordinary)
    assert ledger(basket)[-1, 1] > 1.3 * ledger(basket)[0, 1]


def test_analyzers_and_observers_of_backtrader_see_the_same():
    panel = random_panel(n_bars=40, n_assets=4, seed=2)
    results = []
    for broker in ("basket", "ordinary"):
        cerebro = bt.Cerebro(stdstats=True)
        cerebro.addanalyzer(bt.analyzers.TimeReturn, _name="returns")
        cerebro.addanalyzer(bt.analyzers.TradeAnalyzer, _name="trades")
        cerebro.addanalyzer(bt.analyzers.Transactions, _name="transactions")
        cerebro.addanalyzer(bt.analyzers.PositionsValue, _name="positions")
        cerebro.addanalyzer(bt.analyzers.DrawDown, _name="drawdown")
        run_ = run(panel, costs=CostModel(bps=5), cerebro=cerebro, broker=broker)
        results.append(run_)
    a, b = (r.analyzers for r in results)
    assert list(a.returns.get_analysis().values()) == pytest.approx(list(b.returns.get_analysis().values()), abs=1e-12)
    assert a.trades.get_analysis().total == b.trades.get_analysis().total
    assert a.drawdown.get_analysis().max.drawdown == pytest.approx(b.drawdown.get_analysis().max.drawdown, rel=1e-9)
    first, second = (list(x.positions.get_analysis().values()) for x in (a, b))
    np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-6)
    ours, theirs = (x.transactions.get_analysis() for x in (a, b))
    assert [len(v) for v in ours.values()] == [len(v) for v in theirs.values()]
    lines = [np.array(r.observers.broker.lines.value.array) for r in results]
    np.testing.assert_allclose(lines[0], lines[1], rtol=1e-9)


@pytest.mark.parametrize("lazy", [False, True])
def test_feeds_made_on_demand_change_nothing(lazy):
    panel = random_panel(n_bars=40, n_assets=5, seed=12, ohlc=True, gaps=True)
    reference = run(panel, costs=CostModel(bps=5), broker="ordinary")
    strategy = run(panel, costs=CostModel(bps=5), lazy=lazy)
    assert_same_books(strategy, reference)
    assert len(strategy.datas) == (1 if lazy else 6)
    assert strategy.assets[2].close[0] == panel.close[panel.last_bar[-1, 2], 2]


def test_brokers_with_rules_of_their_own_are_left_alone():
    for change in (
        lambda b: b.set_filler(bt.fillers.FixedSize(size=10)),
        lambda b: b.set_slippage_fixed(0.05),
        lambda b: b.set_slippage_perc(0.001),
        lambda b: b.setcommission(commission=0.001, name="S0"),
    ):
        broker = bt.brokers.BackBroker()
        change(broker)
        assert not takes_lane(host(broker))
