"""What a strategy does when names pause, list late, leave, come back or change their ticker."""

from dataclasses import replace

import backtrader as bt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datafeeds import IndexData, MarketPanel, Rename, rename
from tests.markets import random_panel, real_market
from tests.strategies.test_index_members import point_in_time
from tracker_strategies.errors import UniverseError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import STRATEGIES, SLAITTracker

PANEL = random_panel(n_bars=60, n_assets=6, seed=31, ohlc=True, gaps=True)
WARMUP, PATIENCE = 4, 5
PARAMS = {"listing_warmup": WARMUP, "delist_after": PATIENCE}
LISTED, LEFT = 15, 30  # S1 has its first bar at row 15, S2 its last at row 29

#: Learning rates and grids that depend on the number of names in the panel by default.
OWN = {"adagrad": {"eta": 0.1}, "adaptive-discount": {"discounts": "0,0.9,0.99,1"}}
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda cls: cls.alias_name)
few = settings(max_examples=5, deadline=None)
seeds, rows = st.integers(0, 10**6), st.integers(8, 24)


def params_of(strategy):
    return PARAMS | OWN.get(strategy.alias_name, {})


@pytest.fixture(scope="module", params=["next_open", "open", "close"])
def record(request):
    return backtest(PANEL, "pa", {**PARAMS, "fill": request.param}, costs=CostModel(bps=5))


def test_the_account_is_never_nan(record):
    assert np.isfinite(record.value).all()
    assert np.isfinite(record.weights).all()
    np.testing.assert_allclose(record.decisions.sum(axis=1), 1.0, atol=1e-12)


def test_a_late_listing_enters_after_its_warm_up(record):
    assert (record.decisions[: LISTED + 4, 1] == 0.0).all()
    assert record.decisions[LISTED + 4 :, 1].max() > 0.0
    orders = record.orders[record.orders["symbol"] == "S1"]
    assert (orders["date"] > PANEL.dates[LISTED + 3]).all()


def test_a_delisted_name_is_settled_and_its_cash_used(record):
    gone = LEFT + 5
    assert (record.decisions[gone:, 2] == 0.0).all()
    assert (record.weights[gone + 1 :, 2] == 0.0).all()
    assert record.weights[LEFT + 1, 2] > 0.0  # until the rule says so, it may be a halt
    assert record.weights[gone + 2 :].sum(axis=1).min() > 0.99


def test_a_name_that_pauses_is_neither_traded_nor_moved(record):
    pause = slice(20, 23)
    dates = PANEL.dates[pause]
    assert not record.orders[record.orders["symbol"] == "S3"]["date"].isin(dates).any() or record.params["fill"] == "close"
    held = record.decisions[19, 3]
    np.testing.assert_array_equal(record.decisions[pause, 3], held)


def test_settlement_changes_no_value():
    """Cash appears for exactly what the position was worth at its last price, and the others get it at the next fill."""
    record = backtest(PANEL, "buy-and-hold", {**PARAMS, "rebalance": "once", "fill": "close"})
    settled = LEFT + 5
    x = np.nan_to_num(PANEL.close[settled + 1] / PANEL.close[settled] - 1)
    assert record.value[settled + 1] / record.value[settled] == pytest.approx(1.0 + record.decisions[settled] @ x, rel=1e-9)


def test_when_nothing_can_be_held_it_says_so():
    close = np.array(PANEL.close[:, :1])
    close[30:] = np.nan
    panel = MarketPanel(PANEL.dates, ("ONLY",), close, PANEL.targets, PANEL.target_close)
    with pytest.raises(UniverseError, match="no asset can be held on"):
        backtest(panel, "pa", PARAMS)


# -- every strategy: an event changes nothing but what the rule says -----------------------------------------------------------


def with_column(panel, name, column, **masks):
    close = np.hstack([panel.close, column[:, None]])
    return MarketPanel(panel.dates, (*panel.symbols, name), close, panel.targets, panel.target_close, **masks)


def cleared(panel, cells):
    """The panel without the bars in a mask."""
    return replace(panel, close=np.where(cells, np.nan, panel.close))


def mask_at(panel, rows, asset):
    cells = np.zeros(panel.close.shape, dtype=bool)
    cells[rows, asset] = True
    return cells


def assert_same_until(a, b, row, columns=slice(None)):
    """Decisions, holdings, value and orders of two runs agree bit by bit before a row."""
    np.testing.assert_array_equal(a.decisions[:row, columns], b.decisions[:row, columns])
    np.testing.assert_array_equal(a.weights[:row, columns], b.weights[:row, columns])
    np.testing.assert_array_equal(a.value[:row], b.value[:row])
    early = [run.orders[run.orders["date"] < run.dates[row]].reset_index(drop=True) for run in (a, b)]
    assert early[0].equals(early[1])


@every_strategy
@few
@given(seed=seeds, how=st.sampled_from(["lists too late", "never a member"]))
def test_a_name_that_is_never_held_changes_no_other_trajectory(strategy, seed, how):
    panel = random_panel(n_bars=40, n_assets=4, seed=seed)
    ghost = np.random.default_rng(seed).uniform(5.0, 50.0, 40)
    if how == "lists too late":
        ghost[: 40 - WARMUP] = np.nan
        wider = with_column(panel, "GHOST", ghost)
    else:
        wider = with_column(panel, "GHOST", ghost, members=np.tile([True] * 4 + [False], (40, 1)))
    a, b = (backtest(market, strategy, params_of(strategy), costs=CostModel(bps=5)) for market in (panel, wider))
    assert (b.decisions[:, 4] == 0.0).all()
    assert "GHOST" not in set(b.orders["symbol"])
    np.testing.assert_allclose(b.decisions[:, :4], a.decisions, atol=1e-12)
    np.testing.assert_allclose(b.value, a.value, rtol=1e-12)
    assert len(a.orders) == len(b.orders)


@every_strategy
@few
@given(seed=seeds, row=rows)
def test_a_holiday_of_one_name_freezes_it_and_is_unknown_before(strategy, seed, row):
    panel = random_panel(n_bars=30, n_assets=4, seed=seed)
    rested = cleared(panel, mask_at(panel, row, 2))
    a, b = (backtest(market, strategy, params_of(strategy)) for market in (panel, rested))
    assert_same_until(a, b, row)
    np.testing.assert_array_equal(b.decisions[row, 2], b.decisions[row - 1, 2])
    assert not ((b.orders["symbol"] == "S2") & (b.orders["date"] == panel.dates[row])).any()
    assert np.isfinite(b.value).all()


@every_strategy
@few
@given(seed=seeds, row=rows)
def test_a_holiday_of_the_whole_market_changes_nothing_at_all(strategy, seed, row):
    """A date on which nothing traded might as well not stand in the file."""
    panel = random_panel(n_bars=30, n_assets=4, seed=seed)
    quiet = np.insert(panel.close, row, np.nan, axis=0)
    level = np.insert(panel.target_close, row, panel.target_close[row - 1], axis=0)
    seen = np.ones(level.shape, dtype=bool)
    seen[row] = False
    between = panel.dates[row - 1] + np.timedelta64(12, "h")
    longer = MarketPanel(np.insert(panel.dates, row, between), panel.symbols, quiet, panel.targets, level, target_seen=seen)
    a, b = (backtest(market, strategy, {**params_of(strategy), "fill": "close"}) for market in (panel, longer))
    np.testing.assert_array_equal(b.decisions[row], b.decisions[row - 1])
    np.testing.assert_array_equal(np.delete(b.decisions, row, axis=0), a.decisions)
    np.testing.assert_allclose(np.delete(b.value, row), a.value, rtol=1e-9)
    assert b.value[row] == pytest.approx(b.value[row - 1], rel=1e-12)


@every_strategy
@few
@given(seed=seeds, row=rows)
def test_a_late_listing_changes_nothing_before_its_warm_up_is_over(strategy, seed, row):
    panel = random_panel(n_bars=40, n_assets=5, seed=seed)
    late = cleared(panel, mask_at(panel, slice(0, row), 4))
    without = panel.take(np.array([True] * 4 + [False]), "left out")
    a, b = (backtest(market, strategy, params_of(strategy)) for market in (without, late))
    enters = row + WARMUP  # the bar on which it may be held for the first time, still with weight zero
    np.testing.assert_allclose(b.decisions[:enters, :4], a.decisions[:enters], atol=1e-12)
    np.testing.assert_allclose(b.value[:enters], a.value[:enters], rtol=1e-12)
    assert (b.decisions[:enters, 4] == 0.0).all()
    assert (b.weights[: enters + 1, 4] == 0.0).all()
    assert np.isfinite(b.value).all()


@every_strategy
@few
@given(seed=seeds, row=rows)
def test_a_delisting_is_unknown_before_then_frozen_then_settled(strategy, seed, row):
    panel = random_panel(n_bars=40, n_assets=4, seed=seed)
    ended = cleared(panel, mask_at(panel, slice(row, None), 1))
    a, b = (backtest(market, strategy, {**params_of(strategy), "fill": "close"}) for market in (panel, ended))
    assert_same_until(a, b, row)
    gone = row + PATIENCE
    np.testing.assert_array_equal(b.decisions[row:gone, 1], b.decisions[row - 1, 1])
    assert (b.decisions[gone:, 1] == 0.0).all()
    assert (b.weights[gone:, 1] == 0.0).all()
    # Its cash is at work again after the next fill, and no order ever asked for a market that is not there.
    np.testing.assert_allclose(b.weights[gone + 1 :].sum(axis=1), b.decisions[gone:-1].sum(axis=1), atol=1e-9)
    assert not ((b.orders["symbol"] == "S1") & (b.orders["date"] >= panel.dates[row])).any()
    assert np.isfinite(b.value).all()


@every_strategy
def test_a_relisting_is_a_cold_start(strategy):
    panel = random_panel(n_bars=60, n_assets=4, seed=3)
    away = cleared(panel, mask_at(panel, slice(15, 30), 1))
    run = backtest(away, strategy, PARAMS)
    assert (run.decisions[15 + PATIENCE : 30 + WARMUP + 1, 1] == 0.0).all()
    assert (run.weights[15 + PATIENCE : 30 + WARMUP + 1, 1] == 0.0).all()
    np.testing.assert_allclose(run.decisions.sum(axis=1), 1.0, atol=1e-12)
    if strategy.alias_name == "equal-weight":
        assert run.decisions[30 + WARMUP + 1, 1] == 0.25


@every_strategy
def test_a_ticker_change_is_no_event(strategy):
    panel = random_panel(n_bars=40, n_assets=4, seed=8)
    old = np.where(np.arange(40) < 20, panel.close[:, 2], np.nan)
    vendor = with_column(cleared(panel, mask_at(panel, slice(0, 20), 2)), "OLD", old)
    joined = rename(vendor, [Rename("OLD", "S2", panel.dates[20])])
    a, b = backtest(panel, strategy, PARAMS), backtest(joined, strategy, PARAMS)
    np.testing.assert_array_equal(a.decisions, b.decisions)
    np.testing.assert_array_equal(a.value, b.value)
    assert a.orders.equals(b.orders)


# -- the broker never sees NaN ---------------------------------------------------------------------------------------------------


class Sane(bt.Analyzer):
    """Stops the run on the first bar on which the broker's cash or value is no number, or cash is below zero."""

    def next(self):
        broker = self.strategy.broker
        assert np.isfinite(broker.getvalue()), f"value at bar {len(self.strategy)}"
        assert broker.getcash() >= 0.0, f"cash at bar {len(self.strategy)}"
        self.rets["bars"] = self.rets.get("bars", 0) + 1

    prenext = next


@every_strategy
@pytest.mark.parametrize("broker", ["basket", "ordinary"])
def test_no_nan_ever_reaches_the_broker(strategy, broker):
    cells = np.random.default_rng(0).random(PANEL.close.shape) < 0.1
    cells[[0, -1]] = False
    restless = replace(PANEL, **{k: np.where(cells, np.nan, getattr(PANEL, k)) for k in ("close", "open", "high", "low")})
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(point_in_time(restless)).add_to(cerebro)
    cerebro.addstrategy(strategy, broker=broker, **PARAMS)
    cerebro.addanalyzer(Sane, _name="sane")
    (run,) = cerebro.run()
    assert run.analyzers.sane.get_analysis()["bars"] == PANEL.n_bars


REAL = {
    "nasdaq100_2023_2024_daily": (slice(140, 270), {}),  # ARM lists on 2023-09-14
    "ftse100_64_2010_2023_daily": (slice(2860, 2990), {"gaps": "freeze"}),  # holes since May 2021
}


#: SLAIT's eight starts take as long as all others together; from one start it solves the same problems.
ONE_START = [
    *(pytest.param(cls, {"starts": 1} if cls is SLAITTracker else {}, id=cls.alias_name) for cls in STRATEGIES),
    pytest.param(SLAITTracker, {}, id="slait with all its starts", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("market", REAL)
@pytest.mark.parametrize(("strategy", "params"), ONE_START)
def test_real_markets_with_holes_and_late_listings(strategy, params, market):
    cut, options = REAL[market]
    panel = real_market(market, **options).rows(cut.start, cut.stop)
    assert not panel.complete
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro, lazy=True)
    cerebro.addstrategy(strategy, **params)
    cerebro.addanalyzer(Sane, _name="sane")
    (run,) = cerebro.run()
    assert run.analyzers.sane.get_analysis()["bars"] == 130
    np.testing.assert_allclose(run.weights.sum(), 1.0, atol=1e-12)
