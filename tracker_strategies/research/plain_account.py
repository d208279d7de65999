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
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.execution.costs import CostModel, sum_of
from tracker_strategies.execution.fills import FillMode
from tracker_strategies.execution.rebalancer import DUST
from tracker_strategies.execution.scale import next_scale
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
    """Learn and account; the account without a loop where that is possible."""
    due = [tracker.schedule.due(day) for day in panel.dates]
    rates = _Rates(tracker.rebalancer.costs)
    x, levels = panel.returns, panel.target_close
    y = [tracker.target_return(before, now) for before, now in pairwise(levels)]
    if tracker.fill is FillMode.CLOSE and all(due):
        return _filled_at_close(x, y, tracker.algorithm, rates, cash)
    return _in_sequence(panel, x, y, tracker, rates, due, cash)


def _filled_at_close(x: FloatArray, y: list[float], algorithm: OnlineAlgorithm, rates: _Rates, cash: float) -> Path:
    """All bars at once. Filled at the close on every bar, the account is always invested in proportion to the weights, so that
    its shares before a trade are the drifted weights whatever it is worth: what each trade costs, as a fraction of the account,
    can be had for all bars together.
    """
    T, N = len(x) + 1, x.shape[1]
    w = np.empty((T, N))
    w[0] = algorithm.weights
    for t in range(T - 1):
        w[t + 1] = algorithm.update(x[t], y[t])
    drifted = np.zeros((T, N))
    np.multiply(w[:-1], x, out=drifted[1:])
    drifted[1:] += w[:-1]
    growth = drifted[1:].sum(axis=1)
    drifted[1:] /= growth[:, None]
    old, new = drifted[:-1], w[:-1]
    total, have = new.sum(axis=1), np.r_[0.0, np.ones(T - 2)]
    s = np.ones(T - 1)
    gap = new - old
    gross = np.abs(gap).sum(axis=1)
    while True:
        over = s * total + rates.even * gross + rates.odd * (s * total - have) - (1.0 - DUST)
        late = over > 1e-13
        if not late.any():
            break
        slope = total * (1.0 + rates.odd) + rates.even * np.einsum("tn,tn->t", np.sign(gap), new)
        s = np.where(late, s - over / slope, s)
        np.multiply(new, s[:, None], out=gap)
        gap -= old
        gross = np.abs(gap).sum(axis=1)
    flow, traded, paid = rates.outcome(s * total - have, gross)
    after = (1.0 - have) + flow  # cash, as a fraction of the account before the trade
    value = cash * np.r_[1.0, np.cumprod(s * growth + after)]
    return Path(value, drifted, np.r_[0.0, traded], np.r_[0.0, paid * value[:-1]], w)


def _in_sequence(
    panel: MarketPanel, x: FloatArray, y: list[float], tracker: Tracker, rates: _Rates, due: list[bool], cash: float
) -> Path:
    """Account and learn in one loop: what the learner has just touched is what the account needs next."""
    T, N = panel.close.shape
    algorithm, mode = tracker.algorithm, tracker.fill
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
        value = c + sum_of(h)
        w = algorithm.update(x[t], y[t])
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
        have = sum_of(h)
        value = c + have
        budget = value * (1.0 - DUST)
        goal = w * value
        total = sum_of(goal)
        gap = goal - h
        s = 1.0
        while True:
            before, s = s, next_scale(s, gap, goal, total, have, budget, self.even, self.odd)
            if before == s:
                return gap
            gap -= (before - s) * goal

    def fill(self, h: FloatArray, m: FloatArray, c: float) -> tuple[FloatArray, float, float, float]:
        """Values, cash, value traded and costs after trades worth m at the quotes; buys shrink together if cash falls short."""
        net, gross = sum_of(m), sum_of(np.abs(m))
        flow, traded, paid = self.outcome(net, gross)
        reserve = 0.1 * DUST * (abs(c) + traded)
        if c + flow < reserve:
            bought, sold = 0.5 * (gross + net), 0.5 * (gross - net)
            budget, need = c + self.outcome(-sold, sold)[0], -self.outcome(bought, bought)[0]
            part = min(1.0, max(0.0, (budget - reserve) / need))
            m = m - (1.0 - part) * np.maximum(m, 0.0)
            flow, traded, paid = self.outcome(part * bought - sold, part * bought + sold)
        return h + m, c + flow, traded, paid

    def outcome(self, net: Any, gross: Any) -> tuple[Any, Any, Any]:
        """Change of cash, value traded and costs of trades with this sum and this sum of absolute values, for one bar or many."""
        traded = gross + self.slip * net
        fees = self.rate * traded
        return -net - self.slip * gross - fees, traded, fees + self.slip * gross
