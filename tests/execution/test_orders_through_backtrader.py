"""The rebalancer through backtrader's own broker: random daily targets, real orders, no rejection."""

import backtrader as bt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datafeeds import IndexData
from tests.markets import random_panel
from tracker_strategies.algorithms import ConstantWeights
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.strategies import TrackerStrategy


class RandomTargets(TrackerStrategy):
    """New random weights every bar: the hardest thing to hold."""

    params = (("seed", 0),)

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(self.p.seed)
        self.statuses, self.cash_seen = [], []

    @classmethod
    def make_algorithm(cls, p, symbols, n_targets):
        return ConstantWeights(len(symbols))

    def next(self):
        self.tracker.algorithm = ConstantWeights(len(self.assets), start=self.rng.dirichlet(np.ones(len(self.assets))))
        super().next()
        self.cash_seen.append(self.broker.getcash())

    def notify_order(self, order):
        self.statuses.append(order.status)


class NaiveTargets(RandomTargets):
    """The same job as most backtrader users write it."""

    def next(self):
        weights = self.rng.dirichlet(np.ones(len(self.assets)))
        for data, weight in zip(self.assets, weights, strict=True):
            self.order_target_percent(data, target=weight)
        self.cash_seen.append(self.broker.getcash())

    def next_open(self):
        pass


def run(strategy, panel, costs, cash=100_000.0, **params):
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro)
    cerebro.broker.setcash(cash)
    charge(cerebro.broker, costs)
    cerebro.addstrategy(strategy, **params)
    return cerebro.run()[0]


def refused(strategy):
    return sum(status in (bt.Order.Margin, bt.Order.Rejected) for status in strategy.statuses)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    fill=st.sampled_from(["next_open", "open", "close"]),
    lot=st.sampled_from([0.0, 1.0]),
    band=st.sampled_from([0.0, 0.01]),
    bps=st.sampled_from([0.0, 10.0]),
    slippage=st.sampled_from([0.0, 5.0]),
    min_fee=st.sampled_from([0.0, 1.0]),
    gaps=st.booleans(),
    broker=st.sampled_from(["basket", "ordinary"]),
)
def test_no_order_is_ever_refused_and_cash_never_negative(seed, fill, lot, band, bps, slippage, min_fee, gaps, broker):
    panel = random_panel(n_bars=25, n_assets=6, seed=seed, ohlc=True, gaps=gaps)
    costs = CostModel(bps=bps, slippage_bps=slippage, min_fee=min_fee)
    limits = {"fill": fill, "lot": lot, "band": band}
    strategy = run(RandomTargets, panel, costs, **limits, seed=seed, broker=broker, listing_warmup=0, delist_after=3)
    assert bt.Order.Completed in strategy.statuses
    assert refused(strategy) == 0
    assert min(strategy.cash_seen) >= 0.0
    assert np.isfinite(strategy.broker.getvalue())


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_the_naive_loop_fails_the_same_job(fill):
    panel = random_panel(n_bars=60, n_assets=10, seed=3, ohlc=True)
    costs = CostModel(bps=10)
    naive, ours = (run(cls, panel, costs, fill=fill) for cls in (NaiveTargets, RandomTargets))
    orders = sum(status == bt.Order.Accepted for status in naive.statuses) + refused(naive)
    assert refused(naive) > 0.2 * orders
    assert refused(ours) == 0


def test_backtraders_own_way_to_set_commission_is_understood():
    panel = random_panel(n_bars=20, n_assets=4, seed=1)
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro)
    cerebro.broker.setcash(50_000.0)
    cerebro.broker.setcommission(commission=0.002)
    cerebro.addstrategy(RandomTargets)
    strategy = cerebro.run()[0]
    assert strategy.tracker.rebalancer.costs.bps == pytest.approx(20.0)
    assert refused(strategy) == 0
    assert min(strategy.cash_seen) >= 0.0
