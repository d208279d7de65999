"""Sums and multiples over the names of a portfolio, and how much of a wish the budget can pay for.

Straight from BLAS: for some hundred entries that is two to six times faster than through numpy's dispatch, and a bar asks for a
dozen of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dasum, daxpy, ddot, dscal

FloatArray = NDArray[np.float64]

#: Share of the account kept aside against rounding: thousands of fills, each off by one unit in the last place, stay below it.
DUST = 1e-11
_ONES: dict[int, FloatArray] = {}
_STEPS = 60


def inner(a: FloatArray, b: FloatArray) -> float:
    """sum_i a_i b_i."""
    return float(ddot(a, b)) if len(a) else 0.0


def total(a: FloatArray) -> float:
    """sum_i a_i."""
    n = len(a)
    return float(ddot(a, ones(n))) if n else 0.0


def absolute(a: FloatArray) -> float:
    """sum_i |a_i|."""
    return float(dasum(a)) if len(a) else 0.0


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


def affordable_scale(
    goal: FloatArray, held: FloatArray, whole: float, have: float, budget: float, even: float, odd: float
) -> tuple[float, FloatArray, FloatArray, float]:
    """The factor s* when all names cost the same, the change g = s* goal - held, |g|, and the sum of |g|.

    The cost of going from `held` to s `goal` is convex and piecewise linear in s: Newton's method comes down from s = 1 and stops
    at the factor s* of the rebalancer's module exactly, within a rounding of 1e-13 of the budget, far below the dust that is kept
    aside.

    Parameters
    ----------
    goal, held : (N,) float
        Values wished for, w V, and values held; `whole` and `have` are their sums.
    whole, have : float
    budget : float
        Value that may be spent on holdings and costs.
    even, odd : float
        Half the sum and half the difference of the costs of buying and selling: b [g]_+ + c [-g]_+ = even |g| + odd g.
    """
    n, s, gap = len(goal), 1.0, goal - held
    if not n:
        return s, gap, gap, 0.0
    rise, limit, tolerance = whole * (1.0 + odd), budget + odd * have, 1e-13 * budget
    gross: float = dasum(gap)
    for _ in range(_STEPS):
        over = s * rise + even * gross - limit
        if not over > tolerance:
            break
        slope = rise + even * ddot(np.sign(gap), goal)
        if not slope > 0.0:
            break
        before, s = s, s - over / slope
        if s < 0.0:
            s = 0.0
        daxpy(goal, gap, a=s - before)
        gross = dasum(gap)
    return s, gap, np.abs(gap), gross


def affordable_scale_by_name(
    goal: FloatArray, held: FloatArray, budget: float, even: FloatArray, odd: FloatArray
) -> tuple[float, FloatArray]:
    """The same factor where each name has costs of its own, and |s* goal - held|."""
    s, gap, whole = 1.0, goal - held, total(goal)
    for _ in range(_STEPS):
        over = s * whole + float((even * np.abs(gap) + odd * gap).sum()) - budget
        if not over > 1e-13 * budget:
            break
        slope = whole + float(((even * np.sign(gap) + odd) * goal).sum())
        if not slope > 0.0:
            break
        s = max(0.0, s - over / slope)
        gap = goal * s - held
    return s, np.abs(gap)
