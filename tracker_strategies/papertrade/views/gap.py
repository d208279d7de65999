"""What lies between a paper account and its own backtest, in money and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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


def gap_words(gap: Mapping[str, float]) -> list[str]:
    """The same on page and terminal: shortfall, missed fills, divergence. Money is in the currency of the account."""
    return [
        f"Shortfall from decision to fill {gap['shortfall']:,.2f}, {gap['shortfall_bps']:.2f} bp of {gap['traded']:,.0f} traded; "
        f"fees {gap['fees']:,.2f}.",
        f"{_orders(gap['missed_orders'])} failed (worth {gap['missed']:,.0f}), {gap['missed_sessions']:.0f} sessions missed; "
        f"{_orders(gap['cut_orders'])} partly filled as in a backtest, for lack of cash, volume or a bar (the rest is worth "
        f"{gap['cut']:,.0f}).",
        f"Difference from the backtest {gap['value_gap']:+.4%}, weights differ by up to {gap['weights_gap']:.2g}, "
        f"{gap['divergences']:.0f} divergences.",
    ]


def _orders(count: float) -> str:
    return f"{count:.0f} order{'s' * (count != 1.0)}"
