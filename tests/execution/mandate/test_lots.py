"""Whole lots: the account is spent, nothing is traded for nothing, and what is held is brought within the limits."""

import itertools

import numpy as np
import pytest

from tests.execution.mandate.lot_cases import VARIANCE, limits, metric, rounded
from tests.markets import real_market
from tracker_strategies.algorithms import PA
from tracker_strategies.execution.mandate.limits import Group
from tracker_strategies.execution.mandate.lots.rounding import IDLE, NOMINAL, USUAL
from tracker_strategies.execution.mandate.metric import ErrorModel, Metric


def cost(lots, wish, held, value, known, total=1.0):
    """J, as the docstring has it."""
    e = lots * value - wish
    price = 2.0 * USUAL * np.sqrt(VARIANCE) / 5.0 * NOMINAL
    error = known.d @ e**2 + ((e @ known.B) ** 2).sum() + IDLE * VARIANCE * (total - lots @ value) ** 2
    return error + price * np.abs(lots - held) @ value


def drawn(seed, n=5, lowest=0.03, highest=0.3):
    rng = np.random.default_rng(seed)
    return rng, rng.dirichlet(np.ones(n)), rng.uniform(lowest, highest, n), metric(n, seed)


def best(wish, held, value, known):
    """The best of all portfolios of whole lots that can be paid."""
    ranges = [range(int(1.0 / v) + 1) for v in value]
    all_lots = np.array(list(itertools.product(*ranges)), dtype=float)
    all_lots = all_lots[all_lots @ value <= 1.0]
    e = all_lots * value - wish
    error = e**2 @ known.d + ((e @ known.B) ** 2).sum(axis=1) + IDLE * VARIANCE * (1.0 - all_lots @ value) ** 2
    price = 2.0 * USUAL * np.sqrt(VARIANCE) / 5.0 * NOMINAL
    return float((error + price * np.abs(all_lots - held) @ value).min())


@pytest.mark.parametrize("start", ["entry", "held"])
def test_it_is_near_the_best_of_all_portfolios_in_most_cases(start):
    ratios = []
    for seed in range(60):
        rng, wish, value, known = drawn(seed, lowest=0.08)
        held = np.zeros(5) if start == "entry" else np.floor(rng.dirichlet(np.ones(5)) / value)
        found = rounded(wish, held, value, known=known)
        ratios.append(cost(found, wish, held, value, known) / best(wish, held, value, known))
    assert min(ratios) > 1.0 - 1e-9
    assert np.mean(np.array(ratios) < 1.05) > 0.9
    assert np.median(ratios) < 1.001


def test_it_is_never_worse_than_standing_still():
    for seed in range(40):
        rng, wish, value, known = drawn(seed, n=30, lowest=0.002, highest=0.1)
        held = np.floor(rng.dirichlet(np.ones(30)) / value)
        found = rounded(wish, held, value, known=known)
        assert cost(found, wish, held, value, known) <= cost(held, wish, held, value, known) + 1e-18


@pytest.mark.parametrize("size", [0.1, 0.01, 0.0003])
def test_trading_ends_when_nothing_changes_and_each_trade_was_worth_its_price(size):
    for seed in range(20):
        _, wish, value, known = drawn(seed, n=30, lowest=0.1 * size, highest=size)
        lots = [rounded(wish, np.zeros(30), value, known=known)]
        for _ in range(4):
            lots.append(rounded(wish, lots[-1].astype(float), value, known=known))
            stay, go = (cost(new, wish, lots[-2], value, known) for new in lots[-2:])
            assert go < stay or (lots[-1] == lots[-2]).all()
        np.testing.assert_array_equal(lots[-1], lots[-2])


def test_the_account_is_spent():
    idle = []
    for seed in range(20):
        _, wish, value, known = drawn(seed, n=60, lowest=0.005, highest=0.1)
        assert wish[value > wish * 2].sum() > 0.2  # much of what is wanted cannot be bought as such
        idle.append(1.0 - rounded(wish, np.zeros(60), value, known=known) @ value)
    assert min(idle) >= 0.0
    assert np.median(idle) < 0.005
    assert max(idle) < 0.02


def test_less_than_half_a_lot_moves_to_a_name_with_the_same_factor():
    wish, value = np.array([0.1, 0.0, 0.0, 0.9]), np.array([0.5, 0.1, 0.1, 0.1])
    known = Metric(np.array([1e-5, 1e-5, 1e-5, 1e-5]), 0.02 * np.array([[1.0], [1.0], [-1.0], [0.0]]))
    np.testing.assert_array_equal(rounded(wish, np.zeros(4), value, known=known), [0, 1, 0, 9])


def test_a_lot_is_not_traded_for_less_than_its_cost():
    wish, held, value = np.array([0.56, 0.34]), np.array([5.0, 4.0]), np.full(2, 0.1)
    known = Metric(np.full(2, 1e-4), np.zeros((2, 0)))
    np.testing.assert_array_equal(rounded(wish, held, value, known=known, total=0.91), [6, 3])
    np.testing.assert_array_equal(rounded(wish, held, value, known=known, total=0.91, cost_rate=0.01), [5, 4])
    np.testing.assert_array_equal(rounded(wish, held, value, known=known, total=0.91, fee=0.002), [5, 4])
    np.testing.assert_array_equal(rounded(wish, held, value, known=known, total=0.91, cost_rate=0.01, horizon=500.0), [6, 3])


def test_hundred_times_the_cash_with_lots_of_a_hundred_is_the_same():
    rng = np.random.default_rng(3)
    prices, wish = rng.uniform(5.0, 500.0, 40), rng.dirichlet(np.ones(40))
    single = rounded(wish, np.zeros(40), prices / 10_000.0)
    hundreds = rounded(wish, np.zeros(40), 100.0 * prices / 1_000_000.0)
    np.testing.assert_array_equal(single, hundreds)


def test_many_lots_are_the_wish():
    for seed in range(5):
        rng, wish, value, known = drawn(seed, n=50, lowest=1e-7, highest=1e-5)
        held = np.floor(rng.dirichlet(np.ones(50)) / value)
        found = rounded(wish, held, value, known=known)
        assert np.abs(found * value - wish).max() < 1e-4


def test_many_lots_of_few_names_are_bought_on_the_entry():
    _, wish, value, known = drawn(1, n=50, lowest=1e-6, highest=1e-5)
    few = np.zeros(50, dtype=bool)
    few[:10] = True
    wish = np.where(few, wish, 0.0) / wish[few].sum()
    rules = limits(50, max_names=10, groups=(Group("sector", "A", np.arange(5), max_names=5),))
    found = rounded(wish, np.zeros(50), value, rules, known=known, support=few)
    assert np.abs(found * value - wish).max() < 1e-4
    crowded = limits(50, max_names=10, groups=(Group("sector", "A", np.arange(5), max_names=2),))
    found = rounded(wish, np.zeros(50), value, crowded, known=known, support=few)
    assert np.count_nonzero(found[:5]) == 2


def test_what_is_above_its_cap_is_sold_down_to_it():
    held, value = np.array([4.0, 6.0, 0.0]), np.full(3, 0.1)
    found = rounded(np.array([0.3, 0.35, 0.35]), held, value, limits(3, upper=np.array([1.0, 0.35, 1.0])))
    assert found[1] == 3


@pytest.mark.parametrize(("first", "expected"), [(0.38, [4, 3, 3]), (0.32, [3, 4, 3])])
def test_a_group_above_its_cap_is_sold_down_by_what_costs_least(first, expected):
    held, value = np.array([4.0, 4.0, 2.0]), np.full(3, 0.1)
    group = Group("sector", "A", np.array([0, 1]), upper=0.7)
    found = rounded(np.array([first, 0.7 - first, 0.3]), held, value, limits(3, groups=(group,)))
    np.testing.assert_array_equal(found, expected)


def test_more_than_the_total_is_sold_down_to_it():
    held, value = np.array([5.0, 5.0]), np.full(2, 0.1)
    found = rounded(np.array([0.45, 0.45]), held, value, total=0.9)
    assert found.sum() == 9


def test_a_group_below_its_floor_is_bought_up_to_within_a_lot():
    held, value = np.array([1.0, 0.0, 9.0]), np.full(3, 0.1)
    group = Group("sector", "A", np.array([0, 1]), lower=0.5)
    found = rounded(np.array([0.25, 0.25, 0.5]), held, value, limits(3, groups=(group,)))
    assert found[0] + found[1] >= 4
    assert found.sum() == 10


def test_a_name_outside_the_support_is_sold_in_full_and_never_bought():
    held, value, support = np.array([5.0, 5.0, 0.0]), np.full(3, 0.1), np.array([True, False, False])
    found = rounded(np.array([0.4, 0.3, 0.3]), held, value, support=support)
    np.testing.assert_array_equal(found[1:], 0)


def test_sells_of_leaving_names_keep_within_the_turnover_and_the_small_ones_go_first():
    held, value, support = np.array([5.0, 3.0, 2.0]), np.full(3, 0.1), np.array([True, False, False])
    found = rounded(np.array([1.0, 0.0, 0.0]), held, value, support=support, turnover=0.3)
    np.testing.assert_array_equal(found, [5, 2, 0])


def test_a_name_brought_to_its_least_weight_counts_in_the_turnover_in_full():
    wish, held = np.array([0.0, 0.12, 0.11, 0.2, 0.57]), np.array([9.0, 14.0, 3.0, 0.0, 0.0])
    value = np.array([0.0084, 0.0085, 0.0061, 0.0043, 0.0024])
    rules = limits(5, least=np.array([0.006, 0.068, 0.087, 0.023, 0.09]))
    found = rounded(wish, held, value, rules, support=wish > 0.0, turnover=0.3)
    assert np.abs(found - held) @ value <= 0.3


def test_no_name_enters_while_others_have_not_left():
    held, value = np.array([5.0, 5.0, 0.0, 0.0]), np.full(4, 0.1)
    stuck = np.array([False, True, True, True])
    found = rounded(np.array([0.0, 0.0, 0.6, 0.4]), held, value, limits(4, max_names=2), can_sell=stuck)
    assert found[0] == 5
    assert np.count_nonzero(found) == 2


def test_one_name_takes_the_place_of_another():
    held, value = np.array([1.0, 9.0, 0.0]), np.full(3, 0.1)
    found = rounded(np.array([0.0, 0.85, 0.15]), held, value, limits(3, max_names=2))
    assert found[0] == 0
    assert found[2] > 0


def test_a_name_enters_and_leaves_with_its_least_weight():
    least, value = np.full(2, 0.35), np.full(2, 0.1)
    rules = limits(2, least=least)
    assert rounded(np.array([0.1, 0.9]), np.array([0.0, 9.0]), value, rules)[0] == 0
    assert rounded(np.array([0.4, 0.6]), np.array([0.0, 9.0]), value, rules)[0] >= 4
    assert rounded(np.array([0.0, 1.0]), np.array([4.0, 5.0]), value, rules)[0] == 0
    assert rounded(np.array([0.4, 0.6]), np.array([1.0, 9.0]), value, rules)[0] in (0, 3, 4)


def test_a_name_that_must_be_held_is_bought():
    found = rounded(np.array([0.2, 0.8]), np.array([0.0, 10.0]), np.full(2, 0.1), limits(2, must=np.array([0.2, 0.0])))
    np.testing.assert_array_equal(found, [2, 8])


def test_the_odd_part_of_a_lot_is_sold_and_where_it_cannot_be_it_counts():
    wish, value = np.array([0.5, 0.5]), np.full(2, 0.1)
    np.testing.assert_array_equal(rounded(wish, np.array([5.7, 4.0]), value), [5, 5])
    found = rounded(wish, np.array([5.7, 4.0]), value, can_sell=np.array([False, True]))
    assert found[0] == 5
    assert found @ value + 0.07 <= 1.0


def test_a_name_without_a_price_is_left_alone():
    off = np.array([True, True, False])
    found = rounded(np.array([0.5, 0.5, 0.0]), np.zeros(3), np.array([0.1, 0.1, np.nan]), can_buy=off, can_sell=off)
    np.testing.assert_array_equal(found, [5, 5, 0])


def test_a_small_account_follows_a_learner_on_a_real_market():
    panel = real_market("nasdaq100_2019_2020_daily")
    prices, index = panel.close[:80], panel.target_close[:80, 0]
    learner, model = PA(panel.n_assets), ErrorModel(panel.n_assets)
    cash, shares, wish, idle, turnover, moved = 10_000.0, np.zeros(panel.n_assets), learner.weights, [], [], []
    for t in range(80):
        if t:
            x, y = prices[t] / prices[t - 1] - 1.0, index[t] / index[t - 1] - 1.0
            learner.update(x, y)
            model.update(x, y)
        drifted = wish * prices[t] / prices[max(t - 1, 0)]
        worth = cash + shares @ prices[t]
        wish = learner.weights / learner.weights.sum()
        lots = rounded(wish, shares, prices[t] / worth, known=model.metric(), variance=model.index_variance)
        if t:
            turnover.append(np.abs(lots - shares) @ prices[t] / worth)
            moved.append(np.abs(wish - drifted / drifted.sum()).sum())
        cash -= (lots - shares) @ prices[t]
        shares = lots.astype(float)
        idle.append(cash / worth)
    assert min(idle) >= -1e-12
    assert np.median(idle) < 0.01
    assert max(idle) < 0.03
    assert np.mean(turnover) < 1.5 * np.mean(moved)
