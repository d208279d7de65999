"""The steps inside AdaGrad: each closed form satisfies its optimality condition, in any metric that gradients can make."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import (
    Box,
    CappedSimplex,
    FeasibleSet,
    GroupedSimplex,
    Hyperplane,
    L1Ball,
    RealSpace,
    Simplex,
)
from tracker_strategies.algorithms.gradient._diagonal_metric import STEPS, DiagonalMetric, check_step, simplex
from tracker_strategies.algorithms.gradient._full_metric import STEPS as FULL_STEPS
from tracker_strategies.algorithms.gradient._full_metric import FullMetric, matrix, root_of_gram
from tracker_strategies.algorithms.gradient._regularisers import NORMS, REGULARISERS, Regulariser
from tracker_strategies.errors import ParameterError

seeds = st.integers(0, 2**32 - 1)
common = settings(max_examples=80, deadline=None)
spans = st.sampled_from([0.0, 1.0, 4.0])
wide_spans = st.sampled_from([0.0, 1.0, 4.0, 20.0])
GROUPS = [[0, 3], [1, 2, 4]]


def regulariser(name: str, n: int) -> Regulariser:
    mixed = name in ("l1l2", "l1linf")
    return Regulariser(name, None if name == "none" else 1.0, [[i for i in g if i < n] for g in GROUPS] if mixed else None, n)


def problem(seed: int, span: float, n: int | None = None) -> tuple[np.ndarray, np.ndarray, float]:
    """A centre y, a metric H over 2*span powers of ten, and a strength k that matters."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(1, 9))
    H = 10.0 ** rng.uniform(-span, span, n)
    y = rng.standard_normal(n)
    return y, H, float(np.median(H * np.abs(y)) * 10.0 ** rng.uniform(-1.0, 1.0))


# ------------------------------------------------------------------ regularisers in R^n


def distance_to_subdifferential(name: str, x: np.ndarray, pull: np.ndarray) -> float:
    """How far `pull` is from the subdifferential of the norm at x."""
    match name:
        case "l1":
            return float(np.where(x == 0.0, np.maximum(np.abs(pull) - 1.0, 0.0), np.abs(pull - np.sign(x))).max())
        case "l2sq":
            return float(np.abs(pull - x).max())
        case "l2":
            norm = np.linalg.norm(x)
            return max(float(np.linalg.norm(pull)) - 1.0, 0.0) if norm == 0.0 else float(np.abs(pull - x / norm).max())
        case "linf":
            top = np.abs(x).max()
            if top == 0.0:
                return max(float(np.abs(pull).sum()) - 1.0, 0.0)
            at_top = np.abs(x) >= top * (1 - 1e-12)
            wrong_sign = np.maximum(-pull * np.sign(x), 0.0)[at_top].max()
            return float(max(abs(np.abs(pull).sum() - 1.0), np.abs(pull[~at_top]).max(initial=0.0), wrong_sign))
    raise AssertionError(name)


@common
@given(seeds, wide_spans, st.sampled_from([r for r in REGULARISERS if r != "none"]))
def test_every_regulariser_is_solved_to_its_optimality_condition(seed: int, span: float, name: str) -> None:
    """0 = H(x - y) + k s with s in the subdifferential of the norm, group by group for the mixed ones."""
    y, H, k = problem(seed, span, n=5)
    x = regulariser(name, 5).shrink(y, H, k)
    pull = H * (y - x) / k
    size = max(1.0, float(np.abs(H * y).max()) / k)  # rounding of pull, before anything is solved
    if name in ("l1l2", "l1linf"):
        for group in GROUPS:
            assert distance_to_subdifferential(name.removeprefix("l1"), x[group], pull[group]) <= 1e-12 * size
    else:
        assert distance_to_subdifferential(name, x, pull) <= 1e-12 * size


@pytest.mark.parametrize("name", [r for r in REGULARISERS if r != "none"])
def test_a_strong_regulariser_leaves_nothing_and_a_weak_one_everything(name: str) -> None:
    y, H, _ = problem(3, 1.0, n=5)
    if name != "l2sq":
        np.testing.assert_array_equal(regulariser(name, 5).shrink(y, H, 1e3), np.zeros(5))
    np.testing.assert_allclose(regulariser(name, 5).shrink(y, H, 1e-14), y, rtol=1e-12)
    np.testing.assert_array_equal(regulariser(name, 5).shrink(y, H, 0.0), y)


def test_a_coordinate_in_no_group_costs_nothing() -> None:
    phi = Regulariser("l1l2", 2.0, [[0, 1]], 3)
    assert phi.value(np.array([3.0, 4.0, 100.0])) == 10.0
    assert phi.shrink(np.array([0.1, 0.1, 100.0]), np.ones(3), 1.0).tolist() == [0.0, 0.0, 100.0]


def test_groups_shrink_to_the_assets_that_take_part() -> None:
    phi = Regulariser("l1linf", 1.0, [[0, 3], [1, 2, 4]], 5).slice(np.array([True, False, False, True, False]))
    assert phi.groups == ((0, 1),)
    assert phi.value(np.array([-3.0, 2.0])) == 3.0


@pytest.mark.parametrize(
    ("name", "value"),
    [("none", 0.0), ("l1", 7.0), ("l2sq", 12.5), ("l2", 5.0), ("linf", 4.0), ("l1l2", 7.0), ("l1linf", 7.0)],
)
def test_values(name: str, value: float) -> None:
    groups = [[0], [1]] if name in ("l1l2", "l1linf") else None
    assert Regulariser(name, None if name == "none" else 1.0, groups, 2).value(np.array([3.0, -4.0])) == value


# ------------------------------------------------------------------ sets in a diagonal metric


def lowest(W: FeasibleSet, nu: np.ndarray) -> float:
    """The least of nu.z over z in W."""
    n = nu.shape[0]
    if isinstance(W, Simplex):
        return W.total * float(nu.min())
    if isinstance(W, L1Ball):
        return -W.c * float(np.abs(nu).max())
    if isinstance(W, Box):
        return float(np.where(nu > 0.0, nu * W.lo, nu * W.hi).sum())
    assert isinstance(W, CappedSimplex)
    left, value = W.total, 0.0
    for i in np.argsort(nu):
        take = min(left, float(np.broadcast_to(W.u, (n,))[i]))
        value, left = value + take * float(nu[i]), left - take
    return value


SETS = [Simplex(), Simplex(0.3), CappedSimplex(0.45), L1Ball(0.7), Box(-0.2, 0.4), Box(0.05, 0.4)]


@common
@given(seeds, wide_spans, st.sampled_from(SETS), st.sampled_from(["none", "l1", "l2sq"]))
def test_no_point_of_the_set_is_better(seed: int, span: float, W: FeasibleSet, name: str) -> None:
    """The gradient nu of the objective at the answer has nu.x <= nu.z for all z in W: that is optimality of a convex problem."""
    y, H, k = problem(seed, span, n=5)
    x = DiagonalMetric(H).step(y, 0.0 if name == "none" else k, regulariser(name, 5), W)
    assert W.contains(x, 1e-13)
    nu = H * (x - y)
    if name == "l2sq":
        nu = nu + k * x
    if name == "l1" and not W.portfolio:
        # The subgradient at 0 is free in [-k, k]: the one that helps x most, given the price of the ball or the bound.
        nu = np.where(x != 0.0, nu + k * np.sign(x), np.sign(nu) * np.maximum(np.abs(nu) - k, 0.0))
    scale = float(np.abs(H * y).max()) + k
    assert float(nu.dot(x)) - lowest(W, nu) <= 1e-13 * scale


@common
@given(seeds, spans, st.booleans())
def test_the_hyperplane_in_a_metric(seed: int, span: float, full: bool) -> None:
    y, H, _ = problem(seed, span)
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(y.shape[0])
    Q = np.linalg.qr(rng.standard_normal((y.shape[0],) * 2))[0]
    metric = FullMetric(H, Q, 0.0) if full else DiagonalMetric(H)
    x = metric.step(y, 0.0, regulariser("none", y.shape[0]), Hyperplane(a, 0.5))
    assert a @ x == pytest.approx(0.5, abs=1e-9 * np.abs(a * x).sum() + 1e-12)
    nu = matrix(H, Q) @ (x - y) if full else H * (x - y)  # must be a multiple of the normal
    np.testing.assert_allclose(nu, (nu @ a) / (a @ a) * a, rtol=0, atol=1e-9 * float(H.max() * np.abs(x - y).max()) + 1e-300)


def exact_simplex(y: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The projection in rational arithmetic: drop indices until none is negative."""
    v, q = [Fraction(float(a)) for a in y], [1 / Fraction(float(h)) for h in H]
    held = list(range(len(v)))
    while True:
        theta = (sum(v[i] for i in held) - 1) / sum(q[i] for i in held)
        kept = [i for i in held if v[i] - theta * q[i] > 0]
        if kept == held:
            return np.array([float(max(a - theta * b, 0)) for a, b in zip(v, q, strict=True)])
        held = kept


@common
@given(seeds, st.sampled_from([0.0, 2.0, 12.0, 50.0, 100.0]), st.sampled_from([1e-3, 1.0, 1e3, 1e9]))
def test_the_simplex_is_exact_in_metrics_of_any_range(seed: int, span: float, size: float) -> None:
    """Beside assets that never moved stand others with gradients of 1e90: two hundred powers of ten between them."""
    y, H, _ = problem(seed, span)
    w = simplex(size * y, H, 1.0)
    assert abs(w.sum() - 1.0) <= 1e-13
    np.testing.assert_allclose(w, exact_simplex(size * y, H), rtol=0, atol=1e-15 * max(1.0, size) + 1e-14)


# ------------------------------------------------------------------ the full metric


@common
@given(seeds)
def test_the_root_of_a_singular_matrix_keeps_its_digits(seed: int) -> None:
    """Fewer gradients than assets: the root of an eigendecomposition would be wrong by 1e-8 in the directions never seen."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    gradients = rng.standard_normal((n - 2, n)) * 10.0 ** rng.uniform(-6, 2, (n - 2, 1))
    S = np.zeros((n, n))
    for g in gradients:
        s, Q = root_of_gram(np.column_stack((S, g)))
        S = matrix(s, Q)
    G = gradients.T @ gradients
    np.testing.assert_allclose(S @ S, G, rtol=0, atol=1e-13 * np.abs(G).max())
    assert np.linalg.norm(S @ np.linalg.svd(gradients)[2][n - 2 :].T) <= 1e-13 * np.linalg.norm(S)


@common
@given(seeds, st.sampled_from(["none", "l2sq", "l2"]))
def test_the_full_metric_in_all_of_space(seed: int, name: str) -> None:
    y, h, k = problem(seed, 2.0)
    n = y.shape[0]
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    x = FullMetric(h, Q, 0.0).step(y, k, regulariser(name, n), RealSpace())
    pull = matrix(h, Q) @ (y - x) / k
    size = max(1.0, float(h.max() * np.abs(y).max()) / k)
    if name == "none":
        np.testing.assert_array_equal(x, y)
    else:
        assert distance_to_subdifferential(name, x, pull) <= 1e-10 * size


@common
@given(seeds, st.sampled_from([0.0, 1.0, 3.0]), st.sampled_from([1.0, 0.25]), st.booleans())
def test_the_full_metric_on_the_simplex(seed: int, span: float, total: float, ridge: bool) -> None:
    y, h, k = problem(seed, span)
    n = y.shape[0]
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    W = Simplex(total)
    x = FullMetric(h, Q, 0.0).step(y, k, regulariser("l2sq" if ridge else "none", n), W)
    assert W.contains(x)
    nu = matrix(h, Q) @ (x - y) + (k * x if ridge else 0.0)
    assert float(nu.dot(x)) - lowest(W, nu) <= 1e-10 * (float(h.max() * np.abs(y).max()) + k)


def test_a_metric_that_a_double_cannot_hold_still_projects() -> None:
    h = np.array([1e92, 1e-8, 1e-8])
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    assert Simplex().contains(FullMetric(h, Q, 0.0).step(np.array([0.3, 0.2, 0.1]), 0.0, regulariser("none", 3), Simplex()))


# ------------------------------------------------------------------ what cannot be solved exactly


@pytest.mark.parametrize("W", [Simplex(), CappedSimplex(0.5), L1Ball(), Box(), Hyperplane()], ids=lambda W: W.kind)
@pytest.mark.parametrize("name", NORMS)
def test_norms_need_all_of_space(W: FeasibleSet, name: str) -> None:
    with pytest.raises(ParameterError, match=rf"{name}.*{type(W).__name__}.*none.*l2sq"):
        check_step(W, regulariser(name, 5), STEPS, "diagonal")


@pytest.mark.parametrize("W", [Box(), CappedSimplex(0.5), L1Ball(), GroupedSimplex([[0, 1]])], ids=lambda W: W.kind)
def test_sets_without_a_projection_in_the_full_metric(W: FeasibleSet) -> None:
    with pytest.raises(ParameterError, match="choose one of RealSpace, Simplex, Hyperplane"):
        check_step(W, regulariser("none", 5), FULL_STEPS, "full")


@pytest.mark.parametrize(
    "wrong",
    [
        ("l3", 1.0, None),
        (None, None, None),
        ("none", 1.0, None),
        ("l1", None, None),
        ("l1", -1.0, None),
        ("l1", 1.0, [[0]]),
        ("l1l2", 1.0, None),
        ("l1l2", 1.0, [[0, 1], [1, 2]]),
        ("l1l2", 1.0, [[0.5]]),
        ("l1linf", 1.0, [[5]]),
    ],
    ids=str,
)
def test_regularisers_that_do_not_exist(wrong: tuple) -> None:
    with pytest.raises(ParameterError):
        Regulariser(*wrong, 3)
