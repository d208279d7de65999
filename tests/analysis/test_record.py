"""What a run is worth: analyzers, records and metrics against formulas written out by hand."""

import backtrader as bt
import numpy as np
import pytest

from datafeeds import IndexData
from tests.markets import random_panel
from tracker_strategies import CostModel, HoldingsAnalyzer, TrackingAnalyzer, backtest
from tracker_strategies.analysis.metrics import METRIC_KEYS, weight_turnover
from tracker_strategies.errors import ParameterError

PANEL = random_panel(n_bars=60, n_assets=5, seed=21, ohlc=True)


@pytest.fixture(scope="module")
def record():
    return backtest(PANEL, "pa", {"fill": "next_open"}, costs=CostModel(bps=7, slippage_bps=3))


def test_metrics_follow_their_definitions(record):
    # Decided at the close of bar 0, filled at the open of bar 1: bar 2 is the first that begins at the target.
    value, index = record.value[1:], PANEL.target_close[1:, 0]
    r, y = value[1:] / value[:-1] - 1, index[1:] / index[:-1] - 1
    e = r - y
    metrics = record.metrics()
    assert tuple(metrics) == METRIC_KEYS
    assert metrics["te_rms"] == pytest.approx(np.sqrt(np.mean(e**2)), rel=1e-12)
    assert metrics["te_centred"] == pytest.approx(np.std(e, ddof=1), rel=1e-12)
    assert metrics["mdte"] == pytest.approx(np.sqrt(np.sum(e**2)) / len(e), rel=1e-12)
    assert metrics["tracking_difference"] == pytest.approx(value[-1] / value[0] - index[-1] / index[0])
    assert metrics["excess_log_return"] == pytest.approx(np.log1p(r).sum() - np.log1p(y).sum(), rel=1e-9)
    assert metrics["n_bars"] == 58
    assert metrics["final_value"] == record.value[-1]
    assert metrics["turnover"] == pytest.approx(record.turnover[2:].mean(), rel=1e-12)
    assert metrics["cost_bps"] == pytest.approx(1e4 * (record.cost[2:] / value[:-1]).mean(), rel=1e-12)
    assert metrics["n_holdings"] == 5.0


def test_turnover_and_cost_are_those_of_the_orders(record):
    orders = record.orders
    day = {np.datetime64(d, "ns"): i for i, d in enumerate(record.dates)}
    rows = [day[np.datetime64(d, "ns")] for d in orders["date"]]
    traded, paid = np.zeros(60), np.zeros(60)
    side = np.sign(orders["size"].to_numpy())
    value = np.abs(orders["size"].to_numpy()) * orders["price"].to_numpy()
    np.add.at(traded, rows, value)
    np.add.at(paid, rows, orders["commission"].to_numpy() + value * 3e-4 / (1 + side * 3e-4))
    np.testing.assert_allclose(record.turnover[1:], traded[1:] / record.value[:-1], rtol=1e-12)
    np.testing.assert_allclose(record.cost, paid, rtol=1e-12)
    np.testing.assert_allclose(orders["commission"], value * 7e-4, rtol=1e-12)
    quoted = np.array([PANEL.open[r, PANEL.symbols.index(s)] for r, s in zip(rows, orders["symbol"], strict=True)])
    np.testing.assert_allclose(orders["price"], quoted * (1 + side * 3e-4), rtol=1e-12)


def test_without_costs_turnover_is_that_of_the_weights():
    record = backtest(PANEL, "pa", {"fill": "close"})
    x = PANEL.close[1:] / PANEL.close[:-1] - 1
    # Weights chosen at bar t are held during round t+1; their trade is booked there.
    np.testing.assert_allclose(record.turnover[2:], weight_turnover(record.decisions[:-1], x), atol=1e-9)


def test_money_is_neither_made_nor_lost_by_bookkeeping(record):
    """Cash flows of the orders and the final positions explain the final value."""
    orders = record.orders
    cash = 1e6 - (orders["size"] * orders["price"]).sum() - orders["commission"].sum()
    shares = {s: orders.loc[orders["symbol"] == s, "size"].sum() for s in PANEL.symbols}
    held = sum(size * PANEL.close[-1, PANEL.symbols.index(s)] for s, size in shares.items())
    assert cash + held == pytest.approx(record.value[-1], rel=1e-12)


def test_scoring_later_keeps_the_learning(record):
    half = record.since(0.5)
    assert half.metrics()["n_bars"] == 30
    np.testing.assert_array_equal(half.returns, record.returns[-30:])
    assert half.orders["date"].min() > np.datetime64(half.dates[0])
    assert record.since(str(PANEL.day(30))).metrics() == half.metrics()
    for bad in ("1.0", "-0.1", "tomorrow", "2099-01-01"):
        with pytest.raises(ParameterError):
            record.since(bad)


def test_analyzers_work_for_a_strategy_of_any_origin():
    class Plain(bt.Strategy):
        def next(self):
            if len(self) == 1:
                self.buy(self.data1, size=10)

    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.addstrategy(Plain)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    run = cerebro.run()[0]
    weights = run.analyzers.holdings.weights
    names = run.analyzers.holdings.symbols
    assert weights[-1, names.index("S0")] == pytest.approx(10 * PANEL.close[-1, 0] / run.broker.getvalue())
    assert run.analyzers.holdings.orders["symbol"].tolist() == ["S0"]
    assert set(run.analyzers.tracking.get_analysis()) >= {"te_rms", "te_centred", "mdte", "n_bars"}
