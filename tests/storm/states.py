"""Learner states from outside: each gives a named error, or a learner that continues correctly."""

from __future__ import annotations

import argparse
import copy
import math
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tests.algorithms.learners import LEARNERS
from tests.storm.bad_input.many import storm
from tests.storm.bad_input.state_changes import changed
from tracker_strategies.algorithms import OnlineAlgorithm, SparseAdaGrad
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import fingerprint, market

COUNT = 2_000
MEMBERS: list[tuple[str, Callable[[int], Any]]] = [
    *((each.name, each.make) for each in LEARNERS),
    ("SparseAdaGrad", lambda n: SparseAdaGrad(n, regulariser="l1", lam=1e-4)),
]
AFTER = 25
"""Rounds that whoever was restored has to go on for."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """None beside the usual."""


def run(given: argparse.Namespace) -> int:
    """Try the cases, print what was found, and return how many cases failed."""
    return storm("states", trial, given, most_mb=150.0)


@cache
def trained(number: int, n: int, rounds: int, masked: bool) -> bytes:
    """The state of a learner in mid-stream, as bytes that nobody can change."""
    learner = MEMBERS[number][1](n)
    go_on(learner, rounds, seed=1)
    if masked and n > 1 and isinstance(learner, OnlineAlgorithm):
        learner.restrict(np.arange(n) > 0)
    return pickle.dumps((type(learner), learner.state_dict()))


def go_on(learner: Any, rounds: int, seed: int) -> None:
    """Learn from ordinary rounds; a round that a learner may refuse does not count."""
    n = learner.n_assets
    X, Y = market(n, max(rounds, 2), seed=seed)
    for t in range(rounds):
        if isinstance(learner, SparseAdaGrad):
            learner.update([t % n], [X[t, 0]], math.copysign(1.0, Y[t]))
            continue
        masks = {"active": np.arange(n) != t % n} if n > 1 and t % 9 == 4 else {}
        several = int(getattr(learner, "n_targets", 1))
        for target in (float(Y[t]), [float(Y[t])] * several):
            try:
                learner.update(X[t], target, **masks)
                break
            except InputError:
                if target is not float(Y[t]) and not learner._may_refuse(bool(masks)) and several == 1:
                    raise


def trial(rng: np.random.Generator) -> tuple[str, str, str]:
    """One state, changed or left alone."""
    number = int(rng.integers(len(MEMBERS)))
    n, rounds, masked = int(rng.choice([1, 2, 3, 6])), int(rng.choice([0, 1, 3, 30])), bool(rng.random() < 0.2)
    try:
        cls, state = pickle.loads(trained(number, n, rounds, masked))
    except (ParameterError, InputError):
        return "no such learner", "skipped", ""
    if rng.random() < 0.05:
        return "left alone", "read", unchanged(cls, state)
    kind, state = changed(state, rng)
    name = f"{MEMBERS[number][0]}, {n} assets, {rounds} rounds"
    try:
        learner = cls.from_state(state)
    except ParameterError:
        return kind, "refused", ""
    except Exception as problem:
        return kind, "raised", f"{name}: {type(problem).__name__}: {problem!s:.200}"
    return kind, "read", judged(name, learner)


def unchanged(cls: Any, state: dict[str, Any]) -> str:
    """Whether a state that nobody touched restores to the very same learner."""
    again = cls.from_state(copy.deepcopy(state))
    twin = cls.from_state(again.state_dict())
    same = fingerprint(again) == fingerprint(twin) if isinstance(again, OnlineAlgorithm) else True
    return "" if same and repr(again.state_dict()) == repr(state) else "a good state does not restore to itself"


def judged(name: str, learner: Any) -> str:
    """Whether a learner that was restored goes on: its weights are finite, and on the simplex if they belong there."""
    try:
        with np.errstate(all="ignore"):
            go_on(learner, AFTER, seed=2)
            w = learner.weights
            learner.diagnostics() if hasattr(learner, "diagnostics") else None
    except Exception as problem:
        return f"{name}: loads, and then {type(problem).__name__}: {problem!s:.200}"
    if not np.isfinite(w).all():
        return f"{name}: loads, and then gives {w}"
    W = learner.feasible
    if W.portfolio and not (w.min() >= 0.0 and abs(w.sum() - W.total) <= 1e-9 * max(W.total, 1.0)):
        return f"{name}: loads, and then gives weights with sum {w.sum():.12g} and minimum {w.min():g}"
    return ""
