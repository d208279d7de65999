"""Positions and executions of ordinary orders, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import backtrader as bt
import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.order_route import FillColumns, Fills

FloatArray = NDArray[np.float64]


class OrderReader:
    """Positions and executions of any strategy's ordinary orders, as arrays."""

    def __init__(self, strategy: Any, assets: Sequence[Any]) -> None:
        self._strategy, self._broker = strategy, strategy.broker
        self._assets = assets
        self._place: dict[int, int] | None = None

    @property
    def _places(self) -> dict[int, int]:
        if self._place is None:
            self._place = {id(data): i for i, data in enumerate(self._assets)}
        return self._place

    def sizes(self) -> FloatArray:
        """Shares in the account. Asks without creating entries: the broker would value an unlisted name at NaN for ever after."""
        held = self._broker.positions
        return np.array([held[d].size if d in held else 0.0 for d in self._assets], dtype=np.float64)

    def pending(self) -> FloatArray | None:
        """Unfilled part of the strategy's open orders."""
        shares, found = np.zeros(len(self._assets)), False
        for order in (*self._broker.pending, *self._broker.submitted):
            place = self._places.get(id(order.data)) if isinstance(order, bt.Order) else None
            if place is not None and order.owner is self._strategy:
                shares[place] += order.executed.remsize
                found = True
        return shares if found else None

    def fills(self) -> Fills | None:
        """Executions that backtrader announced on this bar; it keeps them until the bar is over."""
        return self.fills_of(self._strategy._orderspending)

    def fills_of(self, orders: Sequence[Any]) -> Fills | None:
        """What these announcements executed."""
        place = self._places
        bits = [
            (at, bit.dt, bit.size, bit.price, bit.closedcomm + bit.openedcomm, getattr(order, "moved", 0.0))
            for order in orders
            if (at := place.get(id(order.data))) is not None
            for bit in order.executed.getpending()
        ]
        if not bits:
            return None
        table = np.array(bits, dtype=np.float64)
        columns = FillColumns(table[:, 0].astype(np.int64), *(table[:, j] for j in range(1, 5)))
        value = np.abs(columns.size) * columns.price
        slip = float(getattr(self._broker.p, "slip_perc", 0.0)) + table[:, 5]
        slipped = value * slip / (1.0 + np.sign(columns.size) * slip)
        return Fills(float(value.sum()), float(columns.fee.sum() + slipped.sum()), partial(_same, columns))


def _same(columns: FillColumns) -> FillColumns:
    return columns
