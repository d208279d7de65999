"""backtrader feeds over one shared panel: all of them move by one clock, none copies a price.

An ordinary feed fills its seven lines cell by cell and is advanced line by line; with 500 feeds that is nearly all a backtest
does. Here the lines of every feed are views of the panel's columns, looked up when first used, and their position is one integer,
the row of the :class:`PanelClock`; the first feed of a run moves it, the others look at it. To backtrader they are feeds like any
other: they can be indicators' input, traded, resampled, plotted, and run in every mode (``runonce``, ``preload``, ``exactbars``).

On a date without a bar the feed shows its last close as a flat bar with the *old* date, as an idle backtrader feed does, so that
no order fills on it. Before the first bar it shows NaN, never the last price of the file.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from typing import Any, overload

import backtrader as bt
import numpy as np
from backtrader.linebuffer import LineBuffer

from datafeeds.clock import ClockedLine, PanelClock
from datafeeds.panel import MarketPanel


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
        self.p.timeframe, self.p.compression = self._timeframe, self._compression = bar_size(self.panel)
        self._take_column(self.p.symbol)

    def sibling(self, symbol: str) -> PanelFeed:
        """A feed of another column under the same clock, copied from this one: thirty times cheaper than building it anew."""
        twin: PanelFeed = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.params = twin.p = copy.copy(self.p)
        twin.p.symbol = symbol
        twin.plotinfo = copy.copy(self.plotinfo)
        for name, kind in (
            ("notifs", deque),
            ("_barstack", deque),
            ("_barstash", deque),
            ("_filters", list),
            ("_ffilters", list),
        ):
            setattr(twin, name, kind())
        twin.lines = copy.copy(self.lines)
        twin._take_column(symbol)
        return twin

    def _take_column(self, symbol: str) -> None:
        self.is_target: bool = symbol in self.panel.targets
        self.clocked = True
        self._row = -1
        self._has_bar = None if self.is_target or self.panel.complete else self.panel.has_bar[:, self.clock.columns.place[symbol]]
        self._hold(clocked_lines(self, symbol))

    def _hold(self, lines: list[LineBuffer]) -> None:
        """Make these the feed's lines, under all the names that backtrader gives them."""
        self.lines.lines = lines
        self.l, self.line = self.lines, lines[0]
        for i, line in enumerate(lines):
            self.__dict__[f"line{i}"] = self.__dict__[f"line_{i}"] = line

    # -- life cycle ----------

    def reset(self) -> None:
        """Before the first bar, at the start of a run."""
        self._row = -1
        if (
            self.clock.leader is self
        ):  # the feeds of a run are reset and started one after the other: only the leader clears the clock
            self.clock.row, self.clock.leader = -1, None
        if not self.clocked:
            super().reset()

    def _start(self) -> None:
        """Join the clock, unless a filter (resampling, replay) or a date limit needs bars one by one."""
        plain = self._filters or self.p.fromdate is not None or self.p.todate is not None
        if plain and self.clocked:
            self.clocked = False
            self._hold([_plain_line(self) for _ in self.lines])
        leader = self.clock.leader
        if self.clocked and leader is None:
            self.clock.leader = self
        if self.clocked and leader is not None and leader._started:
            for name in (
                "_tz",
                "_tzinput",
                "fromdate",
                "todate",
                "sessionstart",
                "sessionend",
                "_calendar",
                "_laststatus",
                "_started",
            ):
                self.__dict__[name] = leader.__dict__[name]
            return
        super()._start()

    def clone(self, **kwargs: Any) -> PanelFeed:
        """A feed of its own over the same column; resampling a feed that is already in the cerebro starts from here."""
        return PanelFeed(clock=PanelClock(self.panel), symbol=self.p.symbol, **kwargs)

    # -- movement ----------

    def __len__(self) -> int:
        return self.clock.row + 1 if self.clocked else super().__len__()

    def preload(self) -> None:
        """Nothing to load when clocked."""
        if not self.clocked:
            super().preload()

    def extend(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to allocate when clocked."""
        if not self.clocked:
            super().extend(*args, **kwargs)

    def qbuffer(self, savemem: int = 0, replaying: bool = False) -> None:
        """Nothing to save when clocked. A resampled feed goes back by a bar at times, which backtrader's short buffers forget."""

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
        for alias, line in zip(self.getlinealiases(), self.lines, strict=False):
            line[0] = self.clock.columns.view(self.p.symbol, alias)[self._row]
        return True


class PanelAssets(Sequence[PanelFeed]):
    """The asset feeds of a panel, made when first looked at. A backtest that works on the panel's arrays never makes any.

    They share the clock of a feed that is in the cerebro and show its bars; they need not be added themselves.
    """

    def __init__(self, leader: PanelFeed) -> None:
        self._leader = leader
        self.symbols = leader.panel.symbols
        self._made: dict[str, PanelFeed] = {}

    def __len__(self) -> int:
        return len(self.symbols)

    @overload
    def __getitem__(self, place: int) -> PanelFeed: ...
    @overload
    def __getitem__(self, place: slice) -> list[PanelFeed]: ...
    def __getitem__(self, place: int | slice) -> PanelFeed | list[PanelFeed]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        symbol = self.symbols[place]
        if symbol not in self._made:
            feed = self._made[symbol] = self._leader.sibling(symbol)
            feed._name = symbol
        return self._made[symbol]

    def place(self, data: Any) -> int | None:
        """Position of a feed among the assets, if it is one of them."""
        symbol = str(getattr(data, "_name", ""))
        return self._leader.clock.columns.place[symbol] if self._made.get(symbol) is data else None


def bar_size(panel: MarketPanel) -> tuple[int, int]:
    """Time frame and compression, as backtrader names the size of a bar: days, or so many minutes or seconds where it is less."""
    if panel.periods_per_year <= 252.0:
        return bt.TimeFrame.Days, 1
    seconds = int(np.median(np.diff(panel.dates)) / np.timedelta64(1, "s"))
    return (bt.TimeFrame.Minutes, seconds // 60) if seconds >= 60 else (bt.TimeFrame.Seconds, max(seconds, 1))


def clocked_lines(feed: PanelFeed, symbol: str) -> list[LineBuffer]:
    """The lines of a feed, made the cheap way."""
    lines = []
    for alias in feed.getlinealiases():
        line = object.__new__(ClockedLine)
        line.__dict__.update(clock=feed.clock, symbol=symbol, alias=alias, _owner=feed)
        lines.append(line)
    return lines


def _plain_line(feed: PanelFeed) -> LineBuffer:
    line = LineBuffer()
    line._owner = feed
    return line
