"""The objective of SLAIT (:mod:`.batch_slait`) and the steps that never increase it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.sets import projections

LONGEST_JUMP = 300.0


class SlaitProblem:
    """The objective for one p, and the step that never increases it.

    Parameters
    ----------
    X : ndarray, shape (m, N)
    r : ndarray, shape (m,)
    lam : float
    caps : ndarray, shape (N,)
        Upper bounds of the weights.
    u : float
        The u of the penalty.
    measure : str
    huber : float
        Where the tails of "hete" and "hdr" begin, in units of returns.
    total : float
        Sum of the weights.
    """

    def __init__(
        self, X: Array, r: Array, *, lam: float, caps: Array, u: float, measure: str, huber: float = math.inf, total: float = 1.0
    ) -> None:
        self.X: Array = np.ascontiguousarray(X)  # one layout, one order of sums: equal windows give equal weights
        self.r, self.lam, self.caps, self.u, self.total = r, lam, caps, u, total
        self.measure = measure
        self.downside = measure in ("dr", "hdr")
        self.huber = huber if measure in ("hete", "hdr") else math.inf
        m, n = X.shape
        gram = X @ X.T if m <= n else X.T @ X
        self.lmax = float(np.linalg.eigvalsh(gram)[-1]) / m

    def on(self, names: Any) -> SlaitProblem:
        """Return the problem of some of the names."""
        X, caps, huber, total = self.X[:, names], self.caps[names], self.huber, self.total
        return SlaitProblem(X, self.r, lam=self.lam, caps=caps, u=self.u, measure=self.measure, huber=huber, total=total)

    def objective(self, w: Array, p: float) -> float:
        """Return the value at w."""
        e = self.X @ w - self.r
        if self.downside:
            e = np.minimum(e, 0.0)
        size = np.abs(e)
        fit = np.where(size <= self.huber, size**2, self.huber * (2.0 * size - self.huber)) if self.huber < math.inf else e * e
        return float(fit.mean()) + self.lam * float(np.log1p(w / p).sum()) / math.log1p(self.u / p)

    def step(self, w: Array, p: float) -> Array:
        r"""Return the minimiser of the majoriser, :math:`P(w - (\nabla + d)/2L)`, :math:`d = \lambda/((p+w)\ln(1 + u/p))`."""
        e = self.X @ w - self.r
        if self.downside:
            e = np.minimum(e, 0.0)
        if self.huber < math.inf:
            e = np.clip(e, -self.huber, self.huber)
        d = self.lam / ((p + w) * math.log1p(self.u / p))
        move = (2.0 / self.X.shape[0]) * (e @ self.X) + d
        scale = 2.0 * self.lmax
        if scale * 1e280 <= float(np.abs(move).max()):  # no returns at all: only the penalty is left, any step is a majoriser
            return w
        return projections.capped_simplex_unchecked(w - move / scale, self.caps, self.total)

    def jump(self, w: Array, p: float, value: float) -> tuple[Array, float]:
        """Return a point extrapolated from two steps and projected, and its value, never above `value` (SQUAREM)."""
        w1 = self.step(w, p)
        w2 = self.step(w1, p)
        r, v = w1 - w, w2 - 2.0 * w1 + w
        vv = float(v.dot(v))
        alpha = -min(math.sqrt(float(r.dot(r)) / vv), LONGEST_JUMP) if vv > 0.0 else -1.0
        while alpha < -1.0 - 1e-6:
            far = projections.capped_simplex_unchecked(w - 2.0 * alpha * r + alpha * alpha * v, self.caps, self.total)
            reached = self.objective(far, p)
            if reached <= value:
                return far, reached
            alpha = 0.5 * (alpha - 1.0)
        return w2, self.objective(w2, p)
