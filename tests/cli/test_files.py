"""Files that people have, on the command line: options that decide, an index apart, several markets, results as tables."""

import csv as csv_module
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from tests.cli.commands import refused, tracker
from tests.datafeeds.readers.shapes import closes, excel
from tracker_strategies.analysis.exporting import export_run, run_tables


def sha(folder):
    return json.loads((folder / "run.json").read_text())["data"]["sha256"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    wide = closes(24)
    wide.to_csv(folder / "wide.csv")
    wide.drop(columns="^GSPC").to_csv(folder / "assets.csv", sep=";", decimal=",")
    wide[["^GSPC"]].rename(columns={"^GSPC": "Close"}).to_csv(folder / "gspc.csv")
    closes(6).to_csv(folder / "short.csv", date_format="%d/%m/%Y")
    return folder


def run(place, out, *words):
    return tracker("run", "pa", *words, "--out", place / out, "--no-tearsheet", "--force", cwd=place)


def test_an_index_in_a_file_of_its_own_is_the_same_run(place):
    assert run(place, "a", "--data", "wide.csv", "--index", "^GSPC").returncode == 0
    apart = run(place, "b", "--data", "assets.csv", "--index-file", "gspc.csv", "--index", "^GSPC")
    assert "assets.csv read as: semicolons, decimal comma" in apart.stderr
    column = run(place, "c", "--data", "assets.csv", "--index", "wide.csv:^GSPC")
    assert column.returncode == 0, column.stderr
    assert sha(place / "a") == sha(place / "b") == sha(place / "c")


def test_an_order_of_dates_that_cannot_be_known_is_asked_for_and_taken(place):
    refused(run(place, "d", "--data", "short.csv", "--index", "^GSPC"), "--dates dmy")
    assert run(place, "d", "--data", "short.csv", "--index", "^GSPC", "--dates", "dmy").returncode == 0
    refused(run(place, "e", "--data", "wide.csv", "--dates", "dym"), "dmy, mdy, ymd")


def test_an_index_among_the_assets_is_refused_unless_the_limits_keep_it_out(place):
    refused(run(place, "f", "--data", "wide.csv", "--index", "AAPL"), "'^GSPC' looks like an index", "--exclude", "--only")
    for way in (("--exclude", "^GSPC"), ("--only", "LOW,BRK-B")):
        found = run(place, "f", "--data", "wide.csv", "--index", "AAPL", *way)
        assert found.returncode == 0, found.stderr
        assert json.loads((place / "f" / "run.json").read_text())["data"]["assets"] == ["LOW", "BRK-B"]


def test_near_words_are_named(place):
    assert "did you mean 'ensemble'?" in refused(tracker("run", "ensembl", "--data", "sample"))
    assert "did you mean 'eps'" in refused(tracker("run", "pa", "--param", "epz=1"))
    assert "did you mean '^GSPC'" in refused(run(place, "g", "--data", "wide.csv", "--index", "GSPC"))
    assert "--data" in tracker("run", "pa", "--dat", "sample").stderr


MARKETS = """
[markets.NY]
prices = "us.csv"
index = "SPX"
exchange = "XNYS"
[markets.TOKYO]
prices = "japan.csv"
index = "NKY"
exchange = "XTKS"
"""


@pytest.fixture
def markets(tmp_path):
    wide = closes(40)
    wide.rename(columns={"^GSPC": "SPX"})[["SPX", "AAPL"]].to_csv(tmp_path / "us.csv")
    wide.rename(columns={"^GSPC": "NKY"})[["NKY", "LOW"]].to_csv(tmp_path / "japan.csv")
    (tmp_path / "markets.toml").write_text(MARKETS)
    return tmp_path


def test_markets_from_a_description_run_are_compared_swept_and_held(markets):
    commands = (
        ("run", "pa", "--markets", "markets.toml", "--out", "run", "--no-tearsheet"),
        ("compare", "pa", "equal-weight", "--markets", "markets.toml"),
        ("sweep", "run", "pa", "--markets", "markets.toml", "--grid", "eps=0.001,0.002", "--out", "swept", "--jobs", "1"),
        ("paper", "init", "account", "pa", "--markets", "markets.toml"),
        ("paper", "step", "account"),
    )
    for words in commands:
        found = tracker(*words, cwd=markets)
        assert found.returncode == 0, found.stderr
    told = json.loads((markets / "run" / "run.json").read_text())
    assert told["targets"] == ["SPX", "NKY"]
    assert told["data"]["source"] == "markets.toml"
    refused(tracker("run", "pa", "--markets", "markets.toml", "--data", "us.csv", cwd=markets), "remove the other")
    refused(tracker("run", "pa", "--markets", "us.csv", cwd=markets), ".toml")


def test_a_file_for_a_broker_is_in_one_currency(markets):
    orders = ("orders", "pa", "--markets", "markets.toml", "--cash", "10000", "--whole-shares")
    day = closes(40).index[-1].date()
    assert tracker(*orders, "--as-of", day, "--for", "ibkr", cwd=markets).returncode == 0
    told = MARKETS.replace('"XNYS"', '"XNYS"\ncurrency = "USD"').replace('"XTKS"', '"XTKS"\ncurrency = "JPY"')
    (markets / "markets.toml").write_text(f'{told}\n[rates]\nJPY = "jpy.csv"\n')
    (closes(40)["^GSPC"] * 0.0 + 0.007).to_frame("rate").to_csv(markets / "jpy.csv")
    for broker in ("ibkr", "alpaca"):
        refused(tracker(*orders, "--for", broker, cwd=markets), "quoted in JPY, USD", f"a file for {broker} is of one currency")
    assert tracker(*orders, "--as-of", day, cwd=markets).returncode == 0


def test_results_are_tables_that_open_cleanly(place):
    calamine = pytest.importorskip("python_calamine")
    found = run(place, "out", "--data", "wide.csv", "--index", "^GSPC", "--format", "csv,xlsx", "--max-weight", "60%")
    assert found.returncode == 0, found.stderr
    tables = run_tables(place / "out")
    book = calamine.CalamineWorkbook.from_path(str(place / "out" / "results.xlsx"))
    assert book.sheet_names == ["metrics", "weights", "trades", "returns", "breaches"]
    for name, frame in tables.items():
        rows = book.get_sheet_by_name(name).to_python()
        assert rows[0] == [str(column) for column in frame.columns]
        assert len(rows) == 1 + len(frame)
        with (place / "out" / f"{name}.csv").open(newline="") as file:
            assert len(list(csv_module.reader(file))) == 1 + len(frame)
    text = pd.read_csv(place / "out" / "weights.csv", index_col="date", parse_dates=True, dtype=str)
    weights = text.astype(float)  # every digit: pandas before version 3 reads numbers less precisely
    np.testing.assert_array_equal(weights.to_numpy(), pd.read_parquet(place / "out" / "weights.parquet").to_numpy())
    again = pd.read_excel(place / "out" / "results.xlsx", sheet_name="weights", index_col="date", engine="calamine")
    np.testing.assert_allclose(again.to_numpy(), weights.to_numpy(), rtol=1e-15, atol=0.0)  # XlsxWriter writes 16 digits


def test_exporting_a_run_again_gives_the_same_bytes(place, tmp_path):
    run(place, "plain", "--data", "wide.csv", "--index", "^GSPC")
    assert tracker("export", place / "plain", "--xlsx", "--csv", "--out", tmp_path / "one").returncode == 0
    export_run(place / "plain", ("csv", "xlsx"), tmp_path / "two")
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    assert run(place, "plain", "--data", "wide.csv", "--index", "^GSPC").returncode == 0  # exports do not bar the folder
    refused(tracker("export", place / "plain"), "--csv, --xlsx")
    refused(tracker("export", tmp_path, "--csv"), "not a run folder")
    refused(tracker("run", "pa", "--format", "csv"), "--out")
    refused(tracker("run", "pa", "--format", "csc", "--out", tmp_path / "x"), "parquet, csv, xlsx")


def test_text_that_a_spreadsheet_would_run_is_text(place, tmp_path):
    calamine = pytest.importorskip("python_calamine")
    names = {"AAPL": "=cmd()", "LOW": "+LOW", "BRK-B": "@B"}
    closes(24).rename(columns=names).to_csv(tmp_path / "odd.csv")
    assert run(tmp_path, "out", "--data", "odd.csv", "--index", "^GSPC", "--format", "csv,xlsx").returncode == 0
    with (tmp_path / "out" / "weights.csv").open(newline="") as file:
        assert next(csv_module.reader(file)) == ["date", "'=cmd()", "'+LOW", "'@B"]
    book = calamine.CalamineWorkbook.from_path(str(tmp_path / "out" / "results.xlsx"))
    assert book.get_sheet_by_name("weights").to_python()[0] == ["date", "=cmd()", "+LOW", "@B"]
    with zipfile.ZipFile(tmp_path / "out" / "results.xlsx") as archive:
        assert not any(b"<f>" in archive.read(name) for name in archive.namelist())


def test_a_workbook_of_prices_is_enough(tmp_path):
    pytest.importorskip("python_calamine")
    excel(tmp_path / "prices.xlsx", closes(24))
    found = run(tmp_path, "out", "--data", "prices.xlsx", "--index", "^GSPC")
    assert found.returncode == 0, found.stderr
    assert "prices.xlsx read as: sheet 'Prices'" in found.stderr
