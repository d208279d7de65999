"""`tracker fetch` as a user meets it: a table of outcomes, a file, an exit code."""

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from datafeeds import DataError, UniverseError, fetch_yahoo, read_panel
from tests.datafeeds.yahoo.server import Fault, Listing, YahooServer, walk, weekdays
from tracker_strategies.cli.fetch import FULL_TABLE, run_fetch
from tracker_strategies.errors import OutputError

DAYS = weekdays("2023-01-02", 60)


@pytest.fixture
def yahoo():
    listings = {
        "^GEN": Listing(DAYS, walk(60, first=4000.0, seed=1), kind="INDEX"),
        "AAA": Listing(DAYS, walk(60, seed=2), dividends={DAYS[30]: 1.0}),
        "BBB": Listing(DAYS[10:], walk(50, seed=3)),
    }
    with YahooServer(listings) as server:
        yield server


@pytest.fixture
def fetch(yahoo, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def fetch(tickers="AAA,BBB", *, index=("^GEN",), start="2023-01-01", **options):
        return run_fetch(index, tickers, start, cache=str(tmp_path / "cache"), session=yahoo.session(), **options)

    return fetch


def test_a_file_for_the_other_commands(fetch, tmp_path, capsys):
    (tmp_path / "members.txt").write_text("AAA\nBBB\n")
    for name in ("prices.parquet", "prices.csv"):
        out = tmp_path / name
        assert fetch(str(tmp_path / "members.txt"), out=str(out)) == 0
        panel = read_panel(out, "^GEN")
        assert panel.symbols == ("AAA", "BBB")
        assert panel.n_bars == 60
    assert f"tracker run pa --data {out} --index ^GEN" in capsys.readouterr().err


def test_the_file_holds_the_prices_that_were_asked_for(yahoo, fetch, tmp_path):
    for adjust in ("split", "total", "raw"):
        out = tmp_path / f"{adjust}.parquet"
        fetch(out=str(out), adjust=adjust)
        fetched = fetch_yahoo("^GEN", "AAA,BBB", "2023-01-01", mode="offline", cache=tmp_path / "cache")
        np.testing.assert_array_equal(read_panel(out, "^GEN").close, fetched.panel(adjust=adjust).close)
    assert pd.read_parquet(tmp_path / "total.parquet")["AAA"].iloc[0] < pd.read_parquet(tmp_path / "split.parquet")["AAA"].iloc[0]


def test_the_table_tells_the_outcome_of_every_series(fetch, capsys):
    assert fetch("AAA,NIX", policy="drop") == 0
    shown = capsys.readouterr()
    rows = [line.split() for line in shown.out.splitlines()]
    assert ["^GEN", "fetched", "60", str(DAYS[0]), str(DAYS[-1])] in rows
    assert ["NIX", "not", "found", "-", "-", "-", "Yahoo", "does", "not", "know", "this", "ticker"] in rows
    assert "3 series: 2 fetched, 1 not found" in shown.out
    assert "left out  NIX: not found: Yahoo does not know this ticker" in shown.err


def test_a_long_report_shows_what_is_not_as_it_should_be(yahoo, fetch, capsys):
    names = [f"T{i}" for i in range(FULL_TABLE)]
    for name in names:
        yahoo.listings[name] = Listing(DAYS, walk(60, seed=5))
    fetch(",".join([*names, "NIX"]), policy="drop")
    shown = capsys.readouterr().out
    assert "T1 " not in shown
    assert "NIX" in shown
    assert f"{len(names) + 2} series: {len(names) + 1} fetched, 1 not found" in shown


def test_strict_writes_nothing_and_says_why(fetch, tmp_path, capsys):
    out = tmp_path / "prices.csv"
    out.write_text("older")
    assert fetch("AAA,NIX", out=str(out)) == 1
    assert out.read_text() == "older"
    assert "FetchError: 1 of 3 series failed: NIX not found" in capsys.readouterr().err


def test_the_index_is_needed_under_every_policy(fetch, tmp_path, capsys):
    assert fetch(index=["^NIX"], policy="drop", out=str(tmp_path / "prices.csv")) == 1
    assert "no prices of the index: ^NIX not found" in capsys.readouterr().err
    assert not (tmp_path / "prices.csv").exists()


def test_json_is_all_that_goes_to_stdout(fetch, capsys):
    assert fetch("AAA,NIX", as_json=True) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [(row["ticker"], row["status"], row["ok"], row["bars"]) for row in rows] == [
        ("^GEN", "fetched", True, 60),
        ("AAA", "fetched", True, 60),
        ("NIX", "not found", False, 0),
    ]


def test_holes_are_told_with_the_way_to_use_the_file(yahoo, fetch, tmp_path, capsys):
    yahoo.listings["AAA"].close[20] = None
    out = tmp_path / "prices.parquet"
    assert fetch(out=str(out)) == 0
    assert "--gaps freeze" in capsys.readouterr().err
    assert read_panel(out, "^GEN", gaps="freeze").n_bars == 60


def test_offline_works_from_the_cache_alone(yahoo, fetch, tmp_path):
    fetch()
    asked = len(yahoo.requests)
    assert fetch(mode="offline", out=str(tmp_path / "prices.csv")) == 0
    assert len(yahoo.requests) == asked


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"out": "prices.xlsx"}, OutputError, "use a name that ends with .parquet or .csv"),
        ({"out": "nowhere/at/all/prices.csv"}, OutputError, "is not a folder"),
        ({"out": "."}, OutputError, "the format of . is unknown"),
        ({"adjust": "dividends"}, DataError, "adjust='dividends' is unknown"),
        ({"policy": "lenient"}, DataError, "policy='lenient' is unknown"),
        ({"mode": "cached"}, DataError, "mode='cached' is unknown"),
        ({"tickers": "empty.txt"}, UniverseError, "empty.txt holds no ticker"),
        ({"tickers": "absent.txt"}, DataError, "no such file of tickers"),
        ({"start": "2024-01-01", "end": "2023-01-01"}, DataError, "is after end"),
        ({"timeout": -3.0}, DataError, "timeout=-3.0 must be"),
        ({"index": ()}, UniverseError, "no index to track"),
    ],
)
def test_what_a_user_can_mend_is_told_before_anybody_is_asked(yahoo, fetch, tmp_path, monkeypatch, options, error, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("# nothing yet\n")
    with pytest.raises(error, match=says):
        fetch(**options)
    assert not yahoo.requests


def test_a_rate_limit_is_reported_and_the_rest_is_kept_for_the_next_run(yahoo, fetch, capsys):
    yahoo.fail("BBB", Fault(429, b"", {"Retry-After": "0"}))
    assert fetch("AAA,BBB", retries=1) == 1
    assert "BBB rate limited (HTTP 429, Retry-After 0)" in capsys.readouterr().err
    yahoo.faults.clear()
    assert fetch("AAA,BBB") == 0
    assert "1 fetched" in capsys.readouterr().out
