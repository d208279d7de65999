r"""OGD, FOBOS and RDA: AdaGrad's steps in a metric that depends on time only, :math:`H_t = \sqrt t\, I`.

References
----------
Zinkevich, *Online convex programming and generalized infinitesimal gradient ascent*, ICML 2003 (OGD).
Duchi, Singer, *Efficient online and batch learning using forward backward splitting*, JMLR 10, 2009 (FOBOS).
Xiao, *Dual averaging methods for regularized stochastic learning and online optimization*, JMLR 11, 2010 (RDA).
Duchi, Hazan, Singer, *Adaptive subgradient methods*, UCB/EECS-2010-24: sec. 1.4, Eq. 23.
"""

from __future__ import annotations

import math
from typing import Any

from tracker_strategies._checks import count, one_of
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.gradient._base import GradientLearner, check_loss
from tracker_strategies.algorithms.gradient._diagonal_metric import STEPS, DiagonalMetric, check_step
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, RealSpace, Simplex

SCHEDULES = ("sqrt", "constant", "linear")
EUCLIDEAN_STEPS = STEPS | {FeasibleSet: ("none", "l2sq")}
"""In the Euclidean metric any set will do, since each knows its own projection."""

TYPICAL_NORM2 = 2.5e-4
"""Squared daily return of an asset, about; ||x||^2 is N times this."""
TYPICAL_ERROR = 2e-3
"""Tracking error of a day before much is learnt, about."""


def default_eta(loss: Any, n_assets: Any) -> float:
    r"""Return the step size for daily returns: :math:`5/\|x\|^2`; for losses with slope +-1 an error's size times that."""
    per_norm2 = 5.0 / (TYPICAL_NORM2 * count("n_assets", n_assets))
    return {"squared": per_norm2, "eps_insensitive": TYPICAL_ERROR * per_norm2, "hinge": 1.0}[check_loss(loss)]


@learner(examples=lambda n: ({"eta": 50.0},))
class OGD(GradientLearner):
    r"""Online gradient descent, :math:`w_{t+1} = P_W(w_t - \eta_t g_t)`.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    loss : {"squared", "eps_insensitive", "hinge"}, default "squared"
        As in :class:`AdaGrad`.
    eps : float, default 1e-4
        Of the eps-insensitive loss.
    eta : float, optional
        > 0. By default 20000/N for the squared loss (5 over a typical :math:`\|x\|^2` of daily returns), 40/N for the
        eps-insensitive one, 1 for the hinge loss.
    schedule : {"sqrt", "constant", "linear"}, default "sqrt"
        :math:`\eta_t = \eta/\sqrt t`, :math:`\eta` or :math:`\eta/t`.
    feasible : FeasibleSet, default Simplex()
        The set W, any.
    start : array_like, shape (N,), optional
        :math:`w_1`; by default uniform on the simplex, the point of W nearest to 0 on other sets.

    Notes
    -----
    Cost per round: O(N) and the projection. State: the weights and the time.

    Examples
    --------
    >>> from tracker_strategies.algorithms import OGD
    >>> OGD(2, eta=100.0).update([0.02, -0.01], 0.02).round(4).tolist()
    [0.5225, 0.4775]
    """

    def __init__(
        self,
        n_assets: int,
        *,
        loss: str = "squared",
        eps: float = 1e-4,
        eta: float | None = None,
        schedule: str = "sqrt",
        feasible: FeasibleSet = Simplex(),  # noqa: B008 (immutable)
        start: Any = None,
    ) -> None:
        self.schedule = one_of("schedule", schedule, SCHEDULES)
        eta = default_eta(loss, n_assets) if eta is None else eta
        super().__init__(n_assets, loss, eps, eta, feasible, start)

    def _height(self, t: int) -> float:
        return math.sqrt(t) if self.schedule == "sqrt" else 1.0 if self.schedule == "constant" else float(t)

    def _advance(self, w: Array, g: Array, W: FeasibleSet, free: Mask | None) -> Array:
        return self._move(DiagonalMetric(self._height(self._t + 1)), w, g, W, free)

    def diagnostics(self) -> dict[str, float]:
        """Return loss and prediction of the last round (0 before the first), and its step size."""
        return super().diagnostics() | {"step": self.eta / self._height(max(self._t, 1))}


class _RootTime(GradientLearner):
    """A composite step in the metric sqrt(t) I."""

    def __init__(
        self,
        n_assets: int,
        *,
        loss: str = "squared",
        eps: float = 1e-4,
        eta: float | None = None,
        regulariser: str = "none",
        lam: float | None = None,
        groups: Any = None,
        feasible: FeasibleSet = Simplex(),  # noqa: B008 (immutable)
        start: Any = None,
    ) -> None:
        eta = default_eta(loss, n_assets) if eta is None else eta
        super().__init__(n_assets, loss, eps, eta, feasible, start, regulariser, lam, groups)
        check_step(feasible, self._phi, EUCLIDEAN_STEPS, "Euclidean")

    def _advance(self, w: Array, g: Array, W: FeasibleSet, free: Mask | None) -> Array:
        return self._move(DiagonalMetric(math.sqrt(self._t + 1)), w, g, W, free)

    def diagnostics(self) -> dict[str, float]:
        """Return loss and prediction of the last round (0 before the first), and its step size."""
        return super().diagnostics() | {"step": self.eta / math.sqrt(max(self._t, 1))}


@learner(examples=lambda n: ({"eta": 50.0, "regulariser": "l2sq", "lam": 1e-4},))
class FOBOS(_RootTime):
    r"""Forward-backward splitting: a gradient step, then the proximal step of a regulariser.

    .. math:: w_{t+1} = \arg\min_{w \in W}\; \eta\, g_t \cdot w + \eta\, \varphi(w) + \tfrac{\sqrt t}{2} \|w - w_t\|^2

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    loss, eps, eta
        As in :class:`OGD`.
    regulariser, lam, groups
        As in :class:`AdaGrad`; without a regulariser this is :class:`OGD`.
    feasible : FeasibleSet, default Simplex()
        The set W; any with "none" and "l2sq", for others as in :class:`AdaGrad` with the diagonal matrix.
    start : array_like, shape (N,), optional
        :math:`w_1`.

    Notes
    -----
    Cost per round: O(N) and the projection. State: the weights and the time.

    Examples
    --------
    >>> from tracker_strategies.algorithms import FOBOS
    >>> FOBOS(2, eta=500.0).update([0.02, -0.01], 0.02).round(3).tolist()
    [0.612, 0.388]
    """


@learner(
    examples=lambda n: (
        {"eta": 50.0},
        {"eta": 50.0, "regulariser": "linf", "lam": 1e-7, "feasible": RealSpace()},
    )
)
class RDA(_RootTime):
    r"""Regularised dual averaging: the weights are a function of all gradients so far, not a step from the last weights.

    .. math:: w_{t+1} = \arg\min_{w \in W}\; \eta \sum_{s \le t} g_s \cdot w + \eta\, t\, \varphi(w) + \tfrac{\sqrt t}{2} \|w\|^2

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    loss, eps, eta
        As in :class:`OGD`.
    regulariser, lam, groups
        As in :class:`AdaGrad`. With "l1": :math:`w_i = -\eta \sqrt t\, \mathrm{sgn}(\bar g_i) [|\bar g_i| - \lambda]_+`.
    feasible : FeasibleSet, default Simplex()
        The set W, as in :class:`FOBOS`.
    start : array_like, shape (N,), optional
        :math:`w_1`; the later weights depend on it only through the gradients.

    Notes
    -----
    Cost per round: O(N) and the projection. State: the sum of the gradients and the time.

    Examples
    --------
    >>> from tracker_strategies.algorithms import RDA
    >>> RDA(2, eta=500.0).update([0.02, -0.01], 0.02).round(3).tolist()
    [0.612, 0.388]
    """

    _rule = "rda"
