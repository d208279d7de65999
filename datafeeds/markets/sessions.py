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
        What the distance of the dates says.
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
    """

    exchange: str
    bars: str
    expected: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    early_closes: tuple[str, ...]
    short_days: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    def __str__(self) -> str:
        parts = [f"{self.exchange}: {self.expected} {self.bars} bars expected"]
        for what in ("missing", "extra", "early_closes", "short_days"):
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
    """
    days = calendar_of(exchange, first, last).sessions.to_numpy().astype("datetime64[D]")
    return np.asarray(days[(days >= np.datetime64(first, "D")) & (days <= np.datetime64(last, "D"))])


def check_sessions(panel: MarketPanel, exchange: str) -> SessionReport:
    """Compare the dates of a panel with the sessions of an exchange.

    Raises
    ------
    DataError
        The package is absent, the exchange unknown, or its calendar does not reach as far as the dates.
    """
    dates = panel.dates.astype("datetime64[D]")
    have, counts = np.unique(dates, return_counts=True)
    sessions = expected_sessions(exchange, have[0], have[-1])
    calendar = calendar_of(exchange, have[0], have[-1])
    early = np.intersect1d(calendar.early_closes.to_numpy().astype("datetime64[D]"), sessions)
    a_year = panel.periods_per_year
    bars = "intraday" if a_year > 252 else "daily" if a_year == 252 else "weekly" if a_year == 52 else "monthly"
    short: Days = have[:0]
    if bars in ("weekly", "monthly"):
        period, wanted = _period(sessions, bars), _period(have, bars)
        ends = np.flatnonzero(np.r_[period[1:] != period[:-1], True])
        missing, expected = sessions[ends][~np.isin(period[ends], wanted)], len(ends)
    else:
        missing, expected = np.setdiff1d(sessions, have), len(sessions)
        short = have[(counts < np.median(counts)) & ~np.isin(have, early)]
    texts = (tuple(map(str, days)) for days in (missing, np.setdiff1d(have, sessions), early, short))
    return SessionReport(exchange, bars, expected, *texts)


def _period(days: Days, bars: str) -> NDArray[Any]:
    """A number per day that days of the same week (Monday to Sunday) or month share."""
    if bars == "monthly":
        return np.asarray(days.astype("datetime64[M]").astype(np.int64))
    return np.asarray((days.astype(np.int64) + 3) // 7)  # 1970-01-01 was a Thursday
