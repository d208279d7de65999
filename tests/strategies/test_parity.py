"""cerebro, filled at the close and without costs, is the papers' algorithm: the same weights, the same wealth."""

import itertools

import numpy as np
import pytest

from datafeeds import load_sample
from tests.markets import ordinary_feeds, random_panel, real_market
from tracker_strategies.algorithms import PA, ConstantWeights
from tracker_strategies.runner import backtest

MODES = [
    {"runonce": runonce, "preload": preload, "exactbars": exactbars}
    for runonce, preload, exactbars in itertools.product((True, False), (True, False), (False, 1, -1, -2))
]
LEARNERS = {
    "pa": lambda n: PA(n),
    "equal-weight": lambda n: ConstantWeights(n),
}


def by_hand(panel, algorithm, cash=1e6):
    """Weights and wealth in numpy: W[t] is chosen at the close of bar t, wealth is the product of 1 + w.x."""
    x = panel.close[1:] / panel.close[:-1] - 1.0
    y = panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    weights = [algorithm.weights]
    for x_t, y_t in zip(x, y, strict=True):
        weights.append(algorithm.update(x_t, float(y_t)))
    w = np.array(weights)
    return w, cash * np.cumprod(np.r_[1.0, 1.0 + (w[:-1] * x).sum(axis=1)])


def assert_same(record, panel, algorithm):
    weights, wealth = by_hand(panel, algorithm)
    np.testing.assert_allclose(record.decisions, weights, atol=1e-12, rtol=0)
    np.testing.assert_allclose(record.value, wealth, rtol=1e-9)


@pytest.mark.parametrize("mode", MODES, ids=lambda m: "-".join(f"{k}={v}" for k, v in m.items()))
@pytest.mark.parametrize("name", LEARNERS)
def test_every_mode_of_cerebro_gives_the_papers_weights_and_wealth(name, mode):
    panel = random_panel(n_bars=60, n_assets=7, seed=5)
    assert_same(backtest(panel, name, {"fill": "close"}, **mode), panel, LEARNERS[name](7))


@pytest.mark.parametrize("variant", ["PA-I", "PA-II"])
def test_the_variants_of_pa_reach_the_strategy(variant):
    panel = random_panel(n_bars=60, n_assets=7, seed=6)
    record = backtest(panel, "pa", {"fill": "close", "variant": variant, "eps": 0.0, "C": 0.5})
    assert_same(record, panel, PA(7, variant=variant, eps=0.0, C=0.5))


def test_parity_on_the_sample():
    panel = load_sample().rows(-500, None)
    assert_same(backtest(panel, "pa", {"fill": "close"}), panel, PA(panel.n_assets))


def test_parity_on_a_real_market_of_other_shape():
    panel = real_market("orlib_hangseng31_weekly")
    assert_same(backtest(panel, "pa", {"fill": "close"}), panel, PA(panel.n_assets))


def test_ordinary_backtrader_feeds_give_the_same_run():
    import backtrader as bt

    from tracker_strategies import HoldingsAnalyzer, PATracker, TrackingAnalyzer, record_of

    panel = random_panel(n_bars=50, n_assets=5, seed=8, ohlc=True, gaps=True)
    params = {"listing_warmup": 3, "delist_after": 4}
    cerebro = bt.Cerebro(stdstats=False)
    for feed in ordinary_feeds(panel):
        cerebro.adddata(feed, name=feed.p.name)
    cerebro.broker.setcash(1e6)
    cerebro.addstrategy(PATracker, **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    theirs = record_of(cerebro.run()[0])
    ours = backtest(panel, "pa", params)
    np.testing.assert_array_equal(theirs.decisions, ours.decisions)
    np.testing.assert_allclose(theirs.value, ours.value, rtol=1e-12)
    assert (theirs.dates == ours.dates).all()
