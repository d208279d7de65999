"""What the learners that rest on discounted ridge regressions share: the forecasts of Vovk, Azoury and Warmuth, and universes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._validation import Array, Mask, finite_vector
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.numerics.target_range import TargetRange
from tracker_strategies.algorithms.sets.feasible import FeasibleSet
from tracker_strategies.algorithms.vaw._forms import Look
from tracker_strategies.algorithms.vaw._ridge import DiscountedRidge
from tracker_strategies.errors import ParameterError


class RidgeForecaster(OnlineAlgorithm):
    r"""A learner made of discounted ridge regressions :math:`v_t = \Sigma_{t-1}^{-1} \theta_t`.

    The forecast of Vovk, Azoury and Warmuth follows from the causal prediction :math:`v_t \cdot x_t`, the hint
    :math:`\tilde y_t` and the leverage :math:`a_t = x_t^\top \Sigma_{t-1}^{-1} x_t` by Sherman and Morrison:

    .. math:: \hat y_t = \frac{\gamma\, v_t \cdot x_t + a_t\, \tilde y_t}{\gamma + a_t}, \qquad
        w_t = v_t + \Sigma_t^{-1} x_t\, (\tilde y_t - v_t \cdot x_t).

    Everything that concerns the hint is about the residual target :math:`y_t - w^0 \cdot x_t`.
    """

    _a: Array | None = None  # growth of each asset since the start, where the past is restated

    _hints: TargetRange

    def __init__(
        self,
        n_assets: int,
        lam: float,
        hint: str,
        yref: str,
        prior: Any,
        floor: float,
        feasible: FeasibleSet,
        dual_rounds: int | None,
        n_targets: int = 1,
    ) -> None:
        super().__init__(n_assets, feasible=feasible)
        self.lam, self.floor = number("lam", lam, above=0.0), number("floor", floor, least=0.0)
        self.n_targets = count("n_targets", n_targets)
        self.dual_rounds = None if dual_rounds is None else count("dual_rounds", dual_rounds, least=0)
        if isinstance(prior, str) and prior != "uniform":
            raise ParameterError(f"prior must be 'uniform', None or one number per asset, got {prior!r}")
        given = prior is not None and not isinstance(prior, str)
        self._wish = finite_vector("prior", prior, ParameterError, self.n_assets).copy() if given else prior
        self.prior = self._wish.tolist() if isinstance(self._wish, np.ndarray) else self._wish
        self.hint, self.yref = hint, yref

    def _regressions(self, gammas: Any, dual_rounds: int | None) -> DiscountedRidge:
        """Return fresh regressions with the parameters of this learner."""
        return DiscountedRidge(self.n_assets, gammas, self.lam, self.floor, self.n_targets, self._wish, dual_rounds)

    def _begin(self, prior: Array) -> None:
        """Hold the projection of the prior in the first round."""
        self._w = self.feasible.project(prior)
        self._w.setflags(write=False)

    def _embedded(self, x: Array, free: Mask | None) -> Array:
        """Return the returns of all assets in the units of the regression, 0 for those that do not take part."""
        if free is None:
            return x if self._a is None else self._a * x
        everyone = np.zeros(self.n_assets)
        everyone[free] = x
        return everyone if self._a is None else self._a * everyone

    def _invested(self, v: Array, W: FeasibleSet, free: Mask | None) -> Array:
        """Return the portfolio nearest to the coefficients, of the names that take part."""
        w = v if self._a is None else self._a * v
        return W.project(w if free is None else w[free])

    def _renew_units(self, left: Mask) -> None:
        """Let assets that left start again in units of their own."""
        if self._a is not None:
            self._a = np.where(left, 1.0, self._a)

    def _rescale(self, s: Array) -> None:
        """Restate the past for weights multiplied by s: the regression stays as it is, its units change."""
        self._a = np.clip(s if self._a is None else self._a * s, 1e-9, 1e9)

    def _seen(self, x: Any, known: Mask) -> Array:
        """Return the returns of assets that may be held and are known, 0 for all others, after the usual checks."""
        seen: Array = np.where(known if self._active is None else known & self._active, self._vector(x), 0.0)
        self._norm2(seen)
        return seen if self._a is None else self._a * seen

    def _forecasts(self, look: Look, gammas: Array, base: float) -> tuple[Array, Array]:
        """Return hints and forecasts of the residual target, shape (K, q); `base` is what the prior has of the target."""
        causal, gammas, leverage = look.predictions - base, gammas[:, None], np.array(look.leverage)[:, None]
        hints = self._hints.of(causal)
        return hints, (gammas * causal + leverage * hints) / (gammas + leverage)
