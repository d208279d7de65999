"""A backtrader Analyzer of what the algorithm of a tracker says of itself."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import backtrader as bt
import pandas as pd

from tracker_strategies.analysis.order_log import bar_dates
from tracker_strategies.strategies.tracker import Tracker


class DiagnosticsAnalyzer(bt.Analyzer):
    """Diagnostics of a tracker's algorithm, bar by bar: see ``diagnostics()`` of the algorithms.

    ``get_analysis()`` has the last value of each figure; ``table`` is a DataFrame with one row per bar.

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from tracker_strategies import DiagnosticsAnalyzer, PATracker
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
    >>> position = cerebro.addstrategy(PATracker)
    >>> cerebro.addanalyzer(DiagnosticsAnalyzer, _name="diagnostics")
    >>> sorted(cerebro.run()[0].analyzers.diagnostics.get_analysis())
    ['eps', 'loss', 'prediction', 'tau']
    """

    def start(self) -> None:
        """Drop the data of an earlier run."""
        self._lines = list(getattr(self.strategy, "diagnostic_lines", ()))
        self._when: list[Any] = []
        self._said: list[dict[str, float]] = []

    def prenext(self) -> None:
        """Bars before all feeds have begun count, too."""
        self.next()

    def next(self) -> None:
        """Close of a bar."""
        tracker: Tracker | None = getattr(self.strategy, "tracker", None)
        if tracker is not None and tracker.bar is not None and getattr(self.strategy, "new_bar", True):
            self._when.append(tracker.bar.date)
            self._said.append(tracker.algorithm.diagnostics())

    @property
    def table(self) -> pd.DataFrame:
        """(T, k) figures; NaN where a bar did not have one. ``attrs["lines"]`` names the most informative ones."""
        frame = pd.DataFrame(self._said, index=pd.DatetimeIndex(bar_dates(self._when), name="date"), dtype=float)
        frame.attrs["lines"] = self._lines
        return frame

    def get_analysis(self) -> OrderedDict[str, float]:
        """The latest figures."""
        return OrderedDict(self._said[-1] if self._said else {})
