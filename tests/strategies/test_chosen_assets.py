"""``assets=``: a run over some names of a panel is the run over a panel of these names, on the command line too."""

import json

import backtrader as bt
import numpy as np
import pytest

from datafeeds import IndexData, load_sample
from tests.cli.commands import refused, tracker
from tests.markets import random_panel
from tracker_strategies import PATracker, backtest
from tracker_strategies.errors import UniverseError

PANEL = random_panel(n_bars=60, n_assets=6, seed=2, ohlc=True, gaps=True)


def only(panel, *names):
    return panel.take(np.isin(panel.symbols, names), "not asked for")


@pytest.mark.parametrize("broker", ["basket", "ordinary"])
@pytest.mark.parametrize("wanted", ["S0,S3, S5", ("S0", "S3", "S5"), ["S0", "S3", "S5"]])
def test_it_is_the_run_on_a_panel_of_these_names(wanted, broker):
    some = backtest(PANEL, "pa", {"assets": wanted, "broker": broker})
    few = backtest(only(PANEL, "S0", "S3", "S5"), "pa", {"broker": broker})
    assert some.symbols == ("S0", "S3", "S5")
    np.testing.assert_allclose(some.decisions, few.decisions, atol=1e-14)
    np.testing.assert_allclose(some.value, few.value, rtol=1e-12)


def test_feeds_that_were_all_added_give_the_same():
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.addstrategy(PATracker, assets="S5,S0")
    cerebro.broker.setcash(1e6)
    (run,) = cerebro.run()
    assert run.symbols == ("S5", "S0")
    assert run.broker.getvalue() == pytest.approx(backtest(PANEL, "pa", {"assets": "S5,S0"}).value[-1], rel=1e-12)


@pytest.mark.parametrize(("wanted", "words"), [("S0,S9", "'S9'"), ("S0,S0", "twice"), ("", "no feed"), ("S0,,S1", "no feed")])
def test_names_that_are_not_there_are_refused(wanted, words):
    with pytest.raises(UniverseError, match=words):
        backtest(PANEL, "pa", {"assets": wanted})


def test_on_the_command_line(tmp_path):
    panel = load_sample().rows(-60, None)
    panel.to_frame().rename(columns={"AAPL": "600000"}).to_csv(tmp_path / "prices.csv")
    words = ("--data", tmp_path / "prices.csv", "--json", "--param")
    result = tracker("run", "pa", *words, "assets=MSFT,JNJ,KO")
    assert result.returncode == 0, result.stderr
    record = backtest(only(panel, "MSFT", "JNJ", "KO"), "pa", {"assets": "MSFT,JNJ,KO"})
    assert json.loads(result.stdout)["final_value"] == pytest.approx(record.value[-1], rel=1e-12)
    one = tracker("compare", "pa", "equal-weight", *words, "assets=600000")
    assert one.returncode == 0, one.stderr
    assert json.loads(one.stdout)["equal-weight"]["n_holdings"] <= 1.0
    refused(tracker("run", "pa", *words, "assets=NOPE"), "UniverseError", "'NOPE'", "20 feeds")
