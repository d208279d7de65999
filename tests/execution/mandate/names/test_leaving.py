"""Names that cannot be traded, and names that leave and enter within the turnover; a choice whenever there is one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from tests.execution.mandate.names.cases import amounts, assert_kept, free, limits, market
from tracker_strategies.execution.mandate.amounts.solver import nearest
from tracker_strategies.execution.mandate.limits import Group
from tracker_strategies.execution.mandate.metric import Metric
from tracker_strategies.execution.mandate.names.choosing import choose


def test_halted_names_count_and_keep_their_weight():
    _, wish, metric, asked = market(60, 15)
    held = np.zeros(60)
    held[:15] = 0.066
    halted = np.isin(np.arange(60), [2, 7, 11, 40])  # the last one is not held
    chosen = choose(wish, held, asked, metric, can_buy=~halted, must_keep=halted)
    assert chosen.feasible
    w = amounts(chosen, asked, wish, held, metric)
    np.testing.assert_allclose(w[[2, 7, 11]], held[[2, 7, 11]], atol=0)
    assert w[40] == 0
    assert_kept(w, asked)


def test_more_halted_names_than_allowed_stay_and_no_other_is_bought():
    n = 10
    held = np.array([0.2] * 5 + [0.0] * 5)
    asked = limits(n, max_names=3, must=[0.0] * 9 + [0.1])
    halted = held > 0
    chosen = choose(np.full(n, 0.1), held, asked, Metric(np.ones(n), np.zeros((n, 0))), can_buy=~halted, must_keep=halted)
    np.testing.assert_array_equal(chosen.support, halted)
    assert not chosen.feasible


def test_a_name_that_cannot_be_bought_is_held_at_most_as_now():
    n = 6
    held, wish = np.array([0.1, 0.5, 0.4, 0, 0, 0]), np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    buy = np.array([False, True, True, True, False, True])
    metric, asked = Metric(np.ones(n), np.zeros((n, 0))), limits(n, max_names=3)
    chosen = choose(wish, held, asked, metric, can_buy=buy, must_keep=np.zeros(n, bool))
    w = amounts(chosen, asked, wish, held, metric)
    assert w[0] <= 0.1
    assert not chosen.support[4]


def test_names_leave_within_the_turnover():
    """Four names are excluded at once: the smallest leave first, no other name enters before its place is free."""
    n, held = 12, np.array([0.03, 0.08, 0.01, 0.3, 0.2, 0.38, 0, 0, 0, 0, 0, 0])
    wish = np.array([0, 0, 0, 0, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    metric = Metric(np.ones(n), np.zeros((n, 0)))
    cap = np.where(np.arange(n) < 4, 0.0, 1.0)
    asked = limits(n, cap, max_names=6)
    seen = []
    for _ in range(12):
        chosen = choose(wish, held, asked, metric, turnover=0.1, **free(n))
        w = amounts(chosen, asked, wish, held, metric, 0.1)
        assert np.count_nonzero(w) <= 6
        assert np.abs(w - held).sum() <= 0.1 + 1e-12
        assert held[(held > 0) & ~chosen.support].sum() <= 0.05 + 1e-12
        assert np.all(w[:4] <= held[:4])
        seen.append((w[:4] > 0).tolist())
        held = w
    assert seen[0] == [False, True, False, True]
    assert seen[-1] == [False] * 4
    assert np.count_nonzero(held) == 6


def test_what_leaves_does_not_take_the_turnover_that_a_cure_needs():
    """Name 0 drifted over its cap; half the turnover for name 3 would leave too little to bring it back."""
    n, held = 6, np.array([0.31, 0.25, 0.22, 0.22, 0.0, 0.0])
    wish = np.array([0.3, 0.25, 0.2, 0.0, 0.25, 0.0])
    metric, asked = Metric(np.ones(n), np.zeros((n, 0))), limits(n, 0.3, max_names=4)
    chosen = choose(wish, held, asked, metric, turnover=0.1, **free(n))
    np.testing.assert_array_equal(np.flatnonzero(chosen.leaving), [3])
    w = amounts(chosen, asked, wish, held, metric, 0.1)
    assert w[0] <= 0.3
    assert w[3] < held[3]
    assert w[4] == 0


def test_names_with_a_minimum_weight_enter_as_the_turnover_allows():
    """Places for three new names, each to be bought for 4 % at least, and 5 % to buy for: one enters per bar."""
    n, held = 6, np.array([0.4, 0.3, 0.3, 0.0, 0.0, 0.0])
    metric, asked, wish = Metric(np.ones(n), np.zeros((n, 0))), limits(n, 1.0, 0.04, max_names=6), np.full(n, 1 / 6)
    counts = []
    for _ in range(4):
        held = amounts(choose(wish, held, asked, metric, turnover=0.1, **free(n)), asked, wish, held, metric, 0.1)
        assert_kept(held, asked)
        counts.append(np.count_nonzero(held))
    assert counts == [4, 5, 6, 6]


def test_a_name_that_must_be_held_waits_for_its_place_too():
    n, held = 4, np.array([0.3, 0.3, 0.4, 0.0])
    asked = limits(n, [0.0, 1.0, 1.0, 1.0], 0.0, [0, 0, 0, 0.05], max_names=3)
    metric = Metric(np.ones(n), np.zeros((n, 0)))
    chosen = choose(np.full(4, 0.25), held, asked, metric, turnover=0.2, **free(n))
    np.testing.assert_array_equal(chosen.support, [True, True, True, False])
    np.testing.assert_array_equal(chosen.leaving, [True, False, False, False])
    assert chosen.upper[0] == pytest.approx(0.2)


def test_a_name_sold_down_never_lies_below_its_minimum_weight():
    n, held = 4, np.array([0.3, 0.3, 0.4, 0.0])
    asked = limits(n, [0.0, 1.0, 1.0, 1.0], 0.04, max_names=3)
    metric, wish = Metric(np.ones(n), np.zeros((n, 0))), np.full(4, 0.25)
    path = []
    for _ in range(10):
        chosen = choose(wish, held, asked, metric, turnover=0.1, **free(n))
        held = amounts(chosen, asked, wish, held, metric, 0.1)
        path.append(float(held[0]))
        assert held[0] == 0 or held[0] >= 0.04 - 1e-12
    assert path[0] == pytest.approx(0.25)
    assert path[-1] == 0
    assert held[3] > 0


def test_a_minimum_weight_above_half_the_turnover_leaves_alone():
    n, held = 4, np.array([0.08, 0.5, 0.42, 0.0])
    asked = limits(n, [0.0, 1.0, 1.0, 1.0], 0.07, max_names=3)
    chosen = choose(np.full(4, 0.25), held, asked, Metric(np.ones(n), np.zeros((n, 0))), turnover=0.1, **free(n))
    assert not chosen.support[0]


def oracle(asked, held, can_buy, must_keep):
    """Whether some choice is feasible, by one binary variable per name."""
    n = asked.n_names
    fixed = must_keep & (held > 0)
    low, high = asked.must.copy(), np.where(can_buy, asked.upper, np.minimum(asked.upper, held)) * ~must_keep
    least = np.maximum(asked.least, asked.must)
    low[fixed] = high[fixed] = least[fixed] = held[fixed]
    if np.any(asked.must[fixed] > held[fixed]) or np.any(low > high):
        return False
    rows = np.zeros((len(asked.groups), n))
    for row, group in zip(rows, asked.groups, strict=True):
        row[group.members] = 1
    none, count = np.zeros_like(rows), max(asked.max_names or n, fixed.sum())
    most = [n if g.max_names is None else max(g.max_names, fixed[g.members].sum()) for g in asked.groups]
    A = np.block(
        [
            [np.ones((1, n)), np.zeros((1, n))],
            [np.zeros((1, n)), np.ones((1, n))],
            [rows, none],
            [none, rows],
            [np.eye(n), -1e3 * np.diag(high)],
            [np.eye(n), -1e3 * np.diag(least)],
        ]
    )
    inf = np.full(n, np.inf)
    lower = np.concatenate(
        [[1e3 * asked.total, 0], [1e3 * g.lower for g in asked.groups], np.zeros(len(rows)), -inf, np.zeros(n)]
    )
    upper = np.concatenate([[1e3 * asked.total, count], [1e3 * g.upper for g in asked.groups], most, np.zeros(n), inf])
    bounds = Bounds(np.concatenate([1e3 * low, fixed]), np.concatenate([1e3 * high, np.ones(n)]))
    kinds = np.repeat([0, 1], n)
    return milp(np.zeros(2 * n), integrality=kinds, bounds=bounds, constraints=LinearConstraint(A, lower, upper)).status == 0


@st.composite
def bars(draw):
    n = draw(st.integers(2, 8))

    def row(least, most):
        return np.array(draw(st.lists(st.integers(least, most), min_size=n, max_size=n)))

    cap = np.maximum(row(0, 20), draw(st.sampled_from([0, 4, 10]))) / 20
    least = np.minimum(row(0, 20) / 20 * draw(st.sampled_from([0.0, 0.2, 0.6])), cap)
    must = np.where(row(0, 6) == 0, cap / 4, 0.0)
    groups = []
    for grouping in draw(st.sampled_from([(), ("sector",), ("sector", "country")])):
        label = row(0, 2)
        for k in range(2):
            low, high = sorted(draw(st.tuples(st.integers(0, 20), st.integers(4, 20))))
            scale = draw(st.sampled_from([0.0, 0.5]))
            count = draw(st.sampled_from([None, None, 1, 2]))
            groups.append(Group(grouping, str(k), np.flatnonzero(label == k), scale * low / 20, high / 20, count))
    max_names = draw(st.sampled_from([None, 1, 2, 3, 4, 5]))
    held = row(0, 10) * (row(0, 2) == 0) / 80
    state = row(0, 5)
    asked = limits(n, cap, least, must, groups, max_names, draw(st.sampled_from([0.0, 0.05])))
    wish = row(1, 20) / 1.0
    return asked, held, state > 1, state == 0, wish / wish.sum()


@settings(max_examples=200)
@given(bars())
def test_a_feasible_choice_is_found_whenever_there_is_one(bar):
    asked, held, can_buy, must_keep, wish = bar
    n = len(wish)
    metric = Metric(np.linspace(1, 2, n), np.linspace(-1, 1, n)[:, None])
    chosen = choose(wish, held, asked, metric, can_buy=can_buy, must_keep=must_keep)
    found = nearest(wish, chosen.region(asked, held), metric)
    possible = oracle(asked, held, can_buy, must_keep)
    assert (chosen.feasible and found.feasible) == possible
    fixed = must_keep & (held > 0)
    assert np.all(chosen.support[fixed])
    assert asked.max_names is None or chosen.support.sum() <= max(asked.max_names, fixed.sum())
    assert not np.any(chosen.support & ~can_buy & (held == 0))
