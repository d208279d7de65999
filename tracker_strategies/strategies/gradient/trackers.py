"""Gradient learners as Strategies."""

from __future__ import annotations

from tracker_strategies.algorithms import AdaGrad
from tracker_strategies.strategies.base import TrackerStrategy


class AdaGradTracker(TrackerStrategy):
    """Adaptive subgradient steps: each name has a learning rate of its own, smaller the more it has moved the error so far."""

    learner = AdaGrad
    without = ("regulariser", "lam", "groups", "strongly_convex")
