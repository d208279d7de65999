r"""Kernels behind the projections: the one number that makes the positive parts sum up.

Every projection on a simplex or an l1 ball comes down to the root :math:`\theta` of

.. math:: \sum_i m_i [r_i - \theta]_+ = c ,

convex, decreasing and piecewise linear in :math:`\theta`. For any subset S, :math:`(\sum_S m_i r_i - c)/\sum_S m_i` lies to the
left of the root, and from the left Newton's method climbs to it monotonically, dropping at least one index a step: it ends with
the exact support. It needs one to four passes on what learners produce, against a full sort. After `MAX_NEWTON` steps sorting
takes over.

Nothing here validates its input, except that values which are not finite are reported rather than projected.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg.blas import daxpy, ddot

from tracker_strategies.algorithms._validation import Array, describe_not_finite
from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.errors import InputError

MAX_NEWTON = 40
ZERO = np.zeros(())  # spares numpy the conversion of a Python float, a fifth of the call for 500 entries


@lru_cache(maxsize=32)
def ones(n: int) -> Array:
    """Return n ones, always the same array: a product with it sums up faster than a sum does."""
    vector = np.ones(n)
    vector.setflags(write=False)
    return vector


def simplex(y: Array, total: float) -> Array:
    """Project on {w >= 0, sum w = total}. About 4 microseconds for 500 entries of ordinary size."""
    if total <= 0.0:
        return np.zeros(y.shape[0])
    newton = simplex_newton if kernels.compiled is None else kernels.compiled.simplex_newton
    w = newton(y, total)
    if w is None:
        # Adding a constant to y does not change the answer: with the maximum at 0, what matters lies in [-total, 0] at any scale.
        z = _below_maximum(y, total)
        w = newton(z, total)
        if w is None:
            w = simplex_sorted(z, total)
    return w


def simplex_step(w: Array, step: float, x: Array, total: float) -> Array:
    """Project w + step x on {w >= 0, sum w = total}."""
    if kernels.compiled is not None and total > 0.0:
        new: Array | None = kernels.compiled.simplex_step(w, step, x, total)
        if new is not None:
            return new
    return simplex(moved(w, step, x), total)


def moved(w: Array, step: float, x: Array) -> Array:
    """Return w + step x, at the cost of one new array."""
    y: Array = daxpy(x, w.copy(), a=step)
    return y


def simplex_newton(y: Array, total: float) -> Array | None:
    """Project by Newton's method on the threshold; None when it is beyond `total` in size (rounding) or needs too many steps."""
    n = y.shape[0]
    one = ones(n)
    theta = (ddot(y, one) - total) / n
    u = y - theta
    support, travelled = n, abs(theta)
    for _ in range(MAX_NEWTON):
        w: Array = np.maximum(u, ZERO)
        held = int(np.count_nonzero(w))  # a numpy integer would slow down every comparison below
        if held == 0 or not abs(theta) <= 2.0 * total:  # also when y holds NaN or infinity
            return None
        if held == support and held * travelled <= 20.0 * total:  # the sum is off by some 20 roundings of `total` at most
            return w
        step = (ddot(w, one) - total) / held
        if held == support and held * abs(step) <= 1e-14 * total:
            return w
        support = held
        theta += step
        travelled += abs(step)
        u -= step
    return None


def simplex_sorted(y: Array, total: float) -> Array:
    """Project by sorting, O(n log n): the reference, and the fallback of :func:`simplex_newton`."""
    descending = np.sort(y)[::-1]
    excess = np.cumsum(descending) - total
    rank = np.arange(1, y.shape[0] + 1)
    rho = int(np.count_nonzero(descending * rank > excess))
    return np.maximum(y - float(excess[rho - 1]) / rho, 0.0)


def weighted_simplex(r: Array, m: Array, c: float) -> Array:
    r"""Return :math:`u = [r - \theta]_+` with :math:`\sum_i m_i u_i = c`, for m > 0 and c > 0."""
    top = float(r.max())
    with np.errstate(over="ignore"):
        u = _newton_from_left(np.maximum(r - top, -1e300), m, c)
    theta = top - float(u.max())
    if abs(theta) < abs(top):
        # The threshold lies far below the maximum: differences to it keep digits that differences to the maximum have lost.
        u = _polished(r - theta, m, c)
    return np.maximum(u, 0.0)


def capped(y: Array, u: Array, total: float) -> Array:
    """Project on {0 <= w <= u, sum w = total}, for 0 < total < sum u."""
    w = capped_newton(y, u, total)
    if w is None:
        _refuse_not_finite(y)
        u = np.minimum(u, total)
        # Fill the largest entries to their caps: the root lies less than one cap below the entry that overflows.
        order = np.argsort(-y)
        last = int(np.searchsorted(np.cumsum(u[order]), total))
        with np.errstate(over="ignore"):
            z: Array = np.minimum(np.maximum(y - float(y[order[min(last, y.shape[0] - 1)]]), -total), 2.0 * total)
        w = capped_newton(z, u, total)
        if w is None:
            w = capped_simplex(z, ones(y.shape[0]), u, total)
    return w


def capped_newton(y: Array, u: Array, total: float) -> Array | None:
    """Project on the capped simplex by Newton's method; None when it leaves its bracket or the threshold is large (rounding)."""
    one = ones(y.shape[0])
    theta = (float(y.dot(one)) - total) / y.shape[0]
    low, high = -2.0 * total, 2.0 * total
    for _ in range(MAX_NEWTON):
        if not low < theta < high:
            return None
        w: Array = np.minimum(np.maximum(y - theta, ZERO), u)
        gap = float(w.dot(one)) - total
        if abs(gap) <= 1e-14 * total:
            return w
        if gap > 0.0:
            low = theta
        else:
            high = theta
        inside = int(np.count_nonzero((w > ZERO) & (w < u)))
        if inside == 0:
            return None
        theta += gap / inside
    return None


def capped_simplex(r: Array, q: Array, u: Array, total: float) -> Array:
    r"""Return :math:`w_i = \mathrm{clip}(q_i (r_i - \theta), 0, u_i)` with sum `total`, for 0 < total < sum u.

    The sum falls in theta and is linear between the breakpoints r_i and r_i - u_i/q_i: sort them, bisect, solve the linear piece.
    """
    _refuse_not_finite(r)
    u = np.minimum(u, total)
    left, right = _bracket(r, q, u, total)
    if abs(right) * float(q.max()) > total:
        # Far from zero r_i - u_i/q_i has lost digits, or is r_i itself. Seen from a breakpoint next to the root it is exact.
        with np.errstate(over="ignore"):
            r = r - right
        left, right = _bracket(r, q, u, total)
    above = float(_clipped(r, q, u, left).sum()) - total
    below = total - float(_clipped(r, q, u, right).sum())
    share = min(max(above / (above + below), 0.0), 1.0) if above + below > 0.0 else 0.0
    r = r - (left + share * (right - left))
    w = _clipped(r, q, u, 0.0)
    for _ in range(3):
        inside = (w > 0.0) & (w < u)
        slope = float(q[inside].sum())
        gap = float(w.sum()) - total
        if slope == 0.0 or abs(gap) <= 2e-16 * total:
            break
        r = r - gap / slope
        w = _clipped(r, q, u, 0.0)
    return w


def _bracket(r: Array, q: Array, u: Array, total: float) -> tuple[float, float]:
    """Return two neighbouring breakpoints between which the sum passes `total`."""
    points = np.sort(np.concatenate((r, r - u / q)))
    low, high = 0, points.shape[0] - 1  # the sum is >= total at points[low] and <= total at points[high]
    while high - low > 1:
        middle = (low + high) // 2
        if float(_clipped(r, q, u, float(points[middle])).sum()) >= total:
            low = middle
        else:
            high = middle
    return float(points[low]), float(points[high])


def _clipped(r: Array, q: Array, u: Array, theta: float) -> Array:
    with np.errstate(over="ignore"):
        return np.minimum(np.maximum(q * (r - theta), 0.0), u)


def _refuse_not_finite(y: Array) -> None:
    if not np.isfinite(y).all():
        raise InputError(f"the vector to project must be finite, got {describe_not_finite(y)}")


def _below_maximum(y: Array, total: float) -> Array:
    _refuse_not_finite(y)
    with np.errstate(over="ignore"):  # an entry 1e308 below the maximum is out of the support anyway
        return np.maximum(y - float(y.max()), -total)


def _newton_from_left(z: Array, m: Array, c: float) -> Array:
    """Return z - theta for z with maximum 0, the positive part of which solves the equation."""
    # Two lower bounds of the threshold: all indices hold, or only the largest does.
    theta = max(-c / float(m[z == 0.0].max()), (float(m.dot(z)) - c) / float(m.sum()))
    u = z - theta
    held = -1
    for _ in range(MAX_NEWTON):
        inside = u > 0.0
        now = int(np.count_nonzero(inside))
        if now == held:
            return u
        held = now
        masses = m[inside]
        u -= (float(masses.dot(u[inside])) - c) / float(masses.sum())
    order = np.argsort(-z, kind="stable")
    thetas = (np.cumsum((m * z)[order]) - c) / np.cumsum(m[order])
    rho = int(np.count_nonzero(z[order] > thetas))
    return z - float(thetas[rho - 1])


def _polished(u: Array, m: Array, c: float) -> Array:
    for _ in range(4):
        inside = u > 0.0
        masses = m[inside]
        gap = float(masses.dot(u[inside])) - c
        if abs(gap) <= 2e-16 * c:
            break
        u = u - gap / float(masses.sum())
    return u
