"""A run whose weights nobody keeps: the same figures, and memory that does not grow with bars x names."""

import gc
import json
import tracemalloc

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from datafeeds import MarketPanel
from datafeeds.feeds.price_rows import BLOCK, PriceRows
from tests.cli.commands import tracker
from tests.markets import random_panel
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.runner import backtest


def minutes(n_bars, n_assets, *, gaps):
    rng = np.random.default_rng(1)
    close = 50.0 * np.exp(np.cumsum(4e-4 * rng.standard_normal((n_bars, n_assets)), axis=0))
    index = close.mean(axis=1, keepdims=True)
    if gaps:
        close[rng.random(close.shape) < 0.01] = np.nan
        close[:30, 0] = np.nan  # lists later
    when = np.datetime64("2024-01-02T09:31", "ns") + np.timedelta64(1, "m") * np.arange(n_bars)
    return MarketPanel(when, tuple(f"A{i:02d}" for i in range(n_assets)), close, ("INDEX",), index)


def peak(panel, **limits):
    assert panel.complete in (True, False)  # its masks are its own
    gc.collect()
    tracemalloc.start()
    backtest(panel, "pa", limits, costs=CostModel(bps=5), orders=False, weights=False)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("limits", [{}, {"max_weight": 0.9}], ids=["free", "limits"])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
def test_memory_grows_by_at_most_200_bytes_per_bar_whatever_the_names(gaps, limits):
    peak(minutes(200, 3, gaps=gaps), **limits)  # what is loaded and remembered once
    short, long = (peak(minutes(bars, 24, gaps=gaps), **limits) for bars in (1000, 4000))
    assert long - short < 200 * 3000, "one number for each bar and name would be 192 alone"


def test_with_limits_memory_does_not_grow_with_the_names_either():
    limits = {"max_weight": 0.9}
    peak(minutes(200, 3, gaps=False), **limits)
    few, many = (peak(minutes(1300, n, gaps=False), **limits) - peak(minutes(500, n, gaps=False), **limits) for n in (6, 24))
    assert many - few < 18 * 800, "one byte for each bar and name"


@pytest.mark.parametrize("strategy", ["pa", "buy-and-hold"])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
def test_figures_without_weights_are_the_same(strategy, gaps):
    panel = random_panel(n_bars=150, n_assets=5, seed=3, gaps=gaps)
    whole, bare = (backtest(panel, strategy, costs=CostModel(bps=5), weights=keep) for keep in (True, False))
    assert bare.weights.shape == (150, 0)
    assert bare.decisions is None
    np.testing.assert_array_equal(bare.names_held, whole.names_held)
    assert whole.names_held.max() > 1
    for start in (None, 0.5):
        assert bare.since(start).metrics() == whole.since(start).metrics()


@pytest.mark.parametrize("limits", [{"max_weight": 0.26}, {"max_weight": 0.5, "min_cash": 0.05, "lot": 1, "rebalance": 7}])
@pytest.mark.parametrize("holdings", [None, {"A00": 900.0}], ids=["cash", "invested"])
def test_breaches_without_weights_are_the_same(limits, holdings):
    panel = random_panel(n_bars=150, n_assets=5, seed=3, gaps=holdings is None)
    given = limits | {"holdings": holdings and {panel.symbols[0]: 900.0}}
    whole, bare = (backtest(panel, "pa", given, costs=CostModel(bps=5), cash=20_000.0, weights=keep) for keep in (True, False))
    assert bare.weights.shape == (150, 0)
    assert len(whole.breaches)
    assert_frame_equal(bare.breaches, whole.breaches)
    np.testing.assert_array_equal(bare.idle_cash, whole.idle_cash)
    for start in (None, 0.5):
        assert bare.since(start).metrics() == whole.since(start).metrics()


def test_a_run_that_is_only_shown_has_the_figures_of_one_that_is_written(tmp_path):
    said = []
    for more in ([], ["--out", str(tmp_path / "run"), "--no-tearsheet"]):
        done = tracker("run", "pa", "--data", "sample", "--json", *more)
        said.append(json.loads(done.stdout))
    assert said[0] == said[1]


@pytest.mark.parametrize("columns", [None, [3, 0, 2]], ids=["all", "some"])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
def test_prices_are_those_of_the_latest_bars_at_any_row(columns, gaps):
    panel = minutes(3 * BLOCK + 7, 4, gaps=gaps)
    which = slice(None) if columns is None else columns
    last, rows = panel.last_bar[:, which], PriceRows(panel, columns)
    for row in [*range(panel.n_bars), 0, 2 * BLOCK, BLOCK - 1, BLOCK, 5, panel.n_bars - 1]:
        close, opens, age = rows.at(row)
        known = np.take_along_axis(panel.close[:, which], np.maximum(last[row], 0)[None], axis=0)[0]
        np.testing.assert_array_equal(close, np.where(last[row] >= 0, known, np.nan))
        np.testing.assert_array_equal(opens, close)
        wanted = np.where(last[row] >= 0, row - last[row], -1)
        np.testing.assert_array_equal(np.zeros(len(close)) if age is None else age, wanted)
        assert (age is None) == (not wanted.any())
