"""A tracker as a guest of backtrader: the host's bookkeeping for each bar, without a walk through all feeds."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import backtrader as bt
from backtrader.linebuffer import LineBuffer

from tracker_strategies.execution.basket.listeners import ears_of
from tracker_strategies.execution.basket.orders import BasketOrder
from tracker_strategies.execution.fill_prices import require_opens
from tracker_strategies.execution.gate import Bar, PriceGate
from tracker_strategies.strategies._first_bars import guard_first_bars
from tracker_strategies.strategies.tracker import Tracker


class HostedStrategy(bt.Strategy):
    """A Strategy whose bookkeeping costs the same on a bar however many feeds there are."""

    tracker: Tracker
    gate: PriceGate
    symbols: tuple[str, ...]
    #: Whether bars are rows of a panel.
    _rows: bool

    def _before(self) -> list[Any]:
        """The trackers that were added before this one."""
        return [s for s in self.cerebro.runningstrats if isinstance(s, HostedStrategy)]

    def _start(self) -> None:
        super()._start()
        guard_first_bars(self)
        clocks = {id(d.clock) if getattr(d, "clocked", False) else id(d) for d in self.datas}
        #: Whether all feeds have the same number of bars at any time.
        self._in_step = len(clocks) == 1 and (len(self.datas) == 1 or self.datas[0].panel.complete)
        first = self.datas[0]
        #: The clock that tells how many; None where the feeds have to be asked.
        self._counter = first.clock if self._in_step and getattr(first, "clocked", False) and first.panel.complete else None

    def _getminperstatus(self) -> int:
        """Bars still missing before ``next``. Feeds that are always of the same length need not be asked one by one."""
        if not self._in_step:
            return int(super()._getminperstatus())
        clock = self._counter
        missing: int = self._longest - (len(self.datas[0]) if clock is None or not clock.live else clock.row + 1)
        self._minperstatus = missing
        return missing

    def _periodset(self) -> None:
        super()._periodset()
        self._longest = max(self._minperiods)

    def _notify(self, qorders: Sequence[Any] = (), qtrades: Sequence[Any] = ()) -> None:
        """Tell of orders, trades, cash and value; skipped when there is nothing to tell or nobody to hear it."""
        if qorders or qtrades or self._orderspending or self._tradespending or ears_of(self).cash:
            super()._notify(list(qorders), list(qtrades))

    def forward(self, value: float = nan, size: int = 1) -> None:
        """A bar more in every line; backtrader finds the end of its lines by an exception, and asks for one thing at a time."""
        for line in self.lines.lines:
            if line.mode == LineBuffer.UnBounded and size == 1:
                line._idx += 1
                line.lencount += 1
                line.array.append(value)
            else:
                line.forward(value, size=size)

    def _next_analyzers(self, minperstatus: int, once: bool = False) -> None:
        """The analyzers' turn. Without any, backtrader finds that out by an exception."""
        if self.analyzers._items:
            super()._next_analyzers(minperstatus, once)

    def clear(self) -> None:
        """End of a bar. backtrader keeps all it has announced for ever, and looks at it no more; orders of the fast lane go."""
        if self._orderspending:
            self._orders.extend(order for order in self._orderspending if not isinstance(order, BasketOrder))
            self._orderspending: list[Any] = []
        if self._tradespending:
            self._tradespending: list[Any] = []

    def is_new(self, bar: Bar) -> bool:
        """Whether a bar is another one than the latest that was decided on."""
        last = self.tracker.bar
        if bar is last or bar is self.gate.nothing:
            return False
        return self._rows or last is None or bool(bar.date != last.date)  # a new row of a panel is always another date

    def bar_at_open(self) -> Bar | None:
        """The bar whose open has come, before its close is known to the strategy; None when there is no new one."""
        bar = self.gate.read()
        if not self.is_new(bar):
            return None
        if not self._rows and self.tracker.waits:
            require_opens(bar, self.symbols)
        return bar
