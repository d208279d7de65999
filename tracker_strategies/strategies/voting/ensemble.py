"""The recommended tracker: a vote of a few learners of holdings."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import PA, FewNames, LeastSquares, OnlineAlgorithm, Vote
from tracker_strategies.errors import ParameterError
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.compose import in_coordinates
from tracker_strategies.strategies.target import numbers


class EnsembleTracker(TrackerStrategy):
    """A vote of the passive-aggressive learner and of least squares at several discounts, all of them learning holdings.

    The portfolio is the mean of the members' portfolios, weighted by how well each has tracked lately. Nothing needs tuning; the
    discounts cover what markets have shown so far, and the vote finds the mixture.

    Params (beside those of :class:`TrackerStrategy`):
      - ``discounts`` ("1,0.98,0.9"): of the least-squares members, which remember everything, some 50 bars and some 10
      - ``inertia`` (3), ``ridge`` (0.003): as for :class:`LeastSquaresTracker`
      - ``rate`` (6), ``share`` (0.01): how fast the vote learns and forgets: see :class:`~tracker_strategies.algorithms.Vote`
      - ``coordinates`` ("holdings")
      - ``max_names`` (None): most names held. The vote then says what to follow, and the names that follow it best, by how names
        have moved together over the index, are held: see :class:`~tracker_strategies.algorithms.FewNames`
      - ``review`` (20), ``review_offset`` (0): bars between two choices of those names, and bars by which they are shifted
    """

    alias_name = "ensemble"
    diagnostic_lines: tuple[str, ...] = ("p_pa", "p_1", "p_0_98", "p_0_9")
    sets_coordinates = True
    params: Any = (
        ("discounts", "1,0.98,0.9"),
        ("inertia", 3.0),
        ("ridge", 0.003),
        ("rate", 6.0),
        ("share", 0.01),
        ("review", 20),
        ("review_offset", 0),
        ("coordinates", "holdings"),
    )

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The vote."""
        n = len(symbols)
        if p.max_names is not None:
            dense = cls.dense(p, n)
            return FewNames(n, learner=dense, review=p.review, offset=p.review_offset)
        return cls.dense(p, n)

    @classmethod
    def dense(cls, p: Any, n: int) -> OnlineAlgorithm:
        """Of all names."""
        gammas = discounts_of(p.discounts)
        # Two views of the past in turn: members that err in different ways are worth more than alike ones.
        dampings = [float(k % 2 == 0) for k in range(len(gammas))]
        learners = PA(n, eps=0.0), LeastSquares(n, gamma=gammas, damping=dampings, inertia=p.inertia, ridge=p.ridge)
        names = ["pa", *(f"{gamma:.12g}".replace(".", "_") for gamma in gammas)]
        return Vote(n, members=[in_coordinates(p, learner) for learner in learners], names=names, rate=p.rate, share=p.share)


def discounts_of(given: Any) -> list[float]:
    """Discount factors from a text or a sequence, all different."""
    example = "different numbers in (0, 1], for example 1,0.99,0.98"
    gammas = numbers("discounts", given, example)
    if len(set(gammas)) < len(gammas) or not all(0.0 < gamma <= 1.0 for gamma in gammas):
        raise ParameterError(f"discounts={given!r} must be {example}")
    return gammas
