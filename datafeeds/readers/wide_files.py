"""Wide files as raw tables: what stands in a CSV or Parquet file, before anyone asks whether it makes sense as prices."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from datafeeds.errors import DataError, UniverseError

FloatArray = NDArray[np.float64]

#: Columns of a long table (one row per date and name) that hold the name.
LONG_TABLE_COLUMNS = frozenset({"ticker", "tickers", "symbol", "symbols", "name", "asset", "tic", "permno"})


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


def read_unless(is_other: Callable[[list[str]], bool], path: Path) -> WideTable | None:
    """As :func:`read_table`, but None when the header tells that this is another kind of table: the file is opened once."""
    return _read_parquet(path, is_other) if is_parquet(path) else _read_csv(csv_content(path), is_other)


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet; False for what can only be a CSV, a :class:`DataError` for what is neither."""
    with path.open("rb") as file:
        head = file.read(4)
    if not head:
        raise DataError("the file is empty; it needs a header line, a date column and one column per series")
    if head == b"PAR1":
        return True
    if path.suffix.lower() in {".parquet", ".pq", ".parq"}:
        raise DataError(
            f"not a Parquet file: it begins with {head!r} instead of b'PAR1'; write it again, or rename it if it is a CSV"
        )
    if head[:2] == b"PK":
        raise DataError("a zip archive or Excel workbook; save the sheet as CSV (comma separated, UTF-8)")
    return False


def csv_content(path: Path) -> bytes:
    """The bytes of a CSV, unpacked where it is gzipped."""
    content = path.read_bytes()
    try:
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"the gzip stream is damaged ({error}); copy or download the file again") from None


# -- CSV ----------


def _read_csv(content: bytes, is_other: Callable[[list[str]], bool]) -> WideTable | None:
    header, body = split_csv(content)
    if is_other(header):
        return None
    keys = [str(i) for i in range(len(header))]
    try:
        table, text = _parse(body, keys, pa.float64()), None
    except pa.ArrowInvalid as error:
        table, text = _parse_text(body, keys, header, error)
    del body, content  # several times the size of the prices
    values = np.empty((len(keys) - 1, table.num_rows if text is None else 0))
    if text is None:
        for i in range(len(values)):
            values[i] = table.column(i + 1).to_numpy()
    return WideTable(header[0], table.column(0), header[1:], values, text)


def split_csv(content: bytes) -> tuple[list[str], Any]:
    """The names in the header of a CSV, each there once, and its rows as an arrow buffer, still unread."""
    if not content.strip():
        raise DataError("the file is empty; it needs a header line, a date column and one column per series")
    if b"\0" in content[:65536]:
        raise DataError("not a CSV: it holds binary data or UTF-16 text; save it as CSV in UTF-8")
    start = len(content) - len(content.lstrip())
    stop = content.find(b"\n", start)
    line = content[start : len(content) if stop < 0 else stop]
    try:
        header = next(csv.reader(io.StringIO(line.decode("utf-8-sig").strip())))
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"the header is not CSV in UTF-8: {error}") from None
    header = [name.strip() for name in header]
    if len(header) == 1:
        other = next((mark for mark in (";", "\t", "|") if mark in header[0]), None)
        hint = (
            f"columns seem to be separated by {other!r}; save it with commas and decimal points"
            if other
            else "no comma in the header"
        )
        raise DataError(f"not a wide CSV ({hint}): the header reads {shorten(header[0])}")
    check_unique(header)
    if stop < 0 or not content[stop:].strip():
        raise DataError(f"a header of {len(header)} columns and no rows below it; nothing to read")
    return header, pa.py_buffer(content).slice(stop + 1)


def _parse(body: Any, keys: list[str], kind: Any) -> Any:
    """The rows of a wide CSV: every column but the first of one type."""
    return parse_rows(body, dict.fromkeys(keys, kind) | {keys[0]: pa.string()})


def parse_rows(body: Any, types: Mapping[str, Any], wanted: Sequence[str] | None = None, *, null_text: bool = True) -> Any:
    """The rows of a CSV (all columns, or those wanted) as an arrow table. A row of another length is an error, never padded.

    Without `null_text` a text such as `NA` (the ticker of a bank) stays what it is, and an empty field is an empty text.
    """
    wrong: list[Any] = []

    def refuse(row: Any) -> str:
        wrong.append(row)
        return "error" if len(wrong) > 1 else "skip"

    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(body),
            read_options=pyarrow.csv.ReadOptions(column_names=list(types), block_size=1 << 24),
            parse_options=pyarrow.csv.ParseOptions(invalid_row_handler=refuse),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types, include_columns=wanted, strings_can_be_null=null_text),
        )
    except pa.ArrowInvalid:
        if not wrong:
            raise
    if wrong:
        row = wrong[0]
        raise DataError(
            f"the row {shorten(row.text)} has {row.actual_columns} fields, the header has {row.expected_columns}; "
            "leave a field empty where a price is missing, and look whether the file was cut off"
        )
    return table


def _parse_text(body: Any, keys: list[str], header: list[str], cause: Exception) -> tuple[Any, tuple[str, int, str]]:
    """The same rows as text, and the cell for which the numbers could not be read; only ever run when there is one."""
    try:
        table = _parse(body, keys, pa.string())
    except pa.ArrowInvalid as error:
        raise DataError(f"not a CSV in UTF-8 ({error}); save it again") from None
    text = _find_text(table, header)
    if text is None:
        raise DataError(f"not a CSV of numbers ({cause}); save it again")
    return table, text


def _find_text(table: Any, header: list[str]) -> tuple[str, int, str] | None:
    """First cell (in the order of the columns) that is not a number."""
    for i in range(1, len(header)):
        found = first_text_cell(table.column(i))
        if found is not None:
            return header[i], *found
    return None


def first_text_cell(column: Any) -> tuple[int, str] | None:
    """Row and content of the first cell of a text column that is not a number."""
    try:
        column.cast(pa.float64())
    except pa.ArrowInvalid:
        for row, cell in enumerate(column.to_pylist()):
            if cell is not None and not _is_number(cell):
                return row, cell
    return None


def _is_number(cell: str) -> bool:
    try:
        pa.scalar(cell.strip()).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


# -- Parquet ----------


def _read_parquet(path: Path, is_other: Callable[[list[str]], bool]) -> WideTable | None:
    try:
        with pyarrow.parquet.ParquetFile(path, memory_map=True) as file:
            schema = file.schema_arrow
            return None if is_other([str(name).strip() for name in schema.names]) else _from_parquet(file, schema)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"cannot be read as Parquet ({error}); write it again") from None


def _from_parquet(file: Any, schema: Any) -> WideTable:
    """Read a few columns at a time, so that the file never stands in memory twice."""
    n_rows = file.metadata.num_rows
    stored = list(schema.names)
    if not stored or not n_rows:
        raise DataError(f"{len(stored)} columns and {n_rows} rows; it needs a date column and one column per series")
    check_unique([str(name).strip() for name in stored])
    first = _date_column(schema)
    others = [name for name in stored if name != first]
    names = [str(name).strip() for name in others]
    kinds = {kind for name, kind in zip(stored, schema.types, strict=True) if name != first}
    if n_rows * len(others) <= CELLS_AT_ONCE and kinds == {pa.float64()}:
        table = file.read().combine_chunks()
        batch = table.select(others).to_batches()[0]
        return WideTable(first, table.column(first), names, batch.to_tensor(null_to_nan=True).to_numpy().T)
    dates = file.read([first]).column(first)
    for name in others:
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
            cells = file.read([name]).column(name).to_pylist()
            row = next((r for r, cell in enumerate(cells) if cell is not None), 0)
            return WideTable(first, dates, names, np.empty((len(others), 0)), (name, row, str(cells[row])))
    values = np.empty((len(others), n_rows))
    for start in range(0, len(others), COLUMNS_AT_ONCE):
        part = others[start : start + COLUMNS_AT_ONCE]
        table = file.read(part)
        for k, name in enumerate(part, start):
            column = table.column(name)
            values[k] = (column if pa.types.is_float64(column.type) else column.cast(pa.float64(), safe=False)).to_numpy()
    return WideTable(first, dates, names, values)


def _date_column(schema: Any) -> str:
    """The first column, unless pandas has written the index of the frame as a column (it puts it last)."""
    return pandas_index(schema) or str(schema.names[0])


def pandas_index(schema: Any) -> str | None:
    """The column in which pandas has stored the index of a frame, if it has."""
    try:
        index = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    except (ValueError, AttributeError):
        index = []
    stored = [name for name in index if isinstance(name, str) and name in schema.names]
    if len(stored) > 1:
        raise DataError(
            f"rows carry {len(stored)} index levels ({', '.join(stored)}); pivot them to one row per date and one column per name"
        )
    return stored[0] if stored else None


def check_unique(header: list[str]) -> None:
    """Refuse a header in which a name stands twice (pandas would rename the second without a word) or is missing."""
    for i, name in enumerate(header[1:], 2):
        if not name:
            raise UniverseError(
                f"column {i} of {len(header)} has no name; name it or delete it (a comma too many in the header?)"
            )
    if len(set(header)) < len(header):
        twice = next(name for i, name in enumerate(header) if name in header[:i])
        raise UniverseError(f"column {twice!r} stands {header.count(twice)} times in the header; keep one")


def shorten(text: str, limit: int = 60) -> str:
    """Quoted text that stays on the line."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")
