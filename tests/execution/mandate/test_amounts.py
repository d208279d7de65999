"""The nearest allowed portfolio is exact, keeps every constraint, and says so where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.execution.mandate import problems
from tracker_strategies.execution.mandate.amounts import solver as amounts
from tracker_strategies.execution.mandate.amounts.ascent import ascend
from tracker_strategies.execution.mandate.amounts.dual import Dual
from tracker_strategies.execution.mandate.amounts.solver import inside, nearest
from tracker_strategies.execution.mandate.limits import Region
from tracker_strategies.execution.mandate.metric import Metric


def _plain_metric(n: int) -> Metric:
    return Metric(np.full(n, 1e-4), np.zeros((n, 0)))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 50, 100, 200])
@pytest.mark.parametrize("seed", range(6))
def test_the_answer_is_that_of_a_general_solver(n: int, seed: int) -> None:
    rng = np.random.default_rng([n, seed])
    region, m = problems.region(rng, n), problems.metric(rng, n)
    z, c = problems.wish(rng, region), problems.price(rng, n)
    found = nearest(z, region, m, no_trade=c)
    assert found.feasible
    w = found.weights
    assert (w >= region.lower).all()
    assert (w <= region.upper).all()
    assert problems.excess(w, region) <= 1e-12
    # The general solver itself is not always exact to 1e-9: then the linear program decides.
    status, other = problems.by_cvxpy(z, region, m, c)
    if status == "optimal" and other is not None and problems.excess(other, region) <= 1e-11:
        assert np.abs(w - other).max() <= 1e-9
    assert problems.gap_by_linprog(w, z, region, m, c) <= 1e-12


def test_the_general_solver_is_asked_and_agrees_in_most_cases() -> None:
    agreed = 0
    for seed in range(20):
        rng = np.random.default_rng([77, seed])
        region, m = problems.region(rng, 30), problems.metric(rng, 30)
        z, c = problems.wish(rng, region), problems.price(rng, 30)
        other = problems.by_cvxpy(z, region, m, c)[1]
        agreed += other is not None and bool(np.abs(nearest(z, region, m, no_trade=c).weights - other).max() <= 1e-9)
    assert agreed >= 16


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25))
def test_random_problems_are_at_their_minimum_or_truly_empty(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    region, m = problems.region(rng, n, halts=True), problems.metric(rng, n)
    z, c = problems.wish(rng, region), problems.price(rng, n)
    found = nearest(z, region, m, no_trade=c)
    gap = problems.gap_by_linprog(found.weights if found.feasible else region.held, z, region, m, c)
    assume(not np.isnan(gap))
    if found.feasible:
        assert problems.excess(found.weights, region) <= 1e-12
        assert gap <= 1e-11
    else:
        assert np.isnan(found.weights).all()
        assert gap == np.inf


@pytest.mark.parametrize("seed", range(25))
def test_the_safeguarded_ascent_finds_the_same_weights(seed: int) -> None:
    rng = np.random.default_rng([5, seed])
    region, m = problems.region(rng, 40), problems.metric(rng, 40)
    z, c = problems.wish(rng, region), problems.price(rng, 40)
    problem = Dual(z, region, m, c if np.any(c) else 0.0)
    found = ascend(problem, np.zeros(len(problem.rows)), 0.0)
    assert found is not None
    np.testing.assert_allclose(found[0], nearest(z, region, m, no_trade=c).weights, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_a_start_changes_the_way_and_not_the_answer(seed: int) -> None:
    rng = np.random.default_rng([6, seed])
    region, m = problems.region(rng, 60), problems.metric(rng, 60)
    z, c = problems.wish(rng, region), problems.price(rng, 60)
    first = nearest(z, region, m, no_trade=c)
    again = nearest(z, region, m, no_trade=c, start=first.multipliers)
    np.testing.assert_allclose(again.weights, first.weights, rtol=0, atol=1e-12)
    # Other factors that span the same: the multipliers that are handed back do not depend on the basis.
    turned = Metric(m.d, -m.B[:, ::-1])
    other = nearest(z, region, turned, no_trade=c, start=first.multipliers)
    np.testing.assert_allclose(other.weights, first.weights, rtol=0, atol=1e-12)
    wrong = (np.ones(3), np.ones(1), 0.5)
    np.testing.assert_allclose(nearest(z, region, m, no_trade=c, start=wrong).weights, first.weights, rtol=0, atol=1e-12)


def test_a_good_start_needs_no_safeguard(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    n = 80
    members = tuple(np.flatnonzero(np.arange(n) % 8 == g) for g in range(8))
    held = rng.dirichlet(np.full(n, 3.0)) * 0.99
    region = Region(np.zeros(n), np.full(n, 0.03), held, 0.99, members, np.full(8, 0.02), np.full(8, 0.14), np.inf)
    m = Metric(10.0 ** rng.uniform(-4.5, -3.5, n), rng.normal(size=(n, 4)) * 0.005)
    z = rng.dirichlet(np.full(n, 2.0))
    start = nearest(z, region, m).multipliers
    monkeypatch.setattr(amounts, "ascend", lambda *_: pytest.fail("the safeguard was called"))
    for _ in range(20):
        z = np.abs(z * np.exp(0.01 * rng.normal(size=n)))
        z /= z.sum()
        found = nearest(z, region, m, start=start)
        assert problems.gap_by_linprog(found.weights, z, region, m, 0.0) <= 1e-12
        start = found.multipliers


def test_a_wish_inside_comes_back_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    z = rng.dirichlet(np.ones(30))
    halves = (np.arange(15), np.arange(15, 30))
    region = Region(np.zeros(30), np.full(30, float(z.max())), z[::-1].copy(), 1.0, halves, np.zeros(2), np.ones(2), 2.0)
    found = nearest(z, region, problems.metric(rng, 30))
    assert found.feasible
    assert found.weights.tobytes() == z.tobytes()
    assert nearest(z, region, problems.metric(rng, 30), no_trade=np.zeros(30)).weights.tobytes() == z.tobytes()
    # Trading that costs something is another matter.
    assert found.weights.tobytes() != nearest(z, region, problems.metric(rng, 30), no_trade=1e-4).weights.tobytes()


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("upper", np.array([0.2, 1.0])),
        ("lower", np.array([0.0, 0.8])),
        ("total", 0.9),
        ("turnover", 0.1),
        ("group_upper", np.array([0.2])),
        ("group_lower", np.array([0.4])),
    ],
)
def test_every_constraint_is_part_of_being_inside(change: str, value: object) -> None:
    w = np.array([0.3, 0.7])
    region = Region(np.zeros(2), np.ones(2), np.array([0.4, 0.6]), 1.0, (np.array([0]),), np.zeros(1), np.ones(1), 0.2)
    assert inside(w, region)
    setattr(region, change, value)
    assert not inside(w, region)


def test_an_excluded_name_is_not_inside_with_dust() -> None:
    region = Region(np.zeros(2), np.array([1.0, 0.0]), np.array([1.0, 0.0]), 1.0)
    assert nearest(np.array([1.0 - 1e-13, 1e-13]), region, _plain_metric(2)).weights[1] == 0.0


DEGENERATE = {
    "total is the sum of the upper bounds": Region(np.zeros(3), np.full(3, 0.25), np.full(3, 0.3), 0.75),
    "total is the sum of the lower bounds": Region(np.full(3, 0.25), np.ones(3), np.full(3, 0.3), 0.75),
    "everything is fixed": Region(np.full(3, 0.2), np.full(3, 0.2), np.full(3, 0.2), 3 * 0.2),
    "no turnover": Region(np.zeros(3), np.ones(3), np.full(3, 0.3), 3 * 0.3, turnover=0.0),
    "an empty group": Region(np.zeros(3), np.ones(3), np.full(3, 0.3), 1.0, (np.zeros(0, int),), np.zeros(1), np.zeros(1)),
    "a group of fixed names": Region(
        np.array([0.2, 0.1, 0.0]),
        np.array([0.2, 0.1, 1.0]),
        np.full(3, 0.3),
        1.0,
        (np.array([0, 1]),),
        *[np.array([0.2 + 0.1])] * 2,
    ),
    "the same group twice": Region(
        np.zeros(3), np.ones(3), np.full(3, 0.3), 1.0, (np.array([0, 1]), np.array([0, 1])), np.zeros(2), np.full(2, 0.4)
    ),
    "groups that sum to the total": Region(
        np.zeros(3), np.ones(3), np.full(3, 0.3), 1.0, (np.array([0]), np.array([1, 2])), *[np.array([0.4, 0.6])] * 2
    ),
    "purchases use up the turnover": Region(np.zeros(3), np.ones(3), np.full(3, 0.3), 1.0, turnover=1.0 - 3 * 0.3),
    "one name": Region(np.zeros(1), np.ones(1), np.zeros(1), 0.99),
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("far", [0.0, 0.1, 50.0])
@pytest.mark.parametrize("c", [0.0, 1e-5])
def test_degenerate_regions(case: str, far: float, c: float) -> None:
    region = DEGENERATE[case]
    n = len(region.held)
    rng = np.random.default_rng(1)
    m = Metric(10.0 ** rng.uniform(-4, -3, n), rng.normal(size=(n, 2)) * 0.01)
    z = region.held + far * rng.normal(size=n)
    found = nearest(z, region, m, no_trade=c)
    assert found.feasible
    assert problems.excess(found.weights, region) <= 1e-12
    assert (found.weights >= region.lower).all()
    assert (found.weights <= region.upper).all()
    assert problems.gap_by_linprog(found.weights, z, region, m, c) <= 1e-12


EMPTY = {
    "caps below the total": Region(np.zeros(3), np.full(3, 0.2), np.full(3, 0.3), 0.9),
    "floors above the total": Region(np.full(3, 0.4), np.ones(3), np.full(3, 0.3), 0.9),
    "a floor above its cap": Region(np.array([0.4, 0.0, 0.0]), np.array([0.3, 1.0, 1.0]), np.full(3, 0.3), 0.9),
    "no turnover and another total": Region(np.zeros(3), np.ones(3), np.full(3, 0.3), 1.0, turnover=0.0),
    "turnover too small for a cure": Region(np.zeros(3), np.array([0.1, 1, 1]), np.full(3, 0.3), 0.9, turnover=0.3),
    "an empty group with a floor": Region(
        np.zeros(3), np.ones(3), np.full(3, 0.3), 1.0, (np.zeros(0, int),), np.full(1, 0.1), np.ones(1)
    ),
    "groups against each other": Region(
        np.zeros(3), np.ones(3), np.full(3, 0.3), 1.0, (np.array([0, 1]), np.array([1, 2])), np.zeros(2), np.full(2, 0.4)
    ),
    "by very little": Region(np.zeros(3), np.full(3, 0.3 - 1e-10), np.full(3, 0.3), 0.9),
}


@pytest.mark.parametrize("case", EMPTY)
def test_an_empty_region_is_said_to_be_empty(case: str) -> None:
    if case == "groups against each other":  # the middle name is halted without a holding
        region = EMPTY[case]
        region.upper[1] = 0.0
        region.upper[0] = 0.4
    found = nearest(np.full(3, 0.3), EMPTY[case], _plain_metric(3))
    assert not found.feasible
    assert np.isnan(found.weights).all()
    assert found.multipliers is None


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e4])
def test_the_units_of_the_metric_do_not_matter(scale: float) -> None:
    rng = np.random.default_rng(9)
    region, m = problems.region(rng, 40), problems.metric(rng, 40)
    z = problems.wish(rng, region)
    other = nearest(z, region, Metric(m.d * scale, m.B * np.sqrt(scale)), no_trade=1e-6 * scale).weights
    np.testing.assert_allclose(other, nearest(z, region, m, no_trade=1e-6).weights, rtol=0, atol=1e-12)


def test_names_of_very_different_risk() -> None:
    for seed in range(20):
        rng = np.random.default_rng([8, seed])
        region = problems.region(rng, 30)
        m = Metric(10.0 ** rng.uniform(-9.0, -2.0, 30), rng.normal(size=(30, 3)) * 0.01)
        z = problems.wish(rng, region)
        found = nearest(z, region, m)
        assert found.feasible
        assert problems.excess(found.weights, region) <= 1e-12
        assert problems.gap_by_linprog(found.weights, z, region, m, 0.0) <= 1e-11
