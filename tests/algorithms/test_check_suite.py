"""The checks that are shipped, on every learner of the project; and each of them fails for a learner that deserves it."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

from tests.algorithms.learners import CLASS, CLASSES, LEARNERS, UNFINISHED_FITS, Learner
from tracker_strategies import algorithms
from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.algorithms.registration import registration_of
from tracker_strategies.testing import check_learner
from tracker_strategies.testing.learner import CHECKS

LONG = "adversarial_rounds"
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda entry: entry.name)


def families() -> list[type]:
    """Every class of a learner in the package that no other one extends, or that is public."""
    for module in pkgutil.walk_packages(algorithms.__path__, "tracker_strategies.algorithms."):
        importlib.import_module(module.name)
    found: list[Any] = [OnlineAlgorithm]
    for cls in found:
        found += [each for each in cls.__subclasses__() if each.__module__.startswith("tracker_strategies.algorithms")]
    inner = {parent for cls in found for parent in cls.__mro__[1:]}
    return [cls for cls in dict.fromkeys(found) if cls not in inner or cls in CLASSES]


def test_every_learner_is_registered() -> None:
    assert not [cls.__name__ for cls in families() if registration_of(cls) is None]
    assert len(families()) >= 30


@each_learner
def test_every_learner_keeps_every_promise(learner: Learner) -> None:
    if learner.name in UNFINISHED_FITS:
        check_learner(learner.make, only=[LONG], rounds=learner.rounds)
        return
    ran = check_learner(learner.make, rounds=learner.rounds)
    assert len(ran) >= len(CHECKS) - 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [each for each in LEARNERS if 0 < each.rounds < CLASS and each.make(6).feasible.portfolio],
    ids=lambda entry: entry.name,
)
def test_a_hundred_thousand_adversarial_rounds(learner: Learner) -> None:
    check_learner(learner.make, only=[LONG], rounds=CLASS)
