"""Targets that beat their index by so many percent a year."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker_strategies.algorithms import enhanced_target
from tracker_strategies.errors import InputError, ParameterError


@given(st.floats(-0.5, 2.0), st.sampled_from([52, 252]), st.integers(0, 1000))
def test_a_year_of_the_geometric_target_grows_by_exactly_the_rate(rate: float, periods: int, seed: int) -> None:
    y = 0.01 * np.random.default_rng(seed).standard_normal(periods)
    grown = np.prod(1.0 + enhanced_target(y, rate, periods)) / np.prod(1.0 + y)
    assert grown == pytest.approx(1.0 + rate, rel=1e-12)


def test_the_arithmetic_target_adds_the_same_every_day() -> None:
    np.testing.assert_allclose(enhanced_target([0.01, -0.02], 0.252, kind="arithmetic"), [0.011, -0.019], atol=1e-15)


def test_each_index_may_have_its_own_rate() -> None:
    Y = np.array([[0.01, -0.01], [0.0, 0.02]])
    both = enhanced_target(Y, [0.15, 0.0], 52)
    np.testing.assert_array_equal(both[:, 0], enhanced_target(Y[:, 0], 0.15, 52))
    np.testing.assert_allclose(both[:, 1], Y[:, 1], atol=1e-16)
    assert enhanced_target(Y[0], [0.15, 0.0]).shape == (2,)
    assert enhanced_target(0.01, 0.15).shape == ()


def test_a_round_without_a_return_stays_without() -> None:
    assert np.isnan(enhanced_target([np.nan, 0.0], 0.15)).tolist() == [True, False]


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ParameterError, match="rate"):
        enhanced_target([0.0], -1.0)
    with pytest.raises(ParameterError, match="rate"):
        enhanced_target([0.0], np.nan)
    with pytest.raises(ParameterError, match="one per index"):
        enhanced_target([[0.0, 0.0]], [0.1, 0.1, 0.1])
    with pytest.raises(ParameterError, match="one per index"):
        enhanced_target(0.0, [0.1, 0.1])
    with pytest.raises(ParameterError, match="periods"):
        enhanced_target([0.0], 0.1, 0)
    with pytest.raises(ParameterError, match="kind"):
        enhanced_target([0.0], 0.1, kind="additive")
    with pytest.raises(InputError):
        enhanced_target(["0.01"], 0.1)
