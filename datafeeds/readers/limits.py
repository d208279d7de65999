"""How large a file of prices may be, asked before it is read: a small file can unpack to more than any machine holds.

Three questions, each by the file's own header, footer or first pass: are there more rows, columns or bytes than anybody has, is
the table far larger than the file that it comes from, and is it almost nothing but empty cells?
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace

from datafeeds.errors import DataError, ParameterError
from datafeeds.texts import parse_pairs

#: The variable of the environment that sets other limits, for example ``columns=200000,ratio=500``.
VARIABLE = "TRACKER_FILE_LIMITS"
MB = 1 << 20


@dataclass(frozen=True)
class FileLimits:
    """Largest size of a file of prices that is read.

    Parameters
    ----------
    rows : int, default 50 million
        Lines of a CSV, rows of a Parquet file.
    columns : int, default 100,000
    unpacked : int, default 8192
        MB of the text of a CSV, or of the table at 8 bytes a cell.
    ratio : int, default 50
        A table may be this many times as large as its file; tables up to `free` are always allowed. Prices need 1 to 4 times
        the size of their packed file.
    free : int, default 48
        MB of a table that is always allowed.
    empty : int, default 50
        Cells per cell that has a price; not checked up to `free`.

    Examples
    --------
    >>> import datafeeds
    >>> with datafeeds.file_limits(rows=100, columns=50) as limits:
    ...     print(limits.rows)
    ...
    100
    """

    rows: int = 50_000_000
    columns: int = 100_000
    unpacked: int = 8192
    ratio: int = 50
    free: int = 48
    empty: int = 50

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or value < 1:
                raise ParameterError(f"the limit {field.name} must be an integer >= 1, got {value!r}")

    def check_rows(self, rows: int) -> None:
        """Raise a DataError for more rows than allowed."""
        if rows > self.rows:
            raise _too_large(f"{rows:,} rows are more than {self.rows:,}", "rows", rows)

    def check_columns(self, columns: int) -> None:
        """Raise a DataError for more columns than allowed."""
        if columns > self.columns:
            raise _too_large(f"{columns:,} columns are more than {self.columns:,}", "columns", columns)

    def check_unpacked(self, size: int, packed: int) -> None:
        """Raise a DataError if this number of bytes, text or other unpacked data, is too large for a file of `packed` bytes."""
        if size > self.unpacked * MB:
            raise _too_large(f"it unpacks to more than {self.unpacked:,} MB", "unpacked", -(-size // MB))
        if size > 2 * max(self.free * MB, self.ratio * packed):
            raise _too_large(f"{_mb(packed)} unpack to more than {_mb(size)}", "ratio", 1 + size // max(packed, 1))

    def check_table(self, cells: int, packed: int, each: int = 8) -> None:
        """Raise a DataError if a table has too many cells, of `each` bytes, for a file of `packed` bytes."""
        size = each * cells
        if size > self.unpacked * MB:
            raise _too_large(f"a table of {_mb(size)} is more than {self.unpacked:,} MB", "unpacked", -(-size // MB))
        if size > max(self.free * MB, self.ratio * packed):
            raise _too_large(f"{_mb(packed)} would become a table of {_mb(size)}", "ratio", 1 + size // max(packed, 1))

    def check_empty(self, cells: int, filled: int, each: int = 8) -> None:
        """Raise a DataError if a table of cells of `each` bytes is almost empty."""
        if cells > self.free * MB // each + self.empty * max(filled, 0):
            told = f"at most {max(filled, 0):,} of {cells:,} cells have a price"
            raise _too_large(told, "empty", 1 + cells // max(filled, 1))


_given: ContextVar[FileLimits | None] = ContextVar("file limits", default=None)


def limits() -> FileLimits:
    """The limits that hold here: those of :func:`file_limits`, or of the environment, or the default ones."""
    given = _given.get()
    if given is not None:
        return given
    text = os.environ.get(VARIABLE, "")
    return _changed(FileLimits(), parse_pairs(text.split(","), VARIABLE, "columns=200000")) if text.strip() else FileLimits()


@contextmanager
def file_limits(**changes: int) -> Iterator[FileLimits]:
    """Allow larger files, or only smaller ones, inside the ``with`` block.

    >>> from datafeeds import file_limits
    >>> with file_limits(columns=500_000) as now:
    ...     now.columns, now.rows
    (500000, 50000000)
    """
    token = _given.set(_changed(limits(), changes))
    try:
        yield limits()
    finally:
        _given.reset(token)


def _changed(before: FileLimits, changes: dict[str, int]) -> FileLimits:
    known = [field.name for field in fields(FileLimits)]
    unknown = [name for name in changes if name not in known]
    if unknown:
        raise ParameterError(f"no limit named {unknown[0]!r}; choose one of {', '.join(known)}")
    return replace(before, **changes)


def _too_large(what: str, name: str, needed: int) -> DataError:
    way_out = f"if it is one, set {VARIABLE}={name}={needed} (or more) in the environment"
    return DataError(f"{what}, which is unusual for a file of prices; {way_out}")


def _mb(size: int) -> str:
    return f"{size / MB:,.1f} MB"
