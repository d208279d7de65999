"""Orders of the close of t are those that a backtest started from the same holdings sends at the close of t."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import backtrader as bt
import numpy as np
import pytest

from tests.markets import random_panel
from tracker_strategies import Account, PATracker, backtest, orders_for
from tracker_strategies.desk.plan import OrderPlan
from tracker_strategies.errors import AccountError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import replay
from tracker_strategies.strategies.registry import NAMES

T = 45
PANEL = random_panel(60, 6, seed=8, ohlc=True)
GAPS = random_panel(60, 6, seed=8, ohlc=True, gaps=True)
DAY = str(PANEL.dates[T])[:10]
COSTS = CostModel(bps=5, slippage_bps=2)
HELD = {"S0": 120.0, "S2": 35.0, "S5": 61.0}
#: What a strategy cannot do without: known weights of the index.
NEEDED = {"replicate": {"index_weights": {str(PANEL.dates[3])[:10]: dict.fromkeys(PANEL.symbols, 1 / 6)}}}


def signed(plan: OrderPlan, symbols: tuple[str, ...]) -> np.ndarray:
    sizes = np.zeros(len(symbols))
    for order in plan.table.itertuples():
        sizes[symbols.index(order.symbol)] = order.qty if order.side == "buy" else -order.qty
    return sizes


def sent(record: Any, symbols: tuple[str, ...], day: Any) -> np.ndarray:
    """What a run filled on a date."""
    sizes = np.zeros(len(symbols))
    orders = record.orders[record.orders["date"] == np.datetime64(day, "ns")]
    for order in orders.itertuples():
        sizes[symbols.index(order.symbol)] += order.size
    return sizes


@pytest.mark.parametrize("lot", [0.0, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_fractions_and_lots(name: str, lot: float) -> None:
    account = Account(2500.0, HELD)
    params = NEEDED.get(name, {}) | ({"lot": lot} if lot else {})
    plan = orders_for(PANEL.rows(0, T + 1), name, account, {**params, "fill": "close"}, costs=COSTS)
    run = {**params, "fill": "close", "holdings": HELD, "trade_from": DAY}
    record = replay(PANEL.rows(0, T + 3), name, run, costs=COSTS, cash=2500.0, orders=True)
    expected = sent(record, PANEL.symbols, PANEL.dates[T])
    assert expected.any()
    np.testing.assert_allclose(signed(plan, PANEL.symbols), expected, rtol=0, atol=1e-9)
    # The same list for the next open: its fills are these orders, where cash reaches, and else all buys shrink by one factor.
    tomorrow = signed(orders_for(PANEL.rows(0, T + 1), name, account, params, costs=COSTS), PANEL.symbols)
    np.testing.assert_allclose(tomorrow, expected, rtol=0, atol=1e-9)
    record = replay(PANEL.rows(0, T + 3), name, {**run, "fill": "next_open"}, costs=COSTS, cash=2500.0, orders=True)
    fills = sent(record, PANEL.symbols, PANEL.dates[T + 1])
    np.testing.assert_allclose(np.minimum(fills, 0.0), np.minimum(tomorrow, 0.0), rtol=0, atol=1e-9)
    if not lot and (tomorrow > 0.0).any():
        ratios = fills[tomorrow > 0.0] / tomorrow[tomorrow > 0.0]
        assert np.ptp(ratios) < 1e-9
        assert ratios[0] <= 1.0 + 1e-9


@pytest.mark.parametrize(
    "params",
    [
        {"max_weight": 0.3, "max_turnover": 0.1},
        {"max_names": 3, "lot": 1.0},
        {"exclude": "S0", "min_cash": 0.02, "freeze": "S2"},
        {"cost_aware": 10.0, "band": 0.01},
        {"listing_warmup": 3, "delist_after": 4, "rebalance": "monthly"},
        {"coordinates": "shares", "margin": "2%"},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["pa", "ensemble"])
def test_cerebro_sends_the_same_within_limits_and_on_a_living_market(name: str, params: dict[str, Any]) -> None:
    if name == "ensemble" and "coordinates" in params:
        params = {"margin": "2%"}
    panel = GAPS if "delist_after" in params else PANEL
    seen = [s for i, s in enumerate(panel.symbols) if np.isfinite(panel.close[[0, T], i]).all()]
    held = dict.fromkeys(seen[:3], 40.0)
    worth = sum(size * panel.close[T, panel.symbols.index(symbol)] for symbol, size in held.items())
    cash = 0.02 * worth
    plan = orders_for(panel.rows(0, T + 1), name, Account(cash, held), {**params, "fill": "close"}, costs=COSTS)
    run = {**params, "fill": "close", "holdings": held, "trade_from": panel.dates[T]}
    for broker in ("basket", "ordinary"):
        record = backtest(panel.rows(0, T + 3), name, {**run, "broker": broker}, costs=COSTS, cash=cash)
        np.testing.assert_allclose(signed(plan, panel.symbols), sent(record, panel.symbols, panel.dates[T]), rtol=0, atol=1e-9)


def test_without_limits_every_close_of_a_run_has_its_list() -> None:
    """What was learned does not depend on what was traded: a desk that follows a backtest day by day orders what it orders."""
    record = replay(PANEL, "pa", {"fill": "close", "holdings": HELD}, costs=COSTS, cash=100.0, orders=True)
    for t in range(5, 50, 9):
        shares = dict(zip(PANEL.symbols, record.weights[t] * record.value[t] / PANEL.close[t], strict=True))
        cash = record.value[t] * (1.0 - record.weights[t].sum())
        plan = orders_for(PANEL.rows(0, t + 1), "pa", Account(max(cash, 0.0), shares), {"fill": "close"}, costs=COSTS)
        expected = sent(record, PANEL.symbols, PANEL.dates[t])
        np.testing.assert_allclose(signed(plan, PANEL.symbols), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("flow", [3000.0, -1500.0])
@pytest.mark.parametrize("params", [{}, {"lot": 1.0}], ids=["fractions", "lots"])
def test_money_that_comes_with_the_orders_is_invested_as_a_backtest_does_it(flow: float, params: dict[str, Any]) -> None:
    flat = replace(
        PANEL, open=np.vstack([PANEL.open[:1], PANEL.close[:-1]]), high=None, low=None, volume=None
    )  # no gap at the open
    plan = orders_for(flat.rows(0, T + 1), "pa", Account(2500.0, HELD), params, costs=COSTS, flow=flow)
    run = {**params, "holdings": HELD, "trade_from": DAY, "cash_flows": {str(PANEL.dates[T + 1])[:10]: flow}}
    record = replay(flat.rows(0, T + 3), "pa", run, costs=COSTS, cash=2500.0, orders=True)
    np.testing.assert_allclose(signed(plan, PANEL.symbols), sent(record, PANEL.symbols, PANEL.dates[T + 1]), rtol=0, atol=1e-9)
    assert plan.figures["cash_after"] >= -1e-9
    assert plan.figures["flow"] == flow


def test_an_order_that_only_the_flow_asks_for_says_so() -> None:
    rich = orders_for(PANEL, "pa", Account(0.0, HELD))
    held = {name: HELD.get(name, 0.0) for name in PANEL.symbols}
    for order in rich.table.itertuples():
        held[order.symbol] += order.qty if order.side == "buy" else -order.qty
    plan = orders_for(PANEL, "pa", Account(max(rich.figures["cash_after"], 0.0), held), flow=1000.0)
    assert set(plan.table["reason"]) == {"flow"}
    assert set(plan.table["side"]) == {"buy"}
    assert any(line == "paid in with these orders: 1,000.00" for line in plan.foot)
    with pytest.raises(AccountError, match="larger than the account"):
        orders_for(PANEL, "pa", Account(5.0), flow=-100.0)


def test_nothing_after_the_last_bar_counts() -> None:
    plan = orders_for(PANEL, "ensemble", Account(5.0, HELD), as_of=DAY)
    assert plan.to_csv() == orders_for(PANEL.rows(0, T + 1), "ensemble", Account(5.0, HELD)).to_csv()
    assert plan.as_of == DAY


class OwnLines(PATracker):
    """A strategy with a line of its own: only cerebro can run it."""

    def __init__(self) -> None:
        super().__init__()
        self.average = bt.ind.SMA(self.targets[0], period=5)

    def next(self) -> None:
        super().next()


def test_a_strategy_that_needs_cerebro_gets_its_orders_there() -> None:
    account = Account(2500.0, HELD)
    plain = orders_for(PANEL.rows(0, T + 1), "pa", account, costs=COSTS)
    own = orders_for(PANEL.rows(0, T + 1), OwnLines, account, costs=COSTS)
    np.testing.assert_allclose(signed(own, PANEL.symbols), signed(plain, PANEL.symbols), rtol=0, atol=1e-9)
