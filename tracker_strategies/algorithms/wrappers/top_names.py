"""At most K names of any learner's portfolio."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array, Mask, count, mask
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.numerics.thresholds import simplex
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import Simplex
from tracker_strategies.algorithms.wrappers._composition import checked_portfolio_learner, require_plain_set
from tracker_strategies.errors import ParameterError

FULL = 1e-12
"""What is left beside names that cannot be traded, up to this, is rounding."""


@learner(examples=lambda n: ({"learner": PA(n), "max_names": min(n, 3)},))
class TopNames(OnlineAlgorithm):
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

    _state = ("_inner",)
    _keeps_to_names = True

    def __init__(self, n_assets: int, *, learner: OnlineAlgorithm | None = None, max_names: int = 30) -> None:
        learner = checked_portfolio_learner(learner, count("n_assets", n_assets))
        require_plain_set("TopNames", learner)
        super().__init__(n_assets, feasible=Simplex())
        self.max_names = count("max_names", max_names)
        if self.max_names > self.n_assets:
            raise ParameterError(f"max_names={self.max_names} must be at most the number of assets, {self.n_assets}")
        self.learner, self._inner = learner.fresh(), learner.fresh()
        self._w = self._top(self._inner.weights, None)
        self._w.setflags(write=False)

    @property
    def n_targets(self) -> int:
        """Number of targets of the learner."""
        return int(getattr(self.learner, "n_targets", 1))

    def update(self, x: Any, y: Any, *, active: Any = None, observed: Any = None, **given: Any) -> Array:
        """Let the learner learn and return the top of its weights: :meth:`OnlineAlgorithm.update`."""
        masks = {name: value for name, value in (("active", active), ("observed", observed)) if value is not None}
        before = self._inner._active
        w = self._inner.update(x, y, **masks, **given)
        self._active = self._inner._active
        fixed = None
        if observed is not None:
            stay = np.ones(self.n_assets, dtype=np.bool_) if before is None else before
            stay = stay if self._active is None else stay & self._active
            seen = mask("observed", observed, self.n_assets)
            if not (stay & seen).any() and not self._w[~stay].any():
                return self._commit(self._w)  # nobody was seen and nobody leaves
            fixed = stay & ~seen if (stay & seen).any() else None
        return self._commit(self._top(w, fixed))

    def restrict(self, active: Any) -> Array:
        """Take the assets that may be held from now on: :meth:`OnlineAlgorithm.restrict`."""
        w = self._inner.restrict(active)
        self._active = self._inner._active
        if (self._w[w == 0.0] > 0.0).any() or not (self._w > 0.0).any():
            self._w = self._top(w, None)
            self._w.setflags(write=False)
        return self._w

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

    def _may_refuse(self, masked: bool) -> bool:
        return self._inner._may_refuse(masked)

    def _learn(self, *_: Any) -> Array:  # pragma: no cover (update does it all)
        raise NotImplementedError

    def diagnostics(self) -> dict[str, float]:
        """Return what the learner says."""
        return self._inner.diagnostics()
