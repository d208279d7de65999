"""Incremental sparse PLS as a Strategy."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import OnlineAlgorithm, SparsePLS
from tracker_strategies.strategies.regression.trackers import RegressionTracker, at_most


class SparsePLSTracker(RegressionTracker):
    """Incremental sparse partial least squares: a few names that carry the factors behind one or several indices.

    Params (beside those of :class:`TrackerStrategy`):
      - ``max_names`` (30): most names held
      - ``theta`` (None): names per factor; None follows from ``max_names``
      - ``n_factors`` (None): latent factors; ``adapt_factors`` (False) lets their number follow the data
      - ``forgetting`` (0.998): discount of the past, or "self" to tune itself
      - ``alpha`` (1e-5): mixture of principal components (1) and partial least squares (0)
      - ``mapping`` ("refit"): from coefficients to weights: "refit" on the chosen names, or "project"
      - ``standardise`` (True): look at correlations, not at covariances
    """

    alias_name = "sparse-pls"
    diagnostic_lines: tuple[str, ...] = ("lambda", "factors", "held")
    params: Any = (
        ("max_names", 30),
        ("theta", None),
        ("n_factors", None),
        ("adapt_factors", False),
        ("forgetting", 0.998),
        ("alpha", 1e-5),
        ("mapping", "refit"),
        ("standardise", True),
    )

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """iS-PLS with a portfolio of at most ``max_names``."""
        names = ("theta", "n_factors", "adapt_factors", "forgetting", "alpha", "mapping", "standardise")
        return SparsePLS(len(symbols), max_names=at_most(p.max_names, symbols), **cls.options(p, n_targets, *names))
