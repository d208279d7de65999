"""Smoothed averages that begin when their input does.

backtrader's own begin on the first bars of the run. A name of a panel that lists later has no price there (NaN), and what was
averaged with NaN once is NaN for ever. These wait until a whole period is known.
"""

from __future__ import annotations

import math
from typing import Any

import backtrader as bt
from backtrader.indicators import ExponentialSmoothing, MovingAverageBase


class _LateSmoothing(ExponentialSmoothing):
    """av = av_prev (1 - alpha) + data alpha, from the mean of the first ``period`` bars in a row that have a value.

    A later bar without one (NaN) ends it; it begins anew when a whole period is known again.
    """

    def next(self) -> None:
        """One bar."""
        if math.isnan(self.line[-1]):
            self.nextstart()
        else:
            super().next()

    def once(self, start: int, end: int) -> None:
        """All bars at once."""
        line, data, alpha, alpha1 = self.line.array, self.data.array, self.alpha, self.alpha1
        last = line[start - 1]
        for i in range(start, end):
            if math.isnan(last):
                self.oncestart(i, i + 1)
                last = line[i]
            else:
                line[i] = last = last * alpha1 + data[i] * alpha


class EMA(MovingAverageBase):
    """Exponential moving average, alpha = 2 / (1 + period): ``backtrader.indicators.EMA`` for names that may list late.

    NaN until ``period`` bars in a row have a value; from there on what backtrader's shows on the bars of the name alone. As any
    moving average it can be the ``movav`` of another indicator: ``bt.indicators.MACD(data, movav=EMA)``.

    Params:
      - ``period`` (30)
    """

    lines: Any = ("ema",)
    _notregister = True  # MovAv.EMA stays backtrader's

    def __init__(self) -> None:
        self.lines[0] = _LateSmoothing(self.data, period=self.p.period)
        super().__init__()


class SMMA(MovingAverageBase):
    """Wilder's smoothed moving average, alpha = 1 / period: ``backtrader.indicators.SMMA`` for names that may list late.

    Params:
      - ``period`` (30)
    """

    lines: Any = ("smma",)
    _notregister = True

    def __init__(self) -> None:
        self.lines[0] = _LateSmoothing(self.data, period=self.p.period, alpha=1.0 / self.p.period)
        super().__init__()


class RSI(bt.indicators.RSI_Safe):
    """Relative strength index, 0 to 100: ``backtrader.indicators.RSI_Safe`` for names that may list late.

    NaN until ``period`` changes of the price in a row are known. 100 if none of them is a fall, 50 if the price stands still.

    Params:
      - ``period`` (14), and those of backtrader's
    """

    params: Any = (("movav", SMMA),)
