"""Bringing lots within limits that what is held has broken, by the trades that cost least."""

from __future__ import annotations

import numpy as np

from tracker_strategies.execution.mandate.lots.search import ROUNDING, BoolArray, LotSearch


def cure(search: LotSearch) -> None:
    """Bring the lots within the limits: minima of names, sums of groups, the total."""
    m = search.market
    if not search.plain:
        for i in np.flatnonzero((search.lots > 0.0) & (search.lots < m.stay)).tolist():
            after = search.next_lots()
            up, down = search.open_buys(after, search.cash)[i], search.open_sells(after)[i]
            if min(up, down) < np.inf:
                search.move_one(i, float(after.buy[i]) if up <= down else -float(after.sell[i]))
    for grouping in search.groupings:
        for place in np.flatnonzero(grouping.sums > grouping.upper + ROUNDING).tolist():
            some = grouping.of == place
            while (excess := grouping.sums[place] - grouping.upper[place]) > ROUNDING and sell(search, excess, some, force=True):
                pass
        for place in np.flatnonzero(grouping.sums < grouping.lower).tolist():
            some = grouping.of == place
            slack = float(np.min(m.value[some & (m.high > search.lots)], initial=np.inf))
            while grouping.sums[place] < grouping.lower[place] - slack and _buy(search, some):
                pass
    while search.cash < -ROUNDING and sell(search, -search.cash, force=True):
        pass


def sell(search: LotSearch, excess: float, some: BoolArray | None = None, *, force: bool = False) -> bool:
    """Sell a lot of each of those names that cost least in J for what they bring, until `excess` is covered; False if none can.

    With `force`, turnover and floors of groups give way where nothing else can be sold.
    """
    after = search.next_lots()
    if some is not None:
        after.fall[~some] = np.inf
    cost = search.open_sells(after) / after.sold
    if force and not np.isfinite(cost).any():
        cost = after.fall / after.sold
    order = np.argsort(cost)
    if search.limited or search.groupings:  # each sell takes room from the next
        order = order[:1]
    order = order[np.isfinite(cost[order])]
    if not len(order):
        return False
    order = order[: 1 + int(np.searchsorted(np.cumsum(after.sold[order]), excess))]
    search.move(order, -after.sell[order])
    return True


def _buy(search: LotSearch, some: BoolArray) -> bool:
    """Buy the lot of some names that costs least in J, on credit if need be; False if there is none."""
    after = search.next_lots()
    cost = np.where(some, search.open_buys(after, np.inf), np.inf) / after.bought
    i = int(cost.argmin())
    if not np.isfinite(cost[i]):
        return False
    search.move_one(i, float(after.buy[i]))
    return True
