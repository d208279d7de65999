"""A wrapper of one's own, as a user would write it: what the project's wrappers, which all have a rank, cannot show."""

from __future__ import annotations

import numpy as np

from tracker_strategies._checks import fraction
from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.wrapper import Turn, Wrapper


class Halfway(Wrapper):
    """Goes a part of the way from what it holds to what its learner wants. No rank, weights and a state of its own."""

    _state = ("_inner", "_moved")

    def __init__(self, n_assets: int, *, learner: OnlineAlgorithm | None = None, pace: float = 0.5) -> None:
        super().__init__(n_assets, learner=learner)
        self.pace, self._moved = fraction("pace", pace), 0.0

    def _shape(self, turn: Turn, wish: Array) -> Array:
        between = (1.0 - self.pace) * turn.held + self.pace * wish
        w = between if turn.free is None else turn.filled(turn.W.project(between[turn.free]))
        self._moved = float(np.abs(w - turn.held).sum())
        return w

    def diagnostics(self) -> dict[str, float]:
        return {**self._inner.diagnostics(), "moved": self._moved}
