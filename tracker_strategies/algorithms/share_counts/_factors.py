r"""What a difference of weights costs in tracking: the covariance of the returns over the index, as a few factors and noise."""

from __future__ import annotations

import numpy as np

from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array, Mask

MEMORY = 0.998
"""Weight of a bar against that of the next one."""
KEPT = 3
"""Rows kept, per factor."""
REVIEW = 5
"""Bars between two estimates. With every 5 or 10 bars instead of 20, thirty names tracked four markets 2 to 6 % closer."""
FIRST = (4, 6, 9, 14)
"""Bars after which there is an estimate, before those come at regular times."""
PRIOR = 3.0
"""Bars for which the median variance of all names counts in that of each."""
FARTHEST, USUAL = 6.0, 12
"""Returns beyond so many standard deviations count as these, once so many bars are known."""
LEAST_OWN, OWN = 0.1, 1.6
"""Least share of its variance that a name has of its own, and how much more than estimated that counts: it is what a choice of
names, made by the same numbers, makes look small."""
TINY, ANY = 1e-300, 1e300


class FactorModel(Part):
    r"""The metric :math:`\mathrm{diag}(d) + BB'` of the returns over the index, from rows that summarise all bars.

    Bars count by :math:`.998^{t-s} m_s^{-1/4}` with the mean square :math:`m_s` of their returns over the index. In units of the
    names' standard deviations, B are the largest q principal axes, each as much shorter as noise alone would have made it; d is
    1.6 times what they leave. The axes come from 3q rows that stand for the past and the bars since the last estimate: the best
    3q of all then take their place.

    Parameters
    ----------
    n : int
        Number of names N.
    factors : int
        Number of factors q.
    offset : int
        Bars by which the estimates are shifted.

    Notes
    -----
    Cost: some vector operations of length N per bar, and every few bars O(q^2 N).
    """

    _state = ("_squares", "_weights", "_weight", "_rows", "_fresh", "_bars", "_far", "_d", "_B", "_offset")

    def __init__(self, n: int, factors: int, offset: int) -> None:
        self._squares, self._weights, self._weight = np.zeros(n), np.zeros(n), 0.0
        self._rows: Array = np.zeros((KEPT * factors + REVIEW if factors else 0, n))
        self._fresh = self._bars = 0
        self._far: Array = np.full(n, ANY)
        self._d: Array = np.zeros(n)
        self._B: Array = np.zeros((n, factors))
        self._offset = offset

    def learn(self, excess: Array, free: Mask | None) -> None:
        """Take in the returns of a bar over the index, shape (N,); names that are not free (None: all are) were not seen."""
        seen = len(excess) if free is None else int(np.count_nonzero(free))
        share = max(float(excess.dot(excess)) / seen, 1e-12) ** -0.25
        excess = np.minimum(np.maximum(excess, -self._far), self._far)
        self._squares *= MEMORY
        self._squares += share * excess * excess
        self._weights *= MEMORY
        self._weights += share if free is None else share * free
        self._weight = MEMORY * self._weight + share
        # The past fades when it is looked at: until then a new row is so much larger.
        self._rows[len(self._rows) - REVIEW + self._fresh] = (share / MEMORY ** (self._fresh + 1)) ** 0.5 * excess
        self._fresh += 1
        self._bars += 1
        regular = self._bars > FIRST[-1] and (self._bars - self._offset) % REVIEW == 0
        if regular or self._bars in FIRST:
            self._estimate()

    def _variances(self, prior: float) -> Array:
        known = self._weights > 0.0
        median = float(np.median(self._squares[known] / self._weights[known])) if known.any() else 0.0
        return np.asarray((self._squares + prior * max(median, TINY)) / (self._weights + max(prior, TINY)))

    def _estimate(self) -> None:
        n, kept, prior = len(self._d), len(self._rows) - REVIEW, PRIOR * self._weight / self._bars
        variances = self._variances(prior)
        self._rows *= MEMORY ** (0.5 * self._fresh)
        R = self._rows / np.sqrt(variances)
        values, axes = np.linalg.eigh(R @ R.T)
        self._rows[:kept] = axes[:, : REVIEW - 1 : -1].T @ self._rows
        self._rows[kept:] = 0.0
        self._fresh = 0
        q = min(self._B.shape[1], self._bars - 2, n - 2)
        self._B = np.zeros(self._B.shape)
        own = variances
        if q > 0:
            top = np.maximum(values[: -q - 1 : -1] / (self._weight + prior), TINY)
            noise = max(n - float(top.sum()), 0.0) / max(min(self._bars, n) - q, 1)
            B = self._rows[:q].T / np.sqrt(self._weights + prior)[:, None]
            B *= np.sqrt(np.maximum(1.0 - noise / top, 0.0))
            self._B[:, :q] = B
            own = np.maximum(variances - np.einsum("ij,ij->i", B, B), LEAST_OWN * variances)
        self._d = OWN * own
        if self._bars >= USUAL:
            self._far = FARTHEST * np.sqrt(variances)

    def metric(self) -> tuple[Array, Array] | None:
        """Return d > 0, shape (N,), and B, shape (N, q); None before there is an estimate."""
        return (self._d.copy(), self._B.copy()) if float(self._d.min()) > 0.0 else None

    def forget(self, left: Mask) -> None:
        """Forget names that left: should they come back, they are as uncertain as the median name."""
        if left.any():
            self._squares[left] = self._weights[left] = 0.0
            self._rows[:, left] = 0.0
            self._far[left] = ANY
            if self._d.any():
                self._d = np.where(left, float(np.median(self._d)), self._d)
                self._B = np.where(left[:, None], 0.0, self._B)
