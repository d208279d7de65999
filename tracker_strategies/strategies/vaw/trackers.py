"""Forecasters that need no prior knowledge, as Strategies: VAW, with a discount, and with a vote over discounts."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import VAW, AdaptiveDiscount, DiscountedVAW, OnlineAlgorithm, StronglyAdaptive
from tracker_strategies.errors import ParameterError
from tracker_strategies.strategies._limits import limits
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.target import numbers, omega_of

#: What all of them take.
COMMON = ("lam", "hint", "yref")


class VAWTracker(TrackerStrategy):
    """Vovk-Azoury-Warmuth regression: all of the past counts alike. Its forecasts are optimal for a target that never changes.

    A forecast may use the returns of the bar that it forecasts; a portfolio may not. What is held is the ridge regression on the
    bars before, projected on the simplex.

    Params (beside those of :class:`TrackerStrategy`):
      - ``lam`` (0.01): pull to equal weights, in squared returns: compare it with bars times variance
      - ``hint`` ("zero"), ``yref`` ("zero"): first guess of the forecast: "zero", "last" or "self"; and its centre
      - ``max_weight`` (None): most that one name may weigh
    """

    alias_name = "vaw"
    diagnostic_lines: tuple[str, ...] = ("forecast", "loss")
    params: Any = (("lam", 1e-2), ("hint", "zero"), ("yref", "zero"), ("max_weight", None))

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """VAW around equal weights."""
        own = {name: getattr(p, name) for name in COMMON}
        return VAW(len(symbols), feasible=limits(p, symbols), n_targets=n_targets, omega=omega_of(p, n_targets), **own)


class DiscountedVAWTracker(VAWTracker):
    """VAW that forgets: the past is discounted, so that it recovers when the index changes.

    Params (beside those of :class:`VAWTracker`):
      - ``gamma`` (0.998): discount in (0, 1]; much below 1 - 1/N it fits noise
      - ``floor`` (0): least that the pull to equal weights decays to
    """

    alias_name = "discounted-vaw"
    params: Any = (("gamma", 0.998), ("floor", 0.0))

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """Discounted VAW around equal weights."""
        own = {name: getattr(p, name) for name in (*COMMON, "floor")}
        omega = omega_of(p, n_targets)
        return DiscountedVAW(len(symbols), gamma=p.gamma, feasible=limits(p, symbols), n_targets=n_targets, omega=omega, **own)


class AdaptiveDiscountTracker(TrackerStrategy):
    """Discounted VAW at a grid of discounts, and a vote that finds the right one: nothing to tune, optimal dynamic regret.

    Params (beside those of :class:`TrackerStrategy`):
      - ``lam`` (0.01), ``hint`` ("zero"), ``yref`` ("zero"), ``floor`` (0), ``max_weight`` (None): as for
        :class:`DiscountedVAWTracker`
      - ``discounts`` (None): discount factors such as "0,0.99,0.999,1"; by default the grid of the theory, which depends on the
        number of names and on ``horizon`` (5000), the bars that it is made for; a horizon of None grows it with time
      - ``restarts`` (False): strongly adaptive: fresh copies start all the time and forget what no longer holds
    """

    alias_name = "adaptive-discount"
    diagnostic_lines: tuple[str, ...] = ("gamma", "gamma_best")
    params: Any = (
        ("lam", 1e-2),
        ("hint", "zero"),
        ("yref", "zero"),
        ("floor", 0.0),
        ("discounts", None),
        ("horizon", 5000),
        ("restarts", False),
        ("max_weight", None),
    )

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The vote, on the simplex."""
        if not isinstance(p.restarts, bool):
            raise ParameterError(f"restarts={p.restarts!r} must be True or False")
        own = {name: getattr(p, name) for name in (*COMMON, "floor", "horizon")}
        make = StronglyAdaptive if p.restarts else AdaptiveDiscount
        gammas = None if p.discounts is None else numbers("discounts", p.discounts, "factors in [0, 1] such as 0,0.99,1")
        return make(len(symbols), gammas=gammas, feasible=limits(p, symbols), **own)
