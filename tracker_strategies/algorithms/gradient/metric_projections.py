r"""Projections in metrics other than the Euclidean one: what AdaGrad needs at each step.

References
----------
Duchi, Hazan, Singer, *Adaptive subgradient methods for online learning and stochastic optimization*, UCB/EECS-2010-24, Fig. 3.
Nocedal, Wright, *Numerical Optimization*, 2nd ed., Algorithm 16.3 (active sets).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tracker_strategies._checks import number
from tracker_strategies.algorithms._validation import Array, finite_vector, real_array
from tracker_strategies.algorithms.gradient._diagonal_metric import simplex
from tracker_strategies.algorithms.numerics import thresholds
from tracker_strategies.algorithms.sets.projections import positive_vector
from tracker_strategies.errors import ParameterError


def project_simplex_diag_metric(y: ArrayLike, H: ArrayLike, total: float = 1.0) -> Array:
    r"""Return :math:`\arg\min \sum_i H_i (w_i - y_i)^2` over :math:`\{w \ge 0, \sum_i w_i = \mathrm{total}\}`.

    .. math:: w_i = [y_i - \theta/H_i]_+

    Parameters
    ----------
    y : array_like, shape (n,)
    H : array_like, shape (n,)
        Diagonal of the metric, > 0.
    total : float, default 1

    Returns
    -------
    ndarray, shape (n,)
        Expected O(n).
    """
    y = finite_vector("y", y)
    H = positive_vector("H", H, y.shape[0])
    total = number("total", total, least=0.0)
    if total == 0.0:
        return np.zeros(y.shape[0])
    return simplex(y, H, total)


def project_weighted_l1_ball(v: ArrayLike, a: ArrayLike, c: float) -> Array:
    r"""Return the nearest point of :math:`\{\sum_i a_i |z_i| \le c\}`.

    .. math:: z_i = \mathrm{sgn}(v_i) [|v_i| - \theta a_i]_+

    Parameters
    ----------
    v : array_like, shape (n,)
    a : array_like, shape (n,)
        Prices of the coordinates, >= 0; a coordinate with price 0 is free and stays as it is.
    c : float
        Budget, > 0.

    Returns
    -------
    ndarray, shape (n,)
        Expected O(n).

    Notes
    -----
    Fig. 3 of the paper returns v when sum v_i <= c. That is a misprint: v is feasible when sum a_i |v_i| <= c.
    """
    v = finite_vector("v", v)
    a = finite_vector("a", a, ParameterError, v.shape[0])
    c = number("c", c, above=0.0)
    if (a < 0.0).any():
        raise ParameterError(f"a must be >= 0, got {float(a.min())} at position {int(a.argmin())}")
    size = np.abs(v)
    with np.errstate(over="ignore"):
        if float((a * size).sum()) <= c:
            return v.copy()
    priced = a > 0.0
    scale = float(a.max())
    prices = a[priced] / scale
    z = v.copy()
    shrunk = thresholds.weighted_simplex(size[priced] / prices, prices**2, c / scale) * prices
    z[priced] = np.copysign(shrunk, v[priced])
    return z


def project_l1_ball_diag_metric(y: ArrayLike, H: ArrayLike, c: float) -> Array:
    r"""Return :math:`\arg\min \sum_i H_i (w_i - y_i)^2` over :math:`\{\|w\|_1 \le c\}`.

    .. math:: w_i = \mathrm{sgn}(y_i) [|y_i| - \theta/H_i]_+

    Parameters
    ----------
    y : array_like, shape (n,)
    H : array_like, shape (n,)
        Diagonal of the metric, > 0.
    c : float
        Radius, > 0.

    Returns
    -------
    ndarray, shape (n,)
        Expected O(n).
    """
    y = finite_vector("y", y)
    H = positive_vector("H", H, y.shape[0])
    c = number("c", c, above=0.0)
    size = np.abs(y)
    with np.errstate(over="ignore"):
        if float(size.sum()) <= c:
            return y.copy()
    return np.copysign(simplex(size, H, c), y)


def project_simplex_full_metric(y: ArrayLike, H: ArrayLike) -> Array:
    r"""Return :math:`\arg\min (w - y)^\top H (w - y)` over the unit simplex.

    Parameters
    ----------
    y : array_like, shape (n,)
    H : array_like, shape (n, n)
        Symmetric, positive definite.

    Returns
    -------
    ndarray, shape (n,)
        By a primal active-set method: O(k^3) a step for k held entries, about as many steps as entries enter or leave the support
        of the starting point, which is the projection in the metric diag(H).
    """
    y = finite_vector("y", y)
    n = y.shape[0]
    H = real_array("H", H, ParameterError)
    if H.shape != (n, n) or not np.isfinite(H).all():
        raise ParameterError(f"H must be a finite matrix of shape ({n}, {n}), got shape {H.shape}")
    if not np.allclose(H, H.T, rtol=1e-10, atol=1e-12 * float(np.abs(H).max())):
        raise ParameterError("H must be symmetric")
    H = 0.5 * (H + H.T)
    try:
        np.linalg.cholesky(H)
    except np.linalg.LinAlgError as problem:
        raise ParameterError("H must be positive definite: its Cholesky factorisation failed") from problem
    return _simplex_active_set(y, H, project_simplex_diag_metric(y, np.diag(H).copy()))


def _simplex_active_set(y: Array, H: Array, w: Array) -> Array:
    """Minimise (w-y)'H(w-y) on the simplex from a feasible w. Each pass is optimal for its support or shrinks it: it ends."""
    n = y.shape[0]
    held = w > 0.0
    for _ in range(50 * n + 50):
        # The minimiser on the current support, as a step d with sum 0 from w: H_FF d = lambda - g_F.
        g = H @ (w - y)
        index = np.flatnonzero(held)
        solved = np.linalg.solve(H[np.ix_(index, index)], np.column_stack((-g[index], np.ones(index.size))))
        multiplier = -float(solved[:, 0].sum()) / float(solved[:, 1].sum())
        d = solved[:, 0] + multiplier * solved[:, 1]
        blocked = w[index] + d < 0.0
        if blocked.any():
            ratio = np.where(blocked, w[index] / np.where(blocked, -d, 1.0), np.inf)
            w[index] += float(ratio.min()) * d
            left = index[(ratio <= ratio.min()) | (w[index] <= 0.0)]
            w[left] = 0.0
            held[left] = False
            continue
        w[index] += d
        # Who stands at zero and would gain by entering?
        price = H @ (w - y)
        level = float(price[index].mean())
        reduced = np.where(held, 0.0, price - level)
        enter = int(reduced.argmin())
        if reduced[enter] >= -1e-13 * max(1.0, float(np.abs(price).max())):
            break
        held[enter] = True
    # Divide by the sum rather than project once more: that would move exact zeros off zero.
    w = np.where(held, np.maximum(w, 0.0), 0.0)
    return np.asarray(w / float(np.add.reduce(w)))
