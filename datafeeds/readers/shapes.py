"""From a table to closes and bars: which names are series, which are the fields of bars, which rows are there twice.

A table may be wide (one column per series), or have two layers of names, fields and tickers in either order, as yfinance has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds.adjustment import Adjustment
from datafeeds.errors import DataError, UniverseError
from datafeeds.readers.bars import BarRows, Frames, adjusted_fields
from datafeeds.readers.reading import reading
from datafeeds.readers.words import FIELDS, field_layer, layers_of, part_of, plain_name

FloatArray = NDArray[np.float64]
Dates = NDArray[np.datetime64]
#: Together they are the bars of one ticker; alone each of them is the ticker of a company.
ONE_BAR = frozenset({"open", "high", "low", "close"})


def frames_of_columns(
    dates: Dates, names: Sequence[str], values: FloatArray, adjust: str = "split", *, bars: bool = False
) -> Frames:
    """Closes and the other parts of bars, as wide frames in order of dates.

    Parameters
    ----------
    dates : (T,) datetime64[ns]
        In any order; a row that stands twice is taken once.
    names : sequence of N str
    values : (N, T) float
        One row per column.
    adjust : {"split", "total", "raw"}
        As for long tables: "total" takes the adjusted close, where there is one.
    bars : bool, default False
        Whether plain columns may be the fields of one ticker.
    """
    mode = Adjustment.parse(adjust)
    pairs = layers_of(names)
    if pairs is None and not bars:
        check_no_bar(names)
    n_rows = len(dates)
    dates, values = in_order(dates, names, values)
    if len(dates) < 2 <= n_rows:
        raise DataError(f"only one date ({str(dates[0])[:10]}), {n_rows:,} times; a return needs at least two dates")
    if pairs is None:
        return _wide(dates, names, values), {}
    k = field_layer(pairs)
    symbols = list(dict.fromkeys(pair[1 - k] for pair in pairs))
    place = {name: i for i, name in enumerate(symbols)}
    shape = (len(dates), len(symbols))
    fields: dict[str, FloatArray] = {}
    ignored = []
    for pair, row in zip(pairs, values, strict=True):
        part = part_of(pair[k])
        if part not in FIELDS:
            ignored.append(pair[k])
            continue
        fields.setdefault(part, np.full(shape, np.nan))[:, place[pair[1 - k]]] = row
    reading().say("fields and tickers in two levels")
    if ignored:
        reading().say(f"{', '.join(dict.fromkeys(ignored))} left out")
    fields.setdefault("close", fields.get("adj_close", np.empty(0)))
    adjusted = fields.pop("adj_close", None)
    if adjusted is not None and mode is Adjustment.TOTAL:
        rows = BarRows(np.repeat(dates, len(symbols)), tuple(symbols), np.tile(np.arange(len(symbols)), len(dates)), {})
        flat = {name: table.ravel() for name, table in fields.items()}
        fields = {n: table.reshape(shape) for n, table in adjusted_fields(rows, flat, adjusted.ravel()).items()}
    lone = np.isnan(fields["close"])
    for name, table in fields.items():
        if name != "close":
            table[lone] = np.nan  # a row without a close is no bar
    empty = lone.all(axis=0)
    if empty.all():
        raise DataError("no ticker has a close; the columns of prices are empty")
    wide = {name: pd.DataFrame(table, index=pd.DatetimeIndex(dates), columns=pd.Index(symbols, dtype=object), copy=False)
            for name, table in fields.items()}  # fmt: skip
    keep = np.asarray(~lone.all(axis=1))  # dates on which nothing traded, as a download of several markets has them
    if not keep.all():
        wide = {name: frame.loc[keep] for name, frame in wide.items()}
    return wide.pop("close"), wide


def check_no_bar(names: Sequence[str]) -> None:
    """Refuse the fields of one ticker: as series, they would be bought and sold."""
    if {plain_name(name) for name in names} >= ONE_BAR:
        told = ", ".join(name for name in names if plain_name(name) in ONE_BAR)
        raise UniverseError(
            f"the columns {told} are the fields of one ticker, not series; put its file into a folder with one file per ticker, "
            "or give it with --index-file if it is the index (if OPEN, HIGH, LOW and CLOSE are tickers, "
            "remove one of them from the file)"
        )


def in_order(dates: Dates, names: Sequence[str], values: FloatArray) -> tuple[Dates, FloatArray]:
    """Rows in order of their dates, each once.

    Raises
    ------
    DataError
        Two rows of one date differ.
    """
    if len(dates) < 2 or (dates[1:] > dates[:-1]).all():
        return dates, values
    order = np.argsort(dates, kind="stable")
    if (order[1:] < order[:-1]).any():
        reading().say("rows sorted by date")
    dates, values = dates[order], values[:, order]
    again = np.flatnonzero(dates[1:] == dates[:-1]) + 1
    if again.size:
        a, b = values[:, again], values[:, again - 1]
        other = (a != b) & ~(np.isnan(a) & np.isnan(b))
        if other.any():
            i, r = np.argwhere(other)[0].tolist()
            day = str(dates[again[r]].astype("datetime64[m]")).replace("T00:00", "")
            raise DataError(
                f"date {day} appears twice with different values ({names[i]}: {b[i, r]:g} and {a[i, r]:g}); keep one row per date"
            )
        reading().say(f"{again.size} identical row{'s' if again.size > 1 else ''} dropped")
        dates, values = np.delete(dates, again), np.delete(values, again, axis=1)
    return dates, values


def _wide(dates: Dates, names: Sequence[str], values: FloatArray) -> pd.DataFrame:
    return pd.DataFrame(values.T, index=pd.DatetimeIndex(dates), columns=pd.Index(list(names), dtype=object), copy=False)
