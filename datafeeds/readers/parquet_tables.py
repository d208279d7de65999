"""Parquet files: opened only after their footer has said how much there is, and read a few columns at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from datafeeds.errors import DataError, TrackerError
from datafeeds.readers.heads.headers import shorten
from datafeeds.readers.limits import limits

#: A name or a date is no longer than this.
LONGEST_TEXT = 200
ROWS_AT_ONCE = 1024


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet; False for what can only be a CSV, a :class:`DataError` for what is neither."""
    with path.open("rb") as file:
        head = file.read(4)
    if not head:
        raise DataError("the file is empty; it needs a header line and rows below it")
    if head == b"PAR1":
        return True
    if path.suffix.lower() in {".parquet", ".pq", ".parq"}:
        raise DataError(
            f"not a Parquet file: it begins with {head!r} instead of b'PAR1'; write it again, or rename it if it is a CSV"
        )
    return False


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A Parquet file of a size that can be read. Text columns come as codes and the different texts: one long text that stands
    in a million rows is one text.
    """
    with _named_errors():
        with pyarrow.parquet.ParquetFile(path, memory_map=True) as file:
            _check_footer(file.metadata, path.stat().st_size)
            schema = file.schema_arrow
            text = [str(name) for name, kind in zip(schema.names, schema.types, strict=True) if _is_text(kind)]
            if not text:
                yield file
                return
        with pyarrow.parquet.ParquetFile(path, memory_map=True, read_dictionary=text) as file:
            yield file


@contextmanager
def _named_errors() -> Iterator[None]:
    try:
        yield
    except TrackerError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, LookupError, RecursionError, OverflowError, MemoryError) as error:
        raise DataError(f"cannot be read as Parquet ({shorten(str(error), 200)}); write it again") from None


def _check_footer(metadata: Any, packed: int) -> None:
    most = limits()
    rows, columns = metadata.num_rows, metadata.num_columns
    most.check_rows(rows)
    most.check_columns(columns)
    most.check_table(rows * columns, packed)
    # Of the groups as wholes: pyarrow lets an exception of damaged columns end the process.
    groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
    most.check_unpacked(sum(max(group.total_byte_size, 0) for group in groups), packed)
    if (in_groups := sum(group.num_rows for group in groups)) != rows:
        raise DataError(f"damaged: its footer says {rows:,} rows, its row groups {in_groups:,}; save or download it again")


def _is_text(kind: Any) -> bool:
    return any(
        test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    )


def names_in(schema: Any) -> list[str]:
    """Names of the columns without blanks around them."""
    return [str(name).strip() for name in schema.names]


def read_names(path: Path) -> list[str]:
    """Names of the columns, without reading the rows."""
    with opened(path) as file:
        return names_in(file.schema_arrow)


def read_coded(file: Any, columns: Sequence[str]) -> Any:
    """Columns of an open file as an arrow table; texts, none of them too long for a date or a name, come as codes."""
    table = file.read(list(columns))
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks if pa.types.is_dictionary(column.type) else ():
            longest = pa.compute.max(pa.compute.binary_length(chunk.dictionary)).as_py() or 0
            if longest > LONGEST_TEXT:
                raise DataError(f"column {str(name)!r} holds a text of {longest:,} characters, longer than any date or name")
    return table


def plain_text(column: Any, name: str) -> Any:
    """A column of codes as texts, any other column as it is."""
    if not pa.types.is_dictionary(column.type):
        return column
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        raise DataError(f"column {name!r} has the type {column.type.value_type} instead of text") from None


def first_cell(file: Any, name: str) -> tuple[int, str]:
    """Row and content of the first cell of a column that is not empty; the first row when all are."""
    row = 0
    for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=[name]):
        column = batch.column(0)
        if column.null_count < len(column):
            at = next(i for i in range(len(column)) if column[i].is_valid)
            return row + at, str(column[at].as_py())
        row += len(column)
    return 0, "None"


def pandas_index(schema: Any) -> str | None:
    """The column in which pandas has stored the index of a frame, if it has."""
    try:
        about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    except (ValueError, RecursionError):  # what somebody else wrote there
        about = {}
    index = about.get("index_columns") if isinstance(about, dict) else None
    stored = [name for name in index if isinstance(name, str) and name in schema.names] if isinstance(index, list) else []
    if len(stored) > 1:
        raise DataError(
            f"rows carry {len(stored)} index levels ({', '.join(stored)}); pivot them to one row per date and one column per name"
        )
    return stored[0] if stored else None
