"""Holdings coordinates: an index that keeps its shares stands still, and so does a learner that has found it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import (
    OGD,
    PA,
    RLS,
    VAW,
    AdaptiveDiscount,
    DiscountedVAW,
    Holdings,
    LeastSquares,
    OnlineAlgorithm,
    RecursiveLars,
    Simplex,
    SparsePLS,
    Vote,
)
from tracker_strategies.algorithms.numerics.simplex_gradients import descend
from tracker_strategies.algorithms.numerics.simplex_qp import solve_simplex_qp
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import fingerprint, market


def drifted(w, x):
    moved = w * (1.0 + x)
    return moved / moved.sum()


def index_of_shares(n=6, rounds=200, seed=0, volatility=0.03):
    """Returns of n stocks, of an index that holds constant shares of them, and its weights at every time."""
    rng = np.random.default_rng(seed)
    X = volatility * rng.standard_normal((rounds, n))
    w = rng.dirichlet(np.ones(n))
    Y, weights = [], [w]
    for x in X:
        Y.append(float(w @ x))
        w = drifted(w, x)
        weights.append(w)
    return X, np.array(Y), np.array(weights)


@pytest.mark.parametrize("learner", [PA(6, eps=0.0), OGD(6, eta=5.0), LeastSquares(6, ridge=0.0)], ids=lambda a: type(a).__name__)
def test_the_shares_of_the_index_need_no_trade(learner):
    X, Y, truth = index_of_shares()
    start = type(learner)(6, **{**learner._parameters(), "start": truth[0]})
    W = Holdings(6, learner=start).run(X, Y)
    np.testing.assert_allclose(W, truth, atol=1e-9)
    assert np.abs(start.run(X, Y)[-1] - truth[-1]).max() > 0.01 or isinstance(learner, LeastSquares)


def test_passive_means_that_weights_drift():
    learner = Holdings(3, learner=PA(3, eps=1.0))
    w = learner.weights
    for x in market(3, 20)[0]:
        expected = drifted(w, x)
        w = learner.update(x, 0.0)
        np.testing.assert_allclose(w, expected, atol=1e-15)


def test_least_squares_finds_the_shares_of_an_index_in_holdings_but_not_in_weights():
    X, Y, truth = index_of_shares(n=8, rounds=400, seed=1)
    make = lambda: LeastSquares(8, gamma=1.0, inertia=1e-3, ridge=1e-9)  # noqa: E731
    off = {
        name: np.abs(a.run(X, Y)[-1] - truth[-1]).max()
        for name, a in (("weights", make()), ("holdings", Holdings(8, learner=make())))
    }
    assert off["holdings"] < 1e-4
    assert off["weights"] > 0.01


def test_restating_the_past_is_exact(monkeypatch):
    """Against sums that are rebuilt from all returns at every round, in the weights of that round."""
    monkeypatch.setattr("tracker_strategies.algorithms.least_squares.dense.PRECISION", 1e-15)
    X, Y = market(5, 60, seed=3, scale=0.03)
    gamma, inertia, ridge = 0.97, 2.0, 0.01
    learner = Holdings(5, learner=LeastSquares(5, gamma=gamma, inertia=inertia, ridge=ridge, damping=0.0))
    w = anchor = np.full(5, 0.2)
    growth = np.ones(5)
    for t in range(60):
        s = (1.0 + X[: t + 1]) / (1.0 + Y[: t + 1, None])
        since = np.cumprod(s[::-1], axis=0)[::-1]  # growth from the start of each round to now
        Z = X[: t + 1] / since
        discount = gamma ** np.arange(t, -1, -1)
        A, b = (Z.T * discount) @ Z, (Z.T * discount) @ Y[: t + 1]
        growth = growth**0.998 * s[-1]
        w, anchor = drifted(w, X[t]), drifted(anchor, X[t])
        metric = np.diag(A).mean() / growth**2
        A.flat[::6] += (inertia + ridge) * metric
        w = solve_simplex_qp(A, b + metric * (inertia * w + ridge * anchor))[0]
        np.testing.assert_allclose(learner.update(X[t], Y[t]), w, atol=1e-7)


def test_rebasing_the_moments_changes_nothing(monkeypatch):
    X, Y = market(4, 80, seed=4, scale=0.05)
    make = lambda: Holdings(4, learner=LeastSquares(4, gamma=0.98))  # noqa: E731
    before = make().run(X, Y)
    monkeypatch.setattr("tracker_strategies.algorithms.least_squares.dense.WIDEST", 1.05)
    learner = make()
    rebased = learner.run(X, Y)
    assert np.abs(np.log(learner._inner._a)).max() < 0.3
    np.testing.assert_allclose(rebased, before, atol=1e-9)


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10_000), st.floats(0.05, 10.0))
def test_conjugate_gradients_find_the_minimum_on_the_simplex(n, seed, pull):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((2 * n, n))
    H = M.T @ M + pull * np.eye(n)
    q = H @ rng.dirichlet(np.ones(n)) + rng.standard_normal(n)
    found = descend(lambda v: H @ v, q, rng.dirichlet(np.full(n, 0.5)), pull, 1e-14 * pull)
    best, _ = solve_simplex_qp(H, q)
    assert found.w.min() >= 0.0
    assert found.w.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(found.w, best, atol=1e-6)


def test_the_bound_of_what_is_left_is_true():
    rng = np.random.default_rng(2)
    M = rng.standard_normal((30, 10))
    H, q = M.T @ M + 0.5 * np.eye(10), rng.standard_normal(10)
    value = lambda w: 0.5 * w @ H @ w - q @ w  # noqa: E731
    best = value(solve_simplex_qp(H, q)[0])
    for most in range(1, 15):
        found = descend(lambda v: H @ v, q, np.full(10, 0.1), 0.5, 0.0, most)
        assert value(found.w) - best <= found.gap + 1e-12
        assert found.products <= most


def test_it_is_an_index_of_learners_of_any_kind():
    vote = Vote(4, members=[Holdings(4, learner=PA(4)), Holdings(4, learner=LeastSquares(4))], names=["pa", "ls"])
    X, Y = market(4, 50)
    W = vote.run(X, Y)
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-12)
    assert set(vote.diagnostics()) >= {"p_pa", "p_ls"}


@pytest.mark.parametrize("bad", [None, 3, Simplex(), Holdings(3, learner=PA(3)), PA(4)])
def test_only_learners_for_as_many_assets_can_be_wrapped(bad):
    with pytest.raises(ParameterError, match="learner"):
        Holdings(3, learner=bad)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": 1.2}, "gamma"),
        ({"inertia": -1.0}, "inertia"),
        ({"inertia": 0.0, "ridge": 0.0}, "both 0"),
    ],
)
def test_bad_parameters_of_least_squares_are_named(options, words):
    with pytest.raises(ParameterError, match=words):
        LeastSquares(3, **options)


@pytest.mark.parametrize(
    ("learner", "x", "y"),
    [
        (PA(3), [9e49, 0.0, 0.0], 9.9e49),
        (LeastSquares(3), [-1e49, 0.0, 0.0], 60.0),
        (LeastSquares(3, gamma=[1.0, 0.9]), [-1e49, 0.0, 0.0], 60.0),
    ],
    ids=["PA", "LeastSquares", "two discounts"],
)
@pytest.mark.parametrize("masks", [{}, {"observed": [True, True, False]}], ids=["all", "masked"])
def test_a_round_that_is_refused_once_restated_changes_nothing(learner, x, y, masks):
    holdings = Holdings(3, learner=learner)
    vote = Vote(3, members=[PA(3), Holdings(3, learner=learner)])
    for each in (holdings, vote):
        each.run(*market(3, 10))
        before = fingerprint(each)
        with pytest.raises(InputError):
            each.update(x, y, **masks)
        assert fingerprint(each) == before


def test_what_is_asked_of_the_learner_is_answered_by_the_one_that_learns():
    learner = Holdings(2, learner=VAW(2))
    X = 0.01 * np.random.default_rng(0).standard_normal((300, 2))
    learner.run(X, X[:, 0])
    assert learner.forecast([0.01, 0.0]) > 0.008


def test_a_crash_to_nothing_is_survived():
    learner: OnlineAlgorithm = Holdings(3, learner=LeastSquares(3))
    X, Y = market(3, 10)
    X[5, 0] = -1.0
    W = learner.run(X, Y)
    assert np.isfinite(W).all()
    assert W[6, 0] <= 1e-6 or W[6].sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "learner",
    [
        VAW(8),
        DiscountedVAW(8),
        AdaptiveDiscount(8),
        RLS(8),
        SparsePLS(8, max_names=8),
        RecursiveLars(8, theta=8),
        LeastSquares(8),
    ],
    ids=lambda a: type(a).__name__,
)
def test_learners_with_a_memory_track_an_index_of_shares_better_when_they_restate_it(learner):
    X, Y, _ = index_of_shares(n=8, rounds=300, seed=5, volatility=0.04)
    late = slice(150, 300)
    errors = [
        np.sqrt(np.mean((np.einsum("tn,tn->t", a.run(X, Y)[:-1], X) - Y)[late] ** 2))
        for a in (learner.fresh(), Holdings(8, learner=learner))
    ]
    assert errors[1] < 0.5 * errors[0]
