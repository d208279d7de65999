"""A budget for the tracking error: the largest share of the tilt that keeps to it, told from the rounds so far."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from tracker_strategies.algorithms import (
    PA,
    PAS,
    AlphaSignal,
    Budgeted,
    CappedSimplex,
    Constant,
    ConstantWeights,
    Holdings,
    MultiTargetPA,
    OnlineAlgorithm,
    Tilted,
    Vote,
)
from tracker_strategies.errors import InputError, ParameterError

N, RECENT = 4, 20


def stream(seed: int, rounds: int = 160, size: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    """Returns of names and of an index that is close to a mixture of them; volatility comes and goes."""
    rng = np.random.default_rng(seed)
    wild = size * np.exp(0.8 * np.sin(np.arange(rounds) / 15.0))[:, None]
    x = wild * rng.standard_normal((rounds, N))
    return x, x @ np.array([0.4, 0.3, 0.2, 0.1]) + 0.0005 * rng.standard_normal(rounds)


def per_year(W: np.ndarray, x: np.ndarray, y: np.ndarray, year: int) -> float:
    return math.sqrt(year * np.mean((np.einsum("ij,ij->i", W[:-1], x) - y) ** 2))


def pair(lam: float = 5.0) -> tuple[OnlineAlgorithm, OnlineAlgorithm]:
    return PAS(N, lam=lam), PAS(N, side=Constant(0.0))


def beyond(share: float, a: np.ndarray, z: np.ndarray, allowed: float) -> float:
    """By how much the mean square of the errors would have been above what is allowed, with that share of a tilt."""
    tilts = z != 0.0
    more = (a + share * z)[tilts] ** 2 - a[tilts] ** 2
    return float(np.mean(a**2) + (more.mean() if tilts.any() else 0.0) - allowed)


def by_definition(x: np.ndarray, y: np.ndarray, budget: float, year: int) -> np.ndarray:
    """The weights, from whole histories and a root finder."""
    tilted, plain = pair()
    V, U = plain.run(x, y), tilted.run(x, y)
    W, errors, b2 = [V[0]], [], budget**2 / year
    for t in range(1, len(x) + 1):
        errors.append(W[-1] @ x[t - 1] - y[t - 1])
        a = np.einsum("ij,ij->i", V[:t], x[:t]) - y[:t]
        size = np.linalg.norm(U[:t] - V[:t], axis=1)
        z = np.array([(U[s] - V[s]) @ x[s] / size[s] if size[s] > 1e-12 else 0.0 for s in range(t)])
        now = np.linalg.norm(U[t] - V[t])
        last = np.array(errors[-(year - 1) :])
        left = min(b2, (len(last) + 1) * b2 - last @ last, (t + 1) * b2 - np.square(errors).sum())
        share = 0.0
        if np.count_nonzero(z[-year:]) >= RECENT:
            share = 1.0
            for k in (year, RECENT):
                over = partial(beyond, a=a[-k:], z=now * z[-k:], allowed=left)
                inside = 0.0 if over(0.0) > 0.0 else 1.0 if over(1.0) <= 0.0 else brentq(over, 0.0, 1.0, xtol=1e-15)
                share = min(share, inside)
        W.append(V[t] + share * (U[t] - V[t]))
    return np.array(W)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), budget=st.floats(0.01, 0.3), year=st.sampled_from([20, 52, 100, 252]))
def test_the_share_is_the_largest_within_what_is_left_of_the_budget(seed: int, budget: float, year: int) -> None:
    x, y = stream(seed)
    tilted, plain = pair()
    learner = Budgeted(N, learner=tilted, plain=plain, max_tracking_error=budget, bars_per_year=year)
    np.testing.assert_allclose(learner.run(x, y), by_definition(x, y, budget, year), atol=1e-7)


def test_a_wide_budget_is_the_tilted_learner_and_a_narrow_one_the_plain_bit_by_bit() -> None:
    x, y = stream(1)
    tilted, plain = pair(lam=0.5)
    U, V = tilted.fresh().run(x, y), plain.fresh().run(x, y)
    wide = Budgeted(N, learner=tilted, plain=plain, max_tracking_error=1.0).run(x, y)
    np.testing.assert_array_equal(wide[: RECENT + 1], V[: RECENT + 1])
    np.testing.assert_array_equal(wide[RECENT + 2 :], U[RECENT + 2 :])
    narrow = Budgeted(N, learner=tilted, plain=plain, max_tracking_error="0.01%").run(x, y)
    np.testing.assert_array_equal(narrow, V)
    assert np.abs(U - V).max() > 0.01


def test_of_a_tilted_learner_the_plain_one_is_known() -> None:
    x, y = stream(2)
    alone = Budgeted(N, learner=Tilted(N, learner=PA(N), lam=3.0), max_tracking_error=0.1)
    beside = Budgeted(N, learner=Tilted(N, learner=PA(N), lam=3.0), plain=PA(N), max_tracking_error=0.1)
    W = alone.run(x, y)
    np.testing.assert_array_equal(W, beside.run(x, y))
    assert np.abs(W - PA(N).run(x, y)).max() > 0.01


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("year", [52, 252])
def test_what_is_realised_is_within_the_budget_where_the_plain_learner_is(seed: int, year: int) -> None:
    x, y = stream(seed, rounds=6 * year)
    tilted, plain = pair(lam=20.0)
    floor, asked = (per_year(each.fresh().run(x, y), x, y, year) for each in (plain, tilted))
    assert asked > 4.0 * floor
    for budget in (1.2 * floor, 2.0 * floor, 0.5 * asked):
        learner = Budgeted(N, learner=tilted, plain=plain, max_tracking_error=budget, bars_per_year=year)
        found = per_year(learner.run(x, y), x, y, year)
        assert 0.6 * budget < found <= 1.15 * budget


def test_a_tilt_is_cut_on_the_very_round_on_which_returns_jump() -> None:
    x, y = stream(3, rounds=100)
    learner = Budgeted(N, learner=Tilted(N, learner=PA(N), lam=1.0), max_tracking_error=0.03)
    learner.run(x, y)
    before = learner.diagnostics()
    learner.update(10.0 * x[-1], 10.0 * y[-1])
    after = learner.diagnostics()
    assert after["tilt_asked"] > 5.0 * before["tilt_asked"]
    assert after["tilt_share"] < 0.3 * before["tilt_share"]


def test_after_errors_beyond_the_budget_there_is_no_tilt_until_they_are_a_year_old_and_made_up_for() -> None:
    x, y = stream(4, rounds=200, size=0.002)
    y[60] += 0.05  # the index jumps away
    year = 52
    learner = Budgeted(N, learner=Tilted(N, learner=PA(N, eps=1.0), lam=50.0), max_tracking_error=0.05, bars_per_year=year)
    shares = []
    for x_t, y_t in zip(x, y, strict=True):
        learner.update(x_t, y_t)
        shares.append(learner.diagnostics()["tilt_share"])
    assert min(shares[40:60]) > 0.0
    assert max(shares[60 : 60 + year - 1]) == 0.0
    assert shares[-1] > 0.0


def test_what_the_target_is_lifted_by_is_no_error() -> None:
    x, y = stream(5)
    tilted, plain = (Tilted(N, learner=ConstantWeights(N, start=[0.4, 0.3, 0.2, 0.1]), lam=lam) for lam in (5.0, 1e-9))
    made = {"learner": tilted, "plain": plain, "max_tracking_error": 0.04}
    lifted = Budgeted(N, **made, lift=0.002)
    W = lifted.run(x, y + 0.002)
    np.testing.assert_allclose(W, Budgeted(N, **made).run(x, y), atol=1e-9)
    assert np.abs(Budgeted(N, **made).run(x, y + 0.002) - W).max() > 1e-3


def test_diagnostics_tell_what_was_asked_delivered_and_used() -> None:
    x, y = stream(6)
    learner = Budgeted(N, learner=Tilted(N, learner=PA(N), lam=20.0), max_tracking_error=0.06, bars_per_year=52.0)
    plain, W, shares = PA(N).run(x, y), [learner.weights], []
    for t, (x_t, y_t) in enumerate(zip(x, y, strict=True), 1):
        W.append(learner.update(x_t, y_t))
        told = learner.diagnostics()
        last = slice(max(0, t - 52), t)
        te, floor = (
            math.sqrt(52.0 * np.mean((np.einsum("ij,ij->i", w[last], x[last]) - y[last]) ** 2)) for w in (np.array(W), plain)
        )
        assert told["te_year"] == pytest.approx(te, rel=1e-9)
        assert told["te_plain"] == pytest.approx(floor, rel=1e-9)
        assert told["budget_used"] == pytest.approx(te / 0.06)
        assert told["tilt"] == pytest.approx(0.5 * np.abs(W[-1] - plain[t]).sum())
        assert told["tilt"] == pytest.approx(told["tilt_share"] * told["tilt_asked"], abs=1e-12)
        shares.append(told["tilt_share"])
    assert sum(0.0 < share < 1.0 for share in shares) >= 10


def test_a_round_that_the_side_information_refuses_changes_nobody() -> None:
    plain = PAS(2, side=Constant(0.0))
    learner = Budgeted(2, learner=PAS(2, side=AlphaSignal()), plain=plain)
    learner.update([0.02, -0.01], 0.01, signal=[1.0, 0.0])
    before = learner.state_dict()
    for signal in (None, [np.nan, 0.0]):
        with pytest.raises(InputError, match="signal"):
            learner.update([0.05, -0.01], 0.01, signal=signal)
    assert learner.state_dict() == before


def test_rounds_without_a_view_do_not_make_a_tilt_look_safe() -> None:
    """The risk of a tilt is told from the rounds that had one."""
    x, y = stream(7, rounds=200)
    made = {"side": AlphaSignal(), "lam": 0.5}
    always, rarely = (Budgeted(N, learner=Tilted(N, learner=PA(N), **made), max_tracking_error=0.03) for _ in range(2))
    view, none = np.array([1.0, 0.0, 0.0, -1.0]), np.zeros(N)
    for t, (x_t, y_t) in enumerate(zip(x, y, strict=True)):
        always.update(x_t, y_t, signal=view)
        rarely.update(x_t, y_t, signal=view if t % 5 == 4 else none)
    shares = [each.diagnostics()["tilt_share"] for each in (always, rarely)]
    assert 0.0 < shares[1] < 2.0 * shares[0] < 1.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Budgeted(N, learner=PAS(N)), "plain must be given for .*: the tracker without its tilt"),
        (lambda: Budgeted(N, learner=PAS(N), plain=PAS(N, feasible=CappedSimplex(0.5))), "must have the same feasible set"),
        (lambda: Budgeted(N, learner=PAS(N), plain=PA(3)), "for 4 assets"),
        (lambda: Budgeted(N, learner=MultiTargetPA(N, n_targets=2), plain=PA(N)), "one target"),
        (lambda: Tilted(N, learner=Budgeted(N, learner=PAS(N), plain=PA(N))), "Tilted goes inside Budgeted"),
        (lambda: Vote(N, members=[Budgeted(N, learner=PAS(N), plain=PA(N))]), "Vote goes inside Budgeted"),
        (lambda: Holdings(N, learner=Budgeted(N, learner=PAS(N), plain=PA(N))), "put Holdings around each of them"),
        (
            lambda: Budgeted(N, learner=PAS(N), plain=PA(N), max_tracking_error="2 percent"),
            "max_tracking_error must be a fraction",
        ),
        (lambda: Budgeted(N, learner=PAS(N), plain=PA(N), max_tracking_error=0.0), "above 0"),
        (lambda: Budgeted(N, learner=PAS(N), plain=PA(N), bars_per_year=12), "bars_per_year must be a finite number >= 20"),
    ],
)
def test_what_cannot_have_a_budget_is_refused(make, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()
