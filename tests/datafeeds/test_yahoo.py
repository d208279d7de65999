"""Prices from Yahoo through the cache: yfinance as installed, over real HTTP, against generated answers on the loopback."""

import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from datafeeds import (
    DataError,
    FetchError,
    IndexData,
    Limits,
    SingleIndexData,
    UniverseError,
    fetch_yahoo,
    open_source,
    yahoo_panel,
)
from datafeeds.fetch_report import SeriesFailure, Status
from datafeeds.price_cache import CacheError, PriceCache
from datafeeds.yahoo_bars import traded_bars
from datafeeds.yahoo_client import Answer
from tests.datafeeds.yahoo_server import CRUMB, Listing, YahooServer, walk, weekdays

ROOT = Path(__file__).resolve().parents[2]
FAST = Limits(timeout=2.0, retries=1, pause=0.01, rate_limit_pause=0.01, longest_wait=0.05, lock_wait=20.0)
DAYS = weekdays("2023-01-02", 80)
START = "2023-01-01"
NEW_YORK = ZoneInfo("America/New_York")


def market():
    """An index, a stock that splits 4:1 on day 60 and pays two dividends, and one that lists late."""
    split = [
        price if day < DAYS[60] else round(price / 4, 2) for price, day in zip(walk(80, first=400.0, seed=2), DAYS, strict=True)
    ]
    return {
        "^GEN": Listing(DAYS, walk(80, first=4000.0, seed=1), kind="INDEX", volume=0),
        "AAA": Listing(DAYS, split, dividends={DAYS[30]: 2.0, DAYS[70]: 0.5}, splits={DAYS[60]: (4, 1)}),
        "BBB": Listing(DAYS[20:], walk(60, first=30.0, seed=3)),
    }


@pytest.fixture
def yahoo():
    with YahooServer(market()) as server:
        yield server


@pytest.fixture
def fetch(yahoo, tmp_path):
    def fetch(tickers="AAA,BBB", start=START, end=None, *, index="^GEN", **options):
        options = {"cache": tmp_path / "cache", "limits": FAST, "session": yahoo.session(), **options}
        return fetch_yahoo(index, tickers, start, end, **options)

    return fetch


@pytest.fixture
def cache(tmp_path):
    return PriceCache(tmp_path / "cache")


def statuses(fetched):
    return {outcome.ticker: str(outcome.status) for outcome in fetched.report}


def contents(cache):
    return {path.name: path.read_bytes() for path in cache.series.glob("*.parquet")}


# -- what is kept ----------------------------------------------------------------------------------------------------------------


def test_the_cache_holds_what_was_traded_with_its_dividends_and_splits(yahoo, fetch, cache):
    assert statuses(fetch()) == {"^GEN": "fetched", "AAA": "fetched", "BBB": "fetched"}
    traded, kept = yahoo.listings["AAA"], cache.read("AAA")
    assert [day.date() for day in kept.bars.index] == DAYS
    assert kept.bars["close"].to_numpy() == pytest.approx(traded.close, rel=1e-6)
    assert kept.bars["volume"].to_numpy() == pytest.approx(1_000_000)
    assert dict(kept.bars["dividend"][kept.bars["dividend"] > 0]) == pytest.approx(
        {pd.Timestamp(d): amount for d, amount in traded.dividends.items()}
    )
    assert dict(kept.bars["split"][kept.bars["split"] != 1]) == {pd.Timestamp(DAYS[60]): 4.0}
    assert kept.currency == "USD"
    assert kept.asked_from == date(2023, 1, 1)


def test_yfinance_went_its_own_way_with_cookie_and_crumb(yahoo, fetch):
    fetch()
    charts = [query for _, path, query in yahoo.requests if "/chart/" in path]
    assert all(query["crumb"] == [CRUMB] for query in charts)
    assert {host for host, path, _ in yahoo.requests if "/chart/" in path} == {"query2.finance.yahoo.com"}


def test_a_split_after_the_period_does_not_reach_into_it(yahoo, fetch):
    """Yahoo divides by splits that it does not mention in an answer about an older period."""
    for adjust in ("raw", "split"):
        panel = fetch("AAA", end=DAYS[50].isoformat()).panel(adjust=adjust)
        assert panel.close[:, 0] == pytest.approx(yahoo.listings["AAA"].close[:51], rel=1e-6)
        assert panel.day(-1) == DAYS[50].isoformat()


def test_the_same_period_gives_the_same_panel_whatever_came_later(yahoo, fetch):
    period = {"end": DAYS[50].isoformat()}
    yahoo.today = DAYS[55]
    before = fetch(**period).panel(adjust="total")
    yahoo.today = DAYS[-1]
    fetch()  # brings the split of day 60 and the dividend of day 70
    after = fetch(**period, mode="offline").panel(adjust="total")
    assert after.fingerprint() == before.fingerprint()


def test_adjusted_prices_agree_with_yahoos_own_where_the_definitions_do(yahoo, fetch):
    listing = yahoo.listings["AAA"]
    fetched = fetch("AAA")
    split = fetched.panel(adjust="split").close[:, 0]
    shown = [listing.restated(price, day, DAYS[-1]) for price, day in zip(listing.close, DAYS, strict=True)]
    assert split == pytest.approx(shown, rel=1e-6)
    total = fetched.panel(adjust="total").close[:, 0]
    # Yahoo reinvests at the close before the ex-date, less the dividend: equal to first order in the dividend yield
    assert total == pytest.approx(listing.adjclose(range(80), DAYS[-1]), rel=2e-4)
    assert (total[:30] < split[:30]).all()


def test_panels_have_full_bars_and_one_calendar(yahoo, fetch):
    panel = fetch().panel()
    assert panel.targets == ("^GEN",)
    assert panel.symbols == ("AAA", "BBB")
    assert panel.n_bars == 80
    assert np.isnan(panel.close[:20, 1]).all()  # listed late
    assert np.isfinite(panel.close[20:, 1]).all()
    assert panel.open[25, 1] == pytest.approx(yahoo.listings["BBB"].close[5] * 0.995, rel=1e-6)
    assert panel.volume[70, 0] == pytest.approx(1_000_000)
    assert panel.source == "yahoo (split)"


def test_several_indices_share_one_call(yahoo, fetch):
    yahoo.listings["^TWO"] = Listing(DAYS, walk(80, first=900.0, seed=5), kind="INDEX")
    panel = fetch(index=["^GEN", "^TWO"]).panel()
    assert panel.targets == ("^GEN", "^TWO")
    assert panel.target_close[:, 1] == pytest.approx(yahoo.listings["^TWO"].close, rel=1e-6)


def test_bars_on_days_without_an_index_price_are_left_out_and_remarked(yahoo, fetch):
    index = yahoo.listings["^GEN"]
    del index.days[10], index.close[10]
    fetched = fetch("AAA")
    assert fetched.panel().n_bars == 79
    assert "AAA: 1 bars on days without a price of the index were left out" in fetched.frames()[1]


def test_impossible_bars_are_mended_and_remarked(yahoo, fetch):
    yahoo.listings["AAA"].high_factor = 0.98
    fetched = fetch("AAA")
    panel = fetched.panel()
    assert (panel.high >= np.fmax(panel.open, panel.close)).all()
    assert "AAA: 80 bars with a missing or impossible open, high or low were mended" in fetched.frames()[1]


def test_days_without_a_price_are_no_bars_and_their_events_move_on(yahoo, fetch, cache):
    halted = yahoo.listings["BBB"]
    halted.close[10] = None
    halted.dividends = {halted.days[10]: 0.25}
    fetch("BBB")
    bars = cache.read("BBB").bars
    assert pd.Timestamp(halted.days[10]) not in bars.index
    assert bars["dividend"].loc[pd.Timestamp(halted.days[11])] == 0.25
    with pytest.raises(DataError, match=r"BBB has no price on .*gaps='freeze'"):
        fetch("BBB", mode="offline").panel()
    assert fetch("BBB", mode="offline").panel(gaps="freeze").n_bars == 80


# -- sessions that are not over --------------------------------------------------------------------------------------------------


def zone_at_noon():
    """Somewhere on the earth it is between 10 and 22 o'clock."""
    zones = ("Etc/GMT-12", "Etc/GMT", "Etc/GMT+12")
    return next(zone for zone in zones if 10 <= datetime.now(ZoneInfo(zone)).hour < 22)


def test_the_bar_of_a_running_session_is_not_kept(yahoo, fetch, cache):
    zone = zone_at_noon()
    now = datetime.now(ZoneInfo(zone))
    close = [*walk(80, seed=4), 55.0]
    for ticker in ("^GEN", "AAA"):
        yahoo.listings[ticker] = Listing([*DAYS, now.date()], close, zone=zone, session_end=now + timedelta(hours=1))
    yahoo.listings["AAA"].splits = {now.date(): (2, 1)}
    fetch("AAA")
    kept = cache.read("AAA")
    assert kept.last_day == DAYS[-1]
    assert kept.covered_until == now.date() - timedelta(days=1)
    # today's split has halved the past already, and was undone although today's bar was not kept
    assert kept.bars["close"].to_numpy() == pytest.approx(yahoo.listings["AAA"].close[:80], rel=1e-6)


def answer(days, session_end, split=None):
    index = pd.DatetimeIndex([pd.Timestamp(d).tz_localize(NEW_YORK) for d in days], name="Date")
    frame = pd.DataFrame({"Open": 1.0, "High": 1.0, "Low": 1.0, "Close": 1.0, "Volume": 5}, index=index)
    frame["Dividends"], frame["Stock Splits"] = 0.0, 0.0
    return Answer(frame, "USD", session_end)


@pytest.mark.parametrize(
    ("now", "end", "covered"),
    [
        ("2024-03-06 16:29", "2024-03-06 16:00", "2024-03-05"),  # Wednesday, closed but not settled
        ("2024-03-06 16:30", "2024-03-06 16:00", "2024-03-06"),
        ("2024-03-06 09:00", "2024-03-05 16:00", "2024-03-05"),  # the hours of the session before
        ("2024-03-06 13:31", "2024-03-06 13:00", "2024-03-06"),  # an early close
        ("2024-03-06 23:50", "2024-03-07 00:30", "2024-03-05"),  # a session across midnight
        ("2024-03-06 18:00", "2023-11-01 16:00", "2024-03-06"),  # a dead name, after the close of the living
        ("2024-03-06 18:00", None, "2024-03-05"),
    ],
)
def test_a_day_is_covered_half_an_hour_after_its_session(now, end, covered):
    days = weekdays("2024-03-01", 4)
    close = None if end is None else pd.Timestamp(end, tz=NEW_YORK)
    bars, until = traded_bars(answer(days, close), pd.Timestamp(now, tz=NEW_YORK).to_pydatetime())
    assert until == date.fromisoformat(covered)
    assert bars.index[-1].date() == min(until, days[-1])


def test_events_between_two_prices_meet_at_the_next_one():
    """A dividend of 2, then a split of 2:1, both on days without a price: 1 for each share of the next bar."""
    ask = answer(weekdays("2024-03-01", 5), None)
    ask.frame.loc[ask.frame.index[1:3], ["Open", "High", "Low", "Close"]] = np.nan
    ask.frame["Dividends"] = [0.0, 1.0, 0.0, 0.25, 0.0]  # as Yahoo shows it: in the shares of today
    ask.frame["Stock Splits"] = [0.0, 0.0, 2.0, 0.0, 0.0]
    bars, _ = traded_bars(ask, datetime(2024, 4, 1, tzinfo=UTC))
    assert bars["close"].tolist() == [2.0, 1.0, 1.0]
    assert bars["split"].tolist() == [1.0, 2.0, 1.0]
    assert bars["dividend"].tolist() == [0.0, 1.25, 0.0]


def test_a_frame_without_a_column_is_malformed():
    ask = answer(weekdays("2024-03-01", 5), None)
    with pytest.raises(SeriesFailure, match="'Dividends'") as caught:
        traded_bars(Answer(ask.frame.drop(columns="Dividends"), "", None), datetime(2024, 4, 1, tzinfo=UTC))
    assert caught.value.status is Status.MALFORMED


# -- refreshing ------------------------------------------------------------------------------------------------------------------


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


# -- modes -----------------------------------------------------------------------------------------------------------------------


def test_a_period_in_the_past_is_asked_for_once(yahoo, fetch):
    period = {"end": DAYS[40].isoformat()}
    fetch(**period)
    yahoo.requests.clear()
    assert set(statuses(fetch(**period)).values()) == {"cached"}
    assert not yahoo.requests


def test_prefer_cache_asks_only_for_what_is_not_there(yahoo, fetch):
    fetch("AAA")
    yahoo.requests.clear()
    assert statuses(fetch(mode="prefer-cache")) == {"^GEN": "cached", "AAA": "cached", "BBB": "fetched"}
    assert {path for _, path, _ in yahoo.requests if "/chart/" in path} == {"/v8/finance/chart/BBB"}
    tomorrow = (datetime.now(UTC).date() + timedelta(days=1)).isoformat()
    assert statuses(fetch("AAA", end=tomorrow, mode="prefer-cache")) == {"^GEN": "refreshed", "AAA": "refreshed"}


def test_offline_asks_nobody_and_writes_nothing(yahoo, fetch, cache):
    fetch("AAA")
    before, asked = contents(cache), len(yahoo.requests)
    fetched = fetch("AAA,BBB", mode="offline")
    assert statuses(fetched) == {"^GEN": "cached", "AAA": "cached", "BBB": "not cached"}
    early = fetch("AAA", start="2022-01-01", mode="offline").report.of("^GEN")
    assert early.status is Status.NOT_CACHED
    assert "the cache covers 2023-01-01 to" in early.note
    cache.path("AAA").write_bytes(b"damaged")
    assert statuses(fetch("AAA", mode="offline"))["AAA"] == "damaged"
    assert cache.path("AAA").read_bytes() == b"damaged"
    assert len(yahoo.requests) == asked
    assert before.keys() == contents(cache).keys()


def test_offline_needs_no_yfinance_and_no_session(fetch, tmp_path):
    fetch("AAA")
    code = (
        "import sys; sys.modules['yfinance'] = sys.modules['curl_cffi'] = None\n"
        "from datafeeds import yahoo_panel, DataError\n"
        "print(yahoo_panel('^GEN', 'AAA', '2023-01-01', mode='offline', cache=sys.argv[1]))\n"
        "try: yahoo_panel('^GEN', 'AAA', '2023-01-01', cache=sys.argv[1])\n"
        "except DataError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ,
        timeout=60,
    )
    first, second = done.stdout.strip().splitlines()
    assert "80 bars x 1 assets" in first
    assert "pip install 'backtrader-index-tracker[yahoo]'" in second


def test_no_day_is_shown_that_some_series_does_not_know_yet(yahoo, fetch, cache):
    """A name that was not fetched lately must not look as if it had been delisted."""
    fetch("AAA,BBB")
    old = cache.read("BBB")
    cut = old.bars.iloc[:-10]
    cache.write(type(old)("BBB", cut, old.asked_from, cut.index[-1].date(), old.fetched_at))
    fetched = fetch(mode="offline")
    panel = fetched.panel()
    assert panel.dates[-1] == cut.index[-1]
    assert np.isfinite(panel.close[-1]).all()
    assert f"prices end on {cut.index[-1].date()}: BBB is known no further" in fetched.frames()[1]


# -- policies --------------------------------------------------------------------------------------------------------------------


def test_strict_names_every_series_that_failed(fetch):
    fetched = fetch("AAA,BRK.B,NIX")
    with pytest.raises(FetchError, match=r"2 of 4 series failed: BRK.B not found .*BRK-B.*; NIX not found") as caught:
        fetched.panel()
    assert "--policy drop" in str(caught.value)
    assert [o.ticker for o in caught.value.report.failed] == ["BRK.B", "NIX"]


def test_drop_goes_on_and_writes_down_what_was_dropped(fetch):
    panel = fetch("AAA,NIX,BBB").panel(policy="drop")
    assert panel.symbols == ("AAA", "BBB")
    assert dict(panel.dropped) == {"NIX": "not found: Yahoo does not know it"}


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


# -- requests that make no sense -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"tickers": []}, UniverseError, "no ticker given"),
        ({"tickers": "AAA, ,"}, None, ""),
        ({"tickers": "AAA,B B"}, UniverseError, "'B B' is not a ticker"),
        ({"tickers": "US0378331005"}, UniverseError, "is an ISIN"),
        ({"tickers": "AAA,^GEN"}, UniverseError, r"\^GEN is the index and cannot be an asset too"),
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
def test_limits_are_checked(wrong):
    with pytest.raises(DataError, match=f"{next(iter(wrong))}=.* must be a finite number of at least 0"):
        Limits(**wrong)
    assert Limits(timeout=1e6).timeout == 60.0
    assert Limits(timeout=0.0).timeout == 0.1


def test_an_unwritable_cache_is_told_before_anybody_is_asked(yahoo, fetch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CacheError, match="cannot write to the price cache"):
        fetch(cache=tmp_path / "file")
    assert not yahoo.requests


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aaa\nBBB # second\n\n# nothing\n", ("AAA", "BBB")),
        ("AAA, BBB\nCCC", ("AAA", "BBB", "CCC")),
        ("\ufeffAAA\r\nAAA\r\n", ("AAA",)),
        ('Symbol,Name,Weight\nAAA,"Triple, A",1\nBBB,Double B,2\n', ("AAA", "BBB")),
        ("name,ticker\nTriple A,AAA\n", ("AAA",)),
    ],
)
def test_tickers_come_from_files_of_many_habits(tmp_path, text, expected):
    from datafeeds.ticker_lists import tickers_of

    (tmp_path / "list.txt").write_text(text, encoding="utf-8")
    assert tickers_of(tmp_path / "list.txt") == expected
    assert tickers_of(str(tmp_path / "list.txt")) == expected


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "holds no ticker"), (b"# none\n", "holds no ticker"), (b"\xff\xfe\x00A", "not text")]
)
def test_files_without_tickers_are_refused_by_name(tmp_path, content, says):
    from datafeeds.ticker_lists import tickers_of

    (tmp_path / "list.txt").write_bytes(content)
    with pytest.raises(DataError if "text" in says else UniverseError, match=f"list.txt .*{says}"):
        tickers_of(tmp_path / "list.txt")


# -- ways in ---------------------------------------------------------------------------------------------------------------------


def test_feeds_come_from_yahoo_in_one_call(yahoo, tmp_path):
    data = SingleIndexData.from_yahoo(
        "^GEN", ["AAA", "BBB"], START, cache=tmp_path, limits=FAST, session=yahoo.session(), adjust="total"
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
