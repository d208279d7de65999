"""The passive-aggressive family as Strategies."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies.algorithms import APAS, PA, PAS, SLAIT, Constant, MultiplicativePA, OnlineAlgorithm
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.budget import lam_of, within_budget
from tracker_strategies.strategies.compose import in_coordinates


class PATracker(TrackerStrategy):
    """Passive-aggressive regression: no change while the error is within ``eps``, otherwise an immediate correction."""

    learner: ClassVar[type[OnlineAlgorithm]] = PA


class MultiplicativePATracker(TrackerStrategy):
    """Multiplicative passive-aggressive regression: weights move by factors; slow, smooth, and trades little."""

    learner = MultiplicativePA
    without = ("task", "scale")

    @classmethod
    def options(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> dict[str, Any]:
        """As for every learner, but without zero weights at the start, because a zero weight would stay zero."""
        found = super().options(p, symbols, n_targets)
        if "start" in found:
            start = np.maximum(found["start"], 1e-3 * found["start"][found["start"] > 0.0].min())
            found["start"] = start / start.sum()
        return found


class PASTracker(PATracker):
    """Passive-aggressive with side information: tracks the index with a tilt towards what the side information prefers.

    Under a budget (``max_tracking_error``) the same learner without side information learns at the same time. The portfolio holds
    as much of the difference as the budget allows; ``lam`` then sets how much is asked for, 20/N by default. The tracking error
    without any tilt is a floor that no budget lowers. See :class:`~tracker_strategies.algorithms.Budgeted`.

    Params (in addition to those of :class:`PATracker`):
    """

    learner: ClassVar[type[OnlineAlgorithm]] = PAS
    sets_coordinates = tilts = True

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The learner, within its budget where there is one."""
        n, options = len(symbols), cls.options(p, symbols, n_targets)
        learner = in_coordinates(p, cls.learner(n, **options | {"lam": lam_of(p, n)}))
        if p.max_tracking_error is None:
            return learner
        plain = in_coordinates(p, cls.learner(n, **options | {"side": Constant(0.0)}))
        return within_budget(p, n_targets, learner, plain)


class APASTracker(PASTracker):
    """Adaptive passive-aggressive with side information: the tolerated error adapts to what the side information gains from it.

    Params (in addition to those of :class:`PASTracker`):
    """

    learner = APAS


class SLAITTracker(TrackerStrategy):
    """Sparse batch tracking (SLAIT) on a rolling window, solved again every few bars: a comparison method that re-optimises."""

    learner = SLAIT
    without = ("max_iter", "accelerate", "u")
    windows = (*TrackerStrategy.windows, "window", "every")
