"""The search for whole lots: the best change of one name while one helps, then the best pair of a sell and a buy; and a dear lot
that takes many others to pay for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.execution.mandate.lots.cures import sell
from tracker_strategies.execution.mandate.lots.search import (
    ROUNDING,
    BoolArray,
    FloatArray,
    IndexArray,
    LotSearch,
    Next,
    squared_error,
)

COMPILED = "tracker_strategies.execution.mandate.lots.numba_pairs"
CANDIDATES = 20
"""Sells and buys that are tried in pairs: those that look best alone."""
DEAR, MATTERS = 0.01, 0.05
"""A lot of at least this share of the account is dear. It is tried when its move would take away the second share of the squared
error, if nothing else had to move for it."""
AFTERWARDS = 20
"""Most changes of other names that follow a dear lot."""


def improve(search: LotSearch, most: int) -> None:
    """Change lots until no single change and no pair lowers the squared error by more than its price; `most` times at most."""
    m = search.market
    for _ in range(most):
        after = search.next_lots()
        buys, sells = search.open_buys(after, search.cash), search.open_sells(after)
        i, j = int(buys.argmin()), int(sells.argmin())
        if min(buys[i], sells[j]) < -m.trifle:
            if buys[i] <= sells[j]:
                search.move_one(i, float(after.buy[i]))
            else:
                search.move_one(j, -float(after.sell[j]))
        elif not _move_pair(search, after):
            return


def move_dear_lot(search: LotSearch) -> bool:
    """Buy or sell the lot whose name is furthest from its wish, if the others, changed to suit, make up for it; False if not.

    A lot that is worth many others is out of reach of pairs. Tried where its own error is a share of the whole that matters.
    """
    m = search.market
    error = search.lots * m.value + search.kept - search.wish
    own = np.where(m.value >= DEAR, m.own * m.value * (2.0 * np.abs(error) - m.value), 0.0)
    i = int(own.argmax())
    if own[i] <= MATTERS * squared_error(m, search.wish, search.kept, search.lots):
        return False
    after, buys = search.next_lots(), bool(error[i] < 0.0)
    if not np.isfinite((search.open_buys(after, np.inf) if buys else search.open_sells(after))[i]):
        return False
    lots = float(after.buy[i] if buys else -after.sell[i])
    low, high = m.low.copy(), m.high.copy()
    (low if buys else high)[i] = search.lots[i] + lots
    fixed = replace(m, low=low, high=high)
    other = LotSearch(fixed, search.wish, search.held, search.origin, search.kept, search.lots.copy())
    other.move_one(i, lots)
    while other.cash < -ROUNDING and sell(other, -other.cash):
        pass
    if other.cash < -ROUNDING:
        return False
    improve(other, AFTERWARDS)
    if other.total_cost() >= search.total_cost() - m.trifle:
        return False
    search.set_lots(other.lots)
    improve(search, AFTERWARDS)
    return True


def _move_pair(search: LotSearch, after: Next) -> bool:
    """Make the best sell and buy together; False if no pair is worth its price.

    Tried are those that look best if money did not matter, which in a pair it hardly does: the next lot of each, and as many lots
    of the cheaper one as make up for the other.
    """
    m, idle = search.market, float(search.market.loads[0, -1]) ** 2
    out = _smallest(after.fall - after.sold * (idle * (after.sold - 2.0 * search.gap)))
    into = _smallest(after.rise - after.bought * (idle * (after.bought + 2.0 * search.gap)))
    if not len(out) or not len(into):
        return False
    if (compiled := kernels.counterpart(COMPILED)) is not None:
        steps = (after.sell, after.buy, m.value, search.lots - m.low, search.lots - search.origin)
        if not compiled.pays(out, into, *steps, search.slope, search.curve, m.price, m.loads, m.fee_price, m.trifle):
            return False
    vi, vj = m.value[out][:, None], m.value[into]
    shape = (2, len(out), len(into))
    less, more = np.empty(shape), np.empty(shape)
    less[0], more[0] = after.sell[out][:, None], after.buy[into]
    ratio = vj / vi
    np.minimum(np.maximum(np.rint(more[0] * ratio), less[0]), (search.lots - m.low)[out][:, None], out=less[1])
    np.maximum(np.rint(less[0] / ratio), more[0], out=more[1])
    a, b = less * vi, more * vj
    moved = search.lots - search.origin
    hi, hj = moved[out][:, None], moved[into]
    change = a * (a * search.curve[out][:, None] - search.slope[out][:, None]) + b * (b * search.curve[into] + search.slope[into])
    change -= a * b * (2.0 * (m.loads[out] @ m.loads[into].T))
    change += (np.abs(hi - less) - np.abs(hi)) * m.price[out][:, None] + (np.abs(hj + more) - np.abs(hj)) * m.price[into]
    if m.fee_price > 0.0:
        change += m.fee_price * ((hi == 0.0) * 1.0 - (hi == less) + (hj == 0.0) * 1.0 - (hj == -more))
    if change.min() >= -m.trifle:  # on a quiet bar that is all
        return False
    change[_closed_pairs(search, out, into, less, more, a, b)] = np.inf
    k, i, j = np.unravel_index(int(change.argmin()), shape)
    if not change[k, i, j] < -m.trifle:
        return False
    search.move(np.array([out[i], into[j]]), np.array([-less[k, i, j], more[k, i, j]]))
    return True


def _closed_pairs(
    search: LotSearch, out: IndexArray, into: IndexArray, less: FloatArray, more: FloatArray, a: FloatArray, b: FloatArray
) -> BoolArray:
    """Pairs of sells and buys, worth a and b, that some limit forbids."""
    m = search.market
    left = search.lots[out][:, None] - less
    closed = (out[:, None] == into) | (search.lots[into] + more > m.high[into])
    if not search.plain:
        closed |= (left < m.stay[out][:, None]) & (left > 0.0)
    spare = search.cash + ROUNDING
    if search.costly:
        closed |= b * (1.0 + m.rate[into]) + m.fee > a * (1.0 - m.rate[out][:, None]) - m.fee + spare
    else:
        closed |= b > a + spare
    if search.limited:
        moved = (search.lots - search.held) * m.value
        hi, hj = moved[out][:, None], moved[into]
        closed |= np.abs(hi - a) - np.abs(hi) + np.abs(hj + b) - np.abs(hj) > m.turnover - search.traded + ROUNDING
    for grouping in search.groupings:
        i, j = grouping.of[out][:, None], grouping.of[into]
        change = np.where(i == j, b - a, b)
        closed |= (change > 0.0) & (change > (grouping.upper - grouping.sums + ROUNDING)[j])
        change = np.where(i == j, a - b, a)
        closed |= (change > 0.0) & (change > (grouping.sums - grouping.lower + ROUNDING)[i])
    if search.counted:
        empties = (left == 0.0) & (search.kept[out] == 0.0)[:, None]
        closed |= search.full()[into] & ~_makes_room(search, out, into, empties)
    return np.asarray(closed)


def _makes_room(search: LotSearch, out: IndexArray, into: IndexArray, empties: BoolArray) -> BoolArray:
    """Pairs in which the sell frees the place that the buy takes."""
    inside, most = search.inside(), search.market.max_names
    room = empties if most is None or np.count_nonzero(inside) <= most else np.zeros_like(empties)
    for grouping in search.groupings:
        if grouping.counts:
            spare = grouping.max_names - np.bincount(grouping.of, inside, len(grouping.sums))
            i, j = grouping.of[out][:, None], grouping.of[into]
            room = room & ((spare[j] > 0.0) | ((spare[j] == 0.0) & (i == j)))
    return room


def _smallest(values: FloatArray) -> IndexArray:
    """Positions of the smallest values that are finite."""
    some = np.argpartition(values, CANDIDATES)[:CANDIDATES] if len(values) > CANDIDATES else np.arange(len(values))
    return some[np.isfinite(values[some])]
