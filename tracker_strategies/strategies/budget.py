"""A tracking-error budget per year: who may have one, when it can be judged, and how it is put around a learner."""

from __future__ import annotations

import math
from typing import Any

from tracker_strategies._checks import fraction, number
from tracker_strategies.algorithms import Budgeted, OnlineAlgorithm
from tracker_strategies.errors import ParameterError
from tracker_strategies.strategies.registry import refuse_budget
from tracker_strategies.strategies.target import target_of

#: A run with fewer bars tells too little about an error per year, and so does a quarter of a year.
LEAST_BARS = 40
#: A year with fewer bars, as one of months, is not judged at all.
LEAST_YEAR = 20
#: With a budget the tilt may ask for much, in units of 1/N; the budget decides how much of it is held.
GENEROUS = 20.0


def check_budget(cls: Any, p: Any, n_bars: int | None = None) -> None:
    """Refuse a budget that the strategy cannot keep, or that nobody could judge.

    Parameters
    ----------
    cls
        The Strategy.
    p
        Its params, ``bars_per_year`` settled.
    n_bars : int, optional
        Length of the run where it is known beforehand, as with a panel.
    """
    if p.max_tracking_error is None:
        return
    refuse_budget(cls, p.max_tracking_error)
    budget, year = fraction("max_tracking_error", p.max_tracking_error, above=0.0), p.bars_per_year
    told = f"max_tracking_error={p.max_tracking_error!r} is a tracking error of {100.0 * budget:g} % per year, but"
    if year is None:
        raise ParameterError(f"{told} the feeds do not show how many bars a year has; give bars_per_year, 252 for daily bars")
    if year < LEAST_YEAR:
        raise ParameterError(
            f"{told} a year of {year:g} bars is too short to measure it; use at least {LEAST_YEAR} bars per year (weekly bars)"
        )
    least = max(LEAST_BARS, math.ceil(year / 4.0))
    if n_bars is not None and n_bars < least:
        raise ParameterError(f"{told} {n_bars} bars are too few to measure it; use at least {least} bars, or omit it")


def lam_of(p: Any, n_assets: int) -> Any:
    """The trade-off that the params give. Under a budget, and with none given, the tilt asks for more than it will get."""
    return GENEROUS / n_assets if p.lam is None and p.max_tracking_error is not None else p.lam


def within_budget(p: Any, n_targets: int, learner: OnlineAlgorithm, plain: OnlineAlgorithm | None = None) -> OnlineAlgorithm:
    """A tilted learner, cut back to the budget of the params; itself where they have none.

    Parameters
    ----------
    p
        Params of the strategy.
    n_targets : int
        Number of its targets, whose mean margin does not count as an error.
    learner, plain : OnlineAlgorithm
        As for :class:`~tracker_strategies.algorithms.Budgeted`.
    """
    if p.max_tracking_error is None:
        return learner
    if p.bars_per_year is None:
        raise ParameterError("max_tracking_error is a tracking error per year; give bars_per_year, too: 252 for daily bars")
    return Budgeted(
        learner.n_assets,
        learner=learner,
        plain=plain,
        max_tracking_error=p.max_tracking_error,
        bars_per_year=number("bars_per_year", p.bars_per_year),
        lift=target_of(p, n_targets).lift,
    )
