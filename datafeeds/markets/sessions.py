"""The days on which an exchange trades, and how a panel's dates agree with them. Needs exchange_calendars (extra `calendars`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds.calendars import calendar_of
from datafeeds.panel import MarketPanel

Days = NDArray[np.datetime64]


@dataclass(frozen=True)
class SessionReport:
    """A panel's dates against the calendar of an exchange, between the first and the last of them.

    Attributes
    ----------
    exchange : str
    bars : {"intraday", "daily", "weekly", "monthly"}
        What follows from the distance of the dates.
    expected : int
        Sessions; weeks or months with a session, for weekly and monthly bars.
    missing : tuple of ISO dates
        Sessions without a bar; for weekly and monthly bars the last session of each period without one.
    extra : tuple of ISO dates
        Bars on days on which the exchange is closed.
    early_closes : tuple of ISO dates
        Sessions that end before the usual hour. They are normal: volumes are small and intraday bars few.
    short_days : tuple of ISO dates
        For intraday bars: sessions of the usual length with fewer bars than usual.
    outside : tuple of ISO dates
        For intraday bars: days with bars that end before the open or after the close, in local time of the exchange.

    Examples
    --------
    >>> from datafeeds import check_sessions, load_sample
    >>> sorted(check_sessions(load_sample(), "XNYS").as_dict())[:3]
    ['bars', 'early_closes', 'exchange']
    """

    exchange: str
    bars: str
    expected: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    early_closes: tuple[str, ...]
    short_days: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    def __str__(self) -> str:
        what = "sessions" if self.bars == "intraday" else f"{self.bars} bars"
        parts = [f"{self.exchange}: {self.expected} {what} expected"]
        for what in ("missing", "extra", "early_closes", "short_days", "outside"):
            days: tuple[str, ...] = getattr(self, what)
            if days or what in ("missing", "extra"):
                shown = ", ".join(days[:5]) + (", ..." if len(days) > 5 else "")
                parts.append(f"{len(days)} {what.replace('_', ' ')}{f' ({shown})' if days else ''}")
        return "; ".join(parts)


def expected_sessions(exchange: str, first: Any, last: Any) -> Days:
    """(n,) days on which an exchange trades, from `first` to `last`, both included.

    Parameters
    ----------
    exchange : str
        Code of the exchange: XNYS, XTKS, XLON, ...
    first, last : date, datetime64 or ISO text

    Examples
    --------
    >>> from datafeeds import expected_sessions
    >>> expected_sessions("XNYS", "2024-01-01", "2024-01-05").astype("datetime64[D]").astype(str).tolist()
    ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05']
    """
    days = calendar_of(exchange, first, last).sessions.to_numpy().astype("datetime64[D]")
    return np.asarray(days[(days >= np.datetime64(first, "D")) & (days <= np.datetime64(last, "D"))])


def session_hours(exchange: str, first: Any, last: Any) -> tuple[Days, Days]:
    """Open and close of each session of an exchange from `first` to `last`, (n,) datetime64[s] each, in its local time.

    Early closes are as early as they are, and summer time is that of the date.

    >>> from datafeeds import session_hours
    >>> opens, closes = session_hours("XNYS", "2024-11-28", "2024-12-02")  # Thanksgiving, and the half day after it
    >>> closes.astype(str).tolist()
    ['2024-11-29T13:00:00', '2024-12-02T16:00:00']
    """
    calendar = calendar_of(exchange, first, last)
    days = calendar.sessions.to_numpy().astype("datetime64[D]")
    inside = (days >= np.datetime64(first, "D")) & (days <= np.datetime64(last, "D"))
    opens, closes = (
        getattr(calendar, part).dt.tz_convert(calendar.tz).dt.tz_localize(None).to_numpy().astype("datetime64[s]")[inside]
        for part in ("opens", "closes")
    )
    return opens, closes


def outside_sessions(exchange: str, dates: Days) -> NDArray[np.bool_]:
    """Which bars end outside the sessions of an exchange: from the open, which may have an auction, to the close is inside.

    Bars dated at midnight without a time stand for their day, unless an exchange that trades at midnight says otherwise.
    """
    days = dates.astype("datetime64[D]")
    if (days == dates).all():
        return np.asarray(~np.isin(days, expected_sessions(exchange, days[0], days[-1])))
    opens, closes = session_hours(exchange, days[0] - np.timedelta64(1, "D"), days[-1])
    last = np.searchsorted(opens, dates, side="right") - 1
    return np.asarray((last < 0) | (dates > closes[np.maximum(last, 0)]))


def check_sessions(panel: MarketPanel, exchange: str) -> SessionReport:
    """Compare the dates of a panel with the sessions of an exchange.

    Raises
    ------
    DataError
        The package is absent, the exchange unknown, or its calendar does not reach as far as the dates.

    Examples
    --------
    >>> from datafeeds import check_sessions, load_sample
    >>> check_sessions(load_sample(), "XNYS").exchange
    'XNYS'
    """
    dates = panel.dates.astype("datetime64[D]")
    have, counts = np.unique(dates, return_counts=True)
    sessions = expected_sessions(exchange, have[0], have[-1])
    calendar = calendar_of(exchange, have[0], have[-1])
    early = np.intersect1d(calendar.early_closes.to_numpy().astype("datetime64[D]"), sessions)
    length = panel.bar_length
    bars = "intraday" if length.intraday else {"day": "daily", "week": "weekly"}.get(length.unit, "monthly")
    short: Days = have[:0]
    if bars in ("weekly", "monthly"):
        period, wanted = _period(sessions, bars), _period(have, bars)
        ends = np.flatnonzero(np.r_[period[1:] != period[:-1], True])
        missing, expected = sessions[ends][~np.isin(period[ends], wanted)], len(ends)
    else:
        missing, expected = np.setdiff1d(sessions, have), len(sessions)
        short = have[(counts < np.median(counts)) & ~np.isin(have, early)]
    outside = np.unique(dates[outside_sessions(exchange, panel.dates)]) if bars == "intraday" else have[:0]
    texts = (tuple(map(str, days)) for days in (missing, np.setdiff1d(have, sessions), early, short, outside))
    return SessionReport(exchange, bars, expected, *texts)


def _period(days: Days, bars: str) -> NDArray[Any]:
    """A number per day that days of the same week (Monday to Sunday) or month share."""
    if bars == "monthly":
        return np.asarray(days.astype("datetime64[M]").astype(np.int64))
    return np.asarray((days.astype(np.int64) + 3) // 7)  # 1970-01-01 was a Thursday
