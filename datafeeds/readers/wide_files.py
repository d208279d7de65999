"""Wide files as raw tables: what stands in a CSV or Parquet file, before anyone asks whether it makes sense as prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from datafeeds.errors import DataError
from datafeeds.readers.bars import Frames
from datafeeds.readers.columns import text_error
from datafeeds.readers.csv_text import CsvText, first_text_cell, look_through, no_rows
from datafeeds.readers.dates import parse_dates
from datafeeds.readers.heads.headers import check_unique, shorten
from datafeeds.readers.heads.paired_dates import Block
from datafeeds.readers.parquet_tables import first_cell, is_parquet, names_in, opened, pandas_index, plain_text, read_coded
from datafeeds.readers.reading import reading
from datafeeds.readers.shapes import frames_of_columns, in_order
from datafeeds.readers.words import LONG_TABLE_COLUMNS, part_of, plain_name

FloatArray = NDArray[np.float64]

#: Of a Parquet file: more are faster and take more memory.
COLUMNS_AT_ONCE = 256
#: A table of no more cells than this is read in one go: some 16 MB.
CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False)
class WideTable:
    """A date column and float columns, both unchecked.

    Parameters
    ----------
    first : str
        Name of the date column.
    dates : arrow array
        As stored: text, timestamps, dates or numbers.
    names : list of N str
        The other columns.
    values : (N, T) float
        One row per column, NaN where a cell is empty. Owned by the table.
    text : (column, row, text) or None
        The first cell that is not a number, if there is one; then `values` is empty.
    """

    first: str
    dates: Any
    names: list[str]
    values: FloatArray
    text: tuple[str, int, str] | None = None


def read_table(path: Path) -> WideTable:
    """Read a CSV (plain or gzipped) or a Parquet file, told apart by content; the name only serves the messages."""
    table = read_unless(lambda header: False, path)
    assert table is not None
    return table


def read_frames(path: Path, adjust: str = "split", *, bars: bool = False) -> Frames:
    """Closes and bars of a wide file, its rows in order; with `bars` the fields of one ticker may be its columns."""
    return frames_of_table(read_table(path), adjust, bars=bars)


def read_unless(is_other: Callable[[list[str]], bool], path: Path) -> WideTable | None:
    """As :func:`read_table`, but None when the header tells that this is another kind of table: the file is opened once."""
    if is_parquet(path):
        with opened(path) as file:
            return None if is_other(names_in(file.schema_arrow)) else _from_parquet(file)
    text = look_through(path)
    return None if is_other(text.header) else _from_csv(text)


# -- CSV ----------


def _from_csv(csv: CsvText) -> WideTable:
    keys, header = csv.keys, csv.header
    if csv.blocks:
        return _from_pairs(csv)
    if csv.doubtful:
        csv = csv.styled(keys[1:]) or csv
    values, dates, rows = np.empty((len(keys) - 1, csv.rows)), [], 0
    try:
        for table in csv.tables(dict.fromkeys(keys, pa.float64()) | {keys[0]: pa.string()}):
            stop = rows + table.num_rows
            if stop > values.shape[1]:  # lines that a carriage return ends
                values = np.concatenate((values, np.empty((len(values), stop + values.shape[1]))), axis=1)
            for i in range(len(values)):
                values[i, rows:stop] = table.column(i + 1).to_numpy()
            dates += table.column(0).chunks
            rows = stop
    except pa.ArrowInvalid as error:
        other = csv.styled(keys[1:]) if csv.style.plain else None
        return _from_csv(other) if other is not None and not other.style.plain else _text_in_csv(csv, error)
    if not rows:
        raise no_rows(header)
    csv.said()
    return WideTable(header[0], pa.chunked_array(dates, pa.string()), header[1:], values[:, :rows])


def _from_pairs(csv: CsvText) -> WideTable:
    """A table in which every security has a column of dates of its own."""
    prices = [csv.keys[i] for block in csv.blocks for i, _ in block.fields]
    if csv.doubtful:
        csv = csv.styled(prices) or csv
    kinds = dict.fromkeys(csv.keys, pa.string()) | dict.fromkeys(prices, pa.float64())
    try:
        table = pa.concat_tables(csv.tables(kinds))
    except pa.ArrowInvalid as error:
        other = csv.styled(prices) if csv.style.plain else None
        if other is not None and not other.style.plain:
            return _from_pairs(other)
        texts = pa.concat_tables(csv.tables(dict.fromkeys(csv.keys, pa.string())))
        for key in prices:
            if (found := first_text_cell(texts.column(key))) is not None:
                raise text_error(csv.header[int(key)], *found) from None
        raise DataError(f"not a CSV of numbers ({error}); save it again") from None
    if not table.num_rows:
        raise no_rows(csv.header)
    csv.said()
    return WideTable("Dates", *_joined(csv.blocks, table))


def _joined(blocks: Sequence[Block], table: Any) -> tuple[Any, list[str], FloatArray]:
    """Dates, names and values (one row per name) on all dates that any security has, from the columns of the file."""
    parts = [(block, *_rows_of(block, table)) for block in blocks]
    days = _days([(block, texts) for block, _, texts in parts])
    plain = all(part_of(field) == "close" for block in blocks for _, field in block.fields)
    every = np.unique(np.concatenate(days))
    names, rows = [], []
    for (block, filled, _), own in zip(parts, days, strict=True):
        values = np.stack([table.column(i).to_numpy() for i, _ in block.fields])[:, filled]
        own, values = in_order(own, [block.name] * len(values), values)
        place = np.searchsorted(every, own)
        for (_, field), prices in zip(block.fields, values, strict=True):
            row = np.full(len(every), np.nan)
            row[place] = prices
            rows.append(row)
            names.append(block.name if plain else str((field, block.name)))
    reading().say(f"dates of its own for each of {len({block.name for block in blocks})} securities")
    return pa.chunked_array([pa.array(every)]), names, np.array(rows)


def _rows_of(block: Block, table: Any) -> tuple[NDArray[np.int64], Any]:
    """Rows that have a date, and their dates as texts."""
    dates = table.column(block.dates)
    filled = np.asarray(dates.is_valid())
    for i, field in block.fields:
        lost = np.flatnonzero(np.isfinite(table.column(i).to_numpy()) & ~filled)
        if lost.size:
            raise DataError(f"row {int(lost[0]) + 1} of {block.name} has a {field} and no date; fill it or delete the row")
    if not filled.any():
        raise DataError(f"{block.name} has no dates; leave the security out")
    return np.flatnonzero(filled), dates.filter(pa.array(filled))


def _days(columns: Sequence[tuple[Block, Any]]) -> list[NDArray[np.datetime64]]:
    """Dates of all securities, read in one way: all columns together decide whether the day comes first."""
    try:
        every = parse_dates(pa.chunked_array([chunk for _, texts in columns for chunk in texts.chunks], pa.string()), "Dates")
    except DataError:
        for block, texts in columns:
            parse_dates(texts, f"Dates of {block.name}")
        raise
    return np.split(every, np.cumsum([len(texts) for _, texts in columns])[:-1])


def _text_in_csv(csv: CsvText, cause: Exception) -> WideTable:
    """The cell for which the numbers could not be read; only ever run when there is one."""
    keys, dates, rows = csv.keys, [], 0
    try:
        for table in csv.tables(dict.fromkeys(keys, pa.string())):
            dates += table.column(0).chunks
            for i, name in enumerate(csv.header[1:], 1):
                found = first_text_cell(table.column(i))
                if found is not None:
                    place = (name, rows + found[0], found[1])
                    return WideTable(
                        csv.header[0], pa.chunked_array(dates, pa.string()), csv.header[1:], np.empty((len(keys) - 1, 0)), place
                    )
            rows += table.num_rows
    except pa.ArrowInvalid as error:
        raise DataError(f"not a CSV in UTF-8 ({error}); save it as CSV in UTF-8") from None
    raise DataError(f"not a CSV of numbers ({cause}); save it again as CSV")


# -- Parquet ----------


def _from_parquet(file: Any) -> WideTable:
    """Read a few columns at a time, so that the file never stands in memory twice."""
    schema, n_rows = file.schema_arrow, file.metadata.num_rows
    stored = list(schema.names)
    if not stored or not n_rows:
        raise DataError(f"{len(stored)} columns and {n_rows} rows; it needs a date column and one column per series")
    check_unique(names_in(schema))
    first = pandas_index(schema) or str(stored[0])  # pandas puts the index of a frame last
    others = [name for name in stored if name != first]
    names = [str(name).strip() for name in others]
    kinds = {kind for name, kind in zip(stored, schema.types, strict=True) if name != first}
    dates = plain_text(read_coded(file, [first]).column(0), first)
    if n_rows * len(others) <= CELLS_AT_ONCE and kinds == {pa.float64()}:
        batch = file.read(others).combine_chunks().to_batches()[0]
        return WideTable(first, dates, names, batch.to_tensor(null_to_nan=True).to_numpy().T)
    for name in others:
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
            return WideTable(first, dates, names, np.empty((len(others), 0)), (name, *first_cell(file, name)))
    values = np.empty((len(others), n_rows))
    for start in range(0, len(others), COLUMNS_AT_ONCE):
        part = others[start : start + COLUMNS_AT_ONCE]
        table = file.read(part)
        for k, name in enumerate(part, start):
            column = table.column(name)
            values[k] = (column if pa.types.is_float64(column.type) else column.cast(pa.float64(), safe=False)).to_numpy()
    return WideTable(first, dates, names, values)


# -- and as frames ----------


def frames_of_table(table: WideTable, adjust: str = "split", *, bars: bool = False) -> Frames:
    """Check what only the file can tell (dates, text) and leave the rest to the panel."""
    dates = parse_dates(table.dates, table.first)
    if table.text is not None:
        name, row, cell = table.text
        long = plain_name(name) in LONG_TABLE_COLUMNS
        hint = (
            "is it a long table? open_source reads long tables with date, ticker and close; or pivot it to one column per name"
            if long
            else "write a number, or leave it empty where there is no price"
        )
        day = str(dates[row].astype("datetime64[D]"))
        raise DataError(f"column {name!r} holds text where a number is needed: {shorten(cell)} on {day} (row {row + 1}); {hint}")
    if len(dates) < 2:
        raise DataError(f"only one row of prices ({str(dates[0])[:10]}); a return needs at least two dates")
    infinite = np.isinf(table.values)
    if infinite.any():
        column, row = np.argwhere(infinite)[0].tolist()
        cell = f"{table.names[column]} on {dates[row].astype('datetime64[D]')} (row {row + 1}) is {table.values[column, row]:g}"
        raise DataError(f"the price of {cell}; it must be a positive finite number, or empty where there is none")
    return frames_of_columns(dates, table.names, table.values, adjust, bars=bars)
