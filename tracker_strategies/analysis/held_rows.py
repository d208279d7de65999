"""What an account held at the close of each bar: all of it, or how many names it were."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: A share of the account above this is a position.
POSITION = 1e-12
#: Bars after which shares that are not kept are counted.
BLOCK = 64


def stacked(rows: Sequence[FloatArray], width: int) -> FloatArray:
    """Rows of equal length as a matrix; for hundreds of rows several times faster than ``np.array``."""
    return np.concatenate(rows).reshape(len(rows), width) if rows else np.zeros((0, width))


def names_held(weights: FloatArray) -> FloatArray:
    """(T,) number of positions, from weights of shape (T, N)."""
    if not weights.size:
        return np.broadcast_to(0.0, len(weights))
    return np.asarray(np.count_nonzero(weights > POSITION, axis=1), dtype=np.float64)


class HeldRows:
    """Shares held and their prices, bar by bar.

    Parameters
    ----------
    n_names : int
        Number of names N.
    keep : bool
        Whether to keep them; else only the number of names, which takes a few bytes per bar.
    see : callable, optional
        Gets the weights of a block of bars before they are forgotten.
    """

    def __init__(self, n_names: int, *, keep: bool, see: Callable[[FloatArray], None] | None = None) -> None:
        self.keep, self._n, self._see = keep, n_names, see
        self._sizes: list[FloatArray] = []
        self._prices: list[FloatArray] = []
        self._values = array("d")
        self._counts = array("i")
        self._weights: FloatArray | None = None

    def add(self, sizes: FloatArray, prices: FloatArray, value: float) -> None:
        """Take in a bar; the arrays are kept and not to be changed."""
        self._sizes.append(sizes)
        self._prices.append(prices)
        self._values.append(value)
        if not self.keep and len(self._sizes) == BLOCK:
            self.flush()

    def flush(self) -> None:
        """Count the names of the bars at hand, and forget them."""
        weights = self._made()
        self._counts.extend(names_held(weights).astype(np.intc))
        for rows in (self._sizes, self._prices, self._values):
            del rows[:]
        if self._see is not None:
            self._see(weights)

    def _made(self) -> FloatArray:
        """Weights of the bars at hand. Only held names are priced: one that is not listed yet has no price."""
        weights = stacked(self._sizes, self._n)
        weights *= stacked(self._prices, self._n)
        if np.isnan(weights.sum()):
            np.nan_to_num(weights, copy=False, nan=0.0)
        weights /= np.array(self._values)[:, None]
        return weights

    @property
    def weights(self) -> FloatArray:
        """(T, N) share of each name in the account; (T, 0) where they are not kept."""
        if not self.keep:
            return np.zeros((len(self._counts) + len(self._sizes), 0))
        if self._weights is None or len(self._weights) != len(self._sizes):
            self._weights = self._made()
        return self._weights

    @property
    def counts(self) -> FloatArray:
        """(T,) number of names with a position."""
        return names_held(self.weights) if self.keep else np.concatenate([self._counts, names_held(self._made())])
