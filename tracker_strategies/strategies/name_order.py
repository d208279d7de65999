"""The order in which an algorithm knows the names, whatever that of the feeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

IndexArray = NDArray[np.int64]


def order_by_symbol(symbols: Sequence[str]) -> IndexArray | None:
    """Positions of the symbols, sorted by name; None where they are sorted already.

    Algorithms decide ties, draw names by lot and add up numbers in the order in which they know the names. One order for all ways
    to add the feeds makes one outcome.
    """
    order = sorted(range(len(symbols)), key=symbols.__getitem__)
    return None if order == list(range(len(symbols))) else np.array(order)


def known_names(symbols: tuple[str, ...], allowed: NDArray[np.bool_], *, by_position: bool) -> IndexArray | None:
    """Positions of the names that the algorithm knows, in its order; None for all of them as they are."""
    order = None if by_position else order_by_symbol(symbols)
    if allowed.all():
        return order
    every = np.arange(len(symbols)) if order is None else order
    return np.asarray(every[allowed[every]])
