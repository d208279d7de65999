"""The recommended tracker: a few learners of an index's share counts, stacked."""

from __future__ import annotations

from typing import Any

from tracker_strategies._checks import count
from tracker_strategies.algorithms import FewNames, OnlineAlgorithm, ShareCounts
from tracker_strategies.errors import ParameterError
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.index_weights.published import published_weights


class EnsembleTracker(TrackerStrategy):
    """Four estimates of the index's share counts, with memories from long to short, in the mixture that has tracked best lately.

    An index holds share counts that stay the same between reviews, a few of them large and most of them small. Each member finds
    the counts that explain the latest bars best among those that are plausible for an index. The portfolio goes half of the way
    to their mixture per bar. One setting serves all markets: nothing needs tuning. See
    :class:`~tracker_strategies.algorithms.ShareCounts`.

    Params (in addition to those of :class:`TrackerStrategy`):
      - ``index_weights`` (None), of every strategy: here they are the start and the prior of two members, and later rows replace
        that prior
      - ``prior_weights`` (None): a proxy of the sizes in the index, of any sum, where its weights are not known: a mapping from
        symbols to numbers for the first bar; a table with one row per date; or the path of a file with columns symbol and weight,
        and date where there are several. A row counts from the bar after its date
      - ``max_names`` (None): largest number of names held: those that follow the mixture best, by how names have moved together
        over the index. See :class:`~tracker_strategies.algorithms.FewNames`
      - ``review`` ("20 sessions"), ``review_offset`` (0): bars between two choices of those names, and bars by which they are
        shifted, in bars or as time, as ``listing_warmup``.
        Figures of a few names scatter from one offset to another: compare means over several
      - ``coordinates`` ("shares"): it learns share counts, so there is no other choice
    """

    alias_name = "ensemble"
    diagnostic_lines: tuple[str, ...] = ("p_1", "p_2", "p_3", "p_4")
    sets_coordinates = takes_index_weights = True
    params: Any = (("coordinates", "shares"), ("prior_weights", None), ("review", "20 sessions"), ("review_offset", 0))
    windows = (*TrackerStrategy.windows, "review", "review_offset")

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The stack."""
        if p.coordinates != "shares":
            raise ParameterError(
                f"coordinates={p.coordinates!r} is not possible: {cls.alias_name} learns share counts; "
                "omit the param, or choose another strategy, such as least-squares"
            )
        known = getattr(p, "start_weights", None)
        given = published_weights(p.prior_weights, symbols)
        review, offset = count("review", p.review), count("review_offset", p.review_offset, least=0)
        if offset >= review:
            raise ParameterError(
                f"review_offset={offset} must be below review={review}, the number of bars between two selections"
            )
        n, prior = len(symbols), known if given is None else given.at_start
        if p.max_names is None:
            return ShareCounts(n, prior_weights=prior)
        # What a few names shall follow is the mixture itself, not a portfolio that goes half of the way to it.
        return FewNames(n, learner=ShareCounts(n, prior_weights=prior, eta=1.0), review=review, offset=offset)
