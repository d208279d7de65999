"""A basket: all orders of a tracker for one bar, waiting in the broker's queue at the place where they were submitted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import timedelta
from typing import Any

import backtrader as bt
import numpy as np
from backtrader.order import OrderData
from numpy.typing import NDArray

from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.order_route import FillColumns

FloatArray = NDArray[np.float64]


class Basket:
    """Market orders of one tracker, submitted at the close of a bar.

    Parameters
    ----------
    route : TrackerRoute
        Whose they are. It says at the open what to trade, once opens and cash are known.
    when : float
        Date number of the bar.
    closes : (N,) float
        Closes at which they were submitted.
    deltas : (N,) float, optional
        Shares to buy (+) and sell (-) at these closes (fill mode ``close``). Without them the orders fill at the next open, and
        which they are is asked for then.
    """

    #: Date number and length of each feed at the close; kept where ordinary orders will be made.
    stamps: list[tuple[float, int]] | None = None
    #: Orders (by id) that were in line when it was submitted.
    ahead: Set[int] = frozenset()
    #: Ordinary orders made of it that are still to be filled.
    orders: list[Any]
    #: The broker's turn on which its orders were last fitted to the cash.
    turn: int = -1

    def __init__(self, route: Any, when: float, closes: FloatArray, deltas: FloatArray | None = None) -> None:
        self.route, self.when, self.closes, self.deltas = route, when, closes, deltas

    @property
    def owner(self) -> Any:
        """The strategy."""
        return self.route.strategy

    @property
    def at_close(self) -> bool:
        """Whether it fills at the closes at which it was submitted."""
        return self.deltas is not None

    def stamp(self) -> None:
        """Write down where the feeds stand: ordinary orders carry the date and price of their submission."""
        if self.stamps is None:
            self.stamps = [(data.datetime[0], len(data)) if len(data) else (self.when, 0) for data in self.route.assets]

    def make_orders(self, deltas: FloatArray) -> list[Any]:
        """Backtrader's own orders for these changes, sells first, as if sent when the basket was submitted."""
        assert self.stamps is not None
        self.orders = []
        for i in sells_first(deltas).tolist():
            kind = bt.order.BuyOrder if deltas[i] > 0.0 else bt.order.SellOrder
            order = kind(owner=self.owner, data=self.route.assets[i], size=abs(float(deltas[i])))
            when, _ = self.stamps[i]
            order.created = created_at(when, order.size, float(self.closes[i]))
            order.dteos = session_end(order.data, when)
            order.basket, order.place = self, i
            self.orders.append(order)
        return list(self.orders)

    def trades(self, orders: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
        """(N,) shares that these of its orders have still to fill, and at which prices: its closes, or the opens of now."""
        deltas, quoted = np.zeros(len(self.closes)), np.zeros(len(self.closes))
        for order in orders:
            deltas[order.place] = order.executed.remsize
            quoted[order.place] = self.closes[order.place] if self.at_close else order.data.open[0]
        return deltas, quoted

    def length_of(self, order: Any) -> int:
        """Length of an order's feed at submission."""
        assert self.stamps is not None
        place: int = order.place
        return self.stamps[place][1]

    def shrink(self, deltas: FloatArray) -> None:
        """Bring what is left of the orders to these sizes, of the same sign or zero."""
        for order in self.orders:
            left = float(deltas[order.place])
            order.size = order.created.size = order.executed.size + left
            order.executed.remsize = left


def sells_first(deltas: FloatArray) -> NDArray[np.int64]:
    """Places of the changes in the order in which they are sent: a buy may need the cash of a sell."""
    return np.concatenate([np.flatnonzero(deltas < 0.0), np.flatnonzero(deltas > 0.0)])


def created_at(when: float, size: float, close: float) -> OrderData:
    """What a market order sent at a close asks for."""
    return OrderData(dt=when, size=size, price=close, pricelimit=None, pclose=close, trailamount=None, trailpercent=None)


def session_end(data: Any, when: float) -> float:
    """End of the session of a date number, as backtrader's orders note it."""
    now = bt.num2date(when)
    end = data.p.sessionend
    eos = now.replace(hour=end.hour, minute=end.minute, second=end.second, microsecond=end.microsecond)
    if eos < now:
        eos += timedelta(days=1)
    return float(data.date2num(eos))


def tradable_prices(bar: Any, kind: str, deltas: FloatArray) -> FloatArray:
    """Opens or closes of a bar for these orders. An unlisted name has no price, and no order either."""
    prices: FloatArray = bar.open if kind == "open" else bar.close
    return prices if bar.age is None else np.where(deltas != 0.0, prices, 0.0)


def fill_columns(deltas: FloatArray, quoted: FloatArray, when: float, costs: CostModel) -> FillColumns:
    """The orders of a basket one by one, sells first, as they would have been submitted."""
    which = sells_first(deltas)
    prices, fees = costs.fill_prices(deltas, quoted), costs.fees(deltas, quoted)
    return FillColumns(which, np.full(len(which), when), deltas[which], prices[which], fees[which])


def merged(baskets: Sequence[Basket], orders: Iterable[Any]) -> Iterator[Any]:
    """Baskets and orders in the order of submission: a basket knows which orders were ahead of it."""
    waiting = deque(baskets)
    for order in list(orders):
        while waiting and id(order) not in waiting[0].ahead:
            yield waiting.popleft()
        yield order
    yield from waiting
