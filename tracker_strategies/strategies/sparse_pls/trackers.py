"""Incremental sparse PLS as a Strategy."""

from __future__ import annotations

from tracker_strategies.algorithms import SparsePLS
from tracker_strategies.strategies.base import TrackerStrategy


class SparsePLSTracker(TrackerStrategy):
    """Incremental sparse partial least squares: a few names that represent the factors behind one or several indices.

    Params (in addition to those of :class:`TrackerStrategy`):
      - ``max_names`` (30): largest number of names held. The learner chooses after 20 bars, the mandate before
    """

    learner = SparsePLS
    without = ("loading", "deflate", "loyalty", "ridge", "warm_up", "q_space", "delta0")
    params = (("max_names", 30),)
