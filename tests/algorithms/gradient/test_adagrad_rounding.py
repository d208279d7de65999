"""AdaGrad that has found the index stays there: rounding is not learnt from."""

from __future__ import annotations

import numpy as np
import pytest

from tests.markets import random_panel
from tracker_strategies.algorithms import AdaGrad, CappedSimplex, FeasibleSet, Hyperplane, RealSpace, Simplex, SparseAdaGrad
from tracker_strategies.algorithms.gradient._full_metric import FullMetric
from tracker_strategies.algorithms.numerics.lapack import shortest_solution
from tracker_strategies.research import replay


def equal_weighted(n: int, volatility: float, rounds: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Returns of n names and of their equal-weighted index, both read off price levels as from a file."""
    X = volatility * np.random.default_rng(n).standard_normal((rounds, n))
    prices, level = 50.0 * np.cumprod(1.0 + X, axis=0), 4000.0 * np.cumprod(1.0 + X.mean(axis=1))
    return prices[1:] / prices[:-1] - 1.0, level[1:] / level[:-1] - 1.0


@pytest.mark.parametrize("volatility", [0.05, 0.01, 1e-4], ids=["weekly", "daily", "minutes"])
@pytest.mark.parametrize(
    ("n", "rule", "matrix", "feasible"),
    [
        (100, "cmd", "diagonal", Simplex()),
        (100, "rda", "diagonal", Simplex()),
        (100, "cmd", "diagonal", CappedSimplex(0.05)),
        (10, "cmd", "full", Simplex()),
        (10, "rda", "full", Simplex()),
        (10, "cmd", "diagonal", Hyperplane()),
    ],
    ids=str,
)
def test_an_equal_weighted_index_is_tracked_to_rounding_for_ever(
    n: int, rule: str, matrix: str, feasible: FeasibleSet, volatility: float
) -> None:
    X, y = equal_weighted(n, volatility)
    W = AdaGrad(n, rule=rule, matrix=matrix, feasible=feasible, start=np.full(n, 1.0 / n)).run(X, y)
    errors = np.einsum("tn,tn->t", W[:-1], X) - y
    assert np.abs(errors).max() <= 1e-14
    np.testing.assert_allclose(W, 1.0 / n, rtol=0, atol=1e-14)


def test_any_portfolio_that_is_the_index_is_kept() -> None:
    rng = np.random.default_rng(3)
    X, w = 0.01 * rng.standard_normal((500, 30)), rng.dirichlet(np.ones(30))
    np.testing.assert_array_equal(AdaGrad(30, start=w).run(X, X @ w), np.tile(AdaGrad(30, start=w).weights, (501, 1)))


def test_the_sparse_twin_rests_as_well() -> None:
    rng = np.random.default_rng(4)
    w = rng.standard_normal(50)
    learner = SparseAdaGrad(50, loss="squared", eta=0.1, start=w)
    for _ in range(300):
        J = np.sort(rng.permutation(50)[:5])
        x = rng.standard_normal(5)
        learner.update(J, x, float(w[J][::-1].dot(x[::-1])))  # summed in another order
    np.testing.assert_array_equal(learner.weights, w)


def test_what_is_larger_than_rounding_is_learnt_from() -> None:
    x = np.full(4, 0.01)
    for error, moves in ((1e-13, False), (1e-9, True)):
        learner = AdaGrad(4, feasible=RealSpace(), start=np.full(4, 0.25))
        assert bool((learner.update(x, 0.01 + error) != 0.25).any()) == moves


def test_the_strategy_on_an_equal_weighted_index_makes_no_error() -> None:
    panel = random_panel(400, 8, seed=5)
    level = 1000.0 * np.cumprod(np.r_[1.0, 1.0 + panel.returns.mean(axis=1)])
    equal = type(panel)(panel.dates, panel.symbols, panel.close, panel.targets, level[:, None])
    decisions = replay(equal, "adagrad", {"fill": "close"}).decisions
    np.testing.assert_allclose(decisions, 1.0 / 8.0, rtol=0, atol=1e-14)


def test_a_direction_that_is_rounding_is_no_direction() -> None:
    """Versions of LAPACK differ in how far from zero a singular value of zero comes out."""
    s = np.array([1.0, 0.5, 5.0 * 3 * np.finfo(float).eps])
    metric = FullMetric(s, np.eye(3), delta=0.0)
    np.testing.assert_array_equal(metric.divide(np.ones(3)), [1.0, 2.0, 0.0])
    singular = np.diag(s)
    np.testing.assert_allclose(shortest_solution(singular, np.ones(3)), [1.0, 2.0, 0.0], rtol=0, atol=1e-14)
