"""Multiplicative passive-aggressive updates on the simplex."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracker_strategies._checks import number, one_of
from tracker_strategies.algorithms._validation import Array, Mask, label
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.passive_aggressive.pa import ZERO_NORM2
from tracker_strategies.algorithms.passive_aggressive.tasks import TASKS, discrepancy
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, Simplex
from tracker_strategies.errors import ParameterError

SEED = 0.01
"""Share of an equal weight that an asset at weight zero gets when it first takes part: zero times anything is zero."""


@learner(
    "multiplicative-pa",
    shows=("loss", "tau"),
    examples=lambda n: (
        {},
        {"task": "classification", "eps": -0.01},
        {"task": "uniclass", "scale": "inf", "eps": 0.1},
    ),
)
class MultiplicativePA(OnlineAlgorithm):
    r"""Passive-aggressive learning by factors instead of sums: slow, smooth, and always inside the simplex.

    With discrepancy :math:`\delta`, direction v and loss :math:`\ell = [\delta - \varepsilon]_+` of the task
    (:func:`~tracker_strategies.algorithms.passive_aggressive.tasks.discrepancy`)

    .. math:: w_{t+1,j} \propto w_{t,j} \exp(\tau_t v_j)

    and :math:`\tau = 4\ell/R^2` with the range :math:`R = \max_j v_j - \min_j v_j` (scale "range"), or, scale "inf",
    :math:`4\ell/\|x\|_\infty^2` for regression and classification of instances x >= 0 and :math:`\ell/(8\|v\|_\infty^2)` for
    uniclass.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    eps : float, default 1e-4
        Insensitivity: for regression a return, >= 0; for uniclass a radius, >= 0; for classification minus the margin.
    task : {"regression", "classification", "uniclass"}, default "regression"
    scale : {"range", "inf"}, default "range"
        "inf" is the paper's and needs instances >= 0. Returns have signs: only their range matters, as a constant in v cancels.
    start : array_like, shape (N,), optional
        :math:`w_1` on the simplex, all entries > 0; uniform by default.

    Notes
    -----
    Cost per round: O(N). The loss on the example falls, but not to zero. A weight of zero, for example of a new name, would
    always stay zero: before an active round it is raised to 1 % of an equal weight. R = 0 is passive.

    References
    ----------
    Crammer, Dekel, Shalev-Shwartz, Singer, *Online passive-aggressive algorithms*, NIPS 2003: sec. 6, losses bounded by
    Theorem 4; with the range in place of the norm the same bound follows from Hoeffding's lemma for instances of any sign.

    Examples
    --------
    >>> from tracker_strategies.algorithms import MultiplicativePA, learner
    >>> learner = MultiplicativePA(2, eps=0.0)
    >>> learner.update([0.02, -0.01], 0.02).round(6).tolist()
    [0.880797, 0.119203]
    """

    _state = ("_loss", "_tau")

    def __init__(
        self, n_assets: int, *, eps: float = 1e-4, task: str = "regression", scale: str = "range", start: Any = None
    ) -> None:
        super().__init__(n_assets, feasible=Simplex(), start=start)
        self.task, self.scale = one_of("task", task, TASKS), one_of("scale", scale, ("range", "inf"))
        if not (self._w > 0.0).all():
            raise ParameterError(
                f"start must be positive everywhere, got {float(self._w.min())} at position {int(self._w.argmin())}"
            )
        self.eps = number("eps", eps) if task == "classification" else number("eps", eps, least=0.0)
        self._loss = self._tau = 0.0

    def _target(self, y: Any) -> float:
        return label(super()._target(y)) if self.task == "classification" else super()._target(y)

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        delta, v, _ = discrepancy(self.task, w, x, y)
        loss = max(delta - self.eps, 0.0)
        if self.scale == "range":
            size, factor = float(v.max() - v.min()), 4.0
        else:
            size, factor = float(np.abs(v).max()), (0.125 if self.task == "uniclass" else 4.0)
        tau = factor * loss / size**2 if size * size > ZERO_NORM2 else 0.0
        if tau > 0.0 and w.any():  # else those that cannot move hold everything
            raw = v - float(v.max())
            raw *= tau
            np.exp(raw, raw)
            raw *= self._seeded(w)
            raw *= float(w.sum()) / float(raw.sum())  # all of it on the best asset should every factor but its own underflow
            w = raw
        self._loss, self._tau = loss, tau
        return w

    @staticmethod
    def _seeded(w: Array) -> Array:
        total = float(w.sum())
        return np.maximum(w, SEED * total / w.shape[0]) if not w.all() else w

    def diagnostics(self) -> dict[str, float]:
        """Return loss and tau of the last round (0 before the first), and eps."""
        return {"loss": self._loss, "tau": self._tau, "eps": self.eps}


def kl_divergence(p: Array, q: Array) -> float:
    r"""Return :math:`\sum_j p_j \ln(p_j/q_j)`, the distance in which Theorem 4 measures; 0 ln 0 = 0.

    >>> import numpy as np
    >>> from tracker_strategies.algorithms.passive_aggressive.multiplicative import kl_divergence
    >>> round(kl_divergence(np.array([0.5, 0.5]), np.array([0.25, 0.75])), 6)
    0.143841
    """
    held = p > 0.0
    return math.fsum(p[held] * np.log(p[held] / q[held]))
