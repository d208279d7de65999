"""Sums over the names of a portfolio, straight from BLAS: for some hundred entries two to six times faster than through numpy's
dispatch, and a bar asks for a dozen of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import ddot

FloatArray = NDArray[np.float64]

_ONES: dict[int, FloatArray] = {}


def inner(a: FloatArray, b: FloatArray) -> float:
    """sum_i a_i b_i."""
    return float(ddot(a, b)) if len(a) else 0.0


def total(a: FloatArray) -> float:
    """sum_i a_i."""
    n = len(a)
    ones = _ONES.get(n)
    if ones is None:
        ones = _ONES[n] = np.ones(n)
    return float(ddot(a, ones)) if n else 0.0


def absolute(a: FloatArray) -> float:
    """sum_i |a_i|. Not by dasum, whose last bits depend on where in memory the vector lies: equal inputs give equal bytes."""
    return total(np.abs(a))
