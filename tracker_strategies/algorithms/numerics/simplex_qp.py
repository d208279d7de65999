r"""Least squares on the simplex, solved exactly.

.. math:: \min_w \tfrac12 w^\top A w - b^\top w \quad \text{s.t. } w \ge 0,\ \sum_i w_i = \mathrm{total}

On the right support the problem is one linear system. Guess a support, solve, exchange every index on the wrong side at once, and
solve again: from a good guess that is one system and one product A w, which is what a tracker needs that solves nearly the same
problem at every bar.

References
----------
Kim, Park, *Fast nonnegative matrix factorization: an active-set-like method and comparisons*, SIAM J. Sci. Comput. 33, 2011
(exchange in blocks). Nocedal, Wright, *Numerical Optimization*, 2nd ed., Algorithm 16.3 (one index at a time, the fallback).
Jaggi, *Revisiting Frank-Wolfe*, ICML 2013 (the gap).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies._checks import number
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.lapack import lapack
from tracker_strategies.algorithms.numerics.thresholds import simplex
from tracker_strategies.errors import ParameterError

PATIENCE, MOST_BLOCKS = 5, 60
"""Exchanges in blocks that may fail to leave fewer wrong indices than ever before, and exchanges in all."""
PROXIMAL, MOST_PROXIMAL = 1e-7, 30
"""Weight of the proximal term for a singular A, as a share of its mean diagonal, and most steps with it."""


def solve_simplex_qp(
    A: Array, b: Array, start: Array | None = None, *, total: float = 1.0, tol: float = 1e-12
) -> tuple[Array, float]:
    r"""Return the minimiser of :math:`\tfrac12 w'Aw - b'w` on the simplex, and a bound on what is left to gain.

    Parameters
    ----------
    A : ndarray, shape (n, n)
        Symmetric, positive semidefinite. Both triangles are read.
    b : ndarray, shape (n,)
    start : ndarray, shape (n,), optional
        A guess; only its support matters. All indices by default.
    total : float, default 1
        Sum of the weights, >= 0.
    tol : float, default 1e-12
        An index enters only if its price undercuts the others' by more than this share of the largest price.

    Returns
    -------
    w : ndarray, shape (n,)
        Weights, >= 0, with sum `total`. If A is singular and the minimiser not unique, one of them.
    gap : float
        :math:`\nabla f(w) \cdot w - \mathrm{total} \min_i \nabla f(w)_i`, which is at least f(w) minus the minimum.

    Notes
    -----
    With the right support as the guess: one Cholesky factorisation of its k indices and one product with A. From all indices
    typically 5 to 10 of them.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms.numerics import solve_simplex_qp
    >>> w, gap = solve_simplex_qp(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.5, 0.5]))
    >>> w.tolist(), gap
    ([1.0, 0.0], 0.0)
    """
    n = b.shape[0]
    if A.shape != (n, n) or n == 0:
        raise ParameterError(f"A must have shape ({n}, {n}) and b at least one entry, got A of shape {A.shape}")
    w = minimise(A, b, start, number("total", total, least=0.0), tol)
    gap, price = _gap(A, b, w, total)
    if not np.isfinite(gap):
        raise ParameterError("A and b must be finite")
    if gap > 1e-14 * abs(float(b.dot(w))):
        better = _refined(A, b, w, price, total)
        if better is not None and better[1] < gap:
            w, gap = better
    return w, gap


def minimise(A: Array, b: Array, start: Array | None, total: float, tol: float = 1e-12) -> Array:
    """Return the weights of :func:`solve_simplex_qp` without looking at the arguments or computing the gap."""
    n = b.shape[0]
    if n == 1 or total <= 0.0:
        return np.full(n, total / n)
    held = np.ones(n, dtype=np.bool_) if start is None else start > 0.0
    w = _exchange(A, b, held, total, tol)
    if w is None:
        w = _singular(A, b, held, total, tol)
    return _feasible(w, total)


def _feasible(w: Array, total: float) -> Array:
    """Return w without what rounding has left below 0 and beside the sum."""
    w = np.maximum(w, 0.0)
    w *= total / float(np.add.reduce(w))
    return w


def _gap(A: Array, b: Array, w: Array, total: float) -> tuple[float, Array]:
    """Return the gap of feasible weights, and the prices."""
    price = A.dot(w)
    price -= b
    return max(float(price.dot(w)) - total * float(price[price.argmin()]), 0.0), price


def _refined(A: Array, b: Array, w: Array, price: Array, total: float) -> tuple[Array, float] | None:
    """Solve once more on the support of w, for what rounding has left over; None if that is no use."""
    index = w.nonzero()[0]
    part = _gather(A, index)
    step = _steps(part, -price[index])
    if step is None:
        return None
    new = np.zeros(w.shape[0])
    new[index] = w[index] + step[0]
    if float(new.min()) < 0.0:
        return None
    new = _feasible(new, total)
    return new, _gap(A, b, new, total)[0]


def _gather(A: Array, index: Any) -> Array:
    if index.shape[0] == A.shape[0]:
        return A
    # Rows first: half the time for many.
    return np.asarray(A[index].take(index, axis=1) if index.shape[0] > 80 else A[index[:, None], index])


def _steps(part: Array, right: Array) -> tuple[Array, float] | None:
    """Solve part d = right - level with sum d = 0: return d and the level; None if the matrix is singular."""
    diagonal = part.diagonal()
    scale = float(diagonal[diagonal.argmax()])
    sides = np.empty((right.shape[0], 2), order="F")
    sides[:, 0], sides[:, 1] = right, scale
    factor, solved, info = lapack().dposv(part.T, sides, lower=1)
    pivots = factor.diagonal()
    if info != 0 or float(pivots[pivots.argmin()]) ** 2 <= 1e-13 * scale:
        return None
    left, ones = np.add.reduce(solved).tolist()
    share = left / ones
    return solved[:, 0] - share * solved[:, 1], share * scale


def _face(A: Array, b: Array, index: Any, total: float) -> tuple[Array, float] | None:
    """Minimise on the support `index` with the sum fixed, signs free: weights and their price; None if A is singular there."""
    part = _gather(A, index)
    # As a step from equal weights: b and A w are close to each other, and their difference keeps digits.
    equal = total / index.shape[0]
    found = _steps(part, (b if part is A else b[index]) - equal * np.add.reduce(part))
    if found is None:
        return None
    step, level = found
    step += equal
    return step, -level


def _exchange(A: Array, b: Array, held: Mask, total: float, tol: float) -> Array | None:
    """Exchange wrong indices in blocks until none is left; None if A is singular on a support."""
    n = b.shape[0]
    fewest, patience = n + 1, PATIENCE
    w = np.zeros(n)
    for _ in range(MOST_BLOCKS):
        index = held.nonzero()[0]
        if index.shape[0] == 0:
            index = np.array([b.argmax()])
            held[index] = True
        found = _face(A, b, index, total)
        if found is None:
            return None
        part, level = found
        if index.shape[0] == n and float(part[part.argmin()]) >= -tol * total:
            return part
        w = np.zeros(n)
        w[index] = part
        price = A.dot(w)
        slack = tol * max(abs(level), abs(float(price[price.argmax()])))
        price -= b
        wrong = price < level - slack
        wrong[index] = part < -tol * total
        count = int(np.count_nonzero(wrong))
        if count == 0:
            return w
        if count < fewest:
            fewest, patience = count, PATIENCE
        elif patience == 0:
            break
        else:
            patience -= 1
        held = held ^ wrong
    return _one_at_a_time(A, b, simplex(w, total), total, tol)


def _one_at_a_time(A: Array, b: Array, w: Array, total: float, tol: float) -> Array | None:
    """Descend from feasible weights; each pass is optimal for its support or shrinks it, so that it ends."""
    held = w > 0.0
    for _ in range(50 * w.shape[0] + 50):
        index = held.nonzero()[0]
        found = _face(A, b, index, total)
        if found is None:
            return None
        aim, level = found
        now = w[index]
        blocked = aim < 0.0
        if blocked.any():
            share = np.where(blocked, now / np.where(blocked, now - aim, 1.0), np.inf)
            w[index] = now + float(share.min()) * (aim - now)
            left = index[(share <= share.min()) | (w[index] <= 0.0)]
            w[left] = 0.0
            held[left] = False
            continue
        w[index] = aim
        price = A.dot(w)
        slack = tol * max(abs(level), abs(float(price[price.argmax()])))
        price = np.where(held, np.inf, price - b)
        enter = int(price.argmin())
        if price[enter] >= level - slack:
            break
        held[enter] = True
    return w


def _singular(A: Array, b: Array, held: Mask, total: float, tol: float) -> Array:
    """Solve by proximal steps: A plus a small multiple of the identity, which pulls to the last iterate and vanishes there."""
    n = b.shape[0]
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise ParameterError("A and b must be finite")
    strength = PROXIMAL * float(A.diagonal().sum()) / n
    w = np.full(n, total / n)
    while True:
        for _ in range(MOST_PROXIMAL):
            regular = A.copy()
            regular.flat[:: n + 1] += max(strength, 1e-300)
            new = _exchange(regular, b + strength * w, held, total, tol)
            if new is None:
                break
            moved = float(np.abs(new - w).max())
            w, held = new, new > 0.0
            if moved <= tol * total:
                return w
        else:
            return w
        strength = max(10.0 * strength, 1e-290)  # A is not quite positive semidefinite, or zero
