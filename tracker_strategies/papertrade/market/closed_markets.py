"""Names without a bar: whether their market is closed, or the source not complete yet.

An account over several markets has a holiday of one of them every few weeks. Where its calendar tells which name trades where,
that decides. Otherwise the data do, as in a backtest: a market is closed when its index has no level either, when the same names
were without a bar together before, or when the source has gone on to the next session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.papertrade.journal.history import Bars
from tracker_strategies.papertrade.market.calendars import Calendars

BoolArray = NDArray[np.bool_]


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
    session : Bars
        The one session that it is about.
    missing : (N,) bool
        Names that had a bar on the session before and have none on this one.
    past : callable
        All sessions before this one, when they are asked for.
    over : bool
        Whether the source has a later session: then this one is as complete as it will ever be.
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


def in_words(names: Sequence[str], away: BoolArray, targets: Sequence[str], levels: NDArray[np.float64], day: str) -> str:
    """What was taken for a holiday."""
    shut = [t for t, level in zip(targets, levels, strict=True) if np.isnan(level)]
    who = [name for name, out in zip(names, away.tolist(), strict=True) if out]
    shown = ", ".join([*shut, *who][:5]) + (", ..." if len(shut) + len(who) > 5 else "")
    return f"no bar of {shown} on {day} ({len(who)} names): taken for a holiday of their market"
