"""Orders of backtrader in the account's terms, and which of them an account cannot work."""

from __future__ import annotations

import math
from typing import Any

from backtrader import Order, num2date

from tracker_strategies.papertrade.brokers.order_types import OrderType, Terms

#: What backtrader's orders are for an account. A trailing stop is sent as a stop, where it stands that night.
_TYPES = {
    Order.Market: OrderType.MARKET,
    Order.Close: OrderType.AT_CLOSE,
    Order.Limit: OrderType.LIMIT,
    Order.Stop: OrderType.STOP,
    Order.StopLimit: OrderType.STOP_LIMIT,
    Order.StopTrail: OrderType.STOP,
    Order.StopTrailLimit: OrderType.STOP_LIMIT,
}
#: Which of them a broker takes.
WORKED = {"simulated": tuple(_TYPES), "alpaca": (Order.Market,)}


def terms_of(order: Any, rank: int = 0, broker: Any = None) -> Terms:
    """What an order asks for tonight; with the broker in whose line it waits, also its place and its group."""
    kind, price, limit = _TYPES[order.exectype], order.created.price, order.created.pricelimit
    if kind is OrderType.STOP_LIMIT and order.triggered:
        kind, price = OrderType.LIMIT, limit
    if kind.at_once:
        price = 0.0
    until = num2date(order.valid).isoformat() if order.valid and kind is not OrderType.MARKET else ""
    group = "" if broker is None else _group(order, broker)
    return Terms(kind, price, limit if kind is OrderType.STOP_LIMIT else 0.0, rank, group, until)


def _group(order: Any, broker: Any) -> str:
    """Who is cancelled when this one fills: the other child of its parent, or the others of its group."""
    if order.parent is not None:
        return f"b{order.parent.key}"
    leader = broker._ocos.get(order.ref, order.ref)
    members = [o for o in broker.orders if o.ref in broker._ocol.get(leader, ())]
    return f"g{members[0].key}" if len(members) > 1 else ""


def refusal(order: Any, broker: Any) -> str:
    """Why an account cannot take an order; empty when it can."""
    store = broker.store
    config, memory = store.account.config, store.memory
    name, kind = order.data._name, order.getordername()
    if memory.row < memory.opening:
        return f"the account begins on {config.start}; on earlier sessions the strategy only learns and cannot trade"
    if name in memory.targets:
        return f"{name} is an index and cannot be traded; order one of the account's names"
    if order.exectype not in WORKED[config.broker]:
        known = ", ".join(Order.ExecTypes[t] for t in WORKED[config.broker])
        return f"{kind} orders are not supported by the broker {config.broker!r}; it accepts {known}"
    numbers = [order.size, *(() if order.exectype in (Order.Market, Order.Close) else _prices(order))]
    usable = all(isinstance(x, (int, float)) and math.isfinite(x) for x in numbers) and all(x > 0 for x in numbers[1:])
    if not (usable and order.size):
        return f"a {kind} order needs a size and positive prices, got size {order.size!r} and prices {numbers[1:]!r}"
    if order.parent is not None and broker._ocos.get(order.ref) != order.ref:
        return "an order cannot have both a parent and an OCO group; choose one"
    if order.valid is not None and not isinstance(order.valid, (int, float)):
        return f"valid={order.valid!r} is not a point in time; give a date, a datetime, a timedelta or None"
    return _goes_short(order, broker)


def _prices(order: Any) -> list[Any]:
    created = order.created
    return [created.price, *([created.pricelimit] if order.exectype in (Order.StopLimit, Order.StopTrailLimit) else [])]


def _goes_short(order: Any, broker: Any) -> str:
    """An order that fills at once and sells more than is held, and than the orders before it buy. Others are looked at when they
    fill.
    """
    if order.isbuy() or order.parent is not None or not _TYPES[order.exectype].at_once:
        return ""
    held = float(broker.positions[order.data].size)
    before = [o for o in (*broker.pending, *broker.submitted) if o.data is order.data and o.active()]
    there = held + sum(o.executed.remsize for o in before if _TYPES[o.exectype].at_once)
    if there + order.size >= -1e-9 * abs(order.size):
        return ""
    name = order.data._name
    return (
        f"a paper account is long only: {held:g} {name} are held, and together with earlier orders this would sell more than that"
    )
