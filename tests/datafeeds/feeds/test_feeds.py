"""Panel feeds are feeds like any other: what a strategy sees equals what backtrader's own feeds show it."""

import itertools
import math

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData, MarketPanel, SingleIndexData, UniverseError
from datafeeds.feeds.clock import PanelClock, backtrader_dates
from datafeeds.feeds.feed import PanelFeed
from tests.markets import ordinary_feeds, random_panel

MODES = [
    {"runonce": runonce, "preload": preload, "exactbars": exactbars}
    for runonce, preload, exactbars in itertools.product((True, False), (True, False), (False, 1, -1, -2))
]


class Diary(bt.Strategy):
    """Writes down all it can see, indicators included."""

    def __init__(self):
        self.diary = []
        self.averages = [bt.indicators.SMA(d, period=4) for d in self.datas]
        self.delayed = self.data1.close(-1)

    def next(self):
        bars = [(d.datetime[0], d.open[0], d.high[0], d.low[0], d.close[0], d.close[-2], d.volume[0], len(d)) for d in self.datas]
        self.diary.append((self.datetime[0], bars, [a[0] for a in self.averages], self.delayed[0]))


def diary(feeds, **mode):
    cerebro = bt.Cerebro(stdstats=False, **mode)
    for name, feed in feeds:
        cerebro.adddata(feed, name=name)
    cerebro.addstrategy(Diary)
    return cerebro.run()[0].diary


def panel_feeds(panel):
    clock = PanelClock(panel)
    return [(name, PanelFeed(clock=clock, symbol=name)) for name in (*panel.targets, *panel.symbols)]


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("ohlc", [False, True])
def test_a_strategy_sees_what_ordinary_feeds_show(mode, ohlc):
    panel = random_panel(n_bars=15, n_assets=3, seed=4, ohlc=ohlc)
    ours = diary(panel_feeds(panel), **mode)
    theirs = diary([(f.p.name, f) for f in ordinary_feeds(panel)], **mode)
    assert len(ours) == len(theirs) == 12
    assert ours == [(t, [tuple(map(float, bar)) for bar in bars], avg, float(delayed)) for t, bars, avg, delayed in theirs]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_names_that_pause_list_late_or_leave(mode):
    """An absent name shows its last bar under its old date. Before its listing it has no bars and shows NaN, not the future."""
    panel = random_panel(n_bars=24, n_assets=4, seed=9, ohlc=True, gaps=True)

    class Look(bt.Strategy):
        def __init__(self):
            self.seen = []

        def next(self):
            self.seen.append([(d.open[0], d.close[0], d.datetime[0], len(d)) for d in self.datas[1:]])

        prenext = next

    cerebro = bt.Cerebro(stdstats=False, **mode)
    IndexData(panel).add_to(cerebro)
    cerebro.addstrategy(Look)
    seen = np.array(cerebro.run()[0].seen)
    when = backtrader_dates(panel.dates)
    last = panel.last_bar
    assert seen.shape == (24, 4, 4)
    for k, table in enumerate((panel.open, panel.close)):
        expected = np.where(last >= 0, np.take_along_axis(table, np.maximum(last, 0), axis=0), np.nan)
        np.testing.assert_array_equal(seen[:, :, k], expected)
    np.testing.assert_array_equal(seen[:, :, 2], np.where(last >= 0, when[np.maximum(last, 0)], when[0]))
    np.testing.assert_array_equal(seen[:, :, 3], panel.has_bar.cumsum(axis=0))


def test_an_order_on_a_paused_name_waits_for_its_next_bar():
    panel = random_panel(n_bars=24, n_assets=4, seed=9, ohlc=True, gaps=True)
    pause = int(np.argmax(~panel.has_bar[:, 3]))

    class Buy(bt.Strategy):
        def next(self):
            if len(self) == pause:  # the bar before the pause
                self.buy(self.getdatabyname("S3"), size=1)

        def notify_order(self, order):
            if order.status == order.Completed:
                self.filled = bt.num2date(order.executed.dt), order.executed.price

    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro)
    cerebro.addstrategy(Buy)
    when, price = cerebro.run()[0].filled
    assert np.datetime64(when.replace(tzinfo=None), "D") == panel.dates[pause + 3].astype("datetime64[D]")
    assert price == panel.open[pause + 3, 3]


def test_a_bar_before_the_first_is_nan_not_the_future():
    seen = []

    class Back(bt.Strategy):
        def next(self):
            seen.append(self.data1.close[-3])

    cerebro = bt.Cerebro(stdstats=False)
    IndexData(random_panel(n_bars=6)).add_to(cerebro)
    cerebro.addstrategy(Back)
    cerebro.run()
    assert [math.isnan(x) for x in seen] == [True, True, True, False, False, False]


def test_feeds_can_be_run_twice_and_resampled():
    panel = random_panel(n_bars=30, n_assets=2, seed=3)
    cerebro = bt.Cerebro(stdstats=False)
    feeds = SingleIndexData(panel).add_to(cerebro)
    cerebro.resampledata(feeds[1], timeframe=bt.TimeFrame.Weeks, name="weekly")

    class Weekly(bt.Strategy):
        def __init__(self):
            self.weeks = []

        def prenext(self):
            self.next()

        def next(self):
            data = self.getdatabyname("weekly")
            if len(data) > len(self.weeks):
                self.weeks.append(data.close[0])

    cerebro.addstrategy(Weekly)
    first, second = cerebro.run()[0].weeks, cerebro.run()[0].weeks
    weekly = pd.Series(panel.close[:, 0], index=pd.DatetimeIndex(panel.dates)).resample("W").last()
    assert first == second == weekly.tolist()[: len(first)]
    assert len(first) >= len(weekly) - 1


def test_feeds_mix_with_a_feed_of_another_calendar():
    panel = random_panel(n_bars=20, n_assets=2, seed=3)
    other = pd.Series(np.arange(1.0, 41.0), index=pd.date_range("2019-12-25", periods=40))
    frame = pd.DataFrame(dict.fromkeys(("open", "high", "low", "close"), other)).assign(volume=0.0)

    class Both(bt.Strategy):
        def __init__(self):
            self.seen = {}

        def next(self):
            self.seen[self.datetime[0]] = (self.data1.datetime[0], self.data1.close[0], self.data3.close[0])

    results = []
    for mode in ({}, {"runonce": False}, {"exactbars": 1}):
        cerebro = bt.Cerebro(stdstats=False, **mode)
        IndexData(panel).add_to(cerebro)
        cerebro.adddata(bt.feeds.PandasData(dataname=frame), name="other")
        cerebro.addstrategy(Both)
        results.append(cerebro.run()[0].seen)
    when = backtrader_dates(panel.dates)
    assert results[0] == results[1] == results[2]
    for now, (own, close, theirs) in results[0].items():
        row = int(np.searchsorted(when, now, side="right")) - 1
        assert (own, close) == (when[row], panel.close[row, 0])
        assert theirs == other[bt.num2date(now).replace(tzinfo=None)]


def test_dates_are_backtraders_own_numbers():
    days = pd.DatetimeIndex(["1962-07-03", "1999-12-31", "2024-02-29"])
    hours = pd.DatetimeIndex(["2024-02-29 09:31:07.123456", "2024-02-29 16:00"])
    for stamps in (days, hours):
        assert backtrader_dates(stamps.to_numpy(dtype="datetime64[ns]")).tolist() == [
            bt.date2num(d) for d in stamps.to_pydatetime()
        ]


def test_the_adapter_names_feeds_after_symbols_with_the_target_first():
    cerebro = bt.Cerebro()
    SingleIndexData(random_panel(n_assets=3)).add_to(cerebro)
    assert [d._name for d in cerebro.datas] == ["INDEX", "S0", "S1", "S2"]
    assert cerebro.datasbyname["S1"].p.symbol == "S1"


def test_constituents_are_not_plotted_when_there_are_many():
    few, many = bt.Cerebro(), bt.Cerebro()
    IndexData(random_panel(n_assets=3)).add_to(few)
    IndexData(random_panel(n_assets=9)).add_to(many)
    assert all(d.plotinfo.plot for d in few.datas)
    assert [d.plotinfo.plot for d in many.datas] == [True] + [False] * 9


def test_a_single_index_adapter_refuses_two_targets():
    panel = random_panel(n_assets=3)
    two = MarketPanel.from_frame(panel.to_frame(), ["INDEX", "S0"])
    with pytest.raises(UniverseError, match="takes one target"):
        SingleIndexData(two)
