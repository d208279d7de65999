"""Adaptive passive-aggressive regression with side information."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tracker_strategies._checks import number, one_of
from tracker_strategies.algorithms._kinds import Kinds, real
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.thresholds import moved
from tracker_strategies.algorithms.passive_aggressive._base import SideInformed
from tracker_strategies.algorithms.passive_aggressive.pa import ZERO_NORM2
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, Hyperplane, Simplex
from tracker_strategies.algorithms.side.base import SideInformation
from tracker_strategies.algorithms.side.costs import SwitchingCost
from tracker_strategies.algorithms.side.smooth import NegativeLogReturn
from tracker_strategies.errors import ParameterError


@learner(
    "apas",
    shows=("eps", "loss", "tau"),
    examples=lambda n: (
        {"lam": 0.05},
        {"variant": "PA-II", "scale": "auto", "lam": 0.01},
        {"side": SwitchingCost(0.02, against="drifted"), "lam": 0.01},
        {"feasible": Hyperplane()},
    ),
)
class APAS(SideInformed):
    r"""PAS with a threshold that is learned, too.

    The round of :class:`PAS` with the threshold :math:`\varepsilon_t` gives :math:`w_{t+1}`. Its optimal value, the Moreau
    envelope :math:`f_t(\varepsilon)` of the side information at :math:`\hat w(\varepsilon)`, is then the loss of the threshold,
    which takes a gradient step. With :math:`e = |w_t \cdot x_t - y_t|` and :math:`\zeta = \min(\max(e, \nu), D)`

    .. math::

        \varepsilon_{t+1} = \Pi_{[\nu, D]}(\varepsilon_t - \eta_t \tilde g_t), \qquad
        \eta_t = \frac{\zeta \sqrt{D}}{G \sqrt{\nu t}}, \qquad
        g_t = \frac{\hat w - w_{t+1}}{\lambda} \cdot \frac{\partial \hat w}{\partial \varepsilon}

    and :math:`\tilde g_t = g_t` where :math:`\varepsilon_t < \zeta`; :math:`\max(0, g_t)`, the left derivative at the edge of the
    plateau, where :math:`\varepsilon_t \ge \zeta`; 0 where :math:`e < \nu`. PA-I, where its cap binds, has derivative 0.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    side : SideInformation, default NegativeLogReturn()
        :math:`h_t`: a term or a sum of terms.
    lam : float, optional
        Trade-off :math:`\lambda > 0`; by default 1/n for the n assets of the round. 0.05 to 0.1 tilt 100 assets visibly.
    nu, D : float, default 1e-4 and 1e-3
        Domain of the threshold, 0 < nu < D, in units of returns. D is the largest threshold you accept: eps drifts towards it.
    eps : float, default 5e-4
        First threshold :math:`\varepsilon_1` in [nu, D].
    G : float, default 1
        Bound of the derivatives, > 0.
    G_mode : {"running_max", "fixed"}, default "running_max"
        Whether G grows to the largest :math:`|\tilde g|` seen so far, this round included, or is known.
    variant : {"PA", "PA-I", "PA-II"}, default "PA"
        How far the passive-aggressive step may go.
    C : float, optional
        Aggressiveness of PA-I (default 0.03) and PA-II (default 100).
    scale : {None, "auto"}, default None
        "auto" multiplies the thresholds (nu, D and eps) by the running volatility of the returns over that of daily stock returns
        (0.02): the same parameters then fit weekly and intraday data. Causal: no round later than t enters.
    feasible : FeasibleSet, default Simplex()
        The set W.
    start : array_like, shape (N,), optional
        :math:`w_1`; uniform on the simplex by default.

    Notes
    -----
    Cost per round: O(N) and one proximal step; with the log return on the simplex less than four projections in all.
    State: weights, threshold, G and t.

    Theorem 2 of the paper, a regret of :math:`2 \sqrt{D^3 G^2 T/\nu}` for the thresholds, is false as printed: its proof needs
    :math:`\eta_t` that do not increase. It holds then, for instance when all errors are at least D.

    References
    ----------
    Shi, Ying, Palomar, *Adaptive passive-aggressive framework with side information*, NeurIPS 2024: Algorithm 1, step Eq. 7,
    derivative Eq. 8 to 10, regret Eq. 12. With PA-II the derivative of :math:`\hat w` carries 1/(2C).

    Examples
    --------
    >>> from tracker_strategies.algorithms import APAS, learner
    >>> learner = APAS(2, lam=0.5)
    >>> learner.update([0.02, -0.01], 0.02).round(6).tolist()
    [0.942365, 0.057635]
    >>> round(learner.diagnostics()["eps"], 6)
    0.001
    """

    _state = (*SideInformed._state, "_eps", "_G", "_zeta", "_eta", "_g", "_g_tilde")
    _kinds: ClassVar[Kinds] = {
        "_G": real(above=0.0),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        side: SideInformation = NegativeLogReturn(),  # noqa: B008 (immutable)
        lam: float | None = None,
        nu: float = 1e-4,
        D: float = 1e-3,
        eps: float = 5e-4,
        G: float = 1.0,
        G_mode: str = "running_max",
        variant: str = "PA",
        C: float | None = None,
        scale: str | None = None,
        feasible: FeasibleSet = Simplex(),  # noqa: B008 (immutable)
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, side, lam, variant, C, scale, feasible, start)
        self.nu = number("nu", nu, above=0.0)
        self.D = number("D", D, above=self.nu)
        self.eps = number("eps", eps, above=0.0)
        if not self.nu <= self.eps <= self.D:
            raise ParameterError(f"eps must lie in its domain [nu, D] = [{self.nu:g}, {self.D:g}], got {eps!r}")
        self.G = number("G", G, above=0.0)
        self.G_mode = one_of("G_mode", G_mode, ("running_max", "fixed"))
        self._eps, self._G = self.eps, self.G
        self._zeta = self._eta = self._g = self._g_tilde = 0.0

    def _sound(self) -> None:
        super()._sound()
        if not self.nu <= self._eps <= self.D:
            raise ParameterError(f"_eps must lie in its domain [nu, D] = [{self.nu:g}, {self.D:g}], got {self._eps!r}")

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        side, at = self._priced(x, w, xx, free)
        unit, variance, seen = self._volatility(x, xx)
        eps, nu, D = unit * self._eps, unit * self.nu, unit * self.D
        lam = self.lam or 1.0 / w.shape[0]

        prediction = float(w.dot(x))
        error = y - prediction
        e = abs(error)
        loss = max(e - eps, 0.0)
        informative = xx > ZERO_NORM2
        tau = min(self._cap, loss / (xx + self._gamma)) if informative else 0.0
        w_hat = moved(w, math.copysign(tau, error), x) if tau > 0.0 else w
        w_next = side.prox(w_hat, lam, W, at)

        # d w_hat/d eps = -sgn(y - w.x) x/den to the left of e, also seen from the plateau; 0 where the cap of PA-I binds.
        g = 0.0
        if informative and error != 0.0 and tau < self._cap:
            g = -math.copysign(1.0, error) * float((w_hat - w_next).dot(x)) / (lam * (xx + self._gamma))
        zeta = min(max(e, nu), D)
        if e < nu:
            g_tilde = 0.0
        elif eps < zeta:
            g_tilde = g
        else:
            g_tilde = max(0.0, g)
        G = max(self._G, abs(g_tilde)) if self.G_mode == "running_max" else self._G
        eta = zeta * math.sqrt(D) / (G * math.sqrt(nu * (self._t + 1)))
        eps = min(max(eps - eta * g_tilde, nu), D)

        self._loss, self._tau, self._prediction, self._variance, self._seen = loss, tau, prediction, variance, seen
        self._eps, self._G = min(max(eps / unit, self.nu), self.D), G
        self._zeta, self._eta, self._g, self._g_tilde = zeta, eta, g, g_tilde
        return w_next

    def diagnostics(self) -> dict[str, float]:
        """Return the next threshold and G; of the last round loss, tau, prediction, zeta, eta, g and g_tilde."""
        return {
            "eps": self._eps,
            "loss": self._loss,
            "tau": self._tau,
            "prediction": self._prediction,
            "G": self._G,
            "zeta": self._zeta,
            "eta": self._eta,
            "g": self._g,
            "g_tilde": self._g_tilde,
        }
