"""The account of the usual case as vectors of value: complete panel, fractional shares, proportional costs, no limits.

Here what a portfolio is worth obeys a recursion that needs no shares. With h the value of each name at the close, c the cash, V =
c + sum h, w the target weights, and the price ratios a = open/close, b = close/open on the way to the next bar (both 1 before or
after it in the other fill modes), one rebalance is

    m = s w V - h,        h <- ((h + m~) a) b,        c <- c - sum m~ a - costs,

where s is the factor of :mod:`~tracker_strategies.execution.rebalancer` and m~ is m, with its buys shrunk by one factor if cash
falls short at the fill. It gives the same numbers as the general way in a third of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.fills import FillMode
from tracker_strategies.execution.rebalancer import DUST, next_scale
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Path:
    """What the account did: rows as in :class:`~tracker_strategies.analysis.record.RunRecord`."""

    value: FloatArray
    weights: FloatArray
    turnover: FloatArray
    cost: FloatArray
    decisions: FloatArray


def is_plain(panel: MarketPanel, tracker: Tracker) -> bool:
    """Whether the recursion covers this run."""
    r = tracker.rebalancer
    limits = r.lot or r.band or r.max_turnover is not None or r.costs.min_fee or r.costs.per_share
    usual = tracker.tuner is None and tracker.signal is None and panel.target_seen is None
    return panel.complete and usual and not limits


def plain_path(panel: MarketPanel, tracker: Tracker, cash: float) -> Path:
    """Account and learn in one loop: what the learner has just touched is what the account needs next."""
    T, N = panel.close.shape
    x, levels, algorithm, mode = panel.returns, panel.target_close, tracker.algorithm, tracker.fill
    rates = _Rates(tracker.rebalancer.costs)
    due = [tracker.schedule.due(day) for day in panel.dates]
    opens = panel.open if mode is not FillMode.CLOSE else None
    held, decisions = np.empty((T, N)), np.empty((T, N))
    cashes, turnover, cost = np.empty(T), np.zeros(T), np.zeros(T)
    h, c, value, w = np.zeros(N), cash, cash, algorithm.weights
    held[0], cashes[0], decisions[0] = h, c, w
    for t in range(T - 1):
        # Before the fill prices move by `night`, after it by `day`; without opens the open of a bar is its close.
        night, day = x[t] + 1.0, None
        if opens is not None:
            night, day = opens[t + 1] / panel.close[t], panel.close[t + 1] / opens[t + 1]
        if due[t]:
            if mode is FillMode.OPEN:
                h = h * night
                m = rates.plan(w, h, c)
            else:
                m = rates.plan(w, h, c)
                if mode is FillMode.NEXT_OPEN:
                    m *= night
                    h = h * night
            h, c, traded, paid = rates.fill(h, m, c)
            turnover[t + 1], cost[t + 1] = traded / value, paid
            if mode is FillMode.CLOSE:
                h *= night
        else:
            h = h * night
        if day is not None:
            h *= day
        value = c + float(np.add.reduce(h))
        w = algorithm.update(x[t], tracker.target_return(levels[t], levels[t + 1]))
        held[t + 1], cashes[t + 1], decisions[t + 1] = h, c, w
    values = cashes + held.sum(axis=1)
    held /= values[:, None]
    return Path(values, held, turnover, cost, decisions)


class _Rates:
    """Proportional costs and the two operations on values that need them."""

    def __init__(self, costs: CostModel) -> None:
        self.slip, self.rate = costs.slippage_bps * 1e-4, costs.bps * 1e-4
        self.even, self.odd = costs.even_odd

    def plan(self, w: FloatArray, h: FloatArray, c: float) -> FloatArray:
        """Value to buy and sell of each name."""
        have = float(np.add.reduce(h))
        value = c + have
        budget = value * (1.0 - DUST)
        goal = w * value
        total = float(np.add.reduce(goal))
        gap = goal - h
        s = 1.0
        while True:
            before, s = s, next_scale(s, gap, goal, total, have, budget, self.even, self.odd)
            if before == s:
                return gap
            gap -= (before - s) * goal

    def fill(self, h: FloatArray, m: FloatArray, c: float) -> tuple[FloatArray, float, float, float]:
        """Values, cash, value traded and costs after trades worth m at the quotes; buys shrink together if cash falls short."""
        net, gross = float(np.add.reduce(m)), float(np.add.reduce(np.abs(m)))
        flow, traded, paid = self._outcome(net, gross)
        reserve = 0.1 * DUST * (abs(c) + traded)
        if c + flow < reserve:
            bought, sold = 0.5 * (gross + net), 0.5 * (gross - net)
            budget, need = c + self._outcome(-sold, sold)[0], -self._outcome(bought, bought)[0]
            part = min(1.0, max(0.0, (budget - reserve) / need))
            m = m - (1.0 - part) * np.maximum(m, 0.0)
            flow, traded, paid = self._outcome(part * bought - sold, part * bought + sold)
        return h + m, c + flow, traded, paid

    def _outcome(self, net: float, gross: float) -> tuple[float, float, float]:
        """Change of cash, value traded and costs of trades with this sum and this sum of absolute values."""
        traded = gross + self.slip * net
        fees = self.rate * traded
        return -net - self.slip * gross - fees, traded, fees + self.slip * gross
