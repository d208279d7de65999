"""Between two reviews: what is held comes back within the limits by few and small trades."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.markets import random_panel
from tests.storm.limits.cases import Market, make_case
from tests.storm.limits.trying import shown, try_case
from tracker_strategies.execution.mandate.amounts.mending import mended, stands, towards
from tracker_strategies.execution.mandate.amounts.solver import inside, nearest
from tracker_strategies.execution.mandate.limits import Region
from tracker_strategies.execution.mandate.lots.shares import mended_lots
from tracker_strategies.execution.mandate.metric import Metric
from tracker_strategies.execution.mandate.pacing import REVIEW
from tracker_strategies.research import replay

MANY = settings(max_examples=200, deadline=None)


def drifted(seed: int, *, overlap: bool = False) -> tuple[Region, np.ndarray]:
    """A region, what is held after a move of prices, and a goal that is within the limits."""
    rng = np.random.default_rng(seed)
    n, total = int(rng.integers(4, 16)), float(rng.choice([1.0, 0.97]))
    upper = np.full(n, max(1.5 / n, 0.12)) * rng.choice([1.0, 0.0], n, p=[0.9, 0.1])
    assume(upper.sum() > 1.1)
    of = rng.integers(0, 3, n)
    members = [np.flatnonzero(of == g) for g in range(3)]
    if overlap:
        members.append(np.flatnonzero(rng.random(n) < 0.5))
    members = [m for m in members if len(m)]
    high = np.array([min(1.0, 0.9 * upper[m].sum()) for m in members])
    low = np.array([0.2 * min(1.0, upper[m].sum()) / 3 for m in members])
    region = Region(np.zeros(n), upper, np.zeros(n), total, tuple(members), low, high)
    even = Metric(np.ones(n), np.zeros((n, 0)))
    goal, near = (nearest(rng.dirichlet(np.ones(n)), region, even) for _ in range(2))
    assume(goal.feasible)
    held = near.weights * np.exp(0.03 * rng.standard_normal(n))
    return replace(region, held=held * total / held.sum() * float(rng.choice([1.0, 0.999]))), goal.weights


@MANY
@given(st.integers(0, 2**32 - 1))
def test_all_limits_hold_and_no_weight_goes_beyond_its_goal(seed: int) -> None:
    region, goal = drifted(seed)
    found = mended(region, goal)
    assert found is not None
    assert inside(found, region, 2e-12)
    cut = np.clip(region.held, region.lower, region.upper)
    assert (found >= np.minimum(cut, goal) - 1e-15).all()
    assert (found <= np.maximum(cut, goal) + 1e-15).all()
    if inside(region.held, region):
        np.testing.assert_array_equal(found, region.held)


@MANY
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.99), st.floats(0.0, 0.2))
def test_a_part_of_the_way_keeps_all_limits_and_the_turnover(seed: int, share: float, spare: float) -> None:
    region, goal = drifted(seed)
    now = mended(region, goal)
    assert now is not None
    limited = replace(region, turnover=float(np.abs(now - region.held).sum()) + spare)
    found = towards(goal, share, limited, now)
    assert inside(found, limited, 2e-12)
    assert np.abs(found - goal).sum() <= np.abs(now - goal).sum() + 1e-12
    np.testing.assert_allclose(towards(goal, 1.0, replace(region, turnover=np.inf), now), goal, rtol=0, atol=1e-15)


@MANY
@given(st.integers(0, 2**32 - 1))
def test_with_groups_that_overlap_the_answer_is_within_the_limits_or_none(seed: int) -> None:
    region, goal = drifted(seed, overlap=True)
    found = mended(region, goal)
    assert found is None or inside(found, region, 2e-12)


def test_a_turnover_that_is_too_small_is_not_exceeded() -> None:
    region = Region(np.zeros(3), np.full(3, 0.5), np.array([0.6, 0.2, 0.2]), 1.0)
    goal = np.array([0.4, 0.4, 0.2])
    np.testing.assert_allclose(mended(region, goal), [0.5, 0.3, 0.2])
    assert mended(replace(region, turnover=0.1), goal) is None


def test_small_trades_are_made_in_one_name() -> None:
    n = 50
    held = np.full(n, 0.99 / n)
    goal = np.linspace(0.5, 1.5, n) / n
    found = mended(Region(np.zeros(n), np.ones(n), held, 1.0), goal)
    assert found is not None
    assert np.flatnonzero(found != held).tolist() == [n - 1]


@MANY
@given(st.integers(0, 2**32 - 1))
def test_lots_after_a_cure_keep_caps_groups_and_the_cash(seed: int) -> None:
    region, goal = drifted(seed)
    rng = np.random.default_rng(seed)
    lots = rng.uniform(1e-4, 2e-3, len(goal))
    sizes = np.floor(region.held / lots)
    region = replace(region, held=sizes * lots)
    wanted = mended(region, goal)
    assert wanted is not None
    found = mended_lots(wanted, region, lots, sizes, 1.0, 0.0, 0.0, 1.0)
    if found is not None:
        weights = found * lots
        assert (weights <= region.upper + 1e-12).all()
        assert weights.sum() <= region.total + 1e-12
        assert all(weights[m].sum() <= high + 1e-12 for m, high in zip(region.members, region.group_upper, strict=True))
        assert (np.rint(found) == found).all()
        assert (found >= 0.0).all()
    if stands(region, 1.0):
        assert mended_lots(region.held, region, lots, sizes, 1.0, 0.0, 0.0, 1.0) is sizes


def test_between_two_reviews_only_what_the_limits_ask_for_is_traded() -> None:
    record = replay(random_panel(90, 12, seed=4), "ensemble", {"max_weight": 0.1, "fill": "close"})
    assert record.decisions is not None
    traded = np.count_nonzero(np.abs(record.decisions[1:] - record.weights[1:]) > 1e-12, axis=1)[REVIEW:]
    over = np.count_nonzero(record.weights[1:] > 0.1 + 1e-12, axis=1)[REVIEW:]
    quiet = traded <= 2 * over + 2  # names over their cap, and those that take the money
    assert quiet.mean() > 0.8
    assert not quiet.all()
    assert record.metrics()["breaches_active"] == 0


@pytest.mark.parametrize(("case", "more"), [((41, 8), 2), ((41, 166), 3)])
def test_a_stepwise_entry_leaves_no_more_cash_idle_than_it_has_to(case: tuple[int, int], more: int) -> None:
    """A name that enters with its least weight, and the cap of its group, may keep the rest of the money from being spent."""
    result = try_case(make_case(*case, Market(more=more)))
    assert not result.findings, shown(result)
