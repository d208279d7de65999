r"""The prior that names with quiet returns over the index are large."""

from __future__ import annotations

import numpy as np

from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array, Mask

MEMORY = 0.998
"""Weight of a round against that of the next one."""
UNSURE = 20.0
"""Rounds for which the mean of all names counts in each."""


class Volatility(Part):
    """Mean squares of the returns over the index, each over the size of its bar, name by name.

    Parameters
    ----------
    n : int
        Number of names N.
    """

    _state = ("_squares", "_weights")

    def __init__(self, n: int) -> None:
        self._squares: Array = np.zeros(n)
        self._weights: Array = np.zeros(n)

    def learn(self, excess: Array, free: Mask | None) -> None:
        """Take in a round; names that are not free (None: all are) keep what is known of them."""
        if free is None:
            self._squares *= MEMORY
            self._weights *= MEMORY
            self._weights += 1.0
        else:
            fading = np.where(free, MEMORY, 1.0)
            self._squares *= fading
            self._weights *= fading
            self._weights += free
        self._squares += excess * excess

    def inverse(self, known: Mask) -> Array:
        """Return parts of the known names, with sum 1: the quieter, the larger. A name that was never seen is as the mean."""
        seen = known & (self._weights > 0.0)
        squares = self._squares / np.where(seen, self._weights, 1.0)
        mean = float(squares[seen].sum()) / max(int(np.count_nonzero(seen)), 1)
        parts = np.where(known, 1.0, 0.0)
        if mean > 0.0:
            squares += mean * UNSURE / (UNSURE + self._weights)
            parts /= np.sqrt(squares)
        parts /= parts.sum()
        return parts

    def forget(self, left: Mask) -> None:
        """Forget names that left."""
        self._squares[left] = self._weights[left] = 0.0
