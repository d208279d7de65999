"""Soft thresholding that leaves exactly so many entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies._checks import count
from tracker_strategies.algorithms._validation import Array, finite_vector
from tracker_strategies.errors import ParameterError


def sparsify(u: Any, theta: int) -> tuple[Array, float]:
    r"""Return the unit vector that soft thresholding makes of u with `theta` entries left, and the threshold.

    .. math:: \tilde u_i = \mathrm{sgn}(u_i)(|u_i| - \gamma) \text{ for the } \theta \text{ largest } |u_i|, \text{ else } 0

    Any threshold between the theta-th and the next largest size leaves theta entries. Ours is the largest size below the
    theta-th; without ties that is the next one. Among equal sizes the lower index stays.

    Parameters
    ----------
    u : array_like, shape (p,)
    theta : int
        Entries to keep, from 1 to p. Zeros do not come to life: when fewer entries differ from 0, fewer are left.

    Returns
    -------
    u_sparse : ndarray, shape (p,)
        Of unit length; zero for u = 0.
    gamma : float

    References
    ----------
    McWilliams, Montana, *Sparse partial least squares regression for on-line variable selection with multivariate data streams*,
    2010, sec. 3.1, which prescribes theta survivors and leaves the threshold open.

    Examples
    --------
    >>> from tracker_strategies.algorithms.sparse_pls import sparsify
    >>> sparsify([3.0, -2.0, 1.0, 0.5], 2)[0].round(4).tolist()
    [0.8944, -0.4472, 0.0, 0.0]
    """
    u = finite_vector("u", u)
    if count("theta", theta) > u.shape[0]:
        raise ParameterError(f"theta must be at most the number of variables, {u.shape[0]}, got {theta}")
    kept, values, gamma = survivors(u, theta)
    sparse = np.zeros(u.shape[0])
    sparse[kept] = values
    return sparse, gamma


def survivors(u: Array, theta: int, guess: Any = None, bonus: Array | None = None) -> tuple[Any, Array, float]:
    """Return the indices that stay, ascending, their new values, scaled to unit length, and the threshold; O(p).

    `guess`, theta indices, ascending, saves the search if it is right: factors keep their names from one round to the next.
    `bonus` multiplies their entries.
    """
    p = u.shape[0]
    size = np.abs(u)
    if theta >= p:
        if bonus is not None:
            size[guess] *= bonus
        kept, left, gamma = np.arange(p), size, 0.0
    else:
        if guess is not None:
            kept, left = guess, size[guess]
            if bonus is not None:
                left *= bonus
            size[guess] = 0.0
            gamma = float(size[size.argmax()])
            found = float(left[left.argmin()]) > gamma
            if not found:
                size[guess] = left
        else:
            found = False
        if not found:
            kept, gamma = _search(size, theta)
            left = size[kept]
        left = left - gamma
    top = float(left[left.argmax()])
    if top <= 0.0:
        return kept, left, gamma
    if not 1e-120 < top < 1e120:
        left = left / top  # else the squares vanish, or overflow
    return kept, np.copysign(left / float(left.dot(left)) ** 0.5, u[kept]), gamma


def _search(size: Array, theta: int) -> tuple[Any, float]:
    """The indices of the theta largest sizes, ascending, and the largest of the others."""
    order = size.argpartition(size.shape[0] - theta - 1)
    kept, gamma = order[-theta:], float(size[order[-theta - 1]])
    if float(size[kept].min()) > gamma:
        kept.sort()
        return kept, gamma
    return _with_ties(size, theta)


def _with_ties(size: Array, theta: int) -> tuple[Any, float]:
    """The indices that stay and the threshold when the theta-th largest size occurs more than once; O(p log p)."""
    order = np.argsort(-size, kind="stable")
    below = size[size < size[order[theta - 1]]]
    return np.sort(order[:theta]), float(below.max()) if below.size else 0.0
