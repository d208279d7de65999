"""Forecasters that need no prior knowledge, as Strategies: VAW, with a discount, and with a vote over discounts."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import VAW, AdaptiveDiscount, DiscountedVAW, OnlineAlgorithm, StronglyAdaptive
from tracker_strategies.errors import ParameterError
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.target import numbers

#: Of the learners alone: a prior speaks of assets by position, and the way to solve changes no result.
INNER = ("prior", "dual_rounds", "base", "sectors", "max_sector")


class VAWTracker(TrackerStrategy):
    """Vovk-Azoury-Warmuth regression without a discount: all bars count alike. Its forecasts suit a target that never changes.

    A forecast may use the returns of the bar that it forecasts; a portfolio may not. What is held is the ridge regression on the
    bars before, projected on the simplex.
    """

    learner = VAW
    without = INNER


class DiscountedVAWTracker(TrackerStrategy):
    """VAW with a discounted past, so that it recovers when the index changes."""

    learner = DiscountedVAW
    without = INNER


class AdaptiveDiscountTracker(TrackerStrategy):
    """Discounted VAW on a grid of discounts, combined by a vote: no discount to tune, and forecasts of optimal dynamic regret.

    Params (in addition to those of :class:`TrackerStrategy`):
      - ``discounts`` (None): discount factors such as "0,0.99,0.999,1"; by default the grid of the theory, which depends on the
        number of names and on the horizon
      - ``restarts`` (False): strongly adaptive: fresh copies start all the time and forget what no longer holds
    """

    learner = AdaptiveDiscount
    without = (*INNER, "gammas")
    params = (("discounts", None), ("restarts", False))

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The vote, on the simplex."""
        if not isinstance(p.restarts, bool):
            raise ParameterError(f"restarts={p.restarts!r} must be True or False")
        make = StronglyAdaptive if p.restarts else AdaptiveDiscount
        gammas = None if p.discounts is None else numbers("discounts", p.discounts, "factors in [0, 1] such as 0,0.99,1")
        return make(len(symbols), gammas=gammas, **cls.options(p, symbols, n_targets))
