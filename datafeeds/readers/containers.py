"""Tables inside other files: a sheet of an Excel workbook (extra `excel`), the one table of a zip archive."""

from __future__ import annotations

import csv
import datetime as dt
import os
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from datafeeds.errors import DataError, TrackerError
from datafeeds.readers.limits import FileLimits, limits
from datafeeds.readers.reading import reading

BLOCK = 1 << 20
#: How a file begins that holds other files.
ZIP = b"PK"
#: `prices.xlsx:Sheet1`, `download.zip:prices.csv`.
_INSIDE = re.compile(r"(?P<file>.*\.(?:xlsx|xlsm|zip)):(?P<part>[^/\\:][^:]*)", re.IGNORECASE | re.DOTALL)
#: Cells of a sheet carry their place; one far away makes a table of mostly nothing.
_PLACE = re.compile(rb"""\br=["']([A-Z]{1,3})([0-9]{1,7})["']""")
_LONGEST_PLACE = 24
#: Bytes that a cell of a sheet takes while it is read, empty or not.
CELL = 32
_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")


def split_inside(path: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """The file, and the sheet or member inside it where one is named: ``prices.xlsx:Sheet1``."""
    text = os.fspath(path)
    inside = _INSIDE.fullmatch(text)
    if inside is None or os.path.lexists(text):
        return Path(text).expanduser(), None
    return Path(inside["file"]).expanduser(), inside["part"].strip()


@contextmanager
def plain_file(file: Path, part: str | None = None) -> Iterator[Path]:
    """A file that is CSV or Parquet: this one, or what was unpacked from it for as long as the block lasts."""
    with file.open("rb") as stream:
        packed = stream.read(2) == ZIP
    if not packed:
        if part is not None:
            raise DataError(f"{part!r} cannot be read from it: it is neither an Excel workbook nor a zip archive; check the path")
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="tracker-") as folder:
        yield _unpacked(file, part, Path(folder))


def _unpacked(file: Path, part: str | None, folder: Path, *, nested: bool = False) -> Path:
    with _named_errors("an Excel workbook or zip archive"), zipfile.ZipFile(file) as archive:
        entries = [e for e in archive.infolist() if not e.is_dir()]
        limits().check_columns(len(entries))
        workbook = any(e.filename == "xl/workbook.xml" for e in entries)
        if any(e.flag_bits & 1 for e in entries):
            raise DataError("it is locked with a password; save it without one")
        if workbook:
            _measure(archive, entries, file.stat().st_size)
        else:
            found = _extracted(archive, entries, part, file, folder)
    if workbook:
        return _sheet_as_csv(file, part, folder / "sheet.csv")
    with found.open("rb") as stream:
        inner = stream.read(2) == ZIP
    if inner and nested:
        raise DataError("an archive inside an archive inside an archive; unpack it")
    return _unpacked(found, None, folder, nested=True) if inner else found


@contextmanager
def _named_errors(what: str) -> Iterator[None]:
    try:
        yield
    except TrackerError:
        raise
    except BaseException as error:  # of zipfile and of the reader of workbooks, on bytes that are anything
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # which is no Exception
            raise
        raise DataError(f"cannot be read as {what} ({error or type(error).__name__}); save or download it again") from None


# -- zip archives ----------


def _extracted(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], part: str | None, file: Path, folder: Path) -> Path:
    """The one table of an archive, or the one that was named, unpacked."""
    tables = [e for e in entries if not e.filename.startswith("__MACOSX/") and not Path(e.filename).name.startswith(".")]
    names = ", ".join(e.filename for e in tables[:6])
    if part is not None:
        tables = [e for e in tables if part in (e.filename, Path(e.filename).name)]
        if not tables:
            raise DataError(f"no file {part!r} in the archive; it has {names}")
    if not tables:
        raise DataError("the archive is empty; it needs one table")
    if len(tables) > 1:
        raise DataError(f"the archive holds {len(tables)} files ({names}); name one, as {file.name}:{tables[0].filename}")
    target = folder / ("member" + "".join(Path(tables[0].filename).suffixes[-2:])[-24:].replace("\0", ""))
    with archive.open(tables[0]) as packed, target.open("wb") as out:
        for block in _blocks(packed, file.stat().st_size, limits()):
            out.write(block)
    return target


def _blocks(stream: Any, packed: int, most: FileLimits) -> Iterator[bytes]:
    """What a member unpacks to, as long as that is no more than a file may be."""
    size = 0
    while block := stream.read(BLOCK):
        size += len(block)
        most.check_unpacked(size, packed)
        yield block


# -- Excel workbooks ----------


def _measure(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], packed: int) -> None:
    """Refuse a workbook that would take more memory than a table of its size, before anything reads it.

    All of it is unpacked once, block by block: what the archive says of its own sizes is not believed.
    """
    most = limits()
    size = 0
    for entry in entries:
        sheet = entry.filename.startswith("xl/worksheets/")
        rest, rows, columns, cells = b"", 0, 0, 0
        with archive.open(entry) as stream:
            for block in _blocks(stream, packed, most):
                size += len(block)
                most.check_unpacked(size, packed)
                if not sheet:
                    continue
                text = rest + block
                for column, row in _PLACE.findall(text):
                    rows, columns = max(rows, int(row)), max(columns, _column_number(column))
                cells += sum(1 for _ in _CELL.finditer(text)) - sum(1 for _ in _CELL.finditer(rest))
                rest = text[-_LONGEST_PLACE:]
                most.check_rows(rows)
                most.check_columns(columns)
        try:
            most.check_empty(rows * columns, cells, CELL)
            most.check_table(rows * columns, packed, CELL)
        except DataError as problem:
            raise DataError(f"{problem}; its last used row is {rows:,}, its last used column {columns:,}") from None


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _sheet_as_csv(file: Path, part: str | None, target: Path) -> Path:
    """A sheet as a CSV with every number to the last digit and dates as they are written in ISO 8601."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise DataError(
            "Excel workbooks need python-calamine: pip install 'backtrader-index-tracker[excel]', or save the sheet as CSV"
        ) from None
    with _named_errors("an Excel workbook"):
        book = CalamineWorkbook.from_path(str(file))
        try:
            name = _chosen_sheet(book, part, file)
            sheet = book.get_sheet_by_name(name)
            width = max((_filled(row) for row in sheet.iter_rows()), default=0) if sheet.height else 0
            if not width:
                raise DataError(f"the sheet {name!r} is empty")
            with target.open("w", encoding="utf-8", newline="") as out:
                writer = csv.writer(out, lineterminator="\n")
                writer.writerows([_cell(value) for value in row[:width]] for row in sheet.iter_rows() if _filled(row))
        finally:
            book.close()
    if part is None:
        reading().say(f"sheet {name!r}")
    return target


def _chosen_sheet(book: Any, part: str | None, file: Path) -> str:
    names = [str(name) for name in book.sheet_names]
    if part is not None:
        if part not in names:
            raise DataError(f"no sheet {part!r} in the workbook; it has {', '.join(names[:12])}")
        return part
    filled = [name for name in names if book.get_sheet_by_name(name).height]
    if not filled:
        raise DataError("every sheet of the workbook is empty")
    if len(filled) > 1:
        raise DataError(f"the workbook has {len(filled)} sheets ({', '.join(filled[:12])}); name one, as {file.name}:{filled[0]}")
    return filled[0]


def _filled(row: list[Any]) -> int:
    """Number of cells up to the last that is not empty."""
    return max((i for i, value in enumerate(row, 1) if value != ""), default=0)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ") if value.time() != dt.time() else value.date().isoformat()
    return str(value)
