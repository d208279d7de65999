"""Columns of CSV and Parquet files by the part they play, for tables that are not simply dates and one price per column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from datafeeds.errors import DataError, TrackerError
from datafeeds.readers.csv_text import CsvText, first_text_cell, header_line, look_through, no_rows
from datafeeds.readers.dates import parse_dates
from datafeeds.readers.heads.headers import check_unique, shorten
from datafeeds.readers.parquet_tables import is_parquet, names_in, opened, pandas_index, plain_text, read_coded, read_names
from datafeeds.readers.words import parts_of

#: Of a message: names and texts in a file may be of any length.
LONGEST_WORD, LONGEST_LINE = 200, 800
CODED = pa.dictionary(pa.int32(), pa.string())


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Errors that begin with the name of the file and stay on one line."""
    try:
        yield
    except TrackerError as error:
        raise type(error)(one_line(f"{file.name or file}: {error}")) from None
    except (OSError, ValueError) as error:
        raise DataError(one_line(f"{file.name or file}: cannot be read ({error})")) from None


def one_line(message: str) -> str:
    """One line that can be read, whatever a library or a name brought along."""
    words = (word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD // 2]}..." for word in message.split())
    line = " ".join(words)
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."


def header_of(file: Path) -> list[str]:
    """Names of the columns, without reading the rows; empty when the file is not one that has any."""
    try:
        return read_names(file) if is_parquet(file) else header_line(file)
    except (TrackerError, OSError, EOFError, ValueError):
        return []


def find_parts(file: Path, needed: Sequence[str], what: str) -> dict[str, str]:
    """The columns of a file for these roles, or an error that names the one that is missing from `what`."""
    header = header_of(file)
    if not header:
        read_columns(file, {})  # says what is wrong with the file
    parts = parts_of(header)
    missing = [part for part in needed if part not in parts]
    if missing:
        shown = ", ".join(header[:8]) or "none"
        raise DataError(f"no column {missing[0]!r} among {shown}; {what} has the columns {', '.join(needed)}")
    return {part: parts[part] for part in needed}


def read_columns(file: Path, columns: Mapping[str, str], numbers: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Columns of a file as arrow arrays.

    Parameters
    ----------
    file : Path
    columns : mapping of part to column name
        What to read.
    numbers : frozenset of str
        Parts that hold numbers, read as doubles; texts come as codes and the different texts, other columns of a Parquet file as
        they are stored.
    """
    if is_parquet(file):
        return {part: _number(column, columns[part]) if part in numbers else column for part, column in _stored(file, columns)}
    csv = look_through(file)
    keys, header = csv.keys, csv.header
    place = {part: keys[header.index(name)] for part, name in columns.items()}
    if not place:
        return {}
    kinds = dict.fromkeys(keys, CODED) | {place[part]: pa.float64() for part in place if part in numbers}
    figures = [place[part] for part in place if part in numbers]
    if figures and csv.doubtful:
        csv = csv.styled(figures) or csv
    try:
        table = pa.concat_tables(csv.tables(kinds, list(place.values()), null_text=False))
    except pa.ArrowInvalid as error:
        other = csv.styled(figures) if figures and csv.style.plain else None
        if other is None or other.style.plain:
            raise _why_no_number(csv, columns, place, numbers, error) from None
        csv, table = other, pa.concat_tables(other.tables(kinds, list(place.values()), null_text=False))
    if not table.num_rows:
        raise no_rows(header)
    csv.said()
    return {part: table.column(key) for part, key in place.items()}


def _why_no_number(
    csv: CsvText, columns: Mapping[str, str], place: Mapping[str, str], numbers: frozenset[str], cause: Exception
) -> DataError:
    """The error that shows the first cell that is not a number."""
    row = 0
    try:
        for table in csv.tables(dict.fromkeys(csv.keys, pa.string()), list(place.values())):
            for part in place:
                found = first_text_cell(table.column(place[part])) if part in numbers else None
                if found is not None:
                    return text_error(columns[part], row + found[0], found[1])
            row += table.num_rows
    except pa.ArrowInvalid as worse:
        return DataError(f"not a CSV in UTF-8 ({worse}); save it as CSV in UTF-8")
    return DataError(f"not a CSV of numbers ({cause}); save it again as CSV")


def _stored(file: Path, columns: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    with opened(file) as parquet:
        stored = list(parquet.schema_arrow.names)
        names = names_in(parquet.schema_arrow)
        check_unique(names)
        place = {part: str(stored[names.index(name)]) for part, name in columns.items()}
        table = read_coded(parquet, list(dict.fromkeys(place.values())))
        for part, name in place.items():
            yield part, table.column(name)


def _number(column: Any, name: str) -> Any:
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return column.cast(pa.float64(), safe=False)
    row, cell = next(((i, cell) for i, cell in enumerate(column.to_pylist()) if cell is not None), (0, ""))
    raise text_error(name, row, str(cell))


def text_error(name: str, row: int, cell: str) -> DataError:
    """The error for a cell that is not a number."""
    hint = "write a number, or leave it empty where there is none"
    return DataError(f"column {name!r} holds text where a number is needed: {shorten(cell)} in row {row + 1}; {hint}")


def date_column(file: Path, header: list[str]) -> str:
    """The column of dates: the one that is called so, else the index that pandas has stored, else the first."""
    named = parts_of(header).get("date")
    if named is None and is_parquet(file):
        with opened(file) as parquet:
            named = pandas_index(parquet.schema_arrow)
    return header[0] if named is None else named


def dates_of(column: Any, name: str) -> NDArray[np.datetime64]:
    """As :func:`~datafeeds.readers.dates.parse_dates`, for columns in which each date appears many times."""
    if not pa.types.is_dictionary(column.type):
        return parse_dates(column, name)
    coded = _one_code(column)
    try:
        if coded.null_count:
            raise DataError(f"row {_first_null(coded) + 1} has no date in column {name!r}; fill it or delete the row")
        days = parse_dates(pa.chunked_array([coded.dictionary]), name)
    except DataError:
        parse_dates(plain_text(column, name), name)  # for the row of the file in the message
        raise
    return np.asarray(days[coded.indices.to_numpy()])


def _one_code(column: Any) -> Any:
    """A column of codes as one array with one list of texts."""
    array = column.unify_dictionaries().combine_chunks()
    return array.chunk(0) if isinstance(array, pa.ChunkedArray) else array


def names_of(column: Any, name: str) -> tuple[NDArray[np.int64], list[str]]:
    """A column of names: the place of each cell's name, and the names in the order of their first appearance."""
    coded = _one_code(column if pa.types.is_dictionary(column.type) else column.cast(pa.string()).dictionary_encode())
    if coded.null_count:
        raise DataError(f"row {_first_null(coded) + 1} is empty in column {name!r}; fill it or delete the row")
    which = coded.indices.to_numpy().astype(np.int64)
    found = [str(cell).strip() for cell in coded.dictionary.to_pylist()]
    names = list(dict.fromkeys(found))
    if "" in names:
        row = int(np.argmax(which == found.index("")))
        raise DataError(f"row {row + 1} is empty in column {name!r}; fill it or delete the row")
    number = {cell: i for i, cell in enumerate(names)}
    return np.array([number[cell] for cell in found], dtype=np.int64)[which], names


def _first_null(column: Any) -> int:
    return int(np.argmax(np.asarray(column.is_null())))
