"""How much of a wish the budget can pay for, when trading costs in proportion to its value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.costs import sum_of

FloatArray = NDArray[np.float64]


def next_scale(
    s: float,
    gap: FloatArray,
    goal: FloatArray,
    total: float,
    have: float,
    budget: float,
    even: FloatArray | float,
    odd: FloatArray | float,
) -> float:
    """One step of Newton's method from s towards s* of the rebalancer's module; s itself when it is affordable.

    Parameters
    ----------
    s : float
    gap : (N,) float
        s goal - held.
    goal : (N,) float
        Values wished for, w V; `total` is their sum.
    have, budget : float
        Value held now, and value that may be spent on holdings and costs.
    even, odd : float or (N,) float
        Half the sum and half the difference of the costs of buying and selling: b [g]_+ + c [-g]_+ = even |g| + odd g.
    """
    tolerance = 1e-13 * budget  # rounding, far below the dust that is kept aside
    if isinstance(even, float) and isinstance(odd, float):
        cost = even * sum_of(np.abs(gap)) + odd * (s * total - have)
        over = s * total + cost - budget
        if not over > tolerance:
            return s
        slope = total * (1.0 + odd) + even * float(np.sign(gap).dot(goal))
    else:
        over = s * total + float((even * np.abs(gap) + odd * gap).sum()) - budget
        if not over > tolerance:
            return s
        slope = total + float(((even * np.sign(gap) + odd) * goal).sum())
    return max(0.0, s - over / slope) if slope > 0.0 else s
