"""The clock and the columns behind the feeds of a panel: where they stand, and what their lines show there."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Any

import backtrader as bt
import numpy as np
from backtrader.linebuffer import LineBuffer
from backtrader.utils.dateintern import num2date, time2num
from numpy.typing import NDArray

from datafeeds.errors import DataError
from datafeeds.panel import MarketPanel

if TYPE_CHECKING:
    from datafeeds.feeds.feed import PanelAssets, PanelFeed

FloatArray = NDArray[np.float64]

#: Day number of 1970-01-01 in backtrader's calendar (proleptic Gregorian ordinal).
_EPOCH = 719163


class PanelClock:
    """The current row of all feeds of one panel. One per cerebro: feeds that share a clock move together.

    That holds while bars run. Before, when backtrader works out indicators in advance (``runonce``) or copies a feed, it moves
    each feed, and each of its lines, on its own: then every line has its own position, as in any other feed.

    Attributes
    ----------
    row : int
        Current row; -1 before the first bar.
    ahead : float
        Date number of the next row; infinity after the last.
    live : bool
        Whether bars run: the lines are at the row of the clock.
    moved : bool
        Whether the last step reached a new row.
    leader : PanelFeed or None
        The feed that moves the clock in this run: the first one started.

    Examples
    --------
    >>> from datafeeds import IndexData, load_sample
    >>> feeds = IndexData(load_sample()).feeds()
    >>> len({id(feed.clock) for feed in feeds})
    1
    """

    row: int
    ahead: float

    def __init__(self, panel: MarketPanel) -> None:
        self.panel = panel
        self.when = array("d", backtrader_dates(panel.dates).tobytes())
        self._last = len(self.when) - 1
        self.columns = PanelColumns(panel, self.when)
        self.leader: PanelFeed | None = None
        #: The assets, when only the targets were added to the cerebro.
        self.assets: PanelAssets | None = None
        #: How often the clock has been cleared, and the list of strategies that stands for the present run of a cerebro.
        self.runs = 0
        self.run: Any = None
        self._rest()

    def clear(self) -> None:
        """Reset to the state before the first bar of a run: no feed leads, lines move on their own."""
        self.leader = None
        self.runs += 1
        self._rest()
        if self.assets is not None:
            self.assets.reset()

    def _rest(self) -> None:
        self.live = self.moved = False
        self.go_to(-1)

    def step(self) -> bool:
        """Move one row ahead; False, and no move, at the end."""
        self.live = True
        self.moved = moved = self.ahead != math.inf
        if moved:
            self.row = row = self.row + 1
            self.ahead = self.when[row + 1] if row < self._last else math.inf
        return moved

    def step_back(self) -> None:
        """Undo the last step, if it has not been undone: a feed of other origin has an earlier bar to deliver first."""
        if self.moved:
            self.go_to(self.row - 1)
        self.moved = False

    def go_to(self, row: int) -> None:
        """Move to a row."""
        self.row = row
        self.ahead = self.when[row + 1] if row < self._last else math.inf


class PanelColumns:
    """The bars of each column of a panel, as the seven lines of a backtrader feed. A date without a bar is not among them."""

    def __init__(self, panel: MarketPanel, when: array[float]) -> None:
        self.panel = panel
        self.when = when
        self.place = {name: i for i, name in enumerate(panel.symbols)}
        self._places: dict[str, list[int] | None] = {}

    def places(self, symbol: str) -> list[int] | None:
        """For each row of the panel the number of the column's latest bar, -1 before its first; None when every row has one.

        One more entry at the end, -1, stands for the time before the first row.
        """
        if symbol not in self._places:
            has = self._has_bar(symbol)
            self._places[symbol] = None if has is None else [*(np.cumsum(has) - 1).tolist(), -1]
        return self._places[symbol]

    def values(self, symbol: str, line: str) -> array[float]:
        """One line of a column, in an array of its own."""
        panel, i = self.panel, self.place.get(symbol)
        table = None if i is None else getattr(panel, line, None)
        if line == "datetime":
            column = np.asarray(self.when)
        elif table is not None:
            column = table[:, i]
        elif line in ("volume", "openinterest"):
            column = np.zeros(panel.n_bars)
        else:
            column = panel.column(symbol)
        has = self._has_bar(symbol)
        return array("d", (column if has is None else column[has]).tobytes())

    def _has_bar(self, symbol: str) -> NDArray[np.bool_] | None:
        """Rows on which the column has a bar; None when it has on all."""
        i = self.place.get(symbol)
        if i is None or self.panel.complete:
            return None
        has: NDArray[np.bool_] = self.panel.has_bar[:, i]
        return None if has.all() else has


class ClockedLine(LineBuffer):
    """A line whose values are a column of the panel, and whose position is the panel's clock while bars run.

    Made without ``__init__`` (see :func:`clocked_lines`), because a panel of thousands of assets has tens of thousands of lines
    and few of them are ever looked at. The values are copied when first asked for.
    """

    clock: PanelClock
    symbol: str
    alias: str
    mode, useislice, _tz = LineBuffer.UnBounded, False, None
    extension, _idx, _count = 0, -1, 0
    _array: array[float] | None = None
    _places: list[int] | None = None

    lines = property(lambda self: [self])
    bindings = property(lambda self: self.__dict__.setdefault("_bindings", []))

    def _stand(self) -> int:
        """Number of the bar at which the line stands."""
        clock = self.clock
        if not clock.live:
            return self._idx
        return clock.row if self._places is None else self._places[clock.row]

    def _place(self, value: int) -> None:
        """Only a line on its own is moved; while bars run, the clock moves all."""
        if not self.clock.live:
            self._idx = value

    def _set_count(self, value: int) -> None:
        self._count = value

    idx = property(_stand, _place)
    lencount = property(lambda self: self._stand() + 1 if self.clock.live else self._count, _set_count)

    @property
    def array(self) -> array[float]:
        """All values."""
        if self._array is None:
            self._array = self.clock.columns.values(self.symbol, self.alias)
        return self._array

    def buflen(self) -> int:
        """Number of bars."""
        return self.clock.panel.n_bars if self._places is None else self._places[-2] + 1

    def __getitem__(self, ago: int) -> float:
        """Value *ago* bars from now. A bar before the first one is NaN; backtrader would hand out the end of the file."""
        place = self._stand() + ago
        if place >= 0:
            return self.array[place]
        return self.clock.when[0] if self.alias == "datetime" else math.nan

    def __setitem__(self, ago: int, value: float) -> None:
        """Refuse: trackers and fast brokers read the panel, and would not see the change."""
        raise DataError(
            f"{self.symbol}.{self.alias}[{ago}] = {value!r}: lines of a panel feed cannot be written to; change the prices "
            "before the panel is made, or use an ordinary feed such as bt.feeds.PandasData"
        )

    def set(self, value: float, ago: int = 0) -> None:
        """Refuse, as writing to an item."""
        self[ago] = value

    def reset(self) -> None:
        """Before the first bar, without room for bars to come."""
        self._array, self.extension, self._idx, self._count, self.useislice = None, 0, -1, 0, False

    def qbuffer(self, savemem: int = 0, extrasize: int = 0) -> None:
        """There is no memory to be saved: the panel is kept. Slices are lists then, as with backtrader's short buffers."""
        self.useislice = True

    def minbuffer(self, size: int) -> None:
        """All bars are there."""

    def datetime(self, ago: int = 0, tz: Any = None, naive: bool = True) -> Any:
        """Date and time of a bar."""
        return num2date(self[ago], tz=tz or self._tz, naive=naive)

    def date(self, ago: int = 0, tz: Any = None, naive: bool = True) -> Any:
        """Date of a bar."""
        return self.datetime(ago, tz, naive).date()

    def time(self, ago: int = 0, tz: Any = None, naive: bool = True) -> Any:
        """Time of a bar."""
        return self.datetime(ago, tz, naive).time()

    def dt(self, ago: int = 0) -> int:
        """Day number of a bar."""
        return math.trunc(self[ago])

    def tm_raw(self, ago: int = 0) -> float:
        """Time of a bar as a fraction of the day."""
        return math.modf(self[ago])[0]

    def tm(self, ago: int = 0) -> float:
        """The same, by way of the time of day, so that it compares equal to one."""
        return float(time2num(num2date(self[ago]).time()))


def backtrader_dates(dates: NDArray[np.datetime64]) -> FloatArray:
    """Date numbers exactly as ``backtrader.date2num`` gives them, for all dates at once when they are midnights."""
    days = dates.astype("datetime64[D]")
    if (days == dates).all():
        return np.asarray(days.astype(np.int64) + float(_EPOCH), dtype=np.float64)
    return np.array([bt.date2num(d) for d in dates.astype("datetime64[us]").tolist()])
