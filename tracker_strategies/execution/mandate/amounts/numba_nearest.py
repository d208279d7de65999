"""Compiled by numba: whether weights are in a region, and which of its portfolios is nearest to a wish.

What :mod:`.solver` asks for in Python, in terms of regions. Imported by :func:`kernels.counterpart`, never otherwise.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64

from tracker_strategies.algorithms.numerics.numba_compiling import IN, TABLE, compiled
from tracker_strategies.execution.mandate.amounts import numba_ascent
from tracker_strategies.execution.mandate.limits import FloatArray, Region
from tracker_strategies.execution.mandate.metric import Metric

Start = tuple[FloatArray, FloatArray, float]
EMPTY = 1e-12
"""Least infeasibility that is called one, per unit of multiplier."""


@compiled(IN, IN, IN, TABLE, float64, IN, IN, float64)
def _inside(
    w: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    sums: FloatArray,
    total: float,
    group_lower: FloatArray,
    group_upper: FloatArray,
    tolerance: float,
) -> bool:
    outside = 0
    for i in range(w.shape[0]):
        outside += 0 if lower[i] * (1.0 - tolerance) <= w[i] <= upper[i] * (1.0 + tolerance) else 1
    if outside:
        return False
    for j in range(sums.shape[0]):
        mass = 0.0
        for i in range(w.shape[0]):
            mass += sums[j, i] * w[i]
        low, high = (total, total) if j == 0 else (group_lower[j - 1], group_upper[j - 1])
        if not low - tolerance <= mass <= high + tolerance:
            return False
    return True


@compiled(IN, IN, IN, TABLE, float64, IN, IN, float64, IN)
def _proves_empty(
    held: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    sums: FloatArray,
    total: float,
    group_lower: FloatArray,
    group_upper: FloatArray,
    turnover: float,
    prices: FloatArray,
) -> bool:
    last = sums.shape[0]
    theta = prices[last] if prices[last] > 0.0 else 0.0
    size, bound = theta, theta * turnover if theta > 0.0 else 0.0
    pull = np.zeros(held.shape[0])
    for j in range(last):
        size += abs(prices[j])
        low, high = (total, total) if j == 0 else (group_lower[j - 1], group_upper[j - 1])
        if prices[j] != 0.0:
            bound += prices[j] * (high if prices[j] > 0.0 else low)
            for i in range(pull.shape[0]):
                pull[i] += prices[j] * sums[j, i]
    least = 0.0
    for i in range(pull.shape[0]):
        cheapest = math.inf
        for u in (lower[i], min(max(held[i], lower[i]), upper[i]), upper[i]):
            cheapest = min(cheapest, pull[i] * u + theta * abs(u - held[i]))
        least += cheapest
    return bool(least - bound > EMPTY * size)


def inside(w: FloatArray, region: Region, sums: FloatArray, tolerance: float) -> bool:
    """Return whether weights keep the bounds of names and of sums."""
    given = (w, region.lower, region.upper, sums, region.total, region.group_lower, region.group_upper, tolerance)
    try:
        return bool(_inside(*given))
    except TypeError:  # not contiguous: rare, and a test for it would cost every call
        return bool(_inside(*(np.ascontiguousarray(one) if isinstance(one, np.ndarray) else one for one in given)))


def nearest(
    wish: FloatArray, region: Region, sums: FloatArray, metric: Metric, price: float, start: Start | None
) -> tuple[FloatArray | None, Start | None]:
    """Return the nearest portfolio of a region and what it is priced at; no prices where that is for numpy to find out, and no
    weights where the region is empty.

    Parameters
    ----------
    sums : (1 + G, N) float
        Ones for the total, and where a name is in a group.
    """
    n, limited = len(wish), region.turnover < math.inf
    prices = np.zeros(len(sums) + 1)
    if start is not None and start[0].shape == (n,) and start[1].shape == (len(sums),):
        pull = start[0].copy()
        prices[:-1], prices[-1] = start[1], start[2] if limited else 0.0
    else:
        pull = np.zeros(n)
    w, (lower, upper, held) = np.empty(n), (region.lower, region.upper, region.held)
    bounds = (sums, region.total, region.group_lower, region.group_upper, region.turnover)
    try:
        found = numba_ascent.ascend(wish, held, lower, upper, metric.d, metric.B, price, *bounds, pull, prices, w)
    except TypeError:  # not contiguous: rare, and a test for it would cost every call
        return None, None
    state = (pull, prices[:-1], float(prices[-1]))
    if found:
        return w, state
    return None, state if _proves_empty(held, lower, upper, *bounds, prices) else None
