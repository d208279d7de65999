"""When to trade: every few bars, by the calendar, or by the clock and the sessions of an exchange."""

from __future__ import annotations

import re
import warnings
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Integral
from typing import TYPE_CHECKING

from datafeeds.errors import DataWarning
from tracker_strategies.errors import DataError, ParameterError

if TYPE_CHECKING:  # the command line reads the name of a fill mode before it loads anything
    import numpy as np
    from numpy.typing import NDArray

#: Calendar schedules: numpy's unit, how many of them make a period, and the offset of its start. 1970-01-01 was a Thursday, weeks
#: begin on Mondays.
_PERIODS = {
    "hourly": ("h", 1, 0),
    "daily": ("D", 1, 0),
    "weekly": ("D", 7, 3),
    "monthly": ("M", 1, 0),
    "quarterly": ("M", 3, 0),
    "yearly": ("Y", 1, 0),
    # A week that begins on the day that is named: its first bar is that day's, or, on a holiday, that of the next session.
    **{day: ("D", 7, 3 - k) for k, day in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday"))},
}
_NAMES = ("once", *_PERIODS, "month-end", "session-close")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def is_schedule(text: str) -> bool:
    """Whether a text is the name of a schedule, or a time of day."""
    return text in _NAMES or _CLOCK.fullmatch(text) is not None


@dataclass
class Schedule:
    """Decides, bar by bar, whether to rebalance: the learner sees every bar, the portfolio follows it on some.

    The first bar always trades, except where the schedule is a time of day.

    Parameters
    ----------
    every : int or str, default 1
        A number of bars; or

        - "hourly", "daily", "weekly", "monthly", "quarterly", "yearly": on the first bar of each new period;
        - "monday" to "friday": on the first bar of that day; if it has none, on a holiday for example, on the next bar;
        - "month-end": on the first bar of the last session of each month, which is known beforehand: from the calendar of the
          exchange, or else it is the last weekday of the month. If that day has no bar, on the next bar;
        - "session-close": on the bar that ends with the session, at 13:00 on a half day. For bars shorter than a day, and by the
          calendar of the exchange. A session without a bar between its close and the next open is skipped;
        - "15:55", a time of day: on the first bar of each day at or after it. With a calendar, on a day that closes before, on
          the bar that ends with the session; without one, such a day is skipped;
        - "once": on the first bar only (and when the universe changes, which the caller has to check).
    calendar : str, optional
        Code of the exchange whose sessions count, such as XNYS; needs exchange_calendars. Schedules that are not about sessions
        go by the bars that come, and need none.

    Notes
    -----
    The date of a bar is when it ends, as in backtrader, in the local time of the exchange. :func:`datafeeds.stamped_at_end`
    turns bars that are dated by their start into such. Only dates up to the bar itself are looked at, never the next row of a
    file. Orders decided on the last session of a month fill as the fill mode says: at the close of that day, or at the next open,
    which is in the new month.
    """

    every: int | str = 1
    calendar: str | None = None
    _count: int = field(default=0, init=False, repr=False)
    _period: int | None = field(default=None, init=False, repr=False)
    _clock: int | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Accept numbers written as text, as they come from a command line."""
        if isinstance(self.every, str) and self.every.isdigit():
            self.every = int(self.every)
        if isinstance(self.every, Integral) and not isinstance(self.every, bool):
            self.every = int(self.every)
        known = isinstance(self.every, int) and not isinstance(self.every, bool) and self.every >= 1
        if not known and not (isinstance(self.every, str) and is_schedule(self.every)):
            raise ParameterError(
                f"rebalance={self.every!r} must be a number of bars >= 1, a time of day such as 15:55, or one of "
                f"{', '.join(_NAMES)}{_nearest(self.every)}"
            )
        clock = _CLOCK.fullmatch(self.every) if isinstance(self.every, str) else None
        self._clock = None if clock is None else 3600 * int(clock[1]) + 60 * int(clock[2])
        if self.every == "session-close" and self.calendar is None:
            raise ParameterError(
                "rebalance='session-close' needs the exchange whose sessions are meant: give calendar, such as XNYS, or use a "
                "time of day, such as rebalance='16:00'"
            )
        if self.calendar is not None:
            if not isinstance(self.calendar, str):
                raise ParameterError(f"calendar={self.calendar!r} must be the code of an exchange, such as XNYS, XTKS, XLON")
            try:  # an unknown exchange, or no package, is told before the first bar
                _last_sessions(self.calendar, 2020)
            except DataError as problem:
                raise ParameterError(f"calendar={self.calendar!r}: {problem}") from None

    def due(self, date: np.datetime64) -> bool:
        """Whether to trade on this bar. Call it once per bar, in order."""
        first = self._count == 0
        self._count += 1
        if isinstance(self.every, int):
            return (self._count - 1) % self.every == 0
        if self.every == "once":
            return first
        if self.every == "session-close" or self._clock is not None:
            return self._comes(self._moment(date))
        if self.every == "month-end":
            period = self._months_ended(date)
        else:
            unit, length, offset = _PERIODS[self.every]
            period = (_number(date, unit) + offset) // length
        turned, self._period = period != self._period, period
        return turned

    def _comes(self, moment: int | None) -> bool:
        """Whether a moment of a day has come that has not come before."""
        if moment is None or moment == self._period:
            return False
        self._period = moment
        return True

    def _moment(self, date: np.datetime64) -> int | None:
        """The close, or the day whose time has come, that this bar has reached, as a number of its own; None before."""
        now = _number(date, "s")
        if self._clock is not None:
            day, time = divmod(now, 86400)
            if time >= self._clock:
                return day
            close = None if self.calendar is None else _close_reached(self.calendar, now)
            return day if close is not None and close // 86400 == day else None
        assert self.calendar is not None
        return _close_reached(self.calendar, now)

    def check(self, dates: NDArray[np.datetime64], given: int | str | None = None) -> None:
        """Refuse a schedule that no bar of a run meets, if its dates are known beforehand, and return what it skips.

        `given` is how the user wrote a number of bars, such as "1y".

        Raises
        ------
        ParameterError
            No bar is at that time, at the close of a session, or in any session at all.
        """
        import numpy as np

        if isinstance(self.every, int):
            if self.every >= max(2, len(dates)):
                told = f"{given!r}, {self.every} bars," if isinstance(given, str) else self.every
                _say(f"rebalance={told} is as long as the data or longer, {len(dates)} bars: only the first bar trades")
            return
        if self.calendar is not None and len(dates) > 1 and np.median(np.diff(dates)) < np.timedelta64(5, "D"):
            self._check_sessions(dates)  # weeks and months may be dated by days on which nothing trades
        if self.every != "session-close" and self._clock is None:
            return
        days = dates.astype("datetime64[D]")
        turn = days[1:] != days[:-1]
        ends = dates[
            np.r_[True, turn] | np.r_[turn, True]
        ]  # first and last bars: a day at midnight ends with the first of the next
        reached = {moment for moment in map(self._moment, ends) if moment is not None}
        if not reached:
            latest = str(max(ends, key=lambda date: _number(date, "s") % 86400).astype("datetime64[m]"))[11:]
            raise ParameterError(
                f"rebalance={self.every!r} never happens: the latest bar of any day ends at {latest}; bars must be dated by "
                "their end, in local time of the exchange: use datafeeds.stamped_at_end if they are dated by their start"
            )
        if len(reached) < 1 + np.count_nonzero(turn):
            _say(
                f"rebalance={self.every!r} happens on {len(reached)} of {1 + np.count_nonzero(turn)} days: the others have no "
                "such bar"
            )

    def _check_sessions(self, dates: NDArray[np.datetime64]) -> None:
        """Refuse bars that are all outside the sessions of the calendar; say it of some."""
        from datafeeds.bar_length import moment
        from datafeeds.markets.sessions import outside_sessions

        assert self.calendar is not None
        outside = outside_sessions(self.calendar, dates)
        if outside.any():
            told = f"{outside.sum()} of {len(dates)} bars are outside the sessions of {self.calendar}, the first on "
            told += moment(dates[int(outside.argmax())])
            if outside.all():
                raise ParameterError(
                    f"{told}; dates must be in local time of the exchange: convert them, or choose another calendar"
                )
            _say(f"{told}; they are used like any other bar: remove them from the data if they should not be")

    def _months_ended(self, date: np.datetime64) -> int:
        """The latest month whose last session has come, counted from 1970."""
        month, day = _number(date, "M"), _number(date, "D")
        last = _last_weekday(month) if self.calendar is None else _last_sessions(self.calendar, 1970 + month // 12)[month % 12]
        return month if day >= last else month - 1


def _number(date: np.datetime64, unit: str) -> int:
    """Days, months or years since 1970."""
    return int(date.astype(f"datetime64[{unit}]").astype("int64"))


def _last_weekday(month: int) -> int:
    """The last Monday to Friday of a month, in days since 1970."""
    import numpy as np

    last = int(np.datetime64(month + 1, "M").astype("datetime64[D]").astype("int64")) - 1
    weekday = (last + 3) % 7  # 0 is Monday
    return last - max(0, weekday - 4)


def _close_reached(exchange: str, now: int) -> int | None:
    """The close of the latest session, in seconds since 1970 by local time, at which or after which it is; None from the next
    open on.
    """
    import numpy as np

    opens, closes = _hours(exchange, int(np.datetime64(now - 1, "s").astype("datetime64[Y]").astype("int64")) + 1970)
    k = bisect_right(closes, now)
    if not k or (now > closes[k - 1] and k < len(opens) and now >= opens[k]):
        return None
    return closes[k - 1]


@lru_cache(maxsize=64)
def _hours(exchange: str, year: int) -> tuple[list[int], list[int]]:
    """Opens and closes of the sessions of a year, in seconds since 1970 by local time."""
    from datafeeds.markets.sessions import session_hours

    opens, closes = session_hours(exchange, f"{year}-01-01", f"{year}-12-31")
    return opens.astype("int64").tolist(), closes.astype("int64").tolist()


@lru_cache(maxsize=256)
def _last_sessions(exchange: str, year: int) -> tuple[int, ...]:
    """The last session of an exchange in each month of a year, in days since 1970; the last weekday of a month without any."""
    import numpy as np

    from datafeeds.markets.sessions import expected_sessions

    sessions = expected_sessions(exchange, f"{year}-01-01", f"{year}-12-31")
    months, days = sessions.astype("datetime64[M]").astype(np.int64), sessions.astype(np.int64)
    first = 12 * (year - 1970)
    return tuple(int(days[months == m].max()) if (months == m).any() else _last_weekday(m) for m in range(first, first + 12))


def _say(what: str) -> None:
    warnings.warn(what, DataWarning, stacklevel=4)


def _nearest(given: object) -> str:
    """A question that completes the error, where a name is near."""
    from difflib import get_close_matches

    text = str(given).strip().lower().replace(" ", "-").replace("_", "-")
    starts = [name for name in _NAMES if text and name.startswith(text)]
    near = starts or get_close_matches(text, _NAMES, n=1)
    return f"; did you mean {' or '.join(near[:2])}?" if near else ""
