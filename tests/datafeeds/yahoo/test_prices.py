"""Prices from Yahoo as they are kept and shown: what was traded, its splits and dividends, one calendar."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from datafeeds import DataError
from tests.datafeeds.yahoo.market import DAYS, statuses
from tests.datafeeds.yahoo.server import CRUMB, Listing, walk


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
    assert "AAA: 1 bars on days without a price of the index were left out" in fetched.frames("split")[1]


def test_impossible_bars_are_mended_and_remarked(yahoo, fetch):
    yahoo.listings["AAA"].high_factor = 0.98
    fetched = fetch("AAA")
    panel = fetched.panel()
    assert (panel.high >= np.fmax(panel.open, panel.close)).all()
    assert "AAA: 80 bars with a missing or impossible open, high or low were corrected" in fetched.frames("split")[1]


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
