"""What a strategy does when names pause, list late or leave."""

import numpy as np
import pytest

from datafeeds import MarketPanel
from tests.markets import random_panel
from tracker_strategies.errors import UniverseError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.runner import backtest

PANEL = random_panel(n_bars=60, n_assets=6, seed=31, ohlc=True, gaps=True)
PARAMS = {"listing_warmup": 4, "delist_after": 5}
LISTED, LEFT = 15, 30  # S1 has its first bar at row 15, S2 its last at row 29


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


@pytest.mark.parametrize("strategy", ["pa", "equal-weight", "buy-and-hold"])
def test_a_name_that_never_trades_changes_nothing(strategy):
    """A column that lists on the last bar leaves every other trajectory bit by bit as it was."""
    panel = random_panel(n_bars=40, n_assets=4, seed=33)
    ghost = np.full((40, 1), np.nan)
    ghost[-1] = 10.0
    wider = MarketPanel(
        panel.dates, (*panel.symbols, "GHOST"), np.hstack([panel.close, ghost]), panel.targets, panel.target_close
    )
    a, b = backtest(panel, strategy), backtest(wider, strategy)
    np.testing.assert_allclose(b.decisions[:, :4], a.decisions, atol=1e-15)
    np.testing.assert_allclose(b.value, a.value, rtol=1e-12)
