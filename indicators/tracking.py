"""Indicators on two lines, a portfolio (or any asset) and an index: how far apart they move."""

from __future__ import annotations

import math
from typing import Any

import backtrader as bt
import numpy as np
from numpy.typing import NDArray


class TrackingError(bt.Indicator):
    """Rolling tracking error of ``data0`` against ``data1``, per bar.

    Over the last ``period`` bars, with e the difference of the two simple returns: the sample standard deviation of e
    (``centred=True``), or sqrt(mean e^2). Multiplied by sqrt(``annualise``) when that is given (252 for daily bars).

    Params:
      - ``period`` (63): bars in the window, at least 2
      - ``centred`` (True)
      - ``annualise`` (None)
    """

    lines: Any = ("te",)
    params: Any = (("period", 63), ("centred", True), ("annualise", None))
    plotinfo: Any = {"subplot": True, "plotname": "Tracking error"}
    _mindatas = 2

    def __init__(self) -> None:
        if self.p.period < 2:
            raise ValueError(f"period={self.p.period!r}: a tracking error needs at least 2 bars")
        self._scale = math.sqrt(self.p.annualise or 1.0)
        self.addminperiod(self.p.period + 1)

    def next(self) -> None:
        """One window."""
        size = self.p.period + 1
        a, b = (np.array(d.get(size=size), dtype=np.float64) for d in (self.data0, self.data1))
        self.lines.te[0] = self._scale * window_error(a, b, self.p.centred)

    def once(self, start: int, end: int) -> None:
        """All windows at once."""
        a, b = (np.asarray(d.array, dtype=np.float64) for d in (self.data0, self.data1))
        size = self.p.period + 1
        if end - start <= 0:
            return
        a, b = (np.lib.stride_tricks.sliding_window_view(s[start - size + 1 : end], size) for s in (a, b))
        self.lines.te.array[start:end] = type(self.lines.te.array)("d", self._scale * window_error(a, b, self.p.centred))


class ExcessReturn(bt.Indicator):
    """Cumulative log return of ``data0`` minus that of ``data1``, since the first bar on which both have a price."""

    lines: Any = ("excess",)
    plotinfo: Any = {"subplot": True, "plotname": "Excess log return", "plothlines": [0.0]}
    _mindatas = 2

    def __init__(self) -> None:
        self._base = math.nan

    def next(self) -> None:
        """One bar."""
        a, b = self.data0[0], self.data1[0]
        gap = math.log(a / b) if a > 0.0 and b > 0.0 else math.nan
        if math.isnan(self._base):
            self._base = gap
        self.lines.excess[0] = gap - self._base


def window_error(a: NDArray[np.float64], b: NDArray[np.float64], centred: bool) -> NDArray[np.float64]:
    """Tracking error over the last axis of two arrays of prices."""
    e = a[..., 1:] / a[..., :-1] - b[..., 1:] / b[..., :-1]
    return np.asarray(e.std(axis=-1, ddof=1) if centred else np.sqrt((e * e).mean(axis=-1)))
