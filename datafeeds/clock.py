"""The clock and the columns behind the feeds of a panel: where they stand, and what their lines show there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import backtrader as bt
import numpy as np
from backtrader.linebuffer import LineBuffer
from numpy.typing import NDArray

from datafeeds.panel import MarketPanel

if TYPE_CHECKING:
    from datafeeds.feeds import PanelAssets, PanelFeed

FloatArray = NDArray[np.float64]

#: Day number of 1970-01-01 in backtrader's calendar (proleptic Gregorian ordinal).
_EPOCH = 719163


class PanelClock:
    """The row at which all feeds of one panel stand. One per cerebro: feeds that share a clock move together.

    Attributes
    ----------
    row : int
        Current row; -1 before the first bar.
    leader : PanelFeed or None
        The feed that moves the clock in this run: the first one started.
    """

    def __init__(self, panel: MarketPanel) -> None:
        self.panel = panel
        self.when = backtrader_dates(panel.dates).data
        self.columns = PanelColumns(panel, self.when)
        self.row = -1
        self.moved = False
        self.leader: PanelFeed | None = None
        #: The assets, when only the targets were added to the cerebro.
        self.assets: PanelAssets | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Views cannot be pickled; they are made again."""
        return {k: v for k, v in self.__dict__.items() if k not in ("when", "columns")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.when = backtrader_dates(self.panel.dates).data
        self.columns = PanelColumns(self.panel, self.when)

    def peek(self) -> float:
        """Date number of the next row; infinity after the last."""
        ahead = self.row + 1
        return self.when[ahead] if ahead < len(self.when) else math.inf

    def step(self) -> bool:
        """Move one row ahead; False, and no move, at the end."""
        self.moved = self.row + 1 < len(self.when)
        self.row += self.moved
        return self.moved


class PanelColumns:
    """The seven backtrader lines of each column of a panel, as views."""

    def __init__(self, panel: MarketPanel, when: memoryview) -> None:
        self.panel = panel
        self.when = when
        self.zeros = np.zeros(panel.n_bars).data
        self.place = {name: i for i, name in enumerate(panel.symbols)}

    def view(self, symbol: str, line: str) -> memoryview:
        """One line. Without gaps nothing is copied; a column with gaps is carried forward into one of its own."""
        panel, i = self.panel, self.place.get(symbol)
        if line == "openinterest":
            return self.zeros
        if i is None or panel.complete or panel.has_bar[:, i].all():
            if line == "datetime":
                return self.when
            if i is None:
                return self.zeros if line == "volume" else panel.column(symbol).data
            values = getattr(panel, line)
            if values is None:
                return self.zeros if line == "volume" else panel.close[:, i].data
            return values[:, i].data  # type: ignore[no-any-return]
        return self._carried(i, line).data

    def _carried(self, i: int, line: str) -> FloatArray:
        panel = self.panel
        last, has = panel.last_bar[:, i], panel.has_bar[:, i]
        if line == "datetime":
            return np.where(last >= 0, np.asarray(self.when)[last], self.when[0])
        values = getattr(panel, line)
        if line == "volume":
            return np.zeros(panel.n_bars) if values is None else np.where(has, values[:, i], 0.0)
        close = np.where(last >= 0, panel.close[last, i], np.nan)
        return close if values is None else np.where(has, values[:, i], close)


class ClockedLine(LineBuffer):
    """A line whose position is the panel's clock and whose values are a column of the panel. It is read-only.

    Made without ``__init__`` (see :func:`clocked_lines`), because a panel of thousands of assets has tens of thousands of lines
    and few of them are ever looked at.
    """

    clock: PanelClock
    symbol: str
    alias: str
    _view: memoryview | None = None
    mode, extension, useislice, _tz = LineBuffer.UnBounded, 0, False, None

    idx = property(lambda self: self.clock.row, lambda self, value: None)
    lencount = property(lambda self: self.clock.row + 1, lambda self, value: None)
    lines = property(lambda self: [self])
    bindings = property(lambda self: self.__dict__.setdefault("_bindings", []))

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_view"}

    @property
    def array(self) -> memoryview:
        """The whole column."""
        if self._view is None:
            self._view = self.clock.columns.view(self.symbol, self.alias)
        return self._view

    def __getitem__(self, ago: int) -> float:
        """Value *ago* bars from now. A bar before the first one is NaN; backtrader would hand out the end of the file."""
        row = self.clock.row + ago
        return self.array[row] if row >= 0 else math.nan

    def _stay(self, *args: Any, **kwargs: Any) -> None:
        """Buffer movements do nothing: the clock moves all lines at once, and there is nothing to allocate."""

    home = forward = backwards = rewind = advance = extend = reset = qbuffer = minbuffer = set_idx = _stay


def backtrader_dates(dates: NDArray[np.datetime64]) -> FloatArray:
    """Date numbers exactly as ``backtrader.date2num`` gives them, for all dates at once when they are midnights."""
    days = dates.astype("datetime64[D]")
    if (days == dates).all():
        return np.asarray(days.astype(np.int64) + float(_EPOCH), dtype=np.float64)
    return np.array([bt.date2num(d) for d in dates.astype("datetime64[us]").tolist()])
