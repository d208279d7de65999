"""backtrader's loop over the bars with one turn for each clock: feeds that move together are not asked one by one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import backtrader as bt

if TYPE_CHECKING:
    from datafeeds.feeds.feed import PanelFeed

#: What the loop asks of a feed on every bar. A feed with an answer of its own keeps its turn.
_ASKED = ("advance_peek", "advance")
#: The loop, and parts of it that are left out while there are no timers or writers. A cerebro with one of its own keeps its loop.
_LOOP = ("_runonce", "_check_timers", "_next_writers")


class TurnsOfClocks:
    """Stands in for ``Cerebro._runonce`` during a run: the same calls in the same order to everybody but the feeds that follow
    another one of their clock. On a bar these would answer with the date of that one, and do nothing.

    Parameters
    ----------
    cerebro : Cerebro
        Whose loop it is.
    kind : type
        The class of the feeds that know a clock.
    """

    def __init__(self, cerebro: Any, kind: type[PanelFeed]) -> None:
        self._cerebro, self._kind = cerebro, kind

    @classmethod
    def give(cls, cerebro: Any, kind: type[PanelFeed]) -> None:
        """Let a cerebro take turns by clocks in its next run, unless it has a loop of its own, or a part of one."""
        if not any(getattr(type(cerebro), name) is not getattr(bt.Cerebro, name) or name in cerebro.__dict__ for name in _LOOP):
            cerebro._runonce = cls(cerebro, kind)

    def __call__(self, runstrats: list[Any]) -> None:
        """Run all bars."""
        cerebro = self._cerebro
        del cerebro._runonce  # a run that comes later asks anew
        for strategy in runstrats:
            strategy._once()
            strategy.reset()
        present = {id(data) for data in cerebro.datas}
        in_order = sorted(cerebro.datas, key=lambda data: (data._timeframe, data._compression))
        datas = [data for data in in_order if not self._follows(data, present)]
        if len(datas) == 1 and self._is_led(datas[0]):  # nobody to compare dates with
            clock, advance = datas[0].clock, datas[0].advance
            clock.live = True
            while (now := clock.ahead) != math.inf:
                advance()
                if not self._bar(now, runstrats):
                    return
            return
        while (now := min(ahead := [data.advance_peek() for data in datas])) != math.inf:
            for data, when in zip(datas, ahead, strict=True):
                if when <= now:
                    data.advance()
            if not self._bar(now, runstrats):
                return

    def _bar(self, now: float, runstrats: list[Any]) -> bool:
        """Everybody else's turn on a bar; False when somebody has asked to stop."""
        cerebro = self._cerebro
        if cerebro._timerscheat:
            cerebro._check_timers(runstrats, now, cheat=True)
        if cerebro.p.cheat_on_open:
            for strategy in runstrats:
                strategy._oncepost_open()
                if cerebro._event_stop:
                    return False
        cerebro._brokernotify()
        if cerebro._event_stop:
            return False
        if cerebro._timers:
            cerebro._check_timers(runstrats, now, cheat=False)
        for strategy in runstrats:
            strategy._oncepost(now)
            if cerebro._event_stop:
                return False
            if cerebro.runwriters:
                cerebro._next_writers(runstrats)
        return True

    def _follows(self, data: Any, present: set[int]) -> bool:
        """Whether another feed of its clock, one of those present in the run, moves for it."""
        return self._is_led(data) and data.clock.leader is not data and id(data.clock.leader) in present

    def _is_led(self, data: Any) -> bool:
        """Whether a feed moves as the leader of its clock does, and nothing of its own is asked on a bar."""
        if not isinstance(data, self._kind) or not data.clocked or data.clock.leader is None:
            return False
        return not any(getattr(type(data), name) is not getattr(self._kind, name) or name in data.__dict__ for name in _ASKED)
