"""How the VAW learners keep their matrices: both forms agree, nothing drifts, assets are forgotten exactly, nothing breaks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.vaw.test_vaw import ridge, stream
from tracker_strategies.algorithms import VAW, AdaptiveDiscount, DiscountedVAW, RealSpace
from tracker_strategies.algorithms.vaw._ridge import DiscountedRidge, dual_rounds_worth_it
from tracker_strategies.algorithms.vaw._ridge_dual import DualRidge
from tracker_strategies.algorithms.vaw._ridge_primal import BLOCK, CHECK
from tracker_strategies.testing.rounds import assert_on_simplex, fingerprint, market, without

RN = RealSpace()
ALL = np.ones((1, 1))


def is_dual(regressions: DiscountedRidge) -> bool:
    return isinstance(regressions._form, DualRidge)


def regressions(d: int, gammas: list[float], lam: float = 0.1, rounds: int | None = 0, **options: Any) -> DiscountedRidge:
    made = DiscountedRidge(d, gammas, lam, options.pop("floor", 0.0), options.pop("q", 1), options.pop("prior", None), rounds)
    made.meet(None)
    return made


def feed(made: DiscountedRidge, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Causal predictions of all rounds, shape (T, K)."""
    found = []
    for x, y in zip(X, Y, strict=True):
        look = made.look(x)
        found.append(look.predictions[:, 0])
        made.learn(x, np.atleast_1d(y), look)
    return np.array(found)


def each_solution(made: DiscountedRidge) -> np.ndarray:
    return np.array([made.combined(row[:, None]) for row in np.eye(len(made.gammas))])


# ------------------------------------------------------------------ two forms of one regression


@given(
    st.integers(1, 40),
    st.integers(0, 40),
    st.lists(st.sampled_from([1.0, 0.999, 0.99, 0.9, 0.7]), min_size=1, max_size=4),
    st.floats(1e-2, 10.0),
    st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_primal_and_dual_agree(d: int, T: int, gammas: list[float], lam: float, seed: int) -> None:
    X, Y = stream(d, T, seed)
    X /= np.sqrt(d)
    primal, dual = (regressions(d, gammas, lam, rounds, prior="uniform") for rounds in (0, d))
    np.testing.assert_allclose(feed(primal, X, Y), feed(dual, X, Y), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(each_solution(primal), each_solution(dual), rtol=1e-9, atol=1e-9)


def test_the_dual_form_is_used_while_it_is_faster_and_only_then() -> None:
    """The switch shows in nothing but the form: forecasts and weights are those of the primal form."""
    X, Y = market(30, 60)
    learner, primal = DiscountedVAW(30, dual_rounds=20), DiscountedVAW(30, dual_rounds=0)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        assert is_dual(learner._ridge) == (t < 20)
        assert not is_dual(primal._ridge)
        assert learner.forecast(x) == pytest.approx(primal.forecast(x), rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(learner.update(x, y), primal.update(x, y), rtol=1e-9, atol=1e-9)
    assert dual_rounds_worth_it(20, 1) == 0
    assert 400 < dual_rounds_worth_it(2000, 1) < dual_rounds_worth_it(2000, 12) < 2000
    assert is_dual(DiscountedVAW(2000)._ridge)
    assert not is_dual(DiscountedVAW(20)._ridge)


def test_all_discounts_share_the_observations_of_the_dual_form() -> None:
    made = DualRidge(500, np.linspace(0.99, 1.0, 12), 0.1, 0.0, 1, np.zeros(500), 50)
    shared = [v for v in vars(made).values() if isinstance(v, np.ndarray) and v.shape == (50, 500)]
    assert len(shared) == 1


def test_observations_that_repeat_each_other_end_the_dual_form_before_they_drown_in_rounding() -> None:
    x, d = np.full(50, 0.1), 50
    made = regressions(d, [0.5], 1.0, d)
    Y = np.where(np.arange(40) < 30, 1.0, -1.0)
    X = np.tile(x, (40, 1))
    np.testing.assert_allclose(feed(made, X, Y)[-1, 0], ridge(X[:-1], Y[:-1], 0.5, 1.0) @ x, atol=1e-6)
    assert not is_dual(made)


@pytest.mark.parametrize("cut", [0, 3, 19, 20, 21, 20 + BLOCK - 1, 20 + BLOCK, 20 + CHECK * BLOCK + 5])
def test_a_state_taken_in_mid_stream_continues_bit_by_bit(cut: int) -> None:
    """Before, at and after the switch from one form to the other, within and between blocks."""
    X, Y = market(30, 360)
    for make in (
        lambda: DiscountedVAW(30, gamma=0.99, hint="self", dual_rounds=20),
        lambda: AdaptiveDiscount(30, gammas=[0.0, 0.99, 1.0], dual_rounds=20),
    ):
        learner = make()
        learner.run(X[:cut], Y[:cut])
        restored = type(learner).from_state(pickle.loads(pickle.dumps(learner.state_dict())))
        np.testing.assert_array_equal(restored.run(X[cut:], Y[cut:]), learner.run(X[cut:], Y[cut:]))
        assert fingerprint(restored) == fingerprint(learner)


# ------------------------------------------------------------------ no drift


@pytest.mark.parametrize("gamma", [1.0, 0.999, 0.9])
def test_after_a_hundred_thousand_steps_the_solution_is_that_of_a_fresh_solve(gamma: float) -> None:
    """Correlated regressors, condition 10^4 and more; the comparison keeps its own sums."""
    d, T = 6, 100_000
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((d, d)) @ np.diag(np.logspace(0, -2, d))
    X = 0.01 * rng.standard_normal((T, d)) @ mixing
    Y = X @ rng.standard_normal(d) + 0.001 * rng.standard_normal(T)
    made = regressions(d, [gamma], 0.1)
    feed(made, X, Y)
    last = T if gamma == 1.0 else min(T, int(45.0 / (1.0 - gamma)))
    weights = gamma ** np.arange(last - 1, -1, -1)[:, None]
    rows, sigma = X[-last:], gamma**T * 0.1 * np.eye(d)
    fresh = np.linalg.solve(sigma + (weights * rows).T @ rows, (weights * rows).T @ Y[-last:])
    np.testing.assert_allclose(made.combined(ALL), fresh, rtol=1e-6, atol=1e-9)


def test_a_spoilt_inverse_is_noticed_and_renewed() -> None:
    """Were the inverse wrong for whatever reason, the residual would tell, and the solution be right again."""
    d = 8
    X, Y = stream(d, 1000, 1)
    made = regressions(d, [0.99])
    feed(made, X[:500], Y[:500])
    made._form._P_diagonal *= 1.0 + 1e-3  # type: ignore[union-attr]
    feed(made, X[500:], Y[500:])
    np.testing.assert_allclose(made.combined(ALL), ridge(X, Y, 0.99, 0.1), rtol=1e-9, atol=1e-10)


def test_the_floor_holds_the_regulariser_up() -> None:
    """An asset that stood still for long starts to move: with the floor it is held back, without it takes all."""
    d, T, floor = 3, 3000, 1e-3
    rng = np.random.default_rng(5)
    X = 0.01 * rng.standard_normal((T, d))
    X[:-1, 2] = 0.0
    Y = X[:, 0].copy()
    Y[-1] += 0.02
    X[-1, 2] = 0.01
    held, free = (DiscountedVAW(d, gamma=0.99, lam=0.1, prior=None, floor=f, feasible=RN) for f in (floor, 0.0))
    held.run(X, Y)
    free.run(X, Y)
    assert abs(free.weights[2] - 2.0) < 0.2
    x, error = 0.01, 0.02
    assert error * x / (2.0 * floor + x * x) * 0.9 <= held.weights[2] <= error * x / (floor + x * x) * 1.1


def test_the_floor_means_the_same_in_both_forms() -> None:
    X, Y = market(30, 100)
    forms = [DiscountedVAW(30, gamma=0.9, lam=1.0, floor=0.02, dual_rounds=rounds, feasible=RN).run(X, Y) for rounds in (0, 30)]
    np.testing.assert_allclose(forms[0], forms[1], rtol=1e-9, atol=1e-9)


# ------------------------------------------------------------------ a changing universe


@pytest.mark.parametrize("rounds", [0, 6])
@pytest.mark.parametrize("gone", [(2,), (0, 3, 5)])
def test_a_forgotten_asset_has_never_moved(rounds: int, gone: tuple[int, ...]) -> None:
    """Exactly what a learner knows for which it stood still all the time; the prior is that of those who stay."""
    X, Y = market(6, 90)
    keep = without(*gone)
    for T in (4, 90):
        learner = DiscountedVAW(6, gamma=0.98, lam=1e-3, feasible=RN, dual_rounds=rounds)
        learner.run(X[:T], Y[:T])
        learner.update(X[0], Y[0], active=keep)
        rows, targets = np.vstack([X[:T], X[:1]])[:, keep], np.append(Y[:T], Y[0])
        expected = ridge(rows, targets, 0.98, 1e-3, np.full(keep.sum(), 1.0 / keep.sum()))
        np.testing.assert_allclose(learner.weights[keep], expected, rtol=1e-9, atol=1e-9)
        assert (learner.weights[~keep] == 0.0).all()


def test_who_comes_back_starts_cold_with_the_full_regulariser() -> None:
    """Long after the start, one bad day of a newcomer moves it no more than it would have moved it on the first day."""
    rng = np.random.default_rng(2)
    X = 0.01 * rng.standard_normal((3001, 4))
    Y = X[:, :3].mean(axis=1)
    learner = DiscountedVAW(4, gamma=0.99, lam=1e-2, feasible=RN)
    for x, y in zip(X[:1000], Y[:1000], strict=True):
        learner.update(x, y)
    for x, y in zip(X[1000:3000], Y[1000:3000], strict=True):
        learner.update(x, y, active=without(3, n=4))
    learner.update(X[0], Y[0])  # enters at weight 0
    assert learner.weights[3] == 0.0
    w = learner.update([0.0, 0.0, 0.0, 0.01], 0.01)
    prior, x, lam = 0.25, 0.01, 1e-2
    assert w[3] == pytest.approx(prior + x * (0.01 - prior * x) / (0.99 * lam + x * x), rel=0.02)
    assert w[3] < 0.3


def test_late_listings_do_not_depend_on_the_form() -> None:
    X, Y = market(40, 50)
    found = []
    for rounds in (0, 40):
        learner = DiscountedVAW(40, gamma=0.95, dual_rounds=rounds)
        for t, (x, y) in enumerate(zip(X, Y, strict=True)):
            active = np.arange(40) < (30 if t < 20 else 40)
            seen = np.arange(40) != t
            learner.update(np.where(seen, x, np.nan), y, active=active, observed=seen)
        found.append(learner.weights)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-9)


# ------------------------------------------------------------------ adversarial data


def far_below(n: int) -> DiscountedVAW:
    return DiscountedVAW(n, gamma=0.6, lam=1e-6, hint="last", prior=None)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("make", "blocks"),
    [
        pytest.param(lambda n: VAW(n), 50, id="VAW"),
        pytest.param(lambda n: DiscountedVAW(n, gamma=0.99, hint="self"), 50, id="discounted"),
        pytest.param(far_below, 5, id="discounted far below 1 - 1/d"),
        pytest.param(far_below, 50, id="discounted far below 1 - 1/d, ten times as long", marks=pytest.mark.slow),
    ],
)
def test_a_hundred_thousand_adversarial_steps(make: Any, blocks: int) -> None:
    """Scales from 1e-12 to 1e12 by row and by column, constant and collinear columns, zero vectors: weights on the simplex.

    A variant of a class takes ten thousand, and the others in a slow test.
    """
    n, block = 8, 2000
    rng = np.random.default_rng(7)
    learner = make(n)
    for b in range(blocks):
        X = rng.standard_normal((block, n))
        X[:, 1] = 0.01  # constant
        X[:, 2] = 0.0  # never moves
        X[:, 4] = 2.0 * X[:, 3]  # collinear
        X[:, 5] = X[:, 3] + 1e-9 * X[:, 5]  # nearly so
        kind = rng.integers(0, 5, block)
        X[kind == 0] = 0.0
        X[kind == 1] *= 10.0 ** rng.uniform(-12, 12, (np.count_nonzero(kind == 1), 1))
        X[kind == 2] *= 10.0 ** rng.uniform(-12, 12, n)
        X[kind >= 3] *= 0.01
        Y = X @ np.full(n, 1.0 / n)
        Y[rng.random(block) < 0.1] = 10.0 ** rng.uniform(-12, 12) * (-1.0) ** b
        W = learner.run(X, Y.tolist())
        assert np.isfinite(W).all()
        assert_on_simplex(learner.weights)
        assert W.min() >= 0.0
        assert np.abs(W.sum(axis=1) - 1.0).max() <= 1e-12
        assert all(np.isfinite(v) for v in learner.diagnostics().values())


def test_after_the_storm_it_learns_again() -> None:
    """Old rounds of any size are forgotten by discounting."""
    rng = np.random.default_rng(8)
    learner = DiscountedVAW(4, gamma=0.9, lam=1e-4)
    storm = rng.standard_normal((200, 4)) * 10.0 ** rng.uniform(-12, 12, (200, 1))
    learner.run(storm, rng.standard_normal(200))
    X = 0.01 * rng.standard_normal((1200, 4))
    target = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(learner.run(X, X @ target)[-1], target, atol=1e-8)
