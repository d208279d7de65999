"""Passive-aggressive regression."""

from __future__ import annotations

import math
from typing import Any

from scipy.linalg.blas import ddot

from tracker_strategies._checks import number, one_of
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import Box, CappedSimplex, FeasibleSet, Hyperplane, L1Ball, RealSpace, Simplex
from tracker_strategies.errors import ParameterError

DEFAULT_C = {"PA": None, "PA-I": 3e-2, "PA-II": 100.0}
ZERO_NORM2 = 1e-40
"""A round in which ||x||^2 is not above this tells nothing about the weights: the step l/||x|| has no meaning."""


def aggressiveness(variant: Any, C: Any) -> tuple[float | None, float, float]:
    """Return C of a variant, its default unless given and None for PA; the cap on tau; and what is added to its denominator."""
    one_of("variant", variant, DEFAULT_C)
    if variant == "PA" and C is not None:
        raise ParameterError(f"C={C!r} has no meaning for variant 'PA'; choose 'PA-I' or 'PA-II', or remove C")
    C = DEFAULT_C[variant] if C is None else number("C", C, above=0.0)
    return C, C if variant == "PA-I" else math.inf, 1.0 / (2.0 * C) if variant == "PA-II" else 0.0


@learner(
    "pa",
    shows=("loss", "tau"),
    examples=lambda n: (
        {},
        {"variant": "PA-I", "eps": 0.0},
        {"variant": "PA-II"},
        {"feasible": CappedSimplex(max(0.6, 1.0 / n))},
        {"feasible": RealSpace()},
        {"feasible": L1Ball(1.5)},
        {"feasible": Hyperplane()},
        {"feasible": Box(-0.1, 0.6)},
    ),
)
class PA(OnlineAlgorithm):
    r"""Passive-aggressive regression with lazy projection.

    Keep the weights while the error of the round is within `eps`; otherwise change them by as little as possible to bring it
    within `eps`, then project on W:

    .. math::

        \ell_t = [\,|y_t - w_t \cdot x_t| - \varepsilon\,]_+, \qquad
        w_{t+1} = P_W\big(w_t + \tau_t\, \mathrm{sgn}(y_t - w_t \cdot x_t)\, x_t\big)

    with :math:`\tau_t = \ell_t/\|x_t\|^2` (PA), :math:`\min(C, \ell_t/\|x_t\|^2)` (PA-I) or
    :math:`\ell_t/(\|x_t\|^2 + 1/(2C))` (PA-II).
    An error of exactly `eps`, and a round with :math:`x_t = 0`, leave the weights alone.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    eps : float, default 1e-4
        Half-width of the tube without loss, >= 0, in units of returns: 1e-4 is one basis point per round.
    variant : {"PA", "PA-I", "PA-II"}, default "PA"
        How far a step may go.
    C : float, optional
        Aggressiveness of PA-I (cap on tau, default 0.03) and PA-II (default 100), > 0; PA has none. Both defaults suit
        daily returns, where :math:`\|x\|^2` is 0.04 to 0.2.
    feasible : FeasibleSet, default Simplex()
        The set W.
    start : array_like, shape (N,), optional
        :math:`w_1`; uniform on the simplex by default, the point nearest to the origin on other sets.

    Notes
    -----
    Cost per round: O(N), three passes over the data and the projection. State: the weights.
    The projection may push the error out of the tube again; it is not iterated.

    References
    ----------
    Crammer, Dekel, Shalev-Shwartz, Singer, *Online passive-aggressive algorithms*, NIPS 2003: loss Eq. 1, update Eq. 6 as the
    solution of Eq. 5; sec. 5 relaxes it for data that no weights fit by a parameter :math:`\gamma`, which is PA-II with
    :math:`C = 1/(2\gamma)`; losses are bounded by Theorem 1 (Eq. 8), Lemma 2 and
    Theorem 3 (Eq. 19).
    Shi, Ying, Palomar, *Adaptive passive-aggressive framework with side information*, NeurIPS 2024: lazy projection, Lemma 7.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PA, learner
    >>> learner = PA(2, eps=0.0)
    >>> learner.update([0.02, -0.01], 0.02).round(6).tolist()  # the index moved like the first asset
    [0.95, 0.05]
    >>> {name: round(value, 6) for name, value in learner.diagnostics().items()}
    {'loss': 0.015, 'tau': 30.0, 'prediction': 0.005, 'eps': 0.0}
    """

    _state = ("_loss", "_tau", "_prediction")

    def __init__(
        self,
        n_assets: int,
        *,
        eps: float = 1e-4,
        variant: str = "PA",
        C: float | None = None,
        feasible: FeasibleSet = Simplex(),  # noqa: B008 (immutable)
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, feasible=feasible, start=start)
        self.eps = number("eps", eps, least=0.0)
        self.C, self._cap, self._gamma = aggressiveness(variant, C)
        self.variant = variant
        self._loss = self._tau = self._prediction = 0.0

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        prediction: float = ddot(w, x)
        error = y - prediction
        loss = max(abs(error) - self.eps, 0.0)
        denominator = xx + self._gamma
        tau = min(self._cap, loss / denominator) if denominator > ZERO_NORM2 else 0.0
        if tau > 0.0 and xx > ZERO_NORM2:
            w = W.step(w, math.copysign(tau, error), x)
        self._loss, self._tau, self._prediction = loss, tau, prediction
        return w

    @property
    def gamma(self) -> float:
        r"""The relaxation :math:`\gamma = 1/(2C)` of the unrealizable case: > 0 for PA-II, 0 for the others."""
        return self._gamma

    def diagnostics(self) -> dict[str, float]:
        """Return loss, tau and prediction of the last round (0 before the first), and eps."""
        return {"loss": self._loss, "tau": self._tau, "prediction": self._prediction, "eps": self.eps}
