r"""Sums of weighted absolute values, and their exact proximal step under one linear constraint.

For :math:`\phi(w) = \sum_j k_j |w - r_j|` with sorted kinks the minimiser of :math:`\tfrac12 (w-a)^2 + \phi(w)` is piecewise
linear in a: it moves with slope 1, rests on a kink over an interval of length :math:`2 k_j`, moves on. With

.. math:: K_j = \sum_{i > j} k_i - \sum_{i \le j} k_i, \qquad
    w(a) = \max(a + K_m, \min(r_m, \dots \max(a + K_1, \min(r_1, a + K_0)) \dots))

it takes 2m comparisons; m = 1 is soft thresholding around r. A budget adds one unknown: the multiplier :math:`\mu` with
:math:`\sum_i d_i\, w_i(z_i + \mu d_i) = c`. The left side is increasing and piecewise linear in it, so Newton's method in a
bracket ends on the exact piece; after `MAX_NEWTON` steps the breakpoints are sorted and bisected.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array, Mask, describe_not_finite
from tracker_strategies.errors import InputError

MAX_NEWTON = 25
Bound = float | Array


class Kinks:
    """The kinks of n coordinates: positions `r` and weights `k`, m rows each, shape (m, n)."""

    def __init__(self, r: Array, k: Array) -> None:
        order = np.argsort(r, axis=0, kind="stable") if r.shape[0] > 1 else None
        self.r: Array = r if order is None else np.take_along_axis(r, order, 0)
        k = k if order is None else np.take_along_axis(k, order, 0)
        self.K: Array = k.sum(axis=0) - 2.0 * np.vstack((np.zeros((1, k.shape[1])), np.cumsum(k, axis=0)))

    def part(self, index: Any) -> Kinks:
        """Return the kinks of some coordinates."""
        kinks = object.__new__(Kinks)
        kinks.r, kinks.K = self.r[:, index], self.K[:, index]
        return kinks

    def shrink(self, a: Array) -> Array:
        """Return the minimiser of (w-a)^2/2 + sum k |w - r| in each coordinate."""
        w: Array = a + self.K[0]
        for r, K in zip(self.r, self.K[1:], strict=True):
            w = np.maximum(a + K, np.minimum(r, w))
        return w

    def resting(self, w: Array) -> Mask:
        """Return where w stands on a kink."""
        on: Mask = w == self.r[0]
        for r in self.r[1:]:
            on = on | (w == r)
        return on

    def breakpoints(self, lo: Bound, hi: Bound) -> Array:
        """Return all a at which the slope of clip(shrink(a), lo, hi) may change, shape (rows, n); infinite ones included."""
        return np.vstack((self.r - self.K[:-1], self.r - self.K[1:], lo - self.K, hi - self.K))


def prox_box(z: Array, kinks: Kinks | None, lo: Bound, hi: Bound) -> Array:
    """Return the minimiser of ||w-z||^2/2 + kinks over lo <= w <= hi."""
    w = z if kinks is None else kinks.shrink(z)
    return np.minimum(np.maximum(w, lo), hi)


def prox_budget(z: Array, kinks: Kinks | None, lo: Bound, hi: Bound, c: float, d: Array | None = None) -> Array:
    """Return the minimiser of ||w-z||^2/2 + kinks over lo <= w <= hi with d.w = c; d is all ones by default.

    Parameters
    ----------
    z : ndarray, shape (n,)
    kinks : Kinks or None
    lo, hi : float or ndarray
        Bounds between which c can be reached; they may be infinite.
    c : float
        The budget.
    d : ndarray, shape (n,), optional
        Not all zero.

    Returns
    -------
    ndarray, shape (n,)
        Expected O(n) for a handful of Newton steps, O(n log n) at worst.
    """
    if not np.isfinite(z).all():
        raise InputError(f"the point of a proximal step must be finite, got {describe_not_finite(z)}")
    scale = max(1.0, abs(c))
    shift = 0.0
    if d is None and float(np.abs(z).max()) > 1e3 * scale:
        # A constant in z only moves the multiplier. With the largest entry at 0 the entries that matter keep their digits.
        shift = float(z.max())
        with np.errstate(over="ignore"):
            z = np.maximum(z - shift, -1e300)
    tolerance = 4e-16 * scale
    dd = None if d is None else d * d
    mu, low, high = 0.0, -np.inf, np.inf
    for _ in range(MAX_NEWTON):
        w = prox_box(z + mu if d is None else z + mu * d, kinks, lo, hi)
        gap = float(w.sum() if d is None else d.dot(w)) - c
        if abs(gap) <= tolerance:
            return w
        if gap > 0.0:
            high = mu
        else:
            low = mu
        moving = (w > lo) & (w < hi)
        if kinks is not None:
            moving &= ~kinks.resting(w)
        slope = float(np.count_nonzero(moving) if dd is None else dd.dot(moving))
        step = mu - gap / slope if slope > 0.0 else np.inf
        if step == mu:
            return w
        if not low < step < high:
            break
        mu = step
    return _by_breakpoints(z, kinks, lo, hi, c, d)


def _by_breakpoints(z: Array, kinks: Kinks | None, lo: Bound, hi: Bound, c: float, d: Array | None) -> Array:
    """Bisect on the sorted breakpoints, then solve the linear piece."""
    if kinks is None:
        points = np.vstack((np.broadcast_to(lo, z.shape), np.broadcast_to(hi, z.shape)))
    else:
        points = kinks.breakpoints(lo, hi)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        points = (points - z) / (1.0 if d is None else d)
    points = np.unique(points[np.isfinite(points)])

    def at(mu: float) -> tuple[Array, float]:
        w = prox_box(z + mu if d is None else z + mu * d, kinks, lo, hi)
        return w, float(w.sum() if d is None else d.dot(w)) - c

    low, high = -1, points.shape[0]  # the gap is < 0 at points[low] and >= 0 at points[high], or they lie outside
    while high - low > 1:
        middle = (low + high) // 2
        if at(float(points[middle]))[1] >= 0.0:
            high = middle
        else:
            low = middle
    # Between two neighbours the sum is linear; beyond the last one it has a constant slope.
    if low < 0:
        right = float(points[high]) if points.size else 0.0
        left = right - 1.0
    elif high == points.shape[0]:
        left = float(points[low])
        right = left + 1.0
    else:
        left, right = float(points[low]), float(points[high])
    (w_left, below), (w_right, above) = at(left), at(right)
    if above == below:  # flat: both ends are as good
        return w_right
    mu = left - below * ((right - left) / (above - below))
    w, gap = at(mu)
    for _ in range(3):  # what rounding left over, on the coordinates that move
        moving = (w_left != w_right) & (w > lo) & (w < hi) & (True if kinks is None else ~kinks.resting(w))
        slope = float(np.count_nonzero(moving) if d is None else (d * d).dot(moving))
        if slope == 0.0 or abs(gap) <= 2e-16 * max(1.0, abs(c)):
            break
        mu -= gap / slope
        w, gap = at(mu)
    return w
