"""The stages of each decision from the learner to the account, bar by bar: the input of an attribution."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import Any, Self

import backtrader as bt
import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.timing import FillMode
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stages:
    """Row t is the close of bar t, as in a :class:`~tracker_strategies.analysis.record.RunRecord`.

    Attributes
    ----------
    wish : (T, N) float
        What the algorithm chose at the close, before the mandate.
    allowed : (T, N) float
        What the limits allow of it. Between decisions the mandate is not applied; its last result stays in force.
    traded : (T, N) float
        What schedule, band, turnover limit, pace and price of trading let be held; where nothing was decided, what is held.
    rounded : (T, N) float
        The same in whole lots: the decision.
    shares, close : (T, N) float
        Shares after the fills booked on the bar, and closes; NaN for a name without a price.
    fill : (T, N) float
        Reference prices of those fills: opens, or the closes of the bar before with fills at the close.
    at_close : bool
        Whether the fills booked on a bar were filled at the close before it.
    """

    wish: FloatArray
    allowed: FloatArray
    traded: FloatArray
    rounded: FloatArray
    shares: FloatArray
    close: FloatArray
    fill: FloatArray
    at_close: bool

    def from_row(self, base: int) -> Self:
        """The rows from a base on."""
        arrays = {f.name: getattr(self, f.name)[base:] for f in fields(self) if f.name != "at_close"}
        return type(self)(**arrays, at_close=self.at_close)


class StagesAnalyzer(bt.Analyzer):
    """Keeps the stages of all decisions of a tracker. Memory grows with bars times names: for runs that are to be attributed.

    ``get_analysis()`` is empty; :meth:`stages` has what was kept. A strategy that is not a tracker has none.
    """

    def start(self) -> None:
        """Drop the data of an earlier run."""
        self._kept: list[tuple[FloatArray | None, ...]] = []
        self._at_close = False
        self._tracker: Tracker | None = getattr(self.strategy, "tracker", None)
        if self._tracker is not None and self._tracker.keeper is not None:
            self._tracker.keeper.watch()

    def prenext(self) -> None:
        """Bars before all feeds have begun count, too."""
        self.next()

    def stop(self) -> None:
        """Drop the references to cerebro, because a result may be sent to another process."""
        self._tracker = None

    def next(self) -> None:
        """Close of a bar."""
        tracker = self._tracker
        if tracker is None or tracker.bar is None or not getattr(self.strategy, "new_bar", True):
            return
        bar, told = tracker.bar, None if tracker.keeper is None else tracker.keeper.stages
        wish = tracker.wish
        allowed = wish if tracker.keeper is None else None if told is None else told.allowed
        traded, rounded = (wish if told is None else told.traded, tracker.weights) if tracker.acts else (None, None)
        current = bar.current
        fill = bar.open if current is None else np.where(current, bar.open, np.nan)
        self._at_close = tracker.fill is FillMode.CLOSE
        self._kept.append((wish, allowed, traded, rounded, self.strategy.route.sizes(), bar.close, fill))

    def stages(self, value: FloatArray) -> Stages | None:
        """What was kept, with the account's value at each close; None where there is no tracker, or where bars are missing."""
        if len(self._kept) != len(value) or not self._kept:
            return None
        shares, close = (np.array([row[column] for row in self._kept], dtype=np.float64) for column in (4, 5))
        held = [*(np.nan_to_num(shares * close) / value[:, None])]

        def stacked(column: int, missing: list[FloatArray]) -> FloatArray:
            return np.array([own if row[column] is None else row[column] for row, own in zip(self._kept, missing, strict=True)])

        wish, fill = stacked(0, held), stacked(6, held)
        before = np.vstack([close[:1], close[:-1]])
        fill = before if self._at_close else np.where(np.isfinite(fill), fill, before)
        # Before its first answer the mandate allows what it is asked for.
        allowed, traded, rounded = stacked(1, [*wish]), stacked(2, held), stacked(3, held)
        return Stages(wish, allowed, traded, rounded, shares, close, fill, self._at_close)

    def get_analysis(self) -> OrderedDict[str, Any]:
        """Nothing that fits into a table."""
        return OrderedDict()
