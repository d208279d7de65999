"""The session that has not happened yet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from datafeeds import MarketPanel


def until_tomorrow(panel: MarketPanel) -> MarketPanel:
    """A panel with one more session: every name that traded on the last one opens, and stays, where it closed.

    A strategy that is run to that open sends the orders which it would send before the market opens.
    """
    last = panel.close[-1]
    tomorrow = np.where(np.isfinite(panel.close).any(axis=0), last, 1.0)  # a name that never traded needs some price
    longer: dict[str, Any] = {"close": np.vstack([panel.close, tomorrow])}
    for kind in ("open", "high", "low", "volume"):
        prices = getattr(panel, kind)
        if prices is not None:
            longer[kind] = np.vstack([prices, tomorrow if kind != "volume" else tomorrow * 0.0])
    for kind in ("target_close", "target_seen", "members"):
        known = getattr(panel, kind)
        if known is not None:
            longer[kind] = np.vstack([known, known[-1:]])
    return replace(panel, dates=np.append(panel.dates, panel.dates[-1] + np.timedelta64(1, "D")), **longer)
