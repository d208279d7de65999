"""AROW: adaptive regularisation of weight vectors, the second-order rival of AdaGrad."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import number, one_of
from tracker_strategies.algorithms._kinds import FAR, Dims, Kinds, real
from tracker_strategies.algorithms._validation import Array, Mask, label
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.gradient.first_order import TYPICAL_NORM2
from tracker_strategies.algorithms.numerics.thresholds import moved
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, RealSpace, Simplex
from tracker_strategies.errors import ParameterError

TASKS = ("regression", "classification")
MATRICES = ("full", "diagonal")
BLOCK = 2**16
"""Entries of a block that stays in the cache."""


@learner(
    examples=lambda n: (
        {"r": 1e-3},
        {"matrix": "diagonal", "r": 1e-3},
        {"task": "classification", "feasible": RealSpace()},
    )
)
class AROW(OnlineAlgorithm):
    r"""A Gaussian distribution :math:`N(\mu, \Sigma)` of the weights, updated with every instance; hold :math:`P_W(\mu)`.

    .. math::

        \beta = \frac{1}{x^\top \Sigma x + r}, \qquad
        \mu \leftarrow \mu + \beta\, d\, \Sigma x, \qquad
        \Sigma \leftarrow \Sigma - \beta\, \Sigma x x^\top \Sigma

    with :math:`d = y - \mu \cdot x` for regression, at every round, and :math:`d = y\,[1 - y\, \mu \cdot x]_+` for
    classification, only where the hinge loss is positive. At first :math:`\mu = 0` and :math:`\Sigma = I`.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    task : {"regression", "classification"}, default "regression"
        Labels of the second are y = +-1.
    matrix : {"full", "diagonal"}, default "full"
        With "diagonal" only the diagonal of :math:`\Sigma` is kept.
    r : float, optional
        Variance of the noise, > 0: the larger, the slower. Default 2.5e-4 N for regression, about :math:`\|x\|^2` of daily
        returns; 1 for classification.
    feasible : FeasibleSet, default Simplex()
        The set W that :math:`\mu` is projected on; the belief itself has no constraint.
    start : array_like, shape (N,), optional
        :math:`\mu` and the weights before the first round; 0 and its projection (uniform on the simplex) by default.

    Notes
    -----
    Regression with the full matrix is recursive least squares with the prior r I and no forgetting:
    :math:`\mu_T = (rI + \sum x x^\top)^{-1} \sum y x`. The covariance is kept as a factor, :math:`\Sigma = L L^\top`, by
    Potter's update :math:`L \leftarrow L - \beta/(1+\sqrt{r\beta})\, (\Sigma x)(L^\top x)^\top`: it always stays positive.

    An asset that leaves is integrated out of the belief. The loss is that of :math:`\mu`, before the projection.

    Cost per round: O(N^2), O(N) with the diagonal, and the projection.

    References
    ----------
    Crammer, Kulesza, Dredze, *Adaptive regularization of weight vectors*, NIPS 2009; Vaits, Crammer, *Re-adapting the
    regularization of weights for non-stationary regression*, ALT 2011 (regression). Eq. 10 of the AdaGrad report leaves
    out :math:`\beta` in the step.
    Bierman, *Factorization methods for discrete sequential estimation*, 1977 (Potter's form).

    Examples
    --------
    >>> from tracker_strategies.algorithms import AROW
    >>> AROW(2, r=1e-4).update([0.02, -0.01], 0.02).round(4).tolist()
    [1.0, 0.0]
    """

    _state = ("_mu", "_factor", "_loss", "_prediction", "_variance")
    _kinds: ClassVar[Kinds] = {
        "_mu": real("n", least=-FAR, most=FAR),
        "_variance": real(least=0.0),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        task: str = "regression",
        matrix: str = "full",
        r: float | None = None,
        feasible: FeasibleSet = Simplex(),  # noqa: B008 (immutable)
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, feasible=feasible, start=start)
        one_of("task", task, TASKS)
        one_of("matrix", matrix, MATRICES)
        self.task, self.matrix = task, matrix
        if r is None:
            r = TYPICAL_NORM2 * self.n_assets if task == "regression" else 1.0
        self.r = number("r", r, above=0.0)
        self._mu: Array = np.zeros(self.n_assets) if start is None else self._w.copy()
        # L with Sigma = L L'; of a diagonal Sigma the diagonal itself.
        self._factor: Array = np.eye(self.n_assets) if matrix == "full" else np.ones(self.n_assets)
        self._loss = self._prediction = self._variance = 0.0

    @classmethod
    def _check_before(cls, n_assets: Any, params: dict[str, Any], values: dict[str, Any]) -> None:
        super()._check_before(n_assets, params, values)
        shape = ("n",) if params.get("matrix") == "diagonal" else ("n", "n")
        real(*shape).check_shape("_factor", values.get("_factor"), Dims(n=n_assets))

    def _sound(self) -> None:
        super()._sound()
        if not (0.0 if self.matrix == "diagonal" else -1.001) <= float(self._factor.min()) <= float(self._factor.max()) <= 1.001:
            raise ParameterError("_factor must hold variances from 0 to 1 (it starts at 1), or their square roots")

    @property
    def _from_held(self) -> bool:
        return False

    def _target(self, y: Any) -> float:
        y = super()._target(y)
        return label(y) if self.task == "classification" else y

    def _forget(self, left: Mask) -> None:
        if not left.any():
            return
        self._mu[left] = 0.0
        if self.matrix == "diagonal":
            self._factor[left] = 1.0
            return
        stay = ~left
        factor = np.eye(self.n_assets)
        factor[np.ix_(stay, stay)] = np.linalg.qr(self._factor[stay].T).R.T
        self._factor = factor

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        z = x
        if free is not None:
            z = np.zeros(self.n_assets)
            z[free] = x
        prediction = float(self._mu.dot(z))
        if self.task == "regression":
            step = y - prediction
            loss = 0.5 * step * step
        else:
            loss = max(1.0 - y * prediction, 0.0)
            step = y * loss
        root = z if self.matrix == "diagonal" else z @ self._factor
        spread = self._factor * z if self.matrix == "diagonal" else self._factor @ root  # Sigma z
        variance = float(root.dot(spread if self.matrix == "diagonal" else root))
        if loss > 0.0 or self.task == "regression":
            beta = 1.0 / (variance + self.r)
            self._mu = moved(self._mu, beta * step, spread)
            if self.matrix == "diagonal":
                self._factor = self._factor * np.maximum(1.0 - beta * (spread * z), 0.0)
            else:
                _subtract_outer(self._factor, (beta / (1.0 + math.sqrt(self.r * beta))) * spread, root)
            w = W.project(self._mu if free is None else self._mu[free])
        self._loss, self._prediction, self._variance = loss, prediction, variance
        return w

    @property
    def mean(self) -> Array:
        r"""The mean :math:`\mu` itself, shape (N,), a copy."""
        return self._mu.copy()

    @property
    def variances(self) -> Array:
        r"""Diagonal of :math:`\Sigma`, shape (N,)."""
        return self._factor.copy() if self.matrix == "diagonal" else np.asarray((self._factor**2).sum(axis=1))

    def diagnostics(self) -> dict[str, float]:
        r"""Return loss, prediction :math:`\mu \cdot x` and its variance :math:`x^\top \Sigma x`, of the last round."""
        return {"loss": self._loss, "prediction": self._prediction, "variance": self._variance}


def _subtract_outer(A: Array, a: Array, b: Array) -> None:
    """Subtract a b' from A, in place: some rows at a time, so that the product never exists as a whole."""
    rows = max(1, BLOCK // b.shape[0])
    for i in range(0, a.shape[0], rows):
        A[i : i + rows] -= np.outer(a[i : i + rows], b)
