"""Averages of a name that lists late begin when the name does, not never."""

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData
from indicators import EMA, RSI, SMMA
from tests.markets import ordinary_feeds, random_panel
from tracker_strategies import PASTracker, backtest

PANEL = random_panel(n_bars=60, n_assets=4, seed=7, ohlc=True, gaps=True)
MODES = [{}, {"runonce": False}, {"preload": False}, {"exactbars": -1}, {"exactbars": 1}]
OURS = {"ema": EMA, "smma": SMMA, "rsi": RSI, "signal": lambda d, period: bt.ind.MACD(d, period_signal=period, movav=EMA).signal}
THEIRS = {
    "ema": bt.ind.EMA,
    "smma": bt.ind.SMMA,
    "rsi": bt.ind.RSI_Safe,
    "signal": lambda d, period: bt.ind.MACD(d, period_signal=period).signal,
}


class Watching(bt.Strategy):
    params = (("made", None), ("symbol", ""), ("period", 5))

    def __init__(self):
        data = self.getdatabyname(self.p.symbol)
        self.indicators = {name: make(data, period=self.p.period) for name, make in self.p.made.items()}
        self.seen = []

    def next(self):
        self.seen.append([indicator[0] for indicator in self.indicators.values()])

    prenext = next


def lines(add_feeds, made, symbol, **mode):
    """(bars, indicators) what a strategy sees on each bar of a real run."""
    cerebro = bt.Cerebro(stdstats=False, **mode)
    add_feeds(cerebro)
    cerebro.addstrategy(Watching, made=made, symbol=symbol)
    return np.array(cerebro.run()[0].seen)


def ordinary(close):
    """A feed X of backtrader's own with these closes."""
    frame = pd.DataFrame(dict.fromkeys(("open", "high", "low", "close"), close))
    frame.index = pd.bdate_range("2020-01-01", periods=len(close))
    return lambda cerebro: cerebro.adddata(bt.feeds.PandasData(dataname=frame, name="X"))


def alone(symbol):
    """What backtrader's own show on a feed that has only the bars of the name."""
    (feed,) = (feed for feed in ordinary_feeds(PANEL) if feed._name == symbol)
    return lines(lambda cerebro: cerebro.adddata(feed), THEIRS, symbol)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_late_listing_has_the_numbers_of_backtrader_on_its_own_bars(mode):
    first = int(np.flatnonzero(PANEL.has_bar[:, 1])[0])
    assert first == 15
    found = lines(IndexData(PANEL).add_to, OURS, "S1", **mode)
    assert np.isnan(found[:first]).all()
    np.testing.assert_array_equal(found[first:], alone("S1"))
    assert np.isfinite(found).sum(axis=0).tolist() == [41, 41, 40, 16]  # of 45: less 4, 4, 5 and 25 + 4 to warm up


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_name_with_all_its_bars_has_the_numbers_of_backtrader(mode):
    np.testing.assert_array_equal(*(lines(IndexData(PANEL).add_to, made, "S0", **mode) for made in (OURS, THEIRS)))


@pytest.mark.parametrize("mode", MODES[:2], ids=str)
def test_a_missing_value_later_on_is_a_new_start(mode):
    close = np.cumprod(1.0 + 0.02 * np.random.default_rng(1).standard_normal(40))
    close[20] = np.nan
    found = lines(ordinary(close), {"ema": EMA}, "X", **mode)[:, 0]
    assert np.isfinite(found[4:20]).all()
    assert np.isnan(found[20:25]).all()
    assert found[25] == pytest.approx(close[21:26].mean(), rel=1e-12)
    assert found[26] == pytest.approx(found[25] * 2 / 3 + close[26] / 3, rel=1e-12)


def test_a_price_that_stands_still_or_only_rises_has_an_rsi():
    for step, expected in ((0.0, 50.0), (1.0, 100.0)):
        found = lines(ordinary(100.0 + step * np.arange(20)), {"rsi": RSI}, "X")[:, 0]
        assert np.isnan(found[:5]).all()
        np.testing.assert_allclose(found[5:], expected, rtol=1e-12)


def test_backtrader_keeps_its_own_averages():
    assert bt.ind.MovAv.EMA is bt.ind.EMA is not EMA
    assert bt.ind.MovAv.SMMA is bt.ind.SMMA is not SMMA


def test_as_a_signal_they_have_a_view_of_a_late_listing():
    views = []

    class Strength(PASTracker):
        params = (("side", "signal"), ("listing_warmup", 2))

        def __init__(self):
            super().__init__()
            self.signal_lines = [RSI(d, period=5) for d in self.assets]

        def next(self):
            super().next()
            views.append([line[0] for line in self.signal_lines])

    backtest(PANEL, Strength)
    assert np.isnan(np.array(views)[:, 1]).tolist() == [True] * 20 + [False] * 40
