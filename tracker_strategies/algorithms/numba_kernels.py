"""The projection on the simplex, with or without a step before it, and the exact step of the log return, compiled by numba.

The same iterations as in :mod:`~tracker_strategies.algorithms.thresholds` and :mod:`~tracker_strategies.algorithms.log_prox`, as
loops that read each vector once per iteration and allocate nothing but the result. Every function returns None where its
counterpart would hand over to a slower method. Imported by :func:`kernels.use`, never otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import boolean, float64, njit, types

from tracker_strategies.algorithms.log_prox import MAX_STEPS
from tracker_strategies.algorithms.thresholds import MAX_NEWTON
from tracker_strategies.algorithms.validation import Array

# Sums in any order, several entries at a time. Nothing else is relaxed: no fused products, so that w + t x has numpy's bits, and
# NaN and infinity are what they are.
OPTIONS = {"fastmath": {"reassoc"}, "error_model": "numpy"}

IN = types.Array(float64, 1, "C", readonly=True)
OUT = types.Array(float64, 1, "C")


def _compiled(*signature: Any) -> Callable[[Any], Any]:
    """Compile for one signature, at once: no round of a backtest waits for a compiler."""

    def compile_(function: Any) -> Any:
        try:
            return njit(boolean(*signature), cache=True, **OPTIONS)(function)
        except (RuntimeError, OSError):  # no folder, or no room, to keep machine code in
            return njit(boolean(*signature), **OPTIONS)(function)

    return compile_


_inlined: Callable[[Any], Any] = njit(inline="always", **OPTIONS)


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
