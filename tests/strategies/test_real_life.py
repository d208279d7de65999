"""What users bring: late feeds, odd commission schemes, several trackers, resampled feeds, holes in the index."""

import pickle

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData, MarketPanel
from tests.markets import ordinary_feeds, random_panel
from tracker_strategies import BuyAndHold, HoldingsAnalyzer, PATracker, TrackingAnalyzer, backtest, record_of
from tracker_strategies.errors import DataError, UniverseError
from tracker_strategies.execution.rebalancer import CostModel, Rebalancer


def frame(n_bars=80, n_assets=4, seed=0):
    return random_panel(n_bars=n_bars, n_assets=n_assets, seed=seed).to_frame()


def run(cerebro, *strategies, **params):
    for strategy in strategies:
        cerebro.addstrategy(strategy, **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    return cerebro.run()


def with_pandas(df):
    cerebro = bt.Cerebro(stdstats=False)
    for feed in ordinary_feeds(MarketPanel.from_frame(df, gaps="freeze")):
        cerebro.adddata(feed, name=feed.p.name)
    return cerebro


def test_baselines_hold_names_that_list_late():
    df = frame()
    df.iloc[:10, 4] = np.nan
    panel = MarketPanel.from_frame(df)
    np.testing.assert_allclose(backtest(panel, "equal-weight", {"listing_warmup": 5}).decisions[-1], 0.25)
    bought = backtest(panel, "buy-and-hold", {"listing_warmup": 5})
    assert bought.weights[-1, 3] > 0.1
    assert bought.orders["date"].nunique() == 3  # the first bar, the change, and the bar on which the newcomer gets its weight
    wish = backtest(panel, "constant-weight", {"weights": {"S0": 0.1, "S3": 0.9}, "listing_warmup": 5}).decisions
    np.testing.assert_allclose(wish[0], [1.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(wish[-1], [0.1, 0.0, 0.0, 0.9])


def test_a_minimum_fee_is_not_paid_for_dust():
    w = np.random.default_rng(0).dirichlet(np.ones(500))
    rebalancer = Rebalancer(CostModel(min_fee=5.0))
    deltas = rebalancer.plan(w, np.zeros(500), np.full(500, 50.0), 2000.0)
    fees = rebalancer.costs.fees(deltas, np.full(500, 50.0)).sum()
    assert fees <= (np.abs(deltas) * 50.0).sum()
    poor = backtest(random_panel(n_bars=30), "pa", costs=CostModel(min_fee=5.0), cash=10.0)
    assert poor.value[-1] > 4.0


class OwnScheme(bt.CommInfoBase):
    params = (("stocklike", True), ("commtype", bt.CommInfoBase.COMM_PERC))

    def _getcommission(self, size, price, pseudoexec):
        return max(1.0, abs(size) * price * 0.001)


SCHEMES = {
    "own scheme": lambda b: b.addcommissioninfo(OwnScheme()),
    "per name": lambda b: b.setcommission(commission=0.01, name="S1"),
    "fixed slippage": lambda b: b.set_slippage_fixed(0.05, slip_open=True, slip_out=True),
    "slippage within the bar": lambda b: b.set_slippage_perc(0.002),
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_commission_schemes_of_the_user_are_charged_and_paid_for(scheme):
    class Listening(PATracker):
        def __init__(self):
            super().__init__()
            self.statuses, self.paid = [], 0.0

        def notify_order(self, order):
            self.statuses.append(order.status)
            self.paid += order.executed.comm

    cerebro = bt.Cerebro(stdstats=False)
    IndexData(random_panel(n_bars=60, n_assets=4, seed=2, ohlc=True)).add_to(cerebro)
    cerebro.broker.setcash(20_000.0)
    SCHEMES[scheme](cerebro.broker)
    (strategy,) = run(cerebro, Listening)
    assert bt.Order.Margin not in strategy.statuses
    assert bt.Order.Completed in strategy.statuses
    assert strategy.broker.getcash() >= 0.0
    if "slippage" not in scheme:
        assert strategy.paid > 0.0


def test_a_holiday_freezes_a_name_on_any_feed():
    df = frame()
    df.loc[df.index[15], "S1"] = np.nan
    (own,) = run(with_pandas(df), BuyAndHold)
    panel = backtest(MarketPanel.from_frame(df, gaps="freeze"), "buy-and-hold", cash=10_000.0)
    theirs = record_of(own)
    np.testing.assert_allclose(theirs.weights, panel.weights, atol=1e-12)
    assert theirs.weights[-1, 1] > 0.1


@pytest.mark.parametrize("way", ["panel", "feeds"])
def test_a_bar_without_the_index_teaches_nothing(way):
    df = frame(120, 3)
    df.iloc[60:80, 0] = np.nan
    if way == "panel":
        record = backtest(MarketPanel.from_frame(df, gaps="freeze"), "pa", {"fill": "close"})
    else:
        cerebro = bt.Cerebro(stdstats=False)
        for name in df:
            bars = pd.DataFrame(dict.fromkeys(("open", "high", "low", "close"), df[name].dropna())).assign(volume=0.0)
            cerebro.adddata(bt.feeds.PandasData(dataname=bars), name=name)
        record = record_of(run(cerebro, PATracker, fill="close")[0])
    np.testing.assert_array_equal(record.decisions[60:80], np.tile(record.decisions[59], (20, 1)))
    assert np.abs(record.decisions[80] - record.decisions[59]).max() > 0.0


def test_a_feed_without_opens_is_refused_where_orders_fill_at_them():
    """backtrader would keep the orders waiting for ever, and the account in cash."""

    def run_on_closes(**params):
        cerebro = bt.Cerebro(stdstats=False)
        for name, closes in frame().items():
            feed = bt.feeds.PandasData(dataname=closes.to_frame("close"), open=None, high=None, low=None, volume=None)
            cerebro.adddata(feed, name=name)
        return run(cerebro, PATracker, **params)

    with pytest.raises(DataError, match=r"has no open on .* fill='close'"):
        run_on_closes()
    (strategy,) = run_on_closes(fill="close")
    assert strategy.analyzers.holdings.weights[-1].sum() == pytest.approx(1.0, abs=1e-6)


def test_feeds_that_begin_at_different_times():
    df = frame()
    late_index, late_assets = df.copy(), df.copy()
    late_index.iloc[:5, 0] = np.nan
    late_assets.iloc[:5, 1:] = np.nan
    cerebro = bt.Cerebro(stdstats=False)
    for name in late_index:
        bars = pd.DataFrame(dict.fromkeys(("open", "high", "low", "close"), late_index[name].dropna())).assign(volume=0.0)
        cerebro.adddata(bt.feeds.PandasData(dataname=bars), name=name)
    waited = record_of(run(cerebro, PATracker)[0])
    assert (waited.decisions[:5] == 0.0).all()
    np.testing.assert_allclose(waited.decisions[5:].sum(axis=1), 1.0)
    record = backtest(MarketPanel.from_frame(late_assets), "pa", {"listing_warmup": 3})
    assert (record.decisions[:8] == 0.0).all()
    np.testing.assert_allclose(record.decisions[10:].sum(axis=1), 1.0)


def test_one_of_several_targets_and_some_of_the_assets():
    df = frame()
    df.insert(1, "OTHER", df["S0"] * 2.0)
    panel = MarketPanel.from_frame(df, ["INDEX", "OTHER"])
    one = backtest(panel, "pa", {"target": "INDEX"})
    np.testing.assert_array_equal(one.decisions, backtest(MarketPanel.from_frame(frame()), "pa").decisions)
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro)
    (some,) = run(cerebro, PATracker, assets="S1,S3", target="INDEX")
    assert some.symbols == ("S1", "S3")
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro)
    with pytest.raises(UniverseError, match="NOPE"):
        run(cerebro, PATracker, assets="NOPE")


def test_resampled_feeds_are_for_indicators_only():
    cerebro = bt.Cerebro(stdstats=False)
    feeds = IndexData(random_panel(n_bars=40, n_assets=4)).add_to(cerebro)
    cerebro.resampledata(feeds[0], timeframe=bt.TimeFrame.Weeks, name="weekly index")
    cerebro.resampledata(feeds[1], timeframe=bt.TimeFrame.Weeks, name="weekly S0")
    (strategy,) = run(cerebro, PATracker)
    assert strategy.symbols == ("S0", "S1", "S2", "S3")
    assert [t._name for t in strategy.targets] == ["INDEX"]


@pytest.mark.parametrize("fill", ["next_open", "open", "close"])
def test_a_rebalance_that_missed_a_halted_name_stays_due(fill):
    df = frame()
    df.iloc[1, 1] = np.nan
    record = backtest(MarketPanel.from_frame(df, gaps="freeze"), "buy-and-hold", {"fill": fill})
    assert record.weights[5, 0] > 0.2


def test_orders_of_others_do_not_fill_on_a_halted_feed():
    panel = random_panel(n_bars=24, n_assets=4, seed=9, ohlc=True, gaps=True)
    pause = int(np.argmax(~panel.has_bar[:, 3]))

    class Other(bt.Strategy):
        filled = None

        def next(self):
            if len(self) == pause + 1:  # the first bar of the pause
                self.buy(self.getdatabyname("S3"), size=1)

        def notify_order(self, order):
            if order.status == order.Completed:
                Other.filled = bt.num2date(order.executed.dt)

    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro)
    cerebro.broker.setcash(1e6)
    cerebro.addstrategy(PATracker, capital=0.5)
    cerebro.addstrategy(Other)
    cerebro.run()
    assert np.datetime64(Other.filled.replace(tzinfo=None), "D") == panel.dates[pause + 3].astype("datetime64[D]")


def test_optstrategy_works_on_several_processes():
    cerebro = bt.Cerebro(stdstats=False, maxcpus=2)
    IndexData(random_panel(n_bars=30, n_assets=4)).add_to(cerebro)
    cerebro.optstrategy(PATracker, eps=[0.0, 1e-3])
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    errors = [run[0].analyzers.tracking.get_analysis()["te_rms"] for run in cerebro.run()]
    assert len(set(errors)) == 2


def test_panels_can_be_pickled():
    panel = random_panel(gaps=True, ohlc=True)
    assert pickle.loads(pickle.dumps(panel)).fingerprint() == panel.fingerprint()


def test_writers_of_backtrader_work_beside_late_listings(tmp_path):
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(random_panel(n_bars=24, n_assets=4, gaps=True)).add_to(cerebro)
    cerebro.addwriter(bt.WriterFile, csv=True, out=str(tmp_path / "run.csv"))
    run(cerebro, PATracker)
    assert (tmp_path / "run.csv").stat().st_size > 1000
