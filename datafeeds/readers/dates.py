"""Dates of a file: forms that mean one day to everybody, and those in which the whole column says which of two it is.

Stamps with a time zone become sessions: dates on the exchange, or in the stamps' own zone when no exchange was named.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from datafeeds.calendars import calendar_of
from datafeeds.errors import DataError
from datafeeds.readers.heads.headers import shorten
from datafeeds.readers.reading import ambiguous, reading

Days = NDArray[np.datetime64]

ZONE = re.compile(r"(?:[ T]\d.*[+-]\d{2}(?::?\d{2})?|\dZ|UTC|GMT)$", re.IGNORECASE)
_SUFFIX = re.compile(r"\s*(?:[+-]\d{2}(?::?\d{2})?|Z|UTC|GMT)$", re.IGNORECASE)
#: So many days of stamps show which weekdays a market trades on.
ENOUGH = 15
COMPACT = re.compile(r"(?:1[6-9]|2[0-2])\d{2}[01]\d[0-3]\d$")
NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$")
#: Three numbers with the same sign between them, and perhaps a time of day.
THREE = r"^(\d{1,4})([/.\-])(\d{1,2})\2(\d{1,4})(?:[ T]+(\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?$"
#: With the name of the month.
NAMED = ("%d-%b-%Y", "%d %b %Y", "%d/%b/%Y", "%d-%B-%Y", "%d %B %Y", "%b %d, %Y", "%b %d %Y", "%B %d, %Y", "%B %d %Y")
NAMED_SHORT = {"dmy": ("%d-%b-%y", "%d %b %y", "%d/%b/%y"), "mdy": ("%b-%d-%y", "%b %d %y"), "ymd": ("%y-%b-%d", "%y %b %d")}
ADVICE = "write dates as YYYY-MM-DD"
ROWS_AT_ONCE = 200_000
SAID = {"dmy": "day first", "mdy": "month first", "ymd": "year first"}


def parse_dates(column: Any, name: str) -> Days:
    """Naive datetime64[ns] of the date column of a file, or a :class:`DataError` that shows the first cell it cannot take.

    Taken are ISO dates with or without a time of day (2024-03-28, 2024/03/28, 20240328, 2024-03-28 16:00), the date types of
    Parquet, names of months (28 Mar 2024), and three numbers with the day or the month first: the whole column tells which, or
    ``dates`` of :class:`~datafeeds.readers.reading.Reading`. Stamps with a time zone become sessions.
    """
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return _in_range(_sessions_of_times(column, name), name, 0)
    parts = range(0, max(len(column), 1), ROWS_AT_ONCE)  # as texts, dates take ten times the memory
    found: list[Days] = []
    for first in parts:
        part = _parse(column.slice(first, ROWS_AT_ONCE), name, first)
        if part is None:
            return _in_range(_by_the_column(_texts(column, name, 0), name), name, 0)
        found.append(part)
    return np.concatenate(found)


def _parse(column: Any, name: str, first: int) -> Days | None:
    """Some rows of the column, the first of which has this number; None when only the whole column can tell what they mean."""
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        if pa.types.is_date(kind):
            column = column.cast(pa.timestamp("s"))
        return _in_range(pd.Series(column.to_numpy()), name, first)
    text = _texts(column, name, first)
    if text.str.contains(ZONE).any():
        return None
    days = pd.to_datetime(text, format="ISO8601", errors="coerce")
    return None if days.isna().any() else _in_range(days, name, first)


def _texts(column: Any, name: str, first: int) -> pd.Series:
    """The cells as texts, none of them empty, and none of them a plain number."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        column = pa.chunked_array([pa.array([None if cell is None else str(cell) for cell in column.to_pylist()], pa.string())])
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(f"the date column {name!r} has the type {kind}; {ADVICE}")
    cells = pd.Series(column.to_pylist(), dtype=object)
    missing = cells.isna()
    text = cells.where(~missing, "").astype(str).str.strip()
    missing |= text == ""
    if missing.any():
        raise DataError(f"row {first + int(np.argmax(missing)) + 1} has no date in column {name!r}; fill it or delete the row")
    number = text.str.match(NUMBER) & ~text.str.match(COMPACT)
    if number.any():
        row = int(np.argmax(number))
        raise DataError(
            f"the first column {name!r} holds {'numbers' if number.all() else 'a number'}, not dates "
            f"(row {first + row + 1} reads {shorten(text[row])}); "
            f"the first column must be the date of the bar: {ADVICE}, and add such a column if the file only numbers its rows"
        )
    return text


def _by_the_column(text: pd.Series, name: str) -> pd.Series:
    """Dates in a form that needs the whole column."""
    zoned = text.str.contains(ZONE)
    if zoned.any():
        if not zoned.all():
            row = int(np.argmax(zoned))
            raise DataError(
                f"row {row + 1} of column {name!r} carries a time zone, {shorten(text[row])}, and row "
                f"{int(np.argmin(zoned)) + 1} has none; write all timestamps with their time zone, or {ADVICE}"
            )
        return _sessions_of_texts(text, name)
    three = text.str.extract(THREE).drop(columns=1).set_axis(range(4), axis=1)
    if three[0].notna().all() and (three[0].str.len() == 4).nunique() == 1:
        return _from_numbers(text, three, name)
    for form in (*NAMED, *NAMED_SHORT.get(reading().dates or "", ())):
        days = pd.to_datetime(text, format=form, errors="coerce")
        if days.notna().all():
            return days
    iso = pd.to_datetime(text, format="ISO8601", errors="coerce").notna()
    row = int(np.argmin(iso | three[0].notna())) if not (iso | three[0].notna()).all() else int(np.argmin(iso))
    others = "other rows use another format; " if row or iso.any() else ""
    raise DataError(
        f"row {row + 1} of the date column {name!r} reads {shorten(text[row])}, which is not a date; {others}{ADVICE}"
    )


def _from_numbers(text: pd.Series, three: pd.DataFrame, name: str) -> pd.Series:
    """Day, month and year as numbers, in the order that was asked for or that all rows fit."""
    digits = [three[i].str.len() for i in range(3)]
    a, b, c = (three[i].astype(int) for i in range(3))
    order = reading().dates
    if (digits[0] == 4).all():
        order = "ymd"
    elif order is None:
        order = _order(text, a, b, digits[2] == 4, name)
    places = {"dmy": (c, b, a), "mdy": (c, a, b), "ymd": (a, b, c)}[order]
    year = places[0].where(places[0] >= 100, places[0] + np.where(places[0] < 69, 2000, 1900))
    time = three[3].fillna("00:00").str.zfill(5)
    fits = (places[1] <= 12) & (places[2] <= 31)
    iso = year.astype(str).str.zfill(4) + "-" + places[1].astype(str).str.zfill(2) + "-" + places[2].astype(str).str.zfill(2)
    days = pd.to_datetime((iso + " " + time).where(fits), format="ISO8601", errors="coerce")
    if days.isna().any():
        row = int(np.argmax(days.isna()))
        told = f"with the {SAID[order]}, which " + ("was asked for" if reading().dates else "other rows need")
        raise DataError(
            f"row {row + 1} of the date column {name!r} reads {shorten(text[row])}, which is not a date {told}; {ADVICE}"
        )
    if order != "ymd" and not reading().dates:
        reading().say(SAID[order])
    return days


def _order(text: pd.Series, a: pd.Series, b: pd.Series, years: pd.Series, name: str) -> str:
    """Whether the day or the month stands first, when the last number is the year."""
    if not years.all():
        row = int(np.argmin(years))
        raise ambiguous(
            f"the date {shorten(text[row])} in row {row + 1} is ambiguous (which number is the year?); give the order with "
            f"--dates dmy, mdy or ymd (in Python dates=), or {ADVICE}",
            "dates",
        )
    day_first, month_first = bool((a > 12).any()), bool((b > 12).any())
    if day_first and month_first:
        rows = int(np.argmax(a > 12)), int(np.argmax(b > 12))
        raise DataError(
            f"column {name!r} has the day first in row {rows[0] + 1} ({shorten(text[rows[0]])}) and the month first in row "
            f"{rows[1] + 1} ({shorten(text[rows[1]])}); {ADVICE}"
        )
    if not day_first and not month_first and not (a == b).all():
        row = int(np.argmax(a != b))
        raise ambiguous(
            f"the date {shorten(text[row])} in row {row + 1} is ambiguous (day or month first?), and so is every other row; "
            f"give the order with --dates dmy or --dates mdy (in Python dates=), or {ADVICE}",
            "dates",
        )
    return "dmy" if day_first else "mdy"


def _in_range(days: pd.Series, name: str, first: int) -> Days:
    """Cast to nanoseconds, which reach from 1677 to 2262; numpy would wrap around silently beyond."""
    if days.isna().any():
        raise DataError(
            f"row {first + int(np.argmax(days.isna())) + 1} has no date in column {name!r}; fill it or delete the row"
        )
    years = days.dt.year.to_numpy()
    far = (years < 1678) | (years > 2261)
    if far.any():
        row = int(np.argmax(far))
        raise DataError(f"row {first + row + 1} has the date {days.iloc[row]}, outside the years 1678 to 2261; {ADVICE}")
    return days.to_numpy().astype("datetime64[ns]")


# -- time zones ----------


def _sessions_of_times(column: Any, name: str) -> pd.Series:
    """Of an arrow column of timestamps with a zone."""
    try:
        times = pd.Series(column.to_pandas())
    except Exception:  # of a zone that nobody knows
        raise DataError(f"dates in column {name!r} carry the time zone {column.type.tz}, which is unknown; remove it") from None
    if times.isna().any():
        raise DataError(f"row {int(np.argmax(times.isna())) + 1} has no date in column {name!r}; fill it or delete the row")
    exchange = reading().calendar
    local = times.dt.tz_localize(None) if exchange is None else _on_the_exchange(times, exchange)
    return _sessions(local, str(column.type.tz), name)


def _sessions_of_texts(text: pd.Series, name: str) -> pd.Series:
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
    weekdays = set(days.dt.day_of_week)
    if exchange is None and days.nunique() >= ENOUGH and weekdays & {5, 6} and not weekdays >= set(range(5)):
        row = int(np.argmax(days.dt.day_of_week >= 5))
        raise DataError(
            f"timestamps of column {name!r} carry the time zone {zone}, in which row {row + 1} is a {days.iloc[row].day_name()}: "
            "this is not the zone of the exchange; name the exchange with --calendar, such as XTKS (in Python calendar=)"
        )
    where = f"sessions of {exchange}" if exchange else f"dates in the stamps' own zone ({zone}; --calendar names an exchange)"
    intraday = days.nunique() < local.nunique()
    reading().say(f"stamps with a time zone as {where.replace('sessions', 'times') if intraday and exchange else where}")
    return local if intraday else days
