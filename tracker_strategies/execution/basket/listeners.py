"""Who would notice: whether anybody listens to the orders, trades and cash of a strategy. News that nobody hears is not made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import backtrader as bt
from backtrader.lineiterator import LineIterator

#: Observers of backtrader that look at neither orders nor trades.
_BLIND_OBSERVERS = {
    bt.observers.Broker,
    bt.observers.Value,
    bt.observers.Cash,
    bt.observers.FundValue,
    bt.observers.FundShares,
    bt.observers.DrawDown,
    bt.observers.DrawDownLength,
    bt.observers.TimeReturn,
    bt.observers.LogReturns,
    bt.observers.Benchmark,
}


class Ears(NamedTuple):
    """What somebody listens to: the strategy itself, an analyzer or an observer.

    Attributes
    ----------
    orders : bool
        Whether anybody would notice its orders.
    trades : bool
        Whether anybody follows its trades (openings and closings of positions).
    cash : bool
        Whether a listener is notified of cash, value and fund value on every bar.
    """

    orders: bool
    trades: bool
    cash: bool


def ears_of(strategy: Any) -> Ears:
    """Who listens to a strategy. Worked out once per run."""
    ears: Ears | None = getattr(strategy, "_ears", None)
    if ears is None:
        analyzers = list(_with_children([*strategy.analyzers, *strategy._slave_analyzers]))

        def anybody(*methods: str) -> bool:
            return any(_overrides([strategy], bt.Strategy, m) or _overrides(analyzers, bt.Analyzer, m) for m in methods)

        trades = any(not _is_blind(o) for o in strategy._lineiterators[LineIterator.ObsType]) or anybody("notify_trade")
        ears = strategy._ears = Ears(trades or anybody("notify_order"), trades, anybody("notify_cashvalue", "notify_fund"))
    return ears


def _with_children(analyzers: Iterable[Any]) -> Iterator[Any]:
    """Analyzers, and those that they have made for themselves: a SharpeRatio has a TimeReturn that listens."""
    for analyzer in analyzers:
        yield analyzer
        yield from _with_children(analyzer._children)


def _is_blind(observer: Any) -> bool:
    """Whether an observer looks at neither orders nor trades: known by its very class, since a subclass may look at anything."""
    kind = type(observer)
    return kind in _BLIND_OBSERVERS or (kind.__module__.split(".")[0] == "indicators" and bool(getattr(kind, "blind", False)))


def _overrides(objects: Iterable[Any], base: type, method: str) -> bool:
    """Whether any of the objects has a method of its own, in its class or put on it."""
    return any(getattr(getattr(o, method), "__func__", None) is not getattr(base, method) for o in objects)
