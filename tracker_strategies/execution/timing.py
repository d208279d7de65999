"""When to trade, and at which price an order decided at the close of bar t fills."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from numbers import Integral
from typing import TYPE_CHECKING

from tracker_strategies.errors import DataError, ParameterError

if TYPE_CHECKING:  # the command line reads the name of a fill mode before it loads anything
    import numpy as np

#: Calendar schedules: numpy's unit, how many of them make a period, and the offset of its start. 1970-01-01 was a Thursday, weeks
#: begin on Mondays.
_PERIODS = {
    "daily": ("D", 1, 0),
    "weekly": ("D", 7, 3),
    "monthly": ("M", 1, 0),
    "quarterly": ("M", 3, 0),
    "yearly": ("Y", 1, 0),
    # A week that begins on the day that is named: its first bar is that day's, or, on a holiday, that of the next session.
    **{day: ("D", 7, 3 - k) for k, day in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday"))},
}
_NAMES = ("once", *_PERIODS, "month-end")


class FillMode(StrEnum):
    """Three ways to fill, from honest to optimistic.

    next_open
        Shares are fixed at the close of bar t, the orders fill at the open of bar t+1, whatever it is. If the market gapped so
        that cash no longer suffices, the buys shrink by one common factor. The default.
    open
        Cheat-on-open: the weights are fixed at the close of bar t, but the shares are computed from the open of bar t+1, at which
        they fill. It assumes that the opening price is known a moment before it trades.
    close
        The orders fill at the close of bar t itself: the very prices from which the weights were learned. This is what the papers
        assume. It is look-ahead by intent; use it to compare with them, not to judge what can be earned.
    """

    NEXT_OPEN = "next_open"
    OPEN = "open"
    CLOSE = "close"

    @classmethod
    def parse(cls, name: str) -> FillMode:
        """The mode of that name."""
        try:
            return cls(name)
        except ValueError:
            raise ParameterError(
                f"fill={name!r} is unknown; choose next_open (honest), open or close (what the papers assume)"
            ) from None


@dataclass
class Schedule:
    """Says, bar by bar, whether to rebalance: the learner sees every bar, the portfolio follows on some. The first always trades.

    Parameters
    ----------
    every : int or str, default 1
        Every so many bars; or

        - "daily", "weekly", "monthly", "quarterly", "yearly": on the first bar of each new period;
        - "monday" to "friday": on the first bar of that day; where it has none, a holiday for example, on the next bar there is;
        - "month-end": on the first bar of the last session of each month, which is known beforehand: from the calendar of the
          exchange, or else the last weekday of the month counts. Where that day has no bar, on the next bar there is;
        - "once": on the first bar only (and when the universe changes, which is for the caller to say).
    calendar : str, optional
        Code of the exchange whose sessions count for "month-end", such as XNYS; needs exchange_calendars. The other schedules go
        by the bars that come, and need none.

    Notes
    -----
    Only dates up to the bar itself are looked at, never the next row of a file. Orders decided on the last session of a month
    fill as the fill mode says: at the close of that day, or at the next open, which is in the new month.
    """

    every: int | str = 1
    calendar: str | None = None
    _count: int = field(default=0, init=False, repr=False)
    _period: int | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Accept numbers written as text, as they come from a command line."""
        if isinstance(self.every, str) and self.every.isdigit():
            self.every = int(self.every)
        if isinstance(self.every, Integral) and not isinstance(self.every, bool):
            self.every = int(self.every)
        known = isinstance(self.every, int) and not isinstance(self.every, bool) and self.every >= 1
        if not known and self.every not in _NAMES:
            raise ParameterError(
                f"rebalance={self.every!r} must be a number of bars >= 1 or one of {', '.join(_NAMES)}{_nearest(self.every)}"
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
        if self.every == "month-end":
            period = self._months_ended(date)
        else:
            unit, length, offset = _PERIODS[self.every]
            period = (_number(date, unit) + offset) // length
        turned, self._period = period != self._period, period
        return turned

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


@lru_cache(maxsize=256)
def _last_sessions(exchange: str, year: int) -> tuple[int, ...]:
    """The last session of an exchange in each month of a year, in days since 1970; the last weekday of a month without any."""
    import numpy as np

    from datafeeds.markets.sessions import expected_sessions

    sessions = expected_sessions(exchange, f"{year}-01-01", f"{year}-12-31")
    months, days = sessions.astype("datetime64[M]").astype(np.int64), sessions.astype(np.int64)
    first = 12 * (year - 1970)
    return tuple(int(days[months == m].max()) if (months == m).any() else _last_weekday(m) for m in range(first, first + 12))


def _nearest(given: object) -> str:
    """A question that completes the error, where a name is near."""
    from difflib import get_close_matches

    text = str(given).strip().lower().replace(" ", "-").replace("_", "-")
    starts = [name for name in _NAMES if text and name.startswith(text)]
    near = starts or get_close_matches(text, _NAMES, n=1)
    return f"; did you mean {' or '.join(near[:2])}?" if near else ""
