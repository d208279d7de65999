"""The session that has not happened yet."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from datafeeds import MarketPanel


def until_tomorrow(panel: MarketPanel) -> MarketPanel:
    """A panel with one more session: see :func:`with_tomorrow`."""
    return with_tomorrow(**{field.name: getattr(panel, field.name) for field in fields(panel)})


def with_tomorrow(**parts: Any) -> MarketPanel:
    """A panel from its parts and one more session: every name that traded on the last one opens, and stays, where it closed.

    A strategy that is run to that open sends the orders which it would send before the market opens. A name that never traded
    gets some price: a panel needs one.
    """
    close, dates = parts["close"], parts["dates"]
    tomorrow = np.where(np.isfinite(close).any(axis=0), close[-1], 1.0)
    longer: dict[str, Any] = {"dates": np.append(dates, dates[-1] + np.timedelta64(1, "D"))}
    for kind in ("close", "open", "high", "low", "volume"):
        if parts.get(kind) is not None:
            longer[kind] = np.vstack([parts[kind], tomorrow if kind != "volume" else tomorrow * 0.0])
    for kind in ("target_close", "target_seen", "members"):
        if parts.get(kind) is not None:
            longer[kind] = np.vstack([parts[kind], parts[kind][-1:]])
    return MarketPanel(**{**parts, **longer})
