"""Markets of minutes for the tests: sessions of a real exchange, half days among them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from datafeeds import MarketPanel, session_hours


def session_minutes(first: str, last: str, exchange: str = "XNYS") -> np.ndarray:
    """The ends of all minutes of the sessions of an exchange."""
    pytest.importorskip("exchange_calendars")
    opens, closes = session_hours(exchange, first, last)
    minute = np.timedelta64(1, "m")
    return np.concatenate([np.arange(o + minute, c + minute, minute) for o, c in zip(opens, closes, strict=True)])


@cache
def minute_market(
    first: str = "2024-11-20", last: str = "2024-12-06", n_assets: int = 4, seed: int = 0, night: float = 6.0
) -> MarketPanel:
    """Prices of an index of constant shares and its members, by minutes; a night moves prices as much as `night` squared
    minutes.
    """
    rng = np.random.default_rng(seed)
    dates = session_minutes(first, last)
    scale = np.where(np.r_[True, np.diff(dates) > np.timedelta64(1, "h")], night, 1.0)[:, None]
    T, minute = len(dates), 0.01 / np.sqrt(390.0)
    moves = scale * minute * (0.7 * rng.standard_normal((T, 1)) + 0.7 * rng.standard_normal((T, n_assets)))
    close = 50.0 * np.exp(np.cumsum(moves, axis=0))
    open_ = np.vstack([close[:1], close[:-1]]) * np.exp(0.1 * minute * rng.standard_normal((T, n_assets)))
    shares = rng.uniform(0.5, 2.0, n_assets)
    return MarketPanel(
        dates.astype("datetime64[ns]"),
        tuple(f"A{i}" for i in range(n_assets)),
        close,
        ("INDEX",),
        (close @ shares)[:, None],
        open=open_,
        high=np.maximum(open_, close),
        low=np.minimum(open_, close),
        volume=rng.uniform(100.0, 1000.0, (T, n_assets)),
    )
