"""Passive-aggressive regression on several targets at once: one portfolio, several indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies._checks import count, number, one_of
from tracker_strategies.algorithms._validation import Array, Mask, finite_vector, target_weights
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.numerics.kinks import Kinks
from tracker_strategies.algorithms.passive_aggressive.pa import ZERO_NORM2, aggressiveness
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, Simplex
from tracker_strategies.errors import ParameterError


@learner("multi-index", shows=("loss", "tau"))
class MultiTargetPA(OnlineAlgorithm):
    r"""One portfolio that stays within the tubes of q targets, as far as that is possible.

    The return :math:`p = w \cdot x` meets all targets: :math:`L(p) = \sum_j \omega_j [\,|p - y_j| - \varepsilon_j\,]_+`.
    All q constraints have the normal :math:`x_t`, so the joint step is one along it to the return p that solves, exactly,

    .. math::

        \text{PA: the p nearest to } p_t \text{ with the least } L(p); \qquad
        \text{PA-I: } \min_p \frac{(p - p_t)^2}{2\|x\|^2} + C L(p); \qquad
        \text{PA-II: } \min_p \frac{(p - p_t)^2}{2\|x\|^2} + C \sum_j \omega_j \ell_j(p)^2

    and :math:`w_{t+1} = P_W(w_t + (p - p_t)\, x_t/\|x_t\|^2)`. Tubes that overlap are all entered; between targets that
    contradict each other the weighted median decides. One target gives :class:`PA`.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    n_targets : int, default 1
        Number of targets q; `update` takes y of shape (q,), in this order.
    eps : float or array_like, shape (q,), default 1e-4
        Half-widths of the tubes, >= 0, in units of returns.
    omega : array_like, shape (q,), optional
        Weights of the targets, > 0; scaled to sum 1, equal by default.
    rule : {"tubes", "composite"}, default "tubes"
        "composite" follows the one target :math:`\sum_j \omega_j y_j` with the threshold :math:`\sum_j \omega_j \varepsilon_j`.
    variant : {"PA", "PA-I", "PA-II"}, default "PA"
    C : float, optional
        Aggressiveness of PA-I (default 0.03) and PA-II (default 100), > 0.
    feasible : FeasibleSet, default Simplex()
        The set W.
    start : array_like, shape (N,), optional
        :math:`w_1`; uniform on the simplex by default.

    Notes
    -----
    Cost per round: O(N + q log q) and the projection. State: the weights.

    Examples
    --------
    >>> from tracker_strategies.algorithms import MultiTargetPA, learner
    >>> from tracker_strategies.algorithms import RealSpace
    >>> learner = MultiTargetPA(2, n_targets=2, eps=0.002, feasible=RealSpace(), start=[0.5, 0.5])
    >>> w = learner.update([0.02, -0.01], [0.010, 0.012])  # 0.010 is the nearest return inside both tubes
    >>> round(learner.predict([0.02, -0.01]), 6)
    0.01
    """

    _state = ("_loss", "_tau", "_prediction")

    def __init__(
        self,
        n_assets: int,
        *,
        n_targets: int = 1,
        eps: Any = 1e-4,
        omega: Any = None,
        rule: str = "tubes",
        variant: str = "PA",
        C: float | None = None,
        feasible: FeasibleSet = Simplex(),  # noqa: B008 (immutable)
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, feasible=feasible, start=start)
        q = self.n_targets = count("n_targets", n_targets)
        widths = np.full(q, number("eps", eps, least=0.0)) if np.ndim(eps) == 0 else finite_vector("eps", eps, ParameterError, q)
        weights = target_weights(omega, q)
        if (widths < 0.0).any():
            raise ParameterError(f"eps must be >= 0 for every target, got {eps!r}")
        one_of("rule", rule, ("tubes", "composite"))
        self.eps, self.omega, self.rule = widths.tolist(), weights.tolist(), rule
        self.C, *_ = aggressiveness(variant, C)
        self.variant = variant
        self._widths: Array = widths if rule == "tubes" else np.array([float(weights.dot(widths))])
        self._weights: Array = weights if rule == "tubes" else np.ones(1)
        self._loss = self._tau = self._prediction = 0.0

    def _target(self, y: Any) -> Any:
        y = np.reshape(y, -1) if self.n_targets == 1 and np.size(y) == 1 else y
        target = self._targets(y, self.n_targets)
        return target if self.rule == "tubes" else np.array([target.dot(self.omega)])

    def _learn(self, w: Array, x: Array, y: Any, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        prediction = float(w.dot(x))
        losses = np.maximum(np.abs(prediction - y) - self._widths, 0.0)
        tau = 0.0
        if xx > ZERO_NORM2 and losses.any():
            tau = (self._aim(prediction, y, xx) - prediction) / xx
            if tau != 0.0:
                w = W.step(w, tau, x)
        self._loss, self._tau, self._prediction = float(losses.dot(self._weights)), abs(tau), prediction
        return w

    def _aim(self, p: float, y: Array, xx: float) -> float:
        """Return the return to go to from p, before the projection."""
        lo, hi = y - self._widths, y + self._widths
        if self.variant == "PA-II":
            return _soft_aim(p, lo, hi, self._weights, 2.0 * float(self.C or 0.0) * xx)
        # [|p - y| - eps]_+ = (|p - lo| + |p - hi|)/2 - eps: a sum of kinks
        ends, half = np.concatenate((lo, hi)), 0.5 * np.concatenate((self._weights, self._weights))
        if self.variant == "PA-I":
            return float(Kinks(ends[:, None], float(self.C or 0.0) * xx * half[:, None]).shrink(np.array([p]))[0])
        order = np.argsort(ends, kind="stable")
        mass = np.cumsum(half[order])
        first = int(np.searchsorted(mass, 0.5 - 1e-12))
        last = first + 1 if abs(float(mass[first]) - 0.5) <= 1e-12 else first  # half the mass: the minimum is an interval
        return min(max(p, float(ends[order[first]])), float(ends[order[last]]))

    def diagnostics(self) -> dict[str, float]:
        """Return the weighted loss, tau and prediction of the last round (0 before the first)."""
        return {"loss": self._loss, "tau": self._tau, "prediction": self._prediction}


def _soft_aim(p: float, lo: Array, hi: Array, omega: Array, k: float) -> float:
    """Return the root a of (a - p) + k (sum omega [a - hi]_+ - sum omega [lo - a]_+): increasing, piecewise linear."""
    ends = np.sort(np.concatenate((lo, hi)))

    def slope(a: float) -> float:
        return a - p + k * float(omega.dot(np.maximum(a - hi, 0.0) - np.maximum(lo - a, 0.0)))

    signs = np.array([slope(float(a)) for a in ends])
    if signs[0] >= 0.0:
        a = float(ends[0])  # the piece below all ends: every target lies above
        return (p + k * float(omega.dot(lo))) / (1.0 + k * float(omega.sum())) if signs[0] > 0.0 else a
    if signs[-1] <= 0.0:
        return (p + k * float(omega.dot(hi))) / (1.0 + k * float(omega.sum()))
    i = int(np.searchsorted(signs, 0.0))
    left, right = float(ends[i - 1]), float(ends[i])
    middle = 0.5 * (left + right)
    above, below = middle > hi, middle < lo
    pull = float(omega[above].dot(hi[above]) + omega[below].dot(lo[below]))
    a = (p + k * pull) / (1.0 + k * float(omega[above].sum() + omega[below].sum()))
    return min(max(a, left), right)
