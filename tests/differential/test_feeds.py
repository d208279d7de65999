"""What can be built on a feed (slices, clones, resampled, rolled and chained feeds, signals) is the same on panel feeds."""

from __future__ import annotations

import datetime

import backtrader as bt
import pytest

from datafeeds import DataError, IndexData
from tests.differential.side_by_side import MODES, PANEL, STOCK, assert_same, cerebro_with
from tests.markets import ordinary_feeds, random_panel

COMPLETE = random_panel(n_bars=45, n_assets=3, seed=1, ohlc=True)
GAPS = random_panel(n_bars=60, n_assets=4, seed=2, ohlc=True, gaps=True)
PANELS = {"complete": COMPLETE, "gaps": GAPS}


class Diary(bt.Strategy):
    """Writes down every feed on every call, and which hook it was."""

    def __init__(self):
        self.diary = []

    def write(self, hook):
        bars = [(len(d), [line[0] for line in d.lines], d.datetime.date()) if len(d) else None for d in self.datas]
        self.diary.append((hook, self.datetime[0], len(self), bars))

    def prenext(self):
        self.write("prenext")

    def nextstart(self):
        self.write("nextstart")

    def next(self):
        self.write("next")


def diary(kind, panel, change=lambda cerebro: None, **mode):
    cerebro = cerebro_with(kind, panel, **mode)
    change(cerebro)
    cerebro.addstrategy(Diary)
    return cerebro.run()[0].diary


def same(panel, change=lambda cerebro: None, **mode):
    theirs = diary(STOCK, panel, change, **mode)
    assert theirs
    assert_same(diary(PANEL, panel, change, **mode), theirs, str(mode))


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("market", PANELS)
def test_bars_and_hooks_are_those_of_ordinary_feeds(market, mode):
    """Also for names that list late, pause or leave: each feed has the calendar of its own bars.

    With short buffers (exactbars=1) backtrader's own feeds cannot pause: a bar that was read too early is lost, and an IndexError
    follows. There ours show what they show in the other modes.
    """
    if market == "gaps" and mode["exactbars"] == 1:
        with pytest.raises(IndexError):
            diary(STOCK, GAPS, **mode)
        assert_same(diary(PANEL, GAPS, **mode), diary(STOCK, GAPS))
    else:
        same(PANELS[market], **mode)


WAYS = {
    "resample an added feed, weekly": lambda c: c.resampledata(c.datas[1], timeframe=bt.TimeFrame.Weeks),
    "resample an added feed, monthly": lambda c: c.resampledata(c.datas[0], timeframe=bt.TimeFrame.Months),
    "resample by three days": lambda c: c.resampledata(c.datas[2], timeframe=bt.TimeFrame.Days, compression=3),
    "resample two": lambda c: [c.resampledata(c.datas[i], timeframe=bt.TimeFrame.Weeks) for i in (1, 2)],
    "copy": lambda c: c.adddata(c.datas[1].copyas("zz")),
    "clone": lambda c: c.adddata(c.datas[2].clone(), name="clone"),
}


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_feeds_made_from_added_feeds(way, mode):
    same(COMPLETE, WAYS[way], **mode)


@pytest.mark.parametrize("way", WAYS)
def test_feeds_made_from_added_feeds_with_gaps(way):
    """Preloaded: without that, backtrader counts the bars of a clone wrong while its feed has not begun."""
    for mode in ({}, {"runonce": False}):
        same(GAPS, WAYS[way], **mode)


@pytest.mark.parametrize("mode", [{}, {"runonce": False}, {"preload": False}, {"exactbars": 1}], ids=str)
@pytest.mark.parametrize("replay", [False, True], ids=["resample", "replay"])
def test_feeds_resampled_or_replayed_when_added(replay, mode):
    def run(kind):
        cerebro = bt.Cerebro(stdstats=False, **mode)
        feeds = ordinary_feeds(COMPLETE) if kind == STOCK else IndexData(COMPLETE).feeds()
        for feed in feeds[:2]:
            way = cerebro.replaydata if replay else cerebro.resampledata
            way(feed, timeframe=bt.TimeFrame.Weeks, name=feed.p.name or feed.p.symbol)
        cerebro.addstrategy(Diary)
        return cerebro.run()[0].diary

    assert_same(run(PANEL), run(STOCK))


@pytest.mark.parametrize("way", ["rolloverdata", "chaindata"])
def test_feeds_of_one_panel_rolled_or_chained(way):
    """Each of them moves on its own there."""

    def run(kind):
        cerebro = bt.Cerebro(stdstats=False)
        feeds = ordinary_feeds(COMPLETE) if kind == STOCK else IndexData(COMPLETE).feeds()
        more = {"checkdate": lambda dt, d: dt.day == 20} if way == "rolloverdata" else {}
        getattr(cerebro, way)(*feeds[1:3], name="both", **more)
        cerebro.addstrategy(Diary)
        return cerebro.run()[0].diary

    theirs = run(STOCK)
    assert len(theirs) >= 40
    assert_same(run(PANEL), theirs)


@pytest.mark.parametrize("mode", [{"oldsync": True}, {"oldsync": True, "runonce": False}, {"lookahead": 3}], ids=str)
def test_the_rarer_settings_of_cerebro(mode):
    same(COMPLETE, **mode)


def test_a_part_of_the_dates():
    def run(kind):
        cerebro = cerebro_with(kind, COMPLETE)
        for data in cerebro.datas:
            data.p.fromdate, data.p.todate = datetime.datetime(2020, 1, 10), datetime.datetime(2020, 2, 10)
        cerebro.addstrategy(Diary)
        return cerebro.run()[0].diary

    assert_same(run(PANEL), run(STOCK))


@pytest.mark.parametrize("mode", [{}, {"exactbars": 1}], ids=str)
def test_slices_of_a_line_are_what_backtrader_gives(mode):
    class Slices(bt.Strategy):
        def __init__(self):
            self.seen = []
            bt.indicators.SMA(self.data1, period=6)

        def next(self):
            last = self.data1.close.get(size=5)
            last.reverse()
            more = last + self.data1.close.get(ago=-1, size=2)
            found = (last.count(last[0]), last.index(last[2]), max(last))
            self.seen.append((type(last).__name__, list(more), found, self.data1.tick_close))

    def run(kind):
        cerebro = cerebro_with(kind, COMPLETE, **mode)
        cerebro.addstrategy(Slices)
        return cerebro.run()[0].seen

    theirs = run(STOCK)
    assert len(theirs) == 40
    ours = run(PANEL)
    assert_same([row[:-1] for row in ours], [row[:-1] for row in theirs])
    assert [row[-1] for row in ours][:-1] == [row[-1] for row in theirs][:-1]  # the last tick of a file is None in stock


@pytest.mark.parametrize("write", [lambda d: d.close.__setitem__(0, 1.0), lambda d: d.open.set(2.0)])
def test_writing_to_a_line_is_refused_by_name(write):
    class Writes(bt.Strategy):
        def next(self):
            write(self.data1)

    cerebro = cerebro_with(PANEL, COMPLETE)
    cerebro.addstrategy(Writes)
    with pytest.raises(DataError, match=r"S0\.(close|open).*cannot be written.*PandasData"):
        cerebro.run()


def test_a_signal_strategy_trades_as_with_ordinary_feeds():
    class Momentum(bt.Indicator):
        lines = ("signal",)

        def __init__(self):
            self.addminperiod(4)

        def next(self):
            self.lines.signal[0] = self.data.close[0] - self.data.close[-3]

    def run(kind):
        cerebro = bt.Cerebro(stdstats=False)
        feeds = ordinary_feeds(COMPLETE) if kind == STOCK else IndexData(COMPLETE).feeds()
        for feed in feeds[1:]:
            cerebro.adddata(feed, name=feed.p.name or feed.p.symbol)
        cerebro.add_signal(bt.SIGNAL_LONGSHORT, Momentum)
        cerebro.addanalyzer(bt.analyzers.Transactions)
        return dict(cerebro.run()[0].analyzers.transactions.get_analysis())

    theirs = run(STOCK)
    assert len(theirs) > 5
    assert {k: [row[:3] for row in v] for k, v in run(PANEL).items()} == {k: [row[:3] for row in v] for k, v in theirs.items()}


def test_runs_of_the_same_cerebro_do_not_leave_traces():
    cerebro = cerebro_with(PANEL, GAPS)
    cerebro.addstrategy(Diary)
    first = cerebro.run()[0].diary
    assert_same(cerebro.run(runonce=False)[0].diary, first)
    assert_same(cerebro.run()[0].diary, first)
