"""No result up to bar t depends on data after t, through the whole engine; and the check would notice if one did.

Every strategy goes through it in test_strategies.py.
"""

import backtrader as bt
import numpy as np
import pytest

from tests.markets import ordinary_feeds, random_panel
from tracker_strategies import HoldingsAnalyzer, TrackingAnalyzer, record_of
from tracker_strategies.testing import LookAheadError, check_no_lookahead

PANELS = {
    "complete": random_panel(n_bars=60, n_assets=6, seed=1, ohlc=True),
    "living": random_panel(n_bars=60, n_assets=6, seed=2, ohlc=True, gaps=True),
}


@pytest.mark.parametrize("mode", [{"runonce": False}, {"exactbars": 1}], ids=str)
def test_no_strategy_looks_ahead_in_other_modes_of_cerebro(mode):
    check_no_lookahead("pa", PANELS["living"], {"listing_warmup": 2, "delist_after": 3}, cuts=(0.4,), **mode)


class LeakyMomentum(bt.Strategy):
    """The recipe of many tutorials: prenext calls next, and next reads every price, also of feeds that have not begun."""

    def __init__(self):
        self.assets = self.datas[1:]
        self.targets = self.datas[:1]
        self.weights = np.zeros(len(self.assets))

    def prenext(self):
        self.next()

    def next(self):
        prices = np.array([d.close[0] for d in self.assets])
        self.weights = prices / prices.sum()
        for data, weight in zip(self.assets, self.weights, strict=True):
            if len(data):
                self.order_target_percent(data, target=0.5 * weight)


class GatedMomentum(LeakyMomentum):
    """The same idea, reading only feeds that have begun."""

    def next(self):
        prices = np.array([d.close[0] if len(d) else 0.0 for d in self.assets])
        self.weights = prices / prices.sum()


def through_ordinary_feeds(strategy):
    def run(panel):
        cerebro = bt.Cerebro(stdstats=False)
        for feed in ordinary_feeds(panel):
            cerebro.adddata(feed, name=feed.p.name)
        cerebro.addstrategy(strategy)
        cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
        cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
        return record_of(cerebro.run()[0])

    return run


def test_the_check_catches_a_leak():
    with pytest.raises(LookAheadError, match="decisions on 2020-01-01 depend on data after"):
        check_no_lookahead(through_ordinary_feeds(LeakyMomentum), PANELS["living"], cuts=(0.5,))


def test_and_passes_the_same_strategy_without_it():
    check_no_lookahead(through_ordinary_feeds(GatedMomentum), PANELS["living"], cuts=(0.5,))


def test_our_feeds_have_nothing_to_leak():
    """Before its first bar a panel feed shows NaN, where backtrader's own shows the future."""
    from datafeeds import IndexData

    seen = []

    class Peek(bt.Strategy):
        def next(self):
            seen.append(self.getdatabyname("S1").close[0])

        prenext = next

    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANELS["living"]).add_to(cerebro)
    cerebro.addstrategy(Peek)
    cerebro.run()
    listed = int(np.argmax(PANELS["living"].has_bar[:, 1]))
    assert np.isnan(seen[:listed]).all()
    assert np.isfinite(seen[listed:]).all()
