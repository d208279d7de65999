"""The recommended tracker: a few learners of an index's share counts, stacked."""

from __future__ import annotations

from typing import Any

from tracker_strategies._checks import count
from tracker_strategies.algorithms import FewNames, OnlineAlgorithm, ShareCounts
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.share_counts.published import InformedTracker, published_weights
from tracker_strategies.strategies.tracker import Tracker


class EnsembleTracker(TrackerStrategy):
    """Four estimates of the index's share counts, from a long memory to a short one, in the mixture that has tracked best lately.

    An index holds share counts that stay the same between reviews, a few of them large and most of them small. Each member finds
    the counts that explain the latest bars best among those that are plausible for an index; the portfolio goes half of the way
    to their mixture per bar. One setting serves all markets: nothing needs tuning. See
    :class:`~tracker_strategies.algorithms.ShareCounts`.

    Params (beside those of :class:`TrackerStrategy`):
      - ``prior_weights`` (None): weights of the index, or a proxy of its sizes, where you have them: a mapping from symbols to
        numbers for the first bar; a table with one row per date; or the path of a CSV file with columns symbol and weight, and
        date where there are several. A row is used from the first bar on that is not before its date
      - ``max_names`` (None): most names held. The mixture then says what to follow, and the names that follow it best, by how
        names have moved together over the index, are held: see :class:`~tracker_strategies.algorithms.FewNames`
      - ``review`` ("20 sessions"), ``review_offset`` (0): bars between two choices of those names, and bars by which they are
        shifted, in bars or as time, as ``listing_warmup``.
        Figures of a few names scatter from one offset to another: compare means over several
      - ``coordinates`` ("shares"): share counts are what it learns, so that there is no other choice
    """

    alias_name = "ensemble"
    diagnostic_lines: tuple[str, ...] = ("p_1", "p_2", "p_3", "p_4")
    sets_coordinates = True
    params: Any = (("coordinates", "shares"), ("prior_weights", None), ("review", "20 sessions"), ("review_offset", 0))
    windows = (*TrackerStrategy.windows, "review", "review_offset")

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The stack."""
        if p.coordinates != "shares":
            raise ParameterError(
                f"coordinates={p.coordinates!r}: {cls.alias_name} learns share counts, so that its coordinates are shares; "
                "leave the param out, or choose another strategy, such as least-squares"
            )
        given = published_weights(p.prior_weights, symbols)
        review, offset = count("review", p.review), count("review_offset", p.review_offset, least=0)
        if offset >= review:
            raise ParameterError(f"review_offset={offset} must be below review={review}, the bars between two choices of names")
        n, prior = len(symbols), None if given is None else given.at_start
        if p.max_names is None:
            return ShareCounts(n, prior_weights=prior)
        # What a few names shall follow is the mixture itself, not a portfolio that goes half of the way to it.
        return FewNames(n, learner=ShareCounts(n, prior_weights=prior, eta=1.0), review=review, offset=offset)

    @classmethod
    def make_tracker(cls, p: Any, symbols: tuple[str, ...], costs: CostModel, n_targets: int = 1) -> Tracker:
        """What the strategy does on a bar; with dated weights of the index, it tells them to the learner."""
        tracker = super().make_tracker(p, symbols, costs, n_targets)
        if p.prior_weights is not None:
            known = symbols if tracker._order is None else tuple(symbols[i] for i in tracker._order)
            given = published_weights(p.prior_weights, known)
            if given is not None and given.dates:
                return InformedTracker.of(tracker, given)
        return tracker
