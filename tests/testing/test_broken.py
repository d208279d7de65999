"""Each check fails, by the name of its promise, for a learner or a strategy that breaks it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from tests.testing.broken_learners import BREAKERS, Forgetful, Gradient, Meddler
from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.errors import ParameterError, TrackerError
from tracker_strategies.strategies import PATracker, TrackerStrategy
from tracker_strategies.testing import CheckError, check_learner, check_strategy
from tracker_strategies.testing.learner import CHECKS


def test_the_sound_learner_passes() -> None:
    assert len(check_learner(Gradient, rounds=2000)) == len(CHECKS) == len(BREAKERS)


@pytest.mark.parametrize("check", CHECKS)
def test_a_broken_promise_of_a_learner_is_named(check: str) -> None:
    broken = BREAKERS[check]
    promise = CHECKS[check].__doc__.strip().splitlines()[0].rstrip(".")
    with pytest.raises(CheckError) as found:
        check_learner(broken, only=[check], rounds=2000)
    assert promise[:30] in str(found.value)
    assert broken.__name__ in str(found.value)
    assert isinstance(found.value, AssertionError)
    assert isinstance(found.value, TrackerError)


def test_who_changes_its_input_is_told_so_whatever_else_it_breaks() -> None:
    with pytest.raises(CheckError, match="neither changed nor kept"):
        check_learner(Meddler, only=["inputs_are_neither_changed_nor_kept"])
    with pytest.raises(CheckError, match="Meddler"):
        check_learner(Meddler, rounds=2000)


class Peeking(PATracker):
    """Reads the next close from the panel behind its feeds."""

    peek: ClassVar[Any] = None

    def next(self) -> None:
        super().next()
        panel, bar = self.datas[0].panel, self.bar
        if bar is not None and len(self.datas[0]) < panel.n_bars:
            ahead = np.nan_to_num(panel.close[len(self.datas[0])], nan=0.0)
            self.tracker.weights = ahead / ahead.sum()


class ByPosition(TrackerStrategy):
    """Holds the first feed, whatever it is called."""

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        return Gradient(len(symbols))

    @classmethod
    def by_position(cls, p: Any) -> bool:
        return True

    @classmethod
    def make_tracker(cls, *args: Any, **options: Any) -> Any:
        tracker = super().make_tracker(*args, **options)
        tracker._out = lambda weights: np.eye(len(weights))[0]
        return tracker


class Careless(TrackerStrategy):
    """Its learner forgets in mid-run what it does not store."""

    learner = Forgetful


class Many(TrackerStrategy):
    """Leaves its mandate out."""

    learner = Gradient

    @classmethod
    def make_tracker(cls, *args: Any, **kwargs: Any) -> Any:
        tracker = super().make_tracker(*args, **kwargs)
        tracker.keeper = None
        return tracker


@pytest.mark.parametrize(
    ("cls", "only", "words"),
    [
        (Peeking, "lookahead", "depend on data after"),
        (Peeking, "parity", "decide and earn the same"),
        (ByPosition, "feed_order", "order of the feeds changes nothing"),
        (Careless, "state", "continues bit by bit"),
        (Many, "composition", "hold together"),
    ],
)
def test_a_broken_promise_of_a_strategy_is_named(cls: Any, only: str, words: str) -> None:
    with pytest.raises(CheckError, match=words):
        check_strategy(cls, only=[only])


def test_a_check_that_does_not_exist_is_named() -> None:
    for check, subject in ((check_learner, Gradient), (check_strategy, PATracker)):
        with pytest.raises(ParameterError, match="no check 'luck'; choose one of"):
            check(subject, only=["luck"])  # type: ignore[operator]
