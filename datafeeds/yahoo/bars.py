"""From the frame that yfinance returns to bars as they were traded, and how far they reach."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from datafeeds.adjustment import COLUMNS, PRICES, as_traded
from datafeeds.yahoo.report import SeriesFailure, Status

if TYPE_CHECKING:
    from datafeeds.yahoo.client import Answer

_NAMES = {
    "Open": "open",
    "High": "high",
    "Low": "low",
    "Close": "close",
    "Volume": "volume",
    "Dividends": "dividend",
    "Stock Splits": "split",
}
#: A bar is final so long after the close of its session.
SETTLED_AFTER = timedelta(minutes=30)


def traded_bars(answer: Answer, now: datetime) -> tuple[pd.DataFrame, date]:
    """Bars with the columns of :data:`datafeeds.adjustment.COLUMNS`, and the last day of which they hold everything.

    The bar of a session that has not ended (plus half an hour) is left out: it would still change. An event on a day without a
    price moves to the next bar.

    Raises
    ------
    SeriesFailure
        ``empty`` without any price, ``malformed`` when a column is missing or a price is not positive.
    """
    frame = answer.frame
    absent = [name for name in _NAMES if name not in frame]
    if absent and not frame.empty:
        raise SeriesFailure(Status.MALFORMED, f"no column {absent[0]!r} in the answer")
    if frame.empty or not isinstance(frame.index, pd.DatetimeIndex) or frame.index.tz is None:
        raise SeriesFailure(Status.EMPTY, "no prices in the period")
    today = now.astimezone(frame.index.tz).date()
    covered = today if _session_over(answer, now) else today - timedelta(days=1)
    bars = _numbers(frame[list(_NAMES)].rename(columns=_NAMES))
    bars.index = pd.DatetimeIndex(frame.index.tz_localize(None).normalize(), name="date").as_unit("ns")
    bars["split"] = bars["split"].where(bars["split"] != 0.0, 1.0).fillna(1.0)
    bars["dividend"] = bars["dividend"].fillna(0.0)
    _check(bars)
    # Before anything is cut off: a split on a day that is left out has divided all the prices before it.
    bars = _events_on_bars(as_traded(bars))
    bars = bars.loc[: pd.Timestamp(covered), list(COLUMNS)]
    if bars.empty:
        raise SeriesFailure(Status.EMPTY, "no prices in the period")
    return bars, covered


def _numbers(bars: pd.DataFrame) -> pd.DataFrame:
    """The bars in double precision; a column may hold anything that JSON has."""
    for name in bars:
        try:
            bars[name].astype(np.float64)
        except (ValueError, TypeError, OverflowError) as error:
            raise SeriesFailure(Status.MALFORMED, f"{name} has a value that is not a number: {error}") from None
    return bars.astype(np.float64)


def _session_over(answer: Answer, now: datetime) -> bool:
    """Whether today's session has ended, by the hours that Yahoo gives; those of an earlier day when today has none."""
    end = answer.session_end
    if end is None:
        return False
    local = pd.Timestamp(now).tz_convert(end.tz)
    if end < local.normalize():
        end = local.normalize() + (end - end.normalize())
    return bool(local >= end + SETTLED_AFTER)


def _check(bars: pd.DataFrame) -> None:
    if not bars.index.is_monotonic_increasing or bars.index.has_duplicates:
        raise SeriesFailure(Status.MALFORMED, "dates are not in ascending order")
    wrong = {
        "close": np.isinf(bars["close"]) | (bars["close"] <= 0.0),
        "split": ~np.isfinite(bars["split"]) | (bars["split"] <= 0.0),
        "dividend": ~np.isfinite(bars["dividend"]) | (bars["dividend"] < 0.0),
    }
    for name, bad in wrong.items():
        if bad.any():
            day = bars.index[bad.to_numpy()][0]
            raise SeriesFailure(Status.MALFORMED, f"{name} is {bars.loc[day, name]:g} on {day:%Y-%m-%d}")
    priced = bars[bars["close"].notna()]
    move = np.log(priced["close"]).diff()
    ratio = np.log(priced["split"])
    # A price that falls by the factor of the split is one that Yahoo has announced and not applied yet.
    pending = (ratio.abs() >= np.log(2.0)) & ((move + ratio).abs() < move.abs())
    if pending.any():
        day = priced.index[pending.to_numpy()][0]
        raise SeriesFailure(
            Status.MALFORMED, f"the split of {day:%Y-%m-%d} is not applied to the prices before it; try again later"
        )


def _events_on_bars(bars: pd.DataFrame) -> pd.DataFrame:
    """Without the rows that have no close; their splits and dividends move to the next bar, in the shares of that bar."""
    priced = bars["close"].notna().to_numpy()
    if priced.all():
        return bars
    bars, dividend, split = bars.copy(), 0.0, 1.0
    events = bars[["dividend", "split"]].to_numpy(copy=True)
    for row in range(len(bars)):
        ratio = events[row, 1]
        dividend, split = dividend / ratio + events[row, 0], split * ratio
        if priced[row]:
            events[row] = dividend, split
            dividend, split = 0.0, 1.0
    bars[["dividend", "split"]] = events
    return bars[priced]


def same_past(cached: pd.DataFrame, asked: pd.DataFrame, since: date, tolerance: float) -> bool:
    """Whether the vendor still tells the same about the cached days from `since` on.

    Compared are the days themselves, the prices (relative `tolerance`) and the events. Volume is not: vendors correct it later.
    """
    old, new = cached.loc[pd.Timestamp(since) :], asked.loc[: cached.index[-1]]
    if not old.index.equals(new.index):
        return False
    names = [*PRICES, "dividend", "split"]
    return bool(np.allclose(old[names], new[names], rtol=tolerance, atol=1e-9, equal_nan=True))


def unexplained_factor(cached: pd.DataFrame, asked: pd.DataFrame) -> float | None:
    """By how much all the prices that both know have been multiplied, when no split of that size is told; None otherwise.

    Such prices have been divided by a split whose announcement has not come yet: on the morning of a split day Yahoo restates the
    past before it lists the event. What is cached is right, and must not be replaced.
    """
    both = cached.index.intersection(asked.index)
    ratio = (asked.loc[both, "close"] / cached.loc[both, "close"]).to_numpy()
    if not len(ratio) or np.ptp(ratio) > 1e-4 * ratio[0] or abs(ratio[0] - 1.0) < 0.01:
        return None
    told = float(np.prod(asked["split"].to_numpy(dtype=np.float64)))
    return None if abs(ratio[0] / told - 1.0) < 0.01 else float(ratio[0])
