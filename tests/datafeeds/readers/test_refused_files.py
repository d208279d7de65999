"""What is no wide file of prices is refused in one line that names the thing."""

import datetime as dt
import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datafeeds import DataError, UniverseError
from datafeeds.sources import open_source, read_panel
from tests.datafeeds.readers.wide_files import GOOD, frame

TWO = "date,INDEX,A\n{},100,10\n{},101,11\n"

REFUSED = {
    "empty file": ("", DataError, ["empty"]),
    "only blanks": (" \n\n", DataError, ["empty"]),
    "only a header": ("date,INDEX,A\n", DataError, ["no rows", "3 columns"]),
    "one row": ("date,INDEX,A\n2020-01-01,100,10\n", DataError, ["only one row", "2020-01-01"]),
    "one date": (GOOD.splitlines()[0] + "\n" + 3 * (GOOD.splitlines()[1] + "\n"), DataError, ["only one date", "3 times"]),
    "a year in a line of its own": ("date,INDEX,A,B\n2020\n0199.8567,99.6956,99.5728\n2420-01-0", DataError, ["1 field"]),
    "one column": ("hello world\nfoo\n", DataError, ["no comma", "hello world"]),
    "binary": (b"\x7fELF\0\0\0\0,\n\0", DataError, ["not a CSV"]),
    "utf-16": (GOOD.encode("utf-16"), DataError, ["UTF-16", "UTF-8"]),
    "latin-1 header": (GOOD.replace("A", "\u00c4").encode("latin-1"), DataError, ["UTF-8"]),
    "latin-1 cell": (GOOD.replace("11", "\u00c4").encode("latin-1"), DataError, ["UTF8", "UTF-8"]),
    "excel": (b"PK\x03\x04rest", DataError, ["Excel", "zip"]),
    "cut gzip": (gzip.compress(GOOD.encode())[:-9], DataError, ["gzip", "damaged"]),
    "row too short": (GOOD + "2020-01-04,103\n", DataError, ["2020-01-04,103", "2 fields", "4"]),
    "row too long": (GOOD.replace("101,", "101,1,"), DataError, ["2020-01-02", "5 fields", "4"]),
    "text price": (GOOD.replace(",21", ",n.a. x"), DataError, ["'B'", "2020-01-02", "'n.a. x'", "row 2"]),
    "thousands": (GOOD.replace("101", '"1,010"'), DataError, ["ambiguous", "thousands", "--decimal"]),
    "point and comma": (GOOD.replace("101", '"1,01"').replace("102", "1.5"), DataError, ["'INDEX'", "'1,01'", "2020-01-02"]),
    "truth value": (GOOD.replace(",20", ",True").replace(",21", ",True"), DataError, ["'B'", "'True'"]),
    "long table": ("date,ticker,close\n2020-01-01,X,1\n2020-01-01,Y,2\n", DataError, ["'ticker'", "'X'", "pivot"]),
    "zero": (GOOD.replace(",11,", ",0,"), DataError, ["A", "2020-01-02", "0", "> 0"]),
    "negative": (GOOD.replace(",11,", ",-3,"), DataError, ["A", "2020-01-02", "-3"]),
    "infinite": (GOOD.replace(",11,", ",inf,"), DataError, ["A", "2020-01-02", "inf"]),
    "overflow": (GOOD.replace(",11,", ",1e999,"), DataError, ["A", "2020-01-02", "inf"]),
    "zero index": (GOOD.replace("101", "0"), DataError, ["INDEX", "2020-01-02"]),
    "hole": (GOOD.replace(",11,", ",,"), DataError, ["A", "2020-01-02", "freeze"]),
    "hole in the index": (GOOD.replace("101", ""), DataError, ["INDEX", "2020-01-02"]),
    "empty column": ("date,INDEX,A,B\n2020-01-01,1,,1\n2020-01-02,1,,1\n", DataError, ["A", "no price at all"]),
    "returns": ("date,INDEX,A\n2020-01-01,-0.01,0.02\n2020-01-02,0.01,-0.02\n", DataError, ["returns", "cumprod", "-0.0"]),
    "duplicated date": (GOOD + "2020-01-03,103,13,23\n", DataError, ["2020-01-03", "twice", "INDEX: 102 and 103"]),
    "no date": (GOOD.replace("2020-01-02", ""), DataError, ["row 2", "no date"]),
    "not a date": (GOOD.replace("2020-01-02", "someday"), DataError, ["'someday'", "row 2", "YYYY-MM-DD"]),
    "no such day": (GOOD.replace("2020-01-02", "2020-02-30"), DataError, ["'2020-02-30'", "row 2"]),
    "ambiguous date": (TWO.format("01/02/2020", "02/02/2020"), DataError, ["'01/02/2020'", "ambiguous", "--dates dmy"]),
    "day and month first": (TWO.format("13/02/2020", "02/14/2020"), DataError, ["'13/02/2020'", "'02/14/2020'", "YYYY-MM-DD"]),
    "short year": (TWO.format("13/02/20", "14/02/20"), DataError, ["'13/02/20'", "--dates"]),
    "two ways": (TWO.format("2020-02-13", "14/02/2020"), DataError, ["'14/02/2020'", "other rows", "YYYY-MM-DD"]),
    "two signs in a date": (GOOD.replace("2020-01-02", "2020/01-02"), DataError, ["'2020/01-02'", "row 2", "YYYY-MM-DD"]),
    "far date": (TWO.format("2020-01-01", "9999-12-31"), DataError, ["9999-12-31"]),
    "zone in one row": (TWO.format("2020-01-01", "2020-01-02T00:00:00Z"), DataError, ["time zone", "row 2"]),
    "counter": (TWO.format("0", "1").replace("date", "t"), DataError, ["'t'", "numbers", "'0'", "YYYY-MM-DD"]),
    "years": (TWO.format("2019", "2020"), DataError, ["numbers", "'2019'"]),
    "no dates at all": ("INDEX,A\n100.5,10\n101,11\n", DataError, ["'INDEX'", "not dates", "'100.5'"]),
    "no index": (GOOD.replace("INDEX", "SPX"), UniverseError, ["'INDEX'", "SPX", "A", "--index"]),
    "only the index": ("date,INDEX\n2020-01-01,1\n2020-01-02,1\n", UniverseError, ["no asset"]),
    "column twice": (GOOD.replace(",B", ",A"), UniverseError, ["'A'", "2 times"]),
    "column twice but for blanks": (GOOD.replace(",B", ", A "), UniverseError, ["'A'", "2 times"]),
    "date twice": (GOOD.replace(",B", ",date"), UniverseError, ["'date'"]),
    "nameless column": ("date,INDEX,A,\n2020-01-01,1,1,\n", UniverseError, ["column 4", "no name"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_csv_is_refused_in_one_line_that_names_the_thing(write, case):
    content, kind, words = REFUSED[case]
    with pytest.raises(kind) as caught:
        read_panel(write(content))
    message = str(caught.value)
    assert type(caught.value) is kind
    assert "\n" not in message
    assert message.startswith("prices.csv: ")
    assert [word for word in words if word not in message] == []


def test_hundreds_of_bad_rows_are_one_short_line(write):
    with pytest.raises(DataError) as caught:
        read_panel(write(GOOD + "2020-02-01,1\n" * 500))
    assert len(str(caught.value)) < 300


def parquet(table, tmp_path):
    path = tmp_path / "p.parquet"
    table.to_parquet(path) if isinstance(table, pd.DataFrame) else pq.write_table(table, path)
    return path


def dated(dates):
    return pa.table({"date": pa.array(dates), "INDEX": [1.0, 2], "A": [1.0, 2]})


TIMES = pa.array([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)])
BAD_PARQUET = {
    "text": (frame(X=["a", "b", "c"]), DataError, ["'X'", "'a'", "2020-01-01"]),
    "truth": (frame(X=[True, False, True]), DataError, ["'X'", "'True'"]),
    "times": (frame(X=pd.to_datetime(["2020-01-01"] * 3)), DataError, ["'X'"]),
    "lists": (pa.table({"date": TIMES, "INDEX": [1.0, 2], "X": [[1], [2]]}), DataError, ["'X'", "[1]"]),
    "counter": (frame().reset_index(drop=True), DataError, ["'INDEX'", "not dates"]),
    "integer index": (frame().set_axis(pd.Index([5, 6, 7], name="t")), DataError, ["'t'", "'5'"]),
    "two levels": (frame().assign(k=1).set_index("k", append=True), DataError, ["2 index levels", "date, k"]),
    "no rows": (frame().iloc[:0], DataError, ["0 rows"]),
    "one row": (frame().iloc[:1], DataError, ["only one row"]),
    "missing date": (dated([dt.datetime(2020, 1, 1), None]), DataError, ["row 2", "no date"]),
    "odd date type": (dated([[1], [2]]), DataError, ["'date'", "list"]),
    "far date": (dated([dt.date(2020, 1, 1), dt.date(9999, 1, 1)]), DataError, ["9999"]),
    "zero": (frame(X=[1.0, 0.0, 1.0]), DataError, ["X", "2020-01-02", "0"]),
    "hole": (frame(X=[1.0, None, 1.0]), DataError, ["X", "2020-01-02", "freeze"]),
    "twice": (dated(TIMES).append_column("A", pa.array([1.0, 2])), UniverseError, ["'A'", "2 times"]),
    "infinite": (frame(X=[1.0, np.inf, 1.0]), DataError, ["X", "2020-01-02", "inf"]),
    "no index": (frame().rename(columns={"INDEX": "SPX"}), UniverseError, ["'INDEX'", "SPX, A"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_PARQUET)
def test_bad_parquet_is_refused_in_one_line_that_names_the_thing(tmp_path, case):
    content, kind, words = BAD_PARQUET[case]
    with pytest.raises(kind) as caught:
        read_panel(parquet(content, tmp_path))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("p.parquet: ")
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1 but then something else entirely PAR1", GOOD.encode()])
def test_damaged_parquet_is_refused(write, content):
    with pytest.raises(DataError, match=r"^p\.parquet: .*Parquet") as caught:
        read_panel(write(content, "p.parquet"))
    assert "\n" not in str(caught.value)


def test_a_footer_that_disagrees_with_its_row_groups_is_damaged(tmp_path):
    path = parquet(dated(TIMES), tmp_path)
    pq.write_table(pq.read_table(path), path, row_group_size=1, compression="none")
    good = path.read_bytes()
    wrong = 0
    for place in range(len(good) - 12, len(good) // 2, -1):
        path.write_bytes(good[:place] + bytes([good[place] ^ 2]) + good[place + 1 :])
        try:
            footer = pq.read_metadata(path)
            rows = sum(footer.row_group(g).num_rows for g in range(footer.num_row_groups))
        except (pa.ArrowException, OSError, OverflowError):
            continue
        if rows != footer.num_rows and rows >= 0:
            wrong += 1
            with pytest.raises(DataError, match=r"^p\.parquet: .*(rows|Parquet)"):
                read_panel(path)
    assert wrong


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match=r"^nothing\.csv: no such file"):
        read_panel(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_panel(tmp_path)
    with pytest.raises(DataError):
        read_panel("x\0.csv")
    for reader in (read_panel, open_source):
        with pytest.raises(DataError) as caught:
            reader("x" * 5000)
        assert "\n" not in str(caught.value)


def test_unknown_gap_policy(write):
    with pytest.raises(DataError, match=r"'drop'.*error, freeze"):
        read_panel(write(GOOD), gaps="drop")
    with pytest.raises(DataError, match=r"'drop'.*error, freeze"):
        open_source("sample", gaps="drop")
