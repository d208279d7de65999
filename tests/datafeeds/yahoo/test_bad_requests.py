"""Requests that make no sense are refused before anybody is asked."""

import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from datafeeds import DataError, Patience, UniverseError, yahoo_panel
from datafeeds.yahoo.cache import CacheError
from tests.datafeeds.yahoo.market import START, statuses


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"tickers": []}, UniverseError, "no ticker given"),
        ({"tickers": "AAA, ,"}, None, ""),
        ({"tickers": "AAA,B B"}, UniverseError, "'B B' is not a ticker"),
        ({"tickers": "US0378331005"}, UniverseError, "is an ISIN"),
        ({"tickers": "AAA,^GEN"}, UniverseError, r"\^GEN is the index and cannot be an asset, too"),
        ({"tickers": "nowhere/list.txt"}, DataError, "no such file of tickers: nowhere/list.txt"),
        ({"index": []}, UniverseError, "no index to track"),
        ({"start": "2023-02-01", "end": "2023-01-01"}, DataError, "start 2023-02-01 is after end 2023-01-01"),
        ({"start": "01.02.2023"}, DataError, "start '01.02.2023' is not a date; write it as YYYY-MM-DD"),
        ({"start": "2199-01-01"}, DataError, "start 2199-01-01 lies in the future"),
        ({"start": "1066-10-14"}, DataError, "between the years 1900 and 2200"),
        ({"mode": "cached"}, DataError, "mode='cached' is unknown; choose one of online, prefer-cache, offline"),
    ],
)
def test_a_bad_request_is_refused_before_anybody_is_asked(yahoo, fetch, change, error, says):
    if error is None:
        assert "AAA" in statuses(fetch(**change))
        return
    with pytest.raises(error, match=says):
        fetch(**change)
    assert not yahoo.requests


@pytest.mark.parametrize("wrong", [{"adjust": "dividends"}, {"policy": "lenient"}, {"gaps": "fill"}])
def test_misspelled_choices_are_refused_before_anybody_is_asked(yahoo, tmp_path, wrong):
    with pytest.raises(DataError, match=f"{next(iter(wrong))}=.* is unknown; choose one of"):
        yahoo_panel("^GEN", "AAA", START, cache=tmp_path, session=yahoo.session(), **wrong)
    assert not yahoo.requests


@pytest.mark.parametrize("wrong", [{"timeout": -1.0}, {"retries": float("nan")}, {"pause": float("inf")}])
def test_patience_is_checked(wrong):
    with pytest.raises(DataError, match=f"{next(iter(wrong))}=.* must be a finite number of at least 0"):
        Patience(**wrong)
    assert Patience(timeout=1e6).timeout == 60.0
    assert Patience(timeout=0.0).timeout == 0.1


def test_an_unwritable_cache_is_told_before_anybody_is_asked(yahoo, fetch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CacheError, match="cannot write to the price cache"):
        fetch(cache=tmp_path / "file")
    assert not yahoo.requests
