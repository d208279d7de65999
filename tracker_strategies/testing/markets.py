"""Small markets for checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from datafeeds import MarketPanel


def random_panel(n_bars: int = 40, n_assets: int = 5, seed: int = 0, *, ohlc: bool = False, gaps: bool = False) -> MarketPanel:
    """Geometric random walks; with gaps, one name lists late, one is delisted, one pauses."""
    rng = np.random.default_rng(seed)
    close = rng.uniform(5.0, 200.0, n_assets) * np.exp((rng.standard_normal((n_bars, n_assets)) * 0.02).cumsum(axis=0))
    shares = rng.uniform(1.0, 10.0, n_assets)
    index = (close * shares).sum(axis=1, keepdims=True) * np.exp(rng.standard_normal((n_bars, 1)) * 1e-3)
    bars: dict[str, Any] = {}
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
