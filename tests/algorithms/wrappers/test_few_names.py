"""FewNames: the learner's portfolio untouched, and a metric by principal components that is computed another way here."""

from __future__ import annotations

import numpy as np
import pytest

from tracker_strategies.algorithms import PA, FewNames, Tilted
from tracker_strategies.algorithms.wrappers.few_names import FACTORS, LEAST
from tracker_strategies.errors import ParameterError

N = 20


def returns(rounds: int, n: int = N, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    common = rng.normal(0.0, 0.01, (rounds, 3)) @ rng.normal(0.0, 1.0, (3, n))
    x = common + rng.normal(0.0, 0.01, (rounds, n)) * rng.uniform(0.5, 2.0, n)
    x[7] *= 9.0  # a storm
    return x, x @ np.full(n, 1.0 / n)


def taught(rounds: int, **options: object) -> tuple[FewNames, np.ndarray]:
    x, y = returns(rounds)
    learner = FewNames(N, learner=PA(N), **options)  # type: ignore[arg-type]
    for t in range(rounds):
        learner.update(x[t], y[t])
    return learner, x - y[:, None]


def by_svd(z: np.ndarray) -> np.ndarray:
    """The covariance of chapter "at most K names", by a singular value decomposition."""
    rounds, n = z.shape
    u = 0.998 ** np.arange(rounds)[::-1] / (z**2).mean(axis=1) ** 0.25
    u /= u.sum()
    rms = np.sqrt((u[:, None] * z**2).sum(axis=0))
    z = np.minimum(np.maximum(z, -6.0 * rms), 6.0 * rms)
    s = np.sqrt((u[:, None] * z**2).sum(axis=0))
    _, singular, right = np.linalg.svd(np.sqrt(u)[:, None] * z / s, full_matrices=False)
    q = min(12, rounds - 2, n - 2)
    values = singular**2
    noise = values[q:][values[q:] > 1e-12 * values[0]].mean()
    loads = right[:q].T * np.sqrt(np.maximum(values[:q] - noise, 0.0))
    psi = s**2 * np.maximum(1.0 - (loads**2).sum(axis=1), 0.1)
    B = s[:, None] * loads
    return np.asarray(B @ B.T + 1.6 * np.diag(psi))


@pytest.mark.parametrize("rounds", [10, 40, 60, 100])
def test_the_metric_is_that_of_the_rounds_up_to_the_review(rounds: int) -> None:
    learner, z = taught(rounds + 3)  # what comes after the review does not count
    found = learner.metric()
    assert found is not None
    d, B = found
    assert B.shape == (N, min(FACTORS, rounds - 2, N - 2))
    expected = by_svd(z[:rounds])
    np.testing.assert_allclose(np.diag(d) + B @ B.T, expected, rtol=0, atol=1e-12 * expected.max())


def test_the_portfolio_is_the_learners() -> None:
    x, y = returns(50)
    learner, alone = FewNames(N, learner=PA(N)), PA(N)
    for t in range(50):
        assert learner.update(x[t], y[t]).tobytes() == alone.update(x[t], y[t]).tobytes()


def test_reviews_come_when_they_should() -> None:
    x, y = returns(90)
    for offset in (0, 4):
        learner, at = FewNames(N, learner=PA(N), review=20, offset=offset), []
        for t in range(90):
            before = learner.pace()[0]
            learner.update(x[t], y[t])
            if learner.pace()[0] != before:
                at.append(t + 1)
        assert at == [5, 10, 20, 30, *range(40 + offset, 91, 20)]
    assert learner.pace()[1] == 0.1


def test_wrappers_around_it_tell_the_same() -> None:
    x, y = returns(45)
    learner = Tilted(N, learner=FewNames(N, learner=PA(N)), lam=0.1)
    for t in range(45):
        learner.update(x[t], y[t])
    assert learner.pace() == (5, 0.1)
    assert learner.metric() is not None


def test_a_name_that_was_never_seen_has_the_median_variance_and_no_part_in_the_factors() -> None:
    x, y = returns(60)
    learner, seen = FewNames(N, learner=PA(N)), np.ones(N, dtype=bool)
    seen[4] = False
    for t in range(60):
        learner.update(x[t], y[t], observed=seen)
    found = learner.metric()
    assert found is not None
    d, B = found
    assert np.abs(B[4]).max() < 1e-12
    variance = d / 1.6 + (B**2).sum(axis=1)
    assert variance[4] == pytest.approx(np.median(np.delete(variance, 4)), rel=0.2)


def test_nothing_of_a_name_that_left_is_remembered() -> None:
    x, y = returns(60)
    learner, some = FewNames(N, learner=PA(N)), np.ones(N, dtype=bool)
    some[4] = False
    for t in range(30):
        learner.update(x[t], y[t])
    learner.restrict(some)
    assert not learner.metric()[1][4].any()  # type: ignore[index]
    assert not learner._seen[:, 4].any()


def test_a_name_that_is_the_index_and_bars_without_returns() -> None:
    x, y = returns(60)
    x[:, 2] = y
    learner = FewNames(N, learner=PA(N))
    for t in range(60):
        learner.update(x[t], y[t])
    d, B = learner.metric()  # type: ignore[misc]
    assert d[2] == pytest.approx(LEAST * np.median(d), rel=10.0)
    assert (d > 0.0).all()
    assert np.isfinite(B).all()
    still = FewNames(N, learner=PA(N))
    for _ in range(60):
        still.update(np.zeros(N), 0.0)
    assert still.metric() is None
    assert still.pace()[0] == 0


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"review": 0}, "review must be an integer >= 1"),
        ({"review": 5, "offset": 5}, "offset=5 must be below review=5"),
        ({"offset": -1}, "offset must be an integer >= 0"),
        ({"speed": 0.0}, "speed"),
        ({"speed": 1.5}, "speed must be a number > 0 and <= 1"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, float], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        FewNames(N, learner=PA(N), **wrong)  # type: ignore[arg-type]
