"""Names without a bar: whether their market is closed, or the source not complete yet.

An account over several markets has a holiday of one of them every few weeks. Where its calendar tells which name trades where,
that decides. Otherwise the data do, as in a backtest: a market is closed when its index has no level either, when the same names
were without a bar together before, or when the source has gone on to the next session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.errors import BadBarError
from tracker_strategies.papertrade.journal.history import Bars, History
from tracker_strategies.papertrade.market.calendars import Calendars
from tracker_strategies.papertrade.risk_limits import RiskLimits

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]


def check_complete(
    config: AccountConfig,
    limits: RiskLimits,
    session: Bars,
    had: BoolArray,
    past: Callable[[], History],
    since: Bars,
    *,
    over: bool,
) -> list[str]:
    """Refuse a session on which too many names lost their bar, unless their market is closed; return what was taken for one.

    Parameters
    ----------
    session : Bars
        The one session that it is about.
    had : (N,) bool
        Names that had a bar on the session before.
    past, since
        The history of the journal, when it is asked for, and the sessions between it and this one.
    over : bool
        Whether the source has a later session: then this one is as complete as it will ever be.
    """
    missing, day = had & ~np.isfinite(session.close[0]), session.sessions[0]
    if limits.max_missing is None or missing.sum() <= max(1.0, limits.max_missing * had.sum()):
        return []

    def before() -> Bars:
        known = past().bars
        prices, levels = np.concatenate([known.prices, since.prices]), np.concatenate([known.levels, since.levels])
        return Bars(known.sessions + since.sessions, prices, levels)

    away = on_holiday(config.calendars, config.symbols, session, missing, before, over=over)
    left, trading = missing & ~away, had & ~away
    if left.sum() > max(1.0, limits.max_missing * trading.sum()):
        raise BadBarError(
            f"{int(left.sum())} of {int(trading.sum())} names have no bar on {day}: the source is not complete "
            "yet. Nothing was ingested; step again when it is complete. If their market was closed, the session "
            "is ingested without them as soon as the next one is available"
        )
    return [_in_words(config, away, session.levels[0], day)]


def latest_levels(levels: FloatArray) -> FloatArray:
    """(q,) the last level of each target in (T, q) of them."""
    rows = np.maximum.accumulate(np.where(np.isfinite(levels), np.arange(len(levels))[:, None], 0), axis=0)[-1]
    return np.asarray(levels[rows, np.arange(levels.shape[1])])


def on_holiday(
    calendars: Calendars,
    names: Sequence[str],
    session: Bars,
    missing: BoolArray,
    past: Callable[[], Bars],
    *,
    over: bool,
) -> BoolArray:
    """(N,) which of the missing names have a reason to be.

    Parameters
    ----------
    names : sequence of N str
    missing : (N,) bool
        Names that had a bar on the session before and have none on this one.
    past : callable
        All sessions before this one, when they are asked for.
    session, over
        See :func:`check_complete`.
    """
    if calendars.homes:
        return missing & calendars.closed(names, session.sessions[0])
    if over or not missing.any():
        return missing
    gone = ~np.isfinite(session.levels[0])
    before = past()
    absent = ~np.isfinite(before.close)
    return missing & (_with_their_index(gone, before, absent) | _as_before(missing, absent))


def _with_their_index(gone: BoolArray, before: Bars, absent: BoolArray) -> BoolArray:
    """Names that do not trade while an index is closed, as far as is known. When all of them are closed it is no holiday."""
    found = np.zeros(absent.shape[1], dtype=bool)
    if gone.all():
        return found
    for j in np.flatnonzero(gone):
        holidays = ~np.isfinite(before.levels[:, j])
        found |= (~absent[holidays]).sum(axis=0) <= absent[holidays].sum(axis=0)
    return found


def _as_before(missing: BoolArray, absent: BoolArray) -> BoolArray:
    """Names that were without a bar on an earlier session, together with none that trades now."""
    listed = np.logical_or.accumulate(~absent, axis=0)
    away = absent & listed
    alike = away.any(axis=1) & ~(away & ~missing).any(axis=1) & (away.sum(axis=1) > 1)
    return np.asarray(away[alike].any(axis=0))


def _in_words(config: AccountConfig, away: BoolArray, levels: FloatArray, day: str) -> str:
    """What was taken for a holiday."""
    shut = [t for t, level in zip(config.targets, levels, strict=True) if np.isnan(level)]
    who = [name for name, out in zip(config.symbols, away.tolist(), strict=True) if out]
    shown = ", ".join([*shut, *who][:5]) + (", ..." if len(shut) + len(who) > 5 else "")
    return f"no bar of {shown} on {day} ({len(who)} names): treated as a holiday of their market"
