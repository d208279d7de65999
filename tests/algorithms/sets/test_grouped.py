"""The simplex with sector limits: exact, and honest about limits that contradict each other."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import APAS, PA, GroupedSimplex
from tracker_strategies.algorithms.sets import feasible_from_dict, project_capped_simplex, project_simplex
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import assert_on_simplex, market, run, without

seeds = st.integers(0, 2**32 - 1)


def by_enumeration(y: np.ndarray, groups: list[list[int]], lower: np.ndarray, upper: np.ndarray, u: float) -> np.ndarray:
    """Try which groups stand on which bound; the rest share one multiplier. The nearest feasible candidate is the projection."""
    n = y.shape[0]
    best, best_distance = np.full(n, np.nan), np.inf
    for state in product((0, -1, 1), repeat=len(groups)):
        w, left, rest = np.zeros(n), 1.0, np.ones(n, dtype=bool)
        try:
            for group, bound, lo, hi in zip(groups, state, lower, upper, strict=True):
                if bound:
                    mass = lo if bound < 0 else hi
                    w[group] = project_capped_simplex(y[group], u, mass)
                    rest[group] = False
                    left -= mass
            if rest.any():
                w[rest] = project_capped_simplex(y[rest], u, left)
            elif abs(left) > 1e-12:
                continue
        except ParameterError:
            continue
        masses = np.array([w[group].sum() for group in groups])
        distance = float(((w - y) ** 2).sum())
        if (masses >= lower - 1e-12).all() and (masses <= upper + 1e-12).all() and distance < best_distance:
            best, best_distance = w, distance
    return best


@settings(max_examples=150, deadline=None)
@given(seeds, st.sampled_from([0.01, 0.3, 5.0]))
def test_the_projection_is_the_nearest_point(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 10)), int(rng.integers(1, 4))
    labels = rng.integers(0, m + 1, n)
    groups = [np.flatnonzero(labels == g).tolist() for g in range(m) if (labels == g).any()]
    inside = rng.dirichlet(np.ones(n))
    u = 1.0 if rng.random() < 0.5 else float(min(1.0, inside.max() * rng.uniform(1.0, 1.5)))
    masses = np.array([inside[g].sum() for g in groups]) if groups else np.zeros(0)
    if not groups:
        return
    upper = np.minimum(masses * rng.choice([1.0, 1.2, 9.0], masses.size), 1.0)
    lower = np.minimum(masses * rng.choice([0.0, 0.7, 1.0], masses.size), upper)
    W = GroupedSimplex(groups, lower, upper, u)
    W.check(n)
    y = inside + scale * rng.standard_normal(n)
    w = W.project(y)
    assert_on_simplex(w)
    assert w.max() <= u + 1e-15
    got = np.array([w[g].sum() for g in groups])
    assert (got >= lower - 1e-12).all()
    assert (got <= upper + 1e-12).all()
    np.testing.assert_allclose(w, by_enumeration(y, groups, lower, upper, u), rtol=0, atol=1e-12)
    np.testing.assert_allclose(W.project(w), w, rtol=0, atol=1e-13)


def test_limits_that_do_not_bind_leave_the_simplex() -> None:
    rng = np.random.default_rng(1)
    W = GroupedSimplex([[0, 1], [2]])
    for scale in (1e-3, 1.0, 1e6, 1e30):
        y = scale * rng.standard_normal(50)
        np.testing.assert_allclose(W.project(y), project_simplex(y), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: GroupedSimplex([[0, 1], [1, 2]]),
        lambda: GroupedSimplex([[0, 0]]),
        lambda: GroupedSimplex([]),
        lambda: GroupedSimplex([[]]),
        lambda: GroupedSimplex([[-1]]),
        lambda: GroupedSimplex([[0.5]]),
        lambda: GroupedSimplex("ab"),
        lambda: GroupedSimplex([[0]], lower=0.6, upper=0.5),
        lambda: GroupedSimplex([[0]], lower=-0.1),
        lambda: GroupedSimplex([[0]], lower=[0.1, 0.2]),
        lambda: GroupedSimplex([[0]], upper=np.nan),
        lambda: GroupedSimplex([[0]], u=-1.0),
        lambda: PA(3, feasible=GroupedSimplex([[0, 3]])),
        lambda: PA(3, feasible=GroupedSimplex([[0, 1, 2]], upper=0.9)),
        lambda: PA(3, feasible=GroupedSimplex([[0], [1]], lower=0.6)),
        lambda: PA(3, feasible=GroupedSimplex([[0, 1]], lower=0.9, u=0.4)),
        lambda: PA(3, feasible=GroupedSimplex([[0, 1]], upper=0.5, u=0.3)),
        lambda: PA(3, feasible=GroupedSimplex([[0]], u=[0.5, 0.5])),
    ],
)
def test_limits_that_overlap_or_leave_nothing(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()


def test_it_survives_storage() -> None:
    W = GroupedSimplex([[0, 1], [2]], [0.1, 0.0], [0.5, 0.4], u=0.3)
    again = feasible_from_dict(W.to_dict())
    y = np.array([0.9, 0.2, 0.1, 0.0, 0.3])
    np.testing.assert_array_equal(again.project(y), W.project(y))


def make(n: int) -> PA:
    return PA(n, feasible=GroupedSimplex([[0, 1, 2]], 0.2, 0.45))


@pytest.mark.parametrize("learner", [make(6), APAS(6, feasible=GroupedSimplex([[0, 1, 2]], 0.2, 0.45))], ids=["PA", "APAS"])
def test_learners_keep_the_limits_while_assets_come_and_go(learner: PA) -> None:
    X, Y = market(6, 60, seed=2)
    for t, w in enumerate([*run(learner, X[:20], Y[:20]), *run(learner, X[20:40], Y[20:40], active=without(1))]):
        assert_on_simplex(w)
        assert 0.2 - 1e-12 <= w[:3].sum() <= 0.45 + 1e-12
        assert t < 20 or w[1] == 0.0
    before = learner.weights
    w = learner.update(X[41], Y[41], observed=without(4))
    assert w[4] == before[4]
    assert_on_simplex(w)


def test_a_sector_that_must_be_held_but_cannot_is_an_error_and_changes_nothing() -> None:
    learner = make(6)
    before = learner.state_dict()
    with pytest.raises(InputError, match="group 0"):
        learner.update(np.zeros(6), 0.0, active=without(0, 1, 2))
    assert learner.state_dict() == before
