"""Amounts from bar to bar: a goal that is found anew at reviews, and what is held brought within the limits between them.

Where a limit binds, the nearest allowed portfolio is another one on every bar, and following it trades much for nothing. So the
goal is found now and then, in a problem that counts the trade; a decision goes a part of the way to it; and on the bars between
two reviews only those trades are made that the limits ask for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dasum

from tracker_strategies.execution.mandate.amounts.allowed import nearest_allowed
from tracker_strategies.execution.mandate.amounts.mending import mended, stands, towards
from tracker_strategies.execution.mandate.amounts.solver import Start, inside
from tracker_strategies.execution.mandate.limits import BarLimits, BoolArray, FloatArray, Limits, Region
from tracker_strategies.execution.mandate.metric import Metric
from tracker_strategies.execution.sums import total

JUMP = 0.25
"""Change of the wish, as a share of the account, that asks for a review."""

Gave = Iterable[tuple[str, int | None, float, float]]
Plan = tuple[FloatArray, FloatArray, FloatArray, BoolArray, FloatArray, BoolArray | None]


class Found(NamedTuple):
    """Weights, the region that they are in, and the limits that gave way for them."""

    weights: FloatArray
    region: Region
    gave: Gave = ()


class Amounts:
    """How much of each name, given the names."""

    def __init__(self) -> None:
        self._start: Start | None = None  # multipliers of the problem before, which save time
        # Of the last review: the goal, bounds, names that may be bought, the wish, and names that could be held.
        self._plan: Plan | None = None

    def forget(self) -> None:
        """Give up the goal: the next decision is a review."""
        self._plan = None

    def between(
        self,
        target: FloatArray,
        bar: Region,
        limits: Limits,
        tradable: BoolArray | None,
        active: BoolArray | None,
        lots: FloatArray | None,
        idle: float,
    ) -> tuple[FloatArray, BarLimits] | None:
        """What is held, brought within the limits of the last review; None where that, or what has changed since, asks for one.

        Parameters
        ----------
        target : (N,) float
            What is wished for; the very array of what is held where nothing is.
        bar : Region
            What is held, the sums and the turnover; bounds of names are those of the review.
        idle : float
            Most cash with which lots are left as they are.
        """
        if self._plan is None:
            return None
        goal, lower, upper, can_buy, wished, allowed = self._plan
        held, can_sell = bar.held, limits.sellable
        if not (active is allowed or (active is not None and allowed is not None and np.array_equal(active, allowed))):
            return None
        if tradable is not None:
            if np.logical_or.reduce(~tradable & ((upper > 0.0) | (held > 0.0))):
                return None
            can_sell = can_sell & tradable
        bar.lower, bar.upper = lower, upper
        if target is not held and (float(dasum(target - wished)) > JUMP or inside(target, bar, turnover=False)):
            return None
        weights = held if lots is not None and stands(bar, idle) else mended(bar, goal)
        return None if weights is None else (weights, BarLimits(bar, can_buy, can_sell, lots))

    def review(
        self,
        target: FloatArray,
        bar: BarLimits,
        limits: Limits,
        metric: Metric,
        prices: tuple[float, float],
        share: float,
        active: BoolArray | None,
    ) -> Found:
        """A part of the way to what is nearest to the wish; the wish itself where it is allowed.

        Parameters
        ----------
        prices : (float, float)
            What a unit of trade costs inside and outside the limits, as in :meth:`nearest`.
        share : float
            Of the way; 1 for all of it, as far as the turnover lets it go.
        active : (N,) bool or None
            Names that may be held.
        """
        region = bar.region
        if share == 1.0 or target is region.held or inside(target, region, turnover=False):
            return self.nearest(target, bar, region, limits, metric, prices)
        wide = replace(region, turnover=np.inf)
        goal, allowed, _ = self.nearest(target, bar, wide, limits, metric, prices)
        now = mended(region, goal) if allowed is wide else None
        cured = Found(now, region) if now is not None else self.nearest(region.held, bar, region, limits, metric, prices)
        if not inside(goal, cured.region, turnover=False):
            return cured
        if cured.region is region and not _is_stuck(bar, limits, active):
            self._plan = (goal, region.lower, region.upper, bar.can_buy, target, active)
        return Found(towards(goal, share, cured.region, cured.weights), cured.region, cured.gave)

    def nearest(
        self, target: FloatArray, bar: BarLimits, region: Region, limits: Limits, metric: Metric, prices: tuple[float, float]
    ) -> Found:
        """The allowed portfolio nearest to a wish; limits that cannot hold give way."""
        within = inside(target, region, turnover=False)  # where the turnover alone binds, it is the price of trading
        price = prices[0] if within else prices[1]
        if within and not price and total(np.abs(target - region.held)) <= region.turnover:
            return Found(target, region)
        solution, region, gave = nearest_allowed(
            target, region, metric, must=limits.must, tradable=bar.can_sell, no_trade=price, start=self._start
        )
        self._start = solution.multipliers
        return Found(solution.weights, region, gave.get("relaxed", ()))


def _is_stuck(bar: BarLimits, limits: Limits, active: BoolArray | None) -> bool:
    """Whether the bounds of some name are those of this bar only: it is held and cannot be traded, or halted."""
    if np.logical_and.reduce(bar.can_sell):
        return False
    could = limits.buyable if active is None else limits.buyable & active
    return bool(np.logical_or.reduce(~bar.can_sell & (could | (bar.region.held > 0.0))))
