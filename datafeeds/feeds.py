"""backtrader feeds over one shared panel: all of them move by one clock, none copies a price.

An ordinary feed fills its seven lines cell by cell and is advanced line by line; with 500 feeds that is nearly all a backtest
does. Here the lines of every feed are views of the panel's columns and their position is one integer, the row of the
:class:`PanelClock`; the first feed of a run moves it, the others look at it. To backtrader they are feeds like any other: they
can be indicators' input, traded, resampled, plotted, and run in every mode (``runonce``, ``preload``, ``exactbars``).

On a date without a bar the feed shows its last close as a flat bar with the *old* date, as an idle backtrader feed does, so that
no order fills on it. Before the first bar it shows NaN, never the last price of the file.
"""

from __future__ import annotations

import math
from typing import Any

import backtrader as bt
import numpy as np
from backtrader.linebuffer import LineBuffer
from numpy.typing import NDArray

from datafeeds.panel import MarketPanel

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
        self.row = -1
        self.moved = False
        self.leader: PanelFeed | None = None
        columns = PanelColumns(panel, self.when)
        self.lines_of = columns.lines_of

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
    """The seven backtrader lines of each column of a panel, as views; dates and gaps are worked out once for all feeds."""

    def __init__(self, panel: MarketPanel, when: memoryview) -> None:
        self.panel = panel
        self.when = when
        self.zeros = np.zeros(panel.n_bars).data
        self.index = {name: i for i, name in enumerate(panel.symbols)}
        self.targets = {name: i for i, name in enumerate(panel.targets)}

    def lines_of(self, name: str) -> dict[str, memoryview]:
        """Views by line name. Without gaps nothing is copied; a column with gaps is carried forward into one of its own."""
        panel = self.panel
        if name in self.targets:
            flat = panel.target_close[:, self.targets[name]].data
            return self._lines(flat, flat, flat, flat, self.zeros, self.when)
        i = self.index[name]
        columns = [panel.close if c is None else c for c in (panel.open, panel.high, panel.low, panel.close)]
        volume = self.zeros if panel.volume is None else panel.volume[:, i].data
        if panel.complete or panel.has_bar[:, i].all():
            return self._lines(*(c[:, i].data for c in columns), volume, self.when)
        return self._carried(i, columns)

    def _carried(self, i: int, columns: list[FloatArray]) -> dict[str, memoryview]:
        last, has = self.panel.last_bar[:, i], self.panel.has_bar[:, i]
        listed = last >= 0
        close = np.where(listed, self.panel.close[last, i], np.nan)
        prices = [np.where(has, c[:, i], close).data for c in columns]
        when = np.where(listed, np.asarray(self.when)[last], 0.0).data
        volume = self.zeros if self.panel.volume is None else np.where(has, self.panel.volume[:, i], 0.0).data
        return self._lines(*prices, volume, when)

    def _lines(self, *views: memoryview) -> dict[str, memoryview]:
        names = ("open", "high", "low", "close", "volume", "datetime")
        return {**dict(zip(names, views, strict=True)), "openinterest": self.zeros}


class ClockedLine(LineBuffer):
    """A line whose position is the panel's clock and whose values are a column of the panel. It is read-only."""

    clock: PanelClock

    idx = property(lambda self: self.clock.row, lambda self, value: None)
    lencount = property(lambda self: self.clock.row + 1, lambda self, value: None)

    def __getitem__(self, ago: int) -> float:
        """Value *ago* bars from now. A bar before the first one is NaN; backtrader would hand out the end of the file."""
        row = self.clock.row + ago
        return self.array[row] if row >= 0 else math.nan

    def _stay(self, *args: Any, **kwargs: Any) -> None:
        """Buffer movements do nothing: the clock moves all lines at once, and there is nothing to allocate."""

    home = forward = backwards = rewind = advance = extend = reset = qbuffer = minbuffer = set_idx = _stay


class PanelFeed(bt.feed.DataBase):
    """One asset or target of a :class:`~datafeeds.panel.MarketPanel`, as a backtrader data feed.

    Use :class:`~datafeeds.adapters.SingleIndexData` to add all feeds of a panel in one call.

    Params:
      - ``clock`` (:class:`PanelClock`): shared by all feeds of the panel in one cerebro
      - ``symbol`` (str): which column
    """

    params = (("clock", None), ("symbol", ""))

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)  # empty by now: backtrader has taken the params out
        self.clock: PanelClock = self.p.clock
        self.panel: MarketPanel = self.clock.panel
        self.is_target: bool = self.p.symbol in self.panel.targets
        self.clocked = False
        self._row = -1
        gaps = None if self.is_target else self.panel.symbols.index(self.p.symbol)
        self._has_bar = None if gaps is None or self.panel.complete else self.panel.has_bar[:, gaps]

    # -- life cycle
    # ----------------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Back to plain, empty lines: what backtrader expects at the start of a run."""
        self.clocked = False
        self._row = -1
        if (
            self.clock.leader is self
        ):  # the feeds of a run are reset and started one after the other: only the leader clears the clock
            self.clock.row, self.clock.leader = -1, None
        for line in self.lines:
            line.__class__ = LineBuffer
        super().reset()

    def start(self) -> None:
        """Join the clock, unless a filter (resampling, replay) or a date limit needs bars one by one."""
        super().start()
        if self._filters or self.p.fromdate is not None or self.p.todate is not None:
            return
        self.clocked = True
        if self.clock.leader is None:
            self.clock.leader = self
        views = self.clock.lines_of(self.p.symbol)
        for alias, line in zip(self.getlinealiases(), self.lines, strict=False):
            line.__class__ = ClockedLine
            line.clock, line.array, line.extension, line.useislice = self.clock, views[alias], 0, False

    def clone(self, **kwargs: Any) -> PanelFeed:
        """A feed of its own over the same column; resampling a feed that is already in the cerebro starts from here."""
        return PanelFeed(clock=PanelClock(self.panel), symbol=self.p.symbol, **kwargs)

    # -- movement
    # ------------------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.clock.row + 1 if self.clocked else super().__len__()

    def preload(self) -> None:
        """Nothing to load when clocked."""
        if not self.clocked:
            super().preload()

    def home(self) -> None:
        """Before the first bar."""
        if not self.clocked:
            super().home()
        elif self.clock.leader is self:
            self.clock.row = -1

    def advance_peek(self) -> float:
        """Date number of the next row of the panel."""
        return self.clock.peek() if self.clocked else super().advance_peek()

    def advance(self, size: int = 1, datamaster: Any = None, ticks: bool = True) -> None:
        """Move the clock when leading; otherwise it has moved already."""
        if not self.clocked:
            super().advance(size, datamaster, ticks)
        elif self.clock.leader is self:
            self.clock.step()

    def rewind(self, size: int = 1) -> None:
        """Take the last step back: a feed from elsewhere has an earlier bar to deliver first."""
        if not self.clocked:
            super().rewind(size)
        elif self.clock.leader is self:
            self.clock.row -= size
            self.clock.moved = False

    def next(self, datamaster: Any = None, ticks: bool = True) -> bool:
        """Step-by-step modes: whether this feed has a bar of its own on the row the clock has reached."""
        if not self.clocked:
            return bool(super().next(datamaster, ticks))
        if self.clock.leader is self and not (self.clock.step() and self._in_time(datamaster)):
            return False
        return self.clock.moved and (self._has_bar is None or bool(self._has_bar[self.clock.row]))

    def _in_time(self, datamaster: Any) -> bool:
        if datamaster is not None and self.clock.when[self.clock.row] > datamaster.datetime[0]:
            self.rewind()
            return False
        return True

    def _tick_fill(self, force: bool = False) -> None:
        """Daily bars have no ticks: the broker reads the lines themselves when the tick attributes are absent."""
        if not self.clocked:
            super()._tick_fill(force)

    def _load(self) -> bool:
        """The next bar of this column alone, for filters."""
        rows = self.panel.n_bars
        self._row += 1
        while self._row < rows and self._has_bar is not None and not self._has_bar[self._row]:
            self._row += 1
        if self._row >= rows:
            return False
        if not hasattr(self, "_views"):
            self._views = self.clock.lines_of(self.p.symbol)
        for alias, line in zip(self.getlinealiases(), self.lines, strict=False):
            line[0] = self._views[alias][self._row]
        return True


def backtrader_dates(dates: NDArray[np.datetime64]) -> FloatArray:
    """Date numbers exactly as ``backtrader.date2num`` gives them, for all dates at once when they are midnights."""
    days = dates.astype("datetime64[D]")
    if (days == dates).all():
        return np.asarray(days.astype(np.int64) + float(_EPOCH), dtype=np.float64)
    return np.array([bt.date2num(d) for d in dates.astype("datetime64[us]").tolist()])
