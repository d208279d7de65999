"""Portfolios that are fitted once, on the first rounds, and held: what online learners are compared with."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import count, one_of
from tracker_strategies.algorithms._kinds import Kinds, real
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.lapack import least_squares, shortest_solution
from tracker_strategies.algorithms.numerics.lasso_path import lars_path
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.regression.moments import MomentLearner, at_most_assets
from tracker_strategies.algorithms.sets.feasible import FeasibleSet
from tracker_strategies.algorithms.sparse_pls.batch import MOST_ITERATIONS, TOLERANCE, directions


@learner(
    examples=lambda n: (
        {"window": 15},
        {"method": "lars", "theta": min(3, n), "window": 8},
    )
)
class StaticPortfolio(MomentLearner):
    r"""Fit on the first `window` rounds, then hold the weights.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    method : {"ols", "lars", "spls"}, default "ols"
        Coefficients: ordinary least squares, of minimum norm where there are more names than rounds; the lasso with `theta`
        names; sparse PLS with one factor of `theta` names.
    window : int, default 100
        Rounds to fit to; before the fit, the weights stay at the start.
    n_targets : int, default 1
        Number of targets q.
    omega : array_like, shape (q,), optional
        Weights of the targets, > 0; equal by default.
    theta : int, optional
        Names to select, at most N; 25 by default, or N. Least squares uses all.
    standardise : bool, default True
        Whether the selection sees names in units of their volatility.
    mapping : {"refit", "project", "normalise", "cash"}, default "refit"
        From coefficients to weights.
    max_names : int, optional
        Maximum number of names held.
    ridge : float, default 0.01
        Pull of the refit towards equal weights.
    start : array_like, shape (N,), optional
        Weights before the fit; uniform by default.

    Notes
    -----
    Cost: that of the moments for `window` rounds, one fit, then nothing. State: C and M.

    References
    ----------
    The static portfolios of McWilliams, Montana 2010, Figure 10.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import StaticPortfolio
    >>> learner, rng = StaticPortfolio(3, window=20), np.random.default_rng(0)
    >>> for _ in range(30):
    ...     x = rng.normal(0.0, 0.01, 3)
    ...     weights = learner.update(x, x[:2].mean())
    ...
    >>> weights.round(2).tolist()
    [0.5, 0.5, 0.0]
    """

    _state: ClassVar[tuple[str, ...]] = (*MomentLearner._state, "_beta")
    _kinds: ClassVar[Kinds] = {
        "_beta": real("n", "n_targets"),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        method: str = "ols",
        window: int = 100,
        n_targets: int = 1,
        omega: Any = None,
        theta: int | None = None,
        standardise: bool = True,
        mapping: str = "refit",
        max_names: int | None = None,
        ridge: float = 0.01,
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, n_targets, omega, mapping, max_names, ridge, 1, start, standardise)
        one_of("method", method, ("ols", "lars", "spls"))
        self.method, self.window = method, count("window", window)
        self.theta = min(25, self.n_assets) if theta is None else at_most_assets("theta", theta, self.n_assets)
        self._beta: Array = np.zeros((self.n_assets, self.n_targets))

    def _learn(self, w: Array, x: Array, y: Any, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        if self._n >= self.window:
            return w
        self._absorb(self._whole(x, free), y, 1.0, free)
        if self._n < self.window:
            return w
        self._beta = self._fit()
        return self._invest(self._beta.dot(self._omega), w, W, free)

    def _fit(self) -> Array:
        """Return coefficients, shape (N, q), from the moments."""
        names, targets = self._units()
        names = np.ones(self.n_assets) if names is None else names
        C = self._moments() * names * names[:, None]
        M = self._M.T * names[:, None] * targets
        if self.method == "ols":
            b = shortest_solution(C, M)
        elif self.method == "lars":
            b = np.column_stack([lars_path(C, m, max_names=self.theta).coefs[-1] for m in M.T])
        else:
            U, _ = directions(1e-5 * C + (1.0 - 1e-5) * M @ M.T, 1, self.theta, TOLERANCE, MOST_ITERATIONS)
            b = U @ least_squares(U.T @ C @ U, U.T @ M)
        return np.asarray(b * names[:, None] / np.where(targets > 0.0, targets, np.inf))

    def _rescale(self, s: Array) -> None:
        self._beta *= s[:, None]
        super()._rescale(s)

    def _forget(self, left: Mask) -> None:
        super()._forget(left)
        self._beta[left] = 0.0

    @property
    def coefficients(self) -> Array:
        """Shape (N, q): regression of the targets on the names; 0 before the fit."""
        return self._beta.copy()

    def diagnostics(self) -> dict[str, float]:
        """Return whether the fit was made (1) and names held."""
        return {"fitted": float(self._n >= self.window), "held": float(np.count_nonzero(self._w))}
