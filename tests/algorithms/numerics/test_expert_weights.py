"""The vote itself: probabilities, their guarantee, and the two ways to make it adaptive."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tracker_strategies.algorithms.numerics import FixedShare
from tracker_strategies.algorithms.numerics.expert_weights import CoveringShare, share_of
from tracker_strategies.algorithms.vaw import discount_grid, geometric_intervals
from tracker_strategies.errors import ParameterError

predictions = arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 6)), elements=st.floats(-1e3, 1e3))


@given(predictions, st.integers(0, 1000), st.sampled_from([1e-12, 1.0, 1e12]))
@settings(max_examples=80, deadline=None)
def test_theorem_e_1_the_mean_prediction_loses_little_more_than_the_best_expert(V: np.ndarray, seed: int, scale: float) -> None:
    """For experts and targets of any size: the rate has no scale."""
    V = scale * V
    Y = scale * 1e3 * np.random.default_rng(seed).uniform(-1.0, 1.0, len(V))
    vote = FixedShare(V.shape[1])
    total = 0.0
    for v, y in zip(V, Y, strict=True):
        total += 0.5 * (y - float(vote.p @ v)) ** 2
        vote.learn(0.5 * (y - v) ** 2)
        assert vote.p.min() > 0.0
        assert vote.p.sum() == pytest.approx(1.0, abs=1e-12)
    if vote.alpha > 0.0:
        bound = (2.0 * math.log(V.shape[1] / share_of(len(V))) + 1.0) / vote.alpha
        best = float((0.5 * (Y[:, None] - V) ** 2).sum(axis=0).min())
        assert total - best <= bound * (1.0 + 1e-9)


def test_without_losses_nobody_gains() -> None:
    vote = FixedShare(3)
    for _ in range(5):
        vote.learn(np.zeros(3))
    np.testing.assert_allclose(vote.p, 1.0 / 3.0, atol=1e-15)
    assert vote.alpha == 0.0


def test_the_share_falls_with_time_and_can_be_held() -> None:
    assert share_of(1) == pytest.approx(1.0 / ((math.e + 1.0) * math.log(math.e + 1.0) ** 2 + 1.0))
    vote = FixedShare(2, share=0.2)
    for _ in range(200):
        vote.learn(np.array([1.0, 0.0]))
    assert vote.p[0] == pytest.approx(0.2 * 0.5 + 0.8 * vote.p[0] * math.exp(-0.5) / (vote.p[1] + vote.p[0] * math.exp(-0.5)))
    assert vote.p[0] >= 0.1


def test_a_twin_shares_the_probability_of_its_elder() -> None:
    """Two experts that have always agreed are worth one."""
    one, two = FixedShare(2), FixedShare(3)
    two.p, two.start = np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.25, 0.25])
    rng = np.random.default_rng(0)
    for losses in rng.random((20, 2)):
        one.learn(losses)
        two.learn(losses[[0, 1, 1]])
    one.twin()
    np.testing.assert_allclose(one.p, two.p, atol=1e-15)


# ------------------------------------------------------------------ the covering of time


@given(st.integers(1, 300))
@settings(max_examples=40, deadline=None)
def test_the_covering_holds_every_round_in_one_interval_of_each_length(T: int) -> None:
    intervals = geometric_intervals(T)
    assert intervals == sorted(intervals)
    for t in range(1, T + 1):
        assert sum(start <= t <= end for start, end in intervals) == t.bit_length()


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("T", [1, 7, 16, 40])
def test_two_sums_stand_for_all_sleepers(n: int, T: int) -> None:
    """The vote over those awake is the plain vote over everybody, asleep or awake."""
    intervals = geometric_intervals(T)
    plain, covering = FixedShare(len(intervals) * n), CoveringShare(n, T)
    assert covering.experts == len(intervals) * n
    rng = np.random.default_rng(T)
    for t in range(1, T + 1):
        starting = covering.begin()
        assert [1 << i for i in starting] == [2**i for i in range(10) if t % 2**i == 0]
        awake = sorted((i for i, (a, b) in enumerate(intervals) if a <= t <= b), key=lambda i: (-intervals[i][0], i))
        over = [i for i, (_, b) in enumerate(intervals) if b < t]
        p = plain.p.reshape(len(intervals), n)
        np.testing.assert_allclose(covering.p, p[awake], atol=1e-14)
        np.testing.assert_allclose(covering.asleep[0], p[over].sum(), atol=1e-14)
        assert covering.p.sum() + sum(covering.asleep) == pytest.approx(1.0, abs=1e-12)
        losses, asleep = rng.random((len(awake), n)), float(rng.random())
        everyone = np.full((len(intervals), n), asleep)
        everyone[awake] = losses
        plain.learn(everyone.reshape(-1))
        covering.learn(losses, asleep)
        assert covering.alpha == pytest.approx(plain.alpha)


def test_beyond_its_horizon_the_covering_doubles_and_goes_on() -> None:
    covering = CoveringShare(2, 10)
    rng = np.random.default_rng(1)
    for t in range(1, 100):
        covering.begin()
        assert covering.p.shape == (t.bit_length(), 2)
        assert covering.p.min() > 0.0
        assert covering.p.sum() + sum(covering.asleep) == pytest.approx(1.0, abs=1e-12)
        covering.learn(rng.random(covering.p.shape), 0.5)
    assert covering.experts == 2 * len(geometric_intervals(160))


# ------------------------------------------------------------------ the grid


@given(st.integers(1, 500), st.integers(1, 5000), st.floats(1.1, 10.0))
@settings(max_examples=60, deadline=None)
def test_the_grid_reaches_from_2d_to_dT_in_steps_of_its_base(d: int, T: int, b: float) -> None:
    grid = discount_grid(d, T, b)
    assert grid[0] == 0.0
    etas = grid[1:] / (1.0 - grid[1:])
    np.testing.assert_allclose(etas[0], min(2 * d, d * T), rtol=1e-6)
    np.testing.assert_allclose(etas[-1], d * T, rtol=1e-6)
    assert (etas[1:] / etas[:-1] <= b * (1.0 + 1e-6)).all()
    assert (np.diff(grid) > 0.0).all()


@pytest.mark.parametrize("wrong", [{"d": 0}, {"horizon": 0}, {"base": 1.0}])
def test_bad_grids_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        discount_grid(**({"d": 3, "horizon": 10, "base": 2.0} | wrong))  # type: ignore[arg-type]
