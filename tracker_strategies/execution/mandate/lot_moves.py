"""The search for whole lots: many changes at once while many help, then the best single one, then the best pair."""

from __future__ import annotations

import numpy as np

from tracker_strategies.execution.mandate.lot_search import (
    ROUNDING,
    BoolArray,
    FloatArray,
    IndexArray,
    LotSearch,
    Next,
)

CANDIDATES = 20
"""Sells and buys that are tried in pairs: those that look best alone."""
SEVERAL = 8
"""As many changes that help alone are worth a try together."""


def improve(search: LotSearch, most: int) -> None:
    """Change lots until no single change and no pair lowers the squared error by more than its price; `most` times at most."""
    for _ in range(most):
        after = search.next_lots()
        idle = float(search.market.loads[0, -1]) ** 2
        # What a buy and a sell would change if money did not matter: in company it hardly does.
        rise = after.rise - after.bought * (idle * (after.bought + 2.0 * search.gap))
        fall = after.fall - after.sold * (idle * (after.sold - 2.0 * search.gap))
        if _move_several(search, after, rise, fall):
            continue
        buys, sells = search.open_buys(after, search.cash), search.open_sells(after)
        i, j = int(buys.argmin()), int(sells.argmin())
        if min(buys[i], sells[j]) < 0.0:
            if buys[i] <= sells[j]:
                search.move_one(i, float(after.buy[i]))
            else:
                search.move_one(j, -float(after.sell[j]))
        elif not _move_pair(search, after, rise, fall):
            return


def _move_several(search: LotSearch, after: Next, rise: FloatArray, fall: FloatArray) -> bool:
    """Make the best quarter, or less, of all changes that help alone; False if they do not help together half as much."""
    gain = np.minimum(rise, fall)
    if search.counted:
        gain[~search.inside()] = np.inf
    names = np.flatnonzero(gain < 0.0)
    m, some = search.market, len(names) // 4
    if len(names) < SEVERAL:
        return False
    names = names[np.argsort(gain[names])[:some]]
    buys = rise[names] <= fall[names]
    value = np.where(buys, after.bought[names], -after.sold[names])
    alone = np.where(buys, after.rise[names], after.fall[names])
    while some >= 2:
        n, v = names[:some], value[:some]
        loads = m.loads[n]
        shared = v @ loads
        together = float(alone[:some].sum() + shared @ shared - np.einsum("i,ij,ij->", v * v, loads, loads))
        if together < 0.5 * float(gain[n].sum()) and _allowed(search, n, v):
            search.move(n, np.where(buys[:some], after.buy[n], -after.sell[n]))
            return True
        some //= 2
    return False


def _allowed(search: LotSearch, names: IndexArray, value: FloatArray) -> bool:
    """Whether changes of several names keep within money, turnover and groups; on the safe side."""
    m, size = search.market, np.abs(value)
    if float(value.sum() + m.rate[names] @ size) + m.fee * len(names) > search.cash:
        return False
    if search.limited and float(size.sum()) > m.turnover - search.traded:
        return False
    for grouping in search.groupings:
        of, n = grouping.of[names], len(grouping.sums)
        if (np.bincount(of, np.maximum(value, 0.0), n) > np.maximum(grouping.upper - grouping.sums, 0.0)).any():
            return False
        if (np.bincount(of, np.maximum(-value, 0.0), n) > np.maximum(grouping.sums - grouping.lower, 0.0)).any():
            return False
    return True


def _move_pair(search: LotSearch, after: Next, rise: FloatArray, fall: FloatArray) -> bool:
    """Make the best sell and buy together; False if no pair is worth its price.

    Tried are the next lot of each, and as many lots of the cheaper one as make up for the other.
    """
    m = search.market
    out, into = _smallest(fall), _smallest(rise)
    if not len(out) or not len(into):
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
    change[_closed_pairs(search, out, into, less, more, a, b)] = np.inf
    k, i, j = np.unravel_index(int(change.argmin()), shape)
    if not change[k, i, j] < 0.0:
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
        closed |= search.full()[into] & ~_makes_room(search, out, into, left == 0.0)
    return closed


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
