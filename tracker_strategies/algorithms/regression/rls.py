"""Recursive least squares with forgetting, as a portfolio."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import number, one_of
from tracker_strategies.algorithms._kinds import Kinds, real, whole
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.lapack import lapack
from tracker_strategies.algorithms.numerics.recursive_inverse import add_round, is_sound, leverage
from tracker_strategies.algorithms.numerics.thresholds import simplex
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.regression.forgetting import SelfTuning, check_forgetting
from tracker_strategies.algorithms.regression.moments import MomentLearner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet

REFRESH = 100
"""Rounds from one factorisation of C to the next; in between rounding may gather in its inverse."""
FLOORS = (0.0, 1e-13, 1e-9, 1.0)
"""Regularisers of a factorisation, as shares of the mean variance, tried in turn while C is singular to working precision."""


@learner("rls", shows=("error", "held"), examples=lambda n: ({}, {"forgetting": "self", "prior": "zero", "mapping": "refit"}))
class RLS(MomentLearner):
    r"""Recursive least squares.

    .. math:: \beta_t = \Big(\lambda^t \delta I + \sum_{s \le t} \lambda^{t-s} x_s^\top x_s\Big)^{-1}
              \Big(\lambda^t \delta \beta_0 + \sum_{s \le t} \lambda^{t-s} x_s^\top y_s\Big)

    by Sherman-Morrison: with :math:`k = P x/(\lambda + x^\top P x)`, :math:`\beta \leftarrow \beta + k (y - x^\top \beta)`.
    Weights are the projection of the combined coefficients on the simplex.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    n_targets : int, default 1
        Number of targets q, which share the inverse.
    omega : array_like, shape (q,), optional
        Weights of the targets, > 0; equal by default.
    forgetting : float or "self" or SelfTuning, default 0.998
        :math:`\lambda`, in (0, 1], or the rule that tunes it. Below 1 - 1/N there are fewer rounds than names, and it overfits.
    delta : float, default 0.01
        Strength of the first regulariser, > 0, in units of squared returns summed over rounds.
    floor : float, default 1e-6
        Least regulariser, as a share of the mean of :math:`C_{ii}`, >= 0, applied every 100 rounds; :math:`\lambda^t \delta`
        itself vanishes with time.
    prior : {"start", "zero"}, default "start"
        :math:`\beta_0`: the first weights, to which the regulariser then pulls, or 0. Towards 0 the coefficients shrink, and the
        projection undoes that badly.
    mapping : {"project", "refit", "normalise", "cash"}, default "project"
        From coefficients to weights.
    max_names : int, optional
        Maximum number of names held.
    ridge : float, default 0.01
        Pull of a refit towards equal weights.
    warm_up : int, default 1
        Rounds before the weights move for the first time.
    start : array_like, shape (N,), optional
        :math:`w_1`; uniform by default.

    Notes
    -----
    Cost per round: a product with half of P and rank-one updates of C and P; every 100 rounds a factorisation, O(N^3).
    State: C, M, P.

    Examples
    --------
    >>> from tracker_strategies.algorithms import RLS, learner
    >>> learner = RLS(2, forgetting=1.0, delta=1e-6)
    >>> for x in ([0.02, -0.01], [-0.01, 0.01], [0.01, 0.02]):
    ...     w = learner.update(x, 0.7 * x[0] + 0.3 * x[1])
    >>> w.round(3).tolist()
    [0.7, 0.3]
    """

    _state: ClassVar[tuple[str, ...]] = (
        *MomentLearner._state,
        *("_Q", "_rho", "_weight", "_prior", "_beta", "_age", "_lam", "_error", "_variances"),
    )
    _kinds: ClassVar[Kinds] = {
        "_Q": real("n", "n"),
        "_rho": real(above=0.0),
        "_weight": real(least=0.0),
        "_prior": real("n"),
        "_beta": real("n", "n_targets"),
        "_age": whole(),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        n_targets: int = 1,
        omega: Any = None,
        forgetting: Any = 0.998,
        delta: float = 0.01,
        floor: float = 1e-6,
        prior: str = "start",
        mapping: str = "project",
        max_names: int | None = None,
        ridge: float = 0.01,
        warm_up: int = 1,
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, n_targets, omega, mapping, max_names, ridge, warm_up, start)
        self.prior = one_of("prior", prior, ("start", "zero"))
        self.delta, self.floor = number("delta", delta, above=0.0), number("floor", floor, least=0.0)
        self.forgetting: float | SelfTuning = check_forgetting(forgetting)
        self._Q: Array = np.eye(self.n_assets)
        self._rho = self._weight = self.delta
        self._prior: Array = np.zeros(self.n_assets) if prior == "zero" else self._w.copy()
        self._beta: Array = np.repeat(self._prior[:, None], self.n_targets, axis=1)
        self._age, self._lam, self._error = 0, 1.0, 0.0
        self._variances: Array = np.zeros(3)

    def _learn(self, w: Array, x: Array, y: Any, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        x = self._whole(x, free)
        error = np.clip(y - x.dot(self._beta), -1e100, 1e100)
        e2 = float(self._omega.dot(error * error))
        at = leverage(self._Q, self._rho, x)
        tuning = self.forgetting
        lam = tuning.next(self._variances, at.h, e2) if isinstance(tuning, SelfTuning) else tuning
        self._absorb(x, y, lam, free)
        gain, self._rho = add_round(self._Q, self._rho, at, lam)
        self._beta += gain[:, None] * error
        self._weight *= lam
        self._age += 1
        if self._age >= REFRESH or not (is_sound(self._Q, self._rho) and np.isfinite(self._beta).all()):
            self._refresh()
        self._lam, self._error = lam, e2**0.5
        return self._invest(self._beta.dot(self._omega), w, W, free)

    def _refresh(self) -> None:
        """Compute inverse and coefficients anew from the moments."""
        C = self._moments()
        mean = float(np.trace(C)) / self.n_assets
        least = max(self._weight, self.floor * mean, 1e-100)
        for share in FLOORS:
            weight = max(least, share * mean)
            regular = C.copy()
            regular.flat[:: self.n_assets + 1] += weight
            factor, singular = lapack().dpotrf(regular, lower=1)
            if not singular:
                break
        right = self._M.T + weight * self._prior[:, None]
        beta = lapack().dpotrs(factor, right, lower=1)[0]
        beta += lapack().dpotrs(factor, right - regular @ beta, lower=1)[0]  # one refinement
        self._Q, self._rho = np.ascontiguousarray(np.tril(lapack().dpotri(factor, lower=1)[0])), 1.0
        self._beta, self._weight, self._age = np.ascontiguousarray(beta), weight, 0

    def _rescale(self, s: Array) -> None:
        self._Q *= s[:, None] * s
        self._beta *= s[:, None]
        self._prior = self._prior * s
        super()._rescale(s)

    def _forget(self, left: Mask) -> None:
        if left.any():
            super()._forget(left)
            stay = ~left if self._active is None else self._active & ~left
            total = float(self._prior.sum())
            self._prior[left] = 0.0
            if stay.any():
                self._prior[stay] = simplex(self._prior[stay], total)
            self._refresh()

    @property
    def coefficients(self) -> Array:
        r""":math:`\beta_t`, shape (N, q)."""
        return self._beta.copy()

    def diagnostics(self) -> dict[str, float]:
        """Return lambda_t, the forecast error of the last round (root mean square over the targets) and names held."""
        return {"lambda": self._lam, "error": self._error, "held": float(np.count_nonzero(self._w))}
