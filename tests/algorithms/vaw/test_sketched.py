"""The sketch: exact where it should be, near where it can be, and never worse than knowing nothing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.algorithms.vaw.test_vaw import stream
from tracker_strategies.algorithms import DiscountedVAW, RealSpace, SketchedVAW
from tracker_strategies.algorithms.vaw._ridge_sketch import SketchRidge
from tracker_strategies.errors import ParameterError
from tracker_strategies.testing.rounds import market, without

RN = RealSpace()


def factor_market(d: int, T: int, factors: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Returns with one strong and some weak factors, and an index of unequal weights with a little noise."""
    rng = np.random.default_rng(seed)
    moves = rng.standard_normal((T, factors)) * np.array([0.01] + [0.004] * (factors - 1))
    loadings = np.column_stack([rng.normal(1.1, 0.36, d), rng.standard_normal((d, factors - 1))])
    X = moves @ loadings.T + 0.012 * np.exp(0.34 * rng.standard_normal(d)) * rng.standard_normal((T, d))
    weights = np.exp(rng.standard_normal(d))
    return X, X @ (weights / weights.sum()) + 2e-4 * rng.standard_normal(T)


@pytest.mark.parametrize("gamma", [1.0, 0.97])
def test_it_is_exact_while_the_rows_last(gamma: float) -> None:
    X, Y = stream(12, 19, 0)
    exact, sketch = (
        DiscountedVAW(12, gamma=gamma, hint="self", feasible=RN),
        SketchedVAW(12, rank=10, gamma=gamma, hint="self", feasible=RN),
    )
    for x, y in zip(X, Y, strict=True):
        assert sketch.forecast(x) == pytest.approx(exact.forecast(x), rel=1e-8, abs=1e-9)
        np.testing.assert_allclose(sketch.improper_weights(x), exact.improper_weights(x), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(sketch.update(x, y), exact.update(x, y), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("gamma", [1.0, 0.98])
def test_it_is_exact_when_it_has_a_row_for_every_asset(gamma: float) -> None:
    X, Y = stream(5, 300, 1)
    exact, sketch = DiscountedVAW(5, gamma=gamma, feasible=RN), SketchedVAW(5, rank=6, gamma=gamma, feasible=RN)
    np.testing.assert_allclose(sketch.run(X, Y), exact.run(X, Y), rtol=1e-6, atol=1e-7)


def test_it_is_exact_on_data_of_low_rank() -> None:
    """Four factors and nothing else: a sketch of rank 6 loses nothing."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 30))
    Y = X @ rng.standard_normal(30)
    exact, sketch = DiscountedVAW(30, gamma=0.99, lam=1.0, feasible=RN), SketchedVAW(30, rank=6, gamma=0.99, lam=1.0, feasible=RN)
    np.testing.assert_allclose(sketch.run(X, Y), exact.run(X, Y), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("gamma", [1.0, 0.95])
def test_the_guarantee_of_frequent_directions(gamma: float) -> None:
    """0 <= Sigma - B'B <= Delta I, and Delta is at most the part that k directions leave, over rank - k."""
    d, rank, T = 20, 8, 150
    X, Y = factor_market(d, T)
    sketch = SketchRidge(d, gamma, 1e-2, 0.0, 1, np.zeros(d), rank)
    sigma = np.zeros((d, d))
    for x, y in zip(X, Y, strict=True):
        sketch.learn(x, np.array([y]), sketch.look(x))
        sigma = gamma * sigma + np.outer(x, x)
        rows = np.sqrt(sketch._scale) * sketch._B[: sketch._n]
        missing = np.linalg.eigvalsh(sigma - rows.T @ rows)
        assert missing[0] >= -1e-12
        assert missing[-1] <= sketch._scale * sketch._gap + 1e-12
    for k in range(rank):
        tail = np.linalg.eigvalsh(sigma)[: d - k].sum()
        assert gamma < 1.0 or sketch._scale * sketch._gap <= tail / (rank - k) + 1e-12


def test_its_error_against_the_exact_learner() -> None:
    """A market of five factors, 200 assets, 600 days; basis points a day in the second half. What is lost grows as the rank
    falls, and even two directions are better than none.
    """
    d, T = 200, 600
    X, Y = factor_market(d, T)

    def error(learner: DiscountedVAW) -> float:
        portfolio = learner.run(X, Y)[:-1]
        return 1e4 * float(np.sqrt((((portfolio * X).sum(axis=1) - Y)[T // 2 :] ** 2).mean()))

    prior = 1e4 * float(np.sqrt(((X.mean(axis=1) - Y)[T // 2 :] ** 2).mean()))
    exact = error(DiscountedVAW(d, feasible=RN))
    sketched = [error(SketchedVAW(d, rank=rank, feasible=RN)) for rank in (100, 50, 20, 2)]
    assert exact < 3.5
    assert sketched == sorted(sketched)
    assert sketched[0] < 1.6 * exact
    assert sketched[1] < 0.5 * prior
    assert sketched[-1] < prior


def test_forgetting_is_exact_while_the_sketch_is() -> None:
    X, Y = market(6, 9)
    exact, sketch = DiscountedVAW(6, gamma=0.97, lam=1e-3, feasible=RN), SketchedVAW(6, rank=7, gamma=0.97, lam=1e-3, feasible=RN)
    for learner in (exact, sketch):
        learner.run(X, Y)
        learner.update(X[0], Y[0], active=without(1, 4))
    np.testing.assert_allclose(sketch.weights, exact.weights, rtol=1e-8, atol=1e-10)


def test_several_targets_share_the_sketch() -> None:
    X, y = market(6, 60)
    joint = SketchedVAW(6, rank=3, n_targets=2, feasible=RN)
    single = [SketchedVAW(6, rank=3, feasible=RN) for _ in range(2)]
    for x, target in zip(X, y, strict=True):
        np.testing.assert_allclose(joint.forecast(x), [s.forecast(x) for s in single], rtol=1e-9, atol=1e-13)
        mean = 0.5 * (single[0].update(x, target) + single[1].update(x, -target))
        np.testing.assert_allclose(joint.update(x, [target, -target]), mean, rtol=1e-9, atol=1e-12)


def test_bad_ranks_are_refused() -> None:
    for bad in (0, -1, 2.5):
        with pytest.raises(ParameterError, match="rank"):
            SketchedVAW(3, rank=bad)  # type: ignore[arg-type]
