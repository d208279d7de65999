"""AdaGrad and its kin: with other metrics it is FOBOS, RDA or gradient descent, and the scale of the data cancels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.algorithms.gradient.adagrad_runs import Played, common, labelled, rules, seeds
from tracker_strategies.algorithms import (
    FOBOS,
    OGD,
    RDA,
    AdaGrad,
    Box,
    CappedSimplex,
    FeasibleSet,
    Hyperplane,
    L1Ball,
    RealSpace,
    Simplex,
)


class TimeMetric(AdaGrad):
    """AdaGrad that ignores its gradients: H_t = sqrt(t) for every asset."""

    def _diagonal(self, sum2: np.ndarray) -> np.ndarray:
        return np.full(sum2.shape[0], math.sqrt(self._t + 1))


CASES: list[tuple[FeasibleSet, dict[str, Any]]] = [
    (Simplex(), {}),
    (Simplex(), {"regulariser": "l2sq", "lam": 0.2}),
    (CappedSimplex(0.5), {}),
    (L1Ball(0.6), {"regulariser": "l1", "lam": 0.02}),
    (Box(-0.1, 0.4), {"regulariser": "l1", "lam": 0.02}),
    (Hyperplane(), {}),
    (RealSpace(), {"regulariser": "l1", "lam": 0.05}),
    (RealSpace(), {"regulariser": "l2", "lam": 0.05}),
    (RealSpace(), {"regulariser": "linf", "lam": 0.05}),
    (RealSpace(), {"regulariser": "l1l2", "lam": 0.05, "groups": [[0, 2], [1]]}),
    (RealSpace(), {"regulariser": "l1linf", "lam": 0.05, "groups": [[0, 2], [1]]}),
]


@pytest.mark.parametrize(
    ("W", "phi"), CASES, ids=lambda v: v.kind if isinstance(v, FeasibleSet) else v.get("regulariser", "none")
)
@pytest.mark.parametrize(("rule", "rival"), [("cmd", FOBOS), ("rda", RDA)])
def test_with_the_metric_of_time_it_is_fobos_or_rda(W: FeasibleSet, phi: dict[str, Any], rule: str, rival: type) -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((40, 4))
    Y = (X @ rng.standard_normal(4)).tolist()
    one, other = TimeMetric(4, rule=rule, eta=0.2, feasible=W, **phi), rival(4, eta=0.2, feasible=W, **phi)
    for x, y in zip(X, Y, strict=True):
        np.testing.assert_allclose(one.update(x, y), other.update(x, y), rtol=0, atol=1e-12)


def test_on_gradients_of_size_one_it_is_gradient_descent() -> None:
    """There the root of the sum of squares is the root of the time."""
    X = np.random.default_rng(8).choice([-1.0, 1.0], (200, 1))
    adagrad = AdaGrad(1, loss="eps_insensitive", eps=0.0, eta=0.5, delta=0.0, feasible=RealSpace())
    ogd = OGD(1, loss="eps_insensitive", eps=0.0, eta=0.5, feasible=RealSpace())
    for x in X:
        y = 3.3 * float(x[0])
        np.testing.assert_allclose(adagrad.update(x, y), ogd.update(x, y), rtol=0, atol=1e-12)


@common
@given(seeds, rules, st.sampled_from([RealSpace(), Box(-0.3, 0.3)]), st.sampled_from([1e-12, 1e-3, 1e5, 1e12]))
def test_without_delta_the_scale_of_the_data_does_not_matter(seed: int, rule: str, W: FeasibleSet, scale: float) -> None:
    """A common factor of X and Y is a common factor of all gradients, and cancels."""
    X, Y = labelled(seed, "squared")
    make = lambda: AdaGrad(X.shape[1], rule=rule, eta=0.3, delta=0.0, feasible=W)  # noqa: E731
    np.testing.assert_allclose(Played(make(), scale * X, scale * Y).W, Played(make(), X, Y).W, rtol=0, atol=1e-10)


def test_one_asset_in_each_instance_makes_both_matrices_the_same() -> None:
    rng = np.random.default_rng(9)
    X = np.eye(4)[rng.integers(0, 4, 30)] * rng.standard_normal((30, 1))
    Y = rng.standard_normal(30)
    for rule in ("cmd", "rda"):
        runs = [
            Played(AdaGrad(4, matrix=m, rule=rule, eta=0.3, delta=0.1, feasible=RealSpace()), X, Y) for m in ("diagonal", "full")
        ]
        np.testing.assert_allclose(runs[0].W, runs[1].W, rtol=0, atol=1e-12)
        np.testing.assert_allclose(runs[0].H, runs[1].H, rtol=1e-12)


@pytest.mark.parametrize("matrix", ["diagonal", "full"])
def test_an_asset_without_a_gradient_and_without_delta_rests(matrix: str) -> None:
    start = [0.0, 0.0, 0.25]
    cmd = AdaGrad(3, matrix=matrix, eta=1.0, delta=0.0, feasible=RealSpace(), start=start)
    rda = AdaGrad(3, matrix=matrix, rule="rda", eta=1.0, delta=0.0, feasible=RealSpace(), start=start)
    for x, y in (([1.0, 0.0, 0.0], 1.0), ([1.0, 2.0, 0.0], -1.0)):
        assert cmd.update(x, y)[2] == pytest.approx(0.25, abs=1e-15)
        assert rda.update(x, y)[2] == 0.0
