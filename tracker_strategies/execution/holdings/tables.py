"""Small tables of text: a few hundred rows as somebody has exported them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from datafeeds.errors import DataError
from datafeeds.readers.parquet_tables import is_parquet

#: More than any account holds; a file of prices that was taken for one of holdings ends here.
MOST_BYTES, MOST_ROWS = 20_000_000, 50_000
_SEPARATORS = ",;\t|"


@dataclass(frozen=True)
class TextTable:
    """A header and rows of the same width, as texts."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> tuple[str, ...]:
        """The cells of a column."""
        place = self.header.index(name)
        return tuple(row[place] for row in self.rows)


def read_table(file: Path) -> TextTable:
    """A CSV (with commas, semicolons, tabs or bars between the cells) or Parquet file as text.

    Raises
    ------
    DataError
        It is absent, empty, too large, no text, or a row is longer than the header.
    """
    rows = read_rows(file)
    header, body = rows[0], rows[1:]
    for name in header:
        if name and header.count(name) > 1:
            raise DataError(f"the column {name!r} appears {header.count(name)} times; keep one")
    if not body:
        raise DataError(f"it has the columns {', '.join(header[:8])} and no rows")
    for number, row in enumerate(body, 2):
        if len(row) > len(header) and any(row[len(header) :]):
            raise DataError(f"row {number} has {len(row)} cells, the header {len(header)}; is a comma inside a number?")
    width = len(header)
    return TextTable(tuple(header), tuple(tuple((row + [""] * width)[:width]) for row in body))


def read_rows(file: Path) -> list[list[str]]:
    """All rows with something in them, each of its own length, cells without blanks around them."""
    if file.is_dir():
        raise DataError("it is a folder, not a file")
    if not file.exists():
        raise DataError("there is no such file")
    if file.stat().st_size > MOST_BYTES:
        raise DataError(f"it has {file.stat().st_size:,} bytes, more than a table of this kind; is it a file of prices?")
    rows = _from_parquet(file) if is_parquet(file) else _from_text(file)
    if not rows:
        raise DataError("it is empty; it needs a header and rows")
    if len(rows) > MOST_ROWS:
        raise DataError(f"it has {len(rows):,} rows, more than a table of this kind; is it a file of prices?")
    return rows


def _from_text(file: Path) -> list[list[str]]:
    data = file.read_bytes()
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as problem:
        raise DataError(f"it is no text in UTF-8 ({problem.reason} at byte {problem.start}); save it as CSV in UTF-8") from None
    if "\0" in text:
        raise DataError("it is no text: it has NUL bytes; save it as CSV in UTF-8")
    lines = [line for line in text.splitlines() if line.strip()]
    separator = max(_SEPARATORS, key=lambda mark: sum(mark in line for line in lines[:20]))
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as problem:
        raise DataError(f"it is no CSV ({problem}); save it again") from None
    return [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]


def _from_parquet(file: Path) -> list[list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
    except (pa.ArrowException, OSError) as problem:
        raise DataError(f"cannot be read as Parquet ({problem})") from None
    columns = [["" if cell is None else str(cell) for cell in column.to_pylist()] for column in table.columns]
    return [list(map(str, table.column_names)), *(list(row) for row in zip(*columns, strict=True))]
