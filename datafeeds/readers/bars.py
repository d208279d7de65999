"""Bars as rows of (date, name, prices), in any order, and the wide frames that a panel is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds.adjustment import Adjustment
from datafeeds.errors import DataError, TrackerError
from datafeeds.readers.columns import date_column, dates_of, header_of, names_of, read_columns
from datafeeds.readers.limits import limits
from datafeeds.readers.reading import reading
from datafeeds.readers.words import FIELDS, field_layer, layers_of, part_of, parts_of

FloatArray = NDArray[np.float64]
Frames = tuple[pd.DataFrame, dict[str, pd.DataFrame]]


@dataclass(frozen=True, eq=False)
class BarRows:
    """R bars of N names, unchecked.

    Parameters
    ----------
    dates : (R,) datetime64[ns]
    names : tuple of N str
    which : (R,) int
        Place of each row's name among `names`.
    fields : mapping of "close" and any of "open", "high", "low", "adj_close", "volume" to (R,) float
    """

    dates: NDArray[np.datetime64]
    names: tuple[str, ...]
    which: NDArray[np.int64]
    fields: dict[str, FloatArray]


def read_rows(file: Path, symbol: str | None = None) -> BarRows:
    """The bars of a file: of one name, when it is given, or of those that stand in the file's own column of names."""
    header = header_of(file)
    parts = parts_of(header) if symbol is None else _parts_of_one(header)
    columns = {part: parts[part] for part in FIELDS if part in parts}
    if not header:
        read_columns(file, {})  # says what is wrong with it
    date = date_column(file, header)
    _check_period(file, header)
    if symbol is not None and not {"close", "adj_close"} & set(columns):
        others = [name for name in header if name != date]
        if len(others) != 1:
            raise DataError(f"no column 'close' among {', '.join(header[:8])}; name the column of closing prices 'close'")
        columns = {"close": others[0]}
    wanted = {"date": date, **columns} | ({} if symbol is not None else {"symbol": parts["symbol"]})
    table = read_columns(file, wanted, frozenset(FIELDS))
    fields = {part: table[part].to_numpy().astype(np.float64, copy=False) for part in columns}
    if "close" not in fields:
        fields["close"] = fields["adj_close"]
    dates = dates_of(table["date"], wanted["date"])
    if symbol is not None:
        return BarRows(dates, (symbol,), np.zeros(len(dates), dtype=np.int64), fields)
    which, names = names_of(table["symbol"], wanted["symbol"])
    return BarRows(dates, tuple(names), which, fields)


def _parts_of_one(header: list[str]) -> dict[str, str]:
    """Parts of a file of one ticker; yfinance writes its name into a second layer of the header."""
    if len(header) < 2 or not all(name.startswith("(") for name in header[1:]):
        return parts_of(header)
    pairs = layers_of(header[1:]) or []
    k = field_layer(pairs)
    if len({pair[1 - k] for pair in pairs}) > 1:
        found = len({pair[1 - k] for pair in pairs})
        raise DataError(f"it has {found} tickers; in a folder, each file must have one ticker: give this file alone")
    return {str(part_of(pair[k])): name for name, pair in zip(header[1:], pairs, strict=True) if part_of(pair[k]) in FIELDS}


def one_ticker(header: list[str]) -> bool:
    """Whether a table holds the bars of one ticker: a close, and no column of names."""
    try:
        return "close" in _parts_of_one(header) and "symbol" not in parts_of(header)
    except TrackerError:
        return False


def _check_period(file: Path, header: list[str]) -> None:
    """Refuse the intraday bars of Stooq: their time stands in a column of its own, and a day has many."""
    period = next((name for name in header if name.strip() == "<PER>"), None)
    if period is None:
        return
    found = set(names_of(read_columns(file, {"period": period})["period"], period)[1])
    if not found <= {"D", "W", "M"} or len(found) > 1:
        raise DataError(
            f"bars of the periods {', '.join(sorted(found)[:5])} in column {period}; give a file with daily bars (D) only"
        )


def stack(parts: Sequence[BarRows]) -> BarRows:
    """All rows of several tables with different names. A table without an open, say, has its close there, and without a volume 0,
    as a panel without them has.
    """
    fields = [field for field in FIELDS if any(field in part.fields for part in parts)]
    first = np.cumsum([0, *(len(part.names) for part in parts)])

    def column(part: BarRows, field: str) -> FloatArray:
        absent = np.zeros(len(part.dates)) if field == "volume" else part.fields["close"]
        return part.fields.get(field, absent)

    return BarRows(
        np.concatenate([part.dates for part in parts]),
        tuple(name for part in parts for name in part.names),
        np.concatenate([part.which + first[k] for k, part in enumerate(parts)]),
        {field: np.concatenate([column(part, field) for part in parts]) for field in fields},
    )


def frames_of(rows: BarRows, adjust: Adjustment = Adjustment.SPLIT) -> Frames:
    """Wide frames: closing prices, and those of "open", "high", "low", "volume" that the rows have.

    A row without a close is no bar, one that stands twice with the same values is one bar. With
    :attr:`Adjustment.TOTAL` a table that has an adjusted close is taken at it, its other
    prices scaled alike; otherwise prices are taken as they stand.

    Raises
    ------
    DataError
        A name has two different rows on one date.
    """
    fields = dict(rows.fields)
    adjusted = fields.pop("adj_close", None)
    if adjusted is not None and adjust is Adjustment.TOTAL:
        fields = adjusted_fields(rows, fields, adjusted)
    bar = np.isfinite(fields["close"]) | np.isinf(fields["close"])  # an infinite price is refused later, by name
    days, row = np.unique(rows.dates[bar], return_inverse=True)
    which = rows.which[bar]
    limits().check_empty(len(days) * len(rows.names), len(which))
    cell = row * len(rows.names) + which
    fields = {name: values[bar] for name, values in fields.items()}
    order = np.argsort(cell, kind="stable")
    twice = np.flatnonzero(cell[order[1:]] == cell[order[:-1]])
    if twice.size:
        first, again = order[twice], order[twice + 1]
        for values in fields.values():
            other = (values[first] != values[again]) & ~(np.isnan(values[first]) & np.isnan(values[again]))
            if other.any():
                t, i = divmod(int(cell[first[np.argmax(other)]]), len(rows.names))
                what = f"{rows.names[i]} has two rows on {_day(days[t])}, with different values"
                raise DataError(f"{what}; keep one row per date and name")
        reading().say(f"{twice.size} identical row{'s' if twice.size > 1 else ''} dropped")
    wide = {}
    for name, values in fields.items():
        table = np.full(len(days) * len(rows.names), np.nan)
        table[cell] = values
        grid = table.reshape(len(days), len(rows.names))
        wide[name] = pd.DataFrame(grid, index=pd.DatetimeIndex(days), columns=pd.Index(rows.names, dtype=object), copy=False)
    return wide.pop("close"), wide


def adjusted_fields(rows: BarRows, fields: dict[str, FloatArray], adjusted: FloatArray) -> dict[str, FloatArray]:
    """Fields of rows at their adjusted close, the other prices scaled alike."""
    close = fields["close"]
    lost = np.isfinite(close) & ~(np.isfinite(adjusted) & (adjusted > 0.0))
    if lost.any() and close is not adjusted:
        r = int(np.argmax(lost))
        raise DataError(
            f"adj_close of {rows.names[rows.which[r]]} on {_day(rows.dates[r])} is {adjusted[r]:g}, where the close is "
            f"{close[r]:g}: correct it, or use the close without adj_close: adjust='split'"
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = adjusted / close
        scaled = {name: values if name == "volume" else values * factor for name, values in fields.items()}
        scaled["close"] = adjusted
        # Rounding must not push the close out of its bar.
        for name, holds, bound in (("high", np.greater_equal, np.maximum), ("low", np.less_equal, np.minimum)):
            if name in scaled:
                scaled[name] = np.where(holds(fields[name], close), bound(scaled[name], adjusted), scaled[name])
    return scaled


def _day(date: np.datetime64) -> str:
    return str(date.astype("datetime64[D]"))
