"""Small tables as people keep them: any separator, decimal mark, order of dates, in a sheet or an archive."""

import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from datafeeds import DataError, read_flows, read_index_weights
from datafeeds.errors import ReadingNote
from datafeeds.readers import read_any_table
from datafeeds.readers.reading import deciding

FRAME = pd.DataFrame({"Symbol": ["AAPL", "NA", "0700"], "qty": [10.0, 1250.5, np.nan], "note": ["", "a, b", "c"]})
FRAME.insert(0, "date", pd.to_datetime(["2020-12-31", "2021-01-05", "2021-02-01"]))


def as_text(separator, decimal=".", dates="%Y-%m-%d", thousands=""):
    number = {10.0: "10", 1250.5: f"1{thousands}250{decimal}5"}
    rows = [
        separator.join([day.strftime(dates), name, number.get(qty, ""), f'"{note}"'])
        for day, name, qty, note in FRAME.itertuples(index=False)
    ]
    return "\n".join([separator.join(FRAME.columns), *rows]) + "\n"


SHAPES = {
    "commas": (as_text(","), []),
    "semicolons": (as_text(";", ","), ["semicolons", "decimal comma"]),
    "tabs": (as_text("\t"), ["tabs"]),
    "bars": (as_text("|", ",", thousands="."), ["vertical bars", "decimal comma", "points between thousands"]),
    "day first": (as_text(";", ",", "%d.%m.%Y"), ["semicolons", "decimal comma", "day first"]),
    "month first": (as_text(",", dates="%m/%d/%Y"), ["month first"]),
    "named months": (as_text(",", dates="%d-%b-%Y"), []),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_table_is_the_same_however_it_is_written(tmp_path, shape):
    text, said = SHAPES[shape]
    (tmp_path / "t.csv").write_text(text)
    frame, notes = read_any_table(tmp_path / "t.csv")
    pd.testing.assert_frame_equal(frame, FRAME, check_dtype=False)
    assert sorted(notes) == sorted(said)
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.write(tmp_path / "t.csv", "folder/t.csv")
        archive.writestr("__MACOSX/folder/._t.csv", b"\0")
    packed, _ = read_any_table(tmp_path / "t.zip")
    pd.testing.assert_frame_equal(packed, FRAME, check_dtype=False)


def test_sheets_and_parquet_are_read_as_well(tmp_path):
    pytest.importorskip("python_calamine")
    with pd.ExcelWriter(tmp_path / "t.xlsx", engine="xlsxwriter") as book:
        FRAME.to_excel(book, sheet_name="Holdings", index=False)
    FRAME.to_parquet(tmp_path / "t.parquet")
    for path, said in (
        (tmp_path / "t.xlsx", ("sheet 'Holdings'",)),
        (f"{tmp_path}/t.xlsx:Holdings", ()),
        (tmp_path / "t.parquet", ()),
    ):
        frame, notes = read_any_table(path)
        pd.testing.assert_frame_equal(frame, FRAME, check_dtype=False)
        assert notes == said


REFUSED = {
    "either mark": ("symbol;qty\nA;1,250\nB;2,000\n", "--decimal"),
    "either date": ("date,amount\n01/02/2020,5\n", "--dates dmy"),
    "two marks": ("symbol;qty;price\nA;1,25;7.05\n", "decimal point and others a decimal comma"),
    "no rows": ("symbol,qty\n", "no rows"),
    "twice": ("symbol,qty,qty\nA,1,1\n", "2 times"),
    "nothing": ("", "empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_could_mean_two_things_is_refused_by_name(tmp_path, case):
    text, word = REFUSED[case]
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=rf"^t\.csv: .*{word}"):
        read_any_table(tmp_path / "t.csv")


def test_being_told_decides(tmp_path):
    (tmp_path / "t.csv").write_text("date;amount\n01/02/2020;1,250\n03/04/2020;2,500\n")
    frame, _ = read_any_table(tmp_path / "t.csv", dates="dmy", decimal=",")
    assert [str(day.date()) for day in frame["date"]] == ["2020-02-01", "2020-04-03"]
    assert frame["amount"].tolist() == [1.25, 2.5]
    frame, _ = read_any_table(tmp_path / "t.csv", dates="mdy", decimal=".")
    assert [str(day.date()) for day in frame["date"]] == ["2020-01-02", "2020-03-04"]
    assert frame["amount"].tolist() == [1250.0, 2500.0]


def test_archives_and_workbooks_with_several_tables_want_a_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("a.csv", "symbol,qty\nA,1\n")
        archive.writestr("b.csv", "symbol,qty\nB,2\n")
    with pytest.raises(DataError, match=r"2 files \(a.csv, b.csv\); name one, as t.zip:a.csv"):
        read_any_table(tmp_path / "t.zip")
    assert read_any_table(f"{tmp_path}/t.zip:b.csv")[0]["symbol"].tolist() == ["B"]
    with pytest.raises(DataError, match=r"no file 'c.csv' in the archive"):
        read_any_table(f"{tmp_path}/t.zip:c.csv")
    pytest.importorskip("python_calamine")
    with pd.ExcelWriter(tmp_path / "t.xlsx", engine="xlsxwriter") as book:
        FRAME.to_excel(book, sheet_name="One", index=False)
        FRAME.to_excel(book, sheet_name="Two", index=False)
    with pytest.raises(DataError, match=r"2 sheets \(One, Two\); name one, as t.xlsx:One"):
        read_any_table(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="no sheet 'Three' in the workbook"):
        read_any_table(f"{tmp_path}/t.xlsx:Three")


def test_what_was_said_of_ambiguous_files_decides_only_those(tmp_path):
    (tmp_path / "flows.csv").write_text("date;amount\n01.02.2024;1,234\n05.03.2024;2,345\n")
    with pytest.raises(DataError, match="ambiguous"):
        read_flows(tmp_path / "flows.csv")
    for decimal, unit in ((",", 1.0), (".", 1000.0)):
        wanted = {"2024-02-01": 1.234 * unit, "2024-03-05": 2.345 * unit}
        with deciding("dmy", decimal), pytest.warns(ReadingNote, match=r"flows\.csv read as: semicolons"):
            assert read_flows(tmp_path / "flows.csv") == pytest.approx(wanted)
        with pytest.warns(ReadingNote):
            assert read_flows(tmp_path / "flows.csv", dates="dmy", decimal=decimal) == pytest.approx(wanted)
    (tmp_path / "plain.csv").write_text("date,amount\n2024-02-01,1234.5\n2024-03-05,2\n")
    with deciding("mdy", ","), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_flows(tmp_path / "plain.csv") == {"2024-02-01": 1234.5, "2024-03-05": 2.0}
    (tmp_path / "weights.csv").write_text("date;symbol;weight\n01.02.2024;A;0,5\n01.02.2024;B;0,5\n")
    with deciding("mdy"), pytest.warns(ReadingNote, match="decimal comma"):
        assert read_index_weights(tmp_path / "weights.csv") == {"2024-01-02": {"A": 0.5, "B": 0.5}}
