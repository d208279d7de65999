"""Passive-aggressive regression with side information."""

from __future__ import annotations

import math
from typing import Any

from tracker_strategies._checks import number
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.thresholds import moved
from tracker_strategies.algorithms.passive_aggressive._base import SideInformed
from tracker_strategies.algorithms.passive_aggressive.pa import ZERO_NORM2
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import CappedSimplex, FeasibleSet, L1Ball, Simplex
from tracker_strategies.algorithms.side.base import SideInformation
from tracker_strategies.algorithms.side.costs import SwitchingCost
from tracker_strategies.algorithms.side.smooth import NegativeLogReturn, Quadratic


@learner(
    "pas",
    shows=("loss", "tau"),
    examples=lambda n: (
        {},
        {"side": Quadratic(1.0), "variant": "PA-I", "feasible": CappedSimplex(max(0.6, 1.0 / n))},
        {"side": SwitchingCost(0.01), "feasible": L1Ball(1.5)},
    ),
)
class PAS(SideInformed):
    r"""Passive-aggressive regression with side information and a fixed threshold.

    A passive-aggressive step without constraints, then a proximal step on the side information :math:`h_t`, in every round:

    .. math::

        \hat w = w_t + \tau_t\, \mathrm{sgn}(y_t - w_t \cdot x_t)\, x_t, \qquad
        w_{t+1} = \arg\min_{w \in W} h_t(w) + \frac{1}{2\lambda} \|w - \hat w\|^2

    with :math:`\tau_t = \ell_t/\|x_t\|^2` for the loss :math:`\ell_t = [\,|y_t - w_t \cdot x_t| - \varepsilon\,]_+` (PA; see
    :class:`PA` for PA-I and PA-II). A constant :math:`h_t` makes it PA; a small :math:`\lambda` nearly so.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    side : SideInformation, default NegativeLogReturn()
        :math:`h_t`: a term or a sum of terms.
    lam : float, optional
        Trade-off :math:`\lambda > 0` between tracking and side information; by default 1/n for the n assets of the round.
    eps : float, default 1e-4
        Half-width of the tube without loss, >= 0, in units of returns.
    variant : {"PA", "PA-I", "PA-II"}, default "PA"
        How far the passive-aggressive step may go.
    C : float, optional
        Aggressiveness of PA-I (default 0.03) and PA-II (default 100).
    scale : {None, "auto"}, default None
        "auto" multiplies `eps` by the running volatility of the returns over that of daily stock returns (0.02): the same
        parameters then fit weekly and intraday data. Causal: no round later than t enters.
    feasible : FeasibleSet, default Simplex()
        The set W.
    start : array_like, shape (N,), optional
        :math:`w_1`; uniform on the simplex by default.

    Notes
    -----
    Cost per round: O(N) and one proximal step, about two projections for the log return. State: the weights.

    References
    ----------
    Shi, Ying, Palomar, *Adaptive passive-aggressive framework with side information*, NeurIPS 2024: Eq. 2, 3 and 5.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAS, learner
    >>> learner = PAS(2, lam=0.5, eps=0.0)
    >>> learner.update([0.02, -0.01], 0.005).round(6).tolist()  # on target: only the log return pulls
    [0.507461, 0.492539]
    """

    def __init__(
        self,
        n_assets: int,
        *,
        side: SideInformation = NegativeLogReturn(),  # noqa: B008 (immutable)
        lam: float | None = None,
        eps: float = 1e-4,
        variant: str = "PA",
        C: float | None = None,
        scale: str | None = None,
        feasible: FeasibleSet = Simplex(),  # noqa: B008 (immutable)
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, side, lam, variant, C, scale, feasible, start)
        self.eps = number("eps", eps, least=0.0)

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        side, at = self._priced(x, w, xx, free)
        unit, variance, seen = self._volatility(x, xx)
        prediction = float(w.dot(x))
        error = y - prediction
        loss = max(abs(error) - unit * self.eps, 0.0)
        tau = min(self._cap, loss / (xx + self._gamma)) if xx > ZERO_NORM2 else 0.0
        w_hat = moved(w, math.copysign(tau, error), x) if tau > 0.0 else w
        w_next = side.prox(w_hat, self.lam or 1.0 / w.shape[0], W, at)
        self._loss, self._tau, self._prediction, self._variance, self._seen = loss, tau, prediction, variance, seen
        return w_next

    def diagnostics(self) -> dict[str, float]:
        """Return loss, tau and prediction of the last round (0 before the first), and eps."""
        return {"loss": self._loss, "tau": self._tau, "prediction": self._prediction, "eps": self.eps}
