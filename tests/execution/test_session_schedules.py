"""Schedules by the clock: the close of a session, a time of day, the hour; half days and summer time as the exchange has them."""

import warnings

import numpy as np
import pandas as pd
import pytest

from datafeeds import MarketPanel, resample, session_hours
from datafeeds.errors import DataWarning
from tests.intraday import minute_market, session_minutes
from tests.markets import random_panel
from tracker_strategies import backtest
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.schedule import Schedule
from tracker_strategies.papertrade.deciding.checkpoint import freeze, thaw
from tracker_strategies.research import replay
from tracker_strategies.testing.lookahead import check_no_lookahead


def due(every, dates, calendar=None):
    schedule = Schedule(every, calendar)
    return [str(date)[:16] for date in dates.astype("datetime64[s]") if schedule.due(date)]


def test_the_close_of_a_session_is_what_the_exchange_says():
    dates = session_minutes("2024-11-27", "2024-12-03")
    closes = ["2024-11-27T16:00", "2024-11-29T13:00", "2024-12-02T16:00", "2024-12-03T16:00"]
    assert due("session-close", dates, "XNYS") == closes
    assert due("session-close", dates[4::5], "XNYS") == closes  # by five minutes
    late = np.sort(np.r_[dates, np.array(["2024-11-27T18:00", "2024-11-29T08:00"], dtype="datetime64[s]")])
    assert due("session-close", late, "XNYS") == closes  # before the open and after the close is no close


@pytest.mark.parametrize(
    ("exchange", "first", "last"),
    [
        ("XLON", "2024-03-25", "2024-04-05"),
        ("XTKS", "2024-04-25", "2024-05-08"),
        ("XNYS", "2024-03-07", "2024-03-13"),
        ("24/7", "2024-03-08", "2024-03-12"),
    ],
)
def test_so_it_is_on_other_exchanges_and_when_summer_time_begins(exchange, first, last):
    pytest.importorskip("exchange_calendars")
    dates, closes = session_minutes(first, last, exchange), session_hours(exchange, first, last)[1]
    assert due("session-close", dates, exchange) == [str(close)[:16] for close in closes]


def test_dates_in_utc_become_local_time_and_the_close_stays():
    """Summer time began on 2024-03-10: the close moved from 21:00 to 20:00 UTC."""
    utc = pd.DatetimeIndex(session_minutes("2024-03-07", "2024-03-12")).tz_localize("America/New_York").tz_convert("UTC")
    local = utc.tz_convert("America/New_York").tz_localize(None).to_numpy()
    assert sorted({t[11:] for t in due("session-close", local, "XNYS")}) == ["16:00"]
    naive = utc.tz_localize(None).to_numpy()
    with pytest.warns(DataWarning, match=r"bars are outside the sessions of XNYS, the first on 2024-03-07 16:01"):
        Schedule("session-close", "XNYS").check(naive)


def test_a_session_without_a_bar_at_its_close_is_passed_over_and_said():
    dates = session_minutes("2024-12-02", "2024-12-04")
    holed = dates[dates != np.datetime64("2024-12-03T16:00")]
    assert due("session-close", holed, "XNYS") == ["2024-12-02T16:00", "2024-12-04T16:00"]
    with pytest.warns(DataWarning, match="happens on 2 of 3 days"):
        Schedule("session-close", "XNYS").check(holed)


def test_a_time_of_day_comes_once_a_day():
    dates = session_minutes("2024-11-27", "2024-12-02")
    assert due("15:55", dates) == ["2024-11-27T15:55", "2024-12-02T15:55"]
    assert due("15:55", dates, "XNYS") == ["2024-11-27T15:55", "2024-11-29T13:00", "2024-12-02T15:55"]
    assert due("9:45", dates) == ["2024-11-27T09:45", "2024-11-29T09:45", "2024-12-02T09:45"]
    assert due("15:57", dates[4::5]) == ["2024-11-27T16:00", "2024-12-02T16:00"]  # the first bar that is not before


def test_hours_begin_with_the_bar_at_the_full_hour():
    dates = session_minutes("2024-11-29", "2024-11-29")
    assert [t[11:] for t in due("hourly", dates)] == ["09:31", "10:00", "11:00", "12:00", "13:00"]


@pytest.mark.parametrize("every", ["session-close", "15:55", "hourly"])
def test_they_go_on_from_a_checkpoint(every):
    dates = session_minutes("2024-11-27", "2024-12-02")[::5]
    whole = due(every, dates, "XNYS")
    for at in (1, 77, 130):
        half = Schedule(every, "XNYS")
        found = [str(d)[:16] for d in dates[:at] if half.due(d)]
        again = thaw(freeze(half))
        assert found + [str(d)[:16] for d in dates[at:] if again.due(d)] == whole


@pytest.mark.parametrize("every", ["session-close", "12:30", "hourly", "2 hours"])
def test_both_engines_trade_on_those_bars_and_look_at_no_later_one(every):
    panel = resample(minute_market("2024-11-27", "2024-12-03"), "15 minutes")
    for fill in ("close", "next_open"):
        params = {"rebalance": every, "calendar": "XNYS", "fill": fill}
        one, two = backtest(panel, "pa", params), replay(panel, "pa", params)
        np.testing.assert_allclose(one.value, two.value, rtol=1e-9)
        np.testing.assert_allclose(one.turnover, two.turnover, atol=1e-9)
        assert (one.entry.row, one.entry.booked, one.entry.begin) == (two.entry.row, two.entry.booked, two.entry.begin)
        assert one.metrics()["n_bars"] == two.metrics()["n_bars"] > 0
    check_no_lookahead("pa", panel, params, cuts=(0.5,))


def test_on_days_and_longer_every_bar_ends_with_a_session():
    panel = random_panel(40, 3, seed=2)
    np.testing.assert_array_equal(backtest(panel, "pa", {"rebalance": "session-close"}).value, backtest(panel, "pa").value)


@pytest.mark.parametrize("run", [backtest, replay])
@pytest.mark.parametrize("every", ["15:55", "hourly"])
def test_a_schedule_within_the_day_is_refused_on_days(run, every):
    with pytest.raises(ParameterError, match=f"rebalance='{every}' never happens on bars of 1 day.*session-close"):
        run(random_panel(40, 3, seed=2), "pa", {"rebalance": every})
    frame = random_panel(400, 3, seed=2).to_frame()
    some = MarketPanel.from_frame(frame[np.random.default_rng(0).random(400) < 0.1])
    with pytest.raises(ParameterError, match=f"rebalance='{every}' never happens on irregular bars: it needs"):
        run(some, "pa", {"rebalance": every})


@pytest.mark.parametrize("run", [backtest, replay])
def test_a_schedule_that_never_comes_is_refused_with_the_reason(run):
    panel = minute_market("2024-12-02", "2024-12-03")
    with pytest.raises(ParameterError, match=r"rebalance='20:00' never happens: the latest bar of any day ends at 16:00"):
        run(panel, "pa", {"rebalance": "20:00"})
    with pytest.raises(ParameterError, match=r"session-close' needs the exchange.*XNYS"):
        run(panel, "pa", {"rebalance": "session-close"})
    early = MarketPanel(panel.dates - np.timedelta64(1, "m"), panel.symbols, panel.close, panel.targets, panel.target_close)
    with pytest.raises(ParameterError, match=r"session-close' never happens: .* ends at 15:59; .*stamped_at_end"):
        run(early, "pa", {"rebalance": "session-close", "calendar": "XNYS"})
    night = MarketPanel(panel.dates + np.timedelta64(8, "h"), panel.symbols, panel.close, panel.targets, panel.target_close)
    with pytest.raises(ParameterError, match=r"780 of 780 bars are outside the sessions of XNYS, the first on 2024-12-02 17:31"):
        run(night, "pa", {"rebalance": "session-close", "calendar": "XNYS"})


@pytest.mark.parametrize("run", [backtest, replay])
def test_windows_longer_than_the_data_are_said(run):
    panel = random_panel(40, 3, seed=2)
    for params, words in (
        ({"listing_warmup": "1y"}, r"listing_warmup='1y' is longer than the data: 252 bars, but there are only 40"),
        ({"rebalance": 50}, r"rebalance=50 is as long as the data or longer, 40 bars: only the first bar trades"),
        ({"rebalance": "1y"}, r"rebalance='1y', \d+ bars, is as long as the data or longer, 40 bars: only the first bar trades"),
    ):
        with pytest.warns(DataWarning, match=words):
            run(panel, "pa", params)
    with pytest.warns(DataWarning, match=r"window='6 months' is longer than the data: 126 bars, but there are only 40"):
        run(panel, "slait", {"window": "6 months"})


def test_a_name_that_is_no_schedule_and_no_window_is_refused():
    panel = random_panel(40, 3, seed=2)
    for bad, words in (
        ("25:00", "rebalance='25:00'"),
        ("noon", "rebalance='noon' must be"),
        ("3:00am", "rebalance='3:00am' must be a number of bars.*15:55"),
    ):
        with pytest.raises(ParameterError, match=words):
            backtest(panel, "pa", {"rebalance": bad})
    with pytest.raises(ParameterError, match="did you mean session-close"):
        Schedule("session_close")


def test_weeks_and_months_may_be_dated_by_holidays():
    months = pd.date_range("2020-01-31", periods=24, freq="ME").to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Schedule("month-end", "XNYS").check(months)
