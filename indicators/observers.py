"""Observers that draw a tracker while it runs. Add them with ``cerebro.addobserver``.

They read the strategy through what every tracker of this project has: ``targets``, ``desk`` and ``bar``.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import backtrader as bt
import numpy as np


class TrackerObserver(bt.Observer):
    """An observer that also draws the bars before every feed has begun."""

    plotinfo: Any = {"plot": True, "subplot": True}
    #: Looks at neither orders nor trades, so that none have to be made for it.
    blind = True

    def prenext(self) -> None:
        """As any other bar."""
        self.next()

    def _index(self) -> Any:
        targets = getattr(self._owner, "targets", None)
        if not targets:
            raise TypeError(f"{type(self).__name__} watches strategies that have a target; {type(self._owner).__name__} has none")
        return targets[0]


class PortfolioTrackingError(TrackerObserver):
    """Rolling tracking error of the account against its (first) target, per bar: the indicator of that name, on the account
    itself.

    Params:
      - ``period`` (63): bars in the window; NaN until it is full
      - ``centred`` (True), ``annualise`` (None): as for :class:`~indicators.tracking.TrackingError`
    """

    lines: Any = ("te",)
    params: Any = (("period", 63), ("centred", True), ("annualise", None))
    plotinfo: Any = {"plotname": "Tracking error"}

    def __init__(self) -> None:
        self._errors: deque[float] = deque(maxlen=self.p.period)
        self._last: tuple[float, float] | None = None

    def next(self) -> None:
        """One bar."""
        now = self._owner.broker.getvalue(), self._index().close[0]
        if self._last is not None:
            self._errors.append(now[0] / self._last[0] - now[1] / self._last[1])
        self._last = now
        full = len(self._errors) == self.p.period
        e = np.array(self._errors)
        te = (e.std(ddof=1) if self.p.centred else math.sqrt(e @ e / len(e))) if full else math.nan
        self.lines.te[0] = te * math.sqrt(self.p.annualise or 1.0)


class PortfolioExcessReturn(TrackerObserver):
    """Cumulative log return of the account minus that of its (first) target."""

    lines: Any = ("excess",)
    plotinfo: Any = {"plotname": "Excess log return", "plothlines": [0.0]}

    def __init__(self) -> None:
        self._base: float | None = None

    def next(self) -> None:
        """One bar."""
        gap = math.log(self._owner.broker.getvalue() / self._index().close[0])
        self._base = gap if self._base is None else self._base
        self.lines.excess[0] = gap - self._base


class Turnover(TrackerObserver):
    """Value bought plus value sold on the bar, over the account's value at the previous close."""

    lines: Any = ("turnover",)
    plotinfo: Any = {"plotname": "Turnover"}
    plotlines: Any = {"turnover": {"_method": "bar"}}

    def __init__(self) -> None:
        self._last = math.nan

    def next(self) -> None:
        """One bar."""
        value = self._owner.broker.getvalue()
        fills = self._owner.desk.fills()
        self.lines.turnover[0] = 0.0 if fills is None else fills.traded / self._last
        self._last = value


class EffectiveHoldings(TrackerObserver):
    """``effective``: 1 / sum of squared weights, the number of names if all had equal weight; ``names``: how many are held."""

    lines: Any = ("effective", "names")
    plotinfo: Any = {"plotname": "Holdings"}

    def next(self) -> None:
        """One bar."""
        sizes = self._owner.desk.sizes()
        held = sizes > 0.0
        values = sizes[held] * self._owner.bar.close[held]
        total = values.sum()
        self.lines.effective[0] = float(total**2 / (values @ values)) if total > 0.0 else 0.0
        self.lines.names[0] = float(held.sum())
