"""Coarser bars from finer ones: a panel of minutes as one of hours, days, weeks or months. And bars dated by their ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from datafeeds.bar_length import BarLength, bars_named
from datafeeds.errors import DataError
from datafeeds.panel import MarketPanel

#: Words for bars that a panel can be turned into, beside those of so many minutes or hours.
FREQUENCIES = {"hourly": "1 hour", "daily": "1 day", "weekly": "1 week", "monthly": "1 month"}
_MONDAY = np.datetime64("1970-01-05", "D")


def resample(panel: MarketPanel, to: str) -> MarketPanel:
    """The panel with one bar per hour, day, week (Monday to Sunday) or month, or per given number of minutes or hours.

    A coarse bar has the first open, the highest high, the lowest low, the last close and the whole volume of the asset's bars in
    the period; a panel of closes is one of flat bars, so its coarse bars have all four prices too. An asset without a bar in the
    period has none: a halt of a week is a gap, one of a day is not. Targets have their last level, and their own level if
    they have one on any date of the period. Members are those on its last date.

    A bar of a day or longer is dated by the last date that the panel has in the period, without the time of day, so nothing is
    known before it was; the last period may be a part of one. Bars of minutes and hours are counted from midnight and dated by
    their end, as ``cerebro.resampledata`` has them: the bar of 10:00 holds what is dated after 9:00 and up to 10:00.

    Parameters
    ----------
    panel : MarketPanel
    to : str
        "hourly", "daily", "weekly", "monthly", or a length of less than a day such as "30 minutes".

    Raises
    ------
    DataError
        An unknown word, or bars that would have to be made finer.

    Examples
    --------
    >>> from datafeeds import load_sample, resample
    >>> str(resample(load_sample(), "weekly").bar_length)
    '1 week'
    """
    wanted = bars_named(FREQUENCIES.get(to, to)) if isinstance(to, str) else None
    if wanted is None:
        raise DataError(f"cannot resample to {to!r}; choose one of {', '.join(FREQUENCIES)}, or a length such as '30 minutes'")
    finest = BarLength.usual(panel.dates)
    finer = not finest.intraday or wanted.seconds < finest.seconds if wanted.intraday else wanted.per_year > finest.per_year
    if finer:
        raise DataError(f"bars cannot be made finer: {panel.source} has {finest.kind}, but {wanted.kind} were asked for")
    period, dates = _periods(panel.dates, wanted)
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
        dates=dates[ends],
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


def _periods(dates: NDArray[np.datetime64], wanted: BarLength) -> tuple[NDArray[np.int64], NDArray[np.datetime64]]:
    """The number of the period that each date belongs to, and the date that a bar ending with it has."""
    days = dates.astype("datetime64[D]")
    if wanted.intraday:
        length = np.timedelta64(int(wanted.seconds), "s").astype("timedelta64[ns]")
        number = -((days - dates) // length)  # the end of a bar belongs to it
        ends = days + number * length
        return ends.astype(np.int64), ends
    number = {"day": days, "week": (days - _MONDAY) // np.timedelta64(7, "D"), "month": days.astype("datetime64[M]")}[wanted.unit]
    return number.astype(np.int64), days.astype("datetime64[ns]")


def stamped_at_end(panel: MarketPanel) -> MarketPanel:
    """The panel with dates at the end of bars instead of their start, which is the convention here and in backtrader.

    Many sources date the minute from 9:30 to 9:31 by 9:30. Bars of a day or longer stay as they are.

    >>> import pandas as pd
    >>> from datafeeds import MarketPanel, stamped_at_end
    >>> minutes = pd.date_range("2024-03-08 09:30", periods=5, freq="min")
    >>> panel = MarketPanel.from_frame(pd.DataFrame({"INDEX": 100.0, "A": 10.0}, index=minutes))
    >>> str(stamped_at_end(panel).dates[0])[:16]
    '2024-03-08T09:31'

    Raises
    ------
    DataError
        For irregular bars, whose ends do not follow from their starts.
    """
    length = panel.bar_length
    if not length.intraday:
        return panel
    if length.unit == "irregular":
        raise DataError(
            f"bars of {panel.source} are irregular: their ends do not follow from their starts; date each bar by its end"
        )
    return replace(panel, dates=panel.dates + np.timedelta64(int(length.seconds), "s"))
