"""Who would notice: whether anybody listens to the orders, trades and cash of a strategy. News that nobody hears is not made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import backtrader as bt

#: Observers of backtrader that look at neither orders nor trades.
_BLIND_OBSERVERS = {
    "Broker",
    "Value",
    "Cash",
    "FundValue",
    "FundShares",
    "DrawDown",
    "DrawDownLength",
    "TimeReturn",
    "LogReturns",
    "Benchmark",
}


def listens(strategy: Any) -> bool:
    """Whether anybody would notice the orders of a strategy: itself, an analyzer or an observer. Asked once per run."""
    return bool(_ears(strategy)[0])


def watches_trades(strategy: Any) -> bool:
    """Whether anybody follows its trades (openings and closings of positions)."""
    return bool(_ears(strategy)[1])


def hears_cash(strategy: Any) -> bool:
    """Whether anybody wants to be told of cash, value and fund value on every bar."""
    return bool(_ears(strategy)[2])


def _ears(strategy: Any) -> tuple[bool, bool, bool]:
    ears: tuple[bool, bool, bool] | None = getattr(strategy, "_ears", None)
    if ears is None:
        analyzers = [*strategy.analyzers, *strategy._slave_analyzers]

        def anybody(*methods: str) -> bool:
            return any(_overrides([strategy], bt.Strategy, m) or _overrides(analyzers, bt.Analyzer, m) for m in methods)

        lists = (o if isinstance(o, list) else [o] for o in strategy.observers)
        watching = [o for group in lists for o in group if type(o).__name__ not in _BLIND_OBSERVERS]
        curious = any(not getattr(o, "blind", False) for o in watching)
        trades = curious or anybody("notify_trade")
        ears = strategy._ears = (trades or anybody("notify_order"), trades, anybody("notify_cashvalue", "notify_fund"))
    return ears


def _overrides(objects: Sequence[Any], base: type, method: str) -> bool:
    return any(getattr(type(o), method) is not getattr(base, method) for o in objects)
