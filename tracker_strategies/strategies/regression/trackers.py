"""The regressions as Strategies. They choose names themselves once they have learned for 20 bars; until then they hold the
start, all names in equal parts, and the mandate chooses among those from the first bar on.
"""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import RLS, AdaptiveLasso, RecursiveLars
from tracker_strategies.algorithms import RandomPortfolios as RandomLearners
from tracker_strategies.strategies.base import TrackerStrategy

#: Of the learners alone: how coefficients become a portfolio.
INNER = ("standardise", "mapping", "ridge", "warm_up")


class RLSTracker(TrackerStrategy):
    """Recursive least squares with forgetting, projected on the simplex."""

    learner = RLS
    without = (*INNER, "floor", "prior")


class RecursiveLarsTracker(TrackerStrategy):
    """The Lasso path on discounted moments, stopped at ``theta`` names, refitted on them.

    Params (in addition to those of :class:`TrackerStrategy`):
      - ``theta`` (30): names chosen; all of them where there are fewer than 30
    """

    learner = RecursiveLars
    without = INNER
    params = (("theta", 30),)


class AdaptiveLassoTracker(TrackerStrategy):
    """The Lasso by one sweep of coordinate descent per bar, with a forgetting factor that adapts itself.

    Params (in addition to those of :class:`TrackerStrategy`):
      - ``theta`` (30): names chosen; all of them where there are fewer than 30
    """

    learner = AdaptiveLasso
    without = (*INNER, "mu", "sweeps")
    params = (("theta", 30),)


class RandomPortfolios(TrackerStrategy):
    """A portfolio of random names, with weights fitted to the past: a baseline for any choice of names.

    Params (in addition to those of :class:`TrackerStrategy`):
      - ``theta`` (30): names drawn; all of them where there are fewer than 30
      - ``portfolios`` (1): how many are drawn; the account holds their mean
    """

    learner = RandomLearners
    without = INNER
    called = {"n_portfolios": "portfolios"}  # noqa: RUF012 (read only)
    params: Any = (("theta", 30), ("portfolios", 1))

    @classmethod
    def options(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> dict[str, Any]:
        """With ``max_names`` as the number of names drawn, where it is given and there is one portfolio."""
        found, n = super().options(p, symbols, n_targets), len(symbols)
        if p.max_names is None:
            return found
        return found | ({} if p.portfolios != 1 else {"theta": min(p.max_names, n)})
