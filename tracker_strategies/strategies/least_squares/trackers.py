"""Least squares on the simplex as a Strategy."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import LeastSquares, OnlineAlgorithm, SparseLeastSquares
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.compose import in_coordinates, minding_costs, refuse_both


class LeastSquaresTracker(TrackerStrategy):
    """The portfolio that would have tracked best so far, the past discounted, with a pull to what is held.

    Params (beside those of :class:`TrackerStrategy`):
      - ``gamma`` (0.99): discount of the past, in (0, 1]
      - ``inertia`` (3): pull to what is held; more trades less
      - ``ridge`` (0.003): pull to equal parts, bought at the start and held
      - ``damping`` (0.5): 0 counts rounds by the square of their returns, 1 counts them all alike
      - ``coordinates`` ("holdings")
      - ``max_names`` (None): most names held, chosen anew every ``review`` (20) bars by selection and elimination:
        :class:`~tracker_strategies.algorithms.SparseLeastSquares`. The first choice comes after 40 bars; until then all names
        are held in equal parts
    """

    alias_name = "least-squares"
    diagnostic_lines: tuple[str, ...] = ("error",)
    params: Any = (
        ("gamma", 0.99),
        ("inertia", 3.0),
        ("ridge", 0.003),
        ("damping", 0.5),
        ("review", 20),
        ("coordinates", "holdings"),
    )

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """Discounted least squares, on all names or on a few."""
        return least_squares(p, len(symbols), p.gamma, p.damping)

    @classmethod
    def wrap(cls, p: Any, algorithm: OnlineAlgorithm) -> OnlineAlgorithm:
        """In holdings and minding costs, where asked for; the names are limited already."""
        refuse_both(p, algorithm)
        return minding_costs(p, in_coordinates(p, algorithm))


def least_squares(p: Any, n: int, gamma: float, damping: float) -> OnlineAlgorithm:
    """The learner that the params ask for."""
    options = {"gamma": gamma, "inertia": p.inertia, "ridge": p.ridge, "damping": damping}
    if p.max_names is None:
        return LeastSquares(n, **options)
    return SparseLeastSquares(n, max_names=p.max_names, review=p.review, **options)
