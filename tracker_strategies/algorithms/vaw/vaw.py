"""The Vovk-Azoury-Warmuth forecaster and its discounted version, as forecasters and as portfolios."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import number
from tracker_strategies.algorithms._kinds import Kinds, piece, real
from tracker_strategies.algorithms._validation import Array, Mask, target_weights
from tracker_strategies.algorithms.numerics.target_range import TargetRange
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import CappedSimplex, FeasibleSet, RealSpace, Simplex
from tracker_strategies.algorithms.vaw._base import RidgeForecaster
from tracker_strategies.errors import ParameterError


@learner(
    "discounted-vaw",
    shows=("forecast", "loss"),
    examples=lambda n: (
        {},
        {"gamma": 0.9, "hint": "self", "dual_rounds": n},
        {"gamma": 0.9, "hint": "last", "prior": None, "floor": 1e-6},
        {"gamma": 0.99, "feasible": CappedSimplex(max(0.6, 1.0 / n))},
    ),
)
class DiscountedVAW(RidgeForecaster):
    r"""Discounted Vovk-Azoury-Warmuth forecaster, and the portfolio that it leads to.

    With :math:`\Sigma_0 = \lambda I`, :math:`\theta_1 = 0` and a hint :math:`\tilde y_t` known before :math:`y_t`, round t is

    .. math::

        \Sigma_t = x_t x_t^\top + \gamma \Sigma_{t-1}, \quad
        w_t = \Sigma_t^{-1}(\tilde y_t x_t + \gamma \theta_t), \quad
        \hat y_t = w_t \cdot x_t, \quad \theta_{t+1} = y_t x_t + \gamma \theta_t .

    Two outputs, never to be confused:

    - :meth:`forecast` gives :math:`\hat y_t`, the prediction of the theory. It is *improper*: :math:`w_t`
      (:meth:`improper_weights`) depends on :math:`x_t`, which is not known when the portfolio is formed.
    - :attr:`weights`, what :meth:`update` returns, can be invested in: :math:`P_W(v_{t+1})` with
      :math:`v_{t+1} = \Sigma_t^{-1} \theta_{t+1}`, the discounted ridge regression on rounds up to t. :meth:`predict` is their
      return, as for every learner. The hint has no influence on them.

    What is lost on the way from the forecast to the portfolio: the bounds on the regret (Theorems 2.1 and 3.1) hold for the
    forecast alone. The causal regression lacks the term :math:`x_t x_t^\top` that damps predictions for an unusual
    :math:`x_t`: one such round may cost any multiple of :math:`y_t^2`. And the projection takes away short positions and sums
    other than one, which costs the more the farther from W the best regression lies.

    Parameters
    ----------
    n_assets : int
        Number of assets N = d.
    gamma : float, default 0.998
        Discount factor in (0, 1]: the last :math:`1/(1 - \gamma)` rounds count. Below 1 - 1/N the regression fits noise.
    lam : float, default 1e-2
        Regulariser :math:`\lambda` > 0, in squared returns times rounds; 1e-2 to 1e-1 suit daily returns.
    hint : {"zero", "last", "self"}, default "zero"
        :math:`\tilde y_t` = 0, the last target, or :math:`v_t \cdot x_t` clipped to the range of the targets so far.
    yref : {"zero", "last"}, default "zero"
        Centre of that range.
    prior : "uniform", None or array_like, shape (N,), default "uniform"
        :math:`w^0`: the regression explains :math:`y_t - w^0 \cdot x_t` and is added to it, so that without data the weights are
        the prior. "uniform" means equal parts of the known assets; None is the forecaster of the paper.
    floor : float, default 0
        Least regulariser, since :math:`\gamma^t \lambda` falls below every bound; about 1e-6 of the mean diagonal of
        :math:`\Sigma` in long runs. It stays between one and two floors, at O(d^3) once in :math:`\ln 2/(1 - \gamma)` rounds.
    feasible : FeasibleSet, default Simplex()
        The set W of the portfolio.
    n_targets : int, default 1
        Number of targets q that share the matrix; `update` takes y of shape (q,), and forecasts have that shape.
    omega : array_like, shape (q,), optional
        Weights of the targets in the portfolio, > 0; scaled to sum 1, equal by default.
    dual_rounds : int, optional
        Most rounds in which inner products replace the matrix; as long as that is faster by default. Results do not depend on it.

    Notes
    -----
    Cost per round: O(N min(t, N)), how: :class:`~tracker_strategies.algorithms.vaw._ridge_primal.PrimalRidge` and
    :class:`~tracker_strategies.algorithms.vaw._ridge_dual.DualRidge`. State: N (N + 1) numbers.

    An asset that does not take part in a round counts as unmoved. One that left is forgotten exactly, as if it had never moved;
    should it come back, it starts with the regulariser :math:`\lambda`.

    Hint "self" would depend on :math:`w_t`, which depends on the hint; the clipped causal prediction solves this equation.

    References
    ----------
    Jacobsen, Cutkosky, *Online linear regression in dynamic environments via discounting*, ICML 2024: Algorithm 1, Theorem 3.1;
    hints in sec. 3.1 and Lemma D.1. Vovk, *Competitive on-line statistics*, 2001; Azoury, Warmuth, *Relative loss bounds for
    on-line density estimation*, 2001.

    Examples
    --------
    >>> from tracker_strategies.algorithms import DiscountedVAW, learner
    >>> learner = DiscountedVAW(1, gamma=0.5, lam=1.0, prior=None)
    >>> w = learner.update([1.0], 2.0)
    >>> round(learner.forecast([1.0]), 6)  # (0 + 0.5 * 2) / (1 + 0.5 * (1 + 0.5))
    0.571429
    """

    _state = ("_a", "_ridge", "_hints", "_forecast", "_hint", "_loss")
    _kinds: ClassVar[Kinds] = {
        "_a": real("n", none=True, above=0.0),
        "_hints": piece("TargetRange", q="n_targets"),
        "_ridge": piece("DiscountedRidge", d="n", q="n_targets"),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        gamma: float = 0.998,
        lam: float = 1e-2,
        hint: str = "zero",
        yref: str = "zero",
        prior: Any = "uniform",
        floor: float = 0.0,
        feasible: FeasibleSet = Simplex(),  # noqa: B008 (immutable)
        n_targets: int = 1,
        omega: Any = None,
        dual_rounds: int | None = None,
    ) -> None:
        super().__init__(n_assets, lam, hint, yref, prior, floor, feasible, dual_rounds, n_targets)
        self.gamma = number("gamma", gamma, above=0.0)
        if self.gamma > 1.0:
            raise ParameterError(f"gamma must be in (0, 1], got {gamma!r}")
        self.omega = target_weights(omega, self.n_targets).tolist()
        self._mix: Array = np.array([self.omega])
        self._hints = TargetRange(hint, yref, self.n_targets)
        self._ridge = self._regressions([self.gamma], self.dual_rounds)
        self._begin(self._ridge.prior)
        self._forecast = self._hint = self._loss = 0.0

    # ------------------------------------------------------------------ the forecaster

    def forecast(self, x: Any) -> Any:
        r"""Return :math:`\hat y_t = w_t \cdot x_t` for the returns of the coming round, before its target is seen.

        The improper prediction that the theory is about: a float, or shape (q,) for several targets. The return of the portfolio
        is :meth:`predict`. Entries of assets that may not be held, or have never taken part, are ignored.
        """
        x = self._seen(x, self._ridge.known)
        base = float(self._ridge.prior.dot(x))
        forecasts = self._forecasts(self._ridge.look(x, repair=False), self._ridge.gammas, base)[1][0] + base
        return float(forecasts[0]) if self.n_targets == 1 else forecasts

    def improper_weights(self, x: Any) -> Array:
        r"""Return :math:`w_t`, shape (N,), or (q, N) for several targets; no portfolio, since it depends on x."""
        x = self._seen(x, self._ridge.known)
        look, base = self._ridge.look(x, repair=False), float(self._ridge.prior.dot(x))
        hints = self._forecasts(look, self._ridge.gammas, base)[0][0] + base
        causal = np.array([self._ridge.combined(one[None]) for one in np.eye(self.n_targets)])
        weights = causal + np.outer(hints - look.predictions[0], self._ridge.gains(x, look)[0])
        return np.asarray(weights[0] if self.n_targets == 1 else weights)

    # ------------------------------------------------------------------ the portfolio

    def _target(self, y: Any) -> Any:
        return super()._target(y) if self.n_targets == 1 else self._targets(y, self.n_targets)

    def _forget(self, left: Mask) -> None:
        self._renew_units(left)
        self._ridge.forget(left)

    def _learn(self, w: Array, x: Array, y: Any, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        ridge, target = self._ridge, np.atleast_1d(y)
        ridge.meet(free)
        x = self._embedded(x, free)
        base = float(ridge.prior.dot(x))
        look = ridge.look(x)
        hints, forecasts = self._forecasts(look, ridge.gammas, base)
        ridge.learn(x, target, look)
        self._hints.observe(target - base)
        mix, error = self._mix[0], target - base - forecasts[0]
        self._forecast, self._hint = float(mix.dot(forecasts[0])) + base, float(mix.dot(hints[0])) + base
        self._loss = 0.5 * float(mix.dot(error * error))
        v = ridge.combined(self._mix)
        return self._invested(v, W, free)

    def diagnostics(self) -> dict[str, float]:
        """Return forecast and hint of the last round and half the squared error (0 before the first), means over the targets."""
        return {"forecast": self._forecast, "hint": self._hint, "loss": self._loss}


@learner("vaw", shows=("forecast", "loss"), examples=lambda n: ({}, {"prior": None, "feasible": RealSpace()}))
class VAW(DiscountedVAW):
    r"""Vovk-Azoury-Warmuth forecaster: :class:`DiscountedVAW` with :math:`\gamma = 1`, in which all rounds count alike.

    The right choice if the best weights are constant; if they change, its regret grows linearly.

    Parameters
    ----------
    n_assets : int
        Number of assets.
    lam, hint, yref, prior, feasible, n_targets, omega, dual_rounds
        As for :class:`DiscountedVAW`.

    References
    ----------
    Vovk 2001; Azoury, Warmuth 2001: for hint "zero" and no prior, regret against any u of at most
    :math:`\frac{\lambda}{2} \|u\|^2 + \frac{d}{2} \max_t y_t^2 \ln(1 + \sum_t \|x_t\|^2/(\lambda d))`.

    Examples
    --------
    >>> from tracker_strategies.algorithms import VAW, learner
    >>> learner = VAW(2, lam=1e-4)
    >>> learner.update([0.02, -0.01], 0.02).round(3).tolist()
    [0.875, 0.125]
    """

    def __init__(
        self,
        n_assets: int,
        *,
        lam: float = 1e-2,
        hint: str = "zero",
        yref: str = "zero",
        prior: Any = "uniform",
        feasible: FeasibleSet = Simplex(),  # noqa: B008 (immutable)
        n_targets: int = 1,
        omega: Any = None,
        dual_rounds: int | None = None,
    ) -> None:
        super().__init__(
            n_assets,
            gamma=1.0,
            lam=lam,
            hint=hint,
            yref=yref,
            prior=prior,
            feasible=feasible,
            n_targets=n_targets,
            omega=omega,
            dual_rounds=dual_rounds,
        )
