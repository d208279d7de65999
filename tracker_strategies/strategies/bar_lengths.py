"""How long the bars of a run are, and what a strategy's params mean in such bars: a year, and windows given as time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import backtrader as bt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds.bar_length import PER_YEAR, BarLength, is_window
from datafeeds.errors import DataError, DataWarning
from tracker_strategies.errors import OldNameWarning, ParameterError
from tracker_strategies.execution.schedule import Schedule, is_schedule
from tracker_strategies.strategies.feeds import is_plain_feed
from tracker_strategies.strategies.registry import OLD_PARAMS, default_params
from tracker_strategies.strategies.target import check_year

_UNITS = {
    bt.TimeFrame.Years: "year",
    bt.TimeFrame.Months: "month",
    bt.TimeFrame.Weeks: "week",
    bt.TimeFrame.Days: "day",
    bt.TimeFrame.Minutes: "minute",
    bt.TimeFrame.Seconds: "second",
}
_SECONDS = {"minute": 60, "second": 1}
_DAY_ONE = 719163.0  # date number of 1970-01-01
Dates = NDArray[np.datetime64]


def settle_feeds(cls: Any, p: Any, target: Any, assets: Sequence[Any]) -> None:
    """Settle params by the feeds of a run, once their bars are known to be of one length: see :func:`settle_bars`."""
    check_alike(target, assets)
    settle_bars(cls, p, lambda: length_of_feed(target), dates_of_feed(target))


def settle_bars(cls: Any, p: Any, infer: Callable[[], BarLength | None], dates: Dates | None = None) -> None:
    """Settle what a strategy's params mean in bars: ``bars_per_year``, given or told from the data, windows and schedule.

    ``bars_per_year`` stays None where the data do not tell it; only ``margin`` and ``max_tracking_error`` need it. Params under
    their old names are taken over, with a warning. Where the `dates` of a run are known beforehand, windows that are longer than
    all of them are said, and a schedule that never comes is refused.
    """
    for old, new in OLD_PARAMS.items():
        value = getattr(p, old, None)
        if value is None:
            continue
        other = getattr(p, new)
        if other is not None and other != value:
            raise ParameterError(
                f"{old}={value!r} and {new}={other!r} are two values of one param; give only {new} ({old} is its old name)"
            )
        warnings.warn(
            f"the param {old} is now called {new}; the old name will be removed in the next release", OldNameWarning, stacklevel=3
        )
        setattr(p, new, value)
        setattr(p, old, None)
    length = length_for(p, infer())
    p.bars_per_year = None if length is None else length.per_year
    if p.overnight != "learn" and length is not None and not length.intraday:
        raise ParameterError(f"overnight={p.overnight!r} needs bars shorter than a day, but the data have {length.kind}; omit it")
    given = {name: getattr(p, name) for name in cls.windows}
    rebalance = p.rebalance
    settle_windows(cls, p, length)
    _refuse_gone(p)
    if dates is not None:
        usual = dict(cls.params._getitems())
        for name, window in given.items():
            if getattr(p, name) > len(dates) and window != usual[name]:
                warnings.warn(
                    f"{name}={window!r} is longer than the data: {getattr(p, name)} bars, but there are only {len(dates)}",
                    DataWarning,
                    stacklevel=3,
                )
        Schedule(p.rebalance, p.calendar).check(dates, rebalance)


@contextmanager
def more_to_come() -> Iterator[None]:
    """Run over the first bars of an account, which gets more of them: that they are fewer than a window is nothing to be told."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=r".* is (longer than the data|as long as the data or longer)", category=DataWarning
        )
        yield


def length_for(p: Any, length: BarLength | None) -> BarLength | None:
    """The length of the bars with the year that the params give; of that year alone where nothing else is known."""
    if p.bars_per_year is None:
        return length
    year = check_year(p.bars_per_year)
    return BarLength("irregular", 1, year) if length is None else replace(length, per_year=year)


def settle_windows(cls: Any, p: Any, length: BarLength | None) -> None:
    """Turn windows that are given as time ("20 sessions", "3 months") into bars."""
    for name in cls.windows:
        setattr(p, name, _bars(name, getattr(p, name), length))
    if isinstance(p.rebalance, str) and is_schedule(p.rebalance):
        if length is not None and not length.intraday:
            p.rebalance = _for_days(p.rebalance, length)
    elif isinstance(p.rebalance, str) and is_window(p.rebalance):  # other words are refused by the schedule
        p.rebalance = _bars("rebalance", p.rebalance, length, least=1)


def windows_written_out(cls: Any, params: Mapping[str, Any], length: BarLength) -> dict[str, Any]:
    """Params with the windows among them in bars: for whoever goes on with too few bars to tell their length."""
    p = SimpleNamespace(**{**default_params(cls), **params})
    settle_windows(cls, p, length_for(p, length))
    return {**params, **{name: getattr(p, name) for name in (*cls.windows, "rebalance") if name in params}}


def _for_days(rebalance: str, length: BarLength) -> int | str:
    """A schedule for bars of a day or longer: each of them ends with a session, and none within one."""
    if rebalance == "session-close":
        return 1
    if rebalance == "hourly" or ":" in rebalance:
        raise ParameterError(
            f"rebalance={rebalance!r} never happens on {length.kind}: it needs bars shorter than a day; choose another "
            "schedule, such as session-close, daily or weekly"
        )
    return rebalance


def _bars(name: str, window: Any, length: BarLength | None, *, least: int = 0) -> int:
    if length is not None:
        return length.bars(window, name, least=least)
    unknown = BarLength("irregular", 1, math.nan)
    try:
        bars = unknown.bars(window, name, least=least)
    except ValueError as problem:
        if isinstance(problem, ParameterError):
            raise
        raise ParameterError(
            f"{name}={window!r}: the feeds do not show how many bars a year has; give bars_per_year, or give {name} in bars"
        ) from None
    if isinstance(window, str) and not window.strip().isdigit():
        warnings.warn(
            f"{name}={window!r} is treated as {bars} bars, because the feeds do not show how many bars a session has; give "
            f"bars_per_year (98280 for minute bars and sessions of 6.5 hours), or give {name} in bars",
            DataWarning,
            stacklevel=4,
        )
    return bars


def _refuse_gone(p: Any) -> None:
    """Raise a ParameterError for params that are no more, with what to write instead."""
    te, bars = getattr(p, "te_budget", None), getattr(p, "budget_bars", None)
    if te is not None:
        year = p.bars_per_year or 252.0
        sound = isinstance(te, int | float) and 0.0 < te < 1.0
        percent = f"{100.0 * te * math.sqrt(year):.2g}" if sound else "2"
        raise ParameterError(
            f"te_budget={te!r}, a budget per bar, was removed; use max_tracking_error={percent}% instead, a budget per year "
            f"of {year:g} bars, which is checked on every bar"
        )
    if bars is not None:
        raise ParameterError(
            f"budget_bars={bars!r} was removed: max_tracking_error uses the last year of bars and needs no training; omit it"
        )


def length_of_feed(data: Any) -> BarLength | None:
    """How long the bars of a backtrader feed are, before its first bar is delivered.

    From the dates where they are known already: of the panel, of a feed that was preloaded, of the DataFrame behind it. Else from
    its time frame and compression, which is all that is known of a feed read bar by bar. None for intraday bars of that kind
    whose session the feed does not tell. Only the calendar is looked at, never a price.
    """
    panel = getattr(data, "panel", None)
    if panel is not None and is_plain_feed(data):
        return panel.bar_length  # type: ignore[no-any-return]
    dates = dates_of_feed(data)
    if dates is not None and len(dates) > 1:
        return BarLength.of(dates)
    source = _source_dates(data)
    unit, size = _UNITS.get(data._timeframe), max(1, data._compression)
    if unit is None:
        return None
    if unit in _SECONDS:
        per_session = _bars_of_session(data, _SECONDS[unit] * size, source)
        if per_session is None:
            return None
        if unit == "minute" and size % 60 == 0:
            unit, size = "hour", size // 60
        return BarLength(unit, size, PER_YEAR["session"] * per_session)
    return BarLength(unit, size, PER_YEAR[unit] / size)


def dates_of_feed(data: Any) -> Dates | None:
    """The dates of all bars of a feed, where they are known before the first is delivered."""
    if is_plain_feed(data) and (getattr(data, "panel", None) is not None or not len(getattr(data.lines.datetime, "array", ()))):
        return _source_dates(data)
    loaded = np.asarray(getattr(data.lines.datetime, "array", ()), dtype=np.float64)
    if len(loaded) < 2:
        return None
    return ((loaded[np.isfinite(loaded)] - _DAY_ONE) * 86400.0).round().astype("datetime64[s]").astype("datetime64[ns]")


def check_alike(target: Any, assets: Sequence[Any]) -> None:
    """Refuse assets whose bars are longer or shorter than those of the target: their returns are over other times.

    Looked at are the first asset and each that declares another time frame than those before it. Bars that come more rarely than
    the target's, with the same time frame, are those of a name that trades rarely.
    """
    if getattr(assets, "symbols", None) is not None:  # of one panel
        return
    declared: dict[tuple[int, int], Any] = {}
    for data in assets:
        declared.setdefault((data._timeframe, data._compression), data)
    mine = length_of_feed(target)
    for kind, data in declared.items():
        other = length_of_feed(data)
        if mine is None or other is None or "irregular" in (mine.unit, other.unit):
            continue
        rarer = kind == (target._timeframe, target._compression) and other.per_year < mine.per_year
        if (mine.unit, mine.size) != (other.unit, other.size) and not rarer:
            raise DataError(
                f"bars of {target._name} are of {mine}, but bars of {data._name} are of {other}: bars of different lengths "
                "cannot be compared; resample the shorter ones (cerebro.resampledata), or select feeds of one length with "
                "target= and assets="
            )


def _source_dates(data: Any) -> Dates | None:
    """Dates of what a feed reads from, before it is resampled."""
    panel, frame = getattr(data, "panel", None), getattr(data.p, "dataname", None)
    if isinstance(frame, bt.feed.AbstractDataBase):  # a copy of it
        return _source_dates(frame)
    if panel is not None:
        return panel.dates  # type: ignore[no-any-return]
    if isinstance(frame, pd.DataFrame) and isinstance(frame.index, pd.DatetimeIndex):
        return frame.index.tz_localize(None).to_numpy().astype("datetime64[ns]")
    return None


def _bars_of_session(data: Any, seconds: int, source: Dates | None) -> float | None:
    """Bars of so many seconds in a session: by the dates of what they are made from, or by the session that the feed tells."""
    if source is not None and len(source) > 1:
        ends = -(-source.astype("datetime64[s]").astype(np.int64) // seconds)
        days = (np.unique(ends) * seconds - 1) // 86400
        return float(np.median(np.unique(days, return_counts=True)[1]))
    start, end = data.p.sessionstart, data.p.sessionend
    if start is None or end is None:
        return None
    at = [3600.0 * t.hour + 60.0 * t.minute + t.second for t in (start, end)]
    session = at[1] - at[0]  # a whole day is what backtrader takes when it was not given
    return max(1.0, float(round(session / seconds))) if 0.0 < session < 86399.0 else None
