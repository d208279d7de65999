r"""The nearest allowed portfolio seen from its multipliers: few of them, and every weight in closed form.

With one multiplier for each factor (y), for the total and for each group (together :math:`\nu`), and one for the turnover
(:math:`\theta \ge 0`), the best weight of a name is a shrinkage towards what is held, clipped to the bounds of the name:

.. math:: w_i = \Bigl[h_i + S\bigl(z_i - h_i - a_i^\top \nu / d_i,\ (c_i + \theta) / d_i\bigr)\Bigr]_{l_i}^{u_i},
    \qquad S(x, t) = x - [x]_{-t}^{t}

where a_i holds the loadings of the name, a one for the total and a one for each of its groups. The dual is concave and
piecewise quadratic; its gradient is what the constraints are missed by, and its second derivative comes from the *free* names
alone, those neither at a bound nor at what is held.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dasum, idamax
from scipy.linalg.lapack import dposv

from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, IndexArray, Region
from tracker_strategies.execution.mandate.metric import Metric

_REMEMBERED = 16
_ROWS: dict[tuple[int, int], tuple[tuple[IndexArray, ...], FloatArray, bool]] = {}


def group_rows(members: tuple[IndexArray, ...], n: int) -> FloatArray:
    """Return (1 + G, N) ones for the total, and where a name is in a group.

    Remembered for the same tuple of groups, which stays the same from bar to bar.
    """
    found = _ROWS.get((id(members), n))
    if found is not None:
        return found[1]
    rows = np.zeros((1 + len(members), n))
    rows[0] = 1.0
    for row, positions in zip(rows[1:], members, strict=True):
        row[positions] = 1.0
    if len(_ROWS) >= _REMEMBERED:
        del _ROWS[next(iter(_ROWS))]
    shared = bool((rows[1:].sum(axis=0) > 1.0).any())
    _ROWS[id(members), n] = (members, rows, shared)  # the tuple is kept too: its identity cannot be taken by another one
    return rows


def overlap(members: tuple[IndexArray, ...], n: int) -> bool:
    """Return whether a name is in more than one group."""
    group_rows(members, n)
    return _ROWS[id(members), n][2]


class Dual:
    r"""One problem.

    Parameters
    ----------
    wish : (N,) float
    region : Region
    metric : Metric
    no_trade : float or (N,) float
        Price of a unit of trade, c.

    Attributes
    ----------
    rows : (k + 1 + G, N) float
        Loadings on each factor, ones, and the names of each group: what a multiplier of :math:`\nu` acts on.
    low, high : (k + 1 + G,) float
        Bounds of rows @ w; for a factor both are the exposure of the wish.
    """

    def __init__(self, wish: FloatArray, region: Region, metric: Metric, no_trade: float | FloatArray) -> None:
        B = metric.B
        n, k = B.shape
        sums = group_rows(region.members, n)
        m = k + len(sums)
        self.n_factors = k
        self.wish, self.held = wish, region.held
        self.lower, self.upper = region.lower, region.upper
        self.turnover = float(region.turnover)
        self.limited = self.turnover < np.inf
        self.gap = wish - region.held
        self.inverse = 1.0 / metric.d
        self.loose = self.inverse * (region.lower < region.upper)
        self.no_trade = no_trade
        self.has_price = isinstance(no_trade, np.ndarray) or no_trade > 0.0
        # One row more than there are multipliers in nu: room for the signs of the trades, which theta acts on.
        self.all_rows = np.empty((m + 1, n))
        self.rows = rows = self.all_rows[:m]
        rows[:k] = B.T
        rows[k:] = sums
        self.low, self.high = low, high = np.empty(m), np.empty(m)
        low[:k] = high[:k] = rows[:k] @ wish
        low[k] = high[k] = region.total
        low[k + 1 :], high[k + 1 :] = region.group_lower, region.group_upper
        self.equal: BoolArray = low == high

    def at(self, pull: FloatArray, theta: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the weights for given multipliers, 1/d of the free names (else zero), and which way each name trades.

        Parameters
        ----------
        pull : (N,) float
            nu @ rows.
        theta : float
        """
        x = self.gap - pull * self.inverse
        if theta > 0.0 or self.has_price:
            t = self.inverse * (self.no_trade + theta)
            x -= np.minimum(np.maximum(x, -t), t)
            v = self.held + x
            w = np.minimum(np.maximum(v, self.lower), self.upper)
            return w, self.loose * ((w == v) & (x != 0.0)), np.sign(x)
        v = self.held + x
        w = np.minimum(np.maximum(v, self.lower), self.upper)
        return w, self.loose * (w == v), np.sign(x)

    def missed(self, w: FloatArray, nu: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return what each row misses its bound by, and which rows count: those with a multiplier, and those outside.

        For a factor, the bound is the exposure that its multiplier stands for.
        """
        sums = self.rows @ w
        gap = sums - np.minimum(np.maximum(sums, self.low), self.high)
        counts = self.equal | (gap != 0.0)
        k = self.n_factors
        if k:
            gap[:k] -= nu[:k]
        for j in nu[k:].nonzero()[0].tolist():
            gap[k + j] = sums[k + j] - (self.high[k + j] if nu[k + j] > 0.0 else self.low[k + j])
            counts[k + j] = True
        return gap, counts

    def overtraded(self, w: FloatArray) -> float:
        """Return the turnover beyond its limit."""
        return (float(dasum(w - self.held)) if len(w) else 0.0) - self.turnover

    def system(
        self, chosen: IndexArray, sign: FloatArray | None, gap: FloatArray, excess: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the chosen rows and what they miss; with the signs of the trades, that of the turnover too."""
        if sign is None:
            return self.rows.take(chosen, 0), gap[chosen]
        self.all_rows[-1] = sign
        matrix = self.all_rows.take([*chosen.tolist(), len(self.rows)], 0)
        right = np.empty(len(matrix))
        right[:-1], right[-1] = gap[chosen], excess
        return matrix, right

    def curvature(self, matrix: FloatArray, weight: FloatArray) -> FloatArray:
        """Return minus the second derivative of the dual in the rows of `matrix`, which begin with the factors."""
        H: FloatArray = (matrix * weight) @ matrix.T
        k = self.n_factors
        if k:
            H.ravel()[: k * len(H) : len(H) + 1] += 1.0
        return H

    def excess(self, w: FloatArray) -> float:
        """Return the most by which a sum or the turnover is outside its bounds."""
        k = self.n_factors
        sums = self.rows[k:] @ w
        sums -= np.minimum(np.maximum(sums, self.low[k:]), self.high[k:])
        return max(largest(sums), self.overtraded(w))


def largest(a: FloatArray) -> float:
    """Return max_i abs(a_i)."""
    return abs(float(a[idamax(a)])) if len(a) else 0.0


def newton(H: FloatArray, right: FloatArray, singular: float = 1e-13) -> FloatArray | None:
    """Return the solution of H x = right; None if H is not safely positive definite."""
    factor, x, failed = dposv(H, right, lower=1)
    if failed:
        return None
    if any(p * p <= singular * h for p, h in zip(factor.diagonal().tolist(), H.diagonal().tolist(), strict=True)):
        return None
    solution: FloatArray = x
    return solution
