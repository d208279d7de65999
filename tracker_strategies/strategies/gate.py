"""The price gate: the only place where a strategy reads prices.

backtrader hands out the *last* price of the file for a feed that has not begun, and goes on showing the old bar of one that
pauses or has ended. The gate tells these cases apart and looks only backwards: what it says at bar t does not depend on anything
after t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from datafeeds.feeds import PanelAssets

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Bar:
    """What is known of N assets and q targets at one bar.

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
    """

    date: np.datetime64
    close: FloatArray
    open: FloatArray
    target: FloatArray
    age: NDArray[np.int64] | None
    fresh: bool = True

    @property
    def current(self) -> BoolArray | None:
        """Assets that have a bar now; None means all."""
        return None if self.age is None else self.age == 0


class PriceGate(Protocol):
    """What a strategy asks for, once at the open (where the fill mode needs it) and once at the close of each bar."""

    def read(self) -> Bar:
        """The bar at which the engine stands."""


class PanelGate:
    """Gate over feeds that share one panel and its clock: a bar is one row of its arrays."""

    def __init__(self, clock: Any, symbols: Sequence[str], targets: Sequence[str]) -> None:
        panel = clock.panel
        self._clock = clock
        self._dates = panel.dates
        columns = _columns(panel.symbols, symbols)
        close = panel.close if columns is None else panel.close[:, columns]
        opens = close if panel.open is None else panel.open if columns is None else panel.open[:, columns]
        which = [panel.targets.index(name) for name in targets]
        self._target = panel.target_close[:, which]
        self._fresh = None if panel.target_seen is None else panel.target_seen[:, which].all(axis=1)
        self._age: NDArray[np.int64] | None = None
        if not panel.complete:
            last = panel.last_bar if columns is None else panel.last_bar[:, columns]
            self._age = np.where(last >= 0, np.arange(panel.n_bars)[:, None] - last, -1)
            self._full = (self._age == 0).all(axis=1)
            close = np.where(last >= 0, np.take_along_axis(close, np.maximum(last, 0), axis=0), np.nan)
            opens = np.where(self._age == 0, opens, close)
        self._close, self._open = close, opens
        self._row = -1
        self._bar: Bar | None = None

    def now(self) -> float:
        """Date number of the current bar."""
        return float(self._clock.when[self._clock.row])

    def read(self) -> Bar:
        """The row at which the clock stands."""
        row = self._clock.row
        if self._bar is None or self._row != row:
            age = None if self._age is None or self._full[row] else self._age[row]
            fresh = self._fresh is None or bool(self._fresh[row])
            self._row = row
            self._bar = Bar(self._dates[row], self._close[row], self._open[row], self._target[row], age, fresh)
        return self._bar


class LineGate:
    """Gate over any backtrader feeds, each with its own calendar: reads their lines one by one."""

    def __init__(self, assets: Sequence[Any], targets: Sequence[Any]) -> None:
        self._assets, self._targets = list(assets), list(targets)
        self._age = np.full(len(assets), -1, dtype=np.int64)
        self._close, self._level = np.full(len(assets), np.nan), np.full(len(targets), np.nan)
        self._now = -np.inf

    def read(self) -> Bar:
        """The latest bar of each feed. The newest date among all feeds is *now*; a feed with an older one is stale."""
        feeds = (*self._targets, *self._assets)
        now = max((d.datetime[0] for d in feeds if len(d)), default=self._now)
        if now > self._now:
            self._age[self._age >= 0] += 1
            self._now = now
        opens = self._close.copy()
        for i, data in enumerate(self._assets):
            # A row without a price is no bar; the last one stands.
            if len(data) and data.datetime[0] == now and data.close[0] == data.close[0]:
                self._age[i], self._close[i] = 0, data.close[0]
                opens[i] = data.open[0]
        fresh = True
        for i, data in enumerate(self._targets):
            current = len(data) and data.datetime[0] == now and data.close[0] == data.close[0]
            fresh = fresh and bool(current)
            if current:
                self._level[i] = data.close[0]
        date = np.datetime64(self._targets[0].num2date(now).replace(tzinfo=None), "ns")
        age = self._age.copy() if self._age.any() else None
        return Bar(date, self._close.copy(), np.where(self._age == 0, opens, self._close), self._level.copy(), age, fresh)


def gate_for(assets: Sequence[Any], targets: Sequence[Any]) -> PriceGate:
    """The fastest gate that fits: panel rows when all feeds move by one clock, lines otherwise."""
    if isinstance(assets, PanelAssets):
        return PanelGate(targets[0].clock, assets.symbols, [d.p.symbol for d in targets])
    clocks = {id(getattr(d, "clock", None)) if getattr(d, "clocked", False) else 0 for d in (*assets, *targets)}
    if len(clocks) == 1 and 0 not in clocks:
        return PanelGate(targets[0].clock, [d.p.symbol for d in assets], [d.p.symbol for d in targets])
    return LineGate(assets, targets)


def _columns(have: Sequence[str], want: Sequence[str]) -> list[int] | None:
    """Column numbers of the wanted names; None when they are all, in order."""
    if tuple(have) == tuple(want):
        return None
    place = {name: i for i, name in enumerate(have)}
    return [place[name] for name in want]
