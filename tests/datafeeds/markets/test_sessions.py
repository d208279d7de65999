"""Calendars, coarser bars, bars within the day, and resampled feeds beside the trackers."""

from dataclasses import replace

import backtrader as bt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datafeeds import DataError, IndexData, check_sessions, expected_sessions, load_sample, resample
from datafeeds.feeds.feed import bar_size
from tests.markets import ordinary_feeds, random_panel, real_market
from tracker_strategies.analysis.analyzers import HoldingsAnalyzer, TrackingAnalyzer
from tracker_strategies.analysis.diagnostics_analyzer import DiagnosticsAnalyzer
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest, record_of
from tracker_strategies.strategies.registry import load_strategy

CASH, COSTS = 1_000_000.0, CostModel(bps=5)


def half_hours(days=8, **options):
    """A market of 30-minute bars, 13 a day, stamped at their ends."""
    open_days = pd.bdate_range("2021-03-01", periods=days)
    dates = np.concatenate([pd.date_range(d + pd.Timedelta("10h"), periods=13, freq="30min").to_numpy() for d in open_days])
    return replace(random_panel(n_bars=13 * days, ohlc=True, **options), dates=dates)


# -- calendars ----------


def test_expected_sessions_know_the_holidays():
    pytest.importorskip("exchange_calendars")
    july = expected_sessions("XNYS", "2022-07-01", "2022-07-08").astype(str).tolist()
    assert july == ["2022-07-01", "2022-07-05", "2022-07-06", "2022-07-07", "2022-07-08"]
    assert "2022-07-18" not in expected_sessions("XTKS", "2022-07-15", "2022-07-20").astype(str)  # Marine Day
    assert len(expected_sessions("XLON", "2022-06-02", "2022-06-03")) == 0  # the Jubilee


def test_the_sample_has_every_session_of_new_york():
    pytest.importorskip("exchange_calendars")
    report = check_sessions(load_sample(), "XNYS")
    assert (report.bars, report.expected, report.missing, report.extra) == ("daily", 3018, (), ())
    assert "2020-11-27" in report.early_closes  # the day after Thanksgiving
    assert report.short_days == ()


def test_missing_and_extra_days_are_named():
    pytest.importorskip("exchange_calendars")
    panel = load_sample().rows(-30, None)
    dates = panel.dates.copy()
    dates[10] = dates[9] + np.timedelta64(12, "h").astype("timedelta64[ns]")  # two bars on one day, none on the next
    assert check_sessions(replace(panel, dates=dates), "XNYS").missing == (panel.day(10),)
    dates[10] = np.datetime64("2022-12-03", "ns")
    report = check_sessions(replace(panel, dates=np.sort(dates)), "XNYS")
    assert report.extra == ("2022-12-03",)  # a Saturday
    assert report.missing == (panel.day(10),)
    assert f"1 missing ({panel.day(10)}); 1 extra (2022-12-03)" in str(report)


def test_a_real_market_lacks_the_day_that_its_notes_name():
    pytest.importorskip("exchange_calendars")
    assert check_sessions(real_market("nasdaq100_2019_2020_daily"), "XNYS").missing == ("2019-12-31",)


@pytest.mark.parametrize("to", ["weekly", "monthly"])
def test_coarse_bars_are_expected_once_in_each_period_with_a_session(to):
    pytest.importorskip("exchange_calendars")
    panel = resample(load_sample(), to)
    report = check_sessions(panel, "XNYS")
    assert (report.bars, report.expected, report.missing, report.extra) == (to, panel.n_bars, (), ())
    holed = panel.take(np.ones(panel.n_assets, dtype=bool), "", slice(None))
    rows = np.arange(panel.n_bars) != 100
    holed = replace(
        holed,
        dates=holed.dates[rows],
        target_close=holed.target_close[rows],
        **{k: getattr(holed, k)[rows] for k in ("close", "open", "high", "low")},
    )
    assert check_sessions(holed, "XNYS").missing == (panel.day(100),)


def test_a_day_with_too_few_bars_is_short_unless_the_exchange_closes_early():
    pytest.importorskip("exchange_calendars")
    panel = half_hours()
    assert check_sessions(panel, "XNYS").short_days == ()
    cut = panel.rows(0, 13 * 8 - 4)
    report = check_sessions(cut, "XNYS")
    assert report.bars == "intraday"
    assert report.short_days == (panel.day(-1),)


def test_an_unknown_exchange_or_a_time_before_its_calendar_is_named():
    pytest.importorskip("exchange_calendars")
    with pytest.raises(DataError, match="no calendar named 'WALL'"):
        check_sessions(load_sample(), "WALL")
    with pytest.raises(DataError, match="XTKS does not cover 1980"):
        expected_sessions("XTKS", "1980-01-01", "1981-01-01")


# -- coarser bars ----------


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), to=st.sampled_from(["weekly", "monthly"]), gaps=st.booleans(), ohlc=st.booleans())
def test_coarse_bars_are_those_of_pandas(seed, to, gaps, ohlc):
    panel = random_panel(n_bars=70, seed=seed, ohlc=ohlc, gaps=gaps)
    volume = np.where(panel.has_bar, np.random.default_rng(seed).uniform(1, 9, panel.close.shape), np.nan)
    panel = replace(panel, volume=volume)
    coarse = resample(panel, to)
    rule = {"weekly": "W-SUN", "monthly": "ME"}[to]
    parts = {
        k: panel.close if getattr(panel, k) is None else getattr(panel, k) for k in ("open", "high", "low", "close", "volume")
    }
    for name, how in {"open": "first", "high": "max", "low": "min", "close": "last", "volume": "sum"}.items():
        frame = pd.DataFrame(parts[name], index=pd.DatetimeIndex(panel.dates)).resample(rule)
        want = frame.sum(min_count=1) if how == "sum" else getattr(frame, how)()
        np.testing.assert_allclose(getattr(coarse, name), want.to_numpy(), rtol=1e-15)
    level = pd.Series(panel.target_close[:, 0], index=pd.DatetimeIndex(panel.dates)).resample(rule).last()
    np.testing.assert_array_equal(coarse.target_close[:, 0], level)
    assert set(coarse.dates) <= set(panel.dates)
    assert coarse.periods_per_year == (52.0 if to == "weekly" else 12.0)


def test_masks_follow_the_bars():
    panel = random_panel(n_bars=20, n_assets=2)  # from Wednesday, 2020-01-01
    members, seen = np.ones((20, 2), dtype=bool), np.ones((20, 1), dtype=bool)
    members[7, 0] = False  # Friday of the second week
    members[9, 1] = False  # Tuesday of the third
    seen[3:8], seen[8:10] = False, False  # all of the second week, a part of the third
    coarse = resample(replace(panel, members=members, target_seen=seen), "weekly")
    assert coarse.members.tolist() == [[True, True], [False, True], [True, True], [True, True], [True, True]][: coarse.n_bars]
    assert coarse.target_seen[:, 0].tolist() == [True, False, True, True, True][: coarse.n_bars]


def test_a_week_without_a_bar_is_a_gap_and_a_day_is_not():
    panel = random_panel(n_bars=20, n_assets=2)
    close = panel.close.copy()
    close[7, 0] = np.nan  # a Friday
    close[8:13, 1] = np.nan  # a whole week
    coarse = resample(replace(panel, close=close), "weekly")
    assert coarse.has_bar[:, 0].all()
    assert coarse.close[1, 0] == close[6, 0]
    assert coarse.has_bar[:, 1].tolist() == [True, True, False, True, True][: coarse.n_bars]


def test_bars_cannot_be_made_finer():
    weekly = resample(load_sample(), "weekly")
    with pytest.raises(DataError, match="cannot be made finer"):
        resample(weekly, "daily")
    with pytest.raises(DataError, match="bars of 1 week, but bars of 1 hour were asked for"):
        resample(weekly, "hourly")
    for unknown in ("fortnightly", "7 minutes", "0 hours", 3):
        with pytest.raises(DataError, match="choose one of hourly, daily, weekly, monthly"):
            resample(weekly, unknown)
    assert resample(weekly, "weekly").n_bars == weekly.n_bars


def test_a_tracker_runs_on_every_frequency():
    for to in ("weekly", "monthly"):
        panel = resample(load_sample(), to)
        a, b = backtest(panel, "pa", costs=COSTS), replay(panel, "pa", costs=COSTS)
        np.testing.assert_allclose(a.value, b.value, rtol=1e-9)
        assert a.periods_per_year == panel.periods_per_year


# -- bars within the day ----------


@pytest.mark.parametrize("fill", ["next_open", "open", "close"])
def test_a_tracker_runs_on_half_hour_bars_through_cerebro(fill):
    panel = half_hours(gaps=True)
    assert panel.periods_per_year == 252.0 * 13.0
    assert bar_size(panel) == (bt.TimeFrame.Minutes, 30)
    params = {"fill": fill, "listing_warmup": 4}
    a, b = backtest(panel, "pa", params, costs=COSTS), replay(panel, "pa", params, costs=COSTS)
    assert a.dates.tolist() == panel.dates.tolist()  # with the time of day
    np.testing.assert_allclose(a.value, b.value, rtol=1e-9)
    np.testing.assert_allclose(a.decisions, b.decisions, atol=1e-12)
    assert len(set(a.orders["date"].dt.time)) > 1


def test_daily_bars_come_from_half_hours():
    panel = half_hours()
    daily = resample(panel, "daily")
    assert (daily.n_bars, daily.periods_per_year) == (8, 252.0)
    np.testing.assert_array_equal(daily.close, panel.close[12::13])
    np.testing.assert_array_equal(daily.open, panel.open[::13])
    assert daily.day(0) == "2021-03-01"


# -- resampling inside cerebro ----------


class Watcher(load_strategy("pa")):
    """The passive-aggressive tracker with an average of a resampled feed beside it."""

    def __init__(self):
        super().__init__()
        self.slow = self.getdatabyname("slow")
        self.average = bt.indicators.SMA(self.slow.close, period=2)
        self.seen = {}

    def next(self):
        super().next()
        if len(self.slow):
            self.seen[self.slow.datetime.date(0)] = self.slow.close[0], self.average[0]


def with_resampled(feeds, timeframe, fill, **options):
    cerebro = bt.Cerebro(stdstats=False, **options)
    for feed in feeds:
        cerebro.adddata(feed, name=getattr(feed.p, "symbol", "") or feed._name)
    cerebro.resampledata(feeds[0], timeframe=timeframe, name="slow")
    cerebro.broker.setcash(CASH)
    charge(cerebro.broker, COSTS)
    cerebro.addstrategy(Watcher, fill=fill)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    cerebro.addanalyzer(DiagnosticsAnalyzer, _name="diagnostics")
    (run,) = cerebro.run()
    return run, record_of(run)


MODES = {"default": {}, "next": {"runonce": False}, "live": {"preload": False}, "exact": {"exactbars": 1}}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fill", ["next_open", "close"])
@pytest.mark.parametrize("size", ["daily", "half hours"])
def test_a_resampled_feed_is_right_and_changes_nothing_for_the_tracker(size, fill, mode):
    panel = random_panel(n_bars=60, ohlc=True) if size == "daily" else half_hours()
    frame = bt.TimeFrame.Weeks if size == "daily" else bt.TimeFrame.Days
    run, record = with_resampled(IndexData(panel).feeds(), frame, fill, **MODES[mode])
    plain = backtest(panel, "pa", {"fill": fill}, costs=COSTS, diagnostics=True)
    assert run.symbols == panel.symbols  # the resampled feed is not invested in
    for what in ("dates", "value", "decisions", "weights", "turnover", "cost"):
        np.testing.assert_array_equal(getattr(record, what), getattr(plain, what))
    assert record.orders.equals(plain.orders)
    assert len(record.diagnostics) == panel.n_bars
    coarse = resample(panel, "weekly" if size == "daily" else "daily")
    assert [str(day) for day in run.seen] == [coarse.day(t) for t in range(coarse.n_bars)]
    close, average = np.array(list(run.seen.values())).T
    np.testing.assert_array_equal(close, coarse.target_close[:, 0])
    np.testing.assert_allclose(average[1:], (close[1:] + close[:-1]) / 2.0)


def test_ordinary_feeds_can_be_resampled_beside_a_tracker_too():
    panel = random_panel(n_bars=60)
    run, record = with_resampled(ordinary_feeds(panel), bt.TimeFrame.Weeks, "next_open")
    plain = backtest(panel, "pa", costs=COSTS)
    np.testing.assert_allclose(record.value, plain.value, rtol=1e-9)
    np.testing.assert_allclose(record.turnover, plain.turnover, rtol=1e-6, atol=1e-12)
    assert len(run.seen) == resample(panel, "weekly").n_bars
