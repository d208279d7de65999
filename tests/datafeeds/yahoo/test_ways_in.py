"""Ways to Yahoo's prices: feeds in one call, and a source of the command line."""

import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from datafeeds import DataError, IndexData, SingleIndexData, UniverseError, open_source
from tests.datafeeds.yahoo.market import DAYS, FAST, START
from tests.datafeeds.yahoo.server import Listing, walk


def test_feeds_come_from_yahoo_in_one_call(yahoo, tmp_path):
    data = SingleIndexData.from_yahoo(
        "^GEN", ["AAA", "BBB"], START, cache=tmp_path, patience=FAST, session=yahoo.session(), adjust="total"
    )
    assert isinstance(data, SingleIndexData)
    assert [feed.p.symbol for feed in data.feeds()] == ["^GEN", "AAA", "BBB"]
    yahoo.listings["^TWO"] = Listing(DAYS, walk(80, seed=5), kind="INDEX")
    both = {"index": ["^GEN", "^TWO"], "tickers": "AAA", "start": START, "cache": tmp_path, "session": yahoo.session()}
    assert IndexData.from_yahoo(**both).panel.targets == ("^GEN", "^TWO")
    with pytest.raises(UniverseError, match="takes one target"):
        SingleIndexData.from_yahoo(**both)


def test_yahoo_is_a_source_of_the_command_line(fetch, tmp_path, monkeypatch):
    fetched = fetch()
    monkeypatch.setenv("TRACKER_CACHE", str(tmp_path / "cache"))  # all is there, so nobody is asked
    (tmp_path / "list.txt").write_text("AAA\nBBB\n")
    expected = fetched.panel().fingerprint()
    assert open_source(f"yahoo:AAA,BBB:{START}", "^GEN").fingerprint() == expected
    assert open_source(f"yahoo:{tmp_path / 'list.txt'}:{START}", ["^GEN"]).fingerprint() == expected
    part = open_source(f"yahoo:AAA:{DAYS[10]}:{DAYS[20]}", "^GEN")
    assert (part.day(0), part.day(-1)) == (DAYS[10].isoformat(), DAYS[20].isoformat())


@pytest.mark.parametrize("source", ["yahoo", "yahoo:AAA", "yahoo:", "yahoo:AAA:yesterday"])
def test_a_yahoo_source_that_lacks_something_shows_its_form(source):
    with pytest.raises(DataError, match=r"must look like yahoo:TICKERS:START.*tracker fetch"):
        open_source(source, "^GEN")
    with pytest.raises(UniverseError, match=r"no index named INDEX.*GSPC"):
        open_source("yahoo:AAA:2020-01-01")
