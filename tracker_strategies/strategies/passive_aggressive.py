"""Passive-aggressive trackers."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import PA, OnlineAlgorithm
from tracker_strategies.strategies.base import TrackerStrategy


class PATracker(TrackerStrategy):
    """Passive-aggressive regression on the simplex: leaves the weights alone while it tracks within ``eps``, corrects at once
    when not.

    Params (beside those of :class:`TrackerStrategy`):
      - ``eps`` (1e-4): tolerated tracking error of one bar; 1e-4 is one basis point
      - ``variant`` ("PA"): "PA", "PA-I" (step capped at C) or "PA-II" (step softened by C)
      - ``C`` (None): aggressiveness of PA-I and PA-II; None takes the default for daily returns
    """

    alias_name = "pa"
    params = (("eps", 1e-4), ("variant", "PA"), ("C", None))

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...]) -> OnlineAlgorithm:
        """PA on the simplex, uniform start."""
        return PA(len(symbols), eps=p.eps, variant=p.variant, C=p.C)
