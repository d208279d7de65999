"""Stamps with a time zone as sessions: the date on the exchange, or in the stamps' own zone when no exchange was named."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from datafeeds.calendars import calendar_of
from datafeeds.errors import DataError
from datafeeds.readers.headers import shorten
from datafeeds.readers.reading import reading

ZONE = re.compile(r"(?:[ T]\d.*[+-]\d{2}(?::?\d{2})?|\dZ|UTC|GMT)$", re.IGNORECASE)
_SUFFIX = re.compile(r"\s*(?:[+-]\d{2}(?::?\d{2})?|Z|UTC|GMT)$", re.IGNORECASE)
#: So many days of stamps show which weekdays a market trades on.
ENOUGH = 15


def sessions_of_times(column: Any, name: str) -> pd.Series:
    """Of an arrow column of timestamps with a zone."""
    try:
        times = pd.Series(column.to_pandas())
    except Exception:  # of a zone that nobody knows
        raise DataError(f"dates in column {name!r} carry the time zone {column.type.tz}, which is unknown; drop it") from None
    if times.isna().any():
        raise DataError(f"row {int(np.argmax(times.isna())) + 1} has no date in column {name!r}; fill it or delete the row")
    return sessions_of_stamps(times, str(column.type.tz), name)


def sessions_of_stamps(times: pd.Series, zone: str, name: str) -> pd.Series:
    """Of a pandas series with a zone."""
    exchange = reading().calendar
    return _sessions(times.dt.tz_localize(None) if exchange is None else _on_the_exchange(times, exchange), zone, name)


def sessions_of_texts(text: pd.Series, name: str) -> pd.Series:
    """Of texts that all end with a zone or its distance from Greenwich."""
    bare = pd.to_datetime(text.str.replace(_SUFFIX, "", regex=True), format="ISO8601", errors="coerce")
    times = pd.to_datetime(
        text.str.replace(r"\s*(?:UTC|GMT)$", "Z", regex=True, case=False), utc=True, format="ISO8601", errors="coerce"
    )
    wrong = bare.isna() | times.isna()
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"row {row + 1} of the date column {name!r} reads {shorten(text[row])}, which is not a date with a time zone"
        )
    exchange = reading().calendar
    zone = str(_SUFFIX.search(text[0])[0]).strip()  # type: ignore[index]
    return _sessions(bare if exchange is None else _on_the_exchange(times, exchange), zone, name)


def _on_the_exchange(times: pd.Series, exchange: str) -> pd.Series:
    zone = calendar_of(exchange, times.min().date(), times.max().date()).tz
    return pd.Series(times.dt.tz_convert(zone).dt.tz_localize(None))


def _sessions(local: pd.Series, zone: str, name: str) -> pd.Series:
    """Dates, when there is one stamp per day; the times of day are kept where there are several."""
    exchange, days = reading().calendar, local.dt.normalize()
    weekdays = set(days.dt.weekday)
    if exchange is None and days.nunique() >= ENOUGH and weekdays & {5, 6} and not weekdays >= set(range(5)):
        row = int(np.argmax(days.dt.weekday >= 5))
        raise DataError(
            f"stamps of column {name!r} carry the time zone {zone}, in which row {row + 1} is a {days.iloc[row].day_name()}: not "
            "the zone of their exchange; name the exchange with --calendar, such as XTKS (in Python calendar=)"
        )
    where = f"sessions of {exchange}" if exchange else f"dates in the stamps' own zone ({zone}; --calendar names an exchange)"
    intraday = days.nunique() < local.nunique()
    reading().say(f"stamps with a time zone as {where.replace('sessions', 'times') if intraday and exchange else where}")
    return local if intraday else days
