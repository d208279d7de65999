"""The vote over discount factors: it finds the right one, whoever keeps the matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracker_strategies.algorithms import VAW, AdaptiveDiscount, DiscountedVAW, RealSpace, Simplex, StronglyAdaptive
from tracker_strategies.algorithms.numerics import FixedShare
from tracker_strategies.algorithms.vaw import discount_grid
from tracker_strategies.algorithms.vaw._ridge_dual import DualRidge
from tracker_strategies.errors import ParameterError
from tracker_strategies.testing.rounds import fingerprint, market


def forecast_losses(learner: Any, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    found = []
    for x, y in zip(X, Y, strict=True):
        learner.update(x, y)
        found.append(learner.diagnostics()["loss"])
    return np.array(found)


def switching(T: int = 400) -> tuple[np.ndarray, np.ndarray]:
    return np.ones((T, 1)), np.where(np.arange(T) < T // 2, -1.0, 1.0)


@pytest.mark.parametrize("hint", ["zero", "last", "self"])
@pytest.mark.parametrize("rounds", [0, 12])
def test_it_is_the_generic_vote_of_discounted_forecasters(hint: str, rounds: int) -> None:
    """One class with one Gram matrix, or one forecaster for each discount and a vote as the paper writes it: the same numbers."""
    X, Y = market(12, 60)
    gammas = [0.9, 0.99, 1.0]
    options: dict[str, Any] = {"hint": hint, "prior": None, "lam": 1e-3, "dual_rounds": rounds}
    joint = AdaptiveDiscount(12, gammas=gammas, **options)
    members = [DiscountedVAW(12, gamma=g, **options) for g in gammas]
    vote, range_so_far = FixedShare(3), 0.0
    for x, y in zip(X, Y, strict=True):
        predictions = np.clip([member.forecast(x) for member in members], -range_so_far, range_so_far)
        assert joint.forecast(x) == pytest.approx(vote.p @ predictions, rel=1e-9, abs=1e-13)
        vote.learn(0.5 * (predictions - y) ** 2)
        range_so_far = max(range_so_far, abs(y))
        for learner in (joint, *members):
            learner.update(x, y)
        np.testing.assert_allclose(vote.p, joint.p, rtol=1e-9)


def test_the_portfolio_is_mixed_before_it_is_projected() -> None:
    X, Y = market(6, 50)
    gammas = [0.0, 0.95, 1.0]
    learner = AdaptiveDiscount(6, gammas=gammas, lam=1e-3)
    single = [DiscountedVAW(6, gamma=g, lam=1e-3, feasible=RealSpace()) for g in gammas[1:]]
    for x, y in zip(X, Y, strict=True):
        w = learner.update(x, y)
        v = np.array([s.update(x, y) for s in single])
        p = learner.p[1:] / learner.p[1:].sum()
        np.testing.assert_allclose(w, Simplex().project(p @ v), rtol=0, atol=1e-10)


def test_it_finds_the_discount_that_suits_the_data() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 3))
    steady = X @ np.array([0.5, 0.3, 0.2]) + 0.1 * rng.standard_normal(1500)
    moving = (X * np.cumsum(0.1 * rng.standard_normal((1500, 3)), axis=0)).sum(axis=1) + 0.1 * rng.standard_normal(1500)
    found = []
    for Y in (steady, moving):
        learner = AdaptiveDiscount(3, lam=1.0, prior=None, horizon=1500)
        learner.run(X, Y)
        found.append(learner.diagnostics())
    assert found[0]["gamma_best"] > 0.99
    assert found[1]["gamma_best"] < 0.98
    assert found[0]["gamma"] > found[1]["gamma"]
    assert found[0]["gamma_best"] in discount_grid(3, 1500).tolist()


def test_a_switching_target_defeats_vaw_and_not_the_vote() -> None:
    X, Y = switching()
    options: dict[str, Any] = {"lam": 1.0, "prior": None}
    vote = forecast_losses(AdaptiveDiscount(1, horizon=400, **options), X, Y).sum()
    single = [forecast_losses(DiscountedVAW(1, gamma=g, **options), X, Y).sum() for g in discount_grid(1, 400)[1:]]
    assert vote < 40.0 < forecast_losses(VAW(1, **options), X, Y).sum()
    assert vote < min(single) + 20.0


def test_an_any_time_grid_grows_with_the_logarithm_of_time() -> None:
    X, Y = market(4, 600)
    learner = AdaptiveDiscount(4, horizon=None, lam=1e-3)
    sizes = []
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        learner.update(x, y)
        if t in (127, 128, 255, 256, 511, 512):
            sizes.append(len(learner.discounts))
            np.testing.assert_allclose(
                learner.discounts, discount_grid(4, 128 if t < 128 else 256 if t < 256 else 512 if t < 512 else 1024)
            )
            assert learner.p.sum() == pytest.approx(1.0)
    assert sizes == [8, 9, 9, 10, 10, 11]
    restored = AdaptiveDiscount.from_state(learner.state_dict())
    assert fingerprint(restored) == fingerprint(learner)
    np.testing.assert_array_equal(restored.run(X, Y), learner.run(X, Y))


def test_a_discount_that_joins_continues_its_elder() -> None:
    """Right after it has joined the twin predicts what its elder does, in both forms; then they part."""
    X, Y = market(150, 140)
    for rounds in (0, 150):
        learner = AdaptiveDiscount(150, horizon=None, lam=1e-3, prior=None, dual_rounds=rounds)
        learner.run(X[:128], Y[:128])
        assert isinstance(learner._ridge._form, DualRidge) == (rounds > 0)
        forecasts = learner.expert_forecasts(X[128])[0]
        assert forecasts[-1] == pytest.approx(forecasts[-2], rel=1e-3)
        assert learner.p[-1] == pytest.approx(learner.p[-2])
        learner.run(X[128:], Y[128:])
        forecasts = learner.expert_forecasts(X[0])[0]
        assert forecasts[-1] != forecasts[-2]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"gammas": []}, "gammas"),
        ({"gammas": [0.0]}, "gammas"),
        ({"gammas": [0.5, 1.5]}, "gammas"),
        ({"gammas": [0.5], "horizon": None}, "horizon"),
        ({"hint": "self", "yref": "hint"}, "yref"),
        ({"yref": "first"}, "yref"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": None, "base": 3.0}, "base"),
    ],
)
def test_bad_parameters_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        AdaptiveDiscount(3, **wrong)


# ------------------------------------------------------------------ strongly adaptive


def test_only_the_experts_awake_are_updated() -> None:
    """One set of regressions for each length of interval: log2 of time, while the experts are thousands."""
    X, Y = market(3, 130)
    learner = StronglyAdaptive(3, gammas=[0.0, 0.9], horizon=200)
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        assert learner.awake == t.bit_length()
        learner.update(x, y)
    assert len(learner._ridges) == 8
    assert learner.diagnostics()["p_asleep"] + learner.p.sum() == pytest.approx(1.0)


def test_on_a_late_stretch_it_beats_the_vote_of_experts_that_remember_everything() -> None:
    """After a long history of another kind, fresh experts are the better ones: what strong adaptivity is about."""
    X, Y = np.ones((700, 1)), np.where(np.arange(700) < 511, 0.0, 1.0)
    options: dict[str, Any] = {"gammas": [1.0], "lam": 1e-3, "prior": None}
    fresh = forecast_losses(StronglyAdaptive(1, horizon=700, **options), X, Y)[511:].sum()
    old = forecast_losses(AdaptiveDiscount(1, **options), X, Y)[511:].sum()
    assert old > 50.0
    assert fresh < 10.0


def test_a_strongly_adaptive_learner_outlives_its_horizon_and_its_storage() -> None:
    X, Y = market(3, 120)
    learner = StronglyAdaptive(3, gammas=[0.9, 1.0], horizon=30)
    learner.run(X[:100], Y[:100])
    restored = StronglyAdaptive.from_state(learner.state_dict())
    np.testing.assert_array_equal(restored.run(X[100:], Y[100:]), learner.run(X[100:], Y[100:]))
    assert fingerprint(restored) == fingerprint(learner)


def test_short_intervals_never_need_the_matrix() -> None:
    X, Y = market(40, 40)
    learner = StronglyAdaptive(40, gammas=[0.999], dual_rounds=40, horizon=64)
    learner.run(X, Y)
    plain = StronglyAdaptive(40, gammas=[0.999], dual_rounds=0, horizon=64)
    plain.run(X, Y)
    assert [type(ridge._form) for ridge in learner._ridges[: learner.awake]] == [DualRidge] * 6
    np.testing.assert_allclose(learner.weights, plain.weights, atol=1e-9)
