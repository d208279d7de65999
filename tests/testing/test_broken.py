"""Each check fails, by the name of its promise, for a learner or a strategy that breaks it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from tracker_strategies.algorithms import OnlineAlgorithm, Simplex
from tracker_strategies.errors import ParameterError, TrackerError
from tracker_strategies.strategies import PATracker, TrackerStrategy
from tracker_strategies.testing import CheckError, check_learner, check_strategy


class Gradient(OnlineAlgorithm):
    """A sound learner, for the others to break."""

    _state = ("_seen",)

    def __init__(self, n_assets: int, *, eta: float = 20.0) -> None:
        super().__init__(n_assets, feasible=Simplex())
        self.eta, self._seen = eta, 0.0

    def _learn(self, w: Any, x: Any, y: float, xx: float, W: Any, free: Any) -> Any:
        self._seen += xx
        return W.project(w - self.eta / (1.0 + self._seen) * (float(w @ x) - y) * x)


class Forgetful(Gradient):
    """Forgets to name its state."""

    _state = ()


class Keeper(Gradient):
    """Keeps a view of its input."""

    def update(self, x: Any, y: Any, **masks: Any) -> Any:
        learned = super().update(self._kept if hasattr(self, "_kept") else x, y, **masks)
        self._kept = x
        return learned


class Meddler(Gradient):
    """Changes its input."""

    def update(self, x: Any, y: Any, **masks: Any) -> Any:
        learned = super().update(x, y, **masks)
        if isinstance(x, np.ndarray):
            x *= 0.5
        return learned


class Partial(Gradient):
    """Likes the first asset best."""

    def _learn(self, w: Any, x: Any, *rest: Any) -> Any:
        return super()._learn(w, np.concatenate([2.0 * x[:1], x[1:]]), *rest)


class Hoarder(Gradient):
    """Remembers every round."""

    def __init__(self, n_assets: int, *, eta: float = 20.0) -> None:
        super().__init__(n_assets, eta=eta)
        self._all: list[Any] = []

    def _learn(self, w: Any, x: Any, *rest: Any) -> Any:
        self._all.append(x.copy())
        return super()._learn(w, x, *rest)


class Hasty(Gradient):
    """Learns before it has looked whether it may."""

    def update(self, x: Any, y: Any, **masks: Any) -> Any:
        self._seen += 1.0
        return super().update(x, y, **masks)


class Leaver(Gradient):
    """Steps off the simplex when the market is wild."""

    def _learn(self, w: Any, x: Any, y: float, xx: float, W: Any, free: Any) -> Any:
        return super()._learn(w, x, y, xx, W, free) * (1.0 + 1e-6 * (xx > 1.0))


class Mover(Gradient):
    """Moves names that nobody has seen."""

    def update(self, x: Any, y: Any, *, active: Any = None, observed: Any = None) -> Any:
        return super().update(np.nan_to_num(x, nan=0.0, posinf=0.0) if observed is not None else x, y, active=active)


BROKEN: dict[Any, str] = {
    Forgetful: "independent|round trip|restores",
    Keeper: "neither changed nor kept",
    Meddler: "neither changed nor kept",
    Partial: "Permuting assets permutes weights",
    Hoarder: "Memory does not grow",
    Hasty: "Bad input is an InputError and changes nothing",
    Leaver: "on the simplex in adversarial rounds",
    Mover: "Unseen assets keep their weights",
}
ONLY = {
    Keeper: ["inputs_are_neither_changed_nor_kept"],
    Meddler: ["inputs_are_neither_changed_nor_kept"],
    Mover: ["unseen_assets_are_frozen"],
    Hasty: ["bad_input_changes_nothing"],
}


def test_the_sound_learner_passes() -> None:
    assert len(check_learner(Gradient, rounds=2000)) == 28


@pytest.mark.parametrize("cls", BROKEN, ids=lambda cls: cls.__name__)
def test_a_broken_promise_of_a_learner_is_named(cls: Any) -> None:
    with pytest.raises(CheckError, match=BROKEN[cls]) as found:
        check_learner(cls, only=ONLY.get(cls), rounds=2000)
    assert cls.__name__ in str(found.value)
    assert isinstance(found.value, AssertionError)
    assert isinstance(found.value, TrackerError)


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
    """Says that it keeps to a few names itself, and does not."""

    learner = Gradient
    chooses_names = True


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
        with pytest.raises(ParameterError, match="no check 'luck'; choose among"):
            check(subject, only=["luck"])  # type: ignore[operator]
