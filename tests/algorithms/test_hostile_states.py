"""A state from outside is a learner that goes on, or a named error, before memory is taken for it. Many more: ``tests.storm``."""

from __future__ import annotations

import argparse
import math
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.storm import states
from tests.storm.bad_input.many import outcomes
from tracker_strategies import algorithms
from tracker_strategies.algorithms import AROW, PA, SLAIT, ConstantWeights, DiscountedVAW, Holdings, StronglyAdaptive, Vote
from tracker_strategies.algorithms._kinds import Kinds, real
from tracker_strategies.errors import ParameterError
from tracker_strategies.testing.rounds import market


def test_a_small_storm_of_hostile_states() -> None:
    given = argparse.Namespace(seed=5, first=0, count=400, jobs=1)
    assert [outcome for outcome in outcomes(states.trial, given, 150.0) if outcome.wrong] == []


def trained(cls: Any, **options: Any) -> Any:
    learner = cls(3, **options)
    learner.run(*market(3, 30))
    return learner.state_dict()


@pytest.mark.parametrize(
    ("cls", "options", "change"),
    [
        (PA, {}, {"n_assets": 10**12}),
        (AROW, {}, {"n_assets": 50_000, "_w": [1 / 50_000] * 50_000}),
        (SLAIT, {"window": 5}, {"window": 10**9}),
        (algorithms.RandomPortfolios, {"n_portfolios": 3}, {"n_portfolios": 10**9}),
        (algorithms.SketchedVAW, {"rank": 2}, {"rank": 10**8}),
        (algorithms.AdaptiveDiscount, {}, {"base": 1.0 + 1e-12, "gammas": None}),
        (DiscountedVAW, {}, {"n_targets": 10**9, "omega": None}),
        (DiscountedVAW, {}, {"_ridge._form._j": 64}),
        (DiscountedVAW, {}, {"_ridge._form.part": "FixedShare"}),
        (StronglyAdaptive, {"horizon": 100}, {"_ridges.99999999999._w": [1.0]}),
        (StronglyAdaptive, {"horizon": 100}, {"_vote._waiting": 0}),
        (PA, {}, {"_w": [0.5, 0.5, 0.5]}),
        (PA, {}, {"_w": [math.nan] * 3}),
        (PA, {}, {"_t": -1}),
        (PA, {}, {"_t": 10**400}),
        (PA, {}, {"_active": [False, False, False]}),
        (PA, {}, {"_more": 1.0}),
        (algorithms.RLS, {}, {"_B": -np.eye(3)}),
        (algorithms.SparsePLS, {"theta": 2}, {"_names": np.array([[0, 9], [0, 1], [0, 1]])}),
    ],
)
def test_what_is_not_its_own_shape_type_and_range_is_refused_by_name(cls: Any, options: dict[str, Any], change: Any) -> None:
    state = trained(cls, **options)
    for key, value in change.items():
        place = state if key == "n_assets" else state["params"] if key in state["params"] else state["state"]
        place[key] = value
    with pytest.raises(ParameterError, match=f"not a state of {cls.__name__}"):
        cls.from_state(state)


def test_learners_inside_are_checked_as_well() -> None:
    vote = Vote(3, members=[Holdings(3, learner=SLAIT(3, window=5)), ConstantWeights(3)])
    state = vote.state_dict()
    state["params"]["members"][0]["params"]["learner"]["params"]["window"] = 10**9
    with pytest.raises(ParameterError, match=r"_X must be an array of shape \(1000000000, 3\)"):
        Vote.from_state(state)
    state = vote.state_dict()
    state["params"]["members"][1]["n_assets"] = 10**9
    with pytest.raises(ParameterError, match="same number of assets, 3"):
        Vote.from_state(state)


class Remembering(PA):
    """A user's own, with an array that grows."""

    _state = (*PA._state, "_past")

    def __init__(self, n_assets: int, *, eps: float = 1e-4) -> None:
        super().__init__(n_assets, eps=eps)
        self._past = np.zeros((0, n_assets))

    def _learn(self, w: Any, x: Any, y: Any, xx: Any, W: Any, free: Any) -> Any:
        whole = np.zeros(self.n_assets)
        whole[slice(None) if free is None else free] = x
        self._past = np.vstack([self._past, whole])
        return super()._learn(w, x, y, xx, W, free)


class Telling(Remembering):
    """The same, and it says so."""

    _kinds: ClassVar[Kinds] = {"_past": real("*rounds", "n")}


def test_an_array_that_grows_is_described_in_one_line() -> None:
    X, Y = market(3, 5)
    silent, telling = Remembering(3), Telling(3)
    for learner in (silent, telling):
        for x, y in zip(X, Y, strict=True):
            learner.update(x, y)
    np.testing.assert_array_equal(silent.clone()._past, X)
    with pytest.raises(ParameterError, match=r"_past must be an array of shape \(0, 3\)"):
        Remembering.from_state(silent.state_dict())
    np.testing.assert_array_equal(Telling.from_state(telling.state_dict())._past, X)
