"""Whole lots for a portfolio that was wanted in fractions: what is held, changed where a lot is worth its price."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.mandate.limits import Limits
from tracker_strategies.execution.mandate.lots.cures import cure
from tracker_strategies.execution.mandate.lots.moves import improve, move_dear_lot
from tracker_strategies.execution.mandate.lots.search import ROUNDING, LotSearch, Market, squared_error
from tracker_strategies.execution.mandate.metric import Metric

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
LotArray = NDArray[np.int64]

IDLE = 4.0
"""Price of idle cash, in squared returns of the index: what it would miss, counted this many times."""
NOMINAL = 2e-4
"""Least cost of trading that is reckoned with, per unit of value: half a spread. Where trading is free, errors in the metric
would move lots to and fro."""
USUAL = 0.1
"""Tracking error per bar, as a share of the index's own moves, where nobody says what it is."""
TRIFLE = 1e-4
"""Share of the squared tracking error that no change is made for."""
FAR, MANY = 1.0, 6.0
"""A name of more than MANY lots that is further than FAR lots from what is wanted goes there at once: one lot more or less says
little there. The search does the rest."""
ENTRY = 20
"""Dear lots that are tried on the entry; one per bar afterwards."""
WHOLE = 1e-9
"""Lots that miss a whole number by less than this are whole, and caps hold up to this."""


def round_lots(
    wish: FloatArray,
    held_lots: FloatArray,
    lot_value: FloatArray,
    metric: Metric,
    index_variance: float,
    limits: Limits,
    *,
    support: BoolArray,
    can_buy: BoolArray,
    can_sell: BoolArray,
    total: float,
    turnover: float = np.inf,
    cost_rate: float | FloatArray = 0.0,
    fee: float = 0.0,
    horizon: float = 5.0,
    error: float | None = None,
    idle: float = IDLE,
) -> LotArray:
    r"""Return how many lots of each name to hold.

    With v the values of a lot, n lots, e = n v - w and the idle cash c = total - sum(n v), the search lowers

    .. math:: J(n) = e'(\mathrm{diag}(d) + BB')e + \kappa \sigma_y^2 c^2 + \frac{2 \sigma}{H} \sum_i r_i v_i |n_i - n^0_i|

    from the lots held, n0, by single lots, by pairs of a sell and a buy, and by a dear lot against many others. The first two
    terms are the squared tracking error per bar, the last one is what trading costs in the same unit: a cost of r once, against a
    tracking error :math:`\sigma` that falls for H bars. A name of which less than half a lot is wanted is replaced by others with
    the same factors. Names of many lots follow the wish as fractions would, and only the last lot of them is searched for.

    First, what is held is brought within the limits: names outside `support` are sold in full, then caps, groups, minima and the
    total are met, by the trades that cost least in J. Caps, sums of groups and the number of names are kept exactly, floors to
    within a lot. `turnover` is kept exactly too, but gives way to caps, groups and the total, and to floors of single names.

    Where `held_lots` has an odd part, such as a split leaves, that part is sold at once; where it cannot be sold, it stays,
    counts in all sums, and is not in the result.

    Parameters
    ----------
    wish : (N,) float
        Weights wanted, w, within the limits.
    held_lots : (N,) float
        Lots held.
    lot_value : (N,) float
        Value of a lot as a share of the account; anything where there is no price, for names that are neither held nor traded.
    metric : Metric
        (d, B).
    index_variance : float
        :math:`\sigma_y^2`, mean square of the index's returns.
    limits : Limits
    support : (N,) bool
        Names that may be held.
    can_buy, can_sell : (N,) bool
        Names that can be traded now.
    total : float
        Most that is invested, as a share of the account; costs are paid out of it too.
    turnover : float
        Most that is bought and sold together.
    cost_rate : float or (N,) float
        Cost per unit of value traded, r; less than two basis points count as two in J.
    fee : float
        Cost of an order whatever its size, as a share of the account.
    horizon : float
        Bars for which a trade has to pay, H.
    error : float, optional
        Tracking error per bar, :math:`\sigma`; a tenth of the index's moves by default. Changes that lower J by less than a
        ten-thousandth of its square are not made.
    idle : float
        :math:`\kappa`.

    Returns
    -------
    (N,) int64

    Notes
    -----
    Cost: about thirty vector operations of length N for each lot that moves, and a table of 20 x 20 pairs for each pair and once
    at the end.
    """
    priced = np.isfinite(lot_value) & (lot_value > 0.0)
    value = lot_value if priced.all() else np.where(priced, lot_value, 1.0)
    buyable, sellable = can_buy & support & priced & ~limits.frozen, can_sell & priced & ~limits.frozen
    held = np.floor(held_lots + WHOLE)
    odd = np.maximum(held_lots - held, 0.0) * value
    odd[odd < WHOLE * value] = 0.0
    rate = np.broadcast_to(np.asarray(cost_rate, dtype=np.float64), value.shape)
    kept, given = np.where(sellable, 0.0, odd), np.where(sellable, odd, 0.0)
    usual = USUAL * float(np.sqrt(index_variance)) if error is None else error
    price = 2.0 * usual / horizon
    cap = _caps(limits, value, kept)
    high, low = _bounds(limits, value, held, cap, buyable, sellable, support)
    most = np.maximum(high, 1.0)
    market = Market(
        value=value,
        own=metric.d,
        loads=np.column_stack((metric.B, np.full(len(value), np.sqrt(idle * index_variance)))),
        low=low,
        high=high,
        entry=np.clip(np.ceil(limits.least / value - WHOLE), 1.0, most),
        stay=np.clip(np.floor(limits.least / value + WHOLE), 1.0, most),
        price=price * np.maximum(rate, NOMINAL) * value,
        fee_price=price * fee,
        trifle=TRIFLE * usual**2,
        rate=rate,
        fee=fee,
        total=total - float(rate @ given) - fee * float(np.count_nonzero(given)),
        turnover=turnover - float(given.sum()),
        groups=limits.groups,
        max_names=limits.max_names,
    )
    start = _start(market, wish, held, kept, np.where(limits.upper > 0.0, np.maximum(cap, low), np.inf))
    # Many lots are traded as if they were fractions: whether that pays was decided with the wish.
    origin = np.where(np.maximum(start, held) > MANY, start, held)
    search = LotSearch(market, wish, held, origin, kept, start)
    cure(search)
    improve(search, most=4 * len(value) + 100)
    for _ in range(1 if held.any() else ENTRY):
        if not move_dear_lot(search):
            break
    return search.lots.astype(np.int64)


def _caps(limits: Limits, value: FloatArray, kept: FloatArray) -> FloatArray:
    """Return how many lots the cap of each name allows."""
    room = limits.upper - kept
    cap = np.maximum(np.floor(room / value + WHOLE), 0.0)
    cap[cap * value > room + 0.5 * WHOLE] -= 1.0  # a lot larger than the account by far, just short of its cap
    return np.maximum(cap, 0.0)


def _bounds(
    limits: Limits,
    value: FloatArray,
    held: FloatArray,
    cap: FloatArray,
    buyable: BoolArray,
    sellable: BoolArray,
    support: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """Return most and fewest lots of each name: what is held where it cannot be traded."""
    high = np.where(buyable, cap, np.minimum(cap, held))
    high[~support] = 0.0
    low = np.minimum(np.ceil(limits.must / value - WHOLE), high)
    np.copyto(low, np.minimum(low, held), where=~buyable)
    np.copyto(low, held, where=~sellable)
    return np.maximum(high, low), low


def _start(market: Market, wish: FloatArray, held: FloatArray, kept: FloatArray, cap: FloatArray) -> FloatArray:
    """Return the lots to begin with: what is held, within its bounds; and where many lots are missing, those."""
    m = market
    lots = np.minimum(np.maximum(held, m.low), cap)
    left = m.turnover - float(np.abs(lots - held) @ m.value)
    leaving = np.flatnonzero((m.high == 0.0) & (lots > 0.0))
    for i in leaving[np.argsort(lots[leaving] * m.value[leaving])].tolist():  # small ones first: they free most places
        sold = min(lots[i], np.floor((left + ROUNDING) / m.value[i]))
        lots[i] -= max(sold, 0.0)
        left -= max(sold, 0.0) * m.value[i]
    goal = _jumped(m, lots, np.maximum(wish - kept, 0.0) / m.value, entry=not held.any())
    if goal is lots:
        return lots
    if m.max_names is not None or any(g.max_names is not None for g in m.groups):
        _turn_away(m, lots, goal, kept)
    asked = float(np.abs(goal - lots) @ m.value)
    if asked > max(left, 0.0):
        goal = lots + np.trunc((goal - lots) * max(left, 0.0) / asked)
        goal = np.where((goal > 0.0) & (goal < m.stay), lots, goal)
    # What a search has found better than the nearest lots stays: else it would be found anew on every bar.
    better = not held.any() or squared_error(m, wish, kept, goal) < squared_error(m, wish, kept, lots)
    return goal if better else lots


def _jumped(market: Market, lots: FloatArray, want: FloatArray, *, entry: bool) -> FloatArray:
    """Return lots with those that are far from `want`, all of them on the entry, rounded to it: many lots to the nearest, as far
    as the money goes; few lots down.
    """
    m = market
    jumps = m.high > 0.0
    if not entry:
        jumps &= (np.abs(want - lots) > FAR) & (np.maximum(want, lots) > MANY)
        if not jumps.any():
            return lots
    goal = np.where(jumps, np.clip(np.floor(want + WHOLE), m.low, m.high), lots)
    over = np.where(jumps & (goal < m.high) & (want > MANY), want - goal, 0.0)
    order = np.flatnonzero(over >= 0.5)
    order = order[np.argsort(-over[order])]
    money = m.total - float(goal @ m.value)
    goal[order[np.cumsum(m.value[order]) <= money]] += 1.0
    return np.where((goal > 0.0) & (goal < m.entry) & jumps, lots, goal)


def _turn_away(market: Market, lots: FloatArray, goal: FloatArray, kept: FloatArray) -> None:
    """Take names out of `goal`, in place, that would enter when as many are held as may be; the largest enter first."""
    m, inside = market, (goal > 0.0) | (kept > 0.0)
    entering = np.flatnonzero(inside & (lots == 0.0) & (kept == 0.0))
    inside[entering] = False
    counted = [(np.isin(entering, g.members), g) for g in m.groups if g.max_names is not None]
    room = np.inf if m.max_names is None else m.max_names - np.count_nonzero(inside)
    rooms = [(g.max_names or 0) - np.count_nonzero(inside[g.members]) for _, g in counted]
    for place in np.argsort(-goal[entering] * m.value[entering]).tolist():
        mine = [k for k, (members, _) in enumerate(counted) if members[place]]
        if room <= 0 or any(rooms[k] <= 0 for k in mine):
            goal[entering[place]] = 0.0
            continue
        room -= 1
        for k in mine:
            rooms[k] -= 1
