"""The rebalancer's contract, as statements about random accounts."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tracker_strategies.errors import AccountError, InputError, ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.rebalancer import Rebalancer

MANY = settings(max_examples=800, deadline=None)
NOTHING = st.just(0.0)
FEES = st.sampled_from([0.0, 1.0, 20.0])


@st.composite
def accounts(draw, lots=NOTHING, min_fees=NOTHING):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 12))
    prices = np.exp(rng.uniform(-2.0, 7.0, n))
    weights = rng.dirichlet(np.full(n, draw(st.sampled_from([0.1, 1.0, 50.0])))) * draw(st.sampled_from([1.0, 1.0, 0.7]))
    weights[rng.random(n) < 0.2] = 0.0
    wealth = 10.0 ** draw(st.integers(3, 8))
    cash = wealth * draw(st.sampled_from([0.0, 0.01, 0.5, 1.0]))
    lot = draw(lots)
    sizes = rng.dirichlet(np.ones(n)) * (wealth - cash) / prices
    if lot:
        sizes = np.floor(sizes / lot) * lot
        cash += 0.0 if sizes.any() else wealth  # lots too large for every position: an account of cash
    costs = CostModel(
        bps=draw(st.sampled_from([0.0, 5.0, 100.0])),
        per_share=draw(st.sampled_from([0.0, 0.005])),
        min_fee=draw(min_fees),
        slippage_bps=draw(st.sampled_from([0.0, 10.0])),
    )
    return Rebalancer(costs, lot), weights, sizes, prices, cash


def after(rebalancer, deltas, sizes, prices, cash):
    return sizes + deltas, cash + rebalancer.costs.cash_flow(deltas, prices)


@MANY
@given(accounts(min_fees=FEES), st.sampled_from([0.0, 0.01, 0.3]))
def test_cash_and_positions_never_go_below_zero(account, keep):
    rebalancer, weights, sizes, prices, cash = account
    deltas = rebalancer.plan((1.0 - keep) * weights, sizes, prices, cash, keep=keep)
    held, left = after(rebalancer, deltas, sizes, prices, cash)
    assert np.isfinite(deltas).all()
    assert left >= 0.0
    assert held.min() >= -1e-9 * max(1.0, sizes.max())


@MANY
@given(accounts())
def test_ratios_of_the_weights_are_kept_and_nothing_is_left_idle(account):
    rebalancer, weights, sizes, prices, cash = account
    deltas = rebalancer.plan(weights, sizes, prices, cash)
    held, left = after(rebalancer, deltas, sizes, prices, cash)
    value = cash + sizes @ prices
    scale = (held * prices).sum() / (weights.sum() * value) if weights.any() else 0.0
    np.testing.assert_allclose(held * prices, scale * weights * value, atol=1e-9 * value)
    assert (scale - 1.0) * weights.sum() <= 1e-9
    if (1.0 - scale) * weights.sum() > 1e-9:  # it scaled down, so it must have had to
        assert left <= 1e-9 * value


@MANY
@given(accounts(), st.sampled_from([0.005, 0.1, 0.5]))
def test_what_stays_in_cash_and_the_weights_are_shares_of_what_is_left_after_the_costs(account, keep):
    rebalancer, weights, sizes, prices, cash = account
    assume(weights.any())
    weights = weights / weights.sum() * (1.0 - keep)
    held, left = after(rebalancer, rebalancer.plan(weights, sizes, prices, cash, keep=keep), sizes, prices, cash)
    worth = left + held @ prices
    assert left / worth == pytest.approx(keep, abs=1e-9)
    np.testing.assert_allclose(held * prices / worth, weights, rtol=0, atol=1e-9)


@MANY
@given(accounts(min_fees=FEES), st.randoms(use_true_random=False))
def test_the_order_of_the_names_does_not_matter(account, random):
    rebalancer, weights, sizes, prices, cash = account
    order = list(range(len(weights)))
    random.shuffle(order)
    straight = rebalancer.plan(weights, sizes, prices, cash)
    shuffled = rebalancer.plan(weights[order], sizes[order], prices[order], cash)
    value = cash + sizes @ prices
    if rebalancer.costs.min_fee:
        # Skipping a trade below its fee is a jump: the last bit of a sum may move a plan across one.
        gap = abs((straight[order] - shuffled) @ prices)
        assert gap <= 1e-9 * value or gap <= 2 * rebalancer.costs.min_fee
    else:
        np.testing.assert_allclose(straight[order] * prices[order], shuffled * prices[order], atol=1e-9 * value)


@MANY
@given(accounts())
def test_nothing_of_a_position_that_is_sold_out_remains(account):
    """Nor of one whose target is rounding."""
    rebalancer, weights, sizes, prices, cash = account
    weights = np.where(weights > 0.05, weights, np.where(np.arange(len(weights)) % 2, 0.0, 1e-17))
    held, _ = after(rebalancer, rebalancer.plan(weights, sizes, prices, cash), sizes, prices, cash)
    assert (held[weights <= 1e-17] == 0.0).all()


@MANY
@given(accounts(lots=st.sampled_from([0.0, 1.0, 100.0, 0.001]), min_fees=FEES), st.integers(0, 2**32 - 1))
def test_orders_fit_the_cash_wherever_the_market_opens(account, seed):
    rebalancer, weights, sizes, prices, cash = account
    opens = prices * np.exp(np.random.default_rng(seed).normal(0.0, 0.3, len(prices)))
    deltas = planned(rebalancer, weights, sizes, prices, cash)
    fitted = rebalancer.fit(deltas, sizes, opens, cash)
    held, left = after(rebalancer, fitted, sizes, opens, cash)
    assert left >= 0.0
    assert held.min() >= -1e-9 * max(1.0, sizes.max())
    assert (np.sign(fitted) * np.sign(deltas) >= 0).all()
    assert (np.abs(fitted) <= np.abs(deltas) * (1 + 1e-12)).all()
    buys = (deltas > 0.0) & (fitted > 0.0)
    if not rebalancer.lot and buys.any():
        factor = fitted[buys] / deltas[buys]
        np.testing.assert_allclose(factor, factor[0], rtol=1e-9)


def planned(rebalancer, weights, sizes, prices, cash):
    """A plan in whole lots, where there are any: targets rounded down."""
    deltas = rebalancer.plan(weights, sizes, prices, cash)
    return deltas if not rebalancer.lot else np.trunc(deltas / rebalancer.lot) * rebalancer.lot


@MANY
@given(accounts(lots=st.sampled_from([1.0, 10.0])), st.integers(0, 2**32 - 1))
def test_lots_that_no_longer_fit_are_taken_away_whole_and_no_more_of_them_than_needed(account, seed):
    rebalancer, weights, sizes, prices, cash = account
    lot, opens = rebalancer.lot, prices * np.exp(np.random.default_rng(seed).normal(0.1, 0.1, len(prices)))
    deltas = planned(rebalancer, weights, sizes, prices, cash)
    fitted = rebalancer.fit(deltas, sizes, opens, cash)
    np.testing.assert_allclose(fitted / lot, np.round(fitted / lot), atol=1e-6)
    for i in np.flatnonzero(fitted < deltas - 0.5 * lot):
        one_more = fitted + lot * (np.arange(len(fitted)) == i)
        assert cash + rebalancer.costs.cash_flow(one_more, opens) < 1e-9 * (cash + sizes @ opens)


def test_a_small_gap_at_the_open_costs_one_lot_and_not_one_of_every_name():
    prices = np.array([10.0, 20.0, 30.0, 40.0])
    fitted = Rebalancer(lot=1.0).fit(np.ones(4), np.zeros(4), prices * 1.001, 100.0)
    np.testing.assert_array_equal(fitted, [0.0, 1.0, 1.0, 1.0])


def test_names_that_cannot_trade_keep_their_shares_and_the_rest_pays_for_it():
    rebalancer = Rebalancer()
    deltas = rebalancer.plan(
        np.array([0.5, 0.5, 0.0]),
        np.array([0.0, 0.0, 60.0]),
        np.array([1.0, 2.0, 1.0]),
        40.0,
        tradable=np.array([True, True, False]),
    )
    np.testing.assert_allclose(deltas, [20.0, 10.0, 0.0], rtol=1e-9)


def test_a_name_that_is_not_listed_needs_no_price():
    deltas = Rebalancer().plan(
        np.array([1.0, 0.0]), np.zeros(2), np.array([10.0, np.nan]), 100.0, tradable=np.array([True, False])
    )
    np.testing.assert_allclose(deltas, [10.0, 0.0], rtol=1e-9)


def test_open_orders_count_as_done():
    rebalancer = Rebalancer(CostModel(bps=10))
    weights, prices = np.array([0.5, 0.5]), np.array([10.0, 20.0])
    first = rebalancer.plan(weights, np.zeros(2), prices, 1000.0)
    again = rebalancer.plan(weights, np.zeros(2), prices, 1000.0, pending=first)
    np.testing.assert_allclose(again @ prices, 0.0, atol=0.3)
    assert 1000.0 + rebalancer.costs.cash_flow(first, prices) + rebalancer.costs.cash_flow(again, prices) >= 0.0


def test_a_portfolio_that_is_right_already_is_not_traded():
    sizes, prices = np.array([30.0, 10.0]), np.array([1.0, 7.0])
    weights = sizes * prices / (sizes @ prices)
    assert (Rebalancer(CostModel(bps=5)).plan(weights, sizes, prices, 0.0) == 0.0).all()


@pytest.mark.parametrize(
    ("weights", "words"),
    [([np.nan, 0.5], "nan"), ([-0.1, 0.5], "-0.1"), ([0.8, 0.8], "1.6"), ([np.inf, 0.0], "inf")],
)
def test_weights_that_are_no_portfolio_are_refused(weights, words):
    with pytest.raises(InputError, match=words):
        Rebalancer().plan(np.array(weights), np.zeros(2), np.ones(2), 100.0)


def test_other_bad_input_is_refused():
    with pytest.raises(InputError, match="price"):
        Rebalancer().plan(np.array([1.0]), np.zeros(1), np.array([np.nan]), 100.0)
    for costs in (CostModel(), CostModel(bps=5.0)):
        with pytest.raises(InputError, match="price"):
            Rebalancer(costs).plan(np.array([0.1, 0.5]), np.array([0.0, 3.0]), np.array([0.0, 1.0]), 100.0)
    nothing = np.zeros(0)
    with pytest.raises(InputError, match="no names"):
        Rebalancer().plan(nothing, nothing, nothing, 100.0)
    with pytest.raises(InputError, match="shapes"):
        Rebalancer().plan(np.array([1.0]), np.zeros(2), np.ones(2), 100.0)
    with pytest.raises(AccountError, match="short"):
        Rebalancer().plan(np.array([1.0]), np.array([-3.0]), np.ones(1), 100.0)
    with pytest.raises(AccountError, match="worth"):
        Rebalancer().plan(np.array([1.0]), np.zeros(1), np.ones(1), 0.0)
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match="lot="):
            Rebalancer(lot=bad)
    for bad in ({"bps": -1.0}, {"min_fee": np.nan}, {"slippage_bps": 6000.0}):
        with pytest.raises(ParameterError):
            CostModel(**bad)


@pytest.mark.parametrize(
    "sizes", [np.array([1, 5], dtype="u4"), np.array([1, 5]), [1.0, 5.0], (1, 5)], ids=["unsigned", "whole", "list", "tuple"]
)
def test_sizes_of_any_kind_are_sold_in_full(sizes):
    assert Rebalancer().plan(np.array([1.0, 0.0]), sizes, np.array([10.0, 20.0]), 100.0) == pytest.approx([20.0, -5.0])


def test_a_name_that_is_neither_held_nor_wished_for_has_no_sign():
    plan = Rebalancer().plan(np.array([1.0, 0.0]), np.zeros(2), np.array([10.0, 10.0]), 100.0)
    assert not np.signbit(plan).any()


def test_a_debt_however_deep_never_sells_more_than_is_held():
    rng = np.random.default_rng(5)
    for debt in 10.0 ** rng.uniform(0.0, 9.0, size=2_000):
        sizes, prices = rng.uniform(0.1, 5.0, size=(2, 4))
        weights = np.array([1.0 - 1e-9, 1.0001e-11, 1e-10, 0.0])
        plan = Rebalancer().plan(weights, sizes, prices, -float(sizes @ prices) * (1.0 - 1.0 / debt))
        assert (sizes + plan >= 0.0).all()


def test_numbers_where_vectors_are_wanted_are_refused():
    with pytest.raises(InputError, match="shapes"):
        Rebalancer().plan(np.array([1.0]), np.float64(1.0), np.float64(10.0), 100.0)
