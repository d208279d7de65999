"""What every learner must do when assets come, go, and are not quoted."""

from __future__ import annotations

import numpy as np

from tests.algorithms.checks import Make, fingerprint, market, run, trained
from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.errors import InputError

NOBODY = np.zeros(6, dtype=bool)


def without(*gone: int, n: int = 6) -> np.ndarray:
    keep = np.ones(n, dtype=bool)
    keep[list(gone)] = False
    return keep


def assert_on_simplex(w: np.ndarray) -> None:
    assert np.isfinite(w).all()
    assert (w >= 0.0).all()
    assert abs(w.sum() - 1.0) <= 1e-12


def check_full_masks_are_no_masks(make: Make) -> None:
    X, Y = market(6, 15, seed=11)
    everybody = ~NOBODY
    np.testing.assert_array_equal(run(trained(make), X, Y, active=everybody, observed=everybody), run(trained(make), X, Y))


def check_inactive_assets_hold_nothing_and_say_nothing(make: Make) -> None:
    X, Y = market(6, 15, seed=12)
    active = without(1, 4)
    poisoned = X.copy()
    poisoned[:, 1], poisoned[:, 4] = np.nan, np.inf
    learner, other = trained(make), trained(make)
    w = run(learner, X, Y, active=active)
    assert (w[:, ~active] == 0.0).all()
    np.testing.assert_array_equal(run(other, poisoned, Y, active=active), w)
    assert fingerprint(other) == fingerprint(learner)
    assert np.isfinite(learner.predict(poisoned[0]))


def check_inactive_assets_might_as_well_not_exist(make: Make) -> None:
    X, Y = market(6, 30, seed=13)
    active = without(0, 3)
    np.testing.assert_allclose(run(make(6), X, Y, active=active)[:, active], run(make(4), X[:, active], Y), rtol=0, atol=1e-12)


def check_newcomers_enter_at_zero_and_move_later(make: Make) -> None:
    X, Y = market(6, 40, seed=14)
    Y = Y + X[:, 2]  # the target leans on the newcomer
    learner = make(6)
    learner.restrict(without(2))
    run(learner, X[:10], Y[:10], active=without(2))
    poisoned = X[10].copy()
    poisoned[2] = np.nan  # its first return may not exist yet
    assert learner.update(poisoned, Y[10])[2] == 0.0
    later = run(learner, X[11:], Y[11:])
    assert (later[:, 2] != 0.0).any() or np.array_equal(later[0], later[-1]), "the newcomer never moved"


def check_returning_asset_is_a_newcomer(make: Make) -> None:
    X, Y = market(6, 12, seed=15)
    learner = trained(make)
    learner.update(X[0], Y[0], active=without(5))
    assert learner.weights[5] == 0.0
    assert learner.update(X[1], Y[1])[5] == 0.0


def check_unseen_assets_are_frozen(make: Make) -> None:
    X, Y = market(6, 15, seed=16)
    observed = without(0, 3)
    poisoned = X.copy()
    poisoned[:, 0], poisoned[:, 3] = np.nan, 1e300
    learner, other = trained(make), trained(make)
    before = learner.weights
    w = run(learner, X, Y, observed=observed)
    for row in w:
        np.testing.assert_array_equal(row[~observed], before[~observed])
    np.testing.assert_array_equal(run(other, poisoned, Y, observed=observed), w)
    assert fingerprint(other) == fingerprint(learner)


def check_nothing_moves_when_nobody_is_seen(make: Make) -> None:
    learner = trained(make)
    before = learner.weights
    np.testing.assert_array_equal(learner.update(np.full(6, np.nan), 0.02, observed=NOBODY), before)


def check_restricting_the_start(make: Make) -> None:
    """Uniform over N, restricted to k names, is uniform over the k."""
    learner = make(6)
    w = learner.restrict(without(0, 5))
    np.testing.assert_allclose(w, np.where(without(0, 5), 0.25, 0.0), rtol=0, atol=1e-15)


def check_restricting_twice_changes_nothing_more(make: Make) -> None:
    learner = trained(make)
    first = learner.restrict(without(2))
    assert first[2] == 0.0
    np.testing.assert_array_equal(learner.restrict(without(2)), first)
    np.testing.assert_array_equal(learner.restrict(without()), first)  # all may be held again; nothing has moved yet


def check_restriction_and_update_agree(make: Make) -> None:
    X, Y = market(6, 1, seed=17)
    restricted, direct = trained(make), trained(make)
    restricted.restrict(without(1))
    np.testing.assert_array_equal(restricted.update(X[0], Y[0], active=without(1)), direct.update(X[0], Y[0], active=without(1)))


def check_weights_stay_on_the_simplex_in_a_restless_universe(make: Make) -> None:
    X, Y = market(8, 600, seed=18)
    rng = np.random.default_rng(19)
    learner = make(8)
    for x, y in zip(X, Y, strict=True):
        active = rng.random(8) < 0.8
        active[rng.permutation(8)[:4]] = True  # four at least, so that every cap can be met
        seen = rng.random(8) < 0.9
        before, was_active = learner.weights, learner.weights > 0.0
        if learner.feasible.kind == "capped":
            seen[:] = True  # frozen mass and few free names may contradict the caps: an InputError, tested elsewhere
        x = np.where(active & seen, x, np.nan)
        w = learner.update(x, y, active=active, observed=seen)
        assert_on_simplex(w)
        assert (w[~active] == 0.0).all()
        frozen = active & ~seen & was_active
        if (active & seen & was_active).any():
            np.testing.assert_array_equal(w[frozen], before[frozen])


def check_last_holder_leaves(make: Make) -> None:
    """Whoever may be held takes over, even if all are frozen or new."""
    learner = make(4)
    learner.restrict(without(2, 3, n=4))
    w = learner.update(np.full(4, np.nan), 0.01, active=without(0, 1, n=4))
    np.testing.assert_allclose(w, [0.0, 0.0, 0.5, 0.5], rtol=0, atol=1e-15)
    learner = trained(make, 4)
    w = learner.update(np.full(4, np.nan), 0.01, active=without(0, n=4), observed=np.zeros(4, dtype=bool))
    assert w[0] == 0.0
    assert_on_simplex(w)


def survive(learner: OnlineAlgorithm, x: np.ndarray, y: float) -> np.ndarray:
    """Learn from a round. Only a loss of 100 % or more may be refused, by learners to whom the log return matters."""
    try:
        return learner.update(x, y)
    except InputError:
        assert x.min() <= -1.0
        return learner.weights


def check_hundred_thousand_steps_on_the_simplex(make: Make, steps: int = 100_000) -> None:
    """Random and adversarial rounds: spikes, crashes, zeros, ties, tiny and huge scales, targets that run away."""
    n = 5
    rng = np.random.default_rng(20)
    block = 1000
    learner = make(n)
    for b in range(steps // block):
        X = 0.01 * rng.standard_normal((block, n))
        kind = rng.integers(0, 16, block)
        X[kind == 0] = 0.0
        X[kind == 1] = np.abs(X[kind == 1])
        X[kind == 2] = -1.0
        X[kind == 3] *= 10.0 ** rng.integers(-320, 48)
        X[kind == 4, 0] = 1e6
        X[kind == 5] = X[kind == 5][:, :1]
        X[kind == 6] = np.eye(n)[rng.integers(0, n, np.count_nonzero(kind == 6))] * 1e-9
        Y = np.where(rng.random(block) < 0.5, X.min(axis=1) - 0.1, X.max(axis=1) + 0.1)
        Y[kind == 7] = 1e40 * (-1.0) ** b
        Y[kind >= 8] = X[kind >= 8] @ np.array([0.6, 0.4, 0.0, 0.0, 0.0])
        W = np.array([survive(learner, x, y) for x, y in zip(X, Y.tolist(), strict=True)])
        assert np.isfinite(W).all()
        assert W.min() >= 0.0
        assert np.abs(W.sum(axis=1) - 1.0).max() <= 1e-12
    assert len(learner.diagnostics()) == 0 or all(np.isfinite(v) for v in learner.diagnostics().values())
