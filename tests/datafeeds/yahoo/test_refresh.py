"""A refresh of the cache takes the newest days only, notices a past that was told anew, and outlives damage."""

from datetime import datetime

import pandas as pd
import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from datafeeds.yahoo.report import Status
from tests.datafeeds.yahoo.market import DAYS, NEW_YORK, contents, statuses
from tests.datafeeds.yahoo.server import Listing


def test_a_refresh_asks_for_the_newest_days_only(yahoo, fetch, cache):
    yahoo.today = DAYS[70]
    fetch()
    yahoo.requests.clear()
    yahoo.today = DAYS[-1]
    fetched = fetch()
    assert statuses(fetched) == {"^GEN": "refreshed", "AAA": "refreshed", "BBB": "refreshed"}
    assert fetched.report.of("AAA").note == "9 new bars"
    since = [datetime.fromtimestamp(int(q["period1"][0]), NEW_YORK).date() for _, path, q in yahoo.requests if "/chart/" in path]
    assert since == [DAYS[66]] * 3  # one request each, and five sessions of overlap
    assert cache.read("AAA").bars["close"].to_numpy() == pytest.approx(yahoo.listings["AAA"].close, rel=1e-6)


def test_a_split_is_appended_and_changes_nothing_before_it(yahoo, fetch, cache, tmp_path):
    yahoo.today = DAYS[58]
    fetch("AAA")
    before = cache.read("AAA").bars
    yahoo.today = DAYS[-1]
    assert statuses(fetch("AAA"))["AAA"] == "refreshed"
    after = cache.read("AAA").bars
    pd.testing.assert_frame_equal(after.loc[: before.index[-6]], before.iloc[:-5], check_exact=True)
    fresh = fetch("AAA", cache=tmp_path / "other").panel(adjust="total")
    grown = fetch("AAA", mode="offline").panel(adjust="total")
    assert grown.close == pytest.approx(fresh.close, rel=1e-6)


@pytest.mark.parametrize(
    "restate",
    [
        lambda listing: listing.close.__setitem__(75, listing.close[75] * 1.001),
        lambda listing: listing.dividends.__setitem__(DAYS[75], 0.3),
        lambda listing: listing.splits.__setitem__(DAYS[75], (2, 1)),
        lambda listing: (listing.days.pop(75), listing.close.pop(75)),
    ],
    ids=["a price", "a dividend", "a split", "a day less"],
)
def test_a_restated_past_is_fetched_as_a_whole(yahoo, fetch, cache, restate):
    yahoo.today = DAYS[77]
    fetch("AAA")
    yahoo.today = DAYS[-1]
    restate(yahoo.listings["AAA"])
    asked = yahoo.asked("AAA")
    assert statuses(fetch("AAA")) == {"^GEN": "refreshed", "AAA": "restated"}
    assert yahoo.asked("AAA") == asked + 2
    kept = cache.read("AAA").bars
    assert [day.date() for day in kept.index] == yahoo.listings["AAA"].days
    assert kept["close"].to_numpy() == pytest.approx(yahoo.listings["AAA"].close, rel=1e-6)
    assert statuses(fetch("AAA"))["AAA"] == "refreshed"


def test_a_split_that_is_applied_but_not_told_yet_does_not_spoil_the_cache(yahoo, fetch, cache):
    """The morning of a split day."""
    yahoo.today = DAYS[59]
    fetch("AAA")
    kept = contents(cache)["AAA.parquet"]
    yahoo.listings["AAA"].early = {DAYS[60]}
    outcome = fetch("AAA").report.of("AAA")
    assert outcome.status is Status.MALFORMED
    assert "0.25 times the cached ones and no split explains it" in outcome.note
    assert contents(cache)["AAA.parquet"] == kept
    yahoo.today = DAYS[60]
    assert statuses(fetch("AAA"))["AAA"] == "refreshed"
    assert cache.read("AAA").bars["close"].to_numpy() == pytest.approx(yahoo.listings["AAA"].close[:61], rel=1e-6)


@pytest.mark.parametrize(("today", "early", "untold"), [(DAYS[59], {DAYS[60]}, set()), (DAYS[60], set(), {DAYS[60]})])
def test_a_cache_that_was_filled_on_such_a_morning_is_mended(yahoo, fetch, cache, today, early, untold):
    """With or without a bar of the day."""
    listing = yahoo.listings["AAA"]
    listing.early, listing.untold, yahoo.today = early, untold, today
    fetch("AAA")
    assert cache.read("AAA").bars["close"].iloc[0] == pytest.approx(listing.close[0] / 4, rel=1e-6)
    listing.early, listing.untold, yahoo.today = set(), set(), DAYS[62]
    assert statuses(fetch("AAA"))["AAA"] == "restated"
    assert cache.read("AAA").bars["close"].to_numpy() == pytest.approx(listing.close[:63], rel=1e-6)


def test_a_split_that_is_told_but_not_applied_is_malformed(yahoo, fetch, cache):
    yahoo.listings["AAA"].unapplied = {DAYS[60]}
    outcome = fetch("AAA").report.of("AAA")
    assert outcome.status is Status.MALFORMED
    assert f"the split of {DAYS[60]} is not applied to the prices before it" in outcome.note
    assert cache.read("AAA") is None
    yahoo.listings["AAA"].unapplied = set()
    assert statuses(fetch("AAA"))["AAA"] == "fetched"


def test_corrected_volume_is_taken_over_without_a_new_history(yahoo, fetch, cache):
    fetch("AAA")
    yahoo.listings["AAA"].volume = 2_000_000
    assert statuses(fetch("AAA"))["AAA"] == "refreshed"
    assert cache.read("AAA").bars["volume"].iloc[-6:].tolist() == pytest.approx([1e6, 2e6, 2e6, 2e6, 2e6, 2e6])


def test_a_history_that_became_shorter_does_not_replace_a_longer_one(yahoo, fetch, cache):
    fetch("AAA")
    kept = contents(cache)["AAA.parquet"]
    whole = yahoo.listings["AAA"]
    yahoo.listings["AAA"] = Listing(DAYS[40:], [price + 1 for price in whole.close[40:]], splits=whole.splits)
    outcome = fetch("AAA").report.of("AAA")
    assert outcome.status is Status.MALFORMED
    assert "shorter than the cached one" in outcome.note
    assert contents(cache)["AAA.parquet"] == kept


def test_an_earlier_start_fetches_everything_again(yahoo, fetch, cache):
    fetch("AAA", start=DAYS[40].isoformat())
    assert len(cache.read("AAA").bars) == 40
    assert statuses(fetch("AAA"))["AAA"] == "fetched"
    assert len(cache.read("AAA").bars) == 80
    assert statuses(fetch("AAA", start=DAYS[40].isoformat()))["AAA"] == "refreshed"
    assert len(cache.read("AAA").bars) == 80


def test_a_damaged_file_is_put_aside_and_fetched_again(yahoo, fetch, cache):
    fetch()
    path = cache.path("AAA")
    path.write_bytes(path.read_bytes()[:-100])
    fetched = fetch()
    assert statuses(fetched) == {"^GEN": "refreshed", "AAA": "fetched", "BBB": "refreshed"}
    (aside,) = cache.quarantine.iterdir()
    assert fetched.report.of("AAA").note == (
        f"damaged file put aside as {aside.name}: AAA.parquet: is not a readable price series (ArrowInvalid)"
    )
    assert cache.read("AAA") is not None


def test_damaged_databases_of_yfinance_heal_themselves(yahoo, fetch, cache):
    fetch("AAA")
    for path in (cache.root / "yfinance").iterdir():
        path.unlink()
    for name in ("tkr-tz.db", "cookies.db"):
        (cache.root / "yfinance" / name).write_bytes(b"this is no database, and it is long enough to look like one" * 50)
    other = cache.root.parent.parent / "elsewhere"
    fetch("AAA", cache=other)  # so that the databases of the first cache are opened anew
    assert statuses(fetch("BBB")) == {"^GEN": "refreshed", "BBB": "fetched"}
    assert other.is_dir()
