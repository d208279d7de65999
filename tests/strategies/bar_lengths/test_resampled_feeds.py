"""A tracker on hours that cerebro makes from minutes is a tracker on hours."""

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData, MarketPanel, resample
from datafeeds.errors import DataError
from tests.intraday import minute_market
from tracker_strategies import HoldingsAnalyzer, PATracker, TrackingAnalyzer, backtest, record_of
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.strategies.bar_lengths import length_of_feed

COSTS = CostModel(bps=5.0)
HOUR = {"timeframe": bt.TimeFrame.Minutes, "compression": 60}
MODES = [{}, {"runonce": False}, {"preload": False, "runonce": False}, {"exactbars": 1}]


@pytest.fixture(scope="module")
def minutes():
    return minute_market("2024-11-27", "2024-12-03")


def panel_feeds(panel):
    return zip((*panel.targets, *panel.symbols), IndexData(panel).feeds(), strict=True)


def stock_feeds(panel):
    for name in (*panel.targets, *panel.symbols):
        close = panel.column(name)
        part = {
            k: close if name in panel.targets else getattr(panel, k)[:, panel.symbols.index(name)]
            for k in ("open", "high", "low")
        }
        frame = pd.DataFrame({**part, "close": close, "volume": 0.0}, index=pd.DatetimeIndex(panel.dates))
        yield name, bt.feeds.PandasData(dataname=frame, timeframe=bt.TimeFrame.Minutes)


def tracked(add, options=None, **params):
    cerebro = bt.Cerebro(stdstats=False, **(options or {}))
    cerebro.broker.setcash(1_000_000.0)
    add(cerebro)
    charge(cerebro.broker, COSTS)
    cerebro.addstrategy(PATracker, **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    (run,) = cerebro.run()
    return run, record_of(run)


@pytest.mark.parametrize("options", MODES, ids=str)
@pytest.mark.parametrize("feeds", [panel_feeds, stock_feeds])
def test_hours_made_by_cerebro_equal_hours_from_a_panel(minutes, feeds, options):
    params = {"margin": "10%", "listing_warmup": "2 sessions"}
    truth = backtest(resample(minutes, "hourly"), "pa", params, costs=COSTS)

    def add(cerebro):
        for name, feed in feeds(minutes):
            cerebro.resampledata(feed, name=name, **HOUR)

    run, record = tracked(add, options, **params)
    assert run.p.bars_per_year == truth.periods_per_year == 252.0 * 7
    assert run.p.listing_warmup == 14
    np.testing.assert_array_equal(record.dates, truth.dates)
    np.testing.assert_allclose(record.decisions, truth.decisions, atol=1e-12)
    np.testing.assert_allclose(record.value, truth.value, rtol=1e-9)
    np.testing.assert_allclose(record.turnover, truth.turnover, atol=1e-9)


@pytest.mark.parametrize("schedule", ["session-close", "12:00", "daily"])
def test_schedules_are_the_same_on_them(minutes, schedule):
    params = {"rebalance": schedule, "calendar": "XNYS", "fill": "close"}
    truth = backtest(resample(minutes, "hourly"), "pa", params, costs=COSTS)

    def add(cerebro):
        for name, feed in panel_feeds(minutes):
            cerebro.resampledata(feed, name=name, **HOUR)

    _, record = tracked(add, **params)
    np.testing.assert_allclose(record.value, truth.value, rtol=1e-9)
    np.testing.assert_array_equal(record.orders["date"], truth.orders["date"])


def test_beside_the_minutes_hours_are_for_indicators_unless_they_are_named(minutes):
    def add(cerebro):
        for name, feed in panel_feeds(minutes):
            cerebro.adddata(feed, name=name)
            cerebro.resampledata(feed, name=f"{name} by hours", **HOUR)

    run, _ = tracked(add)
    assert run.p.bars_per_year == 98280.0
    hours = {"target": "INDEX by hours", "assets": [f"{name} by hours" for name in minutes.symbols]}
    run, record = tracked(add, **hours)
    truth = backtest(resample(minutes, "hourly"), "pa", costs=COSTS)
    assert str(length_of_feed(run.targets[0])) == "1 hour"
    np.testing.assert_allclose(record.decisions[-1], truth.decisions[-1], atol=1e-12)


def test_feeds_of_different_lengths_are_refused_by_name(minutes):
    def add(cerebro):
        for name, feed in panel_feeds(minutes):
            cerebro.adddata(feed, name=name)
            cerebro.resampledata(feed, name=f"{name} by hours", **HOUR)

    with pytest.raises(DataError, match="bars of INDEX by hours are of 1 hour, but bars of A0 are of 1 minute"):
        tracked(add, target="INDEX by hours", assets=["A0", "A1"])

    def add_stock(cerebro):
        daily = resample(minute_market("2024-10-01", "2024-12-04"), "daily")
        for panel, wanted in ((daily, ("INDEX",)), (minute_market("2024-10-01", "2024-10-11"), ("A0", "A1"))):
            for name, feed in stock_feeds(panel):
                if name in wanted:
                    cerebro.adddata(feed, name=name)

    with pytest.raises(DataError, match="bars of INDEX are of 1 day, but bars of A0 are of 1 minute"):
        tracked(add_stock)


def test_feeds_know_how_long_their_bars_are(minutes):
    sizes = {
        "1 minute": (minutes, bt.TimeFrame.Minutes, 1),
        "30 minutes": (resample(minutes, "30 minutes"), bt.TimeFrame.Minutes, 30),
        "1 hour": (resample(minutes, "hourly"), bt.TimeFrame.Minutes, 60),
    }
    for freq, told, frame in (
        ("B", "1 day", bt.TimeFrame.Days),
        ("W-FRI", "1 week", bt.TimeFrame.Weeks),
        ("ME", "1 month", bt.TimeFrame.Months),
    ):
        dates, ones = pd.date_range("2020-01-01", periods=30, freq=freq).to_numpy(), np.ones((30, 1))
        sizes[told] = (MarketPanel(dates, ("A",), ones, ("INDEX",), ones), frame, 1)
    for told, (panel, frame, size) in sizes.items():
        feed = IndexData(panel).feeds()[0]
        assert (feed._timeframe, feed._compression) == (frame, size)
        assert str(length_of_feed(feed)) == told


def test_a_name_that_trades_once_a_day_has_no_longer_bars(minutes):
    def add(cerebro):
        for name, feed in stock_feeds(minutes):
            if name == "A0":
                feed.p.dataname = feed.p.dataname.iloc[::390]
            cerebro.adddata(feed, name=name)

    run, _ = tracked(add)
    assert run.symbols[0] == "A0"
    assert run.p.bars_per_year == 98280.0
