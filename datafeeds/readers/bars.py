"""Bars as rows of (date, name, prices), in any order, and the wide frames that a panel is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds.adjustment import Adjustment
from datafeeds.errors import DataError
from datafeeds.readers.columns import date_column, dates_of, header_of, names_of, read_columns
from datafeeds.readers.limits import limits
from datafeeds.readers.words import FIELDS, parts_of

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
    parts = parts_of(header)
    columns = {part: parts[part] for part in FIELDS if part in parts}
    if not header:
        read_columns(file, {})  # says what is wrong with it
    date = date_column(file, header)
    if symbol is not None and not {"close", "adj_close"} & set(columns):
        others = [name for name in header if name != date]
        if len(others) != 1:
            raise DataError(f"no column 'close' among {', '.join(header[:8])}; call the column of closing prices so")
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


def frames_of(rows: BarRows, adjust: Adjustment) -> Frames:
    """Wide frames: closing prices, and those of "open", "high", "low", "volume" that the rows have.

    A row without a close is no bar. With :attr:`Adjustment.TOTAL` a table that has an adjusted close is taken at it, its other
    prices scaled alike; otherwise prices are taken as they stand.

    Raises
    ------
    DataError
        A name has two rows on one date.
    """
    fields = dict(rows.fields)
    adjusted = fields.pop("adj_close", None)
    if adjusted is not None and adjust is Adjustment.TOTAL:
        fields = _adjusted(rows, fields, adjusted)
    bar = np.isfinite(fields["close"]) | np.isinf(fields["close"])  # an infinite price is refused later, by name
    days, row = np.unique(rows.dates[bar], return_inverse=True)
    which = rows.which[bar]
    limits().check_empty(len(days) * len(rows.names), len(which))
    cell = row * len(rows.names) + which
    order = np.sort(cell)
    twice = np.flatnonzero(order[1:] == order[:-1])
    if twice.size:
        t, i = divmod(int(order[twice[0]]), len(rows.names))
        raise DataError(f"{rows.names[i]} has two rows on {_day(days[t])}; keep one row per date and name")
    wide = {}
    for name, values in fields.items():
        table = np.full(len(days) * len(rows.names), np.nan)
        table[cell] = values[bar]
        grid = table.reshape(len(days), len(rows.names))
        wide[name] = pd.DataFrame(grid, index=pd.DatetimeIndex(days), columns=pd.Index(rows.names, dtype=object), copy=False)
    return wide.pop("close"), wide


def _adjusted(rows: BarRows, fields: dict[str, FloatArray], adjusted: FloatArray) -> dict[str, FloatArray]:
    close = fields["close"]
    lost = np.isfinite(close) & ~(np.isfinite(adjusted) & (adjusted > 0.0))
    if lost.any() and close is not adjusted:
        r = int(np.argmax(lost))
        raise DataError(
            f"adj_close of {rows.names[rows.which[r]]} on {_day(rows.dates[r])} is {adjusted[r]:g} by a close of {close[r]:g}: "
            "mend it, or take prices as they stand with adjust='split'"
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
