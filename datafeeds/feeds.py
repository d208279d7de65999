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
import math
from collections import deque
from collections.abc import Sequence
from typing import Any, overload

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
        self.columns = PanelColumns(panel, self.when)
        self.row = -1
        self.moved = False
        self.leader: PanelFeed | None = None
        #: The assets, when only the targets were added to the cerebro.
        self.assets: PanelAssets | None = None

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
            return np.where(last >= 0, np.asarray(self.when)[last], 0.0)
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

    # -- life cycle
    # ----------------------------------------------------------------------------------------------------------------

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

    # -- movement
    # ------------------------------------------------------------------------------------------------------------------

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
        """Nothing to save when clocked."""
        if not self.clocked:
            super().qbuffer(savemem, replaying)

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


def backtrader_dates(dates: NDArray[np.datetime64]) -> FloatArray:
    """Date numbers exactly as ``backtrader.date2num`` gives them, for all dates at once when they are midnights."""
    days = dates.astype("datetime64[D]")
    if (days == dates).all():
        return np.asarray(days.astype(np.int64) + float(_EPOCH), dtype=np.float64)
    return np.array([bt.date2num(d) for d in dates.astype("datetime64[us]").tolist()])
