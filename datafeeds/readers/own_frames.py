"""Frames that somebody has in memory already: wide, long, as yfinance downloads them, or one per ticker."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from datafeeds.adjustment import Adjustment
from datafeeds.checks import first_text
from datafeeds.errors import DataError, UniverseError
from datafeeds.readers.bars import BarRows, Frames, frames_of, stack
from datafeeds.readers.dates import parse_dates
from datafeeds.readers.shapes import frames_of_columns
from datafeeds.readers.words import FIELDS, are_fields, is_long_header, part_of, parts_of

FloatArray = NDArray[np.float64]


def frames_in_memory(prices: pd.DataFrame | pd.Series | Mapping[str, Any], adjust: str = "split") -> Frames:
    """Closes and the other parts of bars of what a user brings; the reader of files does the rest alike.

    Parameters
    ----------
    prices : DataFrame, Series, or mapping
        A wide frame (dates as the index, or in a column of that name), one with two layers of columns, a long one, or a mapping
        of tickers to frames or series, or of fields to wide frames.
    """
    if isinstance(prices, pd.DataFrame):
        return _of_frame(prices, adjust)
    if isinstance(prices, pd.Series):
        return _of_frame(prices.to_frame(prices.name if prices.name is not None else "INDEX"), adjust)
    if not prices:
        raise DataError("the mapping of frames is empty; give at least one")
    odd = [type(value).__name__ for value in prices.values() if not isinstance(value, pd.DataFrame | pd.Series)]
    if odd:
        raise DataError(f"a mapping of names to DataFrames or Series is needed, got {odd[0]}")
    by_field = are_fields(map(str, prices)) and all(isinstance(value, pd.DataFrame) for value in prices.values())
    return _of_fields(prices, adjust) if by_field else _of_tickers(prices, adjust)


def _of_fields(frames: Mapping[str, pd.DataFrame], adjust: str) -> Frames:
    parts = []
    for field, frame in frames.items():
        if part_of(str(field)) in FIELDS:
            closes = _of_frame(frame, "split")[0]
            parts.append(closes.set_axis(pd.MultiIndex.from_tuples([(str(field), str(c)) for c in closes.columns]), axis=1))
    return _of_frame(pd.concat(parts, axis=1), adjust)


def _of_tickers(frames: Mapping[str, Any], adjust: str) -> Frames:
    mode, rows = Adjustment.parse(adjust), []
    for ticker, own in frames.items():
        frame = _flat(own.to_frame("close") if isinstance(own, pd.Series) else own)
        dates, names, columns = _dated(frame, str(ticker))
        parts = {part: name for part, name in parts_of(names).items() if part in FIELDS}
        if not {"close", "adj_close"} & set(parts):
            if len(names) != 1:
                raise DataError(
                    f"{ticker}: no column 'close' among {', '.join(names[:8])}; name the column of closing prices 'close'"
                )
            parts = {"close": names[0]}
        fields = {part: columns[names.index(name)] for part, name in parts.items()}
        fields.setdefault("close", fields.get("adj_close", np.empty(0)))
        rows.append(BarRows(dates, (str(ticker),), np.zeros(len(dates), dtype=np.int64), fields))
    return frames_of(stack(rows), mode)


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame of one ticker without the layer that holds its name."""
    if frame.columns.nlevels != 2:
        return frame
    layer = next((k for k in (0, 1) if are_fields(map(str, frame.columns.get_level_values(k)))), None)
    return frame if layer is None else frame.set_axis(frame.columns.get_level_values(layer), axis=1)


def _of_frame(frame: pd.DataFrame, adjust: str) -> Frames:
    if frame.index.nlevels > 1:
        frame = frame.reset_index()
    if frame.columns.nlevels == 1 and is_long_header([str(name) for name in frame.columns]):
        return _of_long(frame, adjust)
    dates, names, values = _dated(frame, "the frame")
    return frames_of_columns(dates, names, values, adjust)


def _of_long(frame: pd.DataFrame, adjust: str) -> Frames:
    parts = parts_of(str(name) for name in frame.columns)
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    names = frame[parts["symbol"]].astype(str).str.strip()
    which, symbols = pd.factorize(names)
    fields = {part: _numbers(frame[name], name) for part, name in parts.items() if part in FIELDS}
    fields.setdefault("close", fields.get("adj_close", np.empty(0)))
    dates = _dates(frame[parts["date"]], parts["date"])
    rows = BarRows(dates, tuple(map(str, symbols)), np.asarray(which, dtype=np.int64), fields)
    return frames_of(rows, Adjustment.parse(adjust))


def _dated(frame: pd.DataFrame, what: str) -> tuple[NDArray[np.datetime64], list[str], FloatArray]:
    """Dates of a frame, names of the other columns, and their values, (N, T)."""
    keys: list[Any] = list(frame.columns)
    column = None
    if not isinstance(frame.index, pd.DatetimeIndex | pd.PeriodIndex) and pd.api.types.is_integer_dtype(frame.index.dtype):
        column = next(
            (i for i, key in enumerate(keys) if part_of(str(key[0] if isinstance(key, tuple) else key)) == "date"), None
        )
    dates = pd.Series(frame.index) if column is None else frame.iloc[:, column].reset_index(drop=True)
    days = _dates(dates, str(frame.index.name or "date"))
    others = [i for i in range(len(keys)) if i != column]
    if not len(frame) or not others:
        raise DataError(f"{what} has {len(others)} columns and {len(frame)} rows; it needs dates and one column per series")
    names = [_name(keys[i]) for i in others]
    twice = pd.Index(names)
    if twice.has_duplicates:
        raise UniverseError(f"column {twice[twice.duplicated()][0]!r} appears twice; keep one")
    return days, names, np.stack([_numbers(frame.iloc[:, i], names[k]) for k, i in enumerate(others)])


def _name(key: Any) -> str:
    """A column's name as files have it: layers as a tuple of texts."""
    if not isinstance(key, tuple):
        return str(key).strip()
    parts = [str(part).strip() for part in key]
    return parts[0] if not any(parts[1:]) else str(tuple(parts))


def _dates(series: pd.Series, name: str) -> NDArray[np.datetime64]:
    if isinstance(series.dtype, pd.PeriodDtype):
        series = series.dt.to_timestamp()
    try:
        column = pa.chunked_array([pa.Array.from_pandas(series)])
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"the dates cannot be read ({error}); use a DatetimeIndex") from None
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        raise DataError(f"the index must hold dates, not {series.dtype}; parse the first column as dates")
    return parse_dates(column, name)


def _numbers(column: pd.Series, name: str) -> FloatArray:
    if pd.api.types.is_complex_dtype(column.dtype):
        raise DataError(f"column {name!r} holds complex numbers; prices are real")
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        if column.isna().all():
            return np.full(len(column), np.nan)
        if all(isinstance(cell, Real | Decimal) and not isinstance(cell, bool) for cell in column.dropna()):
            return np.array([float(cell) for cell in column.fillna(np.nan)])  # a column that could have held anything
        raise DataError(f"column {name!r} holds text, not numbers: {first_text(column)}")
    return column.to_numpy(dtype=np.float64, na_value=np.nan)
