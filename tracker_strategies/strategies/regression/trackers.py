"""The regressions as Strategies."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import RLS, AdaptiveLasso, OnlineAlgorithm, RecursiveLars
from tracker_strategies.algorithms import RandomPortfolios as RandomLearners
from tracker_strategies.errors import ParameterError
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.compose import in_coordinates, minding_costs, refuse_both
from tracker_strategies.strategies.target import omega_of

DEFAULT_NAMES = 30


class RegressionTracker(TrackerStrategy):
    """What the regressions have in common: they limit the number of names themselves, once they have learned for 20 bars; until
    then the start is held, all names in equal parts.
    """

    @classmethod
    def options(cls, p: Any, n_targets: int, *names: str) -> dict[str, Any]:
        """Keyword parameters of the learner."""
        return {"n_targets": n_targets, "omega": omega_of(p, n_targets), **{name: getattr(p, name) for name in names}}

    @classmethod
    def wrap(cls, p: Any, algorithm: OnlineAlgorithm) -> OnlineAlgorithm:
        """In holdings and minding costs, where asked for; the names are limited already."""
        refuse_both(p, algorithm)
        return minding_costs(p, in_coordinates(p, algorithm))


class RLSTracker(RegressionTracker):
    """Recursive least squares with forgetting, projected on the simplex.

    Params (beside those of :class:`TrackerStrategy`):
      - ``forgetting`` (0.998): discount of the past
      - ``delta`` (0.01): pull to equal weights at the start
    """

    alias_name = "rls"
    diagnostic_lines: tuple[str, ...] = ("error", "held")
    params: Any = (("forgetting", 0.998), ("delta", 0.01))

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """RLS around equal weights."""
        return RLS(len(symbols), max_names=p.max_names, **cls.options(p, n_targets, "forgetting", "delta"))


class RecursiveLarsTracker(RegressionTracker):
    """The Lasso path on discounted moments, stopped at ``theta`` names, refitted on them.

    Params (beside those of :class:`TrackerStrategy`):
      - ``theta`` (30): names chosen
      - ``forgetting`` (0.998): discount of the past
    """

    alias_name = "recursive-lars"
    diagnostic_lines: tuple[str, ...] = ("mu", "held")
    params: Any = (("theta", 30), ("forgetting", 0.998))

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """R-LARS."""
        options = cls.options(p, n_targets, "forgetting")
        return RecursiveLars(len(symbols), theta=at_most(p.theta, symbols), max_names=p.max_names, **options)


class AdaptiveLassoTracker(RegressionTracker):
    """The Lasso by one sweep of coordinate descent a bar, with forgetting that tunes itself.

    Params (beside those of :class:`TrackerStrategy`):
      - ``theta`` (30): names chosen
      - ``forgetting`` ("self"): discount of the past, or "self"
    """

    alias_name = "adaptive-lasso"
    diagnostic_lines: tuple[str, ...] = ("lambda", "held")
    params: Any = (("theta", 30), ("forgetting", "self"))

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """ALasso."""
        options = cls.options(p, n_targets, "forgetting")
        return AdaptiveLasso(len(symbols), theta=at_most(p.theta, symbols), max_names=p.max_names, **options)


class RandomPortfolios(RegressionTracker):
    """A portfolio of names drawn by lot, their weights fitted to the past: what any choice of names has to beat.

    Params (beside those of :class:`TrackerStrategy`):
      - ``theta`` (30): names drawn
      - ``portfolios`` (1): how many are drawn; the account holds their mean
      - ``forgetting`` (0.998): discount of the past
      - ``seed`` (0)
    """

    alias_name = "random-portfolio"
    diagnostic_lines: tuple[str, ...] = ("held",)
    params: Any = (("theta", 30), ("portfolios", 1), ("forgetting", 0.998), ("seed", 0))

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """Random supports with fitted weights."""
        options = cls.options(p, n_targets, "forgetting", "seed")
        theta = at_most(p.theta if p.max_names is None else p.max_names, symbols)
        if p.max_names is not None and theta < len(symbols) and p.portfolios != 1:
            raise ParameterError(
                f"max_names={p.max_names!r} is kept by one portfolio, and the mean of portfolios={p.portfolios!r} holds more "
                "names: leave one of the two out"
            )
        return RandomLearners(len(symbols), n_portfolios=p.portfolios, theta=theta, **options)


def at_most(wanted: Any, symbols: tuple[str, ...]) -> Any:
    """The default of 30 names, or all of a smaller market; any other number as it is, to be judged by the learner."""
    return len(symbols) if wanted == DEFAULT_NAMES and len(symbols) < DEFAULT_NAMES else wanted
