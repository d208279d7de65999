"""The adaptive lasso: one sweep of coordinate descent a round, on moments that forget."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._kinds import Kinds, real
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.regression.forgetting import SelfTuning, check_forgetting
from tracker_strategies.algorithms.regression.moments import MomentLearner, at_most_assets
from tracker_strategies.algorithms.sets.feasible import FeasibleSet


@learner("adaptive-lasso", shows=("lambda", "held"), examples=lambda n: ({"theta": min(3, n), "sweeps": 300, "warm_up": 5},))
class AdaptiveLasso(MomentLearner):
    r"""Adaptive lasso (aLasso).

    A round updates the moments C and m and sweeps once over the names, in their order:

    .. math:: b_j \leftarrow \frac{S_\mu\big(m_j - \sum_{k \ne j} C_{jk} b_k\big)}{C_{jj}}, \qquad
              S_\mu(z) = \mathrm{sgn}(z)[|z| - \mu]_+

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    n_targets : int, default 1
        Number of targets q, each with a separate lasso on common moments.
    omega : array_like, shape (q,), optional
        Weights of the targets, > 0; equal by default.
    theta : int, optional
        Names to select, at most N; 25 by default, or N.
    mu : float, optional
        Price of a unit, >= 0, the same in all rounds. By default it is chosen in every round and for each target: the size that
        theta names exceed before the sweep.
    sweeps : int, default 1
        Sweeps per round. With many the coefficients are the minimum, and do not depend on the order of the names.
    forgetting : float or "self" or SelfTuning, default "self"
        :math:`\lambda`, in (0, 1], or the rule that tunes it.
    standardise : bool, default True
        Whether names and targets are seen in units of their volatility.
    mapping : {"refit", "project", "normalise", "cash"}, default "refit"
        From coefficients to weights.
    max_names : int, optional
        Maximum number of names held; `theta` by default.
    ridge : float, default 0.01
        Pull of the refit towards equal weights.
    warm_up : int, default 20
        Rounds before the weights move for the first time.
    start : array_like, shape (N,), optional
        :math:`w_1`; uniform by default.

    Notes
    -----
    The result of a sweep depends on the order of the names, by a little: it is one sweep, not the minimum.
    Self-tuning measures the leverage of a round along the current forecast, :math:`q = (x b)^2/(b^\top C b)`.
    Cost per round: O(N^2), and O(N) for each coefficient that changes. State: C, M, the coefficients.

    References
    ----------
    Anagnostopoulos, Tasoulis, Hand, Adams, *Online optimisation for variable selection on data streams*, ECAI 2008. The rival of
    McWilliams, Montana 2010, sec. 4 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import AdaptiveLasso
    >>> rng = np.random.default_rng(0)
    >>> learner = AdaptiveLasso(6, theta=2)
    >>> for x in 0.01 * rng.standard_normal((60, 6)):
    ...     w = learner.update(x, 0.7 * x[1] + 0.3 * x[4])
    >>> w.nonzero()[0].tolist()
    [1, 4]
    """

    _state: ClassVar[tuple[str, ...]] = (*MomentLearner._state, "_beta", "_lam", "_error", "_price", "_variances")
    _kinds: ClassVar[Kinds] = {
        "_beta": real("n", "n_targets"),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        n_targets: int = 1,
        omega: Any = None,
        theta: int | None = None,
        mu: float | None = None,
        sweeps: int = 1,
        forgetting: Any = "self",
        standardise: bool = True,
        mapping: str = "refit",
        max_names: int | None = None,
        ridge: float = 0.01,
        warm_up: int = 20,
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, n_targets, omega, mapping, max_names, ridge, warm_up, start, standardise)
        self.theta = min(25, self.n_assets) if theta is None else at_most_assets("theta", theta, self.n_assets)
        self.mu = None if mu is None else number("mu", mu, least=0.0)
        if self.max_names is None and self.mu is None:
            self.max_names = self.theta
        self.sweeps = count("sweeps", sweeps)
        self.forgetting: float | SelfTuning = check_forgetting(forgetting)
        self._beta: Array = np.zeros((self.n_assets, self.n_targets))
        self._lam, self._error, self._price = 1.0, 0.0, 0.0
        self._variances: Array = np.zeros(3)

    def _learn(self, w: Array, x: Array, y: Any, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        x = self._whole(x, free)
        error = np.clip(y - x.dot(self._beta), -1e100, 1e100)
        e2 = float(self._omega.dot(error * error))
        lam = self.forgetting
        if isinstance(lam, SelfTuning):
            b = self._beta.dot(self._omega)
            signal, power = float(x.dot(b)), float(b.dot(self._times(b)))
            lam = lam.next(self._variances, signal * (signal / power) if power > 1e-200 else lam.q_cap, e2)
        self._absorb(x, y, lam, free)
        names, targets = self._units()
        C, M = self._moments(), self._M * targets[:, None]
        if names is None:
            names = np.ones(self.n_assets)
        C *= names
        C *= names[:, None]
        M *= names
        inside = names > 0.0
        units = np.where(inside, names, 1.0)
        for j in range(self.n_targets):
            if targets[j] > 0.0:
                b = np.where(inside, self._beta[:, j] * targets[j] / units, 0.0)
                self._price = price_of(self.theta, C, M[j], b) if self.mu is None else self.mu
                for _ in range(self.sweeps):
                    if not sweep(C, M[j], b, self._price):
                        break
                self._beta[:, j] = b * names / targets[j]
        self._lam, self._error = lam, e2**0.5
        return self._invest(self._beta.dot(self._omega), w, W, free)

    def _rescale(self, s: Array) -> None:
        self._beta *= s[:, None]
        super()._rescale(s)

    def _forget(self, left: Mask) -> None:
        super()._forget(left)
        self._beta[left] = 0.0

    @property
    def coefficients(self) -> Array:
        """Shape (N, q): regression of the targets on the names."""
        return self._beta.copy()

    def diagnostics(self) -> dict[str, float]:
        """Return lambda_t, the price mu of the last target, the forecast error of the last round and names held."""
        found = {"lambda": self._lam, "mu": self._price, "error": self._error}
        return found | {"held": float(np.count_nonzero(self._w))}


def price_of(theta: int, C: Array, m: Array, b: Array) -> float:
    """Return the price that theta names exceed, each with the other coefficients as they are; the next one just does not."""
    if theta >= b.shape[0]:
        return 0.0
    size = np.abs(m - C.dot(b) + C.diagonal() * b)
    return float(np.partition(size, -theta - 1)[-theta - 1]) * (1.0 + 1e-12)


def sweep(C: Array, m: Array, b: Array, mu: float) -> bool:
    """Go over the coefficients b once, in place; return whether one of them moved by more than rounding."""
    r = m - C.dot(b)
    moved = False
    for j, (square, old) in enumerate(zip(C.diagonal().tolist(), b.tolist(), strict=True)):
        z = float(r[j]) + square * old
        new = 0.0
        if square > 0.0 and abs(z) > mu:
            new = (z - math.copysign(mu, z)) / square
        if new != old:
            r -= (new - old) * C[j]
            b[j] = new
            moved = moved or abs(new - old) > 1e-15 * abs(new)
    return moved
