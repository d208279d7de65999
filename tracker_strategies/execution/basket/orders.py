"""Orders of a basket as backtrader's listeners know them, made only when somebody listens.

A basket is filled as arrays. A strategy that defines ``notify_order`` still gets one order object per name and status; these
objects are windows on the basket's arrays and compute what they are asked for, which makes them some ten times cheaper than
``bt.Order``.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import backtrader as bt
import numpy as np
from backtrader.order import OrderData, OrderExecutionBit
from backtrader.utils import AutoOrderedDict
from numpy.typing import NDArray

from tracker_strategies.execution.basket.basket import Basket, created_at, session_end
from tracker_strategies.execution.order_route import FillColumns

FloatArray = NDArray[np.float64]


@dataclass(eq=False)
class FilledBasket:
    """What became of a basket: k orders in the order of submission, sells first. Lists hold Python floats, as backtrader's orders
    do.

    Attributes
    ----------
    owner, comminfo
        As for any order.
    datas : list of k feeds
    size, price, fee : lists of k floats
        Shares (negative for sells), fill price, commission.
    psize, pprice, before : lists of k floats
        Position and its average price after the fill, and that price before it.
    closes : list of k floats
        Closes at which the orders were submitted.
    stamps : list of k triples
        Dates of the feeds then, and their lengths at submission and at the fill.
    when : float
        Date number of the fill.
    refs : range
        Order numbers, drawn from backtrader's own counter.
    """

    owner: Any
    comminfo: Any
    datas: list[Any]
    size: list[float]
    price: list[float]
    fee: list[float]
    psize: list[float]
    pprice: list[float]
    before: list[float]
    closes: list[float]
    stamps: list[tuple[float, int, int]]
    when: float
    refs: list[int]

    def notices(self, *statuses: int) -> list[BasketOrder]:
        """One order per name for each status in turn, as the ordinary broker announces a batch."""
        make, orders = BasketOrder.__new__, []
        for status in statuses:
            for i in range(len(self.size)):
                order = make(BasketOrder)
                order.filled, order.place, order.status = self, i, status
                orders.append(order)
        return orders


def filled_basket(
    broker: Any, basket: Basket, done: FillColumns, before: tuple[FloatArray, FloatArray], bar: Any
) -> FilledBasket:
    """A filled basket, ready to be announced.

    Parameters
    ----------
    done : FillColumns
        The executions.
    before : two (N,) arrays
        Sizes and cost of the positions before them.
    bar : Bar
        The bar on which they were booked.
    """
    which, owned = done.asset, broker.owned
    datas = [owned.datas[i] for i in which.tolist()]
    stamps = broker.gate.stamps(datas, basket.when, None if bar.age is None else bar.age[which])
    return FilledBasket(
        owner=basket.owner,
        comminfo=broker.comminfo[None],
        datas=datas,
        size=done.size.tolist(),
        price=done.price.tolist(),
        fee=done.fee.tolist(),
        psize=owned.sizes[which].tolist(),
        pprice=_average(owned.cost[which], owned.sizes[which]).tolist(),
        before=_average(before[1][which], before[0][which]).tolist(),
        stamps=stamps,
        closes=basket.closes[which].tolist(),
        when=float(done.when[0]),
        refs=list(itertools.islice(bt.Order.refbasis, len(datas))),
    )


def _average(cost: FloatArray, sizes: FloatArray) -> FloatArray:
    return np.divide(cost, sizes, out=np.zeros_like(cost), where=sizes != 0.0)


class BasketOrder(bt.Order):
    """One name of a filled basket, at one status. Reads like any backtrader order; it cannot be changed or cancelled."""

    filled: FilledBasket
    place: int
    status: int

    exectype = bt.Order.Market
    tradeid = 0
    valid = parent = oco = price = pricelimit = trailamount = trailpercent = broker = None
    transmit, histnotify, triggered, position, _active, _limitoffset = True, False, False, 0, True, 0.0

    # Constants and properties: an order is made without __init__, so that it costs next to nothing.
    plimit = None
    owner = property(lambda self: self.filled.owner)
    data = property(lambda self: self.filled.datas[self.place])
    size = property(lambda self: self.filled.size[self.place])
    ref = property(lambda self: self.filled.refs[self.place])
    ordtype = property(lambda self: bt.Order.Buy if self.filled.size[self.place] > 0.0 else bt.Order.Sell)
    plen = property(lambda self: self.filled.stamps[self.place][1 if self.status == bt.Order.Submitted else 2])
    dteos = property(lambda self: session_end(self.data, self.filled.stamps[self.place][0]))
    comminfo = property(lambda self: self.filled.comminfo if self.status == bt.Order.Completed else None)

    @property
    def info(self) -> Any:
        """Extra information: none."""
        return AutoOrderedDict()

    @property
    def created(self) -> OrderData:
        """What was ordered."""
        close = self.filled.closes[self.place]
        return created_at(self.filled.stamps[self.place][0], self.size, close)

    @property
    def executed(self) -> BasketExecution:
        """What was done: nothing before the order is completed."""
        return BasketExecution(self)

    def clone(self) -> BasketOrder:
        """Itself: it never changes."""
        return self

    def __hash__(self) -> int:
        return hash(self.ref)


def _params(order: BasketOrder) -> Any:
    """Parameters of the order."""
    params = bt.Order.params()
    params.owner, params.data, params.size = order.owner, order.data, abs(order.size)
    return params


BasketOrder.params = BasketOrder.p = property(_params)  # not in the class: backtrader reads params there as a declaration


class BasketExecution:
    """The ``executed`` part of a basket order."""

    __slots__ = ("_basket", "_i", "done")

    def __init__(self, order: BasketOrder) -> None:
        self._basket, self._i = order.filled, order.place
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
    def exbits(self) -> deque[OrderExecutionBit]:
        """The fill as one execution bit. backtrader's copies of an order share their bits, whatever the status of the copy."""
        basket, i = self._basket, self._i
        size, price, fee, before = basket.size[i], basket.price[i], basket.fee[i], basket.before[i]
        if size > 0.0:
            parts: dict[str, float] = {"opened": size, "openedvalue": size * price, "openedcomm": fee}
        else:
            gain = -size * (price - before)
            parts = {"closed": size, "closedvalue": -size * before, "closedcomm": fee, "pnl": gain}
        bit = OrderExecutionBit(basket.when, size, price, psize=basket.psize[i], pprice=basket.pprice[i], **parts)
        return deque([bit])

    def iterpending(self) -> Iterator[OrderExecutionBit]:
        """The bits that this notification announces."""
        return iter(self.getpending())

    def getpending(self) -> list[OrderExecutionBit]:
        """The same as a list."""
        return list(self.exbits) if self.done else []

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: int) -> OrderExecutionBit:
        return self.exbits[key]
