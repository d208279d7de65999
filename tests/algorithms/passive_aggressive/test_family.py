"""The other members of the passive-aggressive family: tasks, multiplicative updates, batches, several targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import PA, MultiplicativePA, MultiTargetPA, PAClassifier, PAUniclass, RealSpace
from tracker_strategies.algorithms.passive_aggressive import pa_batch
from tracker_strategies.algorithms.passive_aggressive.multiplicative import kl_divergence
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import market, run

seeds = st.integers(0, 2**32 - 1)
common = settings(max_examples=40, deadline=None)


def losses(learner: Any, rounds: Any) -> np.ndarray:
    found = []
    for observation in rounds:
        learner.update(*observation)
        found.append(learner.diagnostics()["loss"])
    return np.array(found)


# ------------------------------------------------------------------ classification and uniclass


@common
@given(seeds, st.sampled_from([0.5, 1.0]))
def test_theorem_1_for_classification(seed: int, margin: float) -> None:
    """Separable with margin m by a unit vector: sum l^2 <= B/m^2, sum l <= 2B/m^2, at most B/m^2 mistakes (hinge loss)."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 6)), 0.3
    u = rng.standard_normal(n)
    u /= np.linalg.norm(u)
    X = rng.standard_normal((60, n))
    X += np.outer(np.where(np.abs(X @ u) < m, np.sign(X @ u) * (m - np.abs(X @ u)) + np.sign(X @ u) * 1e-9, 0.0), u)
    Y = np.sign(X @ u)
    B = float((X**2).sum(axis=1).max())
    learner = PAClassifier(n, margin=margin)
    loss, mistakes = [], 0
    for x, y in zip(X, Y, strict=True):
        learner.update(x, float(y))
        loss.append(learner.diagnostics()["loss"])
        mistakes += y * learner.diagnostics()["prediction"] <= 0.0
    total = float((np.array(loss) ** 2).sum())
    assert total <= B * (margin / m) ** 2 * (1 + 1e-9)
    if margin == 1.0:
        assert sum(loss) <= 2 * B / m**2
        assert mistakes <= B / m**2


@common
@given(seeds, st.sampled_from([1.0, 1.5]))
def test_theorem_1_for_uniclass(seed: int, eps: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    centre, start = rng.standard_normal((2, n))
    X = centre + np.array([v / max(1.0, np.linalg.norm(v)) for v in rng.standard_normal((50, n))])
    loss = losses(PAUniclass(n, eps=eps, start=start), ((x,) for x in X))
    assert (loss**2).sum() + 2 * (eps - 1.0) * loss.sum() <= ((centre - start) ** 2).sum() * (1 + 1e-9)


def test_uniclass_starts_at_the_first_instance() -> None:
    learner = PAUniclass(2, eps=1.0)
    np.testing.assert_array_equal(learner.update([5.0, 5.0]), [5.0, 5.0])
    np.testing.assert_allclose(learner.update([5.0, 8.0]), [5.0, 7.0])
    assert learner.distance([5.0, 8.0]) == pytest.approx(1.0)
    np.testing.assert_array_equal(learner.update([5.0, 8.0]), learner.weights)


@pytest.mark.parametrize("y", [0.0, 0.5, 2.0, -1.0000001])
def test_a_label_is_plus_or_minus_one(y: float) -> None:
    for learner in (PAClassifier(2), MultiplicativePA(2, task="classification", eps=-0.1)):
        with pytest.raises(InputError, match="label"):
            learner.update([1.0, 0.5], y)


# ------------------------------------------------------------------ multiplicative


@common
@given(seeds, st.sampled_from(["inf", "range"]), st.sampled_from([1.2, 2.0]))
def test_theorem_4(seed: int, scale: str, wider: float) -> None:
    """sum l^2 + 2(eps - eps*) sum l <= (B/2) KL(w*||w_1), B the largest squared norm (x >= 0) or range."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    X = rng.random((60, n)) if scale == "inf" else 0.02 * rng.standard_normal((60, n))
    eps_star = 0.01 * float(np.abs(X).max())
    w_star, w_1 = rng.dirichlet(np.ones(n), 2)
    Y = X @ w_star + eps_star * rng.uniform(-1, 1, 60)
    eps = wider * eps_star
    loss = losses(MultiplicativePA(n, eps=eps, scale=scale, start=w_1), zip(X, Y, strict=True))
    size = np.abs(X).max(axis=1) if scale == "inf" else np.ptp(X, axis=1)
    lhs = (loss**2).sum() + 2 * (eps - eps_star) * loss.sum()
    assert lhs <= 0.5 * (size**2).max() * kl_divergence(w_star, w_1) * (1 + 1e-9)


@pytest.mark.parametrize("wrong", [{"eps": -1e-3}, {"task": "ranking"}, {"scale": "l2"}, {"start": [0.5, 0.5, 0.0]}], ids=str)
def test_multiplicative_parameters_outside_their_domain(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        MultiplicativePA(3, **wrong)


# ------------------------------------------------------------------ batch


@common
@given(seeds, st.sampled_from([1e-2, 1e-4]))
def test_batch_updates_are_bounded_and_losses_small(seed: int, beta: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    X, w_star, eps = rng.standard_normal((15, n)), rng.standard_normal(n), 0.02
    Y = X @ w_star + eps * rng.uniform(-1, 1, 15)
    result = pa_batch(X, Y, eps=eps, beta=beta)
    assert result.converged
    assert np.maximum(np.abs(Y - X @ result.w) - eps, 0).max() <= np.sqrt(beta)
    assert len(result.used) <= np.ceil((X**2).sum(axis=1).max() * (w_star**2).sum() / beta)


def test_a_batch_that_nothing_fits_ends() -> None:
    result = pa_batch([[1.0], [1.0]], [0.0, 1.0], eps=0.0, max_iter=50)
    assert not result.converged
    assert len(result.used) == 50
    stuck = pa_batch([[0.0, 0.0], [1.0, 0.0]], [1.0, 1.0], eps=0.0)
    assert (stuck.used, stuck.converged) == ([1], False)
    with pytest.raises(InputError):
        pa_batch([[np.nan]], [1.0])
    with pytest.raises(InputError):
        pa_batch([[1.0]], [0.5], task="classification", eps=-1.0)
    with pytest.raises(ParameterError):
        pa_batch([[1.0]], [0.5], beta=0.0)


# ------------------------------------------------------------------ several targets


@pytest.mark.parametrize("rule", ["tubes", "composite"])
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
def test_one_target_is_passive_aggressive_regression(variant: str, rule: str) -> None:
    X, Y = market(6, 80, seed=1)
    np.testing.assert_allclose(
        run(MultiTargetPA(6, variant=variant, rule=rule), X, Y), run(PA(6, variant=variant), X, Y), rtol=0, atol=1e-12
    )


@common
@given(seeds, st.sampled_from(["PA", "PA-I", "PA-II"]), st.integers(1, 4))
def test_the_joint_step_is_optimal(seed: int, variant: str, q: int) -> None:
    rng = np.random.default_rng(seed)
    n, C = 3, 0.5
    w_t, x, y = rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal(q)
    eps, omega = rng.uniform(0, 1, q), rng.dirichlet(np.ones(q))
    choice = {} if variant == "PA" else {"C": C}
    learner = MultiTargetPA(n, n_targets=q, eps=eps, omega=omega, variant=variant, feasible=RealSpace(), start=w_t, **choice)
    w = learner.update(x, y)

    def parts(z: np.ndarray) -> tuple[float, float]:
        loss = np.maximum(np.abs(z @ x - y) - eps, 0.0)
        return 0.5 * float(((z - w_t) ** 2).sum()), float(omega @ (loss**2 if variant == "PA-II" else loss))

    near, total = parts(w)
    for p in np.linspace(-4, 4, 400):
        z = w_t + (p - w_t @ x) / (x @ x) * x
        other_near, other_total = parts(z)
        if variant == "PA":
            assert other_total >= total - 1e-12
            assert other_total > total + 1e-9 or other_near >= near - 1e-9
        else:
            assert other_near + C * other_total >= near + C * total - 1e-9


def test_targets_are_refused_when_they_are_not_what_was_announced() -> None:
    learner = MultiTargetPA(3, n_targets=2)
    before = learner.state_dict()
    for y in (0.01, [0.01], [0.01, 0.02, 0.03], [0.01, np.nan], "ab", None, [[0.01, 0.02]], [1e200, 0.0]):
        with pytest.raises(InputError):
            learner.update([0.01, 0.0, 0.02], y)
    assert learner.state_dict() == before
    restored = MultiTargetPA.from_state(before)
    x, y = [0.01, 0.0, 0.02], [0.01, 0.012]
    np.testing.assert_array_equal(restored.update(x, y), learner.update(x, y))
    for wrong in ({"n_targets": 0}, {"eps": [1e-4]}, {"eps": -1.0}, {"omega": [1.0, 0.0]}, {"rule": "vote"}):
        with pytest.raises(ParameterError):
            MultiTargetPA(3, **({"n_targets": 2} | wrong))


def test_nobody_moves_when_the_unseen_hold_everything():
    """A late listing and a halt: those that could move have nothing."""
    learner = MultiplicativePA(3)
    learner.update([0.01, 0.02, 0.03], 0.01, active=[False, True, False])
    learner.update([0.01, 0.02, 0.03], 0.01)
    assert learner.update([0.01, 0.02, 0.03], 0.01, observed=[True, False, True]).tolist() == [0.0, 1.0, 0.0]
