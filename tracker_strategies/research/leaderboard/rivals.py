"""Trackers that ours are measured against, bar by bar on the same account: a vote, and that of skfolio (extra ``rivals``)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import PA, SLAIT, Holdings, LeastSquares, OnlineAlgorithm, Vote
from tracker_strategies.errors import MissingExtraError
from tracker_strategies.strategies import TrackerStrategy

Array = NDArray[np.float64]

#: A fit on fewer bars than this says nothing.
LEAST_ROWS = 20


def has_skfolio() -> bool:
    """Whether skfolio can be imported. It is then loaded, which takes seconds that belong to no run."""
    try:
        import skfolio.optimization  # noqa: F401
    except ImportError:
        return False
    return True


class SkfolioFits(SLAIT):
    """skfolio's ``BenchmarkTracker`` with its defaults on the rolling window of :class:`SLAIT`, solved anew every few bars."""

    def _solve(self, X: Array, y: Array, room: float) -> Array:
        if len(X) < LEAST_ROWS:
            return np.full(X.shape[1], room / X.shape[1])
        from skfolio.optimization import BenchmarkTracker

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = BenchmarkTracker().fit(X, y / room)
        w = np.maximum(np.asarray(fitted.weights_, dtype=np.float64), 0.0)
        return np.asarray(w * (room / w.sum()))


class SkfolioTracker(TrackerStrategy):
    """skfolio's ``BenchmarkTracker`` in walk-forward: fitted on the last ``window`` bars, every ``every`` bars, held in between.

    Params (in addition to those of :class:`TrackerStrategy`):
      - ``window`` (250), ``every`` (20): bars of a fit, and from one fit to the next; between fits the shares are left alone,
        which trades least (``rebalance`` is 20 too)
    """

    alias_name = "skfolio"
    params: Any = (("window", 250), ("every", 20), ("rebalance", 20))
    windows = (*TrackerStrategy.windows, "window", "every")

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The window and the fits."""
        if not has_skfolio():
            raise MissingExtraError("skfolio is not installed; pip install 'backtrader-index-tracker[rivals]'")
        return SkfolioFits(len(symbols), window=p.window, every=p.every)


class VoteTracker(TrackerStrategy):
    """What the ensemble was up to version 0.1: a vote of PA and of least squares at three discounts, all in holdings."""

    alias_name = "vote"
    sets_coordinates = True

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The vote."""
        n = len(symbols)
        learners = PA(n, eps=0.0), LeastSquares(n, gamma=[1.0, 0.98, 0.9], damping=[1.0, 0.0, 1.0])
        return Vote(n, members=[Holdings(n, learner=each) for each in learners], rate=6.0)
