"""What lies between a paper account and its own backtest, in money and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracker_strategies.analysis.pages.words import count
from tracker_strategies.papertrade.brokers.base import AS_IN_A_BACKTEST, NOT_DUE


def unfilled(orders: Iterable[Any]) -> dict[str, float]:
    """Orders that ended before they were filled in full, and the value of what was not filled.

    ``missed`` and ``missed_orders``: the broker refused or cut them, or they were not sent. ``cut`` and ``cut_orders``: cash, the
    volume, the mandate or a missing bar did not let them be filled in full, as in a backtest; nothing failed.
    """
    found = dict.fromkeys(("missed", "missed_orders", "cut", "cut_orders"), 0.0)
    for order in orders:
        rest = abs(order["wanted"] - order["filled"])
        if order["status"] in ("intent", "open", "partial") or order["reason"] in NOT_DUE or rest <= 1e-9 * abs(order["wanted"]):
            continue
        kind = "cut" if order["reason"] in AS_IN_A_BACKTEST else "missed"
        found[kind] += rest * order["price"]
        found[f"{kind}_orders"] += 1.0
    return found


def netted(fills: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Fills; what invested a payment is added to what the decision traded of the name, as the broker traded both as one."""
    found: dict[Any, dict[str, Any]] = {}
    paid = {(f["session"], f["symbol"]) for f in fills if f["due"] == "flow"}
    for fill in fills:
        name = (fill["session"], fill["symbol"])
        basket = name in paid and fill["due"] in ("open", "close", "flow")
        before = found.get(name) if basket else None
        if before is None:
            found[name if basket else fill["id"]] = dict(fill)
            continue
        size = before["size"] + fill["size"]
        late = sum(f["size"] * (f["price"] - f["decided"]) for f in (before, fill))
        before |= {"size": size, "fee": before["fee"] + fill["fee"], "decided": before["price"] - late / size if size else 0.0}
    return [fill for fill in found.values() if fill["size"]]


def gap_words(gap: Mapping[str, float]) -> list[str]:
    """The same on page and terminal: shortfall, missed fills, divergence. Money is in the currency of the account."""
    return [
        f"Shortfall from decision to fill {gap['shortfall']:z,.2f}, {gap['shortfall_bps']:z.2f} bp of {gap['traded']:,.0f} "
        f"traded; fees {gap['fees']:,.2f}.",
        f"{count(gap['missed_orders'], 'order')} failed (worth {gap['missed']:,.0f}), "
        f"{count(gap['missed_sessions'], 'session')} missed; {count(gap['cut_orders'], 'order')} partly filled as in a backtest, "
        f"for lack of cash, volume or a bar (the rest is worth {gap['cut']:,.0f}).",
        f"Difference from the backtest {gap['value_gap']:+z.4%}, weights differ by up to {gap['weights_gap']:.2g}, "
        f"{count(gap['divergences'], 'divergence')}.",
    ]
