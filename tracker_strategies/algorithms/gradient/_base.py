"""What AdaGrad, OGD, FOBOS and RDA share: a loss, its gradient, and a composite step in a metric that each of them chooses."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import number, one_of
from tracker_strategies.algorithms._kinds import Kinds, real
from tracker_strategies.algorithms._validation import Array, Mask, label
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.gradient._diagonal_metric import DiagonalMetric
from tracker_strategies.algorithms.gradient._full_metric import FullMetric
from tracker_strategies.algorithms.gradient._regularisers import Regulariser
from tracker_strategies.algorithms.sets.feasible import FeasibleSet
from tracker_strategies.errors import InputError

LOSSES = ("squared", "eps_insensitive", "hinge")


def check_loss(loss: Any) -> str:
    """Return the name of a loss."""
    return one_of("loss", loss, LOSSES)


def loss_and_slope(loss: str, prediction: float, y: float, eps: float) -> tuple[float, float]:
    r"""Return the loss of a prediction and its derivative; at a kink the derivative is 0, so that a tie is passive.

    ==================  ==========================  ====================================
    loss                value                       derivative
    ==================  ==========================  ====================================
    squared             (p - y)^2 / 2               p - y
    eps_insensitive     max(abs(p - y) - eps, 0)    sgn(p - y) where the loss is > 0
    hinge, y = +-1      max(1 - y p, 0)             -y where the loss is > 0
    ==================  ==========================  ====================================

    >>> from tracker_strategies.algorithms.gradient._base import loss_and_slope
    >>> loss_and_slope("squared", 0.5, 0.25, 0.0)
    (0.03125, 0.25)
    >>> loss_and_slope("eps_insensitive", 0.5, 0.25, 0.25)
    (0.0, 0.0)
    """
    if loss == "squared":
        error = prediction - y
        return 0.5 * error * error, error
    if loss == "hinge":
        missing = 1.0 - y * prediction
        return (missing, -y) if missing > 0.0 else (0.0, 0.0)
    error = prediction - y
    beyond = abs(error) - eps
    return (beyond, math.copysign(1.0, error)) if beyond > 0.0 else (0.0, 0.0)


MAX_GRADIENT2 = 1e250
"""Gradients with a larger squared norm are refused: sums of their squares would overflow."""


class GradientLearner(OnlineAlgorithm):
    r"""Composite gradient steps in a metric :math:`H_t`, in one of two forms.

    .. math::

        \text{cmd: } & w_{t+1} = \arg\min_{w \in W}\; \eta\, g_t \cdot w + \eta\, \varphi(w)
            + \tfrac12 (w - w_t)^\top H_t (w - w_t) \\
        \text{rda: } & w_{t+1} = \arg\min_{w \in W}\; \eta \sum_{s \le t} g_s \cdot w + \eta\, t\, \varphi(w)
            + \tfrac12 w^\top H_t w

    :math:`g_t` is a subgradient of the loss at :math:`w_t`. A subclass sets :math:`H_t` in :meth:`_advance`, then calls
    :meth:`_move`.
    """

    _state: ClassVar[tuple[str, ...]] = ("_loss", "_prediction", "_sum_g")
    _kinds: ClassVar[Kinds] = {
        "_sum_g": real("n", none=True),
    }

    _rule = "cmd"
    _rounding2 = 0.0
    """Errors of the squared loss up to the root of this times ||x|| are rounding and no gradient."""

    def __init__(
        self,
        n_assets: int,
        loss: Any,
        eps: Any,
        eta: Any,
        feasible: FeasibleSet,
        start: Any,
        regulariser: Any = "none",
        lam: Any = None,
        groups: Any = None,
    ) -> None:
        super().__init__(n_assets, feasible=feasible, start=start)
        self.loss = check_loss(loss)
        self.eps = number("eps", eps, least=0.0)
        self.eta = number("eta", eta, above=0.0)
        self._phi = Regulariser(regulariser, lam, groups, self.n_assets)
        self.regulariser = self._phi.name
        self.lam = None if lam is None else self._phi.lam
        self.groups = None if groups is None else [list(group) for group in self._phi.groups]
        self._loss = self._prediction = 0.0
        self._sum_g: Array | None = np.zeros(self.n_assets) if self._rule == "rda" else None

    @property
    def _from_held(self) -> bool:
        return self._rule == "cmd"

    def _target(self, y: Any) -> float:
        y = super()._target(y)
        return label(y) if self.loss == "hinge" else y

    def _may_refuse(self, masked: bool) -> bool:
        return super()._may_refuse(masked) or not self.feasible.portfolio  # whose predictions, so gradients, have no bound

    def _forget(self, left: Mask) -> None:
        if self._sum_g is not None:
            self._sum_g[left] = 0.0

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        prediction = float(w.dot(x))
        loss, slope = loss_and_slope(self.loss, prediction, y, self.eps)
        if self.loss == "squared" and slope * slope <= self._rounding2 * xx:
            slope = 0.0
        if not slope * slope * xx <= MAX_GRADIENT2:
            raise InputError(
                f"the gradient of the {self.loss} loss is too large to be squared: prediction {prediction:g}, y={y:g}"
            )
        if not self._rests(slope, xx, W):
            w = self._advance(w, slope * x, W, free)
        self._loss, self._prediction = loss, prediction
        return w

    def _rests(self, slope: float, xx: float, W: FeasibleSet) -> bool:
        """Return whether the step is known to lead nowhere: spared, and no rounding is traded."""
        still = W.portfolio and (self._phi.name in ("none", "l1") or self._phi.lam == 0.0)
        return still and self._rule == "cmd" and (slope == 0.0 or xx == 0.0)

    @abstractmethod
    def _advance(self, w: Array, g: Array, W: FeasibleSet, free: Mask | None) -> Array:
        """Return the next weights of the coordinates that take part, given their gradient."""

    def _move(self, metric: DiagonalMetric | FullMetric, w: Array, g: Array, W: FeasibleSet, free: Mask | None) -> Array:
        """Return the solution of the step in a metric."""
        phi = self._phi if free is None else self._phi.slice(free)
        k = self.eta * phi.lam
        if self._sum_g is None:
            y = metric.divide(g)
            y *= self.eta
            return metric.step(np.subtract(w, y, y), k, phi, W)
        total = (self._sum_g if free is None else self._sum_g[free]) + g
        y = self.eta * total
        if metric.coupling is not None:
            y += metric.coupling
        y = metric.divide(y)
        new = metric.step(np.negative(y, y), k * (self._t + 1), phi, W)
        if free is None:
            self._sum_g = total
        else:
            self._sum_g[free] = total
        return new

    def diagnostics(self) -> dict[str, float]:
        """Return loss and prediction w.x of the last round (0 before the first)."""
        return {"loss": self._loss, "prediction": self._prediction}
