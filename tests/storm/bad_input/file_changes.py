"""What can be wrong with a file of prices: bytes, cells, rows, headers, packing, and what Parquet says of itself."""

from __future__ import annotations

import gzip
import json
import zipfile
import zlib
from contextlib import suppress
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

CELLS = (
    *("", " ", "NA", "nan", "null", "inf", "-inf", "1e999", "0", "-1", "1e-320", "1e308", "x", "1,5", '"1,5"', '"', "''", "#N/A"),
    *(
        "1.5.2",
        "0x10",
        "1_000",
        "\uff11\uff10",
        "\u00e4",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
        "[/bold]",
    ),
    *("\x1b[31m", "9" * 400, "1" + "0" * 320, "0." + "3" * 500, "true", "2020-01-01", "100%", "$5", "1e5", "+7", " 12 ", "=1+1"),
)
DATES = (
    "",
    "2020-01-02",
    "2020-13-01",
    "01/02/2020",
    "20200102",
    "2020",
    "0",
    "x",
    "2020-01-02T00:00:00Z",
    "9999-12-31",
    "0001-01-01",
)
HEADERS = ("", "date", "INDEX", "A", "A ", "[/bold]", "x[/]", "\x1b[2J", "ticker", "close", '"q', "\u202eabc", "a" * 5000, "NA")
METADATA: tuple[Any, ...] = (
    None, 5, "x", [], {}, {"index_columns": 5}, {"index_columns": None}, {"index_columns": "A"}, {"index_columns": [5]},
    {"index_columns": [["A"]]}, {"index_columns": {"A": 1}}, {"index_columns": ["A", "B"]}, {"index_columns": ["nobody"]},
    {"index_columns": [{"kind": "range"}]}, {"columns": 7, "index_columns": ["date"]}, {"index_columns": ["INDEX"]},
)  # fmt: skip


def good(rng: np.random.Generator) -> pd.DataFrame:
    """A small panel: dates, the index and some names."""
    rows, columns = int(rng.integers(2, 30)), int(rng.integers(1, 6))
    prices = 100.0 * np.exp(np.cumsum(0.01 * rng.standard_normal((rows, columns + 1)), axis=0))
    names = ["INDEX", *"ABCDEFG"[:columns]]
    return pd.DataFrame(prices.round(4), index=pd.date_range("2020-01-01", periods=rows, name="date"), columns=names)


def long_table(frame: pd.DataFrame) -> pd.DataFrame:
    """The same as one row per date and name."""
    return frame.rename_axis(columns="ticker").stack().rename("close").reset_index()


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes of it changed, left out, put in or cut off."""
    data = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 2, 5, 20]))):
        at = int(rng.integers(len(data))) if data else 0
        how = int(rng.integers(5))
        if how == 0 and data:
            data[at] ^= 1 << int(rng.integers(8))
        elif how == 1 and data:
            data[at] = int(rng.choice([0, 10, 13, 34, 44, 46, 255, 196, 0x1F]))
        elif how == 2:
            data[at:at] = bytes(rng.integers(0, 256, int(rng.integers(1, 9)), dtype=np.uint8))
        elif how == 3:
            del data[at : at + int(rng.integers(1, 9))]
        elif how == 4 and rng.random() < 0.3:
            del data[at:]
    return bytes(data)


def _edited_once(rows: list[list[str]], rng: np.random.Generator) -> list[list[str]]:
    r, how = int(rng.integers(1, len(rows))), int(rng.integers(10))
    if how <= 2:
        rows[r][int(rng.integers(len(rows[r])))] = str(rng.choice(CELLS))
    elif how == 3:
        rows[r][0] = str(rng.choice(DATES))
    elif how == 4:
        rows[0][int(rng.integers(len(rows[0])))] = str(rng.choice(HEADERS))
    elif how == 5:
        rows.insert(r, rows[int(rng.integers(len(rows)))][:])
    elif how == 6:
        rows[r] = rows[r][:-1] if rng.random() < 0.5 else [*rows[r], "1"]
    elif how == 7:
        rows.insert(r, [str(rng.choice(["", " ", ",", '"', "#", "\x00"]))])
    elif how == 8:
        rows = [row[::-1] for row in rows] if rng.random() < 0.3 else rows[:1] + rows[:0:-1]
    elif how == 9:
        i = int(rng.integers(len(rows[0])))
        rows = [row[:i] + row[i : i + 1] + row[i:] for row in rows]
    return rows


def edited(text: str, rng: np.random.Generator) -> str:
    """A CSV with cells, dates, rows or names that are not as they should be."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(int(rng.choice([1, 1, 2, 4]))):
        with suppress(ValueError, IndexError):  # of a row that is gone by now
            rows = _edited_once(rows, rng)
    ends = str(rng.choice(["\n", "\n", "\r\n", "\r", "\n\n", ";\n"]))
    return str(rng.choice(["", "", "\ufeff", "\n", " "])) + ends.join(",".join(row) for row in rows) + ends


def packed(content: bytes, rng: np.random.Generator) -> bytes:
    """Gzipped, perhaps twice, cut or followed by something."""
    data = gzip.compress(content, 1)
    how = int(rng.integers(6))
    if how == 0:
        return data[: int(rng.integers(len(data)))]
    if how == 1:
        return data + flipped(data, rng)
    if how == 2:
        return gzip.compress(data, 1)
    if how == 3:
        return flipped(data, rng)
    return data


def swollen(frame: pd.DataFrame, rng: np.random.Generator) -> bytes:
    """Little when packed, and much when not."""
    head, size = ",".join(["date", *frame.columns]).encode() + b"\n", int(rng.integers(1, 60)) << 20
    unit = (b",", b"\n", b"1", b'"\n', b"," * 5000 + b"\n", b"2020-01-01,1,1\n")[int(rng.integers(6))]
    block, packer = unit * ((1 << 20) // len(unit)), zlib.compressobj(1, wbits=31)
    return packer.compress(head) + b"".join(packer.compress(block) for _ in range(size >> 20)) + packer.flush()


def as_parquet(frame: pd.DataFrame, rng: np.random.Generator) -> bytes:
    """A Parquet file with odd types, names and metadata, or with changed bytes."""
    how = int(rng.integers(7))
    table = pa.Table.from_pandas(long_table(frame) if how == 6 else frame)
    if how in (0, 6):
        about = METADATA[int(rng.integers(len(METADATA)))]
        text = json.dumps(about) if rng.random() < 0.8 else str(rng.choice(["{", "[" * 100_000, "\xff", "NaN", "1" * 5000]))
        table = table.replace_schema_metadata({b"pandas": text.encode("latin-1", "replace"), b"\xff": b"\x00"})
    elif how == 1:
        i = int(rng.integers(table.num_columns))
        table = table.rename_columns([str(rng.choice(HEADERS)) if k == i else n for k, n in enumerate(table.column_names)])
    elif how == 2:
        i, n = int(rng.integers(table.num_columns)), table.num_rows
        other: list[Any] = [
            pa.array([str(k) for k in range(n)]), pa.array([b"\xff"] * n), pa.array([[1.0]] * n), pa.array([{"a": 1}] * n),
            pa.nulls(n), pa.array([True] * n), pa.array([2**62] * n), pa.array([np.nan] * n), pa.array([None] * n, pa.string()),
            pa.array(np.arange(n), pa.duration("s")), pa.array(["x" * 100_000] * n).dictionary_encode(),
            pa.array(np.full(n, 0.5, dtype=np.float16)),
            pa.array([1] * n, pa.decimal128(38, 0)), pa.array(np.arange(n), pa.timestamp("ns", "Asia/Tokyo")),
        ]  # fmt: skip
        table = table.set_column(i, table.column_names[i], other[int(rng.integers(len(other)))])
    elif how == 3:
        table = table.slice(0, int(rng.integers(3)))
    buffer = BytesIO()
    pq.write_table(
        table, buffer, compression=str(rng.choice(["none", "snappy", "zstd"])), row_group_size=int(rng.choice([3, 1000]))
    )
    return flipped(buffer.getvalue(), rng) if how >= 4 and rng.random() < 0.9 else buffer.getvalue()


def as_workbook(frame: pd.DataFrame, rng: np.random.Generator) -> bytes:
    """An Excel workbook with odd cells, sheets and places, or with changed bytes inside or outside of the packing."""
    import xlsxwriter

    buffer = BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True})
    for name in ["Prices", "Notes"][: int(rng.choice([1, 1, 1, 2]))]:
        sheet = book.add_worksheet(name)
        for r, row in enumerate([["date", *frame.columns], *frame.reset_index().astype({"date": str}).to_numpy().tolist()]):
            for k, cell in enumerate(row):
                odd = rng.random() < 0.01
                sheet.write(r, k, str(rng.choice(CELLS)) if odd else cell)
        if rng.random() < 0.1:
            sheet.write(int(rng.choice([5, 1000, 1_048_575])), int(rng.choice([3, 100, 16_383])), 1.0)
    book.close()
    how = int(rng.integers(5))
    if how == 0:
        return flipped(buffer.getvalue(), rng)
    if how == 1:  # damage in what is packed, with sums that are right
        changed = BytesIO()
        with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                content = old.read(name)
                new.writestr(name, flipped(content, rng) if rng.random() < 0.3 else content)
        return changed.getvalue()
    return buffer.getvalue()


def as_archive(text: str, rng: np.random.Generator) -> bytes:
    """A zip archive with one table or several, odd names, much in little, or changed bytes."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for k in range(int(rng.choice([0, 1, 1, 1, 2]))):
            name = str(
                rng.choice(["prices.csv", "a/b.csv", "../x.csv", "/etc/x", ".hidden", "x\u202e.csv", "p.parquet", "x" * 300])
            )
            body = b"0," * (1 << 24) if rng.random() < 0.03 else text.encode()
            archive.writestr(f"{k}{name}" if k else name, body)
    return flipped(buffer.getvalue(), rng) if rng.random() < 0.4 else buffer.getvalue()


def other_way(frame: pd.DataFrame, rng: np.random.Generator) -> str:
    """Separators, decimal marks and orders of dates of other countries, perhaps with something wrong."""
    mark = str(rng.choice([";", "\t", "|"]))
    text = frame.to_csv(
        sep=mark,
        decimal=str(rng.choice([",", "."])),
        date_format=str(rng.choice(["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d", "%d-%b-%Y"])),
    )
    return text if rng.random() < 0.4 else flipped(text.encode(), rng).decode("utf-8", "replace")


def make(rng: np.random.Generator) -> tuple[str, bytes, str]:
    """The kind of a case, the bytes of the file, and how its name ends."""
    frame = good(rng)
    if rng.random() < 0.25:
        how = int(rng.integers(3))
        if how == 0:
            return "Excel", as_workbook(frame, rng), ".xlsx"
        if how == 1:
            return "zip", as_archive(frame.to_csv(), rng), ".zip"
        return "other ways", other_way(frame, rng).encode(), ".tsv"
    table = frame if rng.random() < 0.75 else long_table(frame)
    text = table.to_csv(index=table is frame)
    kind = str(rng.choice(["bytes", "edited", "edited", "packed", "Parquet", "Parquet", "odd text", "swollen", "left alone"],
                          p=[0.2, 0.2, 0.15, 0.1, 0.15, 0.1, 0.05, 0.01, 0.04]))  # fmt: skip
    if kind == "bytes":
        return kind, flipped(text.encode(), rng), ".csv"
    if kind == "edited":
        return kind, edited(text, rng).encode("utf-8", "replace"), ".csv"
    if kind == "packed":
        inner = text if rng.random() < 0.5 else edited(text, rng)
        return kind, packed(inner.encode("utf-8", "replace"), rng), ".csv.gz"
    if kind == "Parquet":
        return kind, as_parquet(frame, rng), ".parquet"
    if kind == "odd text":
        codec = str(rng.choice(["utf-16", "utf-32", "latin-1", "cp1252", "utf-7"]))
        return kind, edited(text, rng).replace("A", "\u00c4").encode(codec, "replace"), ".csv"
    if kind == "swollen":
        return kind, swollen(frame, rng), ".csv.gz"
    return kind, text.encode(), ".csv"
