"""Least squares on the simplex as a Strategy."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import LeastSquares, OnlineAlgorithm, SparseLeastSquares
from tracker_strategies.strategies.base import TrackerStrategy


class LeastSquaresTracker(TrackerStrategy):
    """The portfolio that would have tracked best so far, with less weight on older bars, and a pull towards current holdings.

    Params (in addition to those of :class:`TrackerStrategy`):
      - ``coordinates`` ("shares")
      - ``max_names`` (None): largest number of names held, chosen again every ``review`` ("20 sessions") bars by selection and
        elimination: :class:`~tracker_strategies.algorithms.SparseLeastSquares`. The first choice is made after 40 bars; until
        then the learner has equal weights, and the mandate chooses among the names
    """

    learner = LeastSquares
    params = (("review", "20 sessions"), ("coordinates", "shares"))
    windows = (*TrackerStrategy.windows, "review")

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """Discounted least squares, on all names or on a few."""
        n, options = len(symbols), cls.options(p, symbols, n_targets)
        if p.max_names is None:
            return LeastSquares(n, **options)
        return SparseLeastSquares(n, max_names=p.max_names, review=p.review, **options)
