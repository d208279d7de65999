"""A state names its classes so that nobody's class is taken for another's."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tracker_strategies import algorithms
from tracker_strategies.algorithms import CappedSimplex, ConstantWeights, Holdings, NegativeLogReturn, OnlineAlgorithm, Vote
from tracker_strategies.algorithms._names import PROJECT
from tracker_strategies.algorithms._state import Part, Stored
from tracker_strategies.errors import ParameterError
from tracker_strategies.testing.rounds import fingerprint, market


class PA(ConstantWeights):
    """A user's own, of the same name as ours."""


class TopNames(ConstantWeights):
    """A user's own, of the same name as one of ours that is gone."""


OURS = algorithms.PA
WRAPPED = {
    "holdings": lambda learner: Holdings(3, learner=learner),
    "vote": lambda learner: Vote(3, members=[learner, ConstantWeights(3)]),
    "vote in holdings": lambda learner: Vote(3, members=[Holdings(3, learner=learner)]),
}


def through_json(learner: OnlineAlgorithm) -> Any:
    return json.loads(json.dumps(learner.state_dict(), allow_nan=False))


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize("cls", [PA, OURS], ids=["theirs", "ours"])
def test_two_classes_of_one_name_restore_as_themselves(cls: type[OnlineAlgorithm], wrap: Any) -> None:
    X, Y = market(3, 40)
    learner = wrap(cls(3))
    learner.run(X[:20], Y[:20])
    again = type(learner).from_state(through_json(learner))
    inner = again
    while not isinstance(inner, PA | OURS):
        inner = inner.learner if isinstance(inner, Holdings) else inner.members[0]
    assert type(inner) is cls
    np.testing.assert_array_equal(again.run(X[20:], Y[20:]), learner.run(X[20:], Y[20:]))
    assert fingerprint(again) == fingerprint(learner)


def test_neither_takes_the_state_of_the_other() -> None:
    for one, other in ((PA, OURS), (OURS, PA)):
        with pytest.raises(ParameterError, match=r"a state of .*PA version 1 cannot restore"):
            one.from_state(other(3).state_dict())


def test_classes_of_the_project_go_by_their_bare_names() -> None:
    assert OURS(3).state_dict()["algorithm"] == "PA"
    assert PA(3).state_dict()["algorithm"] == f"{__name__}.PA"
    waiting, names = [Stored], []
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        names += [cls.__name__] if cls.__module__.partition(".")[0] == PROJECT else []
    assert len(names) == len(set(names)), "two classes of the project under one name cannot both be restored"


def test_a_state_is_read_where_nothing_else_was_loaded() -> None:
    """The names of the package load when they are asked for; a state asks for those that it holds."""
    limited = OURS(4, feasible=algorithms.GroupedSimplex([[0, 1]], upper=0.7))
    side = algorithms.SwitchingCost(0.1) + algorithms.NegativeLogReturn()
    tilted = algorithms.Tilted(4, learner=Vote(4, members=[Holdings(4, learner=limited)]), side=side)
    code = "import json, sys; from tracker_strategies.algorithms import Tilted; print(Tilted.from_state(json.load(sys.stdin)))"
    run = [sys.executable, "-c", code]
    printed = subprocess.run(run, input=json.dumps(tilted.state_dict()), capture_output=True, text=True, check=True).stdout
    assert printed.strip() == repr(tilted)


def test_a_name_of_another_kind_is_refused() -> None:
    state = Vote(3, members=[OURS(3)]).state_dict()
    part = next(cls for cls in Part.__subclasses__())
    for name in ("Unheard", part.__name__, ["PA"]):
        state["params"]["members"][0]["algorithm"] = name
        with pytest.raises(ParameterError):
            Vote.from_state(state)


def state_of_a_wrapper_that_is_gone(name: str, **params: Any) -> dict[str, Any]:
    """The state around PA, as it was written."""
    head = OURS(3).state_dict()
    inner = head.pop("state")
    state = {"_w": inner["_w"], "_active": None, "_t": 0} | {f"_inner.{key}": value for key, value in inner.items()}
    return {"algorithm": name, "version": 1, "n_assets": 3, "params": {"learner": head, **params}, "state": state}


@pytest.mark.parametrize(
    ("stored", "limit"),
    [
        (state_of_a_wrapper_that_is_gone("TopNames", max_names=2), "max_names"),
        (state_of_a_wrapper_that_is_gone("CostAware", cost_bps=10.0, horizon=5), "cost_aware"),
    ],
    ids=["TopNames", "CostAware"],
)
def test_the_state_of_a_wrapper_that_is_gone_is_refused_with_what_takes_its_place(stored: dict[str, Any], limit: str) -> None:
    inside = {key: value for key, value in stored.items() if key != "state"}
    vote, tilted = Vote(3, members=[OURS(3)]).state_dict(), algorithms.Tilted(3, learner=OURS(3)).state_dict()
    vote["params"]["members"], tilted["params"]["learner"] = [inside], inside
    for cls, state in ((OnlineAlgorithm, stored), (OURS, stored), (Vote, vote), (algorithms.Tilted, tilted)):
        with pytest.raises(
            ParameterError, match=rf"{stored['algorithm']} cannot be restored.* was removed.* {limit}=\.\.\., or mandate=Mandate"
        ):
            cls.from_state(state)


def test_a_users_class_of_the_same_name_as_one_that_is_gone_is_restored() -> None:
    learner = Vote(3, members=[TopNames(3)])
    assert type(Vote.from_state(through_json(learner)).members[0]) is TopNames


def test_a_parameter_that_nobody_can_read_is_refused() -> None:
    state = OURS(3).state_dict()
    state["params"]["feasible"] = {"sort": "simplex"}
    with pytest.raises(ParameterError, match="algorithm, kind, term"):
        OURS.from_state(state)


def test_classes_that_one_function_makes_are_refused_by_name_rather_than_mixed_up() -> None:
    def made(factor: float) -> type[OnlineAlgorithm]:
        class Local(ConstantWeights):
            """Another one on every call."""

            scale = factor

        return Local

    vote = Vote(3, members=[made(1.0)(3), made(2.0)(3)])
    assert [member.scale for member in vote.clone().members] == [1.0, 2.0]
    with pytest.raises(ParameterError, match="name of several classes"):
        Vote.from_state(through_json(vote))


class Leaning(NegativeLogReturn):
    """A user's term; it inherits the tag of ours."""


class Narrow(CappedSimplex):
    """A user's set, likewise."""


def test_a_users_term_or_set_never_restores_as_the_one_it_is_derived_from() -> None:
    for learner, name, own in (
        (algorithms.PAS(3, side=Leaning()), "side", Leaning()),
        (algorithms.PAS(3, side=Leaning() + algorithms.SwitchingCost(0.1)), "side", Leaning() + algorithms.SwitchingCost(0.1)),
        (OURS(3, feasible=Narrow(0.6)), "feasible", Narrow(0.6)),
    ):
        stored = through_json(learner)
        with pytest.raises(ParameterError, match=r"test_state\.(Leaning|Narrow)"):
            type(learner).from_state(stored)
        again = type(learner).from_state(stored, **{name: own})
        assert type(getattr(again, name)) is type(getattr(learner, name))
        assert fingerprint(learner.clone()) == fingerprint(learner)
