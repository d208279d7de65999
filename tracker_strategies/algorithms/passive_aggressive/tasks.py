"""Passive-aggressive classification and uniclass prediction: the other two tasks of the unified algorithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracker_strategies._checks import number
from tracker_strategies.algorithms._validation import Array, Mask, label
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.passive_aggressive.pa import ZERO_NORM2, aggressiveness
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, RealSpace

TASKS = ("regression", "classification", "uniclass")


def discrepancy(task: str, w: Array, x: Array, y: float) -> tuple[float, Array, float]:
    r"""Return discrepancy :math:`\delta`, direction v (minus its gradient) and :math:`\|v\|^2` of a task at w.

    ================  =========================  ==============================
    task              :math:`\delta`             v
    ================  =========================  ==============================
    regression        abs(y - w.x)               sgn(y - w.x) x
    classification    -y (w.x), y = +-1          y x
    uniclass          norm(x - w)                (x - w)/norm(x - w)
    ================  =========================  ==============================

    The loss is :math:`[\delta - \varepsilon]_+`, with :math:`\varepsilon = -` margin for classification.

    References
    ----------
    Crammer, Dekel, Shalev-Shwartz, Singer, *Online passive-aggressive algorithms*, NIPS 2003: Table 1.
    """
    if task == "uniclass":
        v = x - w
        distance = math.sqrt(float(v.dot(v)))
        return (distance, v / distance, 1.0) if distance > 0.0 else (0.0, v, 0.0)
    prediction = float(w.dot(x))
    if task == "classification":
        return -y * prediction, y * x, float(x.dot(x))
    error = y - prediction
    return abs(error), math.copysign(1.0, error) * x, float(x.dot(x))


@learner(examples=lambda n: ({"variant": "PA-II", "C": 1.0},))
class PAClassifier(OnlineAlgorithm):
    r"""Passive-aggressive classification: predict sgn(w.x), demand a margin.

    .. math:: \ell_t = [\rho - y_t\, w_t \cdot x_t]_+, \qquad w_{t+1} = P_W(w_t + \tau_t\, y_t\, x_t)

    with :math:`\tau_t` from :math:`\ell_t` as in :class:`PA`. In the unified notation :math:`\varepsilon = -\rho`.

    Parameters
    ----------
    n_assets : int
        Number of features N.
    margin : float, default 1
        :math:`\rho`; 1 is the hinge loss.
    variant : {"PA", "PA-I", "PA-II"}, default "PA"
    C : float, optional
        Aggressiveness of PA-I and PA-II, > 0.
    feasible : FeasibleSet, default RealSpace()
        The set W.
    start : array_like, shape (N,), optional
        :math:`w_1`; zero by default.

    Notes
    -----
    Cost per round: O(N). A margin of exactly :math:`\rho` is passive.

    References
    ----------
    Crammer, Dekel, Shalev-Shwartz, Singer, *Online passive-aggressive algorithms*, NIPS 2003: loss Eq. 2, Table 1, Eq. 6;
    losses and mistakes are bounded by Theorem 1.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAClassifier, learner
    >>> learner = PAClassifier(2)
    >>> learner.update([1.0, 1.0], -1.0).tolist()
    [-0.5, -0.5]
    """

    _state = ("_loss", "_tau", "_prediction")

    def __init__(
        self,
        n_assets: int,
        *,
        margin: float = 1.0,
        variant: str = "PA",
        C: float | None = None,
        feasible: FeasibleSet = RealSpace(),  # noqa: B008 (immutable)
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, feasible=feasible, start=start)
        self.margin = number("margin", margin)
        self.C, self._cap, self._gamma = aggressiveness(variant, C)
        self.variant = variant
        self._loss = self._tau = self._prediction = 0.0

    def _target(self, y: Any) -> float:
        return label(super()._target(y))

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        prediction = float(w.dot(x))
        loss = max(self.margin - y * prediction, 0.0)
        denominator = xx + self._gamma
        tau = min(self._cap, loss / denominator) if denominator > ZERO_NORM2 else 0.0
        if tau > 0.0 and xx > ZERO_NORM2:
            w = W.step(w, tau * y, x)
        self._loss, self._tau, self._prediction = loss, tau, prediction
        return w

    def diagnostics(self) -> dict[str, float]:
        """Return loss, tau and prediction w.x of the last round (0 before the first)."""
        return {"loss": self._loss, "tau": self._tau, "prediction": self._prediction}


@learner(examples=lambda n: ({"eps": 0.01},))
class PAUniclass(OnlineAlgorithm):
    r"""Passive-aggressive uniclass prediction: a centre with all instances within a radius.

    .. math:: \ell_t = [\,\|x_t - w_t\| - \varepsilon\,]_+, \qquad
        w_{t+1} = P_W\Big(w_t + \ell_t \frac{x_t - w_t}{\|x_t - w_t\|}\Big)

    Parameters
    ----------
    n_assets : int
        Dimension N of the instances.
    eps : float, default 1
        Radius, >= 0.
    feasible : FeasibleSet, default RealSpace()
        The set W.
    start : array_like, shape (N,), optional
        :math:`w_1`; by default the first instance becomes the centre, and has no loss.

    Notes
    -----
    Cost per round: O(N). `y` plays no role (the paper sets it to 1).

    References
    ----------
    Crammer, Dekel, Shalev-Shwartz, Singer, *Online passive-aggressive algorithms*, NIPS 2003: loss Eq. 3, Table 1, Eq. 6.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAUniclass, learner
    >>> learner = PAUniclass(2, eps=1.0, start=[0.0, 0.0])
    >>> learner.update([3.0, 4.0]).round(6).tolist()  # just far enough for a distance of 1
    [2.4, 3.2]
    """

    _state = ("_loss", "_tau")

    def __init__(
        self,
        n_assets: int,
        *,
        eps: float = 1.0,
        feasible: FeasibleSet = RealSpace(),  # noqa: B008 (immutable)
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, feasible=feasible, start=start)
        self.eps = number("eps", eps, least=0.0)
        self._loss = self._tau = 0.0

    def update(self, x: Any, y: Any = 1.0, *, active: Any = None, observed: Any = None) -> Array:
        """Learn from one instance and return the next centre; see :meth:`OnlineAlgorithm.update`."""
        return super().update(x, y, active=active, observed=observed)

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        if self._t == 0 and self.start is None:
            return W.project(x)
        distance, v, _ = discrepancy("uniclass", w, x, y)
        tau = max(distance - self.eps, 0.0)
        if tau > 0.0:
            w = W.step(w, tau, v)
        self._loss = self._tau = tau
        return w

    def distance(self, x: Any) -> float:
        """Return the distance of an instance to the centre."""
        return float(np.linalg.norm(self._vector(x) - self._w))

    def diagnostics(self) -> dict[str, float]:
        """Return loss and tau of the last round (0 before the first), and eps."""
        return {"loss": self._loss, "tau": self._tau, "eps": self.eps}
