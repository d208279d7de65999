"""An account that begins with holdings: the same in cerebro, replay and paper account, at the prices of the first bar, without a
fake order, trade or return.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import backtrader as bt
import numpy as np
import pytest

from datafeeds import IndexData
from tests.markets import ordinary_feeds, random_panel
from tests.papertrade.harness import COSTS, books_balance, decided_weights, open_account, step_through, values
from tests.papertrade.harness import folder as folder
from tracker_strategies import Account, HoldingsAnalyzer, PATracker, TrackingAnalyzer, backtest
from tracker_strategies.errors import AccountError, ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.papertrade.views.status import status_of
from tracker_strategies.research import replay

PANEL = random_panel(40, 5, seed=3, ohlc=True)
HELD = {"S0": 120.0, "S2": 35.0, "S4": 60.0}
WORTH = sum(size * PANEL.close[0, PANEL.symbols.index(name)] for name, size in HELD.items())
DAY = str(PANEL.dates[15])[:10]


@pytest.mark.parametrize("cash", [0.0, 1000.0, 1e6])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"fill": "close"},
        {"fill": "open"},
        {"lot": 1.0},
        {"trade_from": DAY},
        {"trade_from": DAY, "lot": 1.0, "rebalance": "monthly"},
        {"max_weight": 0.4, "max_turnover": 0.1},
    ],
    ids=str,
)
def test_replay_and_both_brokers_agree(params: dict[str, Any], cash: float) -> None:
    given = {**params, "holdings": HELD}
    costs = CostModel(bps=5)
    whole = backtest(PANEL, "pa", given, cash=cash, costs=costs)
    for other in (
        replay(PANEL, "pa", given, cash=cash, costs=costs),
        backtest(PANEL, "pa", {**given, "broker": "ordinary"}, cash=cash, costs=costs),
    ):
        np.testing.assert_allclose(other.value, whole.value, rtol=1e-9)
        np.testing.assert_allclose(other.weights, whole.weights, atol=1e-9)
        np.testing.assert_allclose(other.turnover, whole.turnover, atol=1e-9)
        assert other.entry == whole.entry
    assert whole.value[0] == pytest.approx(cash + WORTH, rel=1e-12)
    assert whole.turnover[0] == 0.0
    assert whole.params["holdings"] == HELD


def test_without_a_trade_the_shares_make_the_value() -> None:
    record = backtest(PANEL, "pa", {"holdings": HELD, "trade_from": DAY}, cash=100.0)
    before = PANEL.close[:16] @ np.array([HELD.get(name, 0.0) for name in PANEL.symbols]) + 100.0
    np.testing.assert_allclose(record.value[:16], before, rtol=1e-12)
    assert len(record.orders)
    assert record.orders["date"].min() > np.datetime64(DAY)
    assert record.entry.row is not None
    assert record.entry.row >= 15


def test_analyzers_and_trades_of_backtrader_see_no_fake_return() -> None:
    class Listening(PATracker):
        def notify_trade(self, trade: Any) -> None:
            seen.append((trade.data._name, trade.size, trade.price, trade.isclosed))

    found = []
    for feeds in ("panel", "ordinary"):
        seen: list[Any] = []
        cerebro = bt.Cerebro(stdstats=False)
        if feeds == "panel":
            IndexData(PANEL).add_to(cerebro)
        else:
            for feed in ordinary_feeds(PANEL):
                cerebro.adddata(feed)
        cerebro.broker.setcash(0.0)
        cerebro.addstrategy(Listening, holdings=Account(5.0, HELD), max_names=2)
        cerebro.addanalyzer(bt.analyzers.TimeReturn, _name="returns")
        cerebro.addanalyzer(bt.analyzers.TradeAnalyzer, _name="trades")
        cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
        cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
        (run,) = cerebro.run()
        returns = list(run.analyzers.returns.get_analysis().values())
        value = run.analyzers.tracking.value
        assert returns[0] == 0.0
        np.testing.assert_allclose(returns[1:], value[1:] / value[:-1] - 1.0, atol=1e-12)
        assert run.analyzers.tracking.flow is None
        # A position that is sold closes the trade with which it began: nobody is ever short.
        assert seen
        assert all(size >= 0.0 for _, size, _, _ in seen)
        assert run.analyzers.trades.get_analysis().total.open == np.count_nonzero(run.route.sizes())
        closed = [(name, price) for name, _, price, is_closed in seen if is_closed]
        assert {name for name, _ in closed} & set(HELD)
        assert cerebro.broker.fundvalue == pytest.approx(100.0 * value[-1] / value[0], rel=1e-9)
        found.append(value)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_an_account_that_begins_invested_keeps_its_turnover_from_the_first_rebalance_on() -> None:
    params = {"holdings": HELD, "max_turnover": 0.02, "fill": "close"}
    record = replay(PANEL, "pa", params, cash=0.0)
    assert record.turnover.max() <= 0.02 * (1.0 + 1e-9)
    assert record.entry.row == 0
    entering = replay(PANEL, "pa", params, cash=1e6)  # most of it is cash: an entry
    assert entering.turnover[1] > 0.5


def test_what_cannot_be_is_refused_by_name(tmp_path: Path) -> None:
    for run in (backtest, replay):
        with pytest.raises(AccountError, match="TSLA is held and not in the data"):
            run(PANEL, "pa", {"holdings": {"TSLA": 1.0}})
        with pytest.raises(ParameterError, match="must be an Account, a mapping from names to shares, or the path"):
            run(PANEL, "pa", {"holdings": 3})
        with pytest.raises(ParameterError, match="trade_from='soon' must be a date"):
            run(PANEL, "pa", {"trade_from": "soon"})
        with pytest.raises(ParameterError, match="is after the end of the data"):
            run(PANEL, "pa", {"trade_from": "2099-01-01"})
        with pytest.raises(ParameterError, match=r"cash=0\.0 must be positive"):
            run(PANEL, "pa", {}, cash=0.0)
    young = random_panel(40, 5, seed=3, gaps=True)
    late = next(name for i, name in enumerate(young.symbols) if np.isnan(young.close[0, i]))
    with pytest.raises(AccountError, match=f"{late} is held and has no price on"):
        backtest(young, "pa", {"holdings": {late: 1.0}})
    cerebro = bt.Cerebro(stdstats=False, preload=False, runonce=False)
    for feed in ordinary_feeds(PANEL):
        cerebro.adddata(feed)
    cerebro.addstrategy(PATracker, holdings=HELD)
    with pytest.raises(ParameterError, match="loaded before the run"):
        cerebro.run()


# -- the paper account ----------


@pytest.mark.parametrize("params", [{}, {"lot": 1.0}, {"fill": "close", "max_weight": 0.4, "max_turnover": 0.1}], ids=str)
def test_a_paper_account_that_begins_with_holdings_is_its_backtest(folder: Path, params: dict[str, Any]) -> None:
    shares = Account(2000.0, HELD)
    account = open_account(folder / "a", PANEL, "pa", params, holdings=shares, start=DAY, verify_every=7)
    step_through(account, PANEL, start=16)
    record = backtest(PANEL, "pa", {**params, "holdings": HELD, "trade_from": DAY}, costs=COSTS, cash=2000.0)
    assert record.decisions is not None
    np.testing.assert_allclose(decided_weights(account), record.decisions[15:], atol=1e-12, rtol=0)
    np.testing.assert_allclose(values(account), record.value[15:], rtol=1e-9)
    books_balance(account)
    status = status_of(account)
    assert status.value == pytest.approx(record.value[-1], rel=1e-9)
    report = report_of(account)
    assert abs(report.gap["value_gap"]) < 1e-9
    assert report.gap["divergences"] == 0.0
    np.testing.assert_allclose(report.backtest.value, record.value[15:], rtol=1e-9)


def test_holdings_of_a_paper_account_are_refused_by_name(folder: Path) -> None:
    def refused(error: type[Exception], words: str, **options: Any) -> None:
        with pytest.raises(error, match=words):
            open_account(folder / "a", PANEL, **options)
        assert not (folder / "a").exists()

    refused(AccountError, "TSLA is held and not in the data", holdings=Account(1.0, {"TSLA": 1.0}))
    refused(ParameterError, "the holdings already state the cash", holdings=Account(1.0, HELD), cash=5.0)
    refused(ParameterError, "an account at Alpaca has its own holdings", holdings=Account(1.0, HELD), broker="alpaca")
    refused(ParameterError, "the parameter trade_from is for backtests", params={"trade_from": DAY})
    refused(ParameterError, "the parameter holdings is for backtests", params={"holdings": HELD})
