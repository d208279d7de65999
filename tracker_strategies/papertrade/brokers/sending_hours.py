"""When an order may be sent that is due at an open: after the close of the session that decided it, before that open.

Sent later it would be filled at a price of which the decision knew nothing. So the clock is asked right before each order: the
broker's own where it has one, else the one that the account lives by.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from functools import cached_property
from zoneinfo import ZoneInfo

from tracker_strategies.papertrade.brokers.base import Broker
from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.market.session_clocks import SessionClock, WallClock

#: Alpaca takes orders for the opening auction ("opg") between these two times, New York's.
OPG_FROM, OPG_UNTIL = time(19, 0), time(9, 28)
_NEW_YORK = ZoneInfo("America/New_York")


@dataclass(frozen=True)
class Verdict:
    """Whether an order may be sent now: ``late`` says why never, ``wait`` why not yet; both are empty when it may."""

    late: str = ""
    wait: str = ""


class SendingHours:
    """The hours in which the orders of a session may be sent.

    Parameters
    ----------
    broker : Broker
        Its own hours are asked for anew with every question.
    clock : SessionClock
        For brokers without a clock: only the calendar of an exchange knows hours. By the data or in recorded history a session
        lasts until the next one comes.
    """

    def __init__(self, config: AccountConfig, broker: Broker, clock: SessionClock) -> None:
        self._config, self._broker, self._clock = config, broker, clock

    def verdict(self, session: str, *, follows: bool = False, opg: bool = False) -> Verdict:
        """Whether orders that were decided at the close of a session may be sent now.

        Parameters
        ----------
        follows : bool
            For the second half of a rebalance, the buys that sells pay for: they may follow until the close of the session at
            whose open the sells were due.
        opg : bool
            Whether they are for the opening auction, which has hours of its own.
        """
        hours = self._broker.hours()
        if hours is None:
            if not isinstance(self._clock, WallClock):
                return Verdict()
            hours = self._clock.hours()
        closed, due, closes = self._calendar.night_after(session)
        follows = follows or closed >= due  # a market that never closes has no open that could be missed
        told = f"{hours.now:%Y-%m-%d %H:%M} UTC by {'the calendar' if self._broker.simulated else 'the clock of the broker'}"
        if follows:
            if hours.now < closes and (hours.is_open or hours.now >= due):
                return Verdict()
            if hours.now >= closes:
                return Verdict(
                    late=f"the buys of {session} had to be sent before {closes:%Y-%m-%d %H:%M}, but it is already {told}"
                )
        if hours.now >= due:
            return Verdict(late=f"{session} was decided for the open of {due:%Y-%m-%d %H:%M}, but it is already {told}")
        if hours.is_open or hours.now < closed:
            return Verdict(wait=f"{session} has not closed yet ({told}): its orders are sent after the close; step again then")
        if hours.next_open.date() > due.date():
            return Verdict(
                late=f"{session} was decided for the open of {due:%Y-%m-%d %H:%M}, but the broker's next open is "
                f"{hours.next_open:%Y-%m-%d %H:%M} ({told})"
            )
        return self._auction(session, hours.now) if opg else Verdict()

    @cached_property
    def _calendar(self) -> WallClock:
        return self._clock if isinstance(self._clock, WallClock) else WallClock(self._config.calendar)

    def _auction(self, session: str, now: datetime) -> Verdict:
        there = now.astimezone(_NEW_YORK)
        due = self._calendar.night_after(session)[1].astimezone(_NEW_YORK)
        if not OPG_UNTIL <= there.time() < OPG_FROM:
            return Verdict()
        if there.date() < due.date():
            return Verdict(
                wait=f"orders for the opening auction are accepted from {OPG_FROM:%H:%M} New York time, where it "
                f"is now {there:%H:%M}; step again after that"
            )
        return Verdict(
            late=f"orders for the opening auction of {due:%Y-%m-%d} were accepted until {OPG_UNTIL:%H:%M} New York time"
        )
