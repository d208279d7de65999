r"""Discounted ridge regression with a sketch of the matrix (frequent directions): O(m d) a round for m rows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tracker_strategies.algorithms._kinds import FAR, Kinds, real, whole
from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.lapack import blas
from tracker_strategies.algorithms.vaw._forms import FORM, LEAST, Look
from tracker_strategies.errors import ParameterError

RESOLVED = 1e-9
"""Least regulariser as a share of the largest squared norm of a row: with less, rows that repeat each other drown in rounding."""


class SketchRidge(Part):
    r"""Solution of a discounted ridge regression whose :math:`\Sigma_t` is known by m rows B and one number only.

    .. math:: \hat\Sigma_t = B^\top B + (\gamma^t \lambda + \tfrac12 \Delta_t)\, I, \qquad
        v_t = w^0 + \hat\Sigma_t^{-1} \sum_s \gamma^{t-s} (y_s - w^0 \cdot x_s)\, x_s .

    B takes observations in, rows shrinking by :math:`\sqrt\gamma` a round, until it has m = 2 `rank` of them. Then the squares
    of its singular values are lowered by that of number `rank`, which leaves fewer than `rank` rows (frequent directions), and
    :math:`\Delta` is raised by as much; it decays by :math:`\gamma` like all else.

    Notes
    -----
    Without the regulariser :math:`0 \preceq \Sigma - B^\top B \preceq \Delta I`: half of :math:`\Delta` is the middle, the best
    multiple of the identity in spectral norm (robust frequent directions). It errs towards the prior. The trace that was lost,
    spread over all directions, is nearer in Frobenius norm; but then the factors, which lose most, pass for weaker than they
    are, and errors were many times larger for small ranks.

    Between two shrinkings the formulas are those of :class:`._ridge_dual.DualRidge`: the factor of
    :math:`B B^\top + \rho I` grows by a column a round. The target side is exact.
    """

    _state = ("gammas", "lam", "floor", "prior", "_rank", "_B", "_R", "_n", "_scale", "_reg", "_gap", "_theta", "_w")
    _kinds: ClassVar[Kinds] = {
        **FORM,
        "gammas": real(1, above=0.0, most=1.0),
        "_rank": whole(least=1),
        "_B": real("m", "d"),
        "_R": real("packed"),
        "_n": whole(),
        "_scale": real(above=0.0),
        "_reg": real(above=0.0),
        "_gap": real(least=0.0),
        "_theta": real("q", "d", least=-FAR, most=FAR),
        "_w": real("q", "d", least=-FAR, most=FAR),
    }

    def __init__(self, d: int, gamma: float, lam: float, floor: float, q: int, prior: Array, rank: int) -> None:
        self.gammas: Array = np.array([gamma])
        self.lam, self.floor, self._rank = max(lam, floor), max(floor, LEAST), rank
        self.prior: Array = prior.copy()
        m = 2 * rank
        self._B: Array = np.zeros((m, d))  # over the root of _scale
        self._R: Array = np.zeros(m * (m + 1) // 2)  # factor of B B' + rho I over _scale, packed by columns
        self._n, self._scale = 0, 1.0
        self._reg, self._gap = self.lam, 0.0  # gamma^t lambda and Delta, over _scale
        self._theta: Array = np.zeros((q, d))  # of y - prior.x
        self._w: Array = np.broadcast_to(prior, (q, d)).copy()

    def _sound(self) -> None:
        m, n = 2 * self._rank, self._n
        if len(self._B) != m or len(self._R) != m * (m + 1) // 2 or n >= m:
            raise ParameterError(f"_B and _R must have {m} rows, and _n be below it, got {self._B.shape} and {n}")
        if not (self._R[np.arange(1, n + 1) * np.arange(2, n + 2) // 2 - 1] > 0.0).all():
            raise ParameterError("_R must have a positive diagonal")

    @property
    def _rho(self) -> float:
        return self._reg + 0.5 * self._gap

    # ------------------------------------------------------------------ one round

    def look(self, x: Array, repair: bool = True) -> Look:
        """Return what is known of x; the memo holds the new column of the factor."""
        column = self._column(self._B[: self._n].dot(x))
        unexplained = max(float(x.dot(x)) - float(column.dot(column)), 0.0)
        return Look(self._w.dot(x)[None], [unexplained / (self._scale * self._rho)], column)

    def learn(self, x: Array, y: Array, look: Look) -> None:
        """Take in the round, given what :meth:`look` said of x; y has shape (q,)."""
        gamma, n = float(self.gammas[0]), self._n
        self._w += np.outer(y - look.predictions[0], self.gains(x, look)[0])
        self._theta = gamma * self._theta + np.outer(y - float(self.prior.dot(x)), x)
        # Over the new scale the old rows and the regulariser stay as they are, and x becomes a row x/sqrt(scale).
        before, self._scale = self._scale, gamma * self._scale
        root = np.sqrt(self._scale)
        pivot = np.sqrt(self._rho * before * (gamma + look.leverage[0]) / self._scale)
        end = (n + 1) * (n + 2) // 2 - 1
        self._R[end - n : end], self._R[end] = look.memo / root, pivot
        self._B[n] = x / root
        self._n = n + 1
        size = float(x.dot(x))
        drowned = self._scale * self._rho < RESOLVED * size
        if self._n == len(self._B) or drowned or self._scale < 1e-30 or self._scale * self._reg < self.floor:
            self.shrink()

    def gains(self, x: Array, look: Look) -> Array:
        """Return Sigma^-1 x with x taken into Sigma, shape (1, d): how a round moves the solution per unit of its error."""
        rest = x - self._backwards(look.memo)
        return np.asarray(rest / (self._scale * self._rho * (self.gammas[0] + look.leverage[0])))[None]

    def combined(self, mix: Array) -> Array:
        """Return the sum of the solutions with the weights `mix`, shape (1, q)."""
        return np.asarray(mix[0].dot(self._w))

    def _column(self, right: Array) -> Array:
        return np.asarray(blas().dtpsv(self._n, self._R, right, trans=1)) if self._n else right

    def _backwards(self, column: Array) -> Array:
        """Return B' R^-1 column."""
        n = self._n
        return np.asarray(blas().dtpsv(n, self._R, column).dot(self._B[:n])) if n else np.zeros(self._B.shape[1])

    # ------------------------------------------------------------------ once in `rank` rounds

    def shrink(self) -> None:
        """Lower the singular values of B if it is full, hold the floor, and compute the solution afresh."""
        B, rank = self._unscaled(), self._rank
        if self._reg < self.floor:
            self._reg = 2.0 * self.floor
        gram = B.dot(B.T)
        self._reg = max(self._reg, 2.0 * RESOLVED * float(gram.diagonal().max()))
        if len(B) < len(self._B):
            self._take(B, gram)
            return
        squares, vectors = np.linalg.eigh(gram)
        squares, vectors = np.maximum(squares[::-1], 0.0), vectors[:, ::-1]
        kept = np.maximum(squares - squares[rank - 1], 0.0)
        self._gap += float(squares[rank - 1])
        n = int(np.count_nonzero(kept))
        self._take((np.sqrt(kept[:n] / squares[:n])[:, None] * vectors[:, :n].T).dot(B), np.diag(kept[:n]))

    def _unscaled(self) -> Array:
        """Return the rows of B, and go over to a scale of 1."""
        B = np.sqrt(self._scale) * self._B[: self._n]
        self._reg, self._gap, self._scale = self._scale * self._reg, self._scale * self._gap, 1.0
        return np.asarray(B)

    def _take(self, B: Array, gram: Array) -> None:
        """Take these rows, with these inner products, as the sketch."""
        n = self._n = len(B)
        self._B[:n], self._B[n:] = B, 0.0
        gram = gram + self._rho * np.eye(n)
        self._R[:] = 0.0
        self._R[: n * (n + 1) // 2] = _cholesky(gram)[np.tril_indices(n)]
        self._w = np.array([self.prior + self._solved(theta) for theta in self._theta])

    def _solved(self, theta: Array) -> Array:
        """Return Sigma^-1 theta at a scale of 1."""
        return (theta - self._backwards(self._column(self._B[: self._n].dot(theta)))) / self._rho

    # ------------------------------------------------------------------ a changing universe

    def begin(self, known: Mask, prior: Array) -> None:
        """Say before the first round who takes part in it."""
        self.prior = prior.copy()
        self._w = np.broadcast_to(prior, self._w.shape).copy()

    def change(self, left: Mask, new: Mask, prior: Array) -> None:
        """Forget the assets in `left` as far as the sketch knows them, and go over to another prior."""
        B = self._unscaled()
        explained = B.dot(self.prior)
        B[:, left] = self._theta[:, left] = 0.0
        moved = np.where(left, 0.0, self.prior) - np.where(new, 0.0, prior)
        self._theta += (explained - B.dot(prior)).dot(B) + 0.5 * self._gap * moved
        self.prior = prior.copy()
        self._take(B, B.dot(B.T))


def _cholesky(gram: Array) -> Array:
    """Return a lower factor; a matrix that rounding has made indefinite is made definite."""
    share = 1e-12
    while len(gram):
        try:
            return np.asarray(np.linalg.cholesky(gram), dtype=np.float64)
        except np.linalg.LinAlgError:
            if share > 1e9:
                raise
            gram = gram + np.diag(share * gram.diagonal())
            share *= 2.0
    return gram
