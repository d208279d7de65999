"""OGD, FOBOS, RDA and AROW: what they are by definition, and what is known about them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import (
    AROW,
    FOBOS,
    OGD,
    RDA,
    Box,
    CappedSimplex,
    FeasibleSet,
    GroupedSimplex,
    Hyperplane,
    L1Ball,
    RealSpace,
    Simplex,
)
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import market

seeds = st.integers(0, 2**32 - 1)
common = settings(max_examples=40, deadline=None)
SETS = [Simplex(), CappedSimplex(0.4), GroupedSimplex([[0, 1], [2, 3]], upper=0.6), Hyperplane(), L1Ball(0.8), Box(0.0, 0.4)]


# ------------------------------------------------------------------ gradient descent and its kin


@pytest.mark.parametrize("W", [*SETS, RealSpace()], ids=lambda W: W.kind)
@pytest.mark.parametrize(("schedule", "power"), [("sqrt", 0.5), ("constant", 0.0), ("linear", 1.0)])
def test_ogd_is_a_step_and_a_projection(W: FeasibleSet, schedule: str, power: float) -> None:
    X, Y = market(5, 30)
    learner = OGD(5, eta=40.0, schedule=schedule, feasible=W)
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        w = learner.weights
        expected = W.project(w - 40.0 / t**power * (w @ x - y) * x)
        np.testing.assert_allclose(learner.update(x, y), expected, rtol=0, atol=1e-14)
        assert learner.diagnostics()["step"] == pytest.approx(40.0 / t**power)


@pytest.mark.parametrize("W", [*SETS, RealSpace()], ids=lambda W: W.kind)
def test_fobos_without_a_regulariser_is_ogd(W: FeasibleSet) -> None:
    X, Y = market(5, 30)
    one, other = FOBOS(5, eta=40.0, feasible=W), OGD(5, eta=40.0, feasible=W)
    for x, y in zip(X, Y, strict=True):
        np.testing.assert_array_equal(one.update(x, y), other.update(x, y))


@common
@given(seeds, st.sampled_from([0.01, 0.2]))
def test_rda_with_l1_is_the_printed_formula(seed: int, lam: float) -> None:
    """w = -eta sqrt(t) sgn(g) [|g| - lam]_+ with the mean gradient g."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4))
    Y = (X @ rng.standard_normal(4)).tolist()
    learner = RDA(4, eta=0.2, regulariser="l1", lam=lam, feasible=RealSpace())
    total = np.zeros(4)
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        total += (learner.weights @ x - y) * x
        mean = total / t
        expected = -0.2 * math.sqrt(t) * np.sign(mean) * np.maximum(np.abs(mean) - lam, 0.0)
        np.testing.assert_allclose(learner.update(x, y), expected, rtol=1e-10, atol=1e-12)


@common
@given(seeds, st.sampled_from([0.01, 0.1]))
def test_fobos_with_l1_is_a_soft_threshold(seed: int, lam: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4))
    Y = (X @ rng.standard_normal(4)).tolist()
    learner = FOBOS(4, eta=0.2, regulariser="l1", lam=lam, feasible=RealSpace())
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        moved = learner.weights - 0.2 / math.sqrt(t) * (learner.weights @ x - y) * x
        expected = np.sign(moved) * np.maximum(np.abs(moved) - 0.2 * lam / math.sqrt(t), 0.0)
        np.testing.assert_allclose(learner.update(x, y), expected, rtol=0, atol=1e-13)


@common
@given(seeds)
def test_the_regret_of_ogd_is_within_zinkevichs_bound(seed: int) -> None:
    """On a set of diameter D and gradients of norm G at most: R <= D^2 sqrt(T)/(2 eta) + eta G^2 sqrt(T)."""
    rng = np.random.default_rng(seed)
    n, T, eta = int(rng.integers(2, 6)), 60, 0.5
    X = rng.uniform(-1.0, 1.0, (T, n))
    Y = rng.uniform(-1.0, 1.0, T)
    learner = OGD(n, loss="eps_insensitive", eps=0.0, eta=eta)
    lost = 0.0
    for x, y in zip(X, Y, strict=True):
        learner.update(x, y)
        lost += learner.diagnostics()["loss"]
    G2 = float((X**2).sum(axis=1).max())
    for u in (*np.eye(n), *rng.dirichlet(np.ones(n), 10)):
        assert lost - np.abs(X @ u - Y).sum() <= 2.0 * math.sqrt(T) / (2.0 * eta) + eta * G2 * math.sqrt(T)


def test_default_steps_suit_daily_returns() -> None:
    """5/||x||^2 of a market whose assets move by 1.6 % a day: 50 for 400 assets."""
    assert OGD(400).eta == FOBOS(400).eta == RDA(400).eta == pytest.approx(50.0)
    assert OGD(400, loss="hinge").eta == 1.0


@pytest.mark.parametrize("learner", [OGD, FOBOS, RDA])
def test_they_learn_a_market(learner: type) -> None:
    X, Y = market(10, 500, seed=4)
    model, errors = learner(10), []
    for x, y in zip(X, Y, strict=True):
        errors.append(float(model.weights @ x) - y)
        model.update(x, y)
    assert np.std(errors[-100:]) < 0.5 * np.std(errors[:20])


@pytest.mark.parametrize("cls", [FOBOS, RDA])
@pytest.mark.parametrize(
    "wrong", [{"regulariser": "l2", "lam": 1.0}, {"regulariser": "l1"}, {"eta": -1.0}, {"loss": "log"}, {"lam": 1.0}], ids=str
)
def test_composite_parameters_outside_their_domain(cls: type, wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        cls(3, **wrong)


def test_sectors_take_no_norm() -> None:
    with pytest.raises(ParameterError, match="none, l2sq"):
        FOBOS(4, feasible=GroupedSimplex([[0, 1]]), regulariser="l2", lam=1.0)


@pytest.mark.parametrize("wrong", [{"schedule": "log"}, {"eta": 0.0}, {"eps": -1.0}, {"loss": None}], ids=str)
def test_ogd_parameters_outside_their_domain(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        OGD(3, **wrong)


# ------------------------------------------------------------------ AROW


@common
@given(seeds, st.sampled_from([1e-3, 0.5, 10.0]))
def test_arow_regression_is_ridge_regression(seed: int, r: float) -> None:
    """mu = (r I + X'X)^-1 X'y and Sigma = r (r I + X'X)^-1, at every round."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    X, Y = rng.standard_normal((20, n)), rng.standard_normal(20)
    learner = AROW(n, r=r, feasible=RealSpace())
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        w = learner.update(x, y)
        A = r * np.eye(n) + X[:t].T @ X[:t]
        np.testing.assert_allclose(w, np.linalg.solve(A, X[:t].T @ Y[:t]), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(learner.variances, r * np.diag(np.linalg.inv(A)), rtol=1e-9)


@common
@given(seeds, st.sampled_from(["full", "diagonal"]))
def test_arow_classification_only_learns_from_a_loss(seed: int, matrix: str) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 4))
    Y = np.where(X @ rng.standard_normal(4) > 0.0, 1.0, -1.0)
    learner = AROW(4, task="classification", matrix=matrix, r=0.1, feasible=RealSpace())
    for x, y in zip(X, Y, strict=True):
        w, variances = learner.weights, learner.variances
        new = learner.update(x, y)
        if y * (w @ x) >= 1.0:
            assert new is w
            np.testing.assert_array_equal(learner.variances, variances)
        else:
            assert y * (new @ x) > y * (w @ x)
            assert (learner.variances <= variances * (1 + 1e-12)).all()


def test_the_portfolio_is_the_projection_of_the_belief() -> None:
    X, Y = market(6, 80, seed=5)
    learner = AROW(6, r=1e-3)
    np.testing.assert_allclose(learner.weights, np.full(6, 1 / 6))
    for x, y in zip(X, Y, strict=True):
        w = learner.update(x, y)
        np.testing.assert_array_equal(w, Simplex().project(learner.mean))
    assert Simplex().contains(w)


def test_an_asset_that_leaves_is_integrated_out_of_the_belief() -> None:
    """The others keep their means and covariances; should it return, nothing is known about it."""
    X, Y = market(4, 30, seed=6)
    for matrix in ("full", "diagonal"):
        learner = AROW(4, matrix=matrix, r=1e-3)
        for x, y in zip(X, Y, strict=True):
            learner.update(x, y)
        mean, variances = learner.mean, learner.variances
        learner.restrict(np.array([True, True, False, True]))
        kept = [0, 1, 3]
        np.testing.assert_allclose(learner.mean[kept], mean[kept], rtol=1e-12)
        np.testing.assert_allclose(learner.variances[kept], variances[kept], rtol=1e-12)
        assert (learner.mean[2], learner.variances[2]) == (0.0, 1.0)


@pytest.mark.parametrize("matrix", ["full", "diagonal"])
def test_the_belief_survives_data_of_any_scale(matrix: str) -> None:
    """A plain update of the covariance turns indefinite within a few rounds of this."""
    rng = np.random.default_rng(7)
    learner = AROW(5, matrix=matrix, r=1e-3, feasible=RealSpace())
    X = rng.standard_normal((5_000, 5)) * 10.0 ** rng.integers(-12, 13, (5_000, 1))
    X[:, 3], X[:, 4] = 2.0 * X[:, 2], 0.0
    for x in X:
        learner.update(x, float(rng.standard_normal()))
        assert np.isfinite(learner.mean).all()
        assert learner.variances.min() >= 0.0
        assert learner.diagnostics()["variance"] >= 0.0


@pytest.mark.parametrize(
    "wrong",
    [{"task": "ranking"}, {"matrix": "sparse"}, {"r": 0.0}, {"r": np.nan}, {"feasible": None}, {"start": [1.0, 1.0]}],
    ids=str,
)
def test_arow_parameters_outside_their_domain(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        AROW(2, **wrong)


def test_arow_classification_wants_labels() -> None:
    with pytest.raises(InputError, match=r"\+1 or -1"):
        AROW(2, task="classification").update([0.1, 0.2], 0.3)
