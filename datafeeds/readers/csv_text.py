"""The text of a CSV, plain or gzipped: measured first, then read, a block at a time where it is long."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv

from datafeeds.errors import DataError
from datafeeds.readers.heads.headers import SEPARATORS, Header, shorten
from datafeeds.readers.heads.paired_dates import Block
from datafeeds.readers.limits import FileLimits, limits
from datafeeds.readers.numbers import PLAIN, NumberStyle, style_of
from datafeeds.readers.reading import reading

BLOCK = 1 << 20
#: Text up to this size is kept, and parsed in one go; a longer one is unpacked again, block by block.
KEPT = 16 << 20
#: Bytes of a row that are no price: the date.
DATE_BYTES = 8
#: Other ways to pack a file, by how it begins.
PACKED = {
    b"PK": "a zip archive or Excel workbook",
    b"\xd0\xcf\x11\xe0": "an Excel workbook of the old format .xls",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"(\xb5/\xfd": "packed with zstd",
}


@dataclass(frozen=True)
class CsvText:
    """A CSV that was looked through once: it is text in UTF-8, and of a size that can be read.

    Parameters
    ----------
    path : Path
    header : list of str
        Names of the columns, each there once.
    start : int
        Where the rows begin, in bytes of the text.
    rows : int
        At most so many.
    content : bytes or None
        All of the text, if it is short.
    separator : str
        What stands between columns.
    style : NumberStyle
        How numbers are written.
    blocks : tuple of Block
        Securities that have a column of dates of their own; none in other tables.
    """

    path: Path
    header: list[str]
    start: int
    rows: int
    content: bytes | None
    separator: str = ","
    style: NumberStyle = PLAIN
    blocks: tuple[Block, ...] = ()

    @property
    def keys(self) -> list[str]:
        """Names of the columns for arrow: their numbers."""
        return [str(i) for i in range(len(self.header))]

    def tables(self, types: Mapping[str, Any], wanted: Sequence[str] | None = None, *, null_text: bool = True) -> Iterator[Any]:
        """The rows (all columns, or those wanted) as arrow tables, one after the other. A row of another length is an error.

        Without `null_text` a text such as `NA` (the ticker of a bank) stays what it is, and an empty field is an empty text.
        """
        wrong: list[Any] = []

        def refuse(row: Any) -> str:
            wrong.append(row)
            return "error" if len(wrong) > 1 else "skip"

        options = {
            "read_options": pyarrow.csv.ReadOptions(column_names=list(types), block_size=KEPT if self.content else 4 * BLOCK),
            "parse_options": pyarrow.csv.ParseOptions(delimiter=self.separator, invalid_row_handler=refuse),
            "convert_options": pyarrow.csv.ConvertOptions(
                column_types=self._stored(types), include_columns=wanted, strings_can_be_null=null_text
            ),
        }
        try:
            if self.content is not None:
                table = pyarrow.csv.read_csv(pa.BufferReader(pa.py_buffer(self.content).slice(self.start)), **options)
                _refuse_wrong(wrong)
                yield self._numbered(table, types)
                return
            with unpacked(self.path) as stream:
                _skip(stream, self.start)
                for batch in pyarrow.csv.open_csv(pa.PythonFile(stream, "r"), **options):
                    _refuse_wrong(wrong)
                    yield self._numbered(pa.Table.from_batches([batch]), types)
        except pa.ArrowInvalid:
            _refuse_wrong(wrong)
            raise
        _refuse_wrong(wrong)

    def _stored(self, types: Mapping[str, Any]) -> Mapping[str, Any]:
        """What arrow is to read: numbers in another style than its own come as text."""
        return types if self.style.plain else {k: pa.string() if pa.types.is_floating(t) else t for k, t in types.items()}

    def _numbered(self, table: Any, types: Mapping[str, Any]) -> Any:
        if not self.style.plain:
            for i, name in enumerate(table.column_names):
                if pa.types.is_floating(types[name]):
                    table = table.set_column(i, name, self.style.floats(table.column(name)))
        return table

    def styled(self, wanted: Sequence[str]) -> CsvText | None:
        """The same file with the style in which the numbers of these columns are written; None when they have none."""
        texts = replace(self, style=PLAIN).tables(dict.fromkeys(self.keys, pa.string()), wanted, null_text=False)
        style = style_of(column for table in texts for column in table.columns)
        return None if style is None else replace(self, style=style)

    @property
    def doubtful(self) -> bool:
        """Whether numbers may not be what arrow takes them for: a comma is free to be a decimal mark, or one was asked for."""
        return self.style.plain and (self.separator != "," or reading().decimal == ",")

    def said(self) -> None:
        """Tell how it was read, where that is not the usual way."""
        for note in [SEPARATORS[self.separator]] * (self.separator != ",") + self.style.notes:
            reading().say(note)


def _refuse_wrong(wrong: list[Any]) -> None:
    if wrong:
        row = wrong[0]
        raise DataError(
            f"the row {shorten(row.text)} has {row.actual_columns} fields, the header has {row.expected_columns}; "
            "leave a field empty where a price is missing, and check that the file was not cut off"
        )


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a CSV, unpacked where it is gzipped."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path) if packed else path.open("rb") as stream:
            yield stream  # type: ignore[misc]
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"the gzip stream is damaged ({error}); copy or download the file again") from None


def _skip(stream: IO[bytes], size: int) -> None:
    while size > 0:
        size -= len(stream.read(min(size, BLOCK)))


def look_through(path: Path) -> CsvText:
    """Read all of a CSV once, in little memory: its header, its size, and whether it is text."""
    most, packed = limits(), path.stat().st_size
    kept: list[bytes] | None = []
    text, header = Utf8(), Header()
    size = commas = lines = 0
    mark = b","
    with unpacked(path) as stream:
        while block := stream.read(BLOCK):
            size += len(block)
            most.check_unpacked(size, packed)
            if size <= len(block):
                _refuse_binary(block)
            text.check(block, lines)
            header.take(block, most)
            mark = header.separator.encode() if size <= len(block) else mark
            commas, lines = commas + block.count(mark), lines + block.count(b"\n")
            _check_cells(commas, lines, size, packed, most)
            if kept is not None:
                kept.append(block)
                kept = kept if size <= KEPT else None
        text.end(lines)
    if not size or (kept is not None and not b"".join(kept).strip()):
        raise DataError("the file is empty; it needs a header line and rows below it")
    head = header.head()
    names, start = head.names, head.start
    most.check_rows(lines)
    content = b"".join(kept) if kept is not None else None
    if start >= size or (content is not None and not content[start:].strip()):
        raise no_rows(names)
    rows = min(lines + 1, commas // (len(names) - 1) + 1)
    return CsvText(path, names, start, rows, content, head.separator, blocks=head.blocks)


def _check_cells(commas: int, lines: int, size: int, packed: int, most: FileLimits) -> None:
    most.check_table(commas, packed)
    most.check_empty(commas, size - commas - lines * (1 + DATE_BYTES))


def _refuse_binary(head: bytes) -> None:
    for mark, what in PACKED.items():
        if head.startswith(mark):
            raise DataError(f"{what}; unpack it, or save the sheet as .xlsx or CSV (UTF-8)")
    if b"\0" in head[:65536]:
        raise DataError("not a CSV: it holds binary data or UTF-16 text; save it as CSV in UTF-8")


class Utf8:
    """Whether blocks of bytes are text in UTF-8, one after the other."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._open = False

    def check(self, block: bytes, lines: int) -> None:
        """Raise a DataError when they are not; `lines` came before."""
        if block.isascii() and not self._open:
            return
        try:
            self._decoder.decode(block)
        except UnicodeDecodeError as error:
            line = 1 + lines + block.count(b"\n", 0, error.start)
            what = f"invalid UTF8 data, {error.object[error.start : error.start + 1]!r} in line {line}"
            raise DataError(f"not a CSV in UTF-8 ({what}); save it as CSV in UTF-8") from None
        self._open = bool(self._decoder.getstate()[0])

    def end(self, lines: int) -> None:
        """Raise a DataError when the last character is not whole."""
        if self._open:
            raise DataError(f"not a CSV in UTF-8 (invalid UTF8 data at the end, line {lines + 1}); save it as CSV in UTF-8")


def header_line(path: Path) -> list[str]:
    """Names of the columns, without reading the rows."""
    header, most = Header(), limits()
    with unpacked(path) as stream:
        while (block := stream.read(1 << 16)) and not header.whole:
            header.take(block, most)
    return header.head().names


def no_rows(header: list[str]) -> DataError:
    """The error for a file that ends with its header."""
    return DataError(f"the file has a header of {len(header)} columns and no rows below it; add rows")


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
