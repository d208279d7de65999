"""Dates of a wide file: only forms that mean one day to everybody."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from datafeeds.errors import DataError
from datafeeds.readers.csv_text import shorten

ZONE = re.compile(r"(?:[ T]\d.*[+-]\d{2}(?::?\d{2})?|\dZ|UTC|GMT)$", re.IGNORECASE)
COMPACT = re.compile(r"(?:1[6-9]|2[0-2])\d{2}[01]\d[0-3]\d$")
NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$")
DAY_OR_MONTH = re.compile(r"(\d{1,2})[/.\-](\d{1,2})[/.\-](?:\d{4}|\d{2})(?:[ T].*)?$")
ADVICE = "write dates as YYYY-MM-DD"
ROWS_AT_ONCE = 200_000


def parse_dates(column: Any, name: str) -> NDArray[np.datetime64]:
    """Naive datetime64[ns] of the date column of a file, or a :class:`DataError` that shows the first cell it cannot take.

    Taken are ISO dates with or without a time of day (2024-03-28, 2024/03/28, 20240328, 2024-03-28 16:00) and the date types of
    Parquet.
    """
    parts = range(0, max(len(column), 1), ROWS_AT_ONCE)  # as texts, dates take ten times the memory
    return np.concatenate([_parse(column.slice(first, ROWS_AT_ONCE), name, first) for first in parts])


def _parse(column: Any, name: str, first: int) -> NDArray[np.datetime64]:
    """Some rows of the column, the first of which has this number."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        raise DataError(
            f"dates in column {name!r} carry the time zone {kind.tz}; drop it with .tz_localize(None), session dates have none"
        )
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        if pa.types.is_date(kind):
            column = column.cast(pa.timestamp("s"))
        return _in_range(pd.Series(column.to_numpy()), name, first)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        column = pa.chunked_array([pa.array([None if cell is None else str(cell) for cell in column.to_pylist()], pa.string())])
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(f"the date column {name!r} has the type {kind}; {ADVICE}")
    return _from_text(pd.Series(column.to_pylist(), dtype=object), name, first)


def _from_text(cells: pd.Series, name: str, first: int) -> NDArray[np.datetime64]:
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
            f"the first column must be the date of the bar: {ADVICE}, and add such a column if the file only counts its rows"
        )
    zoned = text.str.contains(ZONE)
    if zoned.any():
        row = int(np.argmax(zoned))
        told = f"row {first + row + 1} of column {name!r} carries a time zone: {shorten(text[row])}"
        raise DataError(f"{told}; session dates have none: {ADVICE}")
    days = pd.to_datetime(text, format="ISO8601", errors="coerce")
    if days.isna().any():
        row = int(np.argmax(days.isna()))
        cell = text[row]
        ambiguous = DAY_OR_MONTH.match(cell)
        if ambiguous and max(int(ambiguous[1]), int(ambiguous[2])) <= 12 and ambiguous[1] != ambiguous[2]:
            raise DataError(f"the date {shorten(cell)} in row {first + row + 1} is ambiguous (day or month first?); {ADVICE}")
        raise DataError(f"row {first + row + 1} of the date column {name!r} reads {shorten(cell)}, which is not a date; {ADVICE}")
    return _in_range(days, name, first)


def _in_range(days: pd.Series, name: str, first: int) -> NDArray[np.datetime64]:
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
