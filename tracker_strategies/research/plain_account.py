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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.fills import FillMode
from tracker_strategies.execution.rebalancer import DUST
from tracker_strategies.execution.scale import affordable_scale
from tracker_strategies.execution.sums import absolute, total
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
    usual = tracker.tuner is None and tracker.signal is None and panel.target_seen is None and panel.members is None
    return panel.complete and usual and not limits


def plain_path(panel: MarketPanel, tracker: Tracker, cash: float) -> Path:
    """Learn and account; the account without a loop where that is possible."""
    every_bar = tracker.schedule.every == 1
    due = [every_bar or tracker.schedule.due(day) for day in panel.dates]
    x, levels = panel.returns, panel.target_close
    y = tracker.goal.returns(levels[:-1], levels[1:])
    y = y if tracker.goal.each else y.tolist()
    if tracker.fill is FillMode.CLOSE and all(due):
        return _filled_at_close(x, y, tracker.algorithm, tracker.rebalancer.costs, cash)
    return _in_sequence(panel, x, y, tracker, due, cash)


def _filled_at_close(x: FloatArray, y: Any, algorithm: OnlineAlgorithm, costs: CostModel, cash: float) -> Path:
    """All bars at once. Filled at the close on every bar, the account is always invested in proportion to the weights, so that
    its shares before a trade are the drifted weights whatever it is worth: what each trade costs, as a fraction of the account,
    can be had for all bars together.
    """
    T, N = len(x) + 1, x.shape[1]
    even, odd = costs.even_odd
    w = algorithm.run(x, y)
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
        over = s * total + even * gross + odd * (s * total - have) - (1.0 - DUST)
        late = over > 1e-13
        if not late.any():
            break
        slope = total * (1.0 + odd) + even * np.einsum("tn,tn->t", np.sign(gap), new)
        s = np.where(late, s - over / slope, s)
        np.multiply(new, s[:, None], out=gap)
        gap -= old
        gross = np.abs(gap).sum(axis=1)
    flow, traded, paid = costs.charged(s * total - have, gross)
    after = (1.0 - have) + flow  # cash, as a fraction of the account before the trade
    value = cash * np.r_[1.0, np.cumprod(s * growth + after)]
    return Path(value, drifted, np.r_[0.0, traded], np.r_[0.0, paid * value[:-1]], w)


def _in_sequence(panel: MarketPanel, x: FloatArray, y: Any, tracker: Tracker, due: list[bool], cash: float) -> Path:
    """Bar by bar: what a fill at the open leaves over depends on all that came before."""
    T, N = panel.close.shape
    w, mode = tracker.algorithm.run(x, y), tracker.fill
    # Prices move by `night` to the fill and by `day` after it; without opens the open of a bar is its close.
    night, day = x + 1.0, None
    if panel.open is not None and mode is not FillMode.CLOSE:
        night, day = panel.open[1:] / panel.close[:-1], panel.close[1:] / panel.open[1:]
    account = _Account(tracker.rebalancer.costs, N, cash)
    held, values = np.zeros((T, N)), [cash]
    turnover, cost = np.zeros(T), np.zeros(T)
    for t in range(T - 1):
        h = held[t + 1]
        if not due[t]:
            np.multiply(account.held, night[t], out=h)
        else:
            if mode is FillMode.OPEN:
                account.mark(account.held * night[t])
                traded, paid = account.rebalance(w[t], None, h)
            elif mode is FillMode.CLOSE:
                traded, paid = account.rebalance(w[t], None, h)
                h *= night[t]
            else:
                traded, paid = account.rebalance(w[t], night[t], h)
            turnover[t + 1], cost[t + 1] = traded / values[t], paid
        if day is not None:
            h *= day[t]
        account.mark(h)
        values.append(account.cash + account.have)
    value = np.array(values)
    held /= value[:, None]
    return Path(value, held, turnover, cost, w)


class _Account:
    """Cash and the value of each position."""

    def __init__(self, costs: CostModel, n_assets: int, cash: float) -> None:
        self.costs, self.cash = costs, cash
        self.even, self.odd = costs.even_odd
        self.mark(np.zeros(n_assets))

    def mark(self, held: FloatArray) -> None:
        """Take the values of the positions at other prices."""
        self.held, self.have = held, total(held)

    def rebalance(self, w: FloatArray, move: FloatArray | None, out: FloatArray) -> tuple[float, float]:
        """Plan at the values held, fill after prices have moved by the factors `move`, and write the new values to `out`.

        Returns the value traded and the costs. Buys shrink together when the cash falls short at the fill.
        """
        value = self.cash + self.have
        goal = w * value
        whole, budget = total(goal), value * (1.0 - DUST)
        _, gap = affordable_scale(goal, self.held, whole, self.have, budget, self.even, self.odd)
        moved = gap if move is None else gap * move
        net, gross = total(moved), absolute(moved)
        flow, traded, paid = self.costs.charged(net, gross)
        reserve = 0.1 * DUST * (abs(self.cash) + traded)
        if self.cash + flow < reserve:
            bought, sold = 0.5 * (gross + net), 0.5 * (gross - net)
            room, need = self.cash + self.costs.charged(-sold, sold)[0], -self.costs.charged(bought, bought)[0]
            part = min(1.0, max(0.0, (room - reserve) / need))
            gap -= np.maximum(gap, 0.0) * (1.0 - part)
            flow, traded, paid = self.costs.charged(part * bought - sold, part * bought + sold)
        np.add(self.held, gap, out=out)
        if move is not None:
            out *= move
        self.cash += flow
        return traded, paid
