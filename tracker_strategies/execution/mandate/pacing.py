"""When names and amounts are reviewed, how far a decision goes to the best amounts, and what it is worth to go there."""

from __future__ import annotations

from tracker_strategies.execution.mandate.names.choosing import TRIES

REVIEW_TRIES = 40
"""Exchanges of names tried with exact amounts at a review, which comes now and then."""
REVIEW = 20
"""Bars between two reviews of the amounts, where a limit keeps a decision from the wish."""
SPEED = 0.025
"""Share of the way to the best amounts that is gone per bar, where the learner has no view."""
HORIZON = 5.0
"""Bars over which a trade has to pay."""
NOMINAL = 15.0
"""Least cost of trading in basis points that is reckoned with where a limit binds."""
#: Of a learner that has no view: names are looked at on every bar, and the speed is that of the mandate.
ALWAYS: tuple[int | None, float] = (None, 1.0)


class Pacing:
    """Follows the pace of a learner, whatever the schedule of trades is.

    A review that falls between two trades counts for the next one, and so does the way that was not gone on the bars between.
    """

    def __init__(self) -> None:
        self._reviewed: int | None = None  # reviews of the learner that have been acted on
        self._bars, self._due = 0, True  # since the last review of amounts; whether one is due whatever their number
        self._now = (TRIES, 1.0, True)

    def pass_bar(self) -> None:
        """A bar has passed."""
        self._bars += 1

    def decide(self, pace: tuple[int | None, float], *, entered: bool, chooses: bool, again: bool) -> tuple[int, float, bool]:
        """How many exchanges of names to try for a decision, the share of the way to go, and whether amounts are to be reviewed;
        `again`: as for the one before; `chooses`: whether there are names to choose.
        """
        if again:
            return self._now
        reviews, speed = pace
        tries = TRIES if reviews is None else REVIEW_TRIES if reviews != self._reviewed or not entered else 0
        self._reviewed = reviews
        share = 1.0 - (1.0 - (SPEED if speed == 1.0 else speed)) ** max(self._bars, 1) if entered else 1.0
        self._now = (tries, share, self._due or not entered or (chooses and tries > 0) or self._bars >= REVIEW)
        return self._now

    def settle(self) -> None:
        """Amounts have been reviewed."""
        self._bars, self._due = 0, False

    def review_again(self) -> None:
        """Review amounts at the next decision too: not all that this one wanted could be done."""
        self._due = True


def prices_of_trading(cost_bps: float | None, tracking_error: float, *, entered: bool) -> tuple[float, float]:
    """What a unit of trade costs inside and outside the limits, in expected squared error: it has to pay over the next bars.

    Outside it costs at least the nominal price once the account has been at its target: what is nearest changes with every bar,
    and following it does not pay.
    """
    given, unit = cost_bps or 0.0, 1e-4 * tracking_error / HORIZON
    return unit * given, unit * max(given, NOMINAL if entered else 0.0)
