"""A learner as a user would write one, and as no mandate likes it: other weights on most bars, some of them very large."""

from __future__ import annotations

import numpy as np

from tracker_strategies.algorithms import OnlineAlgorithm, Simplex
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.sets.feasible import FeasibleSet

#: The name under which commands and accounts find it.
OWN = "tests.storm.limits.own_learner:Restless"


class Restless(OnlineAlgorithm):
    """Draws a new portfolio in two of three rounds, from one name to all of them."""

    def __init__(self, n_assets: int) -> None:
        super().__init__(n_assets, feasible=Simplex())

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        rng = np.random.default_rng(self._t)
        if rng.random() < 1.0 / 3.0:
            return w
        draw = rng.gamma(rng.choice([0.05, 0.5, 5.0]), size=self.n_assets)
        mine = draw if free is None else draw[free]
        mine = mine / max(float(mine.sum()), 1e-9)
        return W.project(np.where(mine > 1e-4, mine, 0.0))
