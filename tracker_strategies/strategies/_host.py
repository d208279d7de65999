"""A tracker as a guest of backtrader: the host's bookkeeping for each bar, without a walk through all feeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import backtrader as bt
from backtrader.linebuffer import LineBuffer
from backtrader.lineiterator import LineIterator

from tracker_strategies.execution.basket.listeners import ears_of
from tracker_strategies.execution.basket.orders import BasketOrder
from tracker_strategies.execution.gate import PriceGate
from tracker_strategies.execution.tracker_route import TrackerRoute
from tracker_strategies.strategies._first_bars import guard_first_bars
from tracker_strategies.strategies.tracker import Tracker

#: Steps of backtrader's turn. A strategy with one of its own takes the turn as backtrader has it.
_STEPS = ("forward", "_notify", "_getminperstatus", "_next_analyzers", "_next_observers", "clear")
_BACKTRADERS = bt.Strategy._oncepost


class Turn:
    """A tracker's turn on a bar, in the usual case: backtrader's steps in its order, each where it has something to do.

    It stands in for ``Strategy._oncepost``. That asks the strategy for some thirty of its attributes, and to look one up takes
    ten times as long on an object with lines as on a plain one like this.

    Parameters
    ----------
    strategy : HostedStrategy
    clock : PanelClock
        Of all its feeds, which have a bar on every row.
    """

    def __init__(self, strategy: HostedStrategy, clock: Any) -> None:
        self._strategy, self._clock, self._longest = strategy, clock, strategy._longest
        self._dates, self._told = strategy.lines.lines[0], ears_of(strategy).cash
        self._analyzers, self._observers = strategy.analyzers._items, strategy._lineiterators[LineIterator.ObsType]

    @classmethod
    def of(cls, strategy: HostedStrategy) -> Turn | None:
        """The turn of a strategy; None where it has steps of its own, or more to do."""
        kind, lines, clock = type(strategy), strategy.lines.lines, strategy._counter
        own = super(HostedStrategy, strategy)._oncepost.__func__ is not _BACKTRADERS
        own = own or any(getattr(kind, name) is not getattr(HostedStrategy, name) or name in strategy.__dict__ for name in _STEPS)
        if own or clock is None or strategy._oldsync or strategy._lineiterators[LineIterator.IndType] or len(lines) > 1:
            return None
        dates = lines[0]
        if type(dates) is not LineBuffer or dates.mode != LineBuffer.UnBounded or dates.bindings:
            return None
        return cls(strategy, clock)

    def __call__(self, now: float) -> None:
        """Take the turn on a bar."""
        strategy, dates = self._strategy, self._dates
        dates._idx += 1
        dates.lencount += 1
        dates.array.append(now)
        if self._told or strategy._orderspending or strategy._tradespending:
            strategy._notify()
        strategy._minperstatus = missing = self._longest - self._clock.row - 1
        if missing < 0:
            strategy.next()
        elif missing == 0:
            strategy.nextstart()
        else:
            strategy.prenext()
        if self._analyzers:
            strategy._next_analyzers(missing, once=True)
        if self._observers:
            strategy._next_observers(missing, once=True)
        if strategy._orderspending or strategy._tradespending:
            strategy.clear()


class HostedStrategy(bt.Strategy):
    """A Strategy whose bookkeeping costs the same on a bar however many feeds there are."""

    route: TrackerRoute
    _tracker: Tracker
    _gate: PriceGate
    #: Its turn on a bar, if that is a usual one; None while that is not known.
    _usual_turn: Turn | Literal[False] | None = None

    @property
    def tracker(self) -> Tracker:
        """What it decides with on a bar."""
        return self._tracker

    @tracker.setter
    def tracker(self, tracker: Tracker) -> None:
        self._tracker = tracker
        if "route" in self.__dict__:
            self.route.tracker = tracker

    @property
    def gate(self) -> PriceGate:
        """Where it reads prices."""
        return self._gate

    @gate.setter
    def gate(self, gate: PriceGate) -> None:
        self._gate = gate
        if "route" in self.__dict__:
            self.route.read_from(gate)

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

    def _oncepost(self, dt: float) -> None:
        turn = self._usual_turn
        if turn is None:
            turn = self._usual_turn = Turn.of(self) or False
        if turn:
            turn(dt)
        else:
            super()._oncepost(dt)

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

    def clear(self) -> None:
        """End of a bar. backtrader keeps all it has announced for ever, and looks at it no more; orders of the fast lane go."""
        if self._orderspending:
            self._orders.extend(order for order in self._orderspending if not isinstance(order, BasketOrder))
            self._orderspending: list[Any] = []
        if self._tradespending:
            self._tradespending: list[Any] = []
