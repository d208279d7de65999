"""One portfolio for several indices, as a Strategy."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import MultiTargetPA
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.target import numbers


class MultiIndexTracker(TrackerStrategy):
    """One portfolio inside the tolerances of several indices at once: passive-aggressive, with a constraint per index."""

    learner = MultiTargetPA

    @classmethod
    def options(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> dict[str, Any]:
        """With one tolerated error for all indices or one for each, also as a text."""
        each = numbers("eps", p.eps, "a tolerated error >= 0, or one per index such as 1e-4,2e-4")
        return {**super().options(p, symbols, n_targets), "eps": each[0] if len(each) == 1 else each}
