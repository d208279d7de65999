"""A run begins when every target has a level and ends with the first that ends; what is left off is said."""

import json
import warnings

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import Market, MarketPanel, join_markets, load_sample, read_panel
from datafeeds.errors import DataWarning
from tests.cli.commands import refused, tracker
from tests.indicators.test_by_date import ordinary
from tests.markets import random_panel
from tracker_strategies import HoldingsAnalyzer, PATracker, TrackingAnalyzer, backtest
from tracker_strategies.errors import DataError
from tracker_strategies.strategies import STRATEGIES


def prices(n_bars=120):
    """Six names, an index of the first three and one of the last three."""
    frame = random_panel(n_bars=n_bars, n_assets=6, seed=5).to_frame().drop(columns="INDEX")
    frame.insert(0, "EAST", frame[["S0", "S1", "S2"]].mean(axis=1))
    frame.insert(1, "WEST", frame[["S3", "S4", "S5"]].mean(axis=1))
    return frame


# ------------------------------------------------------------------ a target that ends early


@pytest.mark.parametrize("targets", [("EAST",), ("EAST", "WEST")])
def test_a_panel_ends_with_its_target_and_says_what_it_leaves_off(targets):
    frame = prices()
    frame.iloc[66:, 0] = np.nan
    frame.iloc[30, 0] = np.nan  # a holiday stays
    with pytest.warns(DataWarning, match="memory: dropped 54 bars after 2020-04-01, the last level of EAST"):
        panel = MarketPanel.from_frame(frame, targets, gaps="freeze")
    assert panel.n_bars == 66
    assert panel.target_seen[:, 0].sum() == 65
    assert panel.cut == ("54 bars after 2020-04-01, the last level of EAST",)
    whole = MarketPanel.from_frame(frame.iloc[:66], targets, gaps="freeze")
    assert whole.cut == ()
    assert panel.fingerprint() == whole.fingerprint()


def test_bars_and_names_go_with_the_dates_that_are_left_off():
    frame = prices()
    frame.iloc[66:, 0] = np.nan
    frame.iloc[:100, 7] = np.nan
    bars = {"open": frame.iloc[:, 2:] * 0.99, "low": frame.iloc[:, 2:] * 0.98, "high": frame.iloc[:, 2:] * 1.01}
    with pytest.warns(DataWarning):
        panel = MarketPanel.from_frame(frame, ("EAST", "WEST"), bars=bars, gaps="freeze")
    assert panel.symbols == ("S0", "S1", "S2", "S3", "S4")
    assert dict(panel.dropped) == {"S5": "no price in the period that all targets cover"}
    np.testing.assert_array_equal(panel.open, bars["open"].iloc[:66, :5])


def test_markets_that_are_put_together_say_it_too():
    frame = prices()
    east = Market(frame[["EAST", "S0", "S1"]].iloc[:66], "EAST", "UTC", "16:00")
    west = Market(frame[["WEST", "S3", "S4"]].iloc[10:], "WEST", "UTC", "16:00")
    with pytest.warns(DataWarning, match=r"EAST \+ WEST: dropped"):
        panel = join_markets({"EAST": east, "WEST": west})
    assert panel.cut == (
        "10 bars before 2020-01-15, the first date on which all of EAST, WEST had a level",
        "54 bars after 2020-04-01, the last level of EAST",
    )


def test_without_freezing_such_a_file_is_refused_and_told_what_freezing_does():
    frame = prices()
    frame.iloc[66:, 0] = np.nan
    with pytest.raises(
        DataError, match=r"EAST has no value on 2020-04-02.*gaps='freeze' treats such dates as holidays, and drops"
    ):
        MarketPanel.from_frame(frame, "EAST")


def test_the_command_line_says_it_and_writes_it_down(tmp_path):
    frame = load_sample().rows(-80, None).to_frame()
    frame.iloc[60:, 0] = np.nan
    frame.to_csv(tmp_path / "short.csv")
    day = str(frame.index[59])[:10]
    refused(tracker("run", "pa", "--data", tmp_path / "short.csv"), "DataError", "INDEX has no value on")
    result = tracker("run", "pa", "--data", tmp_path / "short.csv", "--gaps", "freeze", "--json", "--out", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    said = [line for line in result.stderr.splitlines() if line.startswith("DataWarning")]
    assert said == [f"DataWarning: short.csv: dropped 20 bars after {day}, the last level of INDEX"]
    assert json.loads(result.stdout)["n_bars"] <= 59
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["data"]["cut"] == [f"20 bars after {day}, the last level of INDEX"]
    assert run["data"]["last"] == day


def test_the_check_of_data_looks_at_such_a_file(tmp_path):
    frame = load_sample().rows(-80, None).to_frame()
    frame.iloc[60:, 0] = np.nan
    frame.iloc[:5, 0] = np.nan
    frame.to_csv(tmp_path / "short.csv")
    result = tracker("data", "check", tmp_path / "short.csv", "--json")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found["n_bars"] == 55
    assert [line.split(",")[0] for line in found["cut"]] == [
        f"5 bars before {str(frame.index[5])[:10]}",
        f"20 bars after {str(frame.index[59])[:10]}",
    ]
    text = tracker("data", "check", tmp_path / "short.csv").stdout
    assert f"20 bars after {str(frame.index[59])[:10]}" in text
    assert "20 bars after" in text


def test_feeds_of_other_origin_are_told_of_when_the_index_falls_silent():
    frame = prices(60).rename(columns={"EAST": "INDEX"}).drop(columns="WEST")
    frame.iloc[40:, 0] = np.nan
    cerebro = bt.Cerebro(stdstats=False)
    ordinary(cerebro, frame)
    cerebro.addstrategy(PATracker)
    with pytest.warns(DataWarning, match="target INDEX has had no level for 11 bars on 2020-03-11") as said:
        cerebro.run()
    assert len(said) == 1
    frame = prices(60).rename(columns={"EAST": "INDEX"}).drop(columns="WEST")
    frame.iloc[20:30, 0] = np.nan  # a long holiday
    cerebro = bt.Cerebro(stdstats=False)
    ordinary(cerebro, frame)
    cerebro.addstrategy(PATracker)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        cerebro.run()


# ------------------------------------------------------------------ a target that starts late


def late(n=120, first=45):
    """The second market, index and names, begins later."""
    frame = prices(n)
    frame.iloc[:first, [1, 5, 6, 7]] = np.nan
    return frame


def through_cerebro(frame, strategy, mode=None, **params):
    cerebro = bt.Cerebro(stdstats=False, **(mode or {}))
    ordinary(cerebro, frame)
    cerebro.addstrategy(strategy, target=("EAST", "WEST"), **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    return cerebro.run()[0]


@pytest.mark.parametrize("mode", [{}, {"runonce": False}, {"preload": False}], ids=str)
@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_nothing_begins_before_every_target_has_a_level(fill, mode):
    """The run is the one on the bars from there on: same decisions, orders and values."""
    whole, rest = (through_cerebro(frame, PATracker, mode, fill=fill) for frame in (late(), prices().iloc[45:]))
    a, b = whole.analyzers, rest.analyzers
    assert (a.holdings.decisions[:45] == 0.0).all()
    np.testing.assert_array_equal(a.tracking.value[:45], 10_000.0)
    np.testing.assert_array_equal(a.holdings.decisions[45:], b.holdings.decisions)
    np.testing.assert_array_equal(a.tracking.value[45:], b.tracking.value)
    pd.testing.assert_frame_equal(a.holdings.orders, b.holdings.orders)
    assert (a.holdings.decisions[45] > 0.0).all()  # the late market's names are in from the start


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda cls: cls.alias_name)
def test_every_strategy_decides_as_on_a_panel_of_the_common_time(strategy):
    run = through_cerebro(late(80, 30), strategy)
    with pytest.warns(DataWarning):
        panel = MarketPanel.from_frame(late(80, 30), ("EAST", "WEST"), gaps="freeze")
    record = backtest(panel, strategy)
    np.testing.assert_allclose(run.analyzers.holdings.decisions[30:], record.decisions, atol=1e-12)


def test_a_name_that_is_gone_before_the_targets_begin_is_never_held():
    frame = late()
    frame.iloc[20:, 2] = np.nan
    run = through_cerebro(frame, PATracker)
    assert (run.analyzers.holdings.decisions[:, 0] == 0.0).all()
    assert run.analyzers.holdings.decisions[45, 1:].min() > 0.0


def test_a_file_whose_index_starts_late_begins_there(tmp_path):
    late().to_csv(tmp_path / "late.csv")
    with pytest.warns(DataWarning, match="late.csv: dropped 45 bars before"):
        panel = read_panel(tmp_path / "late.csv", ("EAST", "WEST"), gaps="freeze")
    assert panel.n_bars == 75
