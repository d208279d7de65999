"""When to trade, and at which price an order decided at the close of bar t fills."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Integral
from typing import TYPE_CHECKING

from tracker_strategies.errors import ParameterError

if TYPE_CHECKING:  # the command line reads the name of a fill mode before it loads anything
    import numpy as np

#: Calendar schedules: numpy's unit, how many of them make a period, and the offset of its start. 1970-01-01 was a Thursday, weeks
#: begin on Mondays.
_PERIODS = {"weekly": ("D", 7, 3), "monthly": ("M", 1, 0), "quarterly": ("M", 3, 0), "yearly": ("Y", 1, 0)}


class FillMode(StrEnum):
    """Three ways to fill, from honest to optimistic.

    next_open
        Shares are fixed at the close of bar t, the orders fill at the open of bar t+1, whatever it is. If the market gapped so
        that cash no longer suffices, the buys shrink by one common factor. The default.
    open
        Cheat-on-open: the weights are fixed at the close of bar t, but the shares are computed from the open of bar t+1, at which
        they fill. It assumes that the opening price is known a moment before it trades.
    close
        The orders fill at the close of bar t itself: the very prices from which the weights were learned. This is what the papers
        assume. It is look-ahead by intent; use it to compare with them, not to judge what can be earned.
    """

    NEXT_OPEN = "next_open"
    OPEN = "open"
    CLOSE = "close"

    @classmethod
    def parse(cls, name: str) -> FillMode:
        """The mode of that name."""
        try:
            return cls(name)
        except ValueError:
            raise ParameterError(
                f"fill={name!r} is unknown; choose next_open (honest), open or close (what the papers assume)"
            ) from None


@dataclass
class Schedule:
    """Says, bar by bar, whether to rebalance: the learner sees every bar, the portfolio follows on some. The first always trades.

    Parameters
    ----------
    every : int or str, default 1
        Every so many bars; or "weekly", "monthly", "quarterly", "yearly": on the first bar of each new period; or "once": on the
        first bar only (and when the universe changes, which is for the caller to say).
    """

    every: int | str = 1
    _count: int = field(default=0, init=False, repr=False)
    _period: int | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Accept numbers written as text, as they come from a command line."""
        if isinstance(self.every, str) and self.every.isdigit():
            self.every = int(self.every)
        if isinstance(self.every, Integral) and not isinstance(self.every, bool):
            self.every = int(self.every)
        known = isinstance(self.every, int) and not isinstance(self.every, bool) and self.every >= 1
        if not known and self.every not in (*_PERIODS, "once"):
            raise ParameterError(f"rebalance={self.every!r} must be a number of bars >= 1 or one of once, {', '.join(_PERIODS)}")

    def due(self, date: np.datetime64) -> bool:
        """Whether to trade on this bar. Call it once per bar, in order."""
        first = self._count == 0
        self._count += 1
        if isinstance(self.every, int):
            return (self._count - 1) % self.every == 0
        if self.every == "once":
            return first
        unit, length, offset = _PERIODS[self.every]
        period = (int(date.astype(f"datetime64[{unit}]").astype("int64")) + offset) // length
        turned, self._period = period != self._period, period
        return turned
