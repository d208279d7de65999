"""backtrader feeds over one shared panel: all of them move by one clock, none copies a price.

An ordinary feed fills its seven lines cell by cell and is advanced line by line; with 500 feeds that is nearly all a backtest
does. Here the lines of every feed are the panel's columns, looked up when first used, and their position is one integer, the row
of the :class:`PanelClock`; the first feed of a run moves it, the others look at it. To backtrader they are feeds like any other:
they can be indicators' input, traded, resampled, plotted, and run in every mode (``runonce``, ``preload``, ``exactbars``).

Each feed has the calendar of its own column, as a ``PandasData`` of that column would. On a date without a bar it does not move:
it shows its last bar with the *old* date. Before the first bar its length is 0 and it shows NaN; backtrader's own feeds show the
last price of the file there.
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

from datafeeds.feeds.clock import ClockedLine, PanelClock
from datafeeds.feeds.turns import TurnsOfClocks
from datafeeds.panel import MarketPanel

#: What the start of a feed works out, and the params it works from: alike for all feeds of a panel, as a rule.
_STARTED = ("_tz", "_tzinput", "fromdate", "todate", "sessionstart", "sessionend", "_calendar", "_laststatus", "_started")
_STARTED_BY = ("tz", "sessionstart", "sessionend", "calendar")


class PanelFeed(bt.feed.DataBase):
    """One asset or target of a :class:`~datafeeds.panel.MarketPanel`, as a backtrader data feed.

    Use :class:`~datafeeds.feeds.index_data.SingleIndexData` to add all feeds of a panel in one call.

    Params:
      - ``clock`` (:class:`PanelClock`): shared by all feeds of the panel in one cerebro
      - ``symbol`` (str): which column

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> feed = IndexData(load_sample()).feeds()[1]
    >>> feed.p.symbol
    'AAPL'
    """

    params = (("clock", None), ("symbol", ""))

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)  # empty by now: backtrader has taken the params out
        self.clock: PanelClock = self.p.clock
        self.panel: MarketPanel = self.clock.panel
        self.p.timeframe, self.p.compression = self._timeframe, self._compression = bar_size(self.panel)
        self._take_column(self.p.symbol)

    def sibling(self, symbol: str) -> PanelFeed:
        """A feed of another column under the same clock, copied from this one: thirty times faster than building it."""
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
        self._row = self._joined = -1
        self._places = self.clock.columns.places(symbol)
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
        super().reset()
        if self.clock.live or self._joined == self.clock.runs:  # bars have run, or were about to: this is a new run
            self.clock.clear()

    def _start(self) -> None:
        """Join the clock, unless something needs bars one by one: a filter (resampling, replay), a limit of dates, times of
        another zone, backtrader's old way to synchronise, or a feed that takes its bars from this one (a roll-over).
        """
        p, env = self.p, self._env
        limits = p.fromdate is not None or p.todate is not None or p.tzinput is not None
        if self.clocked and (self._filters or limits or env.p.oldsync or not self._is_added()):
            self.clocked = False
            self._hold([_plain_line(self) for _ in self.lines])
        if not self.clocked:
            self._row = -1
            super()._start()
            return
        clock, leader = self.clock, self.clock.leader
        run = getattr(env, "runningstrats", None)
        if leader is None or not self._follows(leader, run):
            clock.clear()
            clock.leader, clock.run, leader = self, run, self
            TurnsOfClocks.give(env, PanelFeed)
        self._joined = clock.runs
        if leader is self or not leader._started or any(getattr(p, k) != getattr(leader.p, k) for k in _STARTED_BY):
            super()._start()
            return
        self.__dict__.update((name, leader.__dict__[name]) for name in _STARTED)
        if self._tz is not None:
            self.lines.datetime._settz(self._tz)

    def _follows(self, leader: PanelFeed, run: Any) -> bool:
        """Whether a leader belongs to the present run. Feeds may have been lent to another cerebro, which they still name."""
        return self.clock.run is run if leader._env is self._env else any(d is self for d in leader._env.datas)

    def _is_added(self) -> bool:
        """Whether cerebro itself moves this feed."""
        datas, place = self._env.datas, getattr(self, "_id", 0) - 1
        return (0 <= place < len(datas) and datas[place] is self) or any(d is self for d in datas)

    # -- movement ----------

    def __len__(self) -> int:
        clock = self.clock
        if not (clock.live and self.clocked):
            return len(self.lines[0])
        places = self._places
        return clock.row + 1 if places is None else places[clock.row] + 1

    def __getattr__(self, name: str) -> Any:
        """``tick_close`` and the like: bars have no ticks, so that the latest tick is the bar."""
        if name.startswith("tick_") and self.__dict__.get("clocked"):
            line = getattr(self.lines, name.removeprefix("tick_").replace("last", "close"))
            return line[0] if len(line) else None
        return super().__getattr__(name)

    def preload(self) -> None:
        """Nothing to load when clocked."""
        if not self.clocked:
            super().preload()

    def extend(self, value: float = math.nan, size: int = 0) -> None:
        """Make room for future bars (``lookahead`` of cerebro)."""
        if size:
            super().extend(value, size)

    def qbuffer(self, savemem: int = 0, replaying: bool = False) -> None:
        """Nothing to save when clocked. A resampled feed may go back by a bar that short buffers have dropped."""
        if self.clocked:
            super().qbuffer(savemem, replaying)

    def advance_peek(self) -> float:
        """Date number of the next row of the panel. Only the loop over the bars calls it."""
        if not self.clocked:
            return float(super().advance_peek())
        clock = self.clock
        clock.live = True
        if clock.leader is None:
            clock.leader = self
        return clock.ahead

    def advance(self, size: int = 1, datamaster: Any = None, ticks: bool = True) -> None:
        """While bars run, move the clock when leading; otherwise it has moved already. Before, move on its own."""
        clock = self.clock
        if clock.live and self.clocked:
            if clock.leader is self:
                clock.step()
        elif self.clocked:
            self.lines.advance(size)
        else:
            super().advance(size, datamaster, ticks)

    def rewind(self, size: int = 1) -> None:
        """Undo the last step: a feed of other origin has an earlier bar to deliver first."""
        if self.clocked and self.clock.live:
            self.clock.step_back()
        else:
            super().rewind(size)

    def next(self, datamaster: Any = None, ticks: bool = True) -> bool:
        """Step-by-step modes: whether this feed has a bar on the row that the clock has reached."""
        if not self.clocked:
            return bool(super().next(datamaster, ticks))
        clock = self.clock
        if clock.leader is None:  # who led has left the clock, after this feed was started
            clock.leader = self
        if clock.leader is self and not (clock.step() and self._in_time(datamaster)):
            return False
        places, row = self._places, clock.row
        return clock.moved and (places is None or places[row] > places[row - 1])

    def _in_time(self, datamaster: Any) -> bool:
        if datamaster is not None and self.clock.when[self.clock.row] > datamaster.datetime[0]:
            self.clock.step_back()
            return False
        return True

    def _tick_fill(self, force: bool = False) -> None:
        """Bars have no ticks: see ``__getattr__``."""
        if not self.clocked:
            super()._tick_fill(force)

    def _load(self) -> bool:
        """The next bar of this column alone, for what needs bars one by one."""
        columns, symbol = self.clock.columns, self.p.symbol
        if self._row < 0:
            self._bars = [columns.values(symbol, alias) for alias in self.getlinealiases()]
        self._row += 1
        if self._row >= len(self._bars[0]):
            return False
        for line, values in zip(self.lines, self._bars, strict=False):
            line[0] = values[self._row]
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

    def reset(self) -> None:
        """Before the first bar, at the start of a run."""
        for feed in self._made.values():
            feed.reset()

    def place(self, data: Any) -> int | None:
        """Position of a feed among the assets, if it is one of them."""
        symbol = str(getattr(data, "_name", ""))
        return self._leader.clock.columns.place[symbol] if self._made.get(symbol) is data else None


def bar_size(panel: MarketPanel) -> tuple[int, int]:
    """Time frame and compression, as backtrader names the length of a bar; irregular bars have that of most of them."""
    length = panel.bar_length
    if length.intraday:
        seconds = int(length.seconds if length.unit != "irregular" else np.median(np.diff(panel.dates)) / np.timedelta64(1, "s"))
        return (bt.TimeFrame.Minutes, seconds // 60) if seconds >= 60 else (bt.TimeFrame.Seconds, max(seconds, 1))
    return {
        "week": (bt.TimeFrame.Weeks, length.size),
        "month": (bt.TimeFrame.Months, 1),
        "quarter": (bt.TimeFrame.Months, 3),
        "year": (bt.TimeFrame.Years, 1),
    }.get(length.unit, (bt.TimeFrame.Days, 1))


def clocked_lines(feed: PanelFeed, symbol: str) -> list[LineBuffer]:
    """The lines of a feed, made the cheap way."""
    lines = []
    for alias in feed.getlinealiases():
        line = object.__new__(ClockedLine)
        line.__dict__.update(clock=feed.clock, symbol=symbol, alias=alias, _owner=feed, _places=feed._places)
        lines.append(line)
    return lines


def _plain_line(feed: PanelFeed) -> LineBuffer:
    line = LineBuffer()
    line._owner = feed
    return line
