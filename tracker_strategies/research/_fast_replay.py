"""The account of the usual case as vectors of value: complete panel, fractional shares, proportional costs, no limits.

Here what a portfolio is worth obeys a recursion that needs no shares. With h the value of each name at the close, c the cash, V =
c + sum h, w the target weights, and the price ratios a = open/close, b = close/open on the way to the next bar (both 1 before or
after it in the other fill modes), one rebalance is

    m = s w V - h,        h <- ((h + m~) a) b,        c <- c - sum m~ a - costs,

where s is the factor of :mod:`~tracker_strategies.execution.rebalancer` and m~ is m, with its buys shrunk by one factor if cash
falls short at the fill. Bar by bar all of it is kept as fractions of V. It gives the same numbers as the general way in a third
of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import daxpy, ddot, dscal

from datafeeds import MarketPanel
from tracker_strategies.analysis.entry import Entry
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.mandate.keeper import NEAR
from tracker_strategies.execution.sums import DUST, affordable_scale, ones, scaled, total
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]

#: Bars that are worked on together: some hundred kilobytes, which stay in the processor's cache.
ROWS = 64


@dataclass(frozen=True, eq=False)
class Path:
    """What the account did: rows as in :class:`~tracker_strategies.analysis.record.RunRecord`."""

    value: FloatArray
    weights: FloatArray
    turnover: FloatArray
    cost: FloatArray
    decisions: FloatArray
    entry: Entry
    unfilled: FloatArray | None = None
    flow: FloatArray | None = None
    carried: FloatArray | None = None


def is_plain(panel: MarketPanel, tracker: Tracker) -> bool:
    """Whether the recursion covers this run."""
    costs = tracker.rebalancer.costs
    limits = tracker.keeper is not None or tracker.liquidity is not None or not costs.by_value
    usual = type(tracker) is Tracker and tracker.signal is None and panel.target_seen is None and panel.members is None
    usual = usual and tracker.start is None and tracker.overnight is None
    return panel.complete and usual and not limits


def plain_path(panel: MarketPanel, tracker: Tracker, cash: float, sizes: FloatArray) -> Path:
    """Learn and account, from cash and shares at the first close; the account without a loop where that is possible."""
    held = sizes * panel.close[0]
    value = cash + total(held)
    held = held / value
    every_bar = tracker.schedule.every == 1
    due = [every_bar or tracker.schedule.due(day) for day in panel.dates]
    x, levels = panel.returns, panel.target_close
    y = tracker.target.returns(levels[:-1], levels[1:])
    y = y if tracker.target.each else y.tolist()
    if tracker.fill is FillMode.CLOSE and all(due):
        return _filled_at_close(x, tracker.run(x, y), tracker.rebalancer.costs, value, held)
    return _in_sequence(panel, x, y, tracker, due, value, held)


def _filled_at_close(x: FloatArray, w: FloatArray, costs: CostModel, worth: float, held: FloatArray) -> Path:
    """All bars at once, from the weights decided on each. Filled at the close on every bar, the account is always invested in
    proportion to the weights, so that its shares before a trade are the drifted weights whatever it is worth: what each trade
    costs, as a fraction of the account, can be had for all bars together.
    """
    T, N = len(x) + 1, x.shape[1]
    drifted = np.zeros((T, N))
    drifted[0] = held
    whole, have, growth, s, gross = np.ones((5, T - 1))
    have[0] = total(held)
    for rows in (slice(t, min(t + ROWS, T - 1)) for t in range(0, T - 1, ROWS)):
        new, moved = w[rows], drifted[rows.start + 1 : rows.stop + 1]
        np.multiply(new, x[rows], out=moved)
        moved += new
        whole[rows], growth[rows] = new.sum(axis=1), moved.sum(axis=1)
        moved /= growth[rows, None]
        s[rows], gross[rows] = _affordable_rows(new, drifted[rows], whole[rows], have[rows], *costs.even_odd)
    flow, traded, paid = costs.charged(s * whole - have, gross)
    after = (1.0 - have) + flow  # cash, as a fraction of the account before the trade
    value = worth * np.r_[1.0, np.cumprod(s * growth + after)]
    return Path(value, drifted, np.r_[0.0, traded], np.r_[0.0, paid * value[:-1]], w, _entry(held, [True], 0))


def _entry(held: FloatArray, due: list[bool], late: int) -> Entry:
    """Nothing keeps this account from its first target: the first rebalance, on the first bar as a rule, brings it there, unless
    it began invested. `late` is 1 where orders fill on the bar after.
    """
    if 1.0 - total(held) <= NEAR:
        return Entry()
    first = due.index(True) if True in due else None
    return Entry(0, None, len(due)) if first is None else Entry(first, first + late, first + 1)


def _affordable_rows(
    new: FloatArray, old: FloatArray, whole: FloatArray, have: FloatArray, even: float, odd: float
) -> tuple[FloatArray, FloatArray]:
    """For each row the factor s* from weights `old` to s* `new`, and the sum of |s* new - old|: Newton's method on all rows."""
    s = np.ones(len(new))
    gap = new - old
    room = np.abs(gap)
    while True:
        gross = room.sum(axis=1)
        over = s * whole + even * gross + odd * (s * whole - have) - (1.0 - DUST)
        late = over > 1e-13
        if not late.any():
            return s, gross
        slope = whole * (1.0 + odd) + even * np.einsum("tn,tn->t", np.sign(gap, out=room), new)
        s = np.where(late, s - over / slope, s)
        np.multiply(new, s[:, None], out=gap)
        gap -= old
        np.abs(gap, out=room)


def _in_sequence(
    panel: MarketPanel, x: FloatArray, y: Any, tracker: Tracker, due: list[bool], value: float, held: FloatArray
) -> Path:
    """Bar by bar: what a fill at the open leaves over depends on all that came before."""
    T, N = panel.close.shape
    w, mode = tracker.run(x, y), tracker.fill
    costs = tracker.rebalancer.costs
    account = _Account(costs, held)
    weights, growths, trades = np.zeros((T, N)), [1.0], [(0.0, 0.0)]
    weights[0] = held
    bars = zip(due, w, (w @ ones(N)).tolist(), _moves(panel, x, mode), weights[1:], strict=False)
    for is_due, w_t, whole, (move, growth), h in bars:
        if mode is FillMode.OPEN:
            account.move(move)
        if is_due:
            trades.append(account.rebalance(w_t, whole, move if mode is FillMode.NEXT_OPEN else None, h))
            h *= growth
        else:
            trades.append((0.0, 0.0))
            np.multiply(account.held, growth, out=h)
        growths.append(account.close(h))
    values = np.cumprod(growths, dtype=np.float64) * value
    bought, sold = np.array(trades).T
    _, traded, paid = costs.charged(bought - sold, bought + sold)
    paid[1:] *= values[:-1]
    entry = _entry(held, due[: T - 1], int(mode is not FillMode.CLOSE))
    return Path(values, weights, traded, paid, w, entry)


def _moves(panel: MarketPanel, x: FloatArray, mode: FillMode) -> Iterator[tuple[FloatArray, FloatArray]]:
    """What prices return from each close to the next fill, and how they grow from where orders are priced to the next close."""
    opens = panel.close if panel.open is None or mode is FillMode.CLOSE else panel.open
    night, growth = np.empty((2, ROWS, x.shape[1]))
    for first in range(0, len(x), ROWS):
        rows = slice(first, min(first + ROWS, len(x)))
        move, factor = night[: rows.stop - first], growth[: rows.stop - first]
        np.divide(opens[first + 1 : rows.stop + 1], panel.close[rows], out=move)
        np.add(x[rows], 1.0, out=factor)
        if mode is FillMode.OPEN:
            factor /= move
        move -= 1.0
        yield from zip(move, factor, strict=True)


class _Account:
    """Cash and the value of each position, as fractions of the account at the latest close."""

    def __init__(self, costs: CostModel, held: FloatArray) -> None:
        (self._even, self._odd), (self._buy, self._sell) = costs.even_odd, costs.sides
        self._zero, self._one = np.zeros(len(held)), ones(len(held))
        self.held, self.have, self.cash = held, total(held), 1.0 - total(held)

    def move(self, returns: FloatArray) -> None:
        """Take the values of the positions after these returns."""
        self.held = self.held + self.held * returns
        self.have = total(self.held)

    def close(self, held: FloatArray) -> float:
        """Take values of the positions at the close, and return the growth of the account since the last one.

        They become fractions of the account in place.
        """
        have = ddot(held, self._one)
        growth: float = self.cash + have
        dscal(1.0 / growth, held)
        self.held, self.have, self.cash = held, have / growth, self.cash / growth
        return growth

    def rebalance(self, w: FloatArray, whole: float, move: FloatArray | None, out: FloatArray) -> tuple[float, float]:
        """Plan weights w of sum `whole` at the values held, fill after prices have returned `move`, and write the new values to
        `out`, at the prices of the plan.

        Returns the values bought and sold. Buys shrink together when the cash falls short at the fill.
        """
        held, have, cash = self.held, self.have, self.cash
        value = cash + have
        goal = w if move is not None else scaled(w, value)  # at a close the account is worth 1
        s, gap, size, gross = affordable_scale(goal, held, whole * value, have, value * (1.0 - DUST), self._even, self._odd)
        net = s * whole * value - have
        if move is not None:
            net += ddot(gap, move)
            gross += ddot(size, move)
        bought, sold = 0.5 * (gross + net), 0.5 * (gross - net)
        room, need = cash + sold * self._sell - 0.1 * DUST * (abs(cash) + gross), bought * self._buy
        if need > room:
            part = max(0.0, room / need)
            daxpy(np.maximum(gap, self._zero), gap, a=part - 1.0)
            bought *= part
        np.add(held, gap, out=out)
        self.cash = cash + sold * self._sell - bought * self._buy
        return bought, sold
