"""Two series on calendars of their own, paired by date.

backtrader counts bars: bar 30 of a name that listed late, or that lacked some bars, stands beside bar 30 of the index, which is
another day. Here a pair is a date on which both have a bar; what lies between two pairs is spanned by one return.
"""

from __future__ import annotations

from typing import Any

import backtrader as bt
import numpy as np
from backtrader.linebuffer import PseudoArray
from backtrader.lineseries import LineSeriesStub
from numpy.typing import NDArray

from tracker_strategies.errors import ParameterError

FloatArray = NDArray[np.float64]


class Series:
    """The bars of a feed, of one of its lines, or of an indicator on it: date numbers and values.

    A date without a bar of its own is none: before the first one, on a halt, and where a panel repeats the level of a target that
    has none (:attr:`~datafeeds.MarketPanel.target_seen`).
    """

    def __init__(self, data: Any) -> None:
        feed = feed_of(data)
        self._data, self._when = data, feed.datetime
        self._repeated = repeated_dates(feed)

    def now(self) -> tuple[float, float] | None:
        """Date and value of the latest bar, as far as the engine has come; None while there is none."""
        if not len(self._data):
            return None
        when, value = self._when[0], self._data[0]
        return (when, value) if value > 0.0 and when not in self._repeated else None

    def all(self) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
        """Dates, values and positions of all bars, once the engine has them all (``runonce``)."""
        values = np.asarray(self._data.array, dtype=np.float64)
        when = np.asarray(self._when.array, dtype=np.float64)[: len(values)]
        values = values[: len(when)]
        with np.errstate(invalid="ignore"):
            there = values > 0.0
        if self._repeated:
            there &= ~np.isin(when, list(self._repeated))
        rows = np.flatnonzero(there)
        return when[rows], values[rows], rows


def pairs(first: Series, second: Series) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """Positions in the first series of the dates that both have a bar on, and the two values there."""
    (when, a, rows), (other, b, _) = first.all(), second.all()
    _, i, j = np.intersect1d(when, other, return_indices=True)
    return rows[i], a[i], b[j]


def feed_of(data: Any) -> Any:
    """The feed whose bars a line, or an indicator, counts by."""
    thing = data
    for _ in range(100):  # indicators on indicators
        if isinstance(thing, bt.feed.AbstractDataBase):
            return thing
        if isinstance(thing, LineSeriesStub):
            thing = thing.lines[0]
        if isinstance(getattr(thing, "a", None), PseudoArray):  # what backtrader makes of a number
            break
        above = getattr(thing, "_clock", None)
        thing = getattr(thing, "_owner", None) if above is None else above
        if thing is None or isinstance(thing, bt.Strategy):
            break
    raise ParameterError(f"{type(data).__name__} has no dates; pass a feed, one of its lines, or an indicator on it")


def repeated_dates(feed: Any) -> frozenset[float]:
    """Date numbers on which the feed of a panel's target repeats its last level, because it has none of its own."""
    panel = getattr(feed, "panel", None)
    if panel is None or panel.target_seen is None or not feed.is_target:
        return frozenset()
    seen = panel.target_seen[:, panel.targets.index(feed.p.symbol)]
    return frozenset(np.asarray(feed.clock.when)[~seen].tolist())
