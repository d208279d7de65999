r"""From a weight vector to share counts that the account can pay for.

The account is worth V = cash + sum_i q_i p_i. The wish is to hold the value w_i V of each name, but trading costs money, so that
the wish as a whole may not be affordable. One common factor s <= 1 is then applied to *all* target values, which keeps their
ratios:

    s* = max { s <= 1 :  V (s sum w) + cost(s) <= V },     cost(s) = sum_i b_i [s w_i V - h_i]_+ + c_i [h_i - s w_i V]_+

with h_i = q_i p_i and the costs b, c per unit of value bought and sold. The left side is convex, increasing and piecewise linear
in s, so that Newton's method from s = 1 descends to s* in a few steps and stops there exactly. A minimum fee needs bisection.

Where a share c of the account stays in cash, it is a share of what is left after the costs, and so are the weights: the budget is
V (s sum w) + (1 - c) cost(s) <= (1 - c) V. The mandate's limits are met before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dasum, ddot

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.plan_errors import diagnose
from tracker_strategies.execution.sums import DUST, affordable_scale, affordable_scale_by_name, ones, scaled, total
from tracker_strategies.execution.usual_case import MOST, ROUNDING, plan_of_all, shrunk

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Targets that miss a whole lot by less than this (in lots) count as that lot: they are held already, up to rounding.
LOT_SLACK = 1e-6
_BISECTIONS = 50
#: Money left over, as a share of what there is, at which the search for the last of it ends.
_NEAR = 1e-12


def _least(values: FloatArray) -> float:
    """Smallest entry, NaN if there is one: what ``values.min()`` gives, at a third of its price."""
    return float(values[values.argmin()])


@dataclass(frozen=True)
class Rebalancer:
    """Makes orders for all names at once from target weights.

    Contract: the plan never costs more than the account has (cash stays >= 0), never sells more than is held, keeps the ratios of
    the weights when it must scale down, does not depend on the order of the names, and ends in a bounded number of steps.

    Parameters
    ----------
    costs : CostModel
        What each order will pay; the budget pays for it.
    lot : float, default 0
        Smallest tradable number of shares; 0 means fractions of any size. Buys that have to shrink at the fill shrink to whole
        lots.
    """

    costs: CostModel = field(default_factory=CostModel)
    lot: float = 0.0

    def __post_init__(self) -> None:
        """Validate."""
        if not (np.isfinite(self.lot) and self.lot >= 0.0):
            raise ParameterError(f"lot={self.lot!r} must be 0 (fractional shares) or a positive number of shares")

    def plan(
        self,
        weights: FloatArray,
        sizes: FloatArray,
        prices: FloatArray,
        cash: float,
        *,
        tradable: BoolArray | None = None,
        pending: FloatArray | None = None,
        keep: float = 0.0,
    ) -> FloatArray:
        """Shares to buy (+) and sell (-) of each name, in fractions of any size.

        Parameters
        ----------
        weights : (N,) float
            Targets >= 0 with sum <= 1; the rest stays in cash.
        sizes : (N,) float
            Shares held, >= 0.
        prices : (N,) float
            Prices expected at the fill; names that are not tradable are valued at theirs and may have NaN when none are held.
        cash : float
        tradable : (N,) bool, optional
            Names that can be traded now; the others are held as they are, whatever their weight.
        pending : (N,) float, optional
            Shares in orders still open. They count as done; what they buy is paid for, what they sell has brought no cash yet.
        keep : float, default 0
            Share of the account that stays in cash.
        """
        if tradable is None and pending is None and not keep and self.costs.proportional and self.costs.by_value:
            change = plan_of_all(weights, sizes, prices, cash, self.costs)
            if change is not None:
                return change
        if tradable is not None:
            prices = np.where(tradable | (sizes > 0.0), prices, 1.0)
        if pending is not None:
            cash += self.costs.cash_flow(np.maximum(pending, 0.0), prices)
            sizes = np.maximum(sizes + pending, 0.0)
        held = sizes * prices
        shape = held.shape
        if not (weights.shape == shape == prices.shape and held.size):
            diagnose(weights, sizes, prices, cash)
        unit = ones(len(held))
        have: float = ddot(held, unit)
        whole: float = ddot(weights, unit)
        positive = dasum(weights) <= whole + ROUNDING and dasum(held) <= have + ROUNDING * have
        if not (positive and 0.0 < cash + have < np.inf and whole <= MOST):
            diagnose(weights, sizes, prices, cash)
        return self._affordable(weights, whole, sizes, held, have, prices, cash, tradable, keep)

    def fit(
        self,
        deltas: FloatArray,
        sizes: FloatArray,
        prices: FloatArray,
        cash: float,
        *,
        pending: FloatArray | None = None,
        unchanged: bool = False,
    ) -> FloatArray:
        """The same orders at other prices: sells as they are (never more than held), buys by one common factor if cash no longer
        suffices; in whole lots, as many of them as it reaches for: orders sized at the close when the market opens elsewhere.

        `unchanged`: the orders were planned for just these sizes, so that no sell can be too large.
        """
        if pending is not None:
            cash += self.costs.cash_flow(np.maximum(pending, 0.0), prices)
            sizes = np.maximum(sizes + np.minimum(pending, 0.0), 0.0)
        held = unchanged or bool(_least(sizes + deltas) >= 0.0)
        if self.costs.by_value and not self.lot:
            return shrunk(deltas if held else np.maximum(deltas, -sizes), prices, cash, self.costs)[0]
        outcome = self.costs.outcome(deltas, prices)
        reserve = 0.1 * DUST * (abs(cash) + outcome[1])
        if held and cash + outcome[0] >= reserve:
            return deltas
        sells, buys = np.minimum(deltas, 0.0), np.maximum(deltas, 0.0)
        if not held:
            np.maximum(sells, -sizes, out=sells)

        def scaled(s: float) -> FloatArray:
            some = buys * s
            if self.lot:
                some = np.floor(some / self.lot + LOT_SLACK) * self.lot
            return self._worthwhile(sells + some, prices)

        if not self.costs.proportional or self.lot:
            plan = self._bisect(scaled, prices, cash, reserve)
            return self._put_back(plan, sells + buys, prices, cash, reserve) if self.lot else plan
        need, budget = -self.costs.cash_flow(buys, prices), cash + self.costs.cash_flow(sells, prices)
        return scaled(min(1.0, max(0.0, (budget - reserve) / need))) if need > 0.0 else scaled(0.0)

    # -- pieces ----------

    def _affordable(
        self,
        weights: FloatArray,
        whole: float,
        sizes: FloatArray,
        held: FloatArray,
        have: float,
        prices: FloatArray,
        cash: float,
        free: BoolArray | None,
        keep: float,
    ) -> FloatArray:
        """The plan at s*, if it can be paid for when rid of dust; in all other cases bisection on s."""
        value, part = cash + have, 1.0 - keep
        dust, goal = DUST * value, scaled(weights, value)
        want = goal / prices
        want[goal <= dust] = 0.0

        def plan_at(s: float, worth: FloatArray | None = None) -> FloatArray:
            target = scaled(want, s)
            change = target - sizes
            # A change below rounding is no trade; nothing of a position that is sold out remains.
            small = (np.abs(change) * prices if worth is None else worth) <= dust
            change[small & (target > 0.0)] = 0.0
            if free is not None:
                change[~free] = 0.0
            return self._worthwhile(change, prices)

        if self.costs.proportional:
            if free is None:
                plan = plan_at(*self._scale(goal, held, whole * value, have, part * value - dust, prices, part))
            else:
                mine, own = goal[free], held[free]
                worth = total(own)
                budget = (cash + worth if part == 1.0 else part * value - (have - worth)) - dust
                plan = plan_at(self._scale(mine, own, total(mine), worth, budget, prices[free], part, free)[0])
            if cash + self.costs.cash_flow(plan, prices) >= 0.0:
                return plan
        diagnose(weights, sizes, prices, cash)
        return self._bisect(plan_at, prices, cash, dust, keep * value)

    def _scale(
        self,
        goal: FloatArray,
        held: FloatArray,
        whole: float,
        have: float,
        budget: float,
        prices: FloatArray,
        part: float,
        free: BoolArray | None = None,
    ) -> tuple[float, FloatArray]:
        """The factor s*, and the value of each change at it; only a part of the costs comes out of this budget."""
        if self.costs.by_value:
            even, odd = self.costs.even_odd
            s, _, worth, _ = affordable_scale(goal, held, whole, have, budget, part * even, part * odd)
            return s, worth
        buy, sell = self.costs.taken(free).side_rates(prices)
        even_of, odd_of = np.asarray(0.5 * part * (buy + sell)), np.asarray(0.5 * part * (buy - sell))
        return affordable_scale_by_name(goal, held, budget, even_of, odd_of)

    def _worthwhile(self, deltas: FloatArray, prices: FloatArray) -> FloatArray:
        """The trades that are worth more than their fee; with proportional costs, all of them."""
        if self.costs.proportional:
            return deltas
        return np.asarray(np.where(np.abs(deltas) * prices > self.costs.fees(deltas, prices), deltas, 0.0))

    def _put_back(self, plan: FloatArray, wanted: FloatArray, prices: FloatArray, cash: float, reserve: float) -> FloatArray:
        """The plan with lots put back that can be paid for after all, the dearest first: a factor takes one of every name."""
        short = np.flatnonzero(plan < wanted)
        for i in short[np.argsort(-prices[short], kind="stable")].tolist():
            left = cash + self.costs.cash_flow(plan, prices) - reserve
            one = -self.costs.taken(slice(i, i + 1)).cash_flow(np.array([self.lot]), prices[i : i + 1])
            if left < one:
                continue
            more = plan.copy()
            more[i] = min(more[i] + self.lot * np.floor(left / one), wanted[i])
            more = self._worthwhile(more, prices)
            if cash + self.costs.cash_flow(more, prices) >= reserve:
                plan = more
        return plan

    def _bisect(
        self, plan_at: Callable[[float], FloatArray], prices: FloatArray, cash: float, reserve: float, keep: float = 0.0
    ) -> FloatArray:
        """The plan at the largest s in [0, 1] found affordable, with `keep` left in cash; at s = 0 it only sells."""
        plan, reserve = plan_at(1.0), reserve + keep
        if cash + self.costs.cash_flow(plan, prices) >= reserve:
            return plan
        over = reserve - cash - self.costs.cash_flow(plan, prices)
        low, high, best = 0.0, 1.0, plan_at(0.0)
        under = cash + self.costs.cash_flow(best, prices) - reserve
        if under + reserve < 0.0:  # even selling costs more than it brings
            return np.zeros_like(prices)
        chord, near, before = self.costs.convex and not self.lot and under > 0.0, _NEAR * under, 0.0
        for _ in range(_BISECTIONS):
            # Where costs have no jumps, the chord of what is left finds its zero in a few steps (the Illinois rule: an end that
            # stays twice counts half).
            mid = low + (high - low) * under / (under + over) if chord else 0.5 * (low + high)
            plan = plan_at(mid)
            left = cash + self.costs.cash_flow(plan, prices) - reserve
            if left >= 0.0:
                low, best, under, over = mid, plan, left, over * (0.5 if before > 0.0 else 1.0)
            else:
                high, over, under = mid, -left, under * (0.5 if before < 0.0 else 1.0)
            if chord and 0.0 <= left <= near:
                break
            before = left
        return best
