r"""The proximal step of the negative log return, exactly.

.. math:: \min_{w \in W}\ -a \ln(1 + x \cdot w) + \frac{1}{2\lambda} \|w - v\|^2 + \text{(terms with an exact step of their own)}

At the optimum :math:`w = P(v + \sigma x)` with :math:`\sigma = \lambda a / s`, :math:`s = 1 + x \cdot w`, and P the projection on
W or the proximal step of the other terms: one unknown number instead of n. :math:`F(s) = s - 1 - x \cdot P(v + \lambda a x/s)`
increases with slope at least 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.numerics import kernels, thresholds
from tracker_strategies.errors import InputError

MAX_STEPS = 30
ROUNDING = 4e-16
ZERO = thresholds.ZERO
CHEAP_BELOW = 300
"""Number of assets below which a step in one unknown costs no less than one in two."""


def log_return_simplex(v: Array, la: float, x: Array, total: float, guess: Array) -> Array:
    r"""Return the step on {w >= 0, sum w = total}, for returns x >= -1 that are not all -1.

    On a fixed support A of k assets all is in closed form: with b, c the sums of x, x^2 over A and :math:`c_1 = c - b^2/k`, the
    gross return is affine, :math:`s = p + c_1 \sigma`, and :math:`\sigma s = la` a quadratic equation. The solution has a support
    of its own, and so on, from the support of the guess: a Newton method in :math:`(\sigma, \theta)` that ends, exactly, where a
    support reproduces itself, after two to six steps.

    Parameters
    ----------
    v, x : ndarray, shape (n,)
    la : float
        Product of the trade-off and the weight of the term, > 0.
    total : float
        > 0.
    guess : ndarray, shape (n,)
        A point near the solution; its support is the start.

    Returns
    -------
    ndarray, shape (n,)
        At the cost of about two projections.
    """
    if kernels.compiled is not None:
        w: Array | None = kernels.compiled.log_return_simplex(v, la, x, total, guess)
        if w is not None:
            return w
    n = v.shape[0]
    M = np.empty((5, n))  # one product with the indicator of a support gives all sums over it
    M[0], M[1], M[2] = x, 1.0, v
    np.multiply(M[0:3:2], x, out=M[3:])
    affine = M[:3]
    cell = np.empty(())  # a number in here reaches numpy without a conversion
    limit = 4.0 * (1.0 + total)  # a threshold beyond it costs digits
    inside = guess > ZERO
    for _ in range(MAX_STEPS):
        b, k, sum_v, c, sum_xv = M.dot(inside.astype(np.float64)).tolist()
        if k == 0.0:
            break
        theta_v = (sum_v - total) / k
        p = 1.0 + sum_xv - b * theta_v
        s = 0.5 * (p + math.sqrt(p * p + 4.0 * la * max(c - b * b / k, 0.0)))
        if not s > 0.0:
            break
        sigma = la / s
        theta = theta_v + sigma * b / k
        if not abs(theta) <= limit:  # also when something is not finite
            break
        u: Array = np.array((sigma, -theta, 1.0)).dot(affine)
        last, inside = inside, u > ZERO
        if inside.tobytes() == last.tobytes():
            return np.maximum(u, ZERO)
        if n >= CHEAP_BELOW:  # the threshold alone is a cheaper way to the next support
            now, held = int(np.count_nonzero(inside)), -1
            while 0 < now != held:
                cell[()] = (float(inside.astype(np.float64).dot(u)) - total) / now
                u -= cell
                inside, held = u > ZERO, now
                now = int(np.count_nonzero(inside))
    return log_return_root(lambda z: thresholds.simplex(z, total), v, la, x, guess)


def log_return_root(prox: Callable[[Array], Array], v: Array, la: float, x: Array, guess: Array) -> Array:
    r"""Return the step for any set: the root of F by secant steps in a bracket.

    Parameters
    ----------
    prox : callable
        P, the projection on W or the exact step of the other terms over W.
    v, x : ndarray, shape (n,)
    la : float
        Product of the trade-off and the weight of the term, > 0.
    guess : ndarray, shape (n,)
        A point near the solution.

    Returns
    -------
    ndarray, shape (n,)
        After three to six calls of `prox` on ordinary returns.

    Raises
    ------
    InputError
        When no point of W has 1 + x.w > 0.
    """
    s = 1.0 + float(x.dot(guess))
    if not (s > 0.0 and la / s < 1e6):
        s = max(1.0, math.sqrt(la * float(x.dot(x))))
    low, high = 0.0, math.inf
    last_s = last_F = math.nan
    for _ in range(400):
        w = prox(v + (la / s) * x)
        F = s - 1.0 - float(x.dot(w))
        if abs(F) <= ROUNDING * s:
            return w
        # The slope is at least 1: the root lies between s - F and s.
        if F > 0.0:
            high = s
            low = max(low, s - F)
        else:
            low = s
            high = min(high, s - F)
        if high - low <= 2.0 * ROUNDING * high:
            return w
        if high <= 1e-12:
            break
        slope = (F - last_F) / (s - last_s) if s != last_s else 1.0
        last_s, last_F = s, F
        s -= F / (slope if slope > 1.0 else 1.0)  # also when there is no last point: NaN > 1 is false
        if not low <= s <= high or s <= 0.0 or s == last_s:
            s = math.sqrt(low * high) if low > 0.0 and high > 4.0 * low else 0.5 * (low + high)
            s = max(s, 0.01 * high)
    else:
        return w
    raise InputError(
        f"no allowed portfolio w has 1 + x.w > 0 for returns x as low as {float(x.min()):g}, so that no log return exists; "
        "returns are fractions (-0.02 is minus two percent) and not below -1"
    )
