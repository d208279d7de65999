"""What goes wrong with clocks, calendars and prices. Each case ends with the intended orders, or none and advice."""

import os
import time
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from datafeeds import MarketPanel
from tests.markets import random_panel
from tests.papertrade.harness import (
    books_balance,
    changed,
    day,
    events,
    in_a_process,
    market,
    open_account,
    orders,
    state,
    step_through,
)
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import (
    BadBarError,
    RiskError,
    StaleDataError,
)

# -- 4: clocks ----------


def wall_account(place, panel, moment, **options):
    account = open_account(place, panel, clock="wall", **options)
    return PaperAccount(account.folder, clock=lambda: datetime.fromisoformat(moment))


def week():
    """Real sessions of New York around the change to summer time on Sunday, 2024-03-10."""
    base = random_panel(n_bars=6, n_assets=3, seed=9)
    dates = pd.DatetimeIndex(["2024-03-05", "2024-03-06", "2024-03-07", "2024-03-08", "2024-03-11", "2024-03-12"])
    return MarketPanel(dates, base.symbols, base.close, base.targets, base.target_close)


@pytest.mark.parametrize(("moment", "decision"), [("2024-03-09T00:05:00+00:00", "act"), ("2024-03-09T23:55:00+00:00", "act")])
def test_a_market_that_never_closes_has_no_open_to_miss(folder, moment, decision):
    pytest.importorskip("exchange_calendars")
    panel = week()
    account = wall_account(folder / "a", panel.rows(0, 2), moment, calendar="24/7")
    assert account.step(panel.rows(0, 4)).decision == decision


@pytest.mark.parametrize(
    ("moment", "rows", "newest", "decision"),
    [
        ("2024-03-08T14:29:00+00:00", 4, "2024-03-07", "act"),  # winter: New York opens at 14:30 UTC
        ("2024-03-08T14:31:00+00:00", 4, "2024-03-07", "missed"),
        ("2024-03-08T20:59:00+00:00", 4, "2024-03-07", "missed"),  # and closes at 21:00 UTC
        ("2024-03-08T21:01:00+00:00", 4, "2024-03-08", "act"),
        ("2024-03-09T06:01:00+09:00", 4, "2024-03-08", "act"),  # the same minute, in Tokyo
        ("2024-03-11T13:29:00+00:00", 5, "2024-03-08", "act"),  # summer: it opens at 13:30 UTC
        ("2024-03-11T19:59:00+00:00", 5, "2024-03-08", "missed"),
        ("2024-03-11T20:01:00+00:00", 5, "2024-03-11", "act"),
    ],
)
def test_what_may_be_acted_on_does_not_depend_on_zone_or_summer_time(folder, moment, rows, newest, decision):
    pytest.importorskip("exchange_calendars")
    panel = week()
    account = wall_account(folder / "a", panel.rows(0, 2), moment)
    result = account.step(panel.rows(0, rows))
    assert (result.session, result.decision) == (newest, decision)
    assert bool(orders(account)) is (decision == "act")


def test_a_clock_two_days_behind_is_noticed(folder):
    pytest.importorskip("exchange_calendars")
    panel = week()
    account = wall_account(folder / "a", panel, "2024-03-10T21:30:00+00:00")
    with pytest.raises(StaleDataError, match="has a session of 2024-03-12, but by this computer's clock it is 2024-03-10"):
        account.step(panel)
    assert not orders(account)


def test_a_clock_two_days_ahead_finds_the_data_stale(folder):
    pytest.importorskip("exchange_calendars")
    panel = week()
    account = wall_account(folder / "a", panel, "2024-03-14T21:30:00+00:00")
    with pytest.raises(StaleDataError, match="last bar is of 2024-03-12, but session 2024-03-14 of XNYS has already closed"):
        account.step(panel)
    assert not orders(account)


def test_a_clock_beyond_the_calendar_is_said_to_be_wrong(folder):
    pytest.importorskip("exchange_calendars")
    account = wall_account(folder / "a", week(), "2099-01-01T00:00:00+00:00")
    with pytest.raises(StaleDataError, match="set the clock, or update exchange_calendars"):
        account.step(week())


def test_the_bar_of_a_session_that_still_trades_is_left_for_later(folder):
    pytest.importorskip("exchange_calendars")
    panel = week()
    account = wall_account(folder / "a", panel, "2024-03-12T15:00:00+00:00")
    result = account.step(panel)
    assert result.session == "2024-03-11"


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles"])
def test_the_zone_of_the_computer_does_not_matter(folder, zone):
    """A process of its own, with TZ set, gives the same account."""
    pytest.importorskip("exchange_calendars")
    panel = week()
    account = open_account(folder / "a", panel, clock="wall")

    def work():
        os.environ["TZ"] = zone
        time.tzset()
        now = datetime(2024, 3, 12, 20, 30, tzinfo=UTC).astimezone()
        assert PaperAccount(account.folder, clock=lambda: now).step(panel).session == "2024-03-12"

    assert in_a_process(work)
    assert {o["session"] for o in orders(account)} == {"2024-03-12"}


# -- 9: stale data ----------


def test_a_name_without_a_bar_is_not_traded_and_the_others_are(folder):
    panel = changed(market(), 5, 2, np.nan)
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=6)
    assert {o["symbol"] for o in orders(account, f"session = '{day(panel, 5)}'")} <= {"S0", "S1", "S3"}


def test_an_index_without_a_level_stops_the_rebalance(folder):
    panel = market()
    seen = np.ones((panel.n_bars, 1), dtype=bool)
    seen[5] = False
    bars = {k: getattr(panel, k) for k in ("open", "high", "low")}
    panel = MarketPanel(panel.dates, panel.symbols, panel.close, panel.targets, panel.target_close, target_seen=seen, **bars)
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=5)
    with pytest.raises(RiskError, match=r"the index has no level.*data are stale"):
        step_through(account, panel, start=6, stop=6)
    assert not orders(account, f"session = '{day(panel, 5)}'")
    assert step_through(account, panel, start=7, stop=7)[0].decision == "act"


def test_a_file_that_is_written_while_it_is_read_changes_nothing(folder):
    panel = market()
    text = panel.to_frame().to_csv()
    path = folder / "prices.csv"
    path.write_text(text)
    account = PaperAccount.create(folder / "a", "pa", str(path), start=day(panel, 0))
    path.write_text(text[:-40])  # the last row is cut off
    with pytest.raises(DataError):
        account.step()
    path.write_text(text)
    assert account.step().decision == "act"


@pytest.mark.parametrize("clock", ["data", "wall"])
def test_a_source_that_has_lost_its_newest_rows_is_noted_and_changes_nothing(folder, clock):
    """A file that was restored from an old copy."""
    base = random_panel(n_bars=16, n_assets=3, seed=9)
    dates = pd.bdate_range("2024-02-20", periods=16)
    panel = MarketPanel(dates, base.symbols, base.close, base.targets, base.target_close)
    account = open_account(folder / "a", panel, clock=clock)
    account = PaperAccount(account.folder, clock=lambda: datetime.fromisoformat(f"{dates[14].date()}T21:30:00+00:00"))
    assert account.step(panel.rows(0, 15)).decision == "act"
    before = state(account)
    for _ in range(2):
        result = account.step(panel.rows(0, 2))
        assert (result.taken, result.sent) == ([], 0)
        lost = ", ".join(day(panel, row) for row in range(2, 7))
        assert any(f"the source has lost {lost} and 8 more (13 sessions)" in message for message in result.messages)
    (noted,) = events(account, "data")
    assert lost in noted
    after = state(account)
    for table in ("events", "meta"):
        known = before["journal"].pop(table)
        (new,) = [row for row in after["journal"].pop(table) if row not in known]
        assert "lost" in str(new)
    assert after == before


def test_half_a_row_of_prices_is_not_a_session(folder):
    panel = market()
    incomplete = panel
    for column in (0, 1, 2):
        incomplete = changed(incomplete, 5, column, np.nan)
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=5)
    with pytest.raises(BadBarError, match=r"3 of 4 names have no bar.*not complete yet"):
        step_through(account, incomplete, start=6, stop=6)
    assert step_through(account, panel, start=6, stop=6)[0].decision == "act"


# -- 10: holidays, early closes, closures ----------


@pytest.mark.parametrize(
    ("moment", "newest"),
    [
        ("2024-07-03T16:59:00+00:00", "2024-07-02"),
        ("2024-07-03T17:01:00+00:00", "2024-07-03"),  # closes at 13:00 in New York
        ("2024-07-04T23:00:00+00:00", "2024-07-03"),  # Independence Day
        ("2024-07-06T12:00:00+00:00", "2024-07-05"),  # a Saturday
        ("2012-10-30T21:30:00+00:00", "2012-10-26"),  # hurricane Sandy: two days without a market
        ("2001-09-13T21:30:00+00:00", None),
    ],
)
def test_the_calendar_knows_holidays_early_closes_and_closures(moment, newest):
    pytest.importorskip("exchange_calendars")
    from tracker_strategies.papertrade.market.session_clocks import WallClock

    clock = WallClock("XNYS", lambda: datetime.fromisoformat(moment))
    if newest is None:
        with pytest.raises(StaleDataError, match="calendar XNYS reaches from"):
            clock.newest()
    else:
        assert clock.newest() == newest


def test_a_bar_on_a_holiday_is_refused(folder):
    pytest.importorskip("exchange_calendars")
    base = random_panel(n_bars=3, n_assets=3, seed=9)
    dates = pd.DatetimeIndex(["2024-07-02", "2024-07-03", "2024-07-04"])
    panel = MarketPanel(dates, base.symbols, base.close, base.targets, base.target_close)
    account = wall_account(folder / "a", panel.rows(0, 2), "2024-07-05T21:00:00+00:00")
    with pytest.raises(StaleDataError, match="a bar on 2024-07-04, which is not a session of XNYS"):
        account.step(panel)


def test_an_unscheduled_closure_waits_for_the_next_session(folder):
    """The calendar does not know of it: the data are called stale, nothing is sent, and the next session goes on as usual."""
    pytest.importorskip("exchange_calendars")
    panel = week()
    closed = MarketPanel(
        panel.dates[[0, 1, 2, 4, 5]],
        panel.symbols,
        panel.close[[0, 1, 2, 4, 5]],
        panel.targets,
        panel.target_close[[0, 1, 2, 4, 5]],
    )
    account = open_account(folder / "a", closed, clock="wall", start="2024-03-06")

    def evening(date):
        return PaperAccount(account.folder, clock=lambda: datetime.fromisoformat(f"{date}T21:30:00+00:00"))

    assert evening("2024-03-06").step(closed.rows(0, 2)).decision == "act"
    with pytest.raises(StaleDataError, match="last bar is of 2024-03-07, but session 2024-03-08 of XNYS has already closed"):
        evening("2024-03-08").step(closed.rows(0, 3))
    assert evening("2024-03-11").step(closed.rows(0, 4)).decision == "act"
    assert {o["session"] for o in orders(account)} == {"2024-03-06", "2024-03-11"}


def test_an_unknown_calendar_is_named():
    pytest.importorskip("exchange_calendars")
    from tracker_strategies.papertrade.market.calendars import trading_calendar

    with pytest.raises(ParameterError, match="XNYS, XNAS"):
        trading_calendar("NOWHERE")


# -- 11: halted, delisted, renamed: see test_actions; a column that vanishes ----------


def test_a_column_that_vanishes_is_a_halt_and_is_said_so(folder):
    panel = market()
    account = open_account(folder / "a", panel, "pa", {"delist_after": 2})
    step_through(account, panel, stop=5)
    keep = [0, 1, 3]
    bars = {k: getattr(panel, k)[:, keep] for k in ("open", "high", "low")}
    fewer = MarketPanel(
        panel.dates, tuple(panel.symbols[i] for i in keep), panel.close[:, keep], panel.targets, panel.target_close, **bars
    )
    results = step_through(account, fewer, start=6)
    assert any("no column for S2" in m and "renamed" in m for m in results[0].messages)
    with account.journal(readonly=True) as journal:
        assert journal.one("select size from positions where symbol = 'S2'") == 0.0  # booked out at its last price
    (out,) = orders(account, "due = 'settle'")
    assert (out["symbol"], out["status"]) == ("S2", "filled")
    books_balance(account)


# -- 13: bad prices ----------


def test_a_zero_or_negative_price_in_the_file_is_refused(folder):
    panel = market()
    frame = panel.to_frame()
    path = folder / "prices.csv"
    frame.iloc[:5].to_csv(path)
    account = PaperAccount.create(folder / "a", "pa", str(path))
    account.step()
    before = state(account)
    for price in ("0", "-3.5", "inf", "abc"):
        bad = frame.iloc[:6].astype(object)
        bad.iloc[5, 2] = price
        bad.to_csv(path)
        with pytest.raises(DataError, match="S1"):
            account.step()
    assert state(account) == before


@pytest.mark.parametrize("factor", [10.0, 0.1])
def test_a_price_ten_times_off_is_not_believed_unless_told_so(folder, factor):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=5)
    before = state(account)
    wrong = changed(panel, 5, 1, panel.close[5, 1] * factor)
    with pytest.raises(BadBarError, match=r"S1 moved by [+-]\d+%.*Nothing was ingested.*--max-move"):
        step_through(account, wrong, start=6, stop=6)
    assert state(account) == before
    account.change_limits({"max_daily_loss": None})
    assert PaperAccount(account.folder).step(wrong.rows(0, 6), max_move=20.0).decision == "act"
