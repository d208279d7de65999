"""Limits: looked at before anything is written down or sent. A breach rejects the whole rebalance, never half of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.papertrade.brokers.base import Ticket
from tracker_strategies.papertrade.deciding.tickets import SingleOrder
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.journal.payments import carried_transfers
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.risk_limits import RiskLimits

FloatArray = NDArray[np.float64]

#: Rounding of weights and sizes.
_SLACK = 1e-9


def breaches(
    limits: RiskLimits,
    symbols: Sequence[str],
    sizes: FloatArray,
    deltas: FloatArray,
    prices: FloatArray,
    cash: float,
    *,
    fresh: bool = True,
    pays: bool = True,
) -> list[str]:
    """What a rebalance breaks, in words; empty when it keeps to all limits.

    Parameters
    ----------
    symbols : sequence of N str
    sizes, deltas, prices : (N,) float
        Shares held, shares to buy and sell, last closes (NaN for names that are neither held nor traded).
    cash : float
    fresh : bool
        Whether the index, or one of several, has a level on this session.
    pays : bool
        Whether cash and sells must pay for the buys. If not, the broker leaves out what they do not pay for.
    """
    found = []
    prices = np.where((sizes != 0.0) | (deltas != 0.0), prices, 0.0)
    value = cash + float(sizes @ prices)
    after = sizes + deltas
    worth = np.abs(deltas) * prices

    def named(wrong: NDArray[np.bool_]) -> str:
        return ", ".join(symbols[i] for i in np.flatnonzero(wrong)[:5]) + (", ..." if wrong.sum() > 5 else "")

    if not (np.isfinite(prices).all() and np.isfinite(deltas).all() and np.isfinite(value) and value > 0.0):
        return [f"prices, sizes or cash are not finite, or the account value is not positive: {value:g}"]
    if not fresh:
        found.append("the index has no level on this session: the data are stale")
    short = after < -_SLACK * np.maximum(1.0, sizes)
    if short.any():
        found.append(f"long only: {named(short)} would be sold short")
    spent = float(deltas @ prices)
    if pays and spent > cash + _SLACK * value:
        found.append(f"long only: the buys exceed cash plus proceeds of the sells by {spent - cash:,.2f}")
    if limits.max_order_value is not None and (worth > limits.max_order_value).any():
        big = worth > limits.max_order_value
        found.append(f"max_order_value={limits.max_order_value:g}: {named(big)} (up to {worth.max():,.0f})")
    bought, sold = float(worth[deltas > 0.0].sum()), float(worth[deltas < 0.0].sum())
    turnover = (sold + (bought if pays else min(bought, max(cash + sold, 0.0)))) / value
    if limits.max_turnover is not None and turnover > limits.max_turnover * (1.0 + _SLACK):
        found.append(f"max_turnover={limits.max_turnover:g}: this rebalance would turn over {turnover:.3g} of the account")
    weights = after * prices / value
    if limits.max_weight is not None and (weights > limits.max_weight + _SLACK).any():
        found.append(
            f"max_weight={limits.max_weight:g}: {named(weights > limits.max_weight + _SLACK)} (up to {weights.max():.3g})"
        )
    count = int(np.count_nonzero(deltas))
    if limits.max_orders is not None and count > limits.max_orders:
        found.append(f"max_orders={limits.max_orders}: {count} orders")
    if limits.allow is not None:
        strange = (deltas > 0.0) & ~np.isin(np.array(symbols), limits.allow)
        if strange.any():
            found.append(f"allow: {named(strange)} is not on the list of names that may be bought")
    return found


#: The last session whose loss was told.
TOLD = "loss_told"


def untold_loss(limits: RiskLimits, ledger: Ledger) -> str:
    """A loss beyond ``max_daily_loss`` that no person has been told of, in words; empty without one.

    Every session since the last that was decided about is looked at, not only the newest. Money that was taken out is no loss.
    """
    if limits.max_daily_loss is None:
        return ""
    journal = ledger.journal
    settled = "select session from decisions where kind not in (?, ?) order by session desc limit 1"
    decided = journal.one(settled, (Kind.REFUSED, Kind.MISSED)) or ""
    told = journal.one("select value from meta where key = ?", (TOLD,)) or ""
    rows = journal.rows(
        "select session, value from balances where session >= "
        "coalesce((select max(session) from balances where session <= ?), '') order by session",
        (max(decided, told),),
    )
    moved = carried_transfers(ledger)[1] if len(rows) > 1 or not decided else {}
    before = None if max(decided, told) else ledger.config.opening_value
    for session, value in rows:
        if before is not None and value - moved.get(session, 0.0) < before * (1.0 - limits.max_daily_loss):
            lost = 1.0 - (value - moved.get(session, 0.0)) / before
            return f"max_daily_loss={limits.max_daily_loss:g}: the account lost {lost:.1%} on {session}"
        before = value
    return ""


def breaches_with_singles(
    limits: RiskLimits,
    symbols: Sequence[str],
    sizes: FloatArray,
    deltas: FloatArray,
    prices: FloatArray,
    cash: float,
    singles: Sequence[tuple[SingleOrder, Ticket]],
    **others: Any,
) -> list[str]:
    """The same for a rebalance and single orders beside it, each with the ticket that it is sent as.

    Single orders are looked at twice: those that fill at once with the rebalance, then with all buys that may fill. Whether there
    is cash for each of them is the broker's to see when it fills.
    """
    if not singles:
        return breaches(limits, symbols, sizes, deltas, prices, cash, **others)
    others["fresh"] = others.get("fresh", True) or not deltas.any()  # a strategy that orders by itself need not follow an index
    surely, perhaps, found = deltas.copy(), deltas.copy(), []
    for order, ticket in singles:
        worth = abs(ticket.size) * ticket.price
        surely[order.place] += ticket.size if order.terms.kind.at_once else 0.0
        perhaps[order.place] += ticket.size if order.terms.kind.at_once or ticket.size > 0.0 else 0.0
        if limits.max_order_value is not None and worth > limits.max_order_value:
            found.append(f"max_order_value={limits.max_order_value:g}: {symbols[order.place]} ({worth:,.0f})")
    if limits.max_orders is not None and len(singles) > limits.max_orders:
        found.append(f"max_orders={limits.max_orders}: {len(singles)} orders")
    for wanted, pays in ((deltas, True), (surely, False), (perhaps, False)):
        found += breaches(limits, symbols, sizes, wanted, prices, cash, pays=pays, **others)
    return list(dict.fromkeys(found))
