"""A file says how large it is before it is read; what unpacks to more than prices ever do is refused in little memory."""

import argparse
import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datafeeds import DataError, file_limits, open_source
from datafeeds.errors import ParameterError
from datafeeds.readers.limits import VARIABLE, FileLimits
from tests.datafeeds.readers.wide_files import GOOD
from tests.storm import files
from tests.storm.bad_input.many import outcomes

MB = 1 << 20
HEAD = b"date,INDEX,A\n2020-01-01,"
REPORT = """
import json, resource, sys
from datafeeds.sources import load_sample, open_source
load_sample()
found, peak = {}, lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
for path in sys.argv[1:]:
    before = peak()
    try:
        panel = open_source(path)
        found[path] = ["read", (panel.close.nbytes + panel.target_close.nbytes) / 2**20, peak() - before]
    except Exception as problem:
        found[path] = [type(problem).__name__, 0.0, peak() - before]
print(json.dumps(found))
"""


def measured(*paths):
    """What becomes of each file in a process of its own, and by how much the peak of its memory rose."""
    run = subprocess.run([sys.executable, "-c", REPORT, *map(str, paths)], capture_output=True, text=True, env=dict(os.environ))
    return json.loads(run.stdout)


def test_a_stray_cell_far_below_a_sheet_is_said_before_the_sheet_is_read(tmp_path):
    pytest.importorskip("xlsxwriter")
    sheet = pd.DataFrame(100.0, index=pd.bdate_range("2020-01-01", periods=30, name="date"), columns=["INDEX", *"ABCD"])
    path = tmp_path / "prices.xlsx"
    with pd.ExcelWriter(path, engine="xlsxwriter") as book:
        sheet.to_excel(book)
        book.sheets["Sheet1"].write("C1048576", "checked")
    with pytest.raises(DataError, match=r"of 6,291,456 cells have a price.*last used row is 1,048,576, its last used column 6$"):
        open_source(path)
    kind, _, megabytes = measured(path)[str(path)]
    assert kind == "DataError"
    assert megabytes < 100.0


def table(columns, values, rows):
    days = pd.date_range("1900-01-01", periods=rows).values.astype("datetime64[us]")
    return pa.table({"date": days, **{f"A{i}" if i else "INDEX": values for i in range(columns)}})


def test_a_small_file_that_unpacks_to_a_lot_is_refused_in_little_memory(tmp_path):
    bombs = {
        "one line.csv.gz": gzip.compress(b"," * 120 * MB, 1),
        "one row.csv.gz": gzip.compress(HEAD + b"," * 120 * MB, 1),
        "lines.csv.gz": gzip.compress(HEAD + b"\n" * 120 * MB, 1),
        "a cell.csv.gz": gzip.compress(HEAD + b"1" * 120 * MB, 1),
    }
    paths = []
    for name, content in bombs.items():
        paths.append(tmp_path / name)
        paths[-1].write_bytes(content)
    same = pa.array(np.ones(20_000))
    for name, made in {
        "constant.parquet": table(2_000, same, 20_000),
        "nothing.parquet": table(2_000, pa.nulls(20_000, pa.float64()), 20_000),
        "a text.parquet": pa.table({"date": ["x" * 1000_000] * 500, "INDEX": [1.0] * 500}),
        "a huge text.parquet": pa.table({"date": ["2020-01-01"], "INDEX": [1.0], "A": ["y" * 200 * MB]}),
    }.items():
        paths.append(tmp_path / name)
        pq.write_table(made, paths[-1], compression="zstd")
    for path, (became, _, peak) in measured(*paths).items():
        assert became == "DataError", path
        assert peak <= 300, path


def test_a_good_file_takes_at_most_ten_times_its_panel_and_50_mb(tmp_path):
    rng = np.random.default_rng(0)
    prices = 100 * np.exp(np.cumsum(0.01 * rng.standard_normal((4000, 200)), axis=0))
    days = pd.date_range("1990-01-01", periods=4000, name="date")
    frame = pd.DataFrame(prices.round(2), index=days, columns=["INDEX", *(f"A{i}" for i in range(199))])
    frame.to_csv(tmp_path / "a.csv.gz", compression={"method": "gzip", "compresslevel": 1})
    frame.to_parquet(tmp_path / "b.parquet")
    for path, (became, panel, peak) in measured(tmp_path / "a.csv.gz", tmp_path / "b.parquet").items():
        assert became == "read"
        assert peak <= 10 * panel + 50, path


def test_a_long_table_with_a_date_and_a_name_of_its_own_in_each_row_is_refused(write):
    days = np.arange("1950-01-01", 5_000, dtype="datetime64[D]")
    rows = "".join(f"{day},T{i},1\n" for i, day in enumerate(days))
    with pytest.raises(DataError, match=r"at most 5,000 of 25,000,000 cells have a price.*TRACKER_FILE_LIMITS=empty=5001"):
        open_source(write(f"date,ticker,close\n{rows}"))


def test_limits_are_changed_for_a_block_or_in_the_environment(write, monkeypatch):
    path = write(GOOD)
    assert open_source(path).n_assets == 2
    with file_limits(columns=3), pytest.raises(DataError, match=r"prices\.csv: 4 columns are more than 3, .*=columns=4"):
        open_source(path)
    with file_limits(rows=2), pytest.raises(DataError, match="rows are more than 2"):
        open_source(path)
    monkeypatch.setenv(VARIABLE, "columns=3")
    with pytest.raises(DataError, match="4 columns"):
        open_source(path)
    with file_limits(columns=4):
        assert open_source(path).n_assets == 2


@pytest.mark.parametrize("text", ["colums=3", "columns", "columns=many", "columns=0"])
def test_a_limit_that_is_none_is_refused_by_name(write, monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises((ParameterError, DataError), match="colum"):
        open_source(write(GOOD))


def test_the_defaults_are_the_documented_ones():
    for name, value in vars(FileLimits()).items():
        words = f"{value // 1_000_000} million" if value >= 1_000_000 else f"{value:,}" if name != "unpacked" else str(value)
        assert f"{name} : int, default {words}" in FileLimits.__doc__


@pytest.mark.parametrize("mark", [b"BZh9", b"\xfd7zXZ\x00", b"(\xb5/\xfd", b"PK\x03\x04"])
def test_other_ways_to_pack_are_named(write, mark):
    with pytest.raises(DataError, match=r"packed with|zip archive"):
        open_source(write(mark + b"rest,of,it\n"))


def test_bytes_that_are_no_text_are_named_once_and_nothing_else_is_printed(write, capfd):
    for row in ("2020-01-04,103,\xc4,23\n", "2020-01-04,103\xc4\n"):
        with pytest.raises(DataError, match=r"UTF-8 \(invalid UTF8 data, b'\\xc4' in line 5\)"):
            open_source(write((GOOD + row).encode("latin-1")))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("about", ['{"index_columns": 5}', '{"index_columns": {"a": 1}}', "[" * 100_000, "5", "null", "{"])
def test_what_parquet_says_of_itself_is_not_believed(tmp_path, about):
    made = table(2, pa.array([1.0, 2.0, 3.0]), 3).replace_schema_metadata({b"pandas": about.encode()})
    pq.write_table(made, tmp_path / "p.parquet")
    assert open_source(tmp_path / "p.parquet").n_assets == 1


def test_an_infinite_level_of_an_index_is_refused_however_it_is_read(write):
    rows = "".join(f"2020-01-0{d},{name},{p}\n" for d in (1, 2, 3) for name, p in (("INDEX", "inf" if d == 2 else 5), ("A", 7)))
    for gaps in ("error", "freeze"):
        with pytest.raises(DataError, match="INDEX on 2020-01-02 is inf"):
            open_source(write(f"date,ticker,close\n{rows}"), gaps=gaps)


def test_a_small_storm_of_bad_files():
    pytest.importorskip("xlsxwriter")
    pytest.importorskip("python_calamine")
    given = argparse.Namespace(seed=5, first=0, count=250, jobs=1)
    assert [outcome for outcome in outcomes(files.trial, given, 300.0) if outcome.wrong] == []
