r"""A quadratic on the simplex in the units in which second moments are kept, solved from a portfolio close to its minimum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.algorithms.numerics.lapack import blas, lapack
from tracker_strategies.algorithms.numerics.simplex_gradients import Descent, descend
from tracker_strategies.algorithms.numerics.thresholds import ZERO, ones

NEWTON, PASSES = 100, 3
"""Up to so many names a factorisation, O(N^3), takes no longer than conjugate gradients; most of them in a row."""
PINNED = 1e30
"""Square of a name whose weight is to stay 0 in a factorisation, over the largest of all."""
NEVER = -1e300
"""What a name earns that is not to be bought."""
ROUNDING = 1e-9
"""A solution whose sum is off by more, as a share, has lost its digits: what it leaves to gain is looked at."""


class ScaledQuadratic:
    r"""The function :math:`\tfrac12 w^\top H w - q^\top w` with :math:`H = c\,B / (a a^\top)`, entry by entry.

    Parameters
    ----------
    upper : ndarray, shape (N, N)
        B, positive definite, in Fortran's order; only the upper triangle is read.
    diagonal : ndarray, shape (N,)
        A view of its diagonal, which is changed and put back by :meth:`solve`.
    c : float
    a, inverse, q : ndarray, shape (N,)
        a > 0, and 1/a.
    floor : float
        A lower bound of the eigenvalues of H, > 0.
    """

    def __init__(self, upper: Array, diagonal: Array, c: float, a: Array, inverse: Array, q: Array, floor: float) -> None:
        self._upper, self._diagonal, self._c, self._a, self._inverse = upper, diagonal, c, a, inverse
        self._q, self._floor, self._times = q, floor, blas().dsymv

    def product(self, v: Array) -> Array:
        """Return H v."""
        Hv: Array = self._times(self._c, self._upper, v * self._inverse)
        Hv *= self._inverse
        return Hv

    def solve(self, now: Array, room: float, free: Mask | None, enough: float) -> Descent:
        """Minimise over the free names (None: all) with the sum that they have now; the others keep their weights.

        Parameters
        ----------
        now : ndarray, shape (N,)
            Weights >= 0 to start from.
        room : float
            Their sum over the free names, > 0.
        free : ndarray of bool, shape (N,), or None
        enough : float
            How much may be left to gain.
        """
        if free is None:
            found = self._at_once(now, self._q, room, enough) or self._exchange(now, self._q, room, None, enough)
            return found if found.gap <= enough else self._descended(found, self.product, self._q, room, enough)
        still, padded = np.where(free, 0.0, now), np.zeros(len(now))
        q = self._q - self.product(still)  # what the others earn is theirs, and the rest of the target is left to fit
        at_once = self._at_once(now - still, np.where(free, q, NEVER), room, enough)
        found = at_once or self._exchange(now - still, q, room, free, enough)
        if not found.gap <= enough:

            def part(v: Array) -> Array:
                padded[free] = v
                return self.product(padded)[free]

            found = self._descended(found._replace(w=found.w[free]), part, q[free], room, enough)
            padded[free] = found.w
            found = found._replace(w=padded)
        return found._replace(w=found.w + still)

    def _at_once(self, now: Array, q: Array, room: float, enough: float) -> Descent | None:
        """Solve it in one call, if numba is in use and up to it."""
        if kernels.compiled is None:
            return None
        found: Descent | None = kernels.compiled.quadratic_simplex(
            now, self._upper, self._c, self._inverse, q, self._floor, room, enough
        )
        return found

    def _descended(self, start: Descent, product: Callable[[Array], Array], q: Array, room: float, enough: float) -> Descent:
        found = descend(product, q, start.w, self._floor, enough)
        w = found.w
        w *= room / float(np.add.reduce(w))
        return found._replace(products=start.products + found.products)

    def _exchange(self, now: Array, q: Array, room: float, free: Mask | None, enough: float) -> Descent:
        """Guess which names are held, solve for them, drop those that would be sold short and add those that would be bought."""
        w, gap, products, one = now, np.inf, 0, ones(len(now))
        none = None if float(now[now.argmin()]) > 0.0 else now <= ZERO
        for _ in range(PASSES if len(now) <= NEWTON else 0):
            found = self._minimum(none, q, room)
            if found is None:
                break
            if none is not None:
                found[none] = 0.0
            least, found = float(found[found.argmin()]), np.maximum(found, ZERO)
            size = float(found.dot(one))
            if not 0.0 < size < np.inf:
                break
            found *= room / size
            if none is None and least >= 0.0 and abs(size - room) <= ROUNDING * room:
                return Descent(found, 0.0, products)  # the minimum without the bounds: there is no smaller one with them
            gain = self.product(found)
            gain -= q
            held = found > ZERO
            count = held.astype(np.float64)
            np.subtract(float(gain.dot(count)) / float(count.dot(count)), gain, out=gain)
            bought = gain > ZERO
            if free is not None:
                bought &= free
            held |= bought
            gain *= held
            w, gap, products = found, float(gain.dot(gain)) / (2.0 * self._floor), products + 1
            if gap <= enough:
                break
            none = ~held
        return Descent(w, gap, products)

    def _minimum(self, none: Mask | None, q: Array, room: float) -> Array | None:
        """Return the minimum with the sum `room` over the names not marked in `none`, signs free; None if there is none."""
        a, diagonal, one = self._a, self._diagonal, ones(len(q))
        sides = np.empty((2, len(q)))
        with_q, with_one = sides
        np.multiply(a, q, out=with_q)
        with_one[:] = a
        if none is not None:
            squares = diagonal.copy()
            np.copyto(diagonal, PINNED * float(squares[squares.argmax()]), where=none)
        try:
            info = lapack().dposv(self._upper, sides.T, overwrite_b=1)[2]
        finally:
            if none is not None:
                diagonal[:] = squares
        with_q *= a
        with_q *= 1.0 / self._c
        with_one *= a
        size = float(with_one.dot(one))
        if info != 0 or not size > 0.0:
            return None
        with_one *= (room - float(with_q.dot(one))) / size
        with_one += with_q
        return with_one
