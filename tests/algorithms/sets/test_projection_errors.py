"""Projections: what they refuse, and that they leave their input alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracker_strategies.algorithms.gradient import (
    project_l1_ball_diag_metric,
    project_simplex_diag_metric,
    project_simplex_full_metric,
    project_weighted_l1_ball,
)
from tracker_strategies.algorithms.sets import (
    project_box,
    project_capped_simplex,
    project_hyperplane,
    project_l1_ball,
    project_simplex,
)
from tracker_strategies.errors import InputError, ParameterError

PROJECTIONS: dict[str, Callable[[Any], np.ndarray]] = {
    "simplex": lambda y: project_simplex(y),
    "capped": lambda y: project_capped_simplex(y, 1.0),
    "l1": lambda y: project_l1_ball(y, 1.0),
    "hyperplane": lambda y: project_hyperplane(y),
    "box": lambda y: project_box(y, 0.0, 1.0),
    "diag": lambda y: project_simplex_diag_metric(y, [1.0, 2.0]),
    "l1 diag": lambda y: project_l1_ball_diag_metric(y, [1.0, 2.0], 1.0),
    "weighted l1": lambda y: project_weighted_l1_ball(y, [1.0, 2.0], 1.0),
    "full": lambda y: project_simplex_full_metric(y, np.eye(2)),
}


@pytest.mark.parametrize("name", PROJECTIONS)
def test_bad_vectors_are_refused_and_good_ones_left_alone(name: str) -> None:
    for bad in ([np.nan, 0.0], [np.inf, 0.0], [-np.inf, 0.0], [[1.0, 2.0]], [], 1.0, ["a", "b"], None):
        with pytest.raises(InputError):
            PROJECTIONS[name](bad)
    y = np.array([0.4, -3.0])
    w = PROJECTIONS[name](y)
    np.testing.assert_array_equal(y, [0.4, -3.0])
    assert not np.shares_memory(w, y)
    w[:] = 0.0  # the result is the caller's own
    np.testing.assert_array_equal(y, [0.4, -3.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda y: project_simplex(y, -1.0),
        lambda y: project_simplex(y, np.nan),
        lambda y: project_capped_simplex(y, 0.3),
        lambda y: project_capped_simplex(y, [1.0, -0.1, 1.0]),
        lambda y: project_capped_simplex(y, [1.0, 1.0]),
        lambda y: project_capped_simplex(y, np.nan),
        lambda y: project_capped_simplex(y, 1.0, H=[1.0, 0.0, 1.0]),
        lambda y: project_l1_ball(y, 0.0),
        lambda y: project_l1_ball(y, -1.0),
        lambda y: project_hyperplane(y, [0.0, 0.0, 0.0]),
        lambda y: project_hyperplane(y, [1.0, 0.0]),
        lambda y: project_box(y, 1.0, 0.0),
        lambda y: project_box(y, np.nan, 0.0),
        lambda y: project_simplex_diag_metric(y, [1.0, 0.0, 1.0]),
        lambda y: project_simplex_diag_metric(y, [1.0, -1.0, 1.0]),
        lambda y: project_l1_ball_diag_metric(y, [1.0, 1.0, 1.0], 0.0),
        lambda y: project_weighted_l1_ball(y, [1.0, -1.0, 1.0], 1.0),
        lambda y: project_simplex_full_metric(y, np.eye(2)),
        lambda y: project_simplex_full_metric(y, -np.eye(3)),
        lambda y: project_simplex_full_metric(y, np.eye(3) + np.triu(np.ones((3, 3)), 1)),
    ],
)
def test_sets_that_do_not_exist_are_refused(call: Callable[[np.ndarray], Any]) -> None:
    with pytest.raises(ParameterError):
        call(np.array([0.1, 0.2, 0.9]))
