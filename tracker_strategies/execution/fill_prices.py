"""Whether there is a price at which orders can fill: what has none is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from datafeeds import MarketPanel
from datafeeds.feeds.feed import PanelAssets
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.execution.gate import Bar


def check_close_fills(assets: MarketPanel | Sequence[Any]) -> None:
    """Refuse fills at the close of a bar for names whose market has closed hours before the bar's decisions are made.

    Filling at the close of bar t is look-ahead by intent, by one instant. A close that other markets have had hours to react to
    is another matter: trading at it would earn what nobody can earn.
    """
    if isinstance(assets, MarketPanel | PanelAssets):
        panel = assets if isinstance(assets, MarketPanel) else assets[0].panel
        old = [] if panel.at_decision is None else [panel.symbols[i] for i in np.flatnonzero(~panel.at_decision)]
    else:
        mixed = [d for d in assets if getattr(d, "panel", None) is not None and d.panel.at_decision is not None]
        old = [d.p.symbol for d in mixed if not d.panel.at_decision[d.clock.columns.place[d.p.symbol]]]
    if old:
        raise ParameterError(
            f"fill='close' is not possible for {old[0]} (names concerned: {len(old)}): its market closes before the decision of "
            "a bar, so the order would fill at a past price; use fill='next_open'"
        )


def require_opens(bar: Bar, symbols: Sequence[str]) -> None:
    """Refuse a bar without an open, where orders are to fill at it: backtrader would let them wait for ever, without a word."""
    lacking = np.isnan(bar.open) & ~np.isnan(bar.close)
    if lacking.any():
        name, day = symbols[int(lacking.argmax())], bar.date.astype("datetime64[D]")
        raise DataError(
            f"{name} has no open on {day}, but orders fill at the open (feeds concerned: {int(lacking.sum())}); give the feed a "
            "column of opens (a copy of the closes is enough), or use fill='close'"
        )
