"""Projections: feasible, optimal, and well-behaved at every scale."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms.gradient import (
    project_l1_ball_diag_metric,
    project_simplex_diag_metric,
    project_simplex_full_metric,
    project_weighted_l1_ball,
)
from tracker_strategies.algorithms.numerics import thresholds
from tracker_strategies.algorithms.sets import (
    project_box,
    project_capped_simplex,
    project_hyperplane,
    project_l1_ball,
    project_simplex,
)

entries = st.one_of(st.floats(-3, 3), st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]), st.floats(-1e6, 1e6))
vectors = st.lists(entries, min_size=1, max_size=40).map(np.array)
seeds = st.integers(0, 2**32 - 1)
scales = st.sampled_from([1e-300, 1e-12, 1e-3, 1.0, 1e3, 1e12, 1e150, 1e300])
totals = st.sampled_from([1e-300, 1e-6, 0.3, 1.0, 7.0, 1e300])
common = settings(max_examples=100, deadline=None)


def random_vector(seed: int, n_max: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(rng.integers(1, n_max)) * 10.0 ** rng.integers(-3, 4)


# ------------------------------------------------------------------ simplex


@common
@given(vectors, scales, totals)
def test_simplex_is_feasible_at_every_scale(y: np.ndarray, scale: float, total: float) -> None:
    w = project_simplex(y * scale, total)
    assert (w >= 0.0).all()
    assert abs(w.sum() - total) <= 1e-12 * total


@common
@given(vectors, scales)
def test_simplex_satisfies_the_kkt_conditions(y: np.ndarray, scale: float) -> None:
    y = y * scale
    w = project_simplex(y)
    tolerance = 1e-12 * max(1.0, float(np.abs(y).max()))
    thresholds_held = (y - w)[w > 0.0]
    assert np.ptp(thresholds_held) <= tolerance, "held entries are shifted by one constant"
    assert (y[w == 0.0] <= thresholds_held.max() + tolerance).all(), "no entry at zero exceeds the threshold"


@common
@given(vectors, totals)
def test_simplex_is_idempotent(y: np.ndarray, total: float) -> None:
    w = project_simplex(y, total)
    np.testing.assert_allclose(project_simplex(w, total), w, rtol=0, atol=1e-12 * total)


@common
@given(vectors, st.floats(-100, 100))
def test_simplex_ignores_a_constant_shift(y: np.ndarray, shift: float) -> None:
    tolerance = 1e-12 + 1e-15 * float(np.abs(y).max() + abs(shift))
    np.testing.assert_allclose(project_simplex(y + shift), project_simplex(y), rtol=0, atol=tolerance)


@common
@given(vectors, seeds)
def test_simplex_does_not_expand_distances(y: np.ndarray, seed: int) -> None:
    z = y + np.random.default_rng(seed).standard_normal(y.size)
    moved = np.linalg.norm(project_simplex(y) - project_simplex(z))
    assert moved <= np.linalg.norm(y - z) * (1 + 1e-12) + 1e-12


@common
@given(vectors)
def test_simplex_keeps_the_order_and_ties(y: np.ndarray) -> None:
    w = project_simplex(y)
    order = np.argsort(y, kind="stable")
    assert (np.diff(w[order]) >= 0.0).all()
    for value in np.unique(y):
        assert np.unique(w[y == value]).size == 1


@common
@given(vectors, totals)
def test_newton_agrees_with_sorting(y: np.ndarray, total: float) -> None:
    y = np.maximum(y - y.max(), -1e6) * min(total, 1e3) if total < 1.0 else y
    z = y - y.max()
    np.testing.assert_allclose(
        thresholds.simplex(y, total), thresholds.simplex_sorted(z, total), rtol=0, atol=1e-11 * max(total, 1e-300)
    )


@pytest.mark.parametrize("ratio", [0.5, 0.9, 0.99, 1e-3])
def test_many_newton_steps_end_in_the_right_place(ratio: float) -> None:
    y = 1e9 * ratio ** np.arange(300)
    np.testing.assert_allclose(project_simplex(y), thresholds.simplex_sorted(y - y.max(), 1.0), rtol=0, atol=1e-13)


def test_sorting_takes_over_when_newton_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y = rng.standard_normal(50)
    expected = project_simplex(y), project_simplex_diag_metric(y, np.exp(y)), project_capped_simplex(y, 0.1)
    monkeypatch.setattr(thresholds, "MAX_NEWTON", 0)
    got = project_simplex(y), project_simplex_diag_metric(y, np.exp(y)), project_capped_simplex(y, 0.1)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-14)


def test_a_large_vector_sums_to_one() -> None:
    rng = np.random.default_rng(1)
    for n in (5_000, 100_000):
        for scale in (1e-6, 1e-2, 1.0, 1e4):
            assert abs(project_simplex(scale * rng.standard_normal(n)).sum() - 1.0) <= 1e-12


@pytest.mark.parametrize(
    "y", [[1e300, 1e300, -1e300], [1.7e308, 1.7e308, -1.7e308], [-1e300, -1e300, -1.1e300], [1e16, 1e16, 1e16 - 4]]
)
def test_huge_entries(y: list[float]) -> None:
    np.testing.assert_array_equal(project_simplex(y), [0.5, 0.5, 0.0])


def test_no_mass_gives_zeros() -> None:
    np.testing.assert_array_equal(project_simplex([3.0, -1.0], total=0.0), [0.0, 0.0])


# ------------------------------------------------------------------ other sets: certificates of optimality
# w is the projection of y on the convex set K in the metric H if and only if (y - w)'H(v - w) <= 0 for all v in K.


@common
@given(seeds, st.sampled_from([1e-6, 1.0, 1e6, 1e12]), st.booleans())
def test_capped_simplex(seed: int, scale: float, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    y = scale * random_vector(seed)
    n = y.size
    u = rng.random(n) * 3.0 / n + 1.0 / n
    H = 10.0 ** rng.uniform(-2, 2, n) if weighted else None
    w = project_capped_simplex(y, u, H=H)
    assert (w >= 0.0).all()
    assert (w <= u).all()
    assert abs(w.sum() - 1.0) <= 1e-12
    slope = (y - w) * (1.0 if H is None else H)
    order = np.argsort(-slope)
    filled = np.minimum(np.maximum(1.0 - np.concatenate(([0.0], np.cumsum(u[order])[:-1])), 0.0), u[order])
    best = float(slope[order] @ filled)  # the maximum of slope.v over the capped simplex, greedily
    assert best - slope @ w <= 1e-11 * max(1.0, float(np.abs(slope).max()))


@common
@given(seeds)
def test_caps_that_do_not_bind_give_the_simplex(seed: int) -> None:
    y = random_vector(seed)
    np.testing.assert_allclose(project_capped_simplex(y, np.inf), project_simplex(y), rtol=0, atol=1e-12)
    np.testing.assert_allclose(project_capped_simplex(y, 1.0 / y.size), np.full(y.size, 1.0 / y.size), rtol=0, atol=1e-12)
    H = np.random.default_rng(seed).random(y.size) + 0.01
    np.testing.assert_allclose(
        project_capped_simplex(y, 2.0, H=H),
        project_simplex_diag_metric(y, H),
        rtol=0,
        atol=1e-12 * max(1.0, np.abs(y).max()),
    )


@common
@given(seeds, st.floats(1e-3, 1e3), st.sampled_from([1e-9, 1.0, 1e9]))
def test_l1_balls(seed: int, c: float, scale: float) -> None:
    rng = np.random.default_rng(seed)
    y, c = scale * random_vector(seed), scale * c
    H = 10.0 ** rng.uniform(-3, 3, y.size)
    a = rng.random(y.size) + 1e-3
    for w, metric, price in (
        (project_l1_ball(y, c), np.ones(y.size), np.ones(y.size)),
        (project_l1_ball_diag_metric(y, H, c), H, np.ones(y.size)),
        (project_weighted_l1_ball(y, a, c), np.ones(y.size), a),
    ):
        assert (price * np.abs(w)).sum() <= c * (1 + 1e-12)
        assert (w * y >= 0.0).all()
        slope = metric * (y - w)
        best = float((c * np.abs(slope) / price).max())  # at a vertex +-(c/a_i) e_i
        assert best - slope @ w <= 1e-10 * max(c, 1e-300) * max(
            float(np.abs(slope / price).max()), float(np.abs(metric * y).max())
        )
    inside = y / (np.abs(y).sum() + 1e-300) * c * 0.99
    np.testing.assert_array_equal(project_l1_ball(inside, c), inside)


@common
@given(seeds, st.integers(-8, 0))
def test_simplex_in_a_diagonal_metric(seed: int, spread: int) -> None:
    """Also with weights over eight orders of magnitude, as AdaGrad makes them."""
    rng = np.random.default_rng(seed)
    y = rng.random(rng.integers(1, 40)) - 0.2
    H = 10.0 ** rng.uniform(spread, 0, y.size)
    w = project_simplex_diag_metric(y, H)
    assert (w >= 0.0).all()
    assert abs(w.sum() - 1.0) <= 1e-12
    slope = H * (y - w)
    assert slope.max() - slope @ w <= 1e-14 * H.max()  # rounding of y - w, seen through H
    order = np.argsort(-H * y, kind="stable")
    thetas = (np.cumsum(y[order]) - 1.0) / np.cumsum(1.0 / H[order])
    by_sorting = np.maximum(H * y - thetas[np.count_nonzero((H * y)[order] > thetas) - 1], 0.0) / H
    np.testing.assert_allclose(w, by_sorting, rtol=0, atol=1e-12 * 10.0**-spread)


def test_a_diagonal_metric_of_wide_range_keeps_all_digits() -> None:
    """The heavy entry is far above the threshold; the light ones must not lose the digits that it takes."""
    y, H = [0.5, 0.4, 0.3], [1.0, 1e-9, 3e-9]
    theta = (sum(map(Fraction, y)) - 1) / sum(1 / Fraction(h) for h in H)
    exact = [float(Fraction(v) - theta / Fraction(h)) for v, h in zip(y, H, strict=True)]
    np.testing.assert_allclose(project_simplex_diag_metric(y, H), exact, rtol=1e-14, atol=0)


@settings(max_examples=60, deadline=None)
@given(seeds, st.sampled_from([0.1, 1.0, 1e4]))
def test_simplex_in_a_full_metric(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    A = rng.standard_normal((n, n + 3))
    H = A @ A.T / n + 1e-3 * np.eye(n)
    y = scale * rng.standard_normal(n)
    w = project_simplex_full_metric(y, H)
    assert (w >= 0.0).all()
    assert abs(w.sum() - 1.0) <= 1e-12
    slope = H @ (y - w)
    assert slope.max() - slope @ w <= 1e-10 * max(1.0, float(np.abs(slope).max()))


def test_full_metric_that_is_diagonal() -> None:
    rng = np.random.default_rng(2)
    y, H = rng.standard_normal(12), rng.random(12) + 0.1
    np.testing.assert_allclose(project_simplex_full_metric(y, np.diag(H)), project_simplex_diag_metric(y, H), rtol=0, atol=1e-13)


@common
@given(seeds, scales)
def test_hyperplane(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    y = scale * random_vector(seed, 20)
    a = rng.standard_normal(y.size) + 0.1
    w = project_hyperplane(y, a, 0.7)
    size = max(1.0, float(np.abs(y).max()))
    assert abs((a / np.abs(a).max()) @ (w / size) - 0.7 / np.abs(a).max() / size) <= 1e-13 * y.size
    step = (w - y) / size
    assert np.linalg.norm(step - (step @ a) / (a @ a) * a) <= 1e-13 * y.size, "the step is along the normal"


def test_box() -> None:
    np.testing.assert_array_equal(project_box([-1.0, 0.1, 5.0], 0.0, [1.0, 1.0, np.inf]), [0.0, 0.1, 5.0])


def test_free_coordinates_of_a_weighted_l1_ball_stay() -> None:
    w = project_weighted_l1_ball([3.0, -7.0, 2.0], [1.0, 0.0, 1.0], 1.0)
    np.testing.assert_allclose(w, [1.0, -7.0, 0.0], rtol=0, atol=1e-15)


def test_metrics_of_any_range_stay_on_the_simplex():
    w = project_simplex_diag_metric([0.3, 0.1, 0.2], [1e30, 1e-8, 1.0])
    np.testing.assert_allclose(w, [0.3, 0.5, 0.2], atol=1e-7)
    rng = np.random.default_rng(0)
    for _ in range(500):
        y, H = rng.normal(0.1, 0.3, 6), 10.0 ** rng.uniform(-12.0, 12.0, 6)
        w = project_simplex_diag_metric(y, H)
        assert w.min() >= 0.0
        assert abs(w.sum() - 1.0) < 1e-12
        z = project_l1_ball_diag_metric(y, H, 0.5)
        assert np.abs(z).sum() <= 0.5 + 1e-12
