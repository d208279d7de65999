"""The order desk: how planned trades reach a broker, and what the account looks like as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fills:
    """Executions booked on one bar, one entry each, in the order in which they happened."""

    asset: NDArray[np.int64]
    when: FloatArray
    size: FloatArray
    price: FloatArray
    fee: FloatArray

    @property
    def traded(self) -> float:
        """Value bought plus value sold."""
        return float(np.abs(self.size) @ self.price)

    def paid(self, slippage: float) -> float:
        """Fees, and what slippage (a fraction of the quoted price) took, in money."""
        lost = np.abs(self.size) * self.price * slippage / (1.0 + np.sign(self.size) * slippage)
        return float(self.fee.sum() + lost.sum())


class Desk(Protocol):
    """What a strategy needs from an account, for its N assets at once."""

    def cash(self) -> float:
        """Cash in the account."""

    def sizes(self) -> FloatArray:
        """(N,) shares held."""

    def pending(self) -> FloatArray | None:
        """(N,) shares in open orders, or None when there are none."""

    def submit(self, deltas: FloatArray) -> None:
        """Send market orders for these changes."""

    def settle(self, asset: int, price: float) -> None:
        """Turn a position that can no longer be traded into cash at a price."""

    def fills(self) -> Fills:
        """What was executed and booked on the current bar."""


class OrderDesk:
    """Ordinary backtrader orders, one per name, on any broker that keeps ``positions`` as backtrader's own does.

    Sells go first: the broker checks and fills in the order of submission, and a buy may need the cash of a sell. At equal prices
    the outcome does not depend on the order of the feeds.
    """

    def __init__(self, strategy: Any, assets: Sequence[Any], *, at_close: bool = False) -> None:
        self._strategy = strategy
        self._at_close = at_close
        self._broker = strategy.broker
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

    def fills(self) -> Fills:
        """Executions that backtrader announced on this bar; it keeps them until the bar is over."""
        place = self._place
        bits = [
            (place[id(order.data)], bit.dt, bit.size, bit.price, bit.closedcomm + bit.openedcomm)
            for order in self._strategy._orderspending
            if id(order.data) in place
            for bit in order.executed.getpending()
        ]
        table = np.array(bits, dtype=np.float64).reshape(len(bits), 5)
        return Fills(table[:, 0].astype(np.int64), *(table[:, j] for j in range(1, 5)))
