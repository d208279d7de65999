"""Brinson-Fachler: allocation to sectors and selection within them, where sectors and weights of the index are both known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracker_strategies.analysis.attribution.ladder import CASH, NO_SECTOR, Bars
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import DataError

FloatArray = NDArray[np.float64]
#: What the published weights lack to 1: it earns what the index earns.
OUTSIDE = "(not in the data)"


@dataclass(frozen=True, eq=False)
class Brinson:
    """Of T scored bars and S sectors; cash is one of them.

    Attributes
    ----------
    allocation, selection : DataFrame (T, S)
        (W - B)(b - y_b) and W (r - b), with the weight W and return r of a sector in the account at the beginning of the bar, B
        and b in the index, and y_b the return of the published weights. Interaction is counted with selection.
    trades : (T,) float
        What trades inside the bar add.
    unexplained : (T,) float
        y_b - y: the index not explained by its published weights.
    costs : (T,) float
    """

    allocation: pd.DataFrame
    selection: pd.DataFrame
    trades: FloatArray
    unexplained: FloatArray
    costs: FloatArray

    @property
    def active(self) -> FloatArray:
        """(T,) their sum."""
        sectors = self.allocation.to_numpy().sum(axis=1) + self.selection.to_numpy().sum(axis=1)
        return np.asarray(sectors + self.trades + self.unexplained + self.costs)


def brinson_fachler(record: RunRecord, index_weights: FloatArray) -> Brinson:
    """Allocation and selection of the scored bars of a run.

    Parameters
    ----------
    record : RunRecord
        With sectors, of a run whose stages were kept.
    index_weights : (T, N) float
        Published weights of the index at each close of the record.

    Raises
    ------
    DataError
        There are no sectors, the stages were not kept, or the weights do not fit.
    """
    if not record.sectors:
        raise DataError("the sectors are not known: give them with --sectors, a table of symbol and sector")
    if index_weights.shape != record.weights.shape or not np.isfinite(index_weights).all():
        raise DataError(
            f"index weights have shape {index_weights.shape}; they must be finite, one row per bar: {record.weights.shape}"
        )
    bars = Bars(record)
    b = index_weights[len(record.dates) - len(record.part.dates) :][bars.first]
    w, x, y = bars.held[bars.first], bars.compounded(bars.x), bars.y
    rungs, costs = bars.rungs(), -bars.spans(bars.paid)
    group = [record.sectors.get(name, NO_SECTOR) for name in record.symbols]
    sectors = [*dict.fromkeys(group), CASH, OUTSIDE]
    member = np.array([[own == sector for own in group] for sector in sectors], dtype=np.float64)
    W, B = w @ member.T, b @ member.T
    W[:, -2], B[:, -1] = 1.0 - w.sum(axis=1), 1.0 - b.sum(axis=1)
    y_b = (b * x).sum(axis=1) + B[:, -1] * y
    own, index = (w * x) @ member.T, (b * x) @ member.T
    index[:, -1] = B[:, -1] * y
    # Cash earns nothing here; its interest is in what the trades add. A sector that the index does not hold earns what all do.
    r_b = np.divide(index, B, out=np.repeat(y_b[:, None], len(sectors), axis=1), where=B != 0.0)
    r_b[:, -2] = 0.0
    allocation = (W - B) * (r_b - y_b[:, None])
    selection = own - W * r_b
    trades = rungs[4] - (w * x).sum(axis=1)
    dates = bars.part.dates[bars.rows[1:]]
    tables = [pd.DataFrame(effect, index=dates, columns=sectors) for effect in (allocation, selection)]
    return Brinson(tables[0], tables[1], trades, y_b - y, costs)
