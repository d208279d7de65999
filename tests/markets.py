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
from tracker_strategies.testing.markets import random_panel as random_panel

SHARED = Path(__file__).resolve().parents[2] / "shared"


@cache
def real_market(name: str, **options: object) -> MarketPanel:
    """A market of ../shared/data, or a skip that says why."""
    path = SHARED / "data" / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"the real market {name} is not here: ../shared/data is absent")
    return read_panel(path, **options)


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
