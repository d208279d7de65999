"""The rivals of sparse PLS: recursive least squares, recursive LARS, adaptive lasso, static fits, random portfolios."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.numerics.test_simplex_qp import assert_optimal
from tracker_strategies.algorithms import RLS, AdaptiveLasso, RandomPortfolios, RecursiveLars, Simplex, StaticPortfolio
from tracker_strategies.algorithms.numerics import lars_path, lasso_gram
from tracker_strategies.algorithms.regression import refit_portfolio
from tracker_strategies.algorithms.regression.random_portfolios import batched_simplex, batched_simplex_qp
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import market, run, without

SEEDS = st.integers(0, 2**32 - 1)


def regression(seed: int, n: int, p: int, common: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + common * rng.standard_normal((n, 1))
    return X, X @ (rng.standard_normal(p) * (rng.random(p) < 0.4)) + rng.standard_normal(n)


def discounted(X: np.ndarray, y: np.ndarray, lam: float) -> tuple[np.ndarray, np.ndarray]:
    weights = lam ** np.arange(len(X) - 1, -1, -1.0)
    return (X * weights[:, None]).T @ X, (X * weights[:, None]).T @ y


def kkt_residual(C: np.ndarray, m: np.ndarray, b: np.ndarray, mu: float) -> float:
    """How far b is from the conditions of the lasso: the gradient is -mu sgn(b) where b is not 0, and within mu elsewhere."""
    g = m - C @ b
    return float(np.where(b != 0.0, np.abs(g - mu * np.sign(b)), np.maximum(np.abs(g) - mu, 0.0)).max())


# ------------------------------------------------------------------ the lasso


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 25), st.floats(0.3, 3.0), st.floats(0.0, 1.1))
def test_the_lasso_meets_its_conditions(seed: int, p: int, rounds: float, share: float) -> None:
    X, y = regression(seed, max(2, int(rounds * p)), p)  # also with fewer rounds than names
    C, m = X.T @ X, X.T @ y
    top = np.abs(m).max()
    b = lasso_gram(C, m, share * top)
    assert kkt_residual(C, m, b, share * top) <= 1e-10 * top
    if share >= 1.0:
        assert not b.any()


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 20), st.floats(0.5, 3.0))
def test_every_knot_of_the_path_is_a_solution_and_so_is_what_lies_between(seed: int, p: int, rounds: float) -> None:
    X, y = regression(seed, max(2, int(rounds * p)), p)
    C, m = X.T @ X, X.T @ y
    path = lars_path(C, m)
    assert path.knots[0] == np.abs(m).max()
    assert path.knots[-1] == 0.0
    assert (np.diff(path.knots) < 0.0).all()
    for i in range(len(path.knots) - 1):
        for share in (0.0, 0.3, 1.0):
            mu = (1.0 - share) * path.knots[i] + share * path.knots[i + 1]
            b = (1.0 - share) * path.coefs[i] + share * path.coefs[i + 1]
            np.testing.assert_allclose(b, lasso_gram(C, m, mu), rtol=0, atol=1e-8 * (1.0 + np.abs(path.coefs).max()))
            assert kkt_residual(C, m, np.where(np.abs(b) > 1e-12, b, 0.0), mu) <= 1e-9 * path.knots[0]


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2, 15))
def test_least_angle_regression_keeps_all_correlations_equal(seed: int, p: int) -> None:
    X, y = regression(seed, 4 * p, p)
    C, m = X.T @ X, X.T @ y
    path = lars_path(C, m, method="lar")
    assert sorted(path.active) == list(range(p))
    for i, (knot, b) in enumerate(zip(path.knots, path.coefs, strict=True)):
        left = np.abs(m - C @ b)
        inside = list(path.active[:i])
        np.testing.assert_allclose(left[inside], knot, rtol=0, atol=1e-9 * path.knots[0])
        assert left.max() <= knot + 1e-9 * path.knots[0]
    np.testing.assert_allclose(path.coefs[-1], np.linalg.solve(C, m), rtol=1e-6, atol=1e-8)


def test_the_path_stops_just_before_one_name_too_many() -> None:
    X, y = regression(1, 60, 15)
    C, m = X.T @ X, X.T @ y
    whole = lars_path(C, m)
    for k in range(1, 8):
        path = lars_path(C, m, max_names=k)
        assert len(path.active) == k
        np.testing.assert_array_equal(path.coefs, whole.coefs[: len(path.knots)])
        mu = path.knots[-1]
        np.testing.assert_allclose(lasso_gram(C, m, mu), path.coefs[-1], atol=1e-9)
        assert np.count_nonzero(lasso_gram(C, m, mu * (1.0 - 1e-6))) == k + 1
    half = lars_path(C, m, least=0.5 * whole.knots[0])
    assert half.knots[-1] == 0.5 * whole.knots[0]
    np.testing.assert_allclose(half.coefs[-1], lasso_gram(C, m, half.knots[-1]), atol=1e-12)


def test_twins_and_dead_names_do_not_break_the_path() -> None:
    X, y = regression(2, 50, 6)
    X = np.column_stack((X, X[:, 0], np.zeros(50)))
    C, m = X.T @ X, X.T @ y
    for mu in (0.0, 1.0, 20.0):
        b = lasso_gram(C, m, mu)
        assert kkt_residual(C, m, b, mu) <= 1e-9 * np.abs(m).max()
        assert b[6] == 0.0
        assert b[7] == 0.0
    assert not lasso_gram(np.zeros((2, 2)), [0.0, 0.0], 0.0).any()


def test_bad_moments_are_refused() -> None:
    for C, m in ((np.eye(3), np.ones(2)), (np.full((2, 2), np.nan), np.ones(2)), (np.eye(2), [np.inf, 0.0])):
        with pytest.raises(InputError):
            lasso_gram(C, m, 0.1)
        with pytest.raises(InputError):
            lars_path(C, m)
    with pytest.raises(ParameterError, match="mu"):
        lasso_gram(np.eye(2), [1.0, 0.0], -1.0)
    with pytest.raises(ParameterError, match="method"):
        lars_path(np.eye(2), [1.0, 0.0], method="ridge")


# ------------------------------------------------------------------ recursive least squares


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(1, 8), st.floats(0.9, 1.0), st.floats(1e-3, 10.0), st.booleans())
def test_recursive_least_squares_is_the_direct_formula(seed: int, p: int, lam: float, delta: float, from_start: bool) -> None:
    X, y = regression(seed, 40, p)
    learner = RLS(p, forgetting=lam, delta=delta, floor=0.0, prior="start" if from_start else "zero")
    first = np.full(p, 1.0 / p) if from_start else np.zeros(p)
    for t, (x, target) in enumerate(zip(X, y, strict=True), 1):
        learner.update(x, target)
        C, m = discounted(X[:t], y[:t], lam)
        weight = delta * lam**t
        expected = np.linalg.solve(C + weight * np.eye(p), m + weight * first)
        np.testing.assert_allclose(learner.coefficients[:, 0], expected, rtol=1e-6, atol=1e-8 * (1.0 + np.abs(expected).max()))
    np.testing.assert_allclose(learner.weights, Simplex().project(learner.coefficients[:, 0]), atol=1e-14)


def test_rounding_does_not_gather_in_thousands_of_rounds() -> None:
    X, y = regression(3, 5000, 6)
    learner = RLS(6, forgetting=0.99, delta=1.0, floor=0.0, prior="zero")
    run(learner, X, y)
    C, m = discounted(X, y, 0.99)
    np.testing.assert_allclose(learner.coefficients[:, 0], np.linalg.solve(C, m), rtol=1e-9, atol=1e-9)


def test_targets_share_the_inverse_and_nothing_else() -> None:
    X, y = regression(4, 60, 5)
    Y = np.column_stack((y, y[::-1], 2.0 * y))
    joint = RLS(5, n_targets=3, omega=[1.0, 2.0, 3.0])
    run(joint, X, Y)
    alone = [RLS(5) for _ in range(3)]
    for learner, column in zip(alone, Y.T, strict=True):
        run(learner, X, column)
    expected = np.column_stack([learner.coefficients[:, 0] for learner in alone])
    np.testing.assert_allclose(joint.coefficients, expected, atol=1e-10)
    np.testing.assert_allclose(joint.weights, Simplex().project(expected @ [1 / 6, 2 / 6, 3 / 6]), atol=1e-10)


def test_more_names_than_rounds_stay_within_bounds() -> None:
    X, Y = market(40, 300)
    learner = RLS(40, forgetting=0.9)
    W = run(learner, X, Y)
    assert np.abs(learner.coefficients).max() < 1e3
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-12)


# ------------------------------------------------------------------ recursive LARS, adaptive lasso


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.integers(1, 5), st.floats(0.9, 1.0), st.booleans())
def test_recursive_lars_is_the_exact_lasso_with_so_many_names(seed: int, theta: int, lam: float, standardise: bool) -> None:
    X, y = regression(seed, 50, 12)
    Y = np.column_stack((y, X @ np.linspace(-1.0, 1.0, 12)))
    learner = RecursiveLars(12, n_targets=2, theta=theta, forgetting=lam, standardise=standardise)
    for t, (x, target) in enumerate(zip(X, Y, strict=True), 1):
        learner.update(x, target)
        names, targets = learner._units()
        units = np.ones(12) if names is None else names
        for j in range(2):
            C, m = discounted(X[:t], Y[:t, j], lam)
            C, m = C * units * units[:, None], m * units * targets[j]
            b = learner.coefficients[:, j] * targets[j] / units
            held = b != 0.0
            assert np.count_nonzero(held) <= theta
            if t > 15:  # with as many rounds as names the path does not end early
                assert np.count_nonzero(held) == theta
            mu = np.abs(m - C @ b).max()
            assert kkt_residual(C, m, b, mu) <= 1e-8 * np.abs(m).max()
            assert np.count_nonzero(np.abs(m - C @ b) >= mu * (1.0 - 1e-8)) > theta or mu <= 1e-8 * np.abs(m).max()


def test_one_target_of_many_is_that_target_alone() -> None:
    X, y = regression(5, 60, 10)
    for cls in (RecursiveLars, AdaptiveLasso):
        joint, alone = cls(10, n_targets=2, theta=3, forgetting=0.98), cls(10, theta=3, forgetting=0.98)
        run(joint, X, np.column_stack((y[::-1], y)))
        run(alone, X, y)
        np.testing.assert_allclose(joint.coefficients[:, 1], alone.coefficients[:, 0], atol=1e-9)


@settings(max_examples=10, deadline=None)
@given(SEEDS, st.floats(0.0, 20.0))
def test_many_sweeps_of_the_adaptive_lasso_end_at_the_lasso(seed: int, mu: float) -> None:
    X, y = regression(seed, 40, 6, common=0.3)
    learner = AdaptiveLasso(6, mu=mu, sweeps=400, forgetting=0.98, standardise=False)
    run(learner, X, y)
    C, m = discounted(X, y, 0.98)
    np.testing.assert_allclose(learner.coefficients[:, 0], lasso_gram(C, m, mu), atol=1e-8)


def test_the_adaptive_lasso_selects_as_many_as_asked() -> None:
    X, Y = market(20, 120)
    learner = AdaptiveLasso(20, theta=4, sweeps=50, forgetting=0.99)
    held = []
    for x, y in zip(X, Y, strict=True):
        w = learner.update(x, y)
        held.append(np.count_nonzero(learner.coefficients))
    assert np.median(held[30:]) in (3, 4, 5)
    assert np.count_nonzero(w) <= 4


def test_after_a_change_the_adaptive_lasso_forgets() -> None:
    rng = np.random.default_rng(6)
    X = rng.standard_normal((300, 10))
    y = np.concatenate((X[:200] @ np.eye(10)[0], 3.0 * X[200:] @ np.eye(10)[5])) + 0.05 * rng.standard_normal(300)
    tuned, fixed = AdaptiveLasso(10, theta=2), AdaptiveLasso(10, theta=2, forgetting=0.999)
    factors = []
    for x, target in zip(X[:230], y[:230], strict=True):
        tuned.update(x, target)
        fixed.update(x, target)
        factors.append(tuned.diagnostics()["lambda"])
    assert min(factors[200:205]) == 0.9
    assert np.median(factors[100:200]) == 0.999
    assert tuned.weights[5] > fixed.weights[5]


# ------------------------------------------------------------------ static portfolios


def test_static_portfolios_are_fitted_once_and_held() -> None:
    X, Y = market(12, 80)
    for method in ("ols", "lars", "spls"):
        learner = StaticPortfolio(12, method=method, window=50, theta=4)
        W = run(learner, X, Y)
        np.testing.assert_array_equal(W[:49], np.full((49, 12), 1.0 / 12.0))
        np.testing.assert_array_equal(W[49:], np.repeat(W[49:50], 31, axis=0))
        assert learner.diagnostics()["fitted"] == 1.0
        assert np.count_nonzero(W[-1]) <= (12 if method == "ols" else 4)


def test_static_least_squares_has_minimum_norm() -> None:
    X, y = regression(7, 8, 12)
    learner = StaticPortfolio(12, window=8, standardise=False)
    run(learner, X, y)
    np.testing.assert_allclose(learner.coefficients[:, 0], np.linalg.pinv(X) @ y, atol=1e-6)


def test_static_lars_is_the_path_of_its_window() -> None:
    X, y = regression(8, 40, 10)
    learner = StaticPortfolio(10, method="lars", theta=3, window=40, standardise=False)
    run(learner, X, y)
    np.testing.assert_allclose(learner.coefficients[:, 0], lars_path(X.T @ X, X.T @ y, max_names=3).coefs[-1], atol=1e-9)
    with pytest.raises(ParameterError, match="method"):
        StaticPortfolio(10, method="ridge")


# ------------------------------------------------------------------ random portfolios


def test_a_population_is_its_members_one_by_one() -> None:
    X, Y = market(15, 60)
    population = RandomPortfolios(15, n_portfolios=20, theta=4, seed=3, warm_up=10)
    mean_returns, members = [], []
    for x, y in zip(X, Y, strict=True):
        members.append(population.member_returns(x))
        mean_returns.append(float(population.weights @ x))
        population.update(x, y)
    np.testing.assert_allclose(np.mean(members, axis=1), mean_returns, atol=1e-15)
    C, m = discounted(X, Y, 0.998)
    for support, part in zip(population.supports, population._parts, strict=True):
        expected = refit_portfolio(C, m, support, ridge=0.01)
        np.testing.assert_allclose(part, expected[support], atol=1e-10)


def test_a_member_does_not_depend_on_how_many_there_are() -> None:
    few, many = (RandomPortfolios(30, n_portfolios=n, theta=5, seed=9).supports for n in (3, 50))
    np.testing.assert_array_equal(few, many[:3])
    assert len({tuple(s) for s in many.tolist()}) > 40
    counts = np.bincount(RandomPortfolios(30, n_portfolios=3000, theta=5).supports.ravel(), minlength=30)
    assert counts.min() > 400  # drawn uniformly: 500 each
    assert counts.max() < 600
    assert not np.array_equal(RandomPortfolios(30, n_portfolios=3, theta=5, seed=1).supports, few)


def test_recursive_least_squares_weights_of_members() -> None:
    X, Y = market(10, 40)
    population = RandomPortfolios(10, n_portfolios=5, theta=3, mapping="project", ridge=0.05)
    run(population, X, Y)
    C, m = discounted(X, Y, 0.998)
    for support, part in zip(population.supports, population._parts, strict=True):
        A = C[np.ix_(support, support)]
        pull = 0.05 * np.trace(A) / 3
        beta = np.linalg.solve(A + pull * np.eye(3), m[support] + pull / 3)
        np.testing.assert_allclose(part, Simplex().project(beta), atol=1e-10)


def test_when_a_name_leaves_the_next_in_the_order_takes_its_place() -> None:
    X, Y = market(8, 30)
    population = RandomPortfolios(8, n_portfolios=6, theta=3, seed=2)
    run(population, X, Y)
    before = population.supports
    gone = int(before[0, 0])
    population.update(X[0], Y[0], active=without(gone, n=8))
    after = population.supports
    assert gone not in after
    for old, new in zip(before, after, strict=True):
        assert len(set(old) & set(new)) == (2 if gone in old else 3)
    two = np.flatnonzero(np.arange(8) != gone)[:2]
    population.update(X[1], Y[1], active=np.isin(np.arange(8), two))
    np.testing.assert_array_equal(population.supports, [two.tolist()] * 6)  # there are no others


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(2, 8))
def test_many_small_problems_at_once_are_each_solved(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 3 * k, k))
    A, b = np.einsum("nij,nik->njk", X, X), 5.0 * rng.standard_normal((30, k))
    for i, w in enumerate(batched_simplex_qp(A, b, rng.random((30, k)) - 0.5)):
        assert_optimal(A[i], b[i], w)
    for y, w in zip(b, batched_simplex(b), strict=True):
        np.testing.assert_allclose(w, Simplex().project(y), atol=1e-14)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("cls", "change", "words"),
    [
        (RLS, {"delta": 0.0}, "delta"),
        (RLS, {"prior": "equal"}, "prior"),
        (RLS, {"max_names": 7}, "max_names must be at most the number of assets"),
        (RecursiveLars, {"theta": 7}, "theta must be at most the number of assets"),
        (RecursiveLars, {"forgetting": "self"}, "forgetting"),
        (AdaptiveLasso, {"theta": 7}, "theta must be at most the number of assets"),
        (AdaptiveLasso, {"mu": -1.0}, "mu"),
        (AdaptiveLasso, {"sweeps": 0}, "sweeps"),
        (StaticPortfolio, {"window": 0}, "window"),
        (StaticPortfolio, {"theta": 7}, "theta"),
        (RandomPortfolios, {"theta": 7}, "theta"),
        (RandomPortfolios, {"n_portfolios": 0}, "n_portfolios"),
        (RandomPortfolios, {"seed": -1}, "seed"),
        (RandomPortfolios, {"mapping": "cash"}, "mapping"),
        (RandomPortfolios, {"forgetting": "self"}, "forgetting"),
    ],
)
def test_bad_parameters_are_refused(cls: Any, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        cls(6, **change)
