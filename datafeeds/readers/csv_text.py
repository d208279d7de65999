"""The text of a CSV, plain or gzipped: measured first, then read, a block at a time where it is long."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv

from datafeeds.errors import DataError, UniverseError
from datafeeds.readers.limits import FileLimits, limits

BLOCK = 1 << 20
#: Text up to this size is kept, and parsed in one go; a longer one is unpacked again, block by block.
KEPT = 16 << 20
LONGEST_HEADER = 16 << 20
#: Bytes of a row that are no price: the date.
DATE_BYTES = 8
#: Other ways to pack a file, by how it begins.
PACKED = {
    b"PK": "a zip archive or Excel workbook",
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
    """

    path: Path
    header: list[str]
    start: int
    rows: int
    content: bytes | None

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
            "parse_options": pyarrow.csv.ParseOptions(invalid_row_handler=refuse),
            "convert_options": pyarrow.csv.ConvertOptions(
                column_types=types, include_columns=wanted, strings_can_be_null=null_text
            ),
        }
        try:
            if self.content is not None:
                table = pyarrow.csv.read_csv(pa.BufferReader(pa.py_buffer(self.content).slice(self.start)), **options)
                _refuse_wrong(wrong)
                yield table
                return
            with unpacked(self.path) as stream:
                _skip(stream, self.start)
                for batch in pyarrow.csv.open_csv(pa.PythonFile(stream, "r"), **options):
                    _refuse_wrong(wrong)
                    yield pa.Table.from_batches([batch])
        except pa.ArrowInvalid:
            _refuse_wrong(wrong)
            raise
        _refuse_wrong(wrong)


def _refuse_wrong(wrong: list[Any]) -> None:
    if wrong:
        row = wrong[0]
        raise DataError(
            f"the row {shorten(row.text)} has {row.actual_columns} fields, the header has {row.expected_columns}; "
            "leave a field empty where a price is missing, and look whether the file was cut off"
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
    head, text, header = b"", Utf8(), Header()
    size = commas = lines = 0
    with unpacked(path) as stream:
        while block := stream.read(BLOCK):
            size += len(block)
            most.check_unpacked(size, packed)
            if size <= len(block):
                head = block
                _refuse_binary(head)
            text.check(block, lines)
            header.take(block, most)
            commas, lines = commas + block.count(b","), lines + block.count(b"\n")
            _check_cells(commas, lines, size, packed, most)
            if kept is not None:
                kept.append(block)
                kept = kept if size <= KEPT else None
        text.end(lines)
    if not size or (kept is not None and not b"".join(kept).strip()):
        raise DataError("the file is empty; it needs a header line, a date column and one column per series")
    names, start = header.names()
    most.check_rows(lines)
    content = b"".join(kept) if kept is not None else None
    if start >= size or (content is not None and not content[start:].strip()):
        raise no_rows(names)
    return CsvText(path, names, start, min(lines + 1, commas // (len(names) - 1) + 1), content)


def _check_cells(commas: int, lines: int, size: int, packed: int, most: FileLimits) -> None:
    most.check_table(commas, packed)
    most.check_empty(commas, size - commas - lines * (1 + DATE_BYTES))


def _refuse_binary(head: bytes) -> None:
    for mark, what in PACKED.items():
        if head.startswith(mark):
            raise DataError(f"{what}; unpack it, or save the sheet as CSV (comma separated, UTF-8)")
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
            raise DataError(f"not a CSV in UTF-8 ({what}); save it again") from None
        self._open = bool(self._decoder.getstate()[0])

    def end(self, lines: int) -> None:
        """Raise a DataError when the last character is not whole."""
        if self._open:
            raise DataError(f"not a CSV in UTF-8 (invalid UTF8 data at the end, line {lines + 1}); save it again")


class Header:
    """The first line of a CSV that is not blank."""

    def __init__(self) -> None:
        self._line, self._before, self._whole = b"", 0, False

    def take(self, block: bytes, most: FileLimits) -> None:
        """Look for it in another block."""
        if self._whole:
            return
        if not self._line:
            rest = block.lstrip()
            self._before += len(block) - len(rest)
            block = rest
        stop = block.find(b"\n")
        self._whole = stop >= 0
        self._line += block if stop < 0 else block[:stop]
        most.check_columns(self._line.count(b",") + 1)
        if len(self._line) > LONGEST_HEADER:
            raise DataError(f"the first line is longer than {LONGEST_HEADER >> 20} MB; it should be a header with names")

    def names(self) -> tuple[list[str], int]:
        """The names of the columns, and where the rows begin."""
        try:
            header = next(csv.reader(io.StringIO(self._line.decode("utf-8-sig").strip()), strict=True), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"the header is not CSV in UTF-8: {error}") from None
        header = [name.strip() for name in header]
        if len(header) <= 1:
            line = header[0] if header else ""
            other = next((mark for mark in (";", "\t", "|") if mark in line), None)
            hint = (
                f"columns seem to be separated by {other!r}; save it with commas and decimal points"
                if other
                else "no comma in the header"
            )
            raise DataError(f"not a wide CSV ({hint}): the header reads {shorten(line)}")
        check_unique(header)
        return header, self._before + len(self._line) + 1


def header_line(path: Path) -> list[str]:
    """Names of the columns, without reading the rows."""
    with unpacked(path) as stream:
        block = stream.readline(BLOCK)
        while block and not block.strip():
            block = stream.readline(BLOCK)
    header = Header()
    header.take(block, limits())
    return header.names()[0]


def no_rows(header: list[str]) -> DataError:
    """The error for a file that ends with its header."""
    return DataError(f"a header of {len(header)} columns and no rows below it; nothing to read")


def check_unique(header: list[str]) -> None:
    """Refuse a header in which a name stands twice (pandas would rename the second without a word) or is missing."""
    seen = set(header[:1])
    for i, name in enumerate(header[1:], 2):
        if not name:
            raise UniverseError(
                f"column {i} of {len(header)} has no name; name it or delete it (a comma too many in the header?)"
            )
        if name in seen:
            raise UniverseError(f"column {name!r} stands {header.count(name)} times in the header; keep one")
        seen.add(name)


def shorten(text: str, limit: int = 60) -> str:
    """Quoted text that stays on the line."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")
