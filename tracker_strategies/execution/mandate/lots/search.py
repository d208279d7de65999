"""A portfolio of whole lots under limits: what the next lot of each name would gain, kept up to date."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.mandate.limits import Group

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]

ROUNDING = 1e-12
"""Share of the account by which a sum may be over its bound and still count as equal to it."""


class Next(NamedTuple):
    """The next buy and the next sell of each of N names.

    Attributes
    ----------
    rise, fall : (N,) float
        Change of squared error and price of trading together; infinite where the bounds of the name forbid it.
    buy, sell : (N,) float
        Lots.
    bought, sold : (N,) float
        Their values.
    """

    rise: FloatArray
    fall: FloatArray
    buy: FloatArray
    sell: FloatArray
    bought: FloatArray
    sold: FloatArray


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
    trifle : float
        Squared error that is not worth a change.
    rate, fee : (N,) float and float
        The same as the prices, in money.
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
    trifle: float
    rate: FloatArray
    fee: float
    total: float
    turnover: float
    groups: tuple[Group, ...] = ()
    max_names: int | None = None


def squared_error(market: Market, wish: FloatArray, kept: FloatArray, lots: FloatArray) -> float:
    """Return the squared error of lots, idle cash included and without what trading costs."""
    error = lots * market.value + kept - wish
    common = error @ market.loads
    return float(market.own @ (error * error) + common @ common)


class Grouping:
    """Groups that do not overlap, side by side: the group of each name, one more for names without, and the bounds of all."""

    def __init__(self, groups: list[Group], n_names: int) -> None:
        self.groups = groups
        self.of: IndexArray = np.full(n_names, len(groups), dtype=np.intp)
        for place, group in enumerate(groups):
            self.of[group.members] = place
        self.lower = np.array([*(g.lower if g.lower > 0.0 else -np.inf for g in groups), -np.inf])
        self.upper = np.array([*(g.upper for g in groups), np.inf])
        self.max_names = np.array([*(np.inf if g.max_names is None else g.max_names for g in groups), np.inf])
        self.counts = bool(np.isfinite(self.max_names).any())
        self.sums: FloatArray = np.zeros(len(groups) + 1)

    def add_up(self, worth: FloatArray) -> None:
        """Take the sums of weights."""
        self.sums = np.asarray(np.bincount(self.of, worth, len(self.sums)), dtype=np.float64)


@lru_cache(maxsize=16)
def _groupings(groups: tuple[Group, ...], n_names: int) -> list[Grouping]:
    """Groups by what kind of group they are. The same from bar to bar, but for their sums."""
    kinds: dict[str, list[Group]] = {}
    for group in groups:
        kinds.setdefault(group.grouping, []).append(group)
    return [Grouping(alike, n_names) for alike in kinds.values()]


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

    Attributes
    ----------
    cash, traded : float
        Money that is left below the total, after costs; what has been bought and sold.
    gap : float
        Sum of the weights less that of the wish.
    slope, curve : (N,) float
        Squared error changes by t slope + t^2 curve when the weight of a name alone changes by t.
    """

    def __init__(
        self, market: Market, wish: FloatArray, held: FloatArray, origin: FloatArray, kept: FloatArray, lots: FloatArray
    ) -> None:
        self.market, self.wish, self.held, self.origin, self.kept = market, wish, held, origin, kept
        self.cash = self.gap = self.traded = 0.0
        self.curve = market.own + np.einsum("ij,ij->i", market.loads, market.loads)
        self.plain = bool((market.entry <= 1.0).all() and (market.stay <= 1.0).all())
        self.costly = bool(market.fee > 0.0 or market.rate.any())
        self.limited = bool(np.isfinite(market.turnover))
        self.groupings = [copy(grouping) for grouping in _groupings(market.groups, len(lots))]
        self.counted = market.max_names is not None or any(g.counts for g in self.groupings)
        self._wanted, self._one = float(wish.sum()), np.ones(len(lots))
        self.set_lots(lots)

    def set_lots(self, lots: FloatArray) -> None:
        """Take over other lots."""
        m, self.lots = self.market, lots
        error = lots * m.value + self.kept - self.wish
        self.slope = 2.0 * (m.own * error + m.loads @ (error @ m.loads))
        self._add_up()

    def total_cost(self) -> float:
        """Squared error and price of trading together."""
        m, moved = self.market, np.abs(self.lots - self.origin)
        traded = float(m.price @ moved) + m.fee_price * float(np.count_nonzero(moved))
        return squared_error(m, self.wish, self.kept, self.lots) + traded

    def _add_up(self) -> None:
        """Money, turnover and groups as of the present lots: sums are taken anew, so that no rounding piles up."""
        m = self.market
        worth = self.lots * m.value + self.kept
        whole = float(worth @ self._one)
        self.cash, self.gap = m.total - whole, whole - self._wanted
        if self.costly or self.limited:
            traded = np.abs(self.lots - self.held) * m.value
            self.traded = float(traded @ self._one)
            if self.costly:
                self.cash -= float(m.rate @ traded) + m.fee * float(np.count_nonzero(traded))
        for grouping in self.groupings:
            grouping.add_up(worth)

    def steps(self) -> tuple[FloatArray, FloatArray]:
        """Lots that the next buy and the next sell of each name move."""
        m, lots = self.market, self.lots
        if self.plain:
            return self._one, self._one
        return np.where(lots < m.entry, np.maximum(m.entry - lots, 1.0), 1.0), np.where(
            lots <= m.stay, np.maximum(lots, 1.0), 1.0
        )

    def _farther(self, change: FloatArray, origin: FloatArray) -> FloatArray:
        """How many lots farther from `origin` each name is after a change."""
        now = self.lots - origin
        return np.abs(now + change) - np.abs(now)

    def next_lots(self) -> Next:
        """What the next buy and the next sell of each name change."""
        m, lots, origin = self.market, self.lots, self.origin
        buy, sell = self.steps()
        bought, sold = (m.value, m.value) if self.plain else (buy * m.value, sell * m.value)
        rise = bought * (self.slope + bought * self.curve) + self._farther(buy, origin) * m.price
        fall = sold * (sold * self.curve - self.slope) + self._farther(-sell, origin) * m.price
        if m.fee_price > 0.0:
            begun = np.where(lots == origin, m.fee_price, 0.0)
            rise += begun - np.where(lots + buy == origin, m.fee_price, 0.0)
            fall += begun - np.where(lots - sell == origin, m.fee_price, 0.0)
        rise[lots + buy > m.high] = np.inf
        fall[lots - sell < m.low] = np.inf
        return Next(rise, fall, buy, sell, bought, sold)

    def open_buys(self, after: Next, cash: float) -> FloatArray:
        """Changes by buys, infinite where money, turnover, a group or the number of names forbids them."""
        m, bought = self.market, after.bought
        closed = bought * (1.0 + m.rate) + m.fee > cash + ROUNDING if self.costly else bought > cash + ROUNDING
        if self.limited:
            closed |= self._farther(after.buy, self.held) * m.value > m.turnover - self.traded + ROUNDING
        for grouping in self.groupings:
            closed |= bought > (grouping.upper - grouping.sums + ROUNDING)[grouping.of]
        if self.counted:
            closed |= self.full()
        return np.where(closed, np.inf, after.rise)

    def open_sells(self, after: Next) -> FloatArray:
        """Changes by sells, infinite where turnover or the floor of a group forbids them."""
        m, fall, sold = self.market, after.fall, after.sold
        if self.limited:
            spent = self._farther(-after.sell, self.held) * m.value > m.turnover - self.traded + ROUNDING
            fall = np.where(spent, np.inf, fall)
        for grouping in self.groupings:
            fall = np.where(sold > (grouping.sums - grouping.lower + ROUNDING)[grouping.of], np.inf, fall)
        return fall

    def inside(self) -> BoolArray:
        """Names that are held."""
        return (self.lots > 0.0) | (self.kept > 0.0)

    def full(self) -> BoolArray:
        """Names that may not enter, because there are as many as may be held."""
        m, inside = self.market, self.inside()
        closed = np.zeros(len(inside), dtype=bool)
        if m.max_names is not None and np.count_nonzero(inside) >= m.max_names:
            closed |= ~inside
        for grouping in self.groupings:
            if grouping.counts:
                count = np.bincount(grouping.of, inside, len(grouping.sums))
                closed |= ~inside & (count >= grouping.max_names)[grouping.of]
        return closed

    def move(self, names: IndexArray, lots: FloatArray) -> None:
        """Buy (+) and sell (-) lots of some names, each named once."""
        m = self.market
        change = lots * m.value[names]
        self.slope += m.loads @ (2.0 * (change @ m.loads[names]))
        self.slope[names] += 2.0 * change * m.own[names]
        self.lots[names] += lots
        self._add_up()

    def move_one(self, name: int, lots: float) -> None:
        """Buy (+) or sell (-) lots of one name."""
        m = self.market
        change = 2.0 * lots * float(m.value[name])
        self.slope += m.loads @ (change * m.loads[name])
        self.slope[name] += change * m.own[name]
        self.lots[name] += lots
        self._add_up()
