"""Compiled by numba: the projection on the simplex, alone or after a step, the exact step of the log return, and the quadratic.

The same iterations as in :mod:`.thresholds`, :mod:`.log_prox` and :mod:`.simplex_gradients` beside it, as loops that read each
vector once or twice per iteration and allocate
nothing but the result and a few vectors at the start. Every function returns None where its counterpart would hand over to a
slower method, or is the better one. Imported by :func:`kernels.use`, never otherwise.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64

from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.numerics.log_prox import MAX_STEPS
from tracker_strategies.algorithms.numerics.numba_compiling import IN, OUT
from tracker_strategies.algorithms.numerics.numba_compiling import TABLE as LOWER
from tracker_strategies.algorithms.numerics.numba_compiling import called as _called
from tracker_strategies.algorithms.numerics.numba_compiling import compiled as _compiled
from tracker_strategies.algorithms.numerics.numba_compiling import inlined as _inlined
from tracker_strategies.algorithms.numerics.simplex_gradients import MOST_PRODUCTS, Descent
from tracker_strategies.algorithms.numerics.thresholds import MAX_NEWTON

LARGEST = 600
"""Up to so many names the quadratic is solved here: beyond, products with its matrix are all that counts, and those of BLAS are
faster."""


@_compiled(IN, float64, OUT)
def _simplex_newton(y: Array, total: float, w: Array) -> bool:
    n = y.shape[0]
    held, gap = 0.0, -total
    for i in range(n):
        gap += y[i]
    theta, support = gap / n, float(n)
    for _ in range(MAX_NEWTON):
        if not abs(theta) <= 2.0 * total:  # also when y holds NaN or infinity
            return False
        held, gap = 0.0, 0.0
        for i in range(n):
            u = y[i] - theta
            inside = 1.0 if u > 0.0 else 0.0  # a factor: a branch would keep the loop from being vectorised
            held += inside
            gap += inside * u
        gap -= total
        if held == 0.0:
            return False
        if held == support and abs(gap) <= 1e-14 * total:
            for i in range(n):
                u = y[i] - theta
                w[i] = u if u > 0.0 else 0.0
            return True
        support = held
        theta += gap / held
    return False


@_compiled(IN, float64, IN, float64, OUT)
def _simplex_step(w: Array, step: float, x: Array, total: float, out: Array) -> bool:
    for i in range(w.shape[0]):
        out[i] = w[i] + step * x[i]
    return bool(_simplex_newton(out, total, out))


@_inlined
def _sums(point: Array, sigma: float, theta: float, v: Array, x: Array) -> tuple[float, float, float, float, float]:
    """Return the sums of x, 1, v, x^2 and x v over the entries where point + sigma x exceeds theta."""
    b, k, sum_v, c, sum_xv = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(v.shape[0]):
        inside = 1.0 if point[i] + sigma * x[i] - theta > 0.0 else 0.0
        x_i, v_i = inside * x[i], inside * v[i]
        b += x_i
        k += inside
        sum_v += v_i
        c += x_i * x_i
        sum_xv += x_i * v_i
    return b, k, sum_v, c, sum_xv


@_compiled(IN, float64, IN, float64, IN, OUT)
def _log_return_simplex(v: Array, la: float, x: Array, total: float, guess: Array, w: Array) -> bool:
    limit = 4.0 * (1.0 + total)
    sigma, theta = math.nan, math.nan
    b, k, sum_v, c, sum_xv = _sums(guess, 0.0, 0.0, v, x)
    for _ in range(MAX_STEPS):
        if k == 0.0:
            return False
        theta_v = (sum_v - total) / k
        p = 1.0 + sum_xv - b * theta_v
        s = 0.5 * (p + math.sqrt(p * p + 4.0 * la * max(c - b * b / k, 0.0)))
        if not s > 0.0:
            return False
        last_sigma, last_theta = sigma, theta
        sigma = la / s
        theta = theta_v + sigma * b / k
        if not abs(theta) <= limit:
            return False
        if sigma == last_sigma and theta == last_theta:  # the sums are a function of the support: it has reproduced itself
            for i in range(v.shape[0]):
                u = v[i] + sigma * x[i] - theta
                w[i] = u if u > 0.0 else 0.0
            return True
        b, k, sum_v, c, sum_xv = _sums(v, sigma, theta, v, x)
    return False


@_called
def _product(lower: Array, c: float, inverse: Array, v: Array, scaled: Array, Hv: Array) -> None:
    """Write c B v / (a a') into Hv. Rows of the lower triangle serve as columns too, and go in pairs: both share loads of Hv."""
    n = v.shape[0]
    for i in range(n):
        scaled[i] = v[i] * inverse[i]
    if n % 2 == 1:
        Hv[0] = lower[0, 0] * scaled[0]
    for i in range(n % 2, n, 2):
        k = i + 1
        v_i, v_k, row_i, row_k = scaled[i], scaled[k], 0.0, 0.0
        for j in range(i):
            row_i += lower[i, j] * scaled[j]
            row_k += lower[k, j] * scaled[j]
            Hv[j] += lower[i, j] * v_i + lower[k, j] * v_k
        Hv[i] = row_i + lower[i, i] * v_i + lower[k, i] * v_k
        Hv[k] = row_k + lower[k, i] * v_i + lower[k, k] * v_k
    for i in range(n):
        Hv[i] *= c * inverse[i]


@_called
def _face(g: Array, held: Array) -> tuple[float, float]:
    """Return the mean price of the names held, and the square of the gradient along their face."""
    price, count, rr = 0.0, 0.0, 0.0
    for i in range(g.shape[0]):
        price += g[i] * held[i]
        count += held[i]
    level = price / count
    for i in range(g.shape[0]):
        r = (level - g[i]) * held[i]
        rr += r * r
    return level, rr


@_compiled(IN, LOWER, float64, IN, IN, float64, float64, float64, OUT, OUT)
def _quadratic_simplex(
    now: Array, lower: Array, c: float, inverse: Array, q: Array, floor: float, room: float, enough: float, w: Array, ends: Array
) -> bool:
    n = now.shape[0]
    g, p, Hp, scaled, held = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    limit, used = 2.0 * floor * enough, 1
    _product(lower, c, inverse, now, scaled, g)
    for i in range(n):
        w[i] = now[i]
        g[i] -= q[i]
        held[i] = 1.0 if now[i] > 0.0 else 0.0
    while True:
        level, rr = _face(g, held)
        outside = 0.0
        for i in range(n):
            cheap = level - g[i]
            cheap *= (1.0 if cheap > 0.0 else 0.0) * (1.0 - held[i])  # no branches here either
            outside += cheap * cheap
        if rr + outside <= limit:
            break
        if not rr + outside < math.inf:
            return False
        if outside > rr:  # more is to be gained by names that are not held than by those that are
            for i in range(n):
                if level > g[i]:
                    held[i] = 1.0
            level, rr = _face(g, held)
        for i in range(n):
            p[i] = (level - g[i]) * held[i]
        while True:
            if used >= MOST_PRODUCTS:
                return False
            _product(lower, c, inverse, p, scaled, Hp)
            used += 1
            curvature, sold = 0.0, 0.0
            for i in range(n):
                curvature += p[i] * Hp[i]
            if not 0.0 < curvature < math.inf:
                return False
            step = rr / curvature
            for i in range(n):
                sold += 1.0 if w[i] + step * p[i] < 0.0 else 0.0
            if sold > 0.0:  # names are sold out on the way: go as far as the first, and drop it
                first = math.inf
                for i in range(n):
                    if w[i] + step * p[i] < 0.0:
                        first = min(first, w[i] / -p[i])
                for i in range(n):
                    gone = w[i] + step * p[i] < 0.0 and w[i] / -p[i] <= first
                    w[i] = 0.0 if gone else w[i] + first * p[i]
                    g[i] += first * Hp[i]
                    held[i] = 0.0 if gone else held[i]
                break
            for i in range(n):
                w[i] += step * p[i]
                g[i] += step * Hp[i]
            before = rr
            level, rr = _face(g, held)
            if rr <= 0.5 * limit:
                break
            for i in range(n):
                p[i] = (level - g[i]) * held[i] + rr / before * p[i]
    size = 0.0
    for i in range(n):
        size += w[i]
    if not 0.0 < room / size < math.inf:
        return False
    for i in range(n):
        w[i] *= room / size
    ends[0], ends[1] = (rr + outside) / (2.0 * floor), used
    return True


def simplex_newton(y: Array, total: float) -> Array | None:
    """Return what :func:`thresholds.simplex_newton` does."""
    w = np.empty(y.shape[0])
    try:
        return w if _simplex_newton(y, total, w) else None
    except TypeError:  # not contiguous: rare, and a test for it would cost every call
        return w if _simplex_newton(y.copy(), total, w) else None


def simplex_step(w: Array, step: float, x: Array, total: float) -> Array | None:
    """Return the projection of w + step x on the simplex."""
    out = np.empty(w.shape[0])
    try:
        return out if _simplex_step(w, step, x, total, out) else None
    except TypeError:
        return out if _simplex_step(w.copy(), step, x.copy(), total, out) else None


def log_return_simplex(v: Array, la: float, x: Array, total: float, guess: Array) -> Array | None:
    """Return what :func:`log_prox.log_return_simplex` does."""
    w = np.empty(v.shape[0])
    try:
        return w if _log_return_simplex(v, la, x, total, guess, w) else None
    except TypeError:
        return w if _log_return_simplex(v.copy(), la, x.copy(), total, guess.copy(), w) else None


def quadratic_simplex(
    now: Array, upper: Array, c: float, inverse: Array, q: Array, floor: float, room: float, enough: float
) -> Descent | None:
    """Return what :meth:`ScaledQuadratic.solve` does with all names free, by conjugate gradients from the start.

    A name that starts at 0 and earns too little to be bought, such as q = -1e300, is one that is not free.
    """
    if now.shape[0] > LARGEST:
        return None
    w, ends = np.empty(now.shape[0]), np.empty(2)
    try:
        found = _quadratic_simplex(now, upper.T, c, inverse, q, floor, room, enough, w, ends)
    except TypeError:
        lower = np.ascontiguousarray(upper.T)
        found = _quadratic_simplex(now.copy(), lower, c, inverse.copy(), q.copy(), floor, room, enough, w, ends)
    return Descent(w, float(ends[0]), int(ends[1])) if found else None
