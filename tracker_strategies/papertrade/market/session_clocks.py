"""Which sessions of the source have happened, and which of them may still be acted on.

Only the newest session may act: an order for an older one would be sent late, at prices that the decision knew nothing of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from tracker_strategies.papertrade.brokers.base import Broker, Hours
from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.errors import StaleDataError
from tracker_strategies.papertrade.market.calendars import Calendars


class SessionClock(Protocol):
    """Decides which sessions have happened."""

    def visible(self, sessions: Sequence[str], known: str, *, done: bool = True) -> int:
        """How many of the source's sessions may be taken in; ``known`` is the last that was, and whether it is done with."""

    def late(self, session: str) -> str:
        """Why a session may not be acted on any more; empty when it may."""


class DataClock:
    """The data are the clock: the newest session in them is today's."""

    def visible(self, sessions: Sequence[str], known: str, *, done: bool = True) -> int:
        """All."""
        return len(sessions)

    def late(self, session: str) -> str:
        """Never, by this clock."""
        return ""


class ReplayClock(DataClock):
    """Recorded history. Its time passes when the newest session is decided and sent: then there is one session more."""

    def __init__(self, start: str) -> None:
        self._start = start

    def visible(self, sessions: Sequence[str], known: str, *, done: bool = True) -> int:
        """What is known, and one more from the start on unless something is left to do about the last."""
        rows = np.array(sessions, dtype=str)
        past = int(max(np.searchsorted(rows, known, side="right"), np.searchsorted(rows, self._start)))
        return min(len(rows), past + done)


class WallClock:
    """The calendar of the exchange, or of all exchanges of the account, and the time of day.

    Parameters
    ----------
    calendar : str
        As :class:`~tracker_strategies.papertrade.market.calendars.Calendars` reads it: XNYS; XNYS XLON; ...
    time : callable
        The present time, in UTC.
    """

    def __init__(self, calendar: str, time: Callable[[], datetime] | None = None) -> None:
        calendars = Calendars.parse(calendar)
        self._name = ", ".join(calendars.codes)
        self.time = time or (lambda: datetime.now(UTC))
        self._sessions, self._opens, self._closes = calendars.hours
        self._known = frozenset(self._sessions)

    def _now(self) -> np.datetime64:
        moment = np.datetime64(self.time().astimezone(UTC).replace(tzinfo=None), "ns")
        if not self._closes[0] <= moment <= self._opens[-1]:
            raise StaleDataError(
                f"the calendar {self._name} reaches from {self._sessions[0]} to {self._sessions[-1]}, and it is "
                f"{str(moment)[:16]} UTC by this computer's clock; set the clock, or update exchange_calendars"
            )
        return moment

    def hours(self) -> Hours:
        """Whether the market is open now, and when it opens next."""
        now = self._now()
        place = int(np.searchsorted(self._opens, now, side="right"))
        return Hours(_moment(now), bool(place and now < self._closes[place - 1]), _moment(self._opens[place]))

    def night_after(self, session: str) -> tuple[datetime, datetime, datetime]:
        """When a session closes, and when the one after it opens and closes."""
        place = bisect_right(self._sessions, session[:10])
        if not 0 < place < len(self._sessions):
            raise StaleDataError(
                f"the calendar {self._name} reaches from {self._sessions[0]} to {self._sessions[-1]}, not to {session}; "
                "update exchange_calendars"
            )
        return _moment(self._closes[place - 1]), _moment(self._opens[place]), _moment(self._closes[place])

    def newest(self) -> str:
        """The last session that has closed."""
        return str(self._sessions[int(np.searchsorted(self._closes, self._now(), side="right")) - 1])

    def next_open(self) -> datetime:
        """When the market opens next."""
        return _moment(self._opens[int(np.searchsorted(self._opens, self._now(), side="right"))])

    def next_close(self) -> datetime:
        """When the market closes next."""
        return _moment(self._closes[int(np.searchsorted(self._closes, self._now(), side="right"))])

    def visible(self, sessions: Sequence[str], known: str, *, done: bool = True) -> int:
        """Those that have closed. A session that still trades is left for later; one from the future is an error."""
        newest = self.newest()
        rows = np.array([s[:10] for s in sessions], dtype=str)
        closed = int(np.searchsorted(rows, newest, side="right"))
        moment = str(self._now())[:10]
        # Kiritimati is 14 hours ahead: a bar may be dated one day after UTC's, never two.
        if closed < len(rows) and rows[-1] > str(np.datetime64(moment) + np.timedelta64(1, "D")):
            raise StaleDataError(
                f"the source has a session of {rows[-1]}, but by this computer's clock it is {moment}: the clock "
                "or the source is wrong. Nothing was ingested; set the clock (or correct the source) and step again"
            )
        for session in rows[:closed]:
            if session > known[:10] and session >= self._sessions[0] and session not in self._known:
                raise StaleDataError(
                    f"the source has a bar on {session}, which is not a session of {self._name}; remove it, or open the account "
                    "with the calendar of its exchange: --calendar"
                )
        return closed

    def late(self, session: str) -> str:
        """When a newer session has closed already."""
        newest = self.newest()
        if session[:10] >= newest:
            return ""
        return f"the last bar is of {session}, but session {newest} of {self._name} has already closed: the data are stale"


def clock_of(config: AccountConfig, broker: Broker | None, clock: Callable[[], datetime] | None) -> SessionClock:
    """What tells which sessions of an account have happened; `clock` is this computer's, its own by default."""
    if config.clock == "replay":
        return ReplayClock(config.start)
    if config.clock == "data":
        return DataClock()
    here = clock or (lambda: datetime.now(UTC))
    there = None if broker is None else broker.hours()
    if there is None:
        return WallClock(config.calendar, here)
    gap = there.now - here()
    return WallClock(config.calendar, lambda: here() + gap)


def _moment(when: np.datetime64) -> datetime:
    moment: datetime = when.astype("datetime64[us]").item()
    return moment.replace(tzinfo=UTC)
