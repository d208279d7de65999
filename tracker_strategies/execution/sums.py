"""Sums and multiples over the names of a portfolio, straight from BLAS: for some hundred entries two to six times faster than
through numpy's dispatch, and a bar asks for a dozen of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import ddot, dscal

FloatArray = NDArray[np.float64]

_ONES: dict[int, FloatArray] = {}


def inner(a: FloatArray, b: FloatArray) -> float:
    """sum_i a_i b_i."""
    return float(ddot(a, b)) if len(a) else 0.0


def total(a: FloatArray) -> float:
    """sum_i a_i."""
    n = len(a)
    return float(ddot(a, ones(n))) if n else 0.0


def ones(n: int) -> FloatArray:
    """Return n ones, always the same array; not to be changed."""
    vector = _ONES.get(n)
    if vector is None:
        vector = _ONES[n] = np.ones(n)
        vector.setflags(write=False)
    return vector


def scaled(a: FloatArray, s: float) -> FloatArray:
    """S a, a new array."""
    return np.asarray(dscal(s, a.copy())) if len(a) else a.copy()
