"""The broker's list of all orders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import backtrader as bt

from tracker_strategies.errors import AccountError
from tracker_strategies.execution.basket.orders import FilledBasket


class KeptOrders(list[Any]):
    """``broker.orders``: every order so far. It cannot be read when some were never made, because nobody listened to them.

    Orders of the fast lane are made when the list is first read: few look, and hundreds of thousands of objects are a burden.
    """

    complete = True

    def __init__(self, orders: Iterable[Any] = ()) -> None:
        super().__init__(orders)
        self._owed: list[FilledBasket] = []

    def owe(self, filled: FilledBasket) -> None:
        """Take the orders of a basket."""
        self._owed.append(filled)

    def _make(self) -> None:
        if not self.complete:
            raise AccountError(
                "broker.orders: this run kept no orders, because nothing listened to them; define notify_order in the "
                "strategy, or pass broker='ordinary' to it"
            )
        owed, self._owed = self._owed, []
        for filled in owed:
            super().extend(filled.notices(bt.Order.Completed))

    def append(self, order: Any) -> None:
        """Take an ordinary order."""
        if self._owed:
            self._make()
        super().append(order)

    def __reduce__(self) -> Any:
        return KeptOrders, (), {"complete": self.complete, "_owed": self._owed}, iter(list.__getitem__(self, slice(None)))


def _read(name: str) -> Any:
    def method(self: KeptOrders, *args: Any, **kwargs: Any) -> Any:
        self._make()
        return getattr(list, name)(self, *args, **kwargs)

    return method


for _name in (
    "__iter__", "__len__", "__getitem__", "__contains__", "__reversed__", "__eq__", "__add__", "__mul__", "__repr__",
    "count", "index", "copy",
):  # fmt: skip
    setattr(KeptOrders, _name, _read(_name))
