"""Orders of a basket as backtrader's listeners know them, made only when somebody listens.

A basket is filled as arrays. A strategy that defines ``notify_order`` still gets one order object per name and status; these
objects are windows on the basket's arrays and compute what they are asked for, which makes them some ten times cheaper than
``bt.Order``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import backtrader as bt
import numpy as np
from backtrader.order import OrderData, OrderExecutionBit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(eq=False)
class FilledBasket:
    """What became of a basket: k orders in the order of submission, sells first. Lists hold Python floats, as backtrader's orders
    do.

    Attributes
    ----------
    owner, broker, comminfo
        As for any order.
    datas : list of k feeds
    size, price, fee : lists of k floats
        Shares (negative for sells), fill price, commission.
    psize, pprice, before : lists of k floats
        Position and its average price after the fill, and that price before it.
    created : float, list of k floats
        When the basket was submitted, and the prices it was submitted at.
    when : float
        Date number of the fill.
    refs : range
        Order numbers, drawn from backtrader's own counter.
    """

    owner: Any
    broker: Any
    comminfo: Any
    datas: list[Any]
    size: list[float]
    price: list[float]
    fee: list[float]
    psize: list[float]
    pprice: list[float]
    before: list[float]
    created: float
    quoted: list[float]
    when: float
    refs: list[int]

    def notices(self, *statuses: int) -> list[BasketOrder]:
        """One order per name for each status in turn, as the ordinary broker announces a batch."""
        make, orders = BasketOrder.__new__, []
        for status in statuses:
            for i in range(len(self.size)):
                order = make(BasketOrder)
                order.basket, order.place, order.status = self, i, status
                orders.append(order)
        return orders


def draw_refs(count: int) -> list[int]:
    """Unique order numbers, shared with ordinary orders."""
    return list(itertools.islice(bt.Order.refbasis, count))


class BasketOrder(bt.Order):
    """One name of a basket, at one status. Reads like any backtrader order; it cannot be changed or cancelled."""

    basket: FilledBasket
    place: int
    status: int

    exectype = bt.Order.Market
    tradeid = 0
    valid = parent = oco = price = pricelimit = trailamount = trailpercent = None
    transmit, histnotify, triggered, plen = True, False, False, 0

    # Constants and properties: an order is made without __init__, so that it costs next to nothing.
    p = property(lambda self: self.params)
    plimit = None
    owner = property(lambda self: self.basket.owner)
    broker = property(lambda self: self.basket.broker)
    comminfo = property(lambda self: self.basket.comminfo)
    data = property(lambda self: self.basket.datas[self.place])
    size = property(lambda self: self.basket.size[self.place])
    ref = property(lambda self: self.basket.refs[self.place])
    ordtype = property(lambda self: bt.Order.Buy if self.basket.size[self.place] > 0.0 else bt.Order.Sell)
    dteos = property(lambda self: self.basket.when)

    @property
    def info(self) -> dict[str, Any]:
        """No extra information."""
        return {}

    @property
    def created(self) -> OrderData:
        """What was asked for."""
        quoted = self.basket.quoted[self.place]
        return OrderData(dt=self.basket.created, size=self.size, price=quoted, pclose=quoted)

    @property
    def executed(self) -> BasketExecution:
        """What was done: nothing before the order is completed."""
        return BasketExecution(self)

    def clone(self) -> BasketOrder:
        """Itself: it never changes."""
        return self

    def __hash__(self) -> int:
        return hash(self.ref)


class BasketExecution:
    """The ``executed`` part of a basket order."""

    __slots__ = ("_basket", "_i", "done")

    def __init__(self, order: BasketOrder) -> None:
        self._basket, self._i = order.basket, order.place
        self.done = order.status == bt.Order.Completed

    @property
    def size(self) -> float:
        """Shares executed."""
        return self._basket.size[self._i] if self.done else 0.0

    @property
    def remsize(self) -> float:
        """Shares still to execute."""
        return 0.0 if self.done else self._basket.size[self._i]

    @property
    def price(self) -> float:
        """Fill price."""
        return self._basket.price[self._i] if self.done else 0.0

    @property
    def comm(self) -> float:
        """Commission paid."""
        return self._basket.fee[self._i] if self.done else 0.0

    @property
    def dt(self) -> float | None:
        """Date number of the fill."""
        return self._basket.when if self.done else None

    @property
    def pnl(self) -> float:
        """Profit of the shares that were sold, against their average price."""
        sold = -min(self.size, 0.0)
        return sold * (self.price - self._basket.before[self._i])

    @property
    def value(self) -> float:
        """Value bought at the fill price, or cost of what was sold."""
        size = self.size
        return size * self.price if size > 0.0 else -size * self._basket.before[self._i]

    @property
    def psize(self) -> float:
        """Position after the fill."""
        return self._basket.psize[self._i] if self.done else 0.0

    @property
    def pprice(self) -> float:
        """Average price of the position after the fill."""
        return self._basket.pprice[self._i] if self.done else 0.0

    margin = None
    plimit = pricelimit = pclose = trailamount = trailpercent = 0.0

    @property
    def exbits(self) -> list[OrderExecutionBit]:
        """The fill as one execution bit."""
        if not self.done:
            return []
        size, price, fee = self.size, self.price, self.comm
        if size > 0.0:
            parts: dict[str, float] = {"opened": size, "openedvalue": size * price, "openedcomm": fee}
        else:
            parts = {"closed": size, "closedvalue": self.value, "closedcomm": fee}
        return [OrderExecutionBit(self.dt, size, price, pnl=self.pnl, psize=self.psize, pprice=self.pprice, **parts)]

    def iterpending(self) -> Iterator[OrderExecutionBit]:
        """The bits that this notification announces."""
        return iter(self.exbits)

    def getpending(self) -> list[OrderExecutionBit]:
        """The same as a list."""
        return self.exbits

    def __len__(self) -> int:
        return int(self.done)

    def __getitem__(self, key: int) -> OrderExecutionBit:
        return self.exbits[key]
