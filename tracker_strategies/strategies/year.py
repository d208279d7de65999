"""How many bars a year has: those of the data themselves, whatever their size."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import backtrader as bt
import numpy as np
import pandas as pd

from datafeeds.checks import bars_per_year
from tracker_strategies.errors import ParameterError
from tracker_strategies.strategies.registry import OLD_PARAMS
from tracker_strategies.strategies.target import check_year

#: Bars of a year by backtrader's time frames; trading days, as everywhere in this project.
_BY_FRAME = {bt.TimeFrame.Years: 1.0, bt.TimeFrame.Months: 12.0, bt.TimeFrame.Weeks: 52.0, bt.TimeFrame.Days: 252.0}
_DAY_ONE = 719163.0  # date number of 1970-01-01


def settle_year(p: Any, infer: Callable[[], float | None]) -> None:
    """Settle ``p.bars_per_year`` of a strategy's params: what was given or else what the data tell. It stays None where they do
    not; only ``margin`` and ``max_tracking_error`` need it. Params under their old names are taken over, with a warning.
    """
    for old, new in OLD_PARAMS.items():
        value = getattr(p, old, None)
        if value is None:
            continue
        other = getattr(p, new)
        if other is not None and other != value:
            raise ParameterError(
                f"{old}={value!r} and {new}={other!r} say the same thing; give only {new}, {old} is its old name"
            )
        warnings.warn(
            f"the param {old} is called {new} now; its old name goes with the next release", FutureWarning, stacklevel=3
        )
        setattr(p, new, value)
        setattr(p, old, None)
    if p.bars_per_year is None:
        p.bars_per_year = infer()
    else:
        p.bars_per_year = check_year(p.bars_per_year)
    _refuse_gone(p)


def _refuse_gone(p: Any) -> None:
    """Raise a ParameterError for params that are no more, with what to write instead."""
    te, bars = getattr(p, "te_budget", None), getattr(p, "budget_bars", None)
    if te is not None:
        year = p.bars_per_year or 252.0
        sound = isinstance(te, int | float) and 0.0 < te < 1.0
        percent = f"{100.0 * te * math.sqrt(year):.2g}" if sound else "2"
        raise ParameterError(
            f"te_budget={te!r} was per bar; write max_tracking_error={percent}% (per year of {year:g} bars), a budget that is "
            "kept on every bar"
        )
    if bars is not None:
        raise ParameterError(
            f"budget_bars={bars!r} is no more: max_tracking_error goes by the last year of bars and has no training; leave it out"
        )


def year_of_feed(data: Any) -> float | None:
    """Bars per year of a backtrader feed, before its first bar is delivered.

    From the dates where they are known already: of the panel, of a feed that was preloaded, of the DataFrame behind it. Else from
    its time frame and compression, which is all that is known of a feed read bar by bar. None for intraday bars of that kind
    whose session the feed does not tell. Only the calendar is looked at, never a price.
    """
    panel = getattr(data, "panel", None)
    if panel is not None:
        return float(panel.periods_per_year)
    dates = _dates_of(data)
    if dates is not None and len(dates) > 1:
        return bars_per_year(dates)
    frame, size = data._timeframe, float(max(1, data._compression))
    if frame in _BY_FRAME:
        return _BY_FRAME[frame] / size
    seconds = {bt.TimeFrame.Minutes: 60.0, bt.TimeFrame.Seconds: 1.0}.get(frame)
    session = _session(data)
    return None if seconds is None or session is None else 252.0 * max(1.0, round(session / (seconds * size)))


def _dates_of(data: Any) -> Any:
    loaded = getattr(data.lines.datetime, "array", ())
    if len(loaded) > 1:
        days = np.asarray(loaded, dtype=np.float64)
        return ((days[np.isfinite(days)] - _DAY_ONE) * 86400.0).round().astype("datetime64[s]").astype("datetime64[ns]")
    frame = getattr(data.p, "dataname", None)
    if isinstance(frame, pd.DataFrame) and isinstance(frame.index, pd.DatetimeIndex) and not (data.resampling or data.replaying):
        return frame.index.tz_localize(None).to_numpy().astype("datetime64[ns]")
    return None


def _session(data: Any) -> float | None:
    """Seconds of a trading session, where the feed tells; a whole day is what backtrader takes when nobody told."""
    start, end = data.p.sessionstart, data.p.sessionend
    if start is None or end is None:
        return None
    seconds = [3600.0 * t.hour + 60.0 * t.minute + t.second for t in (start, end)]
    return seconds[1] - seconds[0] if 0.0 < seconds[1] - seconds[0] < 86399.0 else None
