"""Gradient learners as Strategies."""

from __future__ import annotations

from tracker_strategies.algorithms import AdaGrad
from tracker_strategies.strategies.base import TrackerStrategy


class AdaGradTracker(TrackerStrategy):
    """Adaptive subgradient steps: each name has its own learning rate, which falls with its past gradients."""

    learner = AdaGrad
    without = ("regulariser", "lam", "groups", "strongly_convex")
