"""From bars to a period: shares that sum to one, linked effects that sum to the tracking difference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.analysis.attribution import carino, linked, squared_shares


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), bars=st.integers(1, 300), scale=st.sampled_from([0.0, 1e-9, 1e-4, 0.02]))
def test_linked_effects_sum_to_the_tracking_difference(seed, bars, scale):
    rng = np.random.default_rng(seed)
    y, effects = 0.01 * rng.standard_normal(bars), scale * rng.standard_normal((bars, 4))
    r = y + effects.sum(axis=1)
    assert linked(effects, r, y).sum() == pytest.approx(np.prod(1.0 + r) - np.prod(1.0 + y), abs=1e-10)


def test_the_factor_is_carinos_and_its_limit_where_both_returns_are_equal():
    assert carino(np.array([0.03]), np.array([0.01]))[0] == pytest.approx(np.log(1.03 / 1.01) / 0.02, rel=1e-12)
    assert carino(np.array([0.03]), np.array([0.03]))[0] == pytest.approx(1.0 / 1.03, rel=1e-15)
    z = np.linspace(0.5e-4, 2e-4, 50)  # no step where the series takes over
    exact = np.log1p(z) / z
    np.testing.assert_allclose(carino(z, np.zeros(50)), exact, rtol=1e-14)


def test_shares_sum_to_one_and_may_be_negative():
    effects = np.array([[2.0, -1.0], [4.0, -1.0]])
    shares = squared_shares(effects, effects.sum(axis=1))
    np.testing.assert_allclose(shares, [(1 * 2 + 3 * 4) / 10, (-1 - 3) / 10])
    assert squared_shares(np.zeros((3, 2)), np.zeros(3)).tolist() == [0.0, 0.0]
