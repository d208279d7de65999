"""Calendars of exchanges, from exchange_calendars (extra `calendars`)."""

from __future__ import annotations

import warnings
from typing import Any

from datafeeds.errors import DataError


def calendar_of(exchange: str, first: Any, last: Any) -> Any:
    """The calendar of an exchange, long enough for these days."""
    try:
        import exchange_calendars
        import pandas as pd
    except ImportError:
        raise DataError(
            "the sessions of an exchange need exchange_calendars: pip install 'backtrader-index-tracker[calendars]'"
        ) from None
    if exchange not in exchange_calendars.get_calendar_names():
        raise DataError(f"no calendar named {exchange!r}; use the code of an exchange, such as XNYS, XNAS, XTKS, XLON, XETR")
    problem: Exception | None = None
    for reach in (pd.Timedelta(0), pd.Timedelta(days=14)):  # a calendar needs a session, and these days may be holidays
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it uses parts of pandas that newer versions frown upon
                start, end = pd.Timestamp(first) - reach, pd.Timestamp(last) + reach
                return exchange_calendars.get_calendar(exchange, start=start, end=end)
        except (ValueError, exchange_calendars.errors.CalendarError) as error:
            problem = problem or error
    raise DataError(f"the calendar {exchange} does not cover {first} to {last}: {problem}")
