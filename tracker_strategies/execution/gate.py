"""The price gate: the only place where a strategy reads prices.

backtrader hands out the *last* price of the file for a feed that has not begun, and goes on showing the old bar of one that
pauses or has ended. The gate tells these cases apart and looks only backwards: what it says at bar t does not depend on anything
after t.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from datafeeds.errors import DataWarning
from datafeeds.feeds.feed import PanelAssets
from datafeeds.feeds.price_rows import PriceRows
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.volume.depth import Depth, LineDepth, PanelDepth

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(eq=False)
class Bar:
    """What is known of N assets and q targets at one bar. Not to be changed; freezing it would double the price of making it.

    Attributes
    ----------
    date : datetime64
    close : (N,) float
        Latest close of each asset: this bar's, or the last one it had; NaN before its listing.
    open : (N,) float
        Open of this bar, where there is one; otherwise the latest close.
    target : (q,) float
        Latest level of each target.
    age : (N,) int or None
        Bars since the asset's latest bar: 0 is current, more is a halt, a holiday or the end; -1 is not listed yet. None means
        that every asset is current, the usual case.
    fresh : bool
        Whether every target has a level of its own on this bar; a return from or to an old level would span another time.
    seen : (q,) bool or None
        Which of the targets have one. None means all.
    member : (N,) bool or None
        Assets that belong to the index on this date. None means that nobody keeps a list, and all do.
    depth : Depth or None
        What was traded, where the gate was told to measure it.
    """

    date: np.datetime64
    close: FloatArray
    open: FloatArray
    target: FloatArray
    age: NDArray[np.int64] | None
    fresh: bool = True
    seen: BoolArray | None = None
    member: BoolArray | None = None
    depth: Depth | None = None

    @property
    def current(self) -> BoolArray | None:
        """Assets that have a bar now; None means all."""
        return None if self.age is None else self.age == 0

    def traded_since(self, before: Bar) -> BoolArray:
        """Assets whose return since an earlier bar is seen: they traded on both. The jump after a halt spans more bars."""
        seen = np.ones(len(self.close), dtype=bool)
        for one in (before, self):
            if one.age is not None:
                seen &= one.age == 0
        return seen


class PriceGate(Protocol):
    """What a strategy asks for, once at the open (where the fill mode needs it) and once at the close of each bar."""

    #: What :meth:`read` gives before the first bar of any of its feeds, when another feed of the run has begun.
    nothing: Bar

    def read(self) -> Bar:
        """The bar at which the engine stands."""

    def now(self) -> float:
        """Date number of that bar."""

    def first(self) -> tuple[float, FloatArray]:
        """Date number of the first bar of the run, and its closes: NaN for a name that has none there."""

    def measure(self, bars_per_year: float | None) -> None:
        """From now on bars tell what was traded; raises DataError where that is not known."""


def no_bar(n_assets: int, n_targets: int) -> Bar:
    """A bar on which nothing is known yet."""
    prices = np.full(n_assets, np.nan)
    return Bar(np.datetime64("NaT", "s"), prices, prices, np.full(n_targets, np.nan), None, fresh=False)


class PanelGate:
    """Gate over feeds that share one panel and its clock: a bar is one row of its arrays."""

    def __init__(self, clock: Any, symbols: Sequence[str], targets: Sequence[str]) -> None:
        panel = clock.panel
        self._clock = clock
        self._dates = panel.dates
        columns = _columns(panel.symbols, symbols)
        which = [panel.targets.index(name) for name in targets]
        self._target = panel.target_close if which == [*range(len(panel.targets))] else panel.target_close[:, which]
        self._seen = None if panel.target_seen is None else panel.target_seen[:, which]
        self._members = panel.members if panel.members is None or columns is None else panel.members[:, columns]
        self._prices, self._complete = PriceRows(panel, columns), panel.complete
        self.nothing = no_bar(self._prices.n_names, len(which))
        self._row = -1
        self._bar: Bar | None = None
        self._columns = columns
        self._depth: PanelDepth | None = None

    def measure(self, bars_per_year: float | None) -> None:
        """Bars tell what was traded."""
        self._depth = PanelDepth(self._clock.panel, bars_per_year, self._columns)

    def now(self) -> float:
        """Date number of the current bar."""
        when: float = self._clock.when[self._clock.row]
        return when

    def first(self) -> tuple[float, FloatArray]:
        """Date number of the first bar, and its closes."""
        return float(self._clock.when[0]), self._prices.at(0)[0]

    def stamps(self, datas: Sequence[Any], sent: float, age: NDArray[np.int64] | None) -> list[tuple[float, int, int]]:
        """Of orders for these feeds that were sent at the bar of a date number, and fill now: the dates of the feeds then, their
        lengths then and now. `age` is that of the names at the current bar.
        """
        row = self._clock.row
        if self._complete:  # every feed has a bar on every row
            return [(sent, row + (self.now() == sent), row + 1)] * len(datas)
        if self.now() == sent:
            return [(data.datetime[0], len(data), len(data)) for data in datas]
        moved = [1] * len(datas) if age is None else (age == 0).astype(int).tolist()
        return [(data.datetime[-m], len(data) - m, len(data)) for data, m in zip(datas, moved, strict=True)]

    def read(self) -> Bar:
        """The row at which the clock stands."""
        row = self._clock.row
        if row < 0:
            return self.nothing
        if self._bar is None or self._row != row:
            close, opens, age = self._prices.at(row)
            seen = None if self._seen is None else self._seen[row]
            fresh = seen is None or bool(seen.all())
            member = None if self._members is None else self._members[row]
            self._row = row
            self._bar = Bar(self._dates[row], close, opens, self._target[row], age, fresh, seen, member)
            if self._depth is not None:
                self._bar.depth = self._depth.at(row)
        return self._bar


class LineGate:
    """Gate over any backtrader feeds, each with its own calendar: reads their lines one by one.

    A run begins on the first bar on which every target has a level, as a panel does: names that trade by then have been there
    from the start. Before it a bar does not say who is listed (`age` and `member` are None). A target that falls silent is told
    of once: nothing is learned without it, and the account trades on.
    """

    #: Bars without a level of a target before it is told of; longer than the holidays of any market.
    PATIENCE = 10

    def __init__(self, assets: Sequence[Any], targets: Sequence[Any]) -> None:
        self._assets, self._targets = list(assets), list(targets)
        self._silent, self._told = np.zeros(len(targets), dtype=np.int64), np.zeros(len(targets), dtype=bool)
        self._age = np.full(len(assets), -1, dtype=np.int64)
        self._close, self._level = np.full(len(assets), np.nan), np.full(len(targets), np.nan)
        self._now = -np.inf
        self.nothing = no_bar(len(assets), len(targets))
        self._listed = any(getattr(getattr(d, "panel", None), "members", None) is not None for d in assets)
        self._depth: LineDepth | None = None

    def measure(self, bars_per_year: float | None) -> None:
        """Bars tell what was traded. Feeds that are loaded and have no volume are refused."""
        self._depth = LineDepth(self._assets, bars_per_year)

    def now(self) -> float:
        """Date number of the latest bar read."""
        return self._now

    def first(self) -> tuple[float, FloatArray]:
        """Date number of the first bar, and its closes; of feeds that were loaded before the run."""
        feeds = (*self._targets, *self._assets)
        if not all(len(d.datetime.array) for d in feeds):
            raise ParameterError(
                "holdings at the start need feeds that are loaded before the run: keep preload=True and exactbars=0 in cerebro"
            )
        when = min(d.datetime.array[0] for d in feeds)
        return float(when), np.array([d.close.array[0] if d.datetime.array[0] == when else np.nan for d in self._assets])

    def read(self) -> Bar:
        """The latest bar of each feed. The newest date among all feeds is *now*; a feed with an older one is stale."""
        feeds = (*self._targets, *self._assets)
        now = max((d.datetime[0] for d in feeds if len(d)), default=self._now)
        if now == -np.inf:
            return self.nothing
        if now > self._now:
            self._age[self._age >= 0] += 1
            self._silent += 1
            self._now = now
        opens = self._close.copy()
        for i, data in enumerate(self._assets):
            # A row without a price is no bar; the last one stands.
            if len(data) and data.datetime[0] == now and data.close[0] == data.close[0]:
                self._age[i], self._close[i] = 0, data.close[0]
                opens[i] = data.open[0]
        seen = np.array([len(d) > 0 and d.datetime[0] == now and d.close[0] == d.close[0] for d in self._targets])
        for j in np.flatnonzero(seen).tolist():
            self._level[j], self._silent[j] = self._targets[j].close[0], 0
        begun = bool(np.isfinite(self._level).all())
        date = np.datetime64(self._targets[0].num2date(now).replace(tzinfo=None), "ns")
        age = self._age.copy() if begun and self._age.any() else None
        opens = np.where(self._age == 0, opens, self._close)
        member = np.array([_is_member(d, now) for d in self._assets]) if begun and self._listed else None
        if begun and (self._silent > self.PATIENCE).any():
            self._tell(date)
        bar = Bar(date, self._close.copy(), opens, self._level.copy(), age, bool(seen.all()), seen, member)
        if self._depth is not None:
            bar.depth = self._depth.at(date, np.where(self._age == 0, self._close, np.nan))
        return bar

    def _tell(self, date: np.datetime64) -> None:
        for j in np.flatnonzero((self._silent > self.PATIENCE) & ~self._told).tolist():
            self._told[j] = True
            warnings.warn(
                f"target {self._targets[j]._name} has had no level for {self._silent[j]} bars on {date.astype('datetime64[D]')}: "
                "without a level nothing is learned, but trading continues; end all feeds on its last date (todate=...)",
                DataWarning,
                stacklevel=2,
            )


def gate_for(assets: Sequence[Any], targets: Sequence[Any]) -> PriceGate:
    """The fastest gate that fits: panel rows when all feeds move by one clock, lines otherwise."""
    if isinstance(assets, PanelAssets):
        return PanelGate(targets[0].clock, assets.symbols, [d.p.symbol for d in targets])
    clocks = {id(getattr(d, "clock", None)) if getattr(d, "clocked", False) else 0 for d in (*assets, *targets)}
    if len(clocks) == 1 and 0 not in clocks:
        return PanelGate(targets[0].clock, [d.p.symbol for d in assets], [d.p.symbol for d in targets])
    return LineGate(assets, targets)


def _is_member(data: Any, now: float) -> bool:
    """Whether a feed of a panel belongs to the index on the latest date of the panel up to now; True for any other feed."""
    panel = getattr(data, "panel", None)
    if panel is None or panel.members is None:
        return True
    row = int(np.searchsorted(data.clock.when, now, side="right")) - 1
    return row >= 0 and bool(panel.members[row, data.clock.columns.place[data.p.symbol]])


def _columns(have: Sequence[str], want: Sequence[str]) -> list[int] | None:
    """Column numbers of the wanted names; None when they are all, in order."""
    if tuple(have) == tuple(want):
        return None
    place = {name: i for i, name in enumerate(have)}
    return [place[name] for name in want]
