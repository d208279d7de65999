"""A portfolio of whole lots under limits, changed one lot or one pair at a time: what each change would gain, kept up to date."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.mandate.limits import Group

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]

CANDIDATES = 20
"""Sells and buys that are tried in pairs: those that look best alone."""
ROUNDING = 1e-12
"""Share of the account by which a sum may be over its bound and still count as equal to it."""


@dataclass(eq=False)
class Market:
    """What does not change while lots are chosen: N names and their prices, in units of the account and of squared error.

    Attributes
    ----------
    value : (N,) float
        Value of a lot.
    own, loads : (N,) and (N, m) float
        The metric diag(own) + loads loads'; the last factor is the cash: its loads are all the same.
    low, high : (N,) float
        Fewest and most lots of each name.
    entry, stay : (N,) float
        Lots with which a name enters at least, and below which it leaves in full: 1 where a single lot may be held.
    price, fee_price : (N,) float and float
        What it takes to trade a lot, and to trade a name at all, in squared error.
    rate, fee : (N,) float and float
        The same in money.
    total, turnover : float
        Most that is invested, costs included; most that is bought and sold together.
    groups : tuple of Group
    max_names : int or None
    """

    value: FloatArray
    own: FloatArray
    loads: FloatArray
    low: FloatArray
    high: FloatArray
    entry: FloatArray
    stay: FloatArray
    price: FloatArray
    fee_price: float
    rate: FloatArray
    fee: float
    total: float
    turnover: float
    groups: tuple[Group, ...] = ()
    max_names: int | None = None


class LotSearch:
    """Lots of N names, and the squared error of their distance from a wish.

    Parameters
    ----------
    market : Market
    wish : (N,) float
        Weights that were wanted.
    held, origin : (N,) float
        Lots before the trade, and those from which on a change has a price.
    kept : (N,) float
        Value of odd parts of lots that stay, because they cannot be sold.
    lots : (N,) float
        Lots to begin with.
    """

    def __init__(
        self, market: Market, wish: FloatArray, held: FloatArray, origin: FloatArray, kept: FloatArray, lots: FloatArray
    ) -> None:
        self.market, self.wish, self.held, self.origin, self.kept, self.lots = market, wish, held, origin, kept, lots
        self._wanted = float(wish.sum())
        self._curve = market.own + np.einsum("ij,ij->i", market.loads, market.loads)
        self._plain = bool((market.entry <= 1.0).all() and (market.stay <= 1.0).all())
        self._costs = bool(market.fee > 0.0 or market.rate.any())
        self._limited = bool(np.isfinite(market.turnover))
        self._counted = [g for g in market.groups if g.max_names is not None]
        self.refresh()

    def refresh(self) -> None:
        """Compute everything anew, after lots were set from outside."""
        m = self.market
        error = self.lots * m.value + self.kept - self.wish
        self._slope = 2.0 * (m.own * error + m.loads @ (error @ m.loads))
        self._sums()

    def _sums(self) -> None:
        """Money, turnover, groups and names as of the present lots: sums are taken anew, so that no rounding piles up."""
        m = self.market
        worth = self.lots * m.value + self.kept
        whole = float(worth.sum())
        self.cash, self._gap = m.total - whole, whole - self._wanted
        if self._costs or self._limited:
            traded = np.abs(self.lots - self.held) * m.value
            self.traded = float(traded.sum())
            if self._costs:
                self.cash -= float(m.rate @ traded) + m.fee * float(np.count_nonzero(traded))
        self.group_sums = [float(worth[g.members].sum()) for g in m.groups]

    def steps(self) -> tuple[FloatArray, FloatArray]:
        """Lots that the next buy and the next sell of each name move."""
        m, lots = self.market, self.lots
        if self._plain:
            one = np.ones(len(lots))
            return one, one
        return np.where(lots < m.entry, np.maximum(m.entry - lots, 1.0), 1.0), np.where(lots <= m.stay, np.maximum(lots, 1.0), 1.0)

    def gains(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Change of squared error and price of trading for the next buy and the next sell of each name, and their values."""
        m, lots, origin = self.market, self.lots, self.origin
        buy, sell = self.steps()
        bought, sold = buy * m.value, sell * m.value
        up, down = np.where(lots >= origin, m.price, -m.price), np.where(lots <= origin, m.price, -m.price)
        rise = bought * (self._slope + bought * self._curve) + buy * up
        fall = sold * (sold * self._curve - self._slope) + sell * down
        if m.fee_price > 0.0:
            begun = np.where(lots == origin, m.fee_price, 0.0)
            rise += begun - np.where(lots + buy == origin, m.fee_price, 0.0)
            fall += begun - np.where(lots - sell == origin, m.fee_price, 0.0)
        rise[lots + buy > m.high] = np.inf
        fall[lots - sell < m.low] = np.inf
        return rise, fall, bought, sold

    def open_buys(self, rise: FloatArray, bought: FloatArray) -> FloatArray:
        """`rise`, infinite where money, turnover, a group or the number of names forbids the buy."""
        m = self.market
        closed = bought * (1.0 + m.rate) + m.fee > self.cash + ROUNDING if self._costs else bought > self.cash + ROUNDING
        if self._limited:
            closed |= np.where(self.lots >= self.held, bought, 0.0) > m.turnover - self.traded + ROUNDING
        for group, whole in zip(m.groups, self.group_sums, strict=True):
            closed[group.members] |= bought[group.members] > group.upper - whole + ROUNDING
        return np.where(closed | self.full(), np.inf, rise)

    def open_sells(self, fall: FloatArray, sold: FloatArray) -> FloatArray:
        """`fall`, infinite where turnover or the floor of a group forbids the sell."""
        m = self.market
        closed = np.zeros(len(fall), dtype=bool)
        if self._limited:
            closed |= np.where(self.lots <= self.held, sold, 0.0) > m.turnover - self.traded + ROUNDING
        for group, whole in zip(m.groups, self.group_sums, strict=True):
            if group.lower > 0.0:
                closed[group.members] |= whole - sold[group.members] < group.lower - ROUNDING
        return np.where(closed, np.inf, fall)

    def full(self) -> BoolArray:
        """Names that may not enter, because there are as many as may be held."""
        m = self.market
        closed = np.zeros(len(self.lots), dtype=bool)
        if m.max_names is None and not self._counted:
            return closed
        inside = (self.lots > 0.0) | (self.kept > 0.0)
        if m.max_names is not None and np.count_nonzero(inside) >= m.max_names:
            closed |= ~inside
        for group in self._counted:
            if np.count_nonzero(inside[group.members]) >= (group.max_names or 0):
                closed[group.members] |= ~inside[group.members]
        return closed

    def _makes_room(self, out: IndexArray, into: IndexArray, empties: BoolArray) -> BoolArray:
        """Pairs in which the sell frees the place that the buy takes."""
        m, inside = self.market, (self.lots > 0.0) | (self.kept > 0.0)
        room = empties
        if m.max_names is not None and np.count_nonzero(inside) > m.max_names:
            room = np.zeros_like(empties)
        for group in self._counted:
            count = np.count_nonzero(inside[group.members]) - (group.max_names or 0)
            if count >= 0:
                both = np.isin(out, group.members)[:, None] & np.isin(into, group.members)
                room = room & (~np.isin(into, group.members) | (both & (count == 0)))
        return room

    def move(self, changes: Iterable[tuple[int, float]]) -> None:
        """Buy (+) and sell (-) lots of some names."""
        m = self.market
        for i, lots in changes:
            change = lots * float(m.value[i])
            self._slope += m.loads @ (2.0 * change * m.loads[i])
            self._slope[i] += 2.0 * change * float(m.own[i])
            self.lots[i] += lots
        self._sums()

    def improve(self, most: int) -> None:
        """Make the best change, of one name or of a pair, until none lowers the squared error by more than its price."""
        for _ in range(most):
            rise, fall, bought, sold = self.gains()
            buys, sells = self.open_buys(rise, bought), self.open_sells(fall, sold)
            i, j = int(buys.argmin()), int(sells.argmin())
            if min(buys[i], sells[j]) < 0.0:
                step = self.steps()
                self.move([(i, float(step[0][i]))] if buys[i] <= sells[j] else [(j, -float(step[1][j]))])
                continue
            pair = self.best_pair(rise, fall, bought, sold)
            if pair is None:
                return
            self.move(pair)

    def best_pair(self, rise: FloatArray, fall: FloatArray, bought: FloatArray, sold: FloatArray) -> list[tuple[int, float]] | None:
        """Return the best sell and buy made together, None if no pair is worth its price.

        Those are tried that look best if the money did not matter, which in a pair it hardly does; by the next lot of each, and
        by lots of the cheaper one that make up for the other.
        """
        m = self.market
        idle = float(m.loads[0, -1]) ** 2 if len(m.loads) else 0.0
        out = _smallest(fall - sold * (idle * (sold - 2.0 * self._gap)))
        into = _smallest(rise - bought * (idle * (bought + 2.0 * self._gap)))
        if not len(out) or not len(into):
            return None
        vi, vj = m.value[out][:, None], m.value[into]
        ones = np.ones((len(out), len(into)))
        steps = self.steps()
        si, bj = steps[1][out][:, None] * ones, steps[0][into] * ones
        most = (self.lots - m.low)[out][:, None]
        less = np.array([si, np.minimum(np.maximum(np.rint(bj * vj / vi), si), most)])
        more = np.array([bj, np.maximum(np.rint(si * vi / vj), bj)])
        a, b = less * vi, more * vj
        moved = self.lots - self.origin
        hi, hj = moved[out][:, None], moved[into]
        change = a * (a * self._curve[out][:, None] - self._slope[out][:, None]) + b * (b * self._curve[into] + self._slope[into])
        change -= 2.0 * a * b * (m.loads[out] @ m.loads[into].T)
        change += (np.abs(hi - less) - np.abs(hi)) * m.price[out][:, None] + (np.abs(hj + more) - np.abs(hj)) * m.price[into]
        if m.fee_price > 0.0:
            orders = (hi == 0.0) * 1.0 - (hi == less) + (hj == 0.0) * 1.0 - (hj == -more)
            change += m.fee_price * orders
        change[self._closed_pairs(out, into, less, more, a, b)] = np.inf
        best = np.unravel_index(int(change.argmin()), change.shape)
        if not change[best] < 0.0:
            return None
        return [(int(out[best[1]]), -float(less[best])), (int(into[best[2]]), float(more[best]))]

    def _closed_pairs(
        self, out: IndexArray, into: IndexArray, less: FloatArray, more: FloatArray, a: FloatArray, b: FloatArray
    ) -> BoolArray:
        """Pairs of sells and buys, worth a and b, that some limit forbids."""
        m = self.market
        left = self.lots[out][:, None] - less
        closed = (out[:, None] == into) | (self.lots[into] + more > m.high[into])
        closed |= (left < m.stay[out][:, None]) & (left > m.low[out][:, None]) & (left > 0.0)
        spare = self.cash + ROUNDING
        closed |= b * (1.0 + m.rate[into]) + m.fee > a * (1.0 - m.rate[out][:, None]) - m.fee + spare if self._costs else b > a + spare
        if self._limited:
            moved = (self.lots - self.held) * m.value
            hi, hj = moved[out][:, None], moved[into]
            traded = np.abs(hi - a) - np.abs(hi) + np.abs(hj + b) - np.abs(hj)
            closed |= traded > m.turnover - self.traded + ROUNDING
        for group, whole in zip(m.groups, self.group_sums, strict=True):
            i, j = np.isin(out, group.members)[:, None], np.isin(into, group.members)
            after = whole - np.where(i, a, 0.0) + np.where(j, b, 0.0)
            closed |= j & (after > group.upper + ROUNDING) & (b > np.where(i, a, 0.0))
            closed |= i & (after < group.lower - ROUNDING) & (a > np.where(j, b, 0.0))
        if m.max_names is not None or self._counted:
            closed |= self.full()[into] & ~self._makes_room(out, into, left == 0.0)
        return closed


def _smallest(values: FloatArray) -> IndexArray:
    """Positions of the smallest values that are finite."""
    some = np.argpartition(values, CANDIDATES)[:CANDIDATES] if len(values) > CANDIDATES else np.arange(len(values))
    return some[np.isfinite(values[some])]
