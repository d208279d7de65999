r"""The lasso on moments, exactly: the whole path, one point of it, and the point with so many names.

.. math:: \min_b \tfrac12 b^\top C b - m^\top b + \mu \|b\|_1

Between two knots the names that are in, and their signs s, do not change and the solution is linear in :math:`\mu`:

.. math:: b_A = C_{AA}^{-1}(m_A - \mu s_A) = g - \mu d, \qquad m - C b = r + \mu a

so that the next knot is known in closed form: where an entry of b reaches 0 (a name leaves) or one of m - C b reaches
:math:`\pm\mu` (a name enters). Every segment is computed from C and m, not from the one before: errors do not add up.

References
----------
Efron, Hastie, Johnstone, Tibshirani, *Least angle regression*, Ann. Statist. 32, 2004.
Osborne, Presnell, Turlach, *A new approach to variable selection in least squares problems*, IMA J. Numer. Anal. 20, 2000.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracker_strategies._checks import count, number, one_of
from tracker_strategies.algorithms._validation import Array, finite_vector, real_array
from tracker_strategies.algorithms.numerics.lapack import lapack
from tracker_strategies.errors import InputError

COLLINEAR = 1e-10
"""A name whose variance given those in is below this share of its own cannot enter beside them."""
END = 1e-9
"""Below this share of the largest entry of m a price is 0: with fewer rounds than names the path ends in an interpolation, and
what moves after it is rounding."""


@dataclass(frozen=True, eq=False)
class LarsPath:
    r"""Knots of a path.

    Attributes
    ----------
    knots : ndarray, shape (k,)
        :math:`\mu` where a name enters or leaves, decreasing, and the end of the path.
    coefs : ndarray, shape (k, p)
        b at each knot; linear in between.
    active : tuple of int
        Names that are in at the end, in the order in which they came.
    """

    knots: Array
    coefs: Array
    active: tuple[int, ...]


class Segment:
    """A piece of the path: the names that are in, their signs, and the linear solution; names come and go.

    Parameters
    ----------
    C, m : ndarray, shapes (p, p) and (p,)
    """

    def __init__(self, C: Array, m: Array) -> None:
        self.C, self.m = C, m
        p = m.shape[0]
        self.names: list[int] = []
        self.signs: list[float] = []
        self.out = np.ones(p, dtype=np.bool_)
        self._end = END * float(np.abs(m).max())
        self._rows = np.empty((min(p, 32), p))  # those of C that belong to the names
        self._L = np.zeros((min(p, 32), min(p, 32)), order="F")  # Cholesky factor of C on the names
        self.g = self.d = np.zeros(0)
        self.r, self.a = m, np.zeros(p)

    def add(self, name: int, sign: float) -> bool:
        """Let a name in; False if it is collinear with those that are: it never enters then."""
        k = len(self.names)
        self.out[name] = False
        self._make_room(k + 1)
        row = self.C[name]
        left = float(row[name])
        if k:
            z = lapack().dtrtrs(self._L[:k, :k], row[self.names], lower=1)[0]
            left -= float(z.dot(z))
            self._L[k, :k] = z
        if not left > COLLINEAR * float(row[name]):
            return False
        self._L[k, k] = left**0.5
        self._rows[k] = row
        self.names.append(name)
        self.signs.append(sign)
        return True

    def drop(self, name: int) -> None:
        """Let a name out and factorise the rest anew."""
        i = self.names.index(name)
        del self.names[i], self.signs[i]
        self.out[name] = True
        self._rows[i : len(self.names)] = self._rows[i + 1 : len(self.names) + 1]
        self._factorise()

    def begin_with(self, names: list[int], signs: list[float]) -> bool:
        """Start from names that are in; False if they are collinear."""
        self.names, self.signs = list(names), list(signs)
        self.out[names] = False
        self._make_room(len(names))
        self._rows[: len(names)] = self.C[names]
        return self._factorise()

    def _factorise(self) -> bool:
        k = len(self.names)
        if k == 0:
            return True
        part = self._rows[:k].take(self.names, axis=1)
        factor, singular = lapack().dpotrf(part.T, lower=1)
        self._L[:k, :k] = factor
        return not singular and bool((factor.diagonal() ** 2 > COLLINEAR * part.diagonal()).all())

    def solve(self) -> None:
        """Compute the linear solution b = g - mu d on the names that are in, and m - C b = r + mu a."""
        k = len(self.names)
        if k == 0:
            self.g = self.d = np.zeros(0)
            self.r, self.a = self.m, np.zeros(self.m.shape[0])
            return
        sides = np.empty((k, 2), order="F")
        sides[:, 0], sides[:, 1] = self.m[self.names], self.signs
        solved = lapack().dpotrs(self._L[:k, :k], sides, lower=1)[0]
        self.g, self.d = solved[:, 0], solved[:, 1]
        across = solved.T.dot(self._rows[:k])
        self.r, self.a = self.m - across[0], across[1]

    def at(self, mu: float) -> Array:
        """Return b at mu."""
        b = np.zeros(self.m.shape[0])
        b[self.names] = self.g - mu * self.d
        return b

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest mu for which this piece is the solution; an empty interval if there is none."""
        s = np.array(self.signs)
        r, a = self.r[self.out], self.a[self.out]
        # All of the form  offset + mu * slope >= 0: signs of b, then the two sides of |r + mu a| <= mu.
        offset = np.concatenate((s * self.g, -r, r, [0.0]))
        slope = np.concatenate((-s * self.d, 1.0 - a, 1.0 + a, [1.0]))
        rising, falling = slope > 0.0, slope < 0.0
        least = float((-offset[rising] / slope[rising]).max())
        most = float((-offset[falling] / slope[falling]).min()) if falling.any() else np.inf
        return (least, most) if (offset[~(rising | falling)] >= 0.0).all() else (np.inf, 0.0)

    def next_knot(self, mu: float, last: int, drops: bool) -> tuple[float, int, float]:
        """Return the largest knot below mu, who moves there, and the sign with which a name enters (0: it leaves).

        `last` moved at mu itself. At the end of the path the name is -1.
        """
        r, a = self.r, self.a
        with np.errstate(divide="ignore", invalid="ignore"):
            enter = np.array((r / (1.0 - a), -r / (1.0 + a)))
        enter[:, ~self.out] = -np.inf
        if last >= 0 and self.out[last]:
            enter[:, last] = np.where(enter[:, last] < mu * (1.0 - 1e-9), enter[:, last], -np.inf)
        enter[~(enter <= mu * (1.0 + 1e-12))] = -np.inf  # also NaN: a name that moves as fast as mu itself
        side, name = divmod(int(enter.argmax()), r.shape[0])
        knot, who, sign = float(enter[side, name]), name, 1.0 - 2.0 * side
        if drops and self.names:
            with np.errstate(divide="ignore", invalid="ignore"):
                leave = self.g / self.d
            leave[~(leave < mu)] = -np.inf
            if self.names[-1] == last:
                leave[-1] = -np.inf if not leave[-1] < mu * (1.0 - 1e-9) else leave[-1]
            i = int(leave.argmax())
            if float(leave[i]) > knot:
                knot, who, sign = float(leave[i]), self.names[i], 0.0
        return (knot, who, sign) if knot > self._end else (0.0, -1, 0.0)

    def walk(self, mu: float, drops: bool = True) -> Iterator[tuple[float, int, float]]:
        """Go down from mu: yield each knot, who moves there and with which sign, before it moves. The path ends at mu = 0."""
        last = -1
        for _ in range(8 * self.m.shape[0] + 8):
            knot, who, sign = self.next_knot(mu, last, drops)
            yield knot, who, sign
            if who < 0:
                return
            if sign == 0.0:
                self.drop(who)
            else:
                self.add(who, sign)
            self.solve()
            mu, last = knot, who

    def _make_room(self, k: int) -> None:
        have, p = self._rows.shape
        if k > have:
            more = min(max(2 * have, k), p)
            rows, L = np.empty((more, p)), np.zeros((more, more), order="F")
            rows[:have], L[:have, :have] = self._rows, self._L
            self._rows, self._L = rows, L


def lars_path(C: Any, m: Any, *, method: str = "lasso", max_names: int | None = None, least: float = 0.0) -> LarsPath:
    r"""Return the path of the lasso, or of least angle regression, on moments.

    Parameters
    ----------
    C : array_like, shape (p, p)
        Second moments of the variables, positive semidefinite.
    m : array_like, shape (p,)
        Their moments with the target.
    method : {"lasso", "lar"}, default "lasso"
        "lar" never lets a variable out.
    max_names : int, optional
        Stop just before one more variable than this would enter.
    least : float, default 0
        Stop at this :math:`\mu`, >= 0.

    Returns
    -------
    LarsPath

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms.numerics import lars_path
    >>> path = lars_path(np.eye(2), [3.0, -1.0])
    >>> path.knots.tolist(), path.coefs.tolist()
    ([3.0, 1.0, 0.0], [[0.0, 0.0], [2.0, 0.0], [3.0, -1.0]])
    """
    C, m = moments(C, m)
    one_of("method", method, ("lasso", "lar"))
    least = number("least", least, least=0.0)
    most = m.shape[0] if max_names is None else count("max_names", max_names)
    segment = Segment(C, m)
    knots, coefs = [], []
    for knot, who, sign in segment.walk(float(np.abs(m).max()), method == "lasso"):
        knot = max(knot, least)
        knots.append(knot)
        coefs.append(segment.at(knot))
        if sign == 0.0 and who >= 0:
            coefs[-1][who] = 0.0
        if knot <= least or (sign != 0.0 and len(segment.names) == most):
            break
    return LarsPath(np.array(knots), np.array(coefs), tuple(segment.names))


def lasso_gram(C: Any, m: Any, mu: float) -> Array:
    r"""Return the minimiser of :math:`\tfrac12 b'Cb - m'b + \mu \|b\|_1`.

    Parameters
    ----------
    C : array_like, shape (p, p)
        Positive semidefinite.
    m : array_like, shape (p,)
    mu : float
        Price of a unit, >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms.numerics import lasso_gram
    >>> lasso_gram(np.eye(2), [3.0, -1.0], 0.5).tolist()
    [2.5, -0.5]
    """
    C, m = moments(C, m)
    mu = number("mu", mu, least=0.0)
    segment = Segment(C, m)
    top = float(np.abs(m).max())
    if mu < top:
        for knot, _, _ in segment.walk(top):
            if knot <= mu:
                break
    return segment.at(mu)


def moments(C: Any, m: Any) -> tuple[Array, Array]:
    """Return moments as finite arrays of shapes (p, p) and (p,)."""
    m, C = finite_vector("m", m), real_array("C", C, InputError)
    if C.shape != (m.shape[0], m.shape[0]) or not np.isfinite(C).all():
        raise InputError(f"C must be a finite matrix of shape ({m.shape[0]}, {m.shape[0]}), got shape {C.shape}")
    return C, m
