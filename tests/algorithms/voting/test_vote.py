"""The vote of trackers: any learners, one portfolio, nothing half done."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from tests.algorithms.learners import LEARNERS
from tests.algorithms.wrappers.halfway import Halfway
from tracker_strategies.algorithms import (
    APAS,
    OGD,
    PA,
    PAS,
    SLAIT,
    VAW,
    AdaptiveDiscount,
    AlphaSignal,
    Budgeted,
    CappedSimplex,
    ConstantWeights,
    NegativeLogReturn,
    OnlineAlgorithm,
    RealSpace,
    Simplex,
    Tilted,
    Vote,
)
from tracker_strategies.algorithms.numerics.expert_weights import share_of
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import assert_on_simplex, fingerprint, market, without


def test_every_tracker_can_vote() -> None:
    """Each learner of the project in one vote: the weighted mean of what they hold."""
    X, Y = market(6, 40)
    made = [learner.make(6) for learner in LEARNERS if "classification" not in learner.name]
    members = [m for m in made if m.feasible.portfolio and not isinstance(m, Vote | Tilted | Budgeted)]  # these go around it
    vote = Vote(6, members=members)
    alone = [m.clone() for m in members]
    for x, y in zip(X, Y, strict=True):
        w = vote.update(x, y)
        assert_on_simplex(w)
        for m in alone:
            m.update(x, y)
        held = np.concatenate([m.portfolios for m in alone])
        np.testing.assert_allclose(w, vote.p @ held, rtol=0, atol=1e-12)
    assert len(vote.diagnostics()) == 2 + len(vote.names) > 2 + len(members)
    assert sum(v for name, v in vote.diagnostics().items() if name.startswith("p_")) == pytest.approx(1.0)


def test_it_follows_the_best_member() -> None:
    X, Y = market(8, 600)
    members = [PA(8), AdaptiveDiscount(8), ConstantWeights(8)]
    vote = Vote(8, members=members)
    errors = np.zeros((600, 4))
    alone = [m.clone() for m in members]
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        errors[t] = [learner.predict(x) - y for learner in (vote, *alone)]
        for learner in (vote, *alone):
            learner.update(x, y)
    rms = np.sqrt((errors[300:] ** 2).mean(axis=0))
    assert rms[0] <= 1.02 * rms[1:].min()
    assert vote.diagnostics()["p_ConstantWeights"] < 0.05


@pytest.mark.parametrize("seed", range(5))
def test_the_regret_against_passive_aggressive_members_is_bounded(seed: int) -> None:
    """Theorem E.1 for trackers of any kind: here PA, judged by the returns of their portfolios."""
    X, Y = market(5, 300, seed=seed)
    members = [PA(5, eps=eps) for eps in (0.0, 1e-4, 1e-3, 1e-2)]
    vote = Vote(5, members=members, rate=0.5, share=None)
    alone = [m.clone() for m in members]
    own, theirs, largest = 0.0, np.zeros(4), 0.0
    for x, y in zip(X, Y, strict=True):
        losses = np.array([0.5 * (m.predict(x) - y) ** 2 for m in alone])
        vote.update(x, y)
        for m in alone:
            m.update(x, y)
        own += vote.diagnostics()["loss"]
        theirs += losses
        largest = max(largest, float(losses.max()))
    bound = (2.0 * math.log(4 / share_of(300)) + 1.0) * 2.0 * largest
    assert own - theirs.min() <= bound
    assert vote.diagnostics()["loss"] == pytest.approx(0.5 * (vote.diagnostics()["prediction"] - Y[-1]) ** 2)


def test_the_portfolio_that_is_judged_is_the_one_that_is_held() -> None:
    X, Y = market(4, 30)
    vote = Vote(4, members=[PA(4), VAW(4)])
    for x, y in zip(X, Y, strict=True):
        expected = vote.predict(x)
        vote.update(x, y)
        assert vote.diagnostics()["prediction"] == pytest.approx(expected, abs=1e-15)


def test_masks_reach_the_members() -> None:
    X, Y = market(6, 60)
    vote = Vote(6, members=[PA(6), VAW(6), SLAIT(6, window=12, every=3, accelerate=False, starts=2)])
    active, seen = without(1), without(4)
    for x, y in zip(X[:30], Y[:30], strict=True):
        vote.update(np.where(active & seen, x, np.nan), y, active=active, observed=seen)
        for member in vote._members:
            assert member.weights[1] == 0.0
    vote.restrict(without(1, 2))
    assert all(m.weights[2] == 0.0 for m in vote._members)
    assert_on_simplex(vote.update(X[30], Y[30]))


def test_members_keep_what_cannot_be_traded_when_others_leave() -> None:
    alone = ConstantWeights(3)
    vote = Vote(3, members=[alone, PA(3)])
    masks = {"active": [True, True, False], "observed": [True, False, True]}
    w = alone.clone().update([0.01, 0.02, 0.0], 0.01, **masks)
    vote.update([0.01, 0.02, 0.0], 0.01, **masks)
    np.testing.assert_array_equal(vote._members[0].weights, w)
    assert vote._members[1].weights[1] == w[1] == 1.0 / 3.0


def test_gradients_without_bound_change_nobody() -> None:
    vote = Vote(3, members=[PA(3, feasible=RealSpace()), OGD(3, eta=1e60, feasible=RealSpace())])
    vote.update([1e39, 0.0, 1e39], 1.0)
    before = fingerprint(vote)
    with pytest.raises(InputError, match="gradient"):
        vote.update([1e39, 0.0, 1e39], 1.0)
    assert fingerprint(vote) == before


def test_a_round_that_one_member_refuses_changes_nobody() -> None:
    """PAS with the log return cannot take a loss of more than everything; the others could."""
    X, Y = market(4, 20)
    for members in (
        [PA(4), VAW(4), PAS(4, side=NegativeLogReturn())],
        [Halfway(4, learner=PAS(4)), PA(4)],
    ):
        vote = Vote(4, members=members)
        vote.run(X, Y)
        before = fingerprint(vote)
        with pytest.raises(InputError):
            vote.update([-2.0] * 4, 0.0)
        assert fingerprint(vote) == before


def test_caps_that_cannot_be_met_change_nobody() -> None:
    X, Y = market(4, 20)
    vote = Vote(4, members=[PA(4), VAW(4, feasible=CappedSimplex(0.3)), PA(4, feasible=CappedSimplex(0.6))])
    vote.run(X, Y)
    before = fingerprint(vote)
    for masks in ({"active": without(0, n=4)}, {"active": without(0, n=4), "observed": without(0, 1, 2, 3, n=4)}):
        with pytest.raises(InputError, match=r"caps|may be held"):
            vote.update(X[0], Y[0], **masks)
        with pytest.raises(InputError, match=r"caps|may be held"):
            vote.restrict(without(0, n=4))
        assert fingerprint(vote) == before


def test_signals_reach_those_who_read_them() -> None:
    X, Y = market(3, 5)
    reader = PAS(3, side=AlphaSignal(1.0, optional=True), lam=0.1)
    vote, alone = Vote(3, members=[PA(3), reader]), reader.clone()
    signal = np.array([1.0, 0.0, 0.0])
    for x, y in zip(X, Y, strict=True):
        vote.update(x, y, signal=signal)
        alone.update(x, y, signal=signal)
    np.testing.assert_array_equal(vote._members[1].weights, alone.weights)


def test_the_given_members_are_templates() -> None:
    """They stay as they are; their fresh copies vote, which makes a restored vote the same as the first one."""
    X, Y = market(3, 20)
    given = PA(3)
    before = fingerprint(given)
    vote = Vote(3, members=[given])
    vote.run(X, Y)
    assert fingerprint(given) == before


def test_a_vote_of_light_members_goes_through_json() -> None:
    X, Y = market(4, 60)
    vote = Vote(4, members=[PA(4, feasible=CappedSimplex(0.5)), APAS(4), Halfway(4, learner=PA(4, eps=0.0)), ConstantWeights(4)])
    vote.run(X[:30], Y[:30])
    text = json.dumps(vote.state_dict(), allow_nan=False)
    restored = Vote.from_state(json.loads(text))
    np.testing.assert_array_equal(restored.run(X[30:], Y[30:]), vote.run(X[30:], Y[30:]))
    assert fingerprint(restored) == fingerprint(vote)
    assert repr(restored.members) == repr(vote.members)


def test_a_state_names_its_members() -> None:
    vote = Vote(2, members=[PA(2), VAW(2)])
    state = vote.state_dict()
    assert [m["algorithm"] for m in state["params"]["members"]] == ["PA", "VAW"]
    state["params"]["members"][0]["algorithm"] = "Unheard"
    with pytest.raises(ParameterError, match="Unheard"):
        Vote.from_state(state)
    state = vote.state_dict()
    del state["state"]["_members.1._w"]
    with pytest.raises(ParameterError, match="_w"):
        Vote.from_state(state)


class Elsewhere:
    """No learner."""


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"members": []}, "at least one"),
        ({"members": [Elsewhere()]}, "members must be a learner"),
        ({"members": [PA(2)]}, "for 3 assets"),
        ({"members": [VAW(3, n_targets=2)]}, "one target"),
        ({"members": [PA(3), PA(3)], "names": ["a", "a"]}, "names"),
        ({"members": [PA(3)], "names": "a"}, "names"),
        ({"members": [PA(3)], "rate": 0.0}, "rate"),
        ({"members": [PA(3)], "share": 1.0}, "share"),
    ],
)
def test_bad_parameters_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Vote(3, **wrong)


def test_names_and_sets_follow_from_the_members() -> None:
    capped = CappedSimplex(0.5)
    assert Vote(3, members=[PA(3), PA(3), VAW(3)]).names == ["PA_1", "PA_2", "VAW"]
    assert Vote(3, members=[PA(3), VAW(3)], names=["a", "b"]).diagnostics().keys() >= {"p_a", "p_b"}
    assert Vote(3, members=[PA(3, feasible=capped), VAW(3, feasible=capped)]).feasible is capped
    assert isinstance(Vote(3, members=[PA(3), VAW(3, feasible=capped)]).feasible, Simplex)
    members: list[OnlineAlgorithm] = [PA(3)]
    assert Vote(3, members=members).members is not members
