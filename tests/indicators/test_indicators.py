import backtrader as bt
import matplotlib
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData
from indicators import (
    EffectiveHoldings,
    ExcessReturn,
    PortfolioExcessReturn,
    PortfolioTrackingError,
    TrackingError,
    Turnover,
    plot_to_file,
)
from tests.markets import random_panel
from tracker_strategies import HoldingsAnalyzer, PATracker, TrackingAnalyzer

PANEL = random_panel(n_bars=50, n_assets=4, seed=11)
MODES = [{}, {"runonce": False}, {"preload": False}, {"exactbars": -1}, {"exactbars": 1}]


def series(name):
    return pd.Series(PANEL.column(name))


class Watching(bt.Strategy):
    def __init__(self):
        pair = self.getdatabyname("S0"), self.data0
        self.te = TrackingError(*pair, period=10)
        self.rms = TrackingError(*pair, period=10, centred=False, annualise=252)
        self.excess = ExcessReturn(*pair)
        self.seen = []

    def next(self):
        self.seen.append((self.te[0], self.rms[0], self.excess[0]))


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_indicators_equal_pandas_in_every_mode(mode):
    cerebro = bt.Cerebro(stdstats=False, **mode)
    IndexData(PANEL).add_to(cerebro)
    cerebro.addstrategy(Watching)
    seen = np.array(cerebro.run()[0].seen)
    error = series("S0").pct_change() - series("INDEX").pct_change()
    te = error.rolling(10).std()[10:]
    rms = np.sqrt(252 * (error**2).rolling(10).mean())[10:]
    excess = np.log(series("S0") / series("INDEX"))
    np.testing.assert_allclose(seen[:, 0], te, rtol=1e-9)
    np.testing.assert_allclose(seen[:, 1], rms, rtol=1e-9)
    np.testing.assert_allclose(seen[:, 2], (excess - excess[0])[10:], atol=1e-12)


@pytest.mark.parametrize("mode", MODES[:3], ids=str)
def test_observers_equal_the_analyzers(mode):
    cerebro = bt.Cerebro(stdstats=False, **mode)
    IndexData(PANEL).add_to(cerebro)
    cerebro.addstrategy(PATracker)
    for observer in (PortfolioExcessReturn, Turnover, EffectiveHoldings):
        cerebro.addobserver(observer)
    cerebro.addobserver(PortfolioTrackingError, period=10)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings")
    run = cerebro.run()[0]
    value, index = run.analyzers.tracking.value, run.analyzers.tracking.index[:, 0]
    weights = run.analyzers.holdings.weights

    def line(name, alias):
        return np.array(getattr(getattr(run.observers, name).lines, alias).array)[: len(run)]

    assert run.analyzers.tracking.entry.row == 1  # in cash until the open of the second bar
    error = (pd.Series(value).pct_change() - pd.Series(index).pct_change())[2:]
    np.testing.assert_allclose(line("portfoliotrackingerror", "te")[2:], error.rolling(10).std(), rtol=1e-9)
    excess = line("portfolioexcessreturn", "excess")
    np.testing.assert_array_equal(excess[:2], 0.0)
    np.testing.assert_allclose(excess[1:], np.log(value[1:] / value[1]) - np.log(index[1:] / index[1]), atol=1e-12)
    np.testing.assert_allclose(line("turnover", "turnover"), run.analyzers.holdings.turnover, rtol=1e-12)
    np.testing.assert_allclose(line("effectiveholdings", "names"), (weights > 0).sum(axis=1))
    invested = weights[1:] / weights[1:].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(line("effectiveholdings", "effective")[1:], 1 / (invested**2).sum(axis=1), rtol=1e-9)


def test_plots_need_no_screen_and_leave_matplotlib_alone(tmp_path):
    cerebro = bt.Cerebro()
    IndexData(PANEL).add_to(cerebro)
    cerebro.addstrategy(PATracker)
    for observer in (PortfolioTrackingError, Turnover, EffectiveHoldings):
        cerebro.addobserver(observer)
    cerebro.run()
    matplotlib.use("svg")
    path = plot_to_file(cerebro, tmp_path / "deep" / "plot.png")
    assert path.stat().st_size > 10_000
    assert path.read_bytes()[:4] == b"\x89PNG"
    assert matplotlib.get_backend() == "svg"
    import matplotlib.pyplot as plt

    assert plt.get_fignums() == []


def test_a_window_of_one_bar_has_no_error():
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)

    class Short(bt.Strategy):
        def __init__(self):
            TrackingError(self.data1, self.data0, period=1)

    cerebro.addstrategy(Short)
    with pytest.raises(ValueError, match="must be an integer >= 2"):
        cerebro.run()
