"""The passive-aggressive family as Strategies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tracker_strategies.algorithms import APAS, PA, PAS, SLAIT, MultiplicativePA, OnlineAlgorithm
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.te_budget import BUDGET, BudgetTuner, check_lam


class PATracker(TrackerStrategy):
    """Passive-aggressive regression: leaves the weights alone while it tracks within ``eps``, corrects at once when not."""

    learner: ClassVar[type[OnlineAlgorithm]] = PA


class MultiplicativePATracker(TrackerStrategy):
    """Multiplicative passive-aggressive regression: weights move by factors; slow, smooth, and trades little."""

    learner = MultiplicativePA
    without = ("task", "scale")


class PASTracker(PATracker):
    """Passive-aggressive with side information: tracks the index and leans towards what the side information prefers.

    Params (beside those of :class:`PATracker`):
      - ``te_budget`` (None): tracking error of a bar that is allowed; lam is then found on the first ``budget_bars`` (250) bars
    """

    learner: ClassVar[type[OnlineAlgorithm]] = PAS
    params = BUDGET

    @classmethod
    def make_learner(cls, p: Any, symbols: tuple[str, ...]) -> Callable[[float | None], OnlineAlgorithm]:
        """From lam to a fresh learner."""
        learner, options = cls.learner, cls.options(p, symbols, 1)
        return lambda lam: learner(len(symbols), **options | {"lam": lam})

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The learner with the given lam."""
        return cls.make_learner(p, symbols)(check_lam(p))

    @classmethod
    def make_tuner(cls, p: Any, symbols: tuple[str, ...]) -> BudgetTuner | None:
        """Where a budget was given."""
        return None if p.te_budget is None else BudgetTuner(cls.make_learner(p, symbols), p.te_budget, p.budget_bars)


class APASTracker(PASTracker):
    """Adaptive passive-aggressive with side information: the tolerated error adapts to what the side information gains from it.

    Params (beside those of :class:`PASTracker`):
    """

    learner = APAS


class SLAITTracker(TrackerStrategy):
    """Sparse batch tracking (SLAIT) on a rolling window, solved anew every few bars: the rival that re-optimises."""

    learner = SLAIT
    without = ("max_iter", "accelerate", "u")
