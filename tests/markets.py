"""Small markets for the tests, and where the shared real ones lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import MarketPanel, read_panel

SHARED = Path(__file__).resolve().parents[2] / "shared"


@cache
def real_market(name: str, **options: object) -> MarketPanel:
    """A market of ../shared/data, or a skip that says why."""
    path = SHARED / "data" / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"the real market {name} is not here: ../shared/data is absent")
    return read_panel(path, **options)


def random_panel(n_bars: int = 40, n_assets: int = 5, seed: int = 0, *, ohlc: bool = False, gaps: bool = False) -> MarketPanel:
    """Geometric random walks; with gaps, one name lists late, one is delisted, one pauses."""
    rng = np.random.default_rng(seed)
    close = rng.uniform(5.0, 200.0, n_assets) * np.exp((rng.standard_normal((n_bars, n_assets)) * 0.02).cumsum(axis=0))
    shares = rng.uniform(1.0, 10.0, n_assets)
    index = (close * shares).sum(axis=1, keepdims=True) * np.exp(rng.standard_normal((n_bars, 1)) * 1e-3)
    bars: dict[str, np.ndarray] = {}
    if ohlc:
        opens = np.vstack([close[:1], close[:-1]]) * np.exp(rng.standard_normal((n_bars, n_assets)) * 0.01)
        wick = np.abs(rng.standard_normal((2, n_bars, n_assets))) * 0.005
        bars = {"open": opens, "high": np.maximum(opens, close) * (1 + wick[0]), "low": np.minimum(opens, close) * (1 - wick[1])}
    if gaps:
        absent = np.zeros_like(close, dtype=bool)
        absent[: n_bars // 4, 1] = True
        absent[n_bars // 2 :, 2] = True
        absent[n_bars // 3 : n_bars // 3 + 3, 3] = True
        close = np.where(absent, np.nan, close)
        bars = {k: np.where(absent, np.nan, v) for k, v in bars.items()}
    dates = pd.bdate_range("2020-01-01", periods=n_bars).to_numpy()
    return MarketPanel(dates, tuple(f"S{i}" for i in range(n_assets)), close, ("INDEX",), index, **bars)


class Bars:
    """What PandasData asks of a DataFrame, answered by an array: pandas takes longer for a cell than backtrader for a bar."""

    columns = pd.Index(["open", "high", "low", "close", "volume", "openinterest"])

    def __init__(self, times: list[pd.Timestamp], cells: np.ndarray) -> None:
        self.index = times
        self.iloc = cells

    def __len__(self) -> int:
        return len(self.index)


def ordinary_feeds(panel: MarketPanel, holidays: Mapping[str, Sequence[int]] | None = None) -> list[bt.feeds.PandasData]:
    """The panel as backtrader's own PandasData feeds, each with the bars that its column has, less rows of `holidays`."""
    times = pd.DatetimeIndex(panel.dates)
    feeds = []
    for name in (*panel.targets, *panel.symbols):
        cells = np.repeat(panel.column(name)[:, None], len(Bars.columns), axis=1)
        cells[:, 4:] = 0.0
        if name in panel.symbols:
            for place, line in enumerate(("open", "high", "low", "close", "volume")):
                if getattr(panel, line) is not None:
                    cells[:, place] = getattr(panel, line)[:, panel.symbols.index(name)]
        there = ~np.isnan(cells).any(axis=1)
        there[list((holidays or {}).get(name, ()))] = False
        feeds.append(bt.feeds.PandasData(dataname=Bars(times[there].to_list(), cells[there]), name=name))
    return feeds
