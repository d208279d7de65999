"""Series that failed: strict names them, drop goes on without them, and delisted names are kept on request."""

import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from datafeeds import FetchError
from datafeeds.yahoo.report import Status
from tests.datafeeds.yahoo.market import DAYS, statuses


def test_strict_names_every_series_that_failed(fetch):
    fetched = fetch("AAA,BRK.B,NIX")
    with pytest.raises(FetchError, match=r"2 of 4 series failed: BRK.B not found .*BRK-B.*; NIX not found") as caught:
        fetched.panel()
    assert "--policy drop" in str(caught.value)
    assert [o.ticker for o in caught.value.report.failed] == ["BRK.B", "NIX"]


def test_drop_goes_on_and_writes_down_what_was_dropped(fetch):
    panel = fetch("AAA,NIX,BBB").panel(policy="drop")
    assert panel.symbols == ("AAA", "BBB")
    assert dict(panel.dropped) == {"NIX": "not found: Yahoo does not know this ticker"}


def test_the_index_is_never_dropped(yahoo, fetch):
    with pytest.raises(FetchError, match=r"no prices of the index: \^NIX not found"):
        fetch(index="^NIX").panel(policy="drop")
    with pytest.raises(FetchError, match=r"no prices of the index: \^NIX"):
        fetch(index=["^GEN", "^NIX"]).panel(policy="drop")
    assert not any(path.endswith("AAA") for _, path, _ in yahoo.requests)  # nobody asks for stocks without their index


def test_dropping_everything_is_an_error(fetch):
    with pytest.raises(FetchError, match="no prices of any asset: NIX not found"):
        fetch("NIX").panel(policy="drop")


def test_a_name_without_a_price_in_the_period_is_empty(yahoo, fetch):
    outcome = fetch("AAA,BBB", end=DAYS[10].isoformat()).report.of("BBB")
    assert outcome.status is Status.EMPTY
    assert outcome.note == f"its prices reach from {DAYS[20]} to {DAYS[-1]}"


def test_a_delisted_name_is_kept_on_request(yahoo, fetch):
    fetch()
    del yahoo.listings["BBB"]
    lost = fetch().report.of("BBB")
    assert lost.status is Status.NOT_FOUND
    assert f"cached until {DAYS[-1]}: keep it as delisted with --keep-delisted" in lost.note
    kept = fetch(keep_delisted=True)
    assert statuses(kept)["BBB"] == "delisted"
    assert kept.panel().symbols == ("AAA", "BBB")
    assert statuses(fetch(mode="offline"))["BBB"] == "cached"
