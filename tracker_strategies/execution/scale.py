"""How much of a wish the budget can pay for, when trading costs in proportion to its value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.sums import absolute, inner

FloatArray = NDArray[np.float64]

_STEPS = 60


def affordable_scale(
    goal: FloatArray,
    held: FloatArray,
    whole: float,
    have: float,
    budget: float,
    even: FloatArray | float,
    odd: FloatArray | float,
) -> tuple[float, FloatArray]:
    """The factor s* of the rebalancer's module, by Newton's method from s = 1, and s* goal - held.

    The cost of going from `held` to s `goal` is convex and piecewise linear in s: the method comes down from above and stops at
    s* exactly, within a rounding of 1e-13 of the budget, far below the dust that is kept aside.

    Parameters
    ----------
    goal, held : (N,) float
        Values wished for, w V, and values held; `whole` and `have` are their sums.
    whole, have : float
    budget : float
        Value that may be spent on holdings and costs.
    even, odd : float or (N,) float
        Half the sum and half the difference of the costs of buying and selling: b [g]_+ + c [-g]_+ = even |g| + odd g.
    """
    s, gap = 1.0, goal - held
    tolerance = 1e-13 * budget
    alike = (even, odd) if isinstance(even, float) and isinstance(odd, float) else None  # the same costs for all names
    for _ in range(_STEPS):
        if alike is not None:
            cost = alike[0] * absolute(gap) + alike[1] * (s * whole - have)
        else:
            cost = float((even * np.abs(gap) + odd * gap).sum())
        over = s * whole + cost - budget
        if not over > tolerance:
            break
        sign = np.sign(gap)
        if alike is not None:
            slope = whole * (1.0 + alike[1]) + alike[0] * inner(sign, goal)
        else:
            slope = whole + float(((even * sign + odd) * goal).sum())
        if not slope > 0.0:
            break
        s = max(0.0, s - over / slope)
        gap = goal * s
        gap -= held
    return s, gap
