r"""The nearest allowed portfolio seen from its multipliers: few of them, and every weight in closed form.

With one multiplier for each factor (y), for the total and for each group (together :math:`\nu`), and one for the turnover
(:math:`\theta \ge 0`), the best weight of a name is a shrinkage towards what is held, clipped to the bounds of the name:

.. math:: w_i = \Bigl[h_i + S\bigl(z_i - h_i - a_i^\top \nu / d_i,\ (c_i + \theta) / d_i\bigr)\Bigr]_{l_i}^{u_i},
    \qquad S(x, t) = x - [x]_{-t}^{t}

where a_i holds the loadings of the name, a one for the total and a one for each of its groups. The dual is concave and piecewise
quadratic; its gradient is what the constraints are missed by, and its second derivative comes from the *free* names alone, those
neither at a bound nor at what is held.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, IndexArray, Region
from tracker_strategies.execution.mandate.metric import Metric

_REMEMBERED = 16
_ROWS: dict[tuple[int, int], tuple[tuple[IndexArray, ...], FloatArray]] = {}


def group_rows(members: tuple[IndexArray, ...], n: int) -> FloatArray:
    """Return (G, N) ones where a name is in a group. Remembered for the same tuple, which stays the same from bar to bar."""
    found = _ROWS.get((id(members), n))
    if found is not None:
        return found[1]
    rows = np.zeros((len(members), n))
    for row, positions in zip(rows, members, strict=True):
        row[positions] = 1.0
    if len(_ROWS) >= _REMEMBERED:
        del _ROWS[next(iter(_ROWS))]
    _ROWS[id(members), n] = (members, rows)  # the tuple is kept too: its identity cannot be taken by another one
    return rows


class Dual:
    """One problem.

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
        Loadings on each factor, ones, and the names of each group: what a multiplier of :math:`\\nu` acts on.
    low, high : (k + 1 + G,) float
        Bounds of rows @ w; for a factor both are the exposure of the wish.
    """

    def __init__(self, wish: FloatArray, region: Region, metric: Metric, no_trade: float | FloatArray) -> None:
        B = metric.B
        n, k = B.shape
        groups = len(region.members)
        self.n_factors = k
        self.wish, self.held = wish, region.held
        self.lower, self.upper = region.lower, region.upper
        self.turnover = float(region.turnover)
        self.gap = wish - region.held
        self.inverse = 1.0 / metric.d
        self.no_trade = no_trade
        self.has_price = bool(np.any(no_trade))
        self.rows = rows = np.empty((k + 1 + groups, n))
        rows[:k] = B.T
        rows[k] = 1.0
        rows[k + 1 :] = group_rows(region.members, n)
        self.low, self.high = np.empty(k + 1 + groups), np.empty(k + 1 + groups)
        self.low[:k] = self.high[:k] = rows[:k] @ wish
        self.low[k] = self.high[k] = region.total
        self.low[k + 1 :], self.high[k + 1 :] = region.group_lower, region.group_upper
        self.equal: BoolArray = self.low == self.high

    def at(self, pull: FloatArray, theta: float) -> tuple[FloatArray, BoolArray, FloatArray]:
        """Return the weights for given multipliers, which names are free, and which way each trades.

        Parameters
        ----------
        pull : (N,) float
            rows.T @ nu.
        theta : float
        """
        x = self.gap - pull * self.inverse
        if theta > 0.0 or self.has_price:
            t = (self.no_trade + theta) * self.inverse
            shrunk = x - np.minimum(np.maximum(x, -t), t)
            moved = np.abs(x) >= t
            v = self.held + shrunk
            free = (v > self.lower) & (v < self.upper) & moved
        else:
            v = self.held + x
            free = (v > self.lower) & (v < self.upper)
        w = np.minimum(np.maximum(v, self.lower), self.upper)
        return w, free, np.sign(x)

    def missed(self, w: FloatArray, nu: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return what each row misses its bound by, and which rows count: those with a multiplier, and those outside.

        For a factor, the bound is the exposure that its multiplier stands for.
        """
        sums = self.rows @ w
        k = self.n_factors
        over, under = sums - self.high, sums - self.low
        above = self.equal | (nu > 0.0) | ((nu == 0.0) & (over > 0.0))
        below = ~above & ((nu < 0.0) | (under < 0.0))
        gap = np.where(above, over, np.where(below, under, 0.0))
        gap[:k] -= nu[:k]
        return gap, above | below

    def overtraded(self, w: FloatArray) -> float:
        """Return the turnover beyond its limit."""
        return float(np.abs(w - self.held).sum()) - self.turnover

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
        worst = max(float((sums - self.high[k:]).max()), float((self.low[k:] - sums).max()))
        return max(worst, self.overtraded(w))


def newton(H: FloatArray, right: FloatArray) -> FloatArray | None:
    """Return the solution of H x = right; None if H is not safely positive definite."""
    factor, x, failed = dposv(H, right, lower=1)
    if failed:
        return None
    pivots: NDArray[Any] = factor.diagonal()
    if not (pivots * pivots > 1e-13 * H.diagonal()).all():
        return None
    return x  # type: ignore[no-any-return]
