"""Coarser bars from finer ones: daily, weekly or monthly panels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datafeeds.errors import DataError
from datafeeds.panel import MarketPanel

#: Bars that a panel can be turned into, with their number a year.
FREQUENCIES = {"daily": 252.0, "weekly": 52.0, "monthly": 12.0}
_MONDAY = np.datetime64("1970-01-05", "D")


def resample(panel: MarketPanel, to: str) -> MarketPanel:
    """The panel with one bar per day, week (Monday to Sunday) or month.

    A coarse bar has the first open, the highest high, the lowest low, the last close and the whole volume of the asset's bars in
    the period; a panel of closes is one of flat bars, so its coarse bars have all four prices too. An asset without a bar in the
    period has none: a halt of a week is a gap, one of a day is not. Targets have their last level, and a level of their own if
    they have one on any date of the period. Members are those on its last date. A bar is dated by the last date that the panel
    has in the period, without the time of day, so nothing is known before it was; the last period may be a part of one.

    Parameters
    ----------
    panel : MarketPanel
    to : {"daily", "weekly", "monthly"}

    Raises
    ------
    DataError
        An unknown word, or bars that would have to be made finer.
    """
    if to not in FREQUENCIES:
        raise DataError(f"cannot resample to {to!r}; choose one of {', '.join(FREQUENCIES)}")
    if FREQUENCIES[to] > panel.periods_per_year:
        raise DataError(
            f"bars cannot be made finer: {panel.source} has {panel.periods_per_year:g} a year, {to} ones are asked for"
        )
    days = panel.dates.astype("datetime64[D]")
    period = {"daily": days, "weekly": (days - _MONDAY) // np.timedelta64(7, "D"), "monthly": days.astype("datetime64[M]")}[to]
    starts = np.flatnonzero(np.r_[True, period[1:] != period[:-1]])
    ends = np.r_[starts[1:], panel.n_bars] - 1
    row = np.arange(panel.n_bars)[:, None]
    first = np.minimum.reduceat(np.where(panel.has_bar, row, panel.n_bars), starts, axis=0)
    last, some = panel.last_bar[ends], first <= ends[:, None]
    opens, highs, lows = (panel.close if v is None else v for v in (panel.open, panel.high, panel.low))
    volume = None
    if panel.volume is not None:
        volume = np.where(some, np.add.reduceat(np.nan_to_num(panel.volume), starts, axis=0), np.nan)
    return replace(
        panel,
        dates=days[ends],
        close=np.where(some, np.take_along_axis(panel.close, np.maximum(last, 0), axis=0), np.nan),
        open=np.where(some, np.take_along_axis(opens, np.minimum(first, panel.n_bars - 1), axis=0), np.nan),
        high=np.fmax.reduceat(highs, starts, axis=0),
        low=np.fmin.reduceat(lows, starts, axis=0),
        volume=volume,
        target_close=panel.target_close[ends],
        target_seen=None if panel.target_seen is None else np.logical_or.reduceat(panel.target_seen, starts, axis=0),
        members=None if panel.members is None else panel.members[ends],
        source=f"{panel.source} ({to})",
    )
