"""At most K names of any learner's portfolio."""

from __future__ import annotations

import numpy as np

from tracker_strategies._checks import count
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.numerics.thresholds import simplex
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.wrapper import Turn, Wrapper, require_plain_set
from tracker_strategies.errors import ParameterError

FULL = 1e-12
"""What is left beside names that cannot be traded, up to this, is rounding."""


@learner(examples=lambda n: ({"learner": PA(n), "max_names": min(n, 3)},))
class TopNames(Wrapper):
    r"""The K largest weights of a learner, projected on the simplex; the learner itself goes on with all names.

    This is the nearest portfolio of at most K names to the learner's, and a plain way to get one. It knows nothing of how names
    stand in for each other: :class:`~tracker_strategies.algorithms.SparseLeastSquares` chooses better.

    Parameters
    ----------
    n_assets : int
    learner : OnlineAlgorithm
        A learner of portfolios for N assets that has learned nothing so far; a fresh copy of it learns. One with caps or group
        limits is refused: the largest weights alone would break them.
    max_names : int
        Most names held, 1 to N. A name that was not seen keeps its weight and counts.
    """

    _keeps_to_names = True

    def __init__(self, n_assets: int, *, learner: OnlineAlgorithm | None = None, max_names: int = 30) -> None:
        super().__init__(n_assets, learner=learner)
        self.max_names = count("max_names", max_names)
        if self.max_names > self.n_assets:
            raise ParameterError(f"max_names={self.max_names} must be at most the number of assets, {self.n_assets}")
        self._w = self._top(self._inner.weights, None)
        self._w.setflags(write=False)

    @classmethod
    def _check(cls, learner: OnlineAlgorithm) -> None:
        super()._check(learner)
        require_plain_set("TopNames", learner)

    def _shape(self, turn: Turn, wish: Array) -> Array:
        return self._top(wish, turn.frozen)

    def _unmoved(self, held: Array, wish: Array) -> Array:
        return self._w if held is self._w else self._top(wish, None)  # the same unless a name leaves that was held

    def _top(self, w: Array, fixed: Mask | None) -> Array:
        kept = np.zeros(self.n_assets) if fixed is None else np.where(fixed, self._w, 0.0)
        most, room = self.max_names - int(np.count_nonzero(kept)), 1.0 - float(kept.sum())
        if most <= 0 or room <= FULL:
            return kept if abs(room) <= FULL else kept / kept.sum()
        wanted = w if fixed is None else np.where(fixed, 0.0, w)
        # Only names at or above the last place are sorted; among equals the first come first.
        least = float(np.partition(wanted, -most)[-most]) if most < self.n_assets else 0.0
        best = np.flatnonzero((wanted >= least) & (wanted > 0.0))
        best = best[np.argsort(-wanted[best], kind="stable")[:most]]
        if not len(best):
            return kept / kept.sum() if kept.any() else w.copy()
        kept[best] = simplex(wanted[best], room)
        return kept
