"""Results in files that people open: a workbook with one sheet per table, or CSV files."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pandas as pd

from datafeeds.choices import FORMATS, check_choice
from datafeeds.files import staged_file
from datafeeds.texts import as_text
from tracker_strategies.analysis.runfolder import BOOK, run_place
from tracker_strategies.errors import DataError, MissingExtraError, OutputError

#: Rows and columns of a sheet.
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384


def run_tables(folder: str | Path) -> dict[str, pd.DataFrame]:
    """The tables of a run: metrics (one row per figure), weights, trades, returns and breaches.

    Raises
    ------
    DataError
        The folder holds no run, or one that cannot be read.
    """
    place = run_place(folder)
    try:
        metrics = json.loads((place / "metrics.json").read_text(encoding="utf-8"))
        tables = {"metrics": _figures(metrics)}
        for name, file in (("weights", "weights"), ("trades", "orders"), ("returns", "returns"), ("breaches", "breaches")):
            path = place / f"{file}.parquet"
            frame = pd.read_parquet(path) if path.exists() or name != "breaches" else pd.DataFrame({"date": [], "limit": []})
            tables[name] = frame.reset_index() if isinstance(frame.index, pd.DatetimeIndex) else frame
    except (OSError, ValueError, KeyError) as problem:
        raise DataError(f"{place} cannot be read ({type(problem).__name__}: {problem}); run it again with --out") from None
    return tables


def _figures(metrics: dict[str, Any]) -> pd.DataFrame:
    """One row per figure; with several targets, a column for each."""
    rows: dict[str, dict[str, Any]] = {}
    for key, value in metrics.items():
        if isinstance(value, dict):
            for name, figure in value.items():
                rows.setdefault(name, {})[key] = figure
        else:
            rows.setdefault(key, {})["value"] = value
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    told = [{"metric": name, **{c: _plain(row.get(c)) for c in columns}} for name, row in rows.items()]
    return pd.DataFrame(told, columns=["metric", *columns])


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value)


def export_run(folder: str | Path, formats: Sequence[str], out: str | Path | None = None) -> list[Path]:
    """Write the tables of a run as CSV files or as one workbook, by default into its own folder.

    Text that begins with ``=``, ``+``, ``-`` or ``@`` is written as text: a spreadsheet would run it.

    Parameters
    ----------
    folder : path
        A run, as ``tracker run --out`` leaves it.
    formats : sequence of {"parquet", "csv", "xlsx"}
    out : path, optional
        Another folder.

    Returns
    -------
    list of Path
        The files that were written. The same run gives the same bytes.
    """
    for name in formats:
        check_choice("format", name, FORMATS)
    tables = run_tables(folder)
    place = Path(out if out is not None else folder).expanduser()
    written = []
    try:
        place.mkdir(parents=True, exist_ok=True)
        if "csv" in formats:
            for name, frame in tables.items():
                written.append(place / f"{name}.csv")
                with staged_file(written[-1]) as file:
                    _write_csv(file, frame)
        if "xlsx" in formats:
            written.append(place / BOOK)
            with staged_file(written[-1]) as file:
                _write_book(file, tables)
    except OSError as problem:
        if isinstance(problem, OutputError):
            raise
        raise OutputError(f"cannot write into {place}: {problem.strerror or problem}; choose another folder") from None
    return written


def _write_csv(file: IO[bytes], frame: pd.DataFrame) -> None:
    out = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([as_text(str(name)) for name in frame.columns])
    writer.writerows([_in_csv(cell) for cell in row] for row in _rows(frame))
    out.flush()
    out.detach()  # whoever opened the file closes it


def _in_csv(cell: Any) -> Any:
    if isinstance(cell, dt.datetime):
        return cell.date().isoformat() if cell.time() == dt.time() else cell.isoformat(sep=" ")
    return as_text(cell) if isinstance(cell, str) else "" if cell is None else repr(cell) if isinstance(cell, float) else cell


def _rows(frame: pd.DataFrame) -> Iterator[list[Any]]:
    """Rows of plain values; None where there is nothing."""
    columns = [frame.iloc[:, i].astype(object).where(frame.iloc[:, i].notna(), None).tolist() for i in range(frame.shape[1])]
    for row in zip(*columns, strict=True):
        yield [cell.to_pydatetime() if isinstance(cell, pd.Timestamp) else cell for cell in row]


def _write_book(file: IO[bytes], tables: dict[str, pd.DataFrame]) -> None:
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtraError("Excel workbooks need XlsxWriter: pip install 'backtrader-index-tracker[excel]'") from None
    for name, frame in tables.items():
        if frame.shape[1] > MOST_COLUMNS or len(frame) >= MOST_ROWS:
            raise OutputError(
                f"{name} has {len(frame):,} rows and {frame.shape[1]:,} columns, but a sheet has at most {MOST_ROWS:,} and "
                f"{MOST_COLUMNS:,}; export CSV instead"
            )
    book = xlsxwriter.Workbook(file, {"constant_memory": True})
    book.set_properties({"created": dt.datetime(2000, 1, 1)})  # the same run, the same bytes
    bold, day = book.add_format({"bold": True}), book.add_format({"num_format": "yyyy-mm-dd"})
    instant = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
    for name, frame in tables.items():
        sheet = book.add_worksheet(name)
        sheet.freeze_panes(1, 1)
        sheet.set_column(0, 0, 24 if name == "metrics" else 12)
        for k, column in enumerate(frame.columns):
            sheet.write_string(0, k, str(column), bold)
        for r, row in enumerate(_rows(frame), 1):
            for k, cell in enumerate(row):
                if isinstance(cell, dt.datetime):
                    sheet.write_datetime(r, k, cell, day if cell.time() == dt.time() else instant)
                elif isinstance(cell, bool):
                    sheet.write_boolean(r, k, cell)
                elif isinstance(cell, int | float) and math.isfinite(cell):
                    sheet.write_number(r, k, cell)
                elif cell is not None:
                    sheet.write_string(r, k, str(cell)[:32_767])
    book.close()
