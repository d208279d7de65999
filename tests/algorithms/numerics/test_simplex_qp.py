"""Least squares on the simplex: exact, certified, from any start."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms.gradient import project_simplex_full_metric
from tracker_strategies.algorithms.numerics import simplex_qp as module
from tracker_strategies.algorithms.numerics import solve_simplex_qp
from tracker_strategies.algorithms.regression.to_portfolio import refit_portfolio
from tracker_strategies.errors import InputError, ParameterError

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed: int, n: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Moments of returns with a common factor and of an index of a few of them."""
    rng = np.random.default_rng(seed)
    X = 0.01 * (rng.standard_normal((rounds, n)) + rng.standard_normal((rounds, 1)))
    y = X @ rng.dirichlet(np.full(n, 0.2)) + 1e-3 * rng.standard_normal(rounds)
    return X.T @ X, X.T @ y


def assert_optimal(A: np.ndarray, b: np.ndarray, w: np.ndarray, total: float = 1.0, tolerance: float = 1e-10) -> None:
    """The conditions of Karush, Kuhn and Tucker: prices of names held are equal, and nobody is cheaper."""
    assert (w >= 0.0).all()
    assert w.sum() == pytest.approx(total, abs=1e-12 * max(total, 1.0))
    price = A @ w - b
    scale = np.abs(A @ w).max() + np.abs(b).max()
    level = price.min()
    assert (price[w > 1e-10 * total] - level).max() <= tolerance * scale


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(2, 40), st.sampled_from([0.5, 1.5, 6.0]))
def test_the_answer_meets_the_conditions_of_optimality(seed: int, n: int, rounds_per_name: float) -> None:
    A, b = problem(seed, n, max(2, int(rounds_per_name * n)))  # with fewer rounds than names A is singular
    w, gap = solve_simplex_qp(A, b)
    assert_optimal(A, b, w)
    assert 0.0 <= gap <= 1e-10 * abs(0.5 * w @ A @ w - b @ w)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(2, 30))
def test_the_start_does_not_matter(seed: int, n: int) -> None:
    A, b = problem(seed, n, 5 * n)
    rng = np.random.default_rng(seed)
    expected = project_simplex_full_metric(np.linalg.solve(A, b), A)
    for start in (None, np.zeros(n), np.eye(n)[n // 2], rng.random(n) * (rng.random(n) < 0.5), expected):
        np.testing.assert_allclose(solve_simplex_qp(A, b, start)[0], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1.0, 1e80])
def test_units_do_not_matter(scale: float) -> None:
    A, b = problem(1, 12, 60)
    np.testing.assert_allclose(solve_simplex_qp(scale * A, scale * b)[0], solve_simplex_qp(A, b)[0], rtol=0, atol=1e-10)


def test_a_smaller_sum_can_be_asked_for() -> None:
    A, b = problem(2, 12, 60)
    w, _ = solve_simplex_qp(A, b, total=0.3)
    assert_optimal(A, b, w, 0.3)
    np.testing.assert_array_equal(solve_simplex_qp(A, b, total=0.0)[0], np.zeros(12))


def test_extreme_targets_end_at_a_vertex() -> None:
    """A target far beyond anything that the names can do asks for one name, and gets it."""
    A = np.diag([3e12, 7e9, 7e9, 7e9])
    w, _ = solve_simplex_qp(A, np.array([-1e38, -1e36, -7e37, -2e37]))
    np.testing.assert_array_equal(w, [0.0, 1.0, 0.0, 0.0])


def test_flat_problems_are_solved_too() -> None:
    assert solve_simplex_qp(np.zeros((3, 3)), np.zeros(3))[0].sum() == pytest.approx(1.0)
    A = np.ones((4, 4))
    w, gap = solve_simplex_qp(A, np.array([0.1, 0.2, 0.3, 0.2]))
    np.testing.assert_allclose(w, [0.0, 0.0, 1.0, 0.0], atol=1e-12)
    assert gap <= 1e-12
    twin = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    assert_optimal(twin, np.array([1.0, 1.0, 0.5]), solve_simplex_qp(twin, np.array([1.0, 1.0, 0.5]))[0])


def test_exchanges_that_do_not_settle_are_taken_over_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    A, b = problem(3, 25, 100)
    expected, _ = solve_simplex_qp(A, b)
    monkeypatch.setattr(module, "MOST_BLOCKS", 1)
    np.testing.assert_allclose(solve_simplex_qp(A, b)[0], expected, rtol=0, atol=1e-10)


def test_bad_problems_are_refused() -> None:
    for A, b, total in (
        (np.eye(3), np.ones(2), 1.0),
        (np.zeros((0, 0)), np.zeros(0), 1.0),
        (np.eye(2), np.array([np.nan, 1.0]), 1.0),
        (np.full((2, 2), np.nan), np.ones(2), 1.0),
        (np.eye(2), np.ones(2), -1.0),
    ):
        with pytest.raises(ParameterError):
            solve_simplex_qp(A, b, total=total)


# ------------------------------------------------------------------ the refit on a support


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(3, 20), st.sampled_from([0.0, 0.01, 1.0]))
def test_a_refit_is_optimal_on_its_support(seed: int, n: int, ridge: float) -> None:
    C, m = problem(seed, n, 6 * n)
    support = np.sort(np.random.default_rng(seed).permutation(n)[: max(1, n // 2)])
    w = refit_portfolio(C, m, support, ridge=ridge)
    assert not np.delete(w, support).any()
    A, b = C[np.ix_(support, support)], m[support]
    pull = ridge * np.trace(A) / support.size
    assert_optimal(A + pull * np.eye(support.size), b + pull / support.size, w[support])


def test_a_strong_ridge_means_equal_weights() -> None:
    C, m = problem(4, 10, 50)
    np.testing.assert_allclose(refit_portfolio(C, m, range(10), ridge=1e9), 0.1, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(1, 12))
def test_at_most_so_many_names(seed: int, most: int) -> None:
    C, m = problem(seed, 12, 80)
    w = refit_portfolio(C, m, range(12), max_names=most)
    held = w.nonzero()[0]
    assert held.size <= most
    np.testing.assert_allclose(w, refit_portfolio(C, m, held), rtol=0, atol=1e-9)  # optimal for the names that are left


def test_more_names_never_track_worse_in_sample() -> None:
    C, m = problem(5, 30, 200)
    losses = [0.5 * w @ C @ w - m @ w for w in (refit_portfolio(C, m, range(30), max_names=k) for k in (2, 5, 10, 20, 30))]
    assert all(a >= b - 1e-15 for a, b in pairwise(losses))


def test_bad_supports_are_refused() -> None:
    C, m = problem(6, 4, 30)
    for support in ([], [4], [-1]):
        with pytest.raises(InputError, match="support"):
            refit_portfolio(C, m, support)
    with pytest.raises(InputError, match="shape"):
        refit_portfolio(C[:3], m, [0])
