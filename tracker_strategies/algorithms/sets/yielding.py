"""Sets whose limits give way where the names of a round cannot keep them: somebody after the learner keeps them anyway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.sets.feasible import KINDS, CappedSimplex, FeasibleSet, Simplex
from tracker_strategies.algorithms.sets.grouped import GroupedSimplex
from tracker_strategies.errors import InputError


@dataclass(frozen=True, eq=False)
class YieldingCaps(CappedSimplex):
    """The capped simplex, or the simplex in rounds in which the names that may be held cannot reach the total within their caps.

    A name that is halted above its cap, or one that leaves when all others are full, is no error in a run whose mandate decides
    after the learner.
    """

    kind: ClassVar[str] = "yielding capped"

    def slice(self, free: Mask, fixed: Mask, w: Array) -> FeasibleSet:  # type: ignore[override]
        """Return the caps of the free coordinates, or no caps where they could not be kept."""
        try:
            return super().slice(free, fixed, w)
        except InputError:
            return Simplex(max(self.total - float(w[fixed].sum()), 0.0))


@dataclass(frozen=True, eq=False)
class YieldingGroups(GroupedSimplex):
    """The simplex with limits on groups, or without them in rounds in which they could not be kept."""

    kind: ClassVar[str] = "yielding grouped"

    def slice(self, free: Mask, fixed: Mask, w: Array) -> FeasibleSet:  # type: ignore[override]
        """Return the limits of the free coordinates, or none where they could not be kept."""
        try:
            return super().slice(free, fixed, w)
        except InputError:
            return Simplex(max(self.total - float(w[fixed].sum()), 0.0))


for made in (YieldingCaps, YieldingGroups):
    KINDS[made.kind] = made
