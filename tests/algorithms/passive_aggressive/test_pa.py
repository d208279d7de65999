"""Passive-aggressive regression: its parameters, its optimality, and the theorems about its losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import PA, CappedSimplex, L1Ball, RealSpace, Simplex
from tracker_strategies.errors import ParameterError

seeds = st.integers(0, 2**32 - 1)
common = settings(max_examples=60, deadline=None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"eps": -1e-9},
        {"eps": np.nan},
        {"eps": np.inf},
        {"eps": "1e-4"},
        {"eps": None},
        {"eps": True},
        {"variant": "PA-III"},
        {"variant": None},
        {"variant": "PA-I", "C": 0.0},
        {"variant": "PA-II", "C": -1.0},
        {"variant": "PA-II", "C": np.nan},
        {"variant": "PA", "C": 1.0},
        {"feasible": "simplex"},
        {"feasible": CappedSimplex(0.2)},
        {"start": [0.5, 0.5]},
        {"start": [0.5, 0.5, 0.5]},
        {"start": [1.5, -0.5, 0.0]},
        {"start": [np.nan, 0.5, 0.5]},
    ],
    ids=str,
)
def test_parameters_outside_their_domain(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        PA(3, **wrong)


def test_defaults_suit_daily_returns() -> None:
    assert PA(3).params() == {
        "eps": 1e-4,
        "variant": "PA",
        "C": None,
        "feasible": {"kind": "simplex", "total": 1.0},
        "start": None,
    }
    C = PA(3, variant="PA-I").C
    assert C is not None
    assert 1e-2 <= C <= 1e-1
    assert PA(3, variant="PA-II").C == 100.0


@pytest.mark.parametrize("gamma", [0.01, 0.5, 20.0])
def test_the_relaxation_of_the_unrealizable_case(gamma: float) -> None:
    """tau = l/(||x||^2 + gamma) is PA-II with C = 1/(2 gamma)."""
    learner = PA(2, variant="PA-II", C=1.0 / (2.0 * gamma), eps=0.0, feasible=RealSpace(), start=[0.0, 0.0])
    assert learner.gamma == pytest.approx(gamma)
    assert PA(2).gamma == 0.0
    np.testing.assert_allclose(learner.update([1.0, 2.0], 3.0), np.array([1.0, 2.0]) * 3.0 / (5.0 + gamma), rtol=1e-15)


def test_a_start_that_misses_the_simplex_by_rounding_is_mended() -> None:
    start = np.array([0.1, 0.2, 0.7 - 1e-9])
    learner = PA(3, start=start)
    assert abs(learner.weights.sum() - 1.0) <= 1e-12
    start[:] = 0.0
    assert learner.weights[2] > 0.6


def test_an_error_of_exactly_eps_is_passive() -> None:
    learner = PA(2, eps=0.125, feasible=RealSpace(), start=[0.5, 0.5])
    learner.update([0.25, 0.5], 0.5)
    np.testing.assert_array_equal(learner.weights, [0.5, 0.5])
    assert learner.diagnostics()["loss"] == 0.0


@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@pytest.mark.parametrize("x", [[0.0, 0.0], [1e-200, -1e-200], [5e-324, 0.0]])
def test_a_round_without_returns_teaches_nothing(variant: str, x: list[float]) -> None:
    learner = PA(2, variant=variant, start=[0.3, 0.7])
    learner.update(x, 0.05)
    np.testing.assert_array_equal(learner.weights, [0.3, 0.7])
    assert learner.diagnostics()["loss"] == pytest.approx(0.05 - 1e-4)


@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
def test_a_round_without_returns_does_not_even_project(variant: str) -> None:
    learner = PA(2, variant=variant, feasible=L1Ball(0.9), start=[0.6, 0.6])
    np.testing.assert_array_equal(learner.update([0.0, 0.0], 0.05), [0.6, 0.6])
    assert np.abs(learner.update([0.01, 0.02], 0.05)).sum() <= 0.9 + 1e-12


def objective(variant: str, C: float, eps: float, w: np.ndarray, w_t: np.ndarray, x: np.ndarray, y: float) -> float:
    loss = max(abs(y - float(w @ x)) - eps, 0.0)
    return 0.5 * float(((w - w_t) ** 2).sum()) + (C * loss if variant == "PA-I" else C * loss**2)


@common
@given(seeds, st.sampled_from(["PA-I", "PA-II"]))
def test_soft_steps_minimise_their_objective(seed: int, variant: str) -> None:
    """PA-I: 0.5||w-w_t||^2 + C l(w); PA-II: 0.5||w-w_t||^2 + C l(w)^2. No other point is better."""
    rng = np.random.default_rng(seed)
    n, C, eps = int(rng.integers(1, 6)), float(10.0 ** rng.uniform(-2, 1)), 0.05
    w_t, x, y = rng.standard_normal(n), rng.standard_normal(n), float(rng.standard_normal())
    w = PA(n, eps=eps, variant=variant, C=C, feasible=RealSpace(), start=w_t).update(x, y)
    best = objective(variant, C, eps, w, w_t, x, y)
    for size in (1e-4, 1e-2, 1.0):
        for other in w + size * rng.standard_normal((30, n)):
            assert objective(variant, C, eps, other, w_t, x, y) >= best - 1e-12


@common
@given(seeds)
def test_the_hard_step_is_the_nearest_point_without_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, eps = int(rng.integers(1, 6)), 0.05
    w_t, x, y = rng.standard_normal(n), rng.standard_normal(n), float(rng.standard_normal())
    learner = PA(n, eps=eps, feasible=RealSpace(), start=w_t)
    w = learner.update(x, y)
    assert abs(y - w @ x) <= eps + 1e-12
    if learner.diagnostics()["loss"] > 0.0:
        assert abs(y - w @ x) == pytest.approx(eps, abs=1e-12)
        step = w - w_t
        np.testing.assert_allclose(step, (step @ x) / (x @ x) * x, rtol=0, atol=1e-12)


# ------------------------------------------------------------------ theorems


def sequence(seed: int, simplex: bool, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return X, Y with |Y - X w*| <= noise, w* and w_1, in R^N or on the simplex."""
    rng = np.random.default_rng(seed)
    n, rounds = int(rng.integers(1, 10)), int(rng.integers(1, 60))
    scale = 0.01 if simplex else 1.0
    X = scale * rng.standard_normal((rounds, n))
    X[rng.random(rounds) < 0.05] = 0.0
    w_star, w_1 = (rng.dirichlet(np.full(n, 0.5), 2)) if simplex else rng.standard_normal((2, n))
    return X, X @ w_star + noise * rng.uniform(-1, 1, rounds), w_star, w_1


def play(learner: PA, X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the weights after each round, losses and steps."""
    W, rounds = [], []
    for x, y in zip(X, Y, strict=True):
        W.append(learner.update(x, y))
        rounds.append(learner.diagnostics())
    return np.array(W), np.array([r["loss"] for r in rounds]), np.array([r["tau"] for r in rounds])


@common
@given(seeds, st.booleans(), st.sampled_from([1.0, 1.5, 3.0]))
def test_theorem_1_and_lemma_2(seed: int, simplex: bool, wider: float) -> None:
    """sum l^2 + 2(eps - eps*) sum l <= B ||w* - w_1||^2; ||w_t - w_1|| <= 2 ||w* - w_1||. With lazy projection too, w* in W."""
    eps_star = 2e-4 if simplex else 0.05
    X, Y, w_star, w_1 = sequence(seed, simplex, eps_star * (1 - 1e-9))
    eps = wider * eps_star
    W, loss, _ = play(PA(X.shape[1], eps=eps, feasible=Simplex() if simplex else RealSpace(), start=w_1), X, Y)
    B, distance = float((X**2).sum(axis=1).max()), float(((w_star - w_1) ** 2).sum())
    assert (loss**2).sum() + 2.0 * (eps - eps_star) * loss.sum() <= B * distance * (1 + 1e-9) + 1e-15
    assert (np.linalg.norm(W - w_1, axis=1) <= 2.0 * np.sqrt(distance) * (1 + 1e-9) + 1e-12).all()


@common
@given(seeds, st.sampled_from([0.05, 0.5, 5.0, 50.0]))
def test_theorem_3(seed: int, C: float) -> None:
    """No realizability: sum l^2 <= (gamma + B) ||u - w_1||^2 + (1 + B/gamma) sum l(u)^2 for PA-II and any u, gamma = 1/(2C)."""
    X, Y, u, w_1 = sequence(seed, False, 2.0)
    eps = 0.1
    _, loss, _ = play(PA(X.shape[1], eps=eps, variant="PA-II", C=C, feasible=RealSpace(), start=w_1), X, Y)
    B, gamma = float((X**2).sum(axis=1).max()), 1.0 / (2.0 * C)
    other = np.maximum(np.abs(Y - X @ u) - eps, 0.0)
    assert (loss**2).sum() <= ((gamma + B) * ((u - w_1) ** 2).sum() + (1.0 + B / gamma) * (other**2).sum()) * (1 + 1e-9)


@common
@given(seeds, st.sampled_from(["PA", "PA-I", "PA-II"]), st.sampled_from([1e-4, 5e-3]))
def test_lemma_7_on_lazy_projection(seed: int, variant: str, noise: float) -> None:
    """sum tau (2 l - tau ||x||^2 - 2 l(u)) <= ||w_1 - u||^2 for every u on the simplex."""
    X, Y, w_star, w_1 = sequence(seed, True, noise)
    eps = 1e-4
    _, loss, tau = play(PA(X.shape[1], eps=eps, variant=variant, start=w_1), X, Y)
    for u in (w_star, w_1, np.full(X.shape[1], 1.0 / X.shape[1]), np.eye(X.shape[1])[0]):
        other = np.maximum(np.abs(Y - X @ u) - eps, 0.0)
        lhs = (tau * (2.0 * loss - tau * (X**2).sum(axis=1) - 2.0 * other)).sum()
        assert lhs <= ((w_1 - u) ** 2).sum() * (1 + 1e-9) + 1e-12


@common
@given(seeds)
def test_without_a_mistake_to_learn_from_it_learns_the_index(seed: int) -> None:
    """On clean data the tracking error goes to the tube."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    X = 0.01 * rng.standard_normal((600, n))
    w_star = rng.dirichlet(np.ones(n))
    _, loss, _ = play(PA(n, eps=1e-6), X, X @ w_star)
    assert loss[-50:].max() <= 1e-4
