"""The replay is cerebro without cerebro: the same weights, wealth, turnover, costs and orders."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datafeeds import load_sample
from tests.markets import random_panel, real_market
from tracker_strategies import CostModel, backtest
from tracker_strategies.errors import ParameterError
from tracker_strategies.research import replay
from tracker_strategies.strategies import STRATEGIES


def assert_same(a, b):
    np.testing.assert_array_equal(a.dates, b.dates)
    np.testing.assert_array_equal(a.decisions, b.decisions)
    np.testing.assert_allclose(a.value, b.value, rtol=1e-9)
    np.testing.assert_allclose(a.weights, b.weights, atol=1e-9)
    np.testing.assert_allclose(a.turnover, b.turnover, atol=1e-9)
    np.testing.assert_allclose(a.cost, b.cost, rtol=1e-9, atol=1e-6)
    if len(a.orders):
        pd.testing.assert_frame_equal(a.orders, b.orders, rtol=1e-9)
    assert a.params == b.params
    assert a.entry == b.entry
    assert a.metrics() == pytest.approx(b.metrics(), rel=1e-9, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    strategy=st.sampled_from(STRATEGIES),
    fill=st.sampled_from(["next_open", "open", "close"]),
    lot=st.sampled_from([0.0, 1.0]),
    band=st.sampled_from([0.0, 0.005]),
    max_turnover=st.sampled_from([None, 0.05]),
    costs=st.sampled_from([CostModel(), CostModel(bps=5), CostModel(bps=5, per_share=0.01, min_fee=1.0, slippage_bps=10)]),
    gaps=st.booleans(),
    rebalance=st.sampled_from([1, 3, "weekly", "once"]),
)
def test_replay_equals_cerebro(seed, strategy, fill, lot, band, max_turnover, costs, gaps, rebalance):
    panel = random_panel(n_bars=30, n_assets=5, seed=seed, ohlc=True, gaps=gaps)
    params = {"fill": fill, "lot": lot, "band": band, "max_turnover": max_turnover, "rebalance": rebalance}
    params |= {"listing_warmup": 2, "delist_after": 3}
    truth = backtest(panel, strategy, params, costs=costs)
    with_orders = replay(panel, strategy, params, costs=costs, orders=True)
    assert len(with_orders.orders) == len(truth.orders)
    assert_same(with_orders, truth)
    assert_same(replay(panel, strategy, params, costs=costs), truth)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    fill=st.sampled_from(["next_open", "open", "close"]),
    costs=st.sampled_from([CostModel(), CostModel(bps=5), CostModel(bps=30, slippage_bps=10)]),
    rebalance=st.sampled_from([1, 4, "monthly"]),
    ohlc=st.booleans(),
)
def test_the_account_of_values_equals_cerebro(seed, fill, costs, rebalance, ohlc):
    panel = random_panel(n_bars=60, n_assets=7, seed=seed, ohlc=ohlc)
    params = {"fill": fill, "rebalance": rebalance, "eps": 0.0}
    assert_same(replay(panel, "pa", params, costs=costs), backtest(panel, "pa", params, costs=costs))


def test_a_replay_tells_the_same_of_itself_as_cerebro():
    panel = random_panel(n_bars=30, n_assets=5, seed=3, gaps=True)
    sectors = {"S0": "Energy", "S1": "Banks", "S2": "Banks"}
    params = {"sectors": sectors, "max_sector": 0.4, "unmapped": "free", "delist_after": 3}
    ours, theirs = (run(panel, "pa", params, costs=CostModel(bps=5)) for run in (replay, backtest))
    for name in ("strategy", "params", "targets", "symbols", "periods_per_year", "events", "sectors", "kernels"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.sectors == sectors
    assert ours.events
    pd.testing.assert_frame_equal(ours.breaches, theirs.breaches)
    assert len(ours.breaches)


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_replay_equals_cerebro_on_the_sample(fill):
    panel = load_sample().rows(-800, None)
    truth = backtest(panel, "pa", {"fill": fill}, costs=CostModel(bps=5))
    for orders in (True, False):
        assert_same(replay(panel, "pa", {"fill": fill}, costs=CostModel(bps=5), orders=orders), truth)


def test_replay_equals_cerebro_on_a_real_market_with_a_late_listing():
    panel = real_market("nasdaq100_2023_2024_daily")
    assert_same(replay(panel, "pa", costs=CostModel(bps=5), orders=True), backtest(panel, "pa", costs=CostModel(bps=5)))


def test_bad_requests_are_refused_alike():
    panel = random_panel()
    for run in (replay, backtest):
        with pytest.raises(ParameterError, match="epsilon"):
            run(panel, "pa", {"epsilon": 1.0})
        with pytest.raises(ParameterError, match="cash"):
            run(panel, "pa", cash=-1.0)
