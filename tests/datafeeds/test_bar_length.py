"""One place knows how long a bar is: from minutes to years, regular or not, and what a window of time is in such bars."""

import numpy as np
import pandas as pd
import pytest

from datafeeds import BarLength, DataError, DataWarning, MarketPanel, resample, stamped_at_end
from datafeeds.bar_length import bars_named, moment
from datafeeds.errors import ParameterError
from tests.intraday import minute_market, session_minutes


def dates(freq, periods=60, start="2020-01-31"):
    return pd.date_range(start, periods=periods, freq=freq).to_numpy()


@pytest.mark.parametrize(
    ("freq", "told", "year"),
    [
        ("B", "1 day", 252.0),
        ("W-FRI", "1 week", 52.0),
        ("2W-FRI", "2 weeks", 26.0),
        ("ME", "1 month", 12.0),
        ("QE", "1 quarter", 4.0),
        ("YE", "1 year", 1.0),
    ],
)
def test_bars_of_a_day_or_longer(freq, told, year):
    length = BarLength.of(dates(freq))
    assert (str(length), length.per_year, length.intraday) == (told, year, False)


@pytest.mark.parametrize(
    ("minutes", "told", "per_session"), [(1, "1 minute", 390), (5, "5 minutes", 78), (30, "30 minutes", 13), (60, "1 hour", 7)]
)
def test_bars_within_a_session_with_half_days_among_them(minutes, told, per_session):
    panel = resample(minute_market(), f"{minutes} minutes")
    length = panel.bar_length
    assert (str(length), length.per_session, length.per_year) == (told, per_session, 252.0 * per_session)
    assert length.intraday
    assert length.seconds == 60.0 * minutes


def test_thin_trading_leaves_bars_out_and_changes_nothing():
    every = session_minutes("2024-03-04", "2024-03-15")
    some = every[np.random.default_rng(0).random(len(every)) < 0.9]
    assert str(BarLength.of(some)) == "1 minute"


def test_irregular_bars_count_as_many_as_there_are():
    rng = np.random.default_rng(1)
    ticks = [
        np.datetime64(f"{d.date()}T09:30", "ns") + np.sort(rng.choice(23400, 50, replace=False)).astype("timedelta64[s]")
        for d in pd.bdate_range("2024-03-04", periods=10)
    ]
    length = BarLength.of(np.concatenate(ticks))
    assert (str(length), length.per_session, length.intraday) == ("irregular", 50.0, True)
    years = np.datetime64("2000-01-01", "ns") + np.cumsum(rng.choice([1, 9, 40, 150], 80)).astype("timedelta64[D]")
    length = BarLength.usual(years)
    assert str(length) == "irregular"
    assert length.per_year == pytest.approx(79 / ((years[-1] - years[0]) / np.timedelta64(1, "D") / 365.25))


@pytest.mark.parametrize(
    ("share", "told"), [(0.7, "1 day"), (0.5, "1 day"), (0.3, "irregular"), (0.1, "irregular"), (0.04, "irregular")]
)
def test_days_without_order_are_irregular_and_not_mixed(share, told):
    days = dates("B", 2600, "2015-01-01")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        some = days[rng.random(len(days)) < share]
        length = BarLength.of(some)
        assert str(length) == told
        years = (some[-1] - some[0]) / np.timedelta64(1, "D") / 365.25
        assert length.per_year == pytest.approx(252 if told == "1 day" else (len(some) - 1) / years)


def test_a_few_bars_per_day_at_any_time_are_not_days():
    every = session_minutes("2024-01-02", "2024-03-29")
    some = every[np.random.default_rng(0).random(len(every)) < 0.005]
    length = BarLength.of(some)
    assert (str(length), length.intraday) == ("irregular", True)
    assert length.per_session == pytest.approx(len(some) / len(np.unique(some.astype("datetime64[D]"))))


def test_weeks_among_days_with_long_holidays_are_still_mixed():
    years = [dates("B", 200, f"{year}-01-04") for year in range(2010, 2020)]  # a break of months in each
    with pytest.raises(DataError, match=r"1 day.*1 week"):
        BarLength.of(np.concatenate([*years, dates("W-FRI", 8, "2020-01-03")]))


@pytest.mark.parametrize(
    ("first", "then", "told"),
    [
        (lambda: session_minutes("2024-03-04", "2024-03-08"), lambda: dates("B", 20, "2024-03-11"), "1 minute.*1 day"),
        (lambda: dates("B", 20, "2024-01-02"), lambda: session_minutes("2024-03-04", "2024-03-08"), "1 day.*1 minute"),
        (lambda: dates("W-FRI", 20, "2023-01-02"), lambda: dates("B", 20, "2024-01-01"), "1 week.*1 day"),
        (lambda: dates("ME", 20, "2020-01-02"), lambda: dates("W-FRI", 20, "2024-01-01"), "1 month.*1 week"),
        (
            lambda: session_minutes("2024-03-04", "2024-03-08"),
            lambda: session_minutes("2024-03-11", "2024-03-15")[4::5],
            "1 minute.*5 minutes",
        ),
    ],
)
def test_mixed_lengths_are_refused_with_both_and_where_they_begin(first, then, told):
    both = np.concatenate([first(), then()]).astype("datetime64[ns]")
    with pytest.raises(DataError, match=f"mixed: {told}.*resample"):
        BarLength.of(both)
    level = np.full((len(both), 1), 100.0)
    panel = MarketPanel(both, ("A",), level, ("INDEX",), level)
    with pytest.raises(DataError, match="mixed"):
        _ = panel.periods_per_year


def test_the_cure_for_mixed_lengths_is_to_resample():
    both = np.concatenate([dates("B", 20, "2024-01-02"), session_minutes("2024-03-04", "2024-03-08")]).astype("datetime64[ns]")
    level = np.full((len(both), 1), 100.0)
    panel = resample(MarketPanel(both, ("A",), level, ("INDEX",), level), "daily")
    assert str(panel.bar_length) == "1 day"


MINUTE, HOUR = BarLength("minute", 1, 98280.0), BarLength("hour", 1, 1764.0)
DAY, WEEK, MONTH = BarLength("day", 1, 252.0), BarLength("week", 1, 52.0), BarLength("month", 1, 12.0)


@pytest.mark.parametrize(
    ("window", "bars"),
    [  # of minutes, hours, days, weeks, months
        (20, (20, 20, 20, 20, 20)),
        ("20", (20, 20, 20, 20, 20)),
        ("20 bars", (20, 20, 20, 20, 20)),
        ("20 sessions", (7800, 140, 20, 20, 20)),  # a bar of a day or longer is an observation
        ("3 months", (24570, 441, 63, 13, 3)),
        ("3m", (24570, 441, 63, 13, 3)),
        ("1y", (98280, 1764, 252, 52, 12)),
        ("2 Weeks", (3780, 68, 10, 2, None)),
        ("90 minutes", (90, 2, None, None, None)),
        ("2h", (120, 2, None, None, None)),
    ],
)
def test_a_window_is_a_number_of_bars_or_a_time(window, bars):
    for length, want in zip((MINUTE, HOUR, DAY, WEEK, MONTH), bars, strict=True):
        if want is None:
            with pytest.raises(ParameterError, match="review="):
                length.bars(window, "review")
        else:
            assert length.bars(window, "review") == want


@pytest.mark.parametrize("bad", [-1, 2.5, True, None, "soon", "20 moons", "", "-3 months", "1y2m"])
def test_what_is_no_window_is_named(bad):
    with pytest.raises(ParameterError, match=r"review=.*20 sessions"):
        DAY.bars(bad, "review")


def test_a_year_of_ones_own_does_not_change_a_session():
    coins = BarLength("minute", 1, 525600.0, 1440.0)
    assert (coins.bars("1 session"), coins.bars("1y")) == (1440, 525600)


def test_dates_for_people_have_the_time_of_day_where_there_is_one():
    assert moment(np.datetime64("2024-03-08", "ns")) == "2024-03-08"
    assert moment(np.datetime64("2024-03-08T09:31", "ns")) == "2024-03-08 09:31"
    assert moment(np.datetime64("2024-03-08T09:31:07", "ns")) == "2024-03-08 09:31:07"


def test_bars_dated_by_their_start_are_moved_to_their_end():
    panel = minute_market()
    start = MarketPanel(panel.dates - np.timedelta64(1, "m"), panel.symbols, panel.close, panel.targets, panel.target_close)
    np.testing.assert_array_equal(stamped_at_end(start).dates, panel.dates)
    assert stamped_at_end(daily := resample(panel, "daily")) is daily


def test_lengths_have_names():
    assert str(bars_named("30 minutes")) == "30 minutes"
    assert bars_named("7 minutes") is None  # no whole number of them fits a day
    assert bars_named("2 weeks") is None


def test_messages_name_the_minute():
    panel = minute_market()
    twice = np.r_[panel.dates[:5], panel.dates[4]]
    with pytest.raises(DataError, match="2024-11-20 09:35 appears twice"):
        MarketPanel(twice, ("A",), np.ones((6, 1)), ("INDEX",), np.ones((6, 1)))


def mixed(column, stamp="16:00"):
    """Bars of five minutes in which one column has a price per session, at the close or at midnight."""
    days = pd.bdate_range("2024-03-04", periods=20)
    index = pd.DatetimeIndex(session_minutes("2024-03-04", "2024-03-29"))[4::5]
    rng = np.random.default_rng(3)
    table = pd.DataFrame(100 * np.exp(np.cumsum(rng.normal(0, 1e-4, (len(index), 4)), axis=0)), index, ["INDEX", "A", "B", "C"])
    daily = pd.Series(np.linspace(90.0, 95.0, len(days)), days + pd.Timedelta(f"{stamp}:00"))
    return table.drop(columns=column).join(daily.rename(column), how="outer")[table.columns]


@pytest.mark.parametrize("gaps", ["error", "freeze", "live"])
@pytest.mark.parametrize("stamp", ["16:00", "00:00"])
def test_a_daily_index_of_minute_bars_is_refused_and_both_lengths_are_named(gaps, stamp):
    said = "target INDEX has bars of 1 day, the other columns have bars of 5 minutes; give all columns in bars of one length"
    with pytest.raises(DataError, match=f"bars of different lengths are mixed: {said}"):
        MarketPanel.from_frame(mixed("INDEX", stamp), targets=("INDEX",), gaps=gaps)


def test_a_weekly_index_of_daily_bars_is_refused():
    days = pd.bdate_range("2024-01-01", periods=200)
    table = pd.DataFrame(np.linspace(100.0, 110.0, 600).reshape(200, 3), days, ["INDEX", "A", "B"])
    table.loc[table.index.day_of_week != 4, "INDEX"] = np.nan
    with pytest.raises(DataError, match="target INDEX has bars of 1 week, the other columns have bars of 1 day"):
        MarketPanel.from_frame(table, targets=("INDEX",), gaps="freeze")


def test_a_daily_asset_among_minute_bars_is_said():
    with pytest.warns(DataWarning, match="B has bars of 1 day, the other columns have bars of 5 minutes; its last price is kept"):
        MarketPanel.from_frame(mixed("B"), targets=("INDEX",), gaps="freeze")


@pytest.mark.filterwarnings("error")
def test_thin_trading_and_late_listings_are_not_bars_of_another_length():
    table = mixed("INDEX").drop(columns="INDEX").rename(columns={"A": "INDEX"}).dropna()
    rng = np.random.default_rng(5)
    table.loc[rng.random(len(table)) < 0.8, "B"] = np.nan
    table.loc[: table.index[-200], "C"] = np.nan
    panel = MarketPanel.from_frame(table, targets=("INDEX",), gaps="freeze")
    assert panel.symbols == ("B", "C")
