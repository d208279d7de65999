"""The same daily rebalancing in other backtesting libraries, each as its documentation shows it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds import MarketPanel

BPS = 5.0
CASH = 1e9


def _frames(panel: MarketPanel, rows: NDArray[np.float64]) -> tuple[pd.DataFrame, pd.DataFrame]:
    dates = pd.DatetimeIndex(panel.dates)
    return tuple(pd.DataFrame(a, index=dates, columns=list(panel.symbols)) for a in (panel.close, rows))  # type: ignore[return-value]


def with_bt(panel: MarketPanel, rows: NDArray[np.float64]) -> float:
    import bt

    prices, weights = _frames(panel, rows)
    strategy = bt.Strategy("preset", [bt.algos.WeighTarget(weights), bt.algos.Rebalance()])
    test = bt.Backtest(
        strategy,
        prices,
        initial_capital=CASH,
        commissions=lambda q, p: abs(q) * p * BPS * 1e-4,
        integer_positions=False,
        progress_bar=False,
    )
    bt.run(test)
    return float(test.strategy.values.iloc[-1])


def with_vectorbt(panel: MarketPanel, rows: NDArray[np.float64]) -> float:
    import vectorbt as vbt

    prices, weights = _frames(panel, rows)
    portfolio = vbt.Portfolio.from_orders(
        prices,
        size=weights,
        size_type="targetpercent",
        group_by=True,
        cash_sharing=True,
        call_seq="auto",
        fees=BPS * 1e-4,
        init_cash=CASH,
        freq="1D",
    )
    return float(portfolio.final_value())


def with_cvxportfolio(panel: MarketPanel, rows: NDArray[np.float64]) -> float:
    import cvxportfolio as cvx

    prices, weights = _frames(panel, rows)
    returns = prices.pct_change().shift(-1).iloc[:-1]
    returns["cash"] = 0.0
    targets = weights.iloc[:-1].assign(cash=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = cvx.UserProvidedMarketData(returns=returns, cash_key="cash", min_history=pd.Timedelta("0d"))
        cost = cvx.StocksTransactionCost(a=BPS * 1e-4, pershare_cost=None, b=None)
        simulator = cvx.MarketSimulator(market_data=data, costs=[cost], round_trades=False)
        result = simulator.backtest(
            cvx.FixedWeights(targets), start_time=returns.index[0], end_time=returns.index[-1], initial_value=CASH
        )
    return float(result.v.iloc[-1])


PEERS: dict[str, Any] = {"bt": with_bt, "vectorbt": with_vectorbt, "cvxportfolio": with_cvxportfolio}
