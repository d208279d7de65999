"""Feasible sets: start, slices, storage."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracker_strategies.algorithms import Box, CappedSimplex, FeasibleSet, Hyperplane, L1Ball, RealSpace, Simplex
from tracker_strategies.algorithms.sets import feasible_from_dict
from tracker_strategies.errors import InputError, ParameterError

SETS = [
    Simplex(),
    CappedSimplex(0.4),
    CappedSimplex(np.array([0.5, 0.4, 0.3, 0.6])),
    L1Ball(0.9),
    Hyperplane(),
    Hyperplane(np.array([1.0, -2.0, 0.5, 1.0]), 0.3),
    Box(-0.1, 0.5),
    Box(np.array([0.0, -1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.2, 0.3])),
    RealSpace(),
]
each_set = pytest.mark.parametrize("W", SETS, ids=repr)


@each_set
def test_start_lies_in_the_set(W: FeasibleSet) -> None:
    assert W.contains(W.start(4))


@pytest.mark.parametrize("W", [Simplex(), CappedSimplex(0.4), Hyperplane()], ids=repr)
def test_start_is_uniform_where_that_is_possible(W: FeasibleSet) -> None:
    np.testing.assert_allclose(W.start(4), np.full(4, 0.25), rtol=0, atol=1e-15)


@each_set
def test_description_survives_json(W: FeasibleSet) -> None:
    again = feasible_from_dict(json.loads(json.dumps(W.to_dict())))
    assert type(again) is type(W)
    y = np.random.default_rng(0).standard_normal(4)
    np.testing.assert_array_equal(again.project(y), W.project(y))


@each_set
def test_projection_on_a_slice_stays_in_the_set(W: FeasibleSet) -> None:
    """Fixed and absent coordinates in place, the slice gives a point of W; and no point of W with those coordinates is nearer."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        w = W.project(rng.standard_normal(4))
        free, fixed = np.array([True, True, False, True]), np.array([False, False, True, False])
        y = w + 0.2 * rng.standard_normal(4)
        part = W.slice(free, fixed, w)
        point = w.copy()
        point[free] = part.project(y[free])
        assert W.contains(point, 1e-10)
        np.testing.assert_allclose(part.project(w[free]), w[free], rtol=0, atol=1e-12)


def test_sets_are_immutable() -> None:
    caps = np.array([0.5, 0.6, 0.7])
    W = CappedSimplex(caps)
    caps[:] = 0.0
    np.testing.assert_array_equal(W.u, [0.5, 0.6, 0.7])
    with pytest.raises(AttributeError):
        W.total = 2.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        W.u[0] = 1.0  # type: ignore[index]


def test_caps_that_the_rest_of_the_universe_cannot_meet() -> None:
    W = CappedSimplex(0.4)
    some, nobody = np.array([True, True, False]), np.zeros(3, dtype=bool)
    with pytest.raises(InputError, match="2 of 3 assets"):
        W.slice(some, nobody, W.start(3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Simplex(-1.0),
        lambda: Simplex(np.nan),
        lambda: CappedSimplex(-0.1),
        lambda: CappedSimplex(np.nan),
        lambda: CappedSimplex(0.2).check(4),
        lambda: CappedSimplex(np.array([0.5, 0.5])).check(3),
        lambda: L1Ball(0.0),
        lambda: L1Ball(np.inf),
        lambda: Hyperplane(np.array([0.0, 0.0])).check(2),
        lambda: Hyperplane(np.array([1.0, np.nan])),
        lambda: Hyperplane(np.array([1.0, 1.0])).check(3),
        lambda: Box(1.0, 0.0),
        lambda: Box(np.zeros(2), 1.0).check(3),
        lambda: feasible_from_dict({"kind": "sphere"}),
        lambda: feasible_from_dict({"kind": "l1", "radius": 1.0}),
        lambda: feasible_from_dict({}),
    ],
)
def test_sets_that_do_not_exist(make: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError):
        make()
