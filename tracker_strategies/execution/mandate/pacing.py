"""When names are chosen anew, how far a decision goes on its way to the best amounts, and what it is worth to go there."""

from __future__ import annotations

import numpy as np

from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray
from tracker_strategies.execution.mandate.names.choosing import TRIES

REVIEW_TRIES = 40
"""Exchanges of names tried with exact amounts at a review, which comes now and then."""
#: Of a learner that has no view: names are looked at on every bar, and decisions go the whole way.
ALWAYS: tuple[int | None, float] = (None, 1.0)
#: Bars over which a trade has to pay.
HORIZON = 5.0
#: Least cost of trading in basis points that is reckoned with where a limit binds.
NOMINAL = 60.0


class Pacing:
    """Follows the pace of a learner, whatever the schedule of trades is.

    A review that falls between two trades counts for the next one, and so does the way that was not gone on the bars between.
    """

    def __init__(self) -> None:
        self._reviewed: int | None = None  # reviews of the learner that have been acted on
        self._bars = 0  # since the last decision
        self._now = (TRIES, 1.0)

    def pass_bar(self) -> None:
        """A bar has passed."""
        self._bars += 1

    def decide(self, pace: tuple[int | None, float], *, entered: bool, again: bool) -> tuple[int, float]:
        """How many exchanges of names to try for a decision, and the share of the way to go; `again`: as for the one before."""
        if again:
            return self._now
        reviews, speed = pace
        tries = TRIES if reviews is None else REVIEW_TRIES if reviews != self._reviewed or not entered else 0
        self._reviewed = reviews
        self._now = (tries, 1.0 - (1.0 - speed) ** max(self._bars, 1) if entered else 1.0)
        self._bars = 0
        return self._now

    def review_again(self) -> None:
        """Choose names at the next decision too: not all that this one wanted could be done."""
        self._reviewed = None


def on_the_way(held: FloatArray, goal: FloatArray, stays: BoolArray, share: float) -> FloatArray:
    """Weights between what is held and a goal. What does not stay is sold at once; the money goes to names below their goal."""
    now = np.where(stays, held, 0.0)
    free = float(goal.sum() - now.sum())
    short = np.maximum(goal - now, 0.0) if free > 0.0 else np.maximum(now - goal, 0.0)
    missing = float(short.sum())
    if missing > 0.0:
        now = now + short * (free / missing)
    return np.asarray(now + share * (goal - now))


def price_of_trading(cost_bps: float | None, tracking_error: float, *, within: bool) -> float:
    """What a unit of trade costs, in expected squared error: it has to pay over the next bars. Outside the limits it costs at
    least the nominal price: what is nearest changes with every bar, and following it does not pay.
    """
    cost = max(cost_bps or 0.0, 0.0 if within else NOMINAL)
    return 1e-4 * cost * tracking_error / HORIZON
