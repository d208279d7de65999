"""What every learner promises when assets come, go, and are not quoted, and in the long run."""

from __future__ import annotations

import numpy as np

from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.errors import InputError
from tracker_strategies.testing.errors import require
from tracker_strategies.testing.rounds import FloatArray, Make, assert_on_simplex, fingerprint, market, run, without

NOBODY = np.zeros(6, dtype=bool)


def check_full_masks_are_no_masks(make: Make) -> None:
    """Masks that allow everything change nothing."""
    X, Y = market(6, 15, seed=11)
    everybody = ~NOBODY
    np.testing.assert_array_equal(run(make.trained(), X, Y, active=everybody, observed=everybody), run(make.trained(), X, Y))


def check_inactive_assets_hold_nothing_and_say_nothing(make: Make) -> None:
    """Inactive assets have weight 0, and their returns are not used."""
    X, Y = market(6, 15, seed=12)
    active = without(1, 4)
    poisoned = X.copy()
    poisoned[:, 1], poisoned[:, 4] = np.nan, np.inf
    learner, other = make.trained(), make.trained()
    w = run(learner, X, Y, active=active)
    require((w[:, ~active] == 0.0).all())
    np.testing.assert_array_equal(run(other, poisoned, Y, active=active), w)
    require(fingerprint(other) == fingerprint(learner))
    require(np.isfinite(learner.predict(poisoned[0])))


def check_inactive_assets_might_as_well_not_exist(make: Make) -> None:
    """With inactive assets, the result is the same as without these assets."""
    X, Y = market(6, 30, seed=13)
    active = without(0, 3)
    np.testing.assert_allclose(run(make(6), X, Y, active=active)[:, active], run(make(4), X[:, active], Y), rtol=0, atol=1e-12)


def check_newcomers_enter_at_zero_and_move_later(make: Make) -> None:
    """A newcomer enters at weight 0 and moves later."""
    X, Y = market(6, 40, seed=14)
    Y = Y + X[:, 2]  # the target leans on the newcomer
    learner = make(6)
    learner.restrict(without(2))
    run(learner, X[:10], Y[:10], active=without(2))
    poisoned = X[10].copy()
    poisoned[2] = np.nan  # its first return may not exist yet
    require(learner.update(poisoned, Y[10])[2] == 0.0)
    later = run(learner, X[11:], Y[11:])
    require((later[:, 2] != 0.0).any() or np.array_equal(later[0], later[-1]), "the newcomer never moved")


def check_returning_asset_is_a_newcomer(make: Make) -> None:
    """An asset that comes back is a newcomer."""
    X, Y = market(6, 12, seed=15)
    learner = make.trained()
    learner.update(X[0], Y[0], active=without(5))
    require(learner.weights[5] == 0.0)
    require(learner.update(X[1], Y[1])[5] == 0.0)


def check_unseen_assets_are_frozen(make: Make) -> None:
    """Unseen assets keep their weights, and their returns are not used."""
    X, Y = market(6, 15, seed=16)
    observed = without(0, 3)
    poisoned = X.copy()
    poisoned[:, 0], poisoned[:, 3] = np.nan, 1e300
    learner, other = make.trained(), make.trained()
    before = learner.weights
    w = run(learner, X, Y, observed=observed)
    for row in w:
        np.testing.assert_array_equal(row[~observed], before[~observed])
    np.testing.assert_array_equal(run(other, poisoned, Y, observed=observed), w)
    require(fingerprint(other) == fingerprint(learner))


def check_nothing_moves_when_nobody_is_seen(make: Make) -> None:
    """Nothing moves when no asset is seen."""
    learner = make.trained()
    before = learner.weights
    np.testing.assert_array_equal(learner.update(np.full(6, np.nan), 0.02, observed=NOBODY), before)


def check_restricting_the_start(make: Make) -> None:
    """Equal weights, restricted to k names, are equal over the k."""
    learner = make(6)
    w = learner.restrict(without(0, 5))
    np.testing.assert_allclose(w, np.where(without(0, 5), 0.25, 0.0), rtol=0, atol=1e-15)


def check_restricting_twice_changes_nothing_more(make: Make) -> None:
    """Restricting twice changes nothing more."""
    learner = make.trained()
    first = learner.restrict(without(2))
    require(first[2] == 0.0)
    np.testing.assert_array_equal(learner.restrict(without(2)), first)
    np.testing.assert_array_equal(learner.restrict(without()), first)  # all may be held again; nothing has moved yet


def check_restriction_and_update_agree(make: Make) -> None:
    """Restricting the assets before a round and in it gives the same result."""
    X, Y = market(6, 1, seed=17)
    restricted, direct = make.trained(), make.trained()
    restricted.restrict(without(1))
    np.testing.assert_array_equal(restricted.update(X[0], Y[0], active=without(1)), direct.update(X[0], Y[0], active=without(1)))


def check_weights_stay_on_the_simplex_in_a_restless_universe(make: Make) -> None:
    """Weights stay on the simplex while names come, go and pause."""
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
        require((w[~active] == 0.0).all())
        frozen = active & ~seen & was_active
        if (active & seen & was_active).any():
            np.testing.assert_array_equal(w[frozen], before[frozen])


def check_last_holder_leaves(make: Make) -> None:
    """When the last asset with a weight leaves, those that may be held take over, frozen or new."""
    learner = make(4)
    learner.restrict(without(2, 3, n=4))
    w = learner.update(np.full(4, np.nan), 0.01, active=without(0, 1, n=4))
    np.testing.assert_allclose(w, [0.0, 0.0, 0.5, 0.5], rtol=0, atol=1e-15)
    learner = make.trained(4)
    w = learner.update(np.full(4, np.nan), 0.01, active=without(0, n=4), observed=np.zeros(4, dtype=bool))
    require(w[0] == 0.0)
    assert_on_simplex(w)


def _survive(learner: OnlineAlgorithm, x: FloatArray, y: float) -> FloatArray:
    """Learn from a round. Only a loss of 100 % or more may be refused, by learners to whom the log return matters."""
    try:
        return learner.update(x, y)
    except InputError:
        require(x.min() <= -1.0)
        return learner.weights


def check_adversarial_rounds(make: Make, rounds: int) -> None:
    """Weights stay on the simplex in adversarial rounds: spikes, crashes, zeros, ties, tiny and huge scales, runaway targets."""
    n = 5
    rng = np.random.default_rng(20)
    block = 1000
    learner = make(n)
    for b in range(-(-rounds // block)):
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
        W = np.array([_survive(learner, x, y) for x, y in zip(X, Y.tolist(), strict=True)])
        require(np.isfinite(W).all())
        require(W.min() >= 0.0)
        require(np.abs(W.sum(axis=1) - 1.0).max() <= 1e-12)
    require(len(learner.diagnostics()) == 0 or all(np.isfinite(v) for v in learner.diagnostics().values()))
