"""A year is a year of the data's own bars, wherever one is needed."""

import json
import warnings

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData, MarketPanel
from tests.markets import random_panel
from tracker_strategies import HoldingsAnalyzer, PATracker, TrackingAnalyzer, read_run, record_of
from tracker_strategies.algorithms import PA
from tracker_strategies.analysis.runfolder import write_run
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies.bar_lengths import length_of_feed

DAILY = random_panel(90, 4, seed=11)
MARGIN = {"margin": 0.3, "fill": "close"}
FREQUENCIES = [("B", 252.0), ("W-FRI", 52.0), ("ME", 12.0)]


def dated(freq, bars=90):
    dates = pd.date_range("2001-01-31", periods=bars, freq=freq).to_numpy()
    return MarketPanel(dates, DAILY.symbols, DAILY.close[:bars], DAILY.targets, DAILY.target_close[:bars])


def expected(panel, bars_per_year):
    y = panel.target_close[1:, 0] / panel.target_close[:-1, 0] * 1.3 ** (1.0 / bars_per_year) - 1.0
    return PA(4).run(panel.returns, y)


def frames(panel):
    for name in (*panel.targets, *panel.symbols):
        close = pd.Series(panel.column(name), index=pd.DatetimeIndex(panel.dates))
        yield name, pd.DataFrame({"open": close, "high": close, "low": close, "close": close, "volume": 0.0})


def tracked(feeds, params=None, **options):
    cerebro = bt.Cerebro(stdstats=False, **options)
    for feed in feeds:
        cerebro.adddata(feed)
    cerebro.addstrategy(PATracker, **{**MARGIN, **(params or {})})
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings")
    return record_of(cerebro.run()[0])


@pytest.mark.parametrize(("freq", "year"), FREQUENCIES)
@pytest.mark.parametrize("run", [backtest, replay])
def test_a_margin_per_year_is_that_of_the_panels_own_bars(run, freq, year):
    panel = dated(freq)
    record = run(panel, "pa", MARGIN)
    np.testing.assert_allclose(record.decisions, expected(panel, year), atol=1e-12)
    assert record.params["bars_per_year"] == record.periods_per_year == year


@pytest.mark.parametrize(("freq", "year"), FREQUENCIES)
@pytest.mark.parametrize(
    "options", [{}, {"runonce": False}, {"preload": False, "runonce": False}, {"exactbars": 1}], ids=lambda o: str(o)
)
def test_and_that_of_ordinary_feeds_in_every_mode_of_cerebro(freq, year, options):
    """Whatever their time frame says: days, unless the user told otherwise."""
    panel = dated(freq)
    record = tracked([bt.feeds.PandasData(dataname=frame, name=name) for name, frame in frames(panel)], **options)
    np.testing.assert_allclose(record.decisions, expected(panel, year), atol=1e-12)
    assert record.periods_per_year == year


def test_a_feed_whose_dates_are_not_known_yet_goes_by_its_time_frame(tmp_path):
    def feeds(**options):
        for name, frame in frames(dated("W-FRI")):
            path = tmp_path / f"{name}.csv"
            frame.to_csv(path)
            yield bt.feeds.GenericCSVData(dataname=str(path), dtformat="%Y-%m-%d", openinterest=-1, name=name, **options)

    panel = dated("W-FRI")
    weekly = {"timeframe": bt.TimeFrame.Weeks}
    for options, given in (({}, {}), ({"preload": False, "runonce": False}, weekly), ({"exactbars": 1}, weekly)):
        record = tracked(feeds(**given), **options)
        np.testing.assert_allclose(record.decisions, expected(panel, 52.0), atol=1e-12)


@pytest.mark.parametrize(
    ("frame", "size", "year"),
    [
        (bt.TimeFrame.Years, 1, 1.0),
        (bt.TimeFrame.Months, 3, 4.0),
        (bt.TimeFrame.Weeks, 1, 52.0),
        (bt.TimeFrame.Days, 1, 252.0),
        (bt.TimeFrame.Minutes, 30, None),
    ],
)
def test_time_frames_tell_a_year_and_intraday_ones_ask(frame, size, year):
    length = length_of_feed(bt.feeds.GenericCSVData(dataname="none.csv", timeframe=frame, compression=size))
    assert (length and length.per_year) == year


def test_resampled_bars_have_the_year_of_what_they_became():
    weekly = []

    class Look(bt.Strategy):
        def __init__(self):
            weekly.extend(length_of_feed(d).per_year for d in self.datas)

    for options in ({}, {"preload": False, "runonce": False}):
        cerebro = bt.Cerebro(stdstats=False, **options)
        _, frame = next(frames(dated("B")))
        cerebro.resampledata(bt.feeds.PandasData(dataname=frame), timeframe=bt.TimeFrame.Weeks)
        cerebro.addstrategy(Look)
        cerebro.run()
    assert weekly == [52.0, 52.0]


def test_a_year_can_be_given_and_is_shown(tmp_path):
    panel = dated("W-FRI")
    record = backtest(panel, "pa", {**MARGIN, "bars_per_year": 26})
    np.testing.assert_allclose(record.decisions, expected(panel, 26.0), atol=1e-12)
    place = write_run(record, tmp_path / "run", panel)
    assert json.loads((place / "run.json").read_text())["bars_per_year"] == 26.0
    assert read_run(place).periods_per_year == 26.0


@pytest.mark.parametrize("run", [backtest, replay])
def test_the_old_name_works_for_one_release_and_says_so(run):
    panel = dated("W-FRI")
    with pytest.warns(FutureWarning, match="the param bars_a_year is now called bars_per_year"):
        record = run(panel, "pa", {**MARGIN, "bars_a_year": 26})
    np.testing.assert_allclose(record.decisions, expected(panel, 26.0), atol=1e-12)
    assert record.periods_per_year == 26.0
    with pytest.raises(ParameterError, match="bars_a_year=26 and bars_per_year=52"):
        run(panel, "pa", {**MARGIN, "bars_a_year": 26, "bars_per_year": 52})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(panel, "pa", MARGIN)


@pytest.mark.parametrize("bad", [0, -1, "many", True, "1,2"])
def test_a_year_that_is_none_is_named(bad):
    for run in (backtest, replay):
        with pytest.raises(ParameterError, match="bars_per_year"):
            run(DAILY, "pa", {"bars_per_year": bad})


def test_a_paper_account_keeps_the_year_of_its_source(tmp_path):
    """Its first two monthly sessions look like weeks."""
    panel = dated("ME", 30)
    account = PaperAccount.create(
        tmp_path / "a", "pa", "months", {**MARGIN, "fill": "next_open"}, panel=panel, start=str(panel.dates[0])[:10]
    )
    assert account.config.params["bars_per_year"] == 12.0


def test_the_year_does_not_depend_on_prices_to_come():
    panel = dated("W-FRI")
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel.rows(0, 40)).add_to(cerebro)
    cerebro.addstrategy(PATracker, **MARGIN)
    (run,) = cerebro.run()
    assert run.p.bars_per_year == 52.0
