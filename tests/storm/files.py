"""Damaged price files: each gives a named error on one line, or exactly the numbers in the file."""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from datafeeds.errors import TrackerError
from datafeeds.panel import MarketPanel
from datafeeds.readers.words import is_long_header
from datafeeds.sources import open_source
from tests.storm.bad_input.file_changes import make
from tests.storm.bad_input.many import storm

COUNT = 5_000
#: Longer texts are not read by hand: that would take more time and memory than what is tried.
LONGEST = 10_000_000
MISSING = {"", "#n/a", "#n/a n/a", "#na", "-1.#ind", "-1.#qnan", "-nan", "1.#ind", "1.#qnan", "n/a", "na", "null", "nan"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """None beside the usual."""


def run(given: argparse.Namespace) -> int:
    """Try the cases, print what was found, and return how many cases failed."""
    return storm("files", trial, given, most_mb=300.0)


def trial(rng: np.random.Generator) -> tuple[str, str, str]:
    """One file."""
    kind, content, ending = make(rng)
    gaps = str(rng.choice(["error", "freeze"]))
    ignored: list[str] = []
    before, sys.unraisablehook = sys.unraisablehook, lambda about: ignored.append(f"{about.exc_type.__name__}: {about.exc_value}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"prices{ending}"
            path.write_bytes(content)
            became, wrong = judged(path, content, gaps)
    finally:
        sys.unraisablehook = before
    if kind == "left alone" and became != "read" and not wrong:
        wrong = f"a good file is {became}"
    return kind, became, wrong or (f"an exception was ignored: {ignored[0]}" if ignored else "")


def judged(path: Path, content: bytes, gaps: str) -> tuple[str, str]:
    """What became of the file, and what is wrong with that."""
    try:
        panel = open_source(path, gaps=gaps)
    except TrackerError as problem:
        message = str(problem)
        short = len(message) < 1000 and "\n" not in message
        return "refused", "" if short and message.startswith(path.name) else f"not one short line with the name: {message!r:.300}"
    except Exception as problem:
        return "raised", f"{type(problem).__name__}: {problem!s:.300}"
    return "read", differs(panel, told(path, content))


def differs(panel: MarketPanel, expected: pd.DataFrame | None) -> str:
    """Where a panel and the file, read by somebody else, do not agree."""
    if expected is None:
        return ""
    frame = panel.to_frame()
    for name in frame.columns:
        if name not in expected.columns:
            return f"no column {name!r} in the file"
        ours, theirs = frame[name].dropna(), expected[name].dropna()
        again = theirs.index.duplicated()
        if again.any() and theirs.groupby(level=0).nunique().max() > 1:
            return f"one of several prices of {name!r} on one date"
        theirs = theirs[~again]
        theirs = theirs[theirs.index.isin(ours.index)] if name not in panel.symbols else theirs
        known = ours.index.isin(theirs.index)
        if name in panel.symbols and not set(theirs.index[theirs.index.isin(frame.index)]) <= set(ours.index):
            return f"prices of {name!r} are lost"
        if not np.allclose(ours[known].to_numpy(), theirs.reindex(ours.index[known]).to_numpy(), rtol=1e-15, atol=0.0):
            return f"other prices of {name!r} than in the file"
        if name in panel.symbols and not known.all():
            return f"prices of {name!r} that are not in the file"
    return ""


def told(path: Path, content: bytes) -> pd.DataFrame | None:
    """The numbers of a file by the standard library, or by pyarrow alone; None for what they read in another way."""
    if path.suffix in (".xlsx", ".zip", ".tsv"):
        return None  # the tests of shapes compare their numbers
    if path.suffix == ".parquet":
        try:
            table = pq.read_table(io.BytesIO(content))
        except (OSError, pa.ArrowException):  # damaged in a column that nobody needs
            return None
        stored = [str(name).strip() for name in table.column_names]
        frame = pd.DataFrame({name: column.to_pylist() for name, column in zip(stored, table.columns, strict=True)})
        if is_long_header(stored):
            return None if pa.types.is_dictionary(table.schema.types[0]) else _pivoted(frame)
        dates = next((name for name in stored if str(frame[name].iloc[0])[:2] in ("20", "19") and name not in "ABCDEFG"), None)
        return None if dates is None else _dated(frame, dates)
    text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8-sig").strip()
    if len(text) > LONGEST:
        return None
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row and row != [""]]
    while len(rows) > 1 and (len(rows[0]) == 1 or rows[1][0].strip() == rows[0][0].strip()):  # a line above the header
        rows.pop(0)
    header = [name.strip() for name in rows[0]]
    frame = pd.DataFrame([row for row in rows[1:] if len(row) == len(header)], columns=header)
    return _pivoted(frame) if is_long_header(header) else _dated(frame, header[0])


def _number(cell: Any) -> float:
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING):
        return np.nan
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan


def _dated(frame: pd.DataFrame, dates: str) -> pd.DataFrame:
    days = pd.to_datetime(frame[dates].astype(str).str.strip(), format="ISO8601", errors="coerce").dt.tz_localize(None)
    values = {name: [_number(cell) for cell in frame[name]] for name in frame.columns if name != dates}
    return pd.DataFrame(values, index=pd.DatetimeIndex(days))


def _pivoted(frame: pd.DataFrame) -> pd.DataFrame | None:
    names = {name.strip().lower(): name for name in frame.columns}
    if not {"date", "ticker", "close"} <= names.keys():
        return None
    frame = frame.rename(columns={names[name]: name for name in ("date", "ticker", "close")})
    frame = frame.assign(ticker=frame["ticker"].astype(str).str.strip(), close=[_number(cell) for cell in frame["close"]])
    frame = frame[frame["close"].notna()]
    days = pd.to_datetime(frame["date"].astype(str).str.strip(), format="ISO8601", errors="coerce").dt.tz_localize(None)
    frame = frame.assign(date=days)[["date", "ticker", "close"]].drop_duplicates()
    if frame.duplicated(["date", "ticker"]).any():
        return pd.DataFrame(columns=sorted(set(frame["ticker"])))  # whoever reads this has chosen one of several prices
    return frame.pivot(index="date", columns="ticker", values="close")
