r"""Euclidean projections on the sets that portfolios live in, exact to rounding.

Each function returns the unique minimiser as a new array and leaves its input alone. A vector that is not finite is an
:class:`InputError`; a set that does not exist (negative radius, caps that do not add up) is a :class:`ParameterError`.
Projections in other metrics stand in :mod:`~tracker_strategies.algorithms.gradient.metric_projections`.

References
----------
Held, Wolfe, Crowder, *Validation of subgradient optimization*, Math. Programming 6, 1974 (simplex, by sorting).
Michelot, *A finite algorithm for finding the projection of a point onto the canonical simplex*, JOTA 50, 1986.
Condat, *Fast projection onto the simplex and the l1 ball*, Math. Programming 158, 2016 (survey; Newton's form, its sec. 3).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tracker_strategies._checks import number
from tracker_strategies.algorithms._validation import Array, finite_vector
from tracker_strategies.algorithms.numerics import thresholds
from tracker_strategies.errors import ParameterError

CAP_SLACK = 1e-12
"""Caps whose sum misses the total by less than this share of it count as reaching it: u = 1/N for N assets is a fair request."""


def project_simplex(y: ArrayLike, total: float = 1.0) -> Array:
    r"""Return the nearest point of :math:`\{w \ge 0, \sum_i w_i = \mathrm{total}\}`.

    .. math:: w_i = [y_i - \theta]_+, \qquad \sum_i [y_i - \theta]_+ = \mathrm{total}

    Parameters
    ----------
    y : array_like, shape (n,)
        Any finite vector, of any scale.
    total : float, default 1
        Mass of the simplex, >= 0.

    Returns
    -------
    ndarray, shape (n,)
        Expected O(n) (Newton's method on the threshold), O(n log n) at worst.

    Examples
    --------
    >>> from tracker_strategies.algorithms.sets import project_simplex
    >>> project_simplex([0.75, 0.25, 0.25, -3.0]).round(6).tolist()
    [0.666667, 0.166667, 0.166667, 0.0]
    """
    y = finite_vector("y", y)
    total = number("total", total, least=0.0)
    with np.errstate(over="ignore"):
        return thresholds.simplex(y, total)


def project_capped_simplex(y: ArrayLike, u: ArrayLike, total: float = 1.0, H: ArrayLike | None = None) -> Array:
    r"""Return the nearest point of :math:`\{0 \le w_i \le u_i, \sum_i w_i = \mathrm{total}\}`, in the metric diag(H) if given.

    .. math:: w_i = \mathrm{clip}(y_i - \theta/H_i, 0, u_i)

    Parameters
    ----------
    y : array_like, shape (n,)
    u : float or array_like, shape (n,)
        Caps, >= 0, with a sum of at least `total`; infinity means no cap.
    total : float, default 1
    H : array_like, shape (n,), optional
        Positive weights of the squared differences; all equal by default.

    Returns
    -------
    ndarray, shape (n,)
        Expected O(n); O(n log n) in another metric and at worst: breakpoints sorted, then bisected.
    """
    y = finite_vector("y", y)
    total = number("total", total, least=0.0)
    caps = check_caps(u, y.shape[0], total)
    q = None if H is None else 1.0 / positive_vector("H", H, y.shape[0])
    with np.errstate(over="ignore"):
        return capped_simplex_unchecked(y, caps, total, q)


def capped_simplex_unchecked(y: Array, caps: Array, total: float, q: Array | None = None) -> Array:
    """Project without checks, for callers that have made them; q = 1/H."""
    if total == 0.0:
        return np.zeros(y.shape[0])
    if float(caps.sum()) <= total:
        return caps.copy()
    return thresholds.capped(y, caps, total) if q is None else thresholds.capped_simplex(y / q, q, caps, total)


def project_l1_ball(y: ArrayLike, c: float) -> Array:
    r"""Return the nearest point of :math:`\{\|w\|_1 \le c\}`: y itself inside, else :math:`\mathrm{sgn}(y_i)[|y_i| - \theta]_+`.

    Parameters
    ----------
    y : array_like, shape (n,)
    c : float
        Radius, > 0.

    Returns
    -------
    ndarray, shape (n,)
    """
    y = finite_vector("y", y)
    c = number("c", c, above=0.0)
    size = np.abs(y)
    with np.errstate(over="ignore"):
        return y.copy() if float(size.sum()) <= c else np.copysign(thresholds.simplex(size, c), y)


def project_hyperplane(y: ArrayLike, a: ArrayLike | None = None, b: float = 1.0) -> Array:
    r"""Return the nearest point of :math:`\{a \cdot w = b\}`: :math:`y - ((a \cdot y - b)/\|a\|^2)\, a`.

    Parameters
    ----------
    y : array_like, shape (n,)
    a : array_like, shape (n,), optional
        Normal vector, not zero; all ones by default (fully invested, short positions allowed).
    b : float, default 1

    Returns
    -------
    ndarray, shape (n,)
    """
    y = finite_vector("y", y)
    a = np.ones(y.shape[0]) if a is None else finite_vector("a", a, ParameterError, y.shape[0])
    b = number("b", b)
    if not a.any():
        raise ParameterError("a must not be the zero vector: no hyperplane is normal to it")
    # Both scales are taken out: neither a.a nor a.y may overflow or vanish.
    normal = a / np.abs(a).max()
    offset = b / float(np.abs(a).max())
    scale = max(1.0, float(np.abs(y).max()))
    gap = float(normal.dot(y / scale)) - offset / scale
    step: Array = (gap / float(normal.dot(normal)) * scale) * normal
    return y - step


def project_box(y: ArrayLike, lo: ArrayLike, hi: ArrayLike) -> Array:
    r"""Return the nearest point of :math:`\{lo_i \le w_i \le hi_i\}`, i.e. y clipped.

    Parameters
    ----------
    y : array_like, shape (n,)
    lo, hi : float or array_like, shape (n,)
        Bounds, lo <= hi; infinite bounds are allowed.

    Returns
    -------
    ndarray, shape (n,)
    """
    y = finite_vector("y", y)
    low, high = bounds("lo", lo, y.shape[0]), bounds("hi", hi, y.shape[0])
    if (low > high).any():
        i = int(np.flatnonzero(low > high)[0])
        raise ParameterError(f"lo must not exceed hi, got lo={low[i]} > hi={high[i]} at position {i}")
    return np.minimum(np.maximum(y, low), high)


def bounds(name: str, value: Any, size: int) -> Array:
    """Return a bound as a vector of length `size`, refusing NaN."""
    vector = np.asarray(value, dtype=np.float64)
    if vector.shape not in ((), (size,)) or np.isnan(vector).any():
        raise ParameterError(f"{name} must be a number or have shape ({size},), without NaN, got {value!r}")
    return np.broadcast_to(vector, (size,))


def check_caps(u: ArrayLike, size: int, total: float) -> Array:
    """Return caps as a vector, refusing negative ones and those that do not reach `total`."""
    caps = bounds("u", u, size)
    if (caps < 0.0).any():
        raise ParameterError(f"u must be >= 0, got {float(caps.min())}")
    reach = float(caps.sum())
    if reach < total * (1.0 - CAP_SLACK):
        raise ParameterError(
            f"caps u that sum to {reach:.17g} cannot hold a total of {total:g}: raise u to at least {total / size:g} each"
        )
    return caps


def positive_vector(name: str, value: Any, size: int) -> Array:
    """Return a finite vector of length `size` with entries > 0."""
    vector = finite_vector(name, value, ParameterError, size)
    if not (vector > 0.0).all():
        raise ParameterError(f"{name} must be > 0, got {float(vector.min())} at position {int(vector.argmin())}")
    return vector
