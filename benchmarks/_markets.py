"""Markets that the benchmarks run on: synthetic, so that anyone can repeat them."""

from __future__ import annotations

import backtrader as bt
import pandas as pd

from datafeeds import MarketPanel, synthetic_market

#: The shape of two years of daily bars of the S&P 500 as researchers have it.
N_ASSETS, N_BARS = 453, 503


def benchmark_panel(n_assets: int = N_ASSETS, n_bars: int = N_BARS) -> MarketPanel:
    return synthetic_market(n_assets, n_bars, seed=7, ohlc=True)


def pandas_feeds(panel: MarketPanel) -> list[bt.feeds.PandasData]:
    """Backtrader's own feeds over the same prices, as a user would make them."""
    dates = pd.DatetimeIndex(panel.dates)
    feeds = []
    for name in (*panel.targets, *panel.symbols):
        close = panel.column(name)
        parts = {"open": close, "high": close, "low": close, "close": close, "volume": 0.0}
        if name in panel.symbols and panel.open is not None and panel.high is not None and panel.low is not None:
            i = panel.symbols.index(name)
            parts.update(open=panel.open[:, i], high=panel.high[:, i], low=panel.low[:, i])
        feeds.append(bt.feeds.PandasData(dataname=pd.DataFrame(parts, index=dates), name=name))
    return feeds
