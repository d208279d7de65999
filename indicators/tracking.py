"""Indicators on two lines, a portfolio (or any asset) and an index: how far apart they move."""

from __future__ import annotations

import math
from array import array
from collections import deque
from numbers import Integral, Real
from typing import Any

import backtrader as bt
import numpy as np
from numpy.typing import NDArray

from indicators.by_date import Series, pairs
from tracker_strategies.errors import ParameterError

FloatArray = NDArray[np.float64]


class PairIndicator(bt.Indicator):
    """A line drawn from pairs of values: those of ``data0`` and ``data1`` on the dates on which both have a bar.

    Each feed may list late and lack bars; the line has the bars of ``data0``. On a date without a pair it stays where it was.
    Equal in every mode of cerebro.
    """

    _mindatas = 2

    def __init__(self) -> None:
        if len(self.datas) != 2:
            raise ParameterError(
                f"{type(self).__name__} compares two feeds or lines, but got {len(self.datas)}: pass the asset and the "
                f"index, {type(self).__name__}(asset, index)"
            )
        self._both = Series(self.data0), Series(self.data1)
        self._latest, self._shown = -math.inf, math.nan

    def _add(self, a: float, b: float) -> float:
        """Take in one more pair; the value of the line from there on."""
        raise NotImplementedError

    def _values(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """The same for all pairs at once."""
        raise NotImplementedError

    def next(self) -> None:
        """One bar. backtrader calls this again on dates on which only other feeds have one."""
        first, second = (series.now() for series in self._both)
        if first is not None and second is not None and first[0] == second[0] > self._latest:
            self._latest = first[0]
            self._shown = self._add(first[1], second[1])
        self.lines[0][0] = self._shown

    prenext = nextstart = next

    def once(self, start: int, end: int) -> None:
        """All bars at once."""
        line = self.lines[0].array
        rows, a, b = pairs(*self._both)
        latest = np.searchsorted(rows, np.arange(start, min(end, len(line))), side="right")
        shown = np.r_[math.nan, self._values(a, b)][latest]
        line[start : start + len(shown)] = array("d", shown.tobytes())


class TrackingError(PairIndicator):
    """Rolling tracking error of ``data0`` against ``data1``, per bar.

    Over the last ``period`` returns, with e the difference of the two simple returns: the sample standard deviation of e
    (``centred=True``), or sqrt(mean e^2). Multiplied by sqrt(``annualise``) when that is given (252 for daily bars).

    Returns are taken from each date on which both have a bar to the next such date. NaN until there are ``period`` of them.

    Params:
      - ``period`` (63): returns in the window, at least 2
      - ``centred`` (True)
      - ``annualise`` (None)

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from indicators import TrackingError
    >>> class Watch(bt.Strategy):
    ...     def __init__(self):
    ...         self.error = TrackingError(self.data1, self.data0, period=60)
    ...
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
    >>> position = cerebro.addstrategy(Watch)
    >>> run = cerebro.run()[0]
    >>> 0.005 < run.error[0] < 0.02
    True
    """

    lines: Any = ("te",)
    params: Any = (("period", 63), ("centred", True), ("annualise", None))
    plotinfo: Any = {"subplot": True, "plotname": "Tracking error"}

    def __init__(self) -> None:
        super().__init__()
        self._window = ErrorWindow(self.p)
        self._pair: tuple[float, float] | None = None
        self.addminperiod(self.p.period + 1)

    def _add(self, a: float, b: float) -> float:
        before, self._pair = self._pair, (a, b)
        return math.nan if before is None else self._window.add(a / before[0] - b / before[1])

    def _values(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return self._window.all(a[1:] / a[:-1] - b[1:] / b[:-1])


class ExcessReturn(PairIndicator):
    """Cumulative log return of ``data0`` minus that of ``data1``, since the first date on which both have a bar.

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from indicators import ExcessReturn
    >>> class Watch(bt.Strategy):
    ...     def __init__(self):
    ...         self.excess = ExcessReturn(self.data1, self.data0)
    ...
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
    >>> position = cerebro.addstrategy(Watch)
    >>> print(f"{cerebro.run()[0].excess[0]:.2f}")
    -0.02
    """

    lines: Any = ("excess",)
    plotinfo: Any = {"subplot": True, "plotname": "Excess log return", "plothlines": [0.0]}

    def __init__(self) -> None:
        super().__init__()
        self._base: float | None = None

    def _add(self, a: float, b: float) -> float:
        gap = math.log(a / b)
        self._base = gap if self._base is None else self._base
        return gap - self._base

    def _values(self, a: FloatArray, b: FloatArray) -> FloatArray:
        gap = np.log(a / b)
        return np.asarray(gap - gap[:1])


class ErrorWindow:
    """Tracking error over the last ``period`` differences of returns: what the params of an indicator or observer ask for."""

    def __init__(self, p: Any) -> None:
        if isinstance(p.period, bool) or not isinstance(p.period, Integral) or p.period < 2:
            raise ParameterError(f"period={p.period!r} must be an integer >= 2, the number of bars of the tracking error")
        scale = 1.0 if p.annualise is None else p.annualise
        if isinstance(scale, bool) or not isinstance(scale, Real) or not 0.0 < float(scale) < math.inf:
            raise ParameterError(
                f"annualise={p.annualise!r} must be the number of bars per year (252 for days) or None for per bar"
            )
        self._centred, self._scale = bool(p.centred), math.sqrt(scale)
        self._errors: deque[float] = deque(maxlen=int(p.period))

    def add(self, error: float) -> float:
        """Take in one more; NaN until the window is full."""
        self._errors.append(error)
        full = len(self._errors) == self._errors.maxlen
        return float(self._measure(np.array(self._errors))) if full else math.nan

    def all(self, errors: FloatArray) -> FloatArray:
        """The same for a whole series, with a value before the first of them: NaN, as until the window is full."""
        size = self._errors.maxlen or 0
        if len(errors) < size:
            return np.full(len(errors) + 1, math.nan)
        found = self._measure(np.lib.stride_tricks.sliding_window_view(errors, size))
        return np.concatenate([np.full(size, math.nan), found])

    def _measure(self, e: FloatArray) -> FloatArray:
        te = e.std(axis=-1, ddof=1) if self._centred else np.sqrt((e * e).mean(axis=-1))
        return np.asarray(self._scale * te)
