r"""Discounted ridge regression through inner products of observations: O(t d) a round while t is below d.

One Gram matrix serves all discount factors.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tracker_strategies.algorithms._kinds import Kinds, flag, real, whole
from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.lapack import blas, lapack
from tracker_strategies.algorithms.vaw._forms import FORM, LEAST, Look
from tracker_strategies.algorithms.vaw._ridge_primal import PrimalRidge
from tracker_strategies.errors import ParameterError

RESOLVED = 1e-7
"""Least noise of an observation as a share of the largest squared norm: with less, observations that repeat each other drown in
rounding."""


class DualRidge(Part):
    r"""Solutions of the discounted ridge regressions of :class:`PrimalRidge` on the first rounds.

    With the rows of X the observations so far, :math:`G = X X^\top` and :math:`\rho_s = \gamma^s`,

    .. math:: w_t = w^0 + X^\top \alpha, \qquad (G + \lambda\, \mathrm{diag}(\rho_1, \ldots, \rho_t))\, \alpha = y - X w^0

    (Woodbury): an observation has the noise :math:`\lambda \gamma^s`, which does not depend on t. The matrices of successive
    rounds are therefore nested, and their Cholesky factors grow by a column a round.

    Notes
    -----
    A round costs two passes over X for all K discounts together, and two triangular solves of size t for each. The factors are
    packed by columns (dtpsv), so that a new column is appended.
    """

    _state = ("gammas", "lam", "floor", "prior", "idle", "_X", "_y", "_R", "_z", "_rho", "_t", "_largest")
    _kinds: ClassVar[Kinds] = {
        **FORM,
        "idle": flag("d"),
        "_X": real("r", "d"),
        "_y": real("r", "q"),
        "_R": real("K", "packed"),
        "_z": real("K", "q", "r"),
        "_rho": real("K", "r+1", above=0.0),
        "_t": whole(),
        "_largest": real(least=0.0),
    }

    def __init__(self, d: int, gammas: Array, lam: float, floor: float, q: int, prior: Array, rounds: int) -> None:
        K = len(gammas)
        self.gammas, self.lam, self.floor = np.array(gammas), max(lam, floor), max(floor, LEAST)
        self.prior: Array = prior.copy()
        self.idle: Mask = np.zeros(d, dtype=np.bool_)
        self._X, self._y = np.zeros((rounds, d)), np.zeros((rounds, q))
        self._R, self._z = np.zeros((K, rounds * (rounds + 1) // 2)), np.zeros((K, q, rounds))
        self._rho: Array = np.ones((K, rounds + 1))
        self._t, self._largest = 0, 0.0

    def _sound(self) -> None:
        r, t = len(self._X), self._t
        if self._R.shape[1] != r * (r + 1) // 2 or t > r or self.full:
            raise ParameterError(f"_R must be packed factors of {r} rounds, and _t below them, got {self._R.shape} and {t}")
        if not (self._R[:, np.arange(1, t + 1) * np.arange(2, t + 2) // 2 - 1] > 0.0).all():
            raise ParameterError("_R must have positive diagonals")

    @property
    def full(self) -> bool:
        """Whether no further round fits in, or the noise is too small to be told from rounding, or has passed the floor."""
        least = float(self.lam * self._rho[:, self._t].min())
        return self._t == len(self._X) or least < max(RESOLVED * self._largest, self.floor)

    def begin(self, known: Mask, prior: Array) -> None:
        """Say before the first round who takes part in it."""
        self.idle, self.prior = ~known, prior.copy()

    def look(self, x: Array, repair: bool = True) -> Look:
        """Return what is known of x; the memo holds the new columns of the factors."""
        t, xx, base = self._t, float(x.dot(x)), float(self.prior.dot(x))
        gram = self._X[:t].dot(x)
        columns, predictions, leverage = [], [], []
        for factor, z, rho in zip(self._R, self._z[:, :, :t], self._rho[:, t].tolist(), strict=True):
            column = blas().dtpsv(t, factor, gram, trans=1) if t else gram
            columns.append(column)
            predictions.append(z.dot(column))
            leverage.append(max(xx - float(column.dot(column)), 0.0) / (self.lam * rho))
        return Look(base + np.array(predictions), leverage, columns)

    def learn(self, x: Array, y: Array, look: Look) -> None:
        """Take in the round, given what :meth:`look` said of x; y has shape (q,)."""
        t = self._t
        pivot = np.sqrt(self.lam * self._rho[:, t] * (self.gammas + look.leverage))
        end = (t + 1) * (t + 2) // 2 - 1
        self._R[:, end - t : end], self._R[:, end] = look.memo, pivot
        self._z[:, :, t] = (y - look.predictions) / pivot[:, None]
        self._X[t], self._y[t] = x, y
        self._rho[:, t + 1] = self._rho[:, t] * self.gammas
        self._t, self._largest = t + 1, max(self._largest, float(x.dot(x)))

    def gains(self, x: Array, look: Look) -> Array:
        """Return Sigma^-1 x with x taken into Sigma, shape (K, d): how a round moves the solution per unit of its error."""
        noise = self.lam * self._rho[:, self._t] * (self.gammas + np.array(look.leverage))
        return np.array([(x - self._backwards(k, look.memo[k])) / noise[k] for k in range(len(noise))])

    def combined(self, mix: Array) -> Array:
        """Return the sum of the solutions with the weights `mix`, shape (K, q): one pass over X for all of them."""
        t = self._t
        alpha = np.zeros(t)
        for factor, z, shares in zip(self._R, self._z[:, :, :t], mix, strict=True):
            if t and shares.any():
                alpha += blas().dtpsv(t, factor, shares.dot(z))
        return np.asarray(float(mix.sum()) * self.prior + alpha.dot(self._X[:t]))

    def _backwards(self, k: int, right: Array) -> Array:
        """Return X' R^-1 right."""
        t = self._t
        return np.asarray(blas().dtpsv(t, self._R[k], right).dot(self._X[:t])) if t else np.zeros(self._X.shape[1])

    def primal(self) -> PrimalRidge:
        """Return the same regressions in primal form: O(t d^2), once."""
        t, K, d = self._t, len(self.gammas), self._X.shape[1]
        X, y = self._X[:t], self._y[:t]
        result = PrimalRidge(d, self.gammas, self.lam, self.floor, y.shape[1], self.prior)
        result.begin(~self.idle, self.prior)
        for k in range(K if t else 0):
            root = np.sqrt(self._rho[k, t] / self._rho[k, 1 : t + 1])[:, None]
            factor, _ = lapack().dtpttr(t, self._R[k, : t * (t + 1) // 2])
            explained = blas().dtrsm(1.0, factor, X.T, side=1).T
            w = self.prior + np.array([self._backwards(k, z[:t]) for z in self._z[k]])
            result.fill(k, self.lam * float(self._rho[k, t]), root * X, explained, root * y, w)
        return result

    def twin(self, gamma: float) -> None:
        """Add a discount that begins in the state of the last one."""
        for name in ("gammas", "_R", "_z", "_rho"):
            value = getattr(self, name)
            setattr(self, name, np.concatenate((value, value[-1:])))
        self.gammas[-1] = gamma
