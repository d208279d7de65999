"""The order desk: how planned trades reach a broker, and what the account looks like as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.book import Book

FloatArray = NDArray[np.float64]


class FillColumns(NamedTuple):
    """Executions, one entry each, in the order in which they happened: asset, date number, shares, fill price, commission."""

    asset: NDArray[np.int64]
    when: FloatArray
    size: FloatArray
    price: FloatArray
    fee: FloatArray


@dataclass(eq=False, slots=True)
class Fills:
    """What was executed and booked on one bar.

    Attributes
    ----------
    traded : float
        Value bought plus value sold, at fill prices.
    paid : float
        Commission and slippage, in money.
    columns : callable
        The executions one by one; they are put together only when somebody asks.
    """

    traded: float
    paid: float
    columns: Callable[[], FillColumns]

    def __add__(self, other: Fills) -> Fills:
        def both() -> FillColumns:
            return FillColumns(*(np.concatenate(pair) for pair in zip(self.columns(), other.columns(), strict=True)))

        return Fills(self.traded + other.traded, self.paid + other.paid, both)


class Desk(Protocol):
    """What a strategy needs from an account, for its N assets at once."""

    def cash(self) -> float:
        """Cash in the account."""

    def sizes(self) -> FloatArray:
        """(N,) shares held; not to be changed."""

    def pending(self) -> FloatArray | None:
        """(N,) shares in open orders, or None when there are none."""

    def submit(self, deltas: FloatArray) -> None:
        """Send market orders for these changes."""

    def settle(self, asset: int, price: float) -> None:
        """Turn a position that can no longer be traded into cash at a price."""

    def fills(self) -> Fills | None:
        """What was executed and booked on the current bar; None when nothing was."""


class BasketDesk:
    """All orders of a bar as one basket, on a :class:`~tracker_strategies.execution.basket_broker.BasketBroker`."""

    def __init__(self, strategy: Any, book: Book, *, at_close: bool = False) -> None:
        self._strategy, self._broker, self._book, self._at_close = strategy, strategy.broker, book, at_close

    def cash(self) -> float:
        """Cash in the account."""
        return float(self._broker.cash)

    def sizes(self) -> FloatArray:
        """Shares held."""
        return self._book.sizes

    def pending(self) -> FloatArray | None:
        """Shares in ordinary orders that the user may have open, and in baskets of other strategies that wait for their fill."""
        baskets: FloatArray | None = self._broker.waiting()
        orders = self._ordinary().pending() if self._broker.pending or self._broker.submitted else None
        return baskets if orders is None else orders if baskets is None else orders + baskets

    def submit(self, deltas: FloatArray) -> None:
        """One basket."""
        self._broker.submit_basket(self._strategy, deltas, at_close=self._at_close)

    def settle(self, asset: int, price: float) -> None:
        """Book a position out at a price."""
        self._broker.settle(asset, price)

    def fills(self) -> Fills | None:
        """The basket filled on this bar, and ordinary executions when there were any."""
        basket: Fills | None = self._broker.filled(self._strategy)
        orders = [o for o in self._strategy._orderspending if not hasattr(o, "basket")]
        if not orders:
            return basket
        ordinary = self._ordinary().fills_of(orders)
        return ordinary if basket is None else basket if ordinary is None else basket + ordinary

    def _ordinary(self) -> OrderDesk:
        return OrderDesk(self._strategy, self._book.datas)


class OrderDesk:
    """Ordinary backtrader orders, one per name, on any broker that keeps ``positions`` as backtrader's own does.

    Sells go first: the broker checks and fills in the order of submission, and a buy may need the cash of a sell. At equal prices
    the outcome does not depend on the order of the feeds.
    """

    def __init__(self, strategy: Any, assets: Sequence[Any], *, at_close: bool = False) -> None:
        self._strategy = strategy
        self._at_close = at_close
        self._broker = strategy.broker
        self._slip = float(getattr(strategy.broker.p, "slip_perc", 0.0))
        self._assets = list(assets)
        self._place = {id(data): i for i, data in enumerate(assets)}

    def cash(self) -> float:
        """Cash in the account."""
        return float(self._broker.getcash())

    def sizes(self) -> FloatArray:
        """Shares held. Asks without creating entries: the broker would value an unlisted name at NaN for ever after."""
        held = self._broker.positions
        return np.array([held[d].size if d in held else 0.0 for d in self._assets], dtype=np.float64)

    def pending(self) -> FloatArray | None:
        """Unfilled part of open orders."""
        orders = [o for o in (*self._broker.get_orders_open(), *self._broker.submitted) if id(o.data) in self._place]
        if not orders:
            return None
        shares = np.zeros(len(self._assets))
        for order in orders:
            shares[self._place[id(order.data)]] += order.executed.remsize
        return shares

    def submit(self, deltas: FloatArray) -> None:
        """Market orders, sells first."""
        for i in np.flatnonzero(deltas < 0.0):
            self._strategy.sell(data=self._assets[i], size=float(-deltas[i]), coc=self._at_close)
        for i in np.flatnonzero(deltas > 0.0):
            self._strategy.buy(data=self._assets[i], size=float(deltas[i]), coc=self._at_close)

    def settle(self, asset: int, price: float) -> None:
        """Book the position out at the price, without an order: there is no market left that could fill one."""
        position = self._broker.getposition(self._assets[asset])
        self._broker.cash += position.size * price
        position.set(0, 0.0)

    def fills(self) -> Fills | None:
        """Executions that backtrader announced on this bar; it keeps them until the bar is over."""
        return self.fills_of(self._strategy._orderspending)

    def fills_of(self, orders: Sequence[Any]) -> Fills | None:
        """What these announcements executed."""
        place = self._place
        bits = [
            (place[id(order.data)], bit.dt, bit.size, bit.price, bit.closedcomm + bit.openedcomm)
            for order in orders
            if id(order.data) in place
            for bit in order.executed.getpending()
        ]
        if not bits:
            return None
        table = np.array(bits, dtype=np.float64)
        columns = FillColumns(table[:, 0].astype(np.int64), *(table[:, j] for j in range(1, 5)))
        value = np.abs(columns.size) * columns.price
        slipped = value * self._slip / (1.0 + np.sign(columns.size) * self._slip)
        return Fills(float(value.sum()), float(columns.fee.sum() + slipped.sum()), lambda: columns)
