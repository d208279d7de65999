r"""A quadratic on the simplex by conjugate gradients, for problems that change little from one bar to the next.

.. math:: \min_w \tfrac12 w^\top H w - q^\top w \quad \text{s.t. } w \ge 0,\ \sum_i w_i = \text{that of the start}

Every iterate is feasible, and one product with H is all that a step costs. Where
:func:`~tracker_strategies.algorithms.numerics.simplex_qp.solve_simplex_qp` factorises, O(k^3), this takes some ten products
from a good start: with hundreds of names it is the faster one, if H is well conditioned on directions that keep the sum.

References
----------
Dostal, *Optimal Quadratic Programming Algorithms*, 2009, ch. 5 (conjugate gradients on a face, and when to leave it).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.lapack import blas

MOST_PRODUCTS = 200
"""Products with H after which a descent ends wherever it is."""


class Descent(NamedTuple):
    """Where the descent ended, a bound of what is left to gain, and how many products with H it took."""

    w: Array
    gap: float
    products: int


def descend(
    product: Callable[[Array], Array], q: Array, start: Array, floor: float, enough: float, most: int = MOST_PRODUCTS
) -> Descent:
    r"""Minimise from a feasible start.

    Parameters
    ----------
    product : callable
        From w to H w; H symmetric and positive definite.
    q : ndarray, shape (n,)
    start : ndarray, shape (n,)
        Feasible, not changed.
    floor : float
        A lower bound of the eigenvalues of H, > 0: then :math:`f(w) - f^* \le \|\nu\|^2 / (2\,\mathrm{floor})` for the part
        :math:`\nu` of the gradient that points along the feasible set.
    enough : float
        Stop when that bound is below this.
    most : int
        Most products with H. The bound tells what is left then.
    """
    add, n = blas().daxpy, q.shape[0]  # y <- y + s x in place
    w = start.copy()
    g = product(w)
    g -= q
    held = w > 0.0
    limit = 2.0 * floor * enough
    used = 1
    face = _Face(held)
    while True:
        r, level, rr = face.descent(g)
        cheap = np.maximum(level - g, 0.0)
        cheap[held] = 0.0
        outside = float(cheap.dot(cheap))
        if rr + outside <= limit or used >= most:
            break
        if outside > rr:  # more is to be gained by names that are not held than by those that are
            held = held | (cheap > 0.0)
            face = _Face(held)
            r, level, rr = face.descent(g)
        p = r
        while used < most:
            Hp = product(p)
            used += 1
            curvature = float(p.dot(Hp))
            if not 0.0 < curvature < np.inf:
                return Descent(w, (rr + outside) / (2.0 * floor), used)
            step = rr / curvature
            trial = w.copy()
            add(p, trial, n, step)
            if trial[trial.argmin()] < 0.0:  # names are sold out on the way: go as far as the first, and drop it
                room = np.where(trial < 0.0, w / np.where(trial < 0.0, -p, 1.0), np.inf)
                first = float(room[room.argmin()])
                add(p, w, n, first)
                add(Hp, g, n, first)
                gone = room <= first
                w[gone] = 0.0
                held = held & ~gone
                face = _Face(held)
                break
            w = trial
            add(Hp, g, n, step)
            before = rr
            r, level, rr = face.descent(g)
            if rr <= 0.5 * limit:
                break
            add(p, r, n, rr / before)
            p = r
    return Descent(w, (rr + outside) / (2.0 * floor), used)


class _Face:
    """The names held, as numbers to multiply with."""

    def __init__(self, held: Mask) -> None:
        self._ones = held.astype(np.float64)
        self._count = float(self._ones.dot(self._ones))

    def descent(self, g: Array) -> tuple[Array, float, float]:
        """Return minus the gradient along the face, the mean price of the names held, and the square of the former's length."""
        level = float(g.dot(self._ones)) / self._count
        r = level - g
        r *= self._ones
        return r, level, float(r.dot(r))
