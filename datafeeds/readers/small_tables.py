"""Small tables of any usual kind as frames: holdings, weights of an index, flows, and whatever else people keep in a sheet."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from datafeeds.errors import DataError, ReadingNote
from datafeeds.readers.columns import naming
from datafeeds.readers.containers import plain_file, split_inside
from datafeeds.readers.csv_text import look_through
from datafeeds.readers.dates import parse_dates
from datafeeds.readers.heads.headers import check_unique
from datafeeds.readers.numbers import PLAIN, Evidence, NumberStyle
from datafeeds.readers.parquet_tables import is_parquet, names_in, opened, plain_text, read_coded
from datafeeds.readers.reading import Reading, reading, reading_as, said_of
from datafeeds.readers.words import LONG_TABLE_COLUMNS, NAMES, plain_name

#: Rows of a table that is small.
MOST_ROWS = 1_000_000


def read_any_table(
    path: str | os.PathLike[str],
    *,
    texts: Collection[str] = (),
    dates: str | None = None,
    decimal: str | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read a small table: a CSV with any usual separator and decimal mark (plain or gzipped), Parquet, a sheet of an Excel
    workbook (``FILE.xlsx`` or ``FILE.xlsx:Sheet``, extra `excel`), or a zip archive with one of them.

    Parameters
    ----------
    path : path
    texts : collection of str
        Columns that are never numbers or dates, in lower case with underscores; those that may hold the names of assets
        (symbol, ticker, instrument, ...) never are.
    dates : {"dmy", "mdy", "ymd"}, optional
        Order of day, month and year, for a column in which every row fits two. By default what :func:`deciding` says.
    decimal : {".", ","}, optional
        The decimal mark, for a table in which every number fits both.

    Returns
    -------
    frame : DataFrame
        Columns by their names as written, without blanks around them. A column that is called date (or from, to, ...) holds
        datetime64[ns]; one with numbers only floats, NaN where a cell is empty; every other texts, without blanks around
        them, empty where a cell is.
    notes : tuple of str
        What was guessed, for a line such as ``holdings.csv read as: semicolons, decimal comma, day first``; empty for
        a plain table.

    Raises
    ------
    DataError, UniverseError
        On one line that begins with the name of the file.
    """
    file, part = split_inside(path)
    with naming(file):
        if not file.is_file():
            raise DataError("is a folder; give the path of a file" if file.is_dir() else "no such file; check the path")
        told = {"dates": dates, "decimal": decimal}
        while True:
            try:
                with reading_as(Reading(told["dates"], told["decimal"])) as how, plain_file(file, part) as plain:
                    frame = _parquet_frame(plain, texts) if is_parquet(plain) else _csv_frame(plain, texts)
                return frame, tuple(how.notes)
            except DataError as problem:
                option = getattr(problem, "option", "")
                if told.get(option, "") is not None or said_of(option) is None:
                    raise
                told[option] = said_of(option)


def say_how(path: str | os.PathLike[str], notes: Sequence[str]) -> None:
    """Say in a warning what was guessed about a small table."""
    if notes:
        warnings.warn(f"{os.fspath(path)} read as: {', '.join(notes)}", ReadingNote, stacklevel=3)


def _csv_frame(file: Path, texts: Collection[str]) -> pd.DataFrame:
    csv = look_through(file)
    _check_small(csv.rows)
    table = pa.concat_tables(csv.tables(dict.fromkeys(csv.keys, pa.string()), null_text=False))
    columns = dict(zip(csv.header, table.columns, strict=True))
    numbers: dict[str, Evidence] = {}
    for name, column in columns.items():
        if not _stays_text(name, texts) and not _is_date(name):
            evidence = Evidence()
            evidence.look(column)
            if evidence.numbers:
                numbers[name] = evidence
    told = csv.separator != "," or reading().decimal is not None or not all(evidence.point for evidence in numbers.values())
    # Between commas a decimal comma is not to be expected, and one in quotes stands between thousands.
    plain = NumberStyle(".", ",") if any(evidence.comma_groups for evidence in numbers.values()) else PLAIN
    style = _style(list(numbers.values())) if told else plain
    frame = pd.DataFrame({name: _column(column, name, name in numbers, style) for name, column in columns.items()})
    replace(csv, style=style).said()
    return frame


def _style(numbers: list[Evidence]) -> NumberStyle:
    """The style of all columns of numbers together."""
    both = Evidence()
    for found in numbers:
        both.point &= found.point
        both.comma &= found.comma
        both.point_groups |= found.point_groups
        both.comma_groups |= found.comma_groups
    style = both.style()
    if style is None:
        raise DataError("some numbers have a decimal point and others a decimal comma; use the same mark in all")
    return style


def _column(column: Any, name: str, number: bool, style: NumberStyle) -> Any:
    if _is_date(name):
        return parse_dates(column, name)
    if number:
        return style.floats(column).to_numpy().astype(np.float64)
    return [str(cell).strip() for cell in column.to_pylist()]


def _parquet_frame(file: Path, texts: Collection[str]) -> pd.DataFrame:
    with opened(file) as parquet:
        _check_small(parquet.metadata.num_rows)
        check_unique(names_in(parquet.schema_arrow))
        table = read_coded(parquet, list(parquet.schema_arrow.names))
    found: dict[str, Any] = {}
    for name, column in zip(names_in(table.schema), table.columns, strict=True):
        column = plain_text(column, name)
        kind = column.type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if _is_date(name) or pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            found[name] = parse_dates(column, name)
        elif number and not _stays_text(name, texts):
            found[name] = column.cast(pa.float64(), safe=False).to_numpy()
        else:
            found[name] = ["" if cell is None else str(cell).strip() for cell in column.to_pylist()]
    return pd.DataFrame(found)


def _check_small(rows: int) -> None:
    if rows > MOST_ROWS:
        raise DataError(f"{rows:,} rows are more than the {MOST_ROWS:,} allowed for this table; is it a file of prices?")


def _stays_text(name: str, texts: Collection[str]) -> bool:
    return plain_name(name) in texts or plain_name(name) in LONG_TABLE_COLUMNS


def _is_date(name: str) -> bool:
    return plain_name(name) in NAMES["date"] - {"time"}
