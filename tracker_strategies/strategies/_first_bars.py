"""Indicators of a tracker show nothing before their first bar.

A tracker trades before every name has listed, so that its code runs while some indicators have not begun. backtrader hands out
the *last* value of the file for those (worked out in advance), or an IndexError (bar by bar). Here they are NaN.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from backtrader.linebuffer import LineBuffer
from backtrader.lineiterator import LineIterator


class _Guarded(LineBuffer):
    """A line that is NaN before its first bar."""

    def __getitem__(self, ago: int) -> Any:
        """Value *ago* bars from now."""
        return super().__getitem__(ago) if self.idx + ago >= 0 else math.nan


@cache
def _guarded(kind: Any) -> Any:
    if kind is LineBuffer:
        return _Guarded
    return type(kind)(kind.__name__, (_Guarded, kind), {"__reduce__": lambda self: (_unpickled, (kind,), self.__dict__)})


def _unpickled(kind: Any) -> Any:
    """Classes made here are made again where they are read."""
    return object.__new__(_guarded(kind))


def guard_first_bars(strategy: Any) -> None:
    """Guard the lines of all indicators of a strategy."""
    for indicator in strategy._lineiterators[LineIterator.IndType]:
        lines: Any = [indicator] if isinstance(indicator, LineBuffer) else indicator.lines  # an operation is its own line
        for line in lines:
            kind: Any = type(line)
            line.__class__ = _guarded(kind)
