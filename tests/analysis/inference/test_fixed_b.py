"""Critical values of means over dependent bars: exact, as published, and as simulated."""

import math

import numpy as np
import pytest
from scipy import stats

from tracker_strategies.analysis.inference.fixed_b import (
    bandwidth,
    critical_value,
    long_run_covariance,
    p_value,
    standard_errors,
)


def test_the_long_run_covariance_is_bartletts_sum_of_autocovariances():
    rng = np.random.default_rng(0)
    for T in (11, 60, 203):
        u = rng.standard_normal((3, T)).cumsum(axis=1)
        c, M = u - u.mean(axis=1, keepdims=True), bandwidth(T)
        expected = c @ c.T
        for j in range(1, M):
            lagged = c[:, j:] @ c[:, :-j].T
            expected += (1.0 - j / M) * (lagged + lagged.T)
        np.testing.assert_allclose(long_run_covariance(u), expected / T, rtol=1e-9)
        np.testing.assert_allclose(standard_errors(u), np.sqrt(np.diag(expected)) / T, rtol=1e-9)


@pytest.mark.parametrize("n_bars", [100, 250, 1000, 2520, 10_000])
def test_critical_values_are_the_published_ones(n_bars):
    """Kiefer and Vogelsang (2005), table 1, Bartlett's kernel: cubic fits to simulations, good to about 0.03."""
    b = bandwidth(n_bars) / n_bars
    cubics = {
        0.10: (1.6449, 2.1859, 0.3142, -0.3427),
        0.05: (1.96, 2.9694, 0.416, -0.5324),
        0.02: (2.3263, 4.1618, 0.5368, -0.906),
    }
    for level, (a0, a1, a2, a3) in cubics.items():
        assert critical_value(n_bars, level) == pytest.approx(a0 + a1 * b + a2 * b**2 + a3 * b**3, abs=0.035)


@pytest.mark.parametrize("n_bars", [60, 250])
def test_critical_values_are_those_of_simulated_t_statistics(n_bars):
    rng = np.random.default_rng(n_bars)
    draws = 10_000
    u = rng.standard_normal((draws, n_bars))
    M = bandwidth(n_bars)
    sums = np.concatenate(
        [np.zeros((draws, M)), (u - u.mean(axis=1, keepdims=True)).cumsum(axis=1), np.zeros((draws, M))], axis=1
    )
    variance = ((sums[:, M:] - sums[:, :-M]) ** 2).sum(axis=1) / (M * n_bars)
    t = np.abs(u.mean(axis=1)) / np.sqrt(variance / n_bars)
    for level in (0.1, 0.05, 0.01):
        wrong = (t > critical_value(n_bars, level)).mean()
        assert wrong == pytest.approx(level, abs=4.0 * math.sqrt(level * (1.0 - level) / draws) + 0.03 * level)


def test_p_values_and_critical_values_are_each_others_inverse():
    for n_bars in (25, 250, 5000):
        for level in (0.2, 0.05, 0.001, 1e-5):
            assert p_value(critical_value(n_bars, level), n_bars) == pytest.approx(level, rel=1e-6)


def test_with_very_many_bars_the_normal_distribution_is_left():
    assert critical_value(10_000_000) == pytest.approx(stats.norm.ppf(0.975), abs=0.01)


def test_a_statistic_of_nothing_is_no_evidence_and_one_of_everything_never_certain():
    assert p_value(0.0, 100) == pytest.approx(1.0)
    assert p_value(math.nan, 100) == 1.0
    assert 0.0 < p_value(math.inf, 100) <= p_value(1e6, 100) < 1e-6
