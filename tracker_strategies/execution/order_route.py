"""The order route: how planned trades reach a broker, and what the account looks like as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

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
        return Fills(self.traded + other.traded, self.paid + other.paid, partial(_joined, self, other))


class OrderRoute(Protocol):
    """What a strategy needs from an account, for its N assets at once."""

    def cash(self) -> float:
        """Cash in the account."""

    def sizes(self) -> FloatArray:
        """(N,) shares held; not to be changed."""

    def pending(self) -> FloatArray | None:
        """(N,) shares in open orders, or None when there are none."""

    def submit(self, deltas: FloatArray) -> None:
        """Send market orders for these changes."""

    def book_out(self, asset: int, price: float) -> None:
        """Turn a position that can no longer be traded into cash at a price."""

    def fills(self) -> Fills | None:
        """What was executed and booked on the current bar; None when nothing was."""


def _joined(first: Fills, second: Fills) -> FillColumns:
    return FillColumns(*(np.concatenate(pair) for pair in zip(first.columns(), second.columns(), strict=True)))
