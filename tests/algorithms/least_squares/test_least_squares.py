"""Least squares at several discounts at once, and the quadratics that it solves at every bar."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import PA, Holdings, LeastSquares, SparseLeastSquares, Vote
from tracker_strategies.algorithms.least_squares import _scaled_quadratic as scaled_quadratic
from tracker_strategies.algorithms.least_squares._scaled_quadratic import ScaledQuadratic
from tracker_strategies.algorithms.numerics.simplex_qp import solve_simplex_qp
from tracker_strategies.errors import ParameterError
from tracker_strategies.testing.rounds import market, without

GAMMAS, DAMPINGS = [1.0, 0.97, 0.8], [1.0, 0.0, 0.5]


def several_and_single(n, wrap=lambda n, learner: learner):
    options = list(zip(GAMMAS, DAMPINGS, strict=True))
    return wrap(n, LeastSquares(n, gamma=GAMMAS, damping=DAMPINGS)), [
        wrap(n, LeastSquares(n, gamma=g, damping=d)) for g, d in options
    ]


@pytest.mark.parametrize("wrap", [lambda n, a: a, lambda n, a: Holdings(n, learner=a)], ids=["weights", "holdings"])
def test_several_discounts_are_as_many_learners(wrap):
    X, Y = market(7, 120, scale=0.03)
    together, alone = several_and_single(7, wrap)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        masks = {}
        if 40 <= t < 60:
            masks["observed"] = without(3, n=7)
        if 50 <= t < 90:
            masks["active"] = without(1, 5, n=7)
        w = together.update(x, y, **masks)
        rows = [a.update(x, y, **masks) for a in alone]
        np.testing.assert_allclose(together.portfolios, rows, atol=1e-12)
        np.testing.assert_allclose(w, np.mean(rows, axis=0), atol=1e-12)
    assert not np.allclose(rows[0], rows[2], atol=1e-3)


def test_who_is_not_seen_keeps_its_weight_and_the_others_fit_what_is_left(monkeypatch):
    """Against the problem written out: the unseen name returns nothing, and the pulls are on the sum that is left."""
    monkeypatch.setattr("tracker_strategies.algorithms.least_squares.dense.PRECISION", 1e-14)
    X, Y = market(5, 40, seed=2, scale=0.03)
    inertia, ridge = 2.0, 1.5
    learner = LeastSquares(5, gamma=0.97, inertia=inertia, ridge=ridge, damping=0.0, start=[0.1, 0.2, 0.3, 0.25, 0.15])
    anchor, seen = np.array([0.1, 0.2, 0.3, 0.25, 0.15]), without(3, n=5)
    A, b = np.zeros((5, 5)), np.zeros(5)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        w = learner.weights
        z = np.where(seen, x, 0.0) if t % 4 == 3 else x
        free = seen if t % 4 == 3 else np.ones(5, dtype=bool)
        A, b = 0.97 * A + np.outer(z, z), 0.97 * b + y * z
        metric, room = np.diag(A).mean(), w[free].sum()
        pulled = A[np.ix_(free, free)] + (inertia + ridge) * metric * np.eye(free.sum())
        wish = inertia * w + ridge * np.where(free, anchor, 0.0) * room / anchor[free].sum()
        best, _ = solve_simplex_qp(pulled, (b + metric * wish - A @ np.where(free, 0.0, w))[free], total=room)
        new = learner.update(x, y, **({} if free.all() else {"observed": seen}))
        np.testing.assert_allclose(new[free], best, atol=1e-7)
        np.testing.assert_array_equal(new[~free], w[~free])


def test_names_that_leave_hand_over_in_every_portfolio():
    X, Y = market(5, 60, scale=0.03)
    learner = LeastSquares(5, gamma=GAMMAS)
    learner.run(X, Y)
    for allowed in (without(0, 2, n=5), without(0, 1, 2, 3, n=5)):
        restricted = learner.restrict(allowed)
        np.testing.assert_allclose(learner.portfolios.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(learner.portfolios.mean(axis=0), restricted, atol=1e-15)
        assert not learner.portfolios[:, [0, 2]].any()


def test_a_learner_of_several_portfolios_has_as_many_votes():
    X, Y = market(6, 150, scale=0.03)
    together, alone = several_and_single(6, lambda n, a: Holdings(n, learner=a))
    votes = [Vote(6, members=[PA(6), *members], names=["pa", "a", "b", "c"]) for members in ([together], alone)]
    W = [vote.run(X, Y) for vote in votes]
    np.testing.assert_allclose(W[0], W[1], atol=1e-11)
    assert votes[0].diagnostics().keys() == votes[1].diagnostics().keys()
    np.testing.assert_allclose(votes[0].p, votes[1].p, atol=1e-9)
    assert Vote(6, members=[together.learner]).names == ["LeastSquares_1", "LeastSquares_2", "LeastSquares_3"]


def test_few_names_are_the_same_for_all_discounts():
    X, Y = market(9, 120, scale=0.03)
    learner = SparseLeastSquares(9, max_names=3, review=10, warm_up=20, gamma=[0.99, 0.9])
    W = learner.run(X, Y)
    assert ((W[21:] > 0.0).sum(axis=1) <= 3).all()
    assert not np.allclose(*learner.portfolios, atol=1e-4)


def test_a_state_keeps_every_portfolio():
    X, Y = market(4, 80, scale=0.03)
    learner = Holdings(4, learner=LeastSquares(4, gamma=GAMMAS, damping=DAMPINGS))
    learner.run(X[:40], Y[:40])
    again = Holdings.from_state(learner.state_dict())
    np.testing.assert_array_equal(again.run(X[40:], Y[40:]), learner.run(X[40:], Y[40:]))
    np.testing.assert_array_equal(again.portfolios, learner.portfolios)
    with pytest.raises(ValueError, match="read-only"):
        again.portfolios[0, 0] = 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gamma": []}, "gamma"),
        ({"gamma": [0.9, 1.2]}, "gamma"),
        ({"gamma": [0.9, 0.0]}, "gamma"),
        ({"gamma": GAMMAS, "damping": [0.5, 0.5]}, "damping must be one number or 3"),
        ({"damping": [0.5, 0.5]}, "damping must be one number or 1"),
        ({"damping": 1.5}, "damping"),
    ],
)
def test_bad_discounts_are_named(options, words):
    with pytest.raises(ParameterError, match=words):
        LeastSquares(3, **options)


@pytest.mark.parametrize("size", [1e-7, 1e-9, 1e-16, 1e-30, 1e-90])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_returns_too_small_for_the_index_leave_the_portfolio_on_the_simplex(n, size):
    """The fit would need weights of billions, and all digits are lost on the way."""
    for learner in (LeastSquares(n, gamma=[1.0, 0.9], damping=[1.0, 0.0]), Holdings(n, learner=LeastSquares(n))):
        for x, y in ((size, 0.01), (size, -0.01), (0.01, 0.001)):
            w = learner.update(np.full(n, x), y)
            assert w.min() >= 0.0
            assert w.sum() == pytest.approx(1.0, abs=1e-14)


def test_sums_do_not_wander():
    X, Y = market(6, 500, scale=0.05)
    learner = Holdings(6, learner=LeastSquares(6, gamma=GAMMAS))
    for _ in range(6):
        learner.run(X, Y)
    assert np.abs(learner.portfolios.sum(axis=1) - 1.0).max() < 2e-15


@pytest.mark.parametrize("gammas", [[0.5, 1.0], [1.0, 0.5]])
def test_a_short_memory_that_has_run_dry_does_not_disturb_the_others(gammas):
    rng = np.random.default_rng(0)
    learner, alone = LeastSquares(5, gamma=gammas, damping=0.0), LeastSquares(5, gamma=1.0, damping=0.0)
    rounds = [0.01 * rng.standard_normal(5) for _ in range(50)] + [np.zeros(5)] * 1300 + [np.array([0.01, 0.0, 0.0, 0.0, 0.0])]
    for x in rounds:
        learner.update(x, float(x[0]))
        alone.update(x, float(x[0]))
    np.testing.assert_allclose(learner.portfolios[gammas.index(1.0)], alone.weights, atol=1e-12)


def test_an_interruption_leaves_the_moments_as_they_were(monkeypatch):
    X, Y = market(4, 30, scale=0.03)
    learner = LeastSquares(4, gamma=GAMMAS)
    learner.run(X, Y)

    def interrupted(*_):
        raise KeyboardInterrupt

    before = learner._diagonals.copy()
    monkeypatch.setattr(ScaledQuadratic, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner._solve(learner.portfolios, None)
    np.testing.assert_array_equal(learner._diagonals, before)


def problem(n, seed, spread):
    """A quadratic as the moments keep it, and the same written out."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((2 * n, n))
    a, c = np.exp(spread * rng.standard_normal(n)), float(np.exp(rng.standard_normal()))
    H = M.T @ M + 0.5 * np.eye(n)
    q = H @ rng.dirichlet(np.ones(n)) + rng.standard_normal(n) * rng.choice([0.1, 3.0])
    B = np.tril(H * np.outer(a, a) / c)
    quadratic = ScaledQuadratic(B.T, B.reshape(-1)[:: n + 1], c, a, 1.0 / a, q, 0.5)
    now = rng.dirichlet(np.full(n, 0.5)) * (rng.random(n) < 0.8)
    now = now / now.sum() if now.any() else np.full(n, 1.0 / n)
    return quadratic, B, H, q, now


@pytest.mark.parametrize("newton", [128, 0], ids=["factorised", "conjugate gradients"])
@settings(max_examples=200, deadline=None)
@given(n=st.integers(1, 14), seed=st.integers(0, 100_000), spread=st.sampled_from([0.0, 1.0, 3.0]), share=st.floats(0.3, 1.0))
def test_the_minimum_on_the_simplex_is_found(newton, n, seed, spread, share):
    """With all names free, or with some that keep their weights."""
    quadratic, B, H, q, now = problem(n, seed, spread)
    before = B.copy()
    free = np.random.default_rng(seed + 1).random(n) < share
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scaled_quadratic, "NEWTON", newton)
        for free_names in (None, free if now[free].any() else None):
            chosen = np.ones(n, dtype=bool) if free_names is None else free_names
            room = float(now[chosen].sum())
            found = quadratic.solve(now, room, free_names, 1e-13)
            still = np.where(chosen, 0.0, now)
            best, _ = solve_simplex_qp(H[np.ix_(chosen, chosen)], (q - H @ still)[chosen], total=room)
            np.testing.assert_allclose(found.w[chosen], best, atol=1e-6)
            np.testing.assert_array_equal(found.w[~chosen], now[~chosen])
            assert found.w.min() >= 0.0
            assert found.gap <= 1e-13
            np.testing.assert_array_equal(B, before)


@settings(max_examples=200, deadline=None)
@given(n=st.integers(2, 14), seed=st.integers(0, 100_000), passes=st.integers(1, 3), enough=st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_what_is_left_to_gain_is_bounded(n, seed, passes, enough):
    quadratic, _, H, q, now = problem(n, seed, 1.0)
    value = lambda w: 0.5 * w @ H @ w - q @ w  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scaled_quadratic, "PASSES", passes)
        found = quadratic.solve(now, 1.0, None, enough)
    assert value(found.w) - value(solve_simplex_qp(H, q)[0]) <= found.gap + 1e-10
    assert found.gap <= enough
