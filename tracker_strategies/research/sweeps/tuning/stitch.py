"""One account through several runs: the test pieces of a walk-forward, put one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.execution.costs import CostModel

FloatArray = NDArray[np.float64]


def stitch(records: Sequence[RunRecord], panel: MarketPanel, costs: CostModel, cash: float, **about: Any) -> RunRecord:
    """The record of an account that follows one run after the other.

    Row 0 of each record is the last bar of the one before; there, at the close, the account changes from the portfolio of the
    old run to that of the new one, and pays for it. On all other bars it earns and trades what the run earned and traded.

    Parameters
    ----------
    records : sequence of RunRecord
        Scored parts of runs on pieces of ``panel`` that follow each other.
    panel : MarketPanel
        All bars.
    costs : CostModel
        What a change costs, for the names of ``panel``.
    cash : float
        Value of the account on the first row.
    **about
        ``strategy``, ``params`` and the like of the new record.

    Notes
    -----
    A change trades at the close of the last bar of a fold, whatever the fill mode: on one bar a fold.
    """
    place = {name: i for i, name in enumerate(panel.symbols)}
    rows = [int(np.searchsorted(panel.dates, r.dates[0])) for r in records]
    first, last = rows[0], rows[-1] + len(records[-1].dates) - 1
    T = last - first + 1
    growth, turnover, cost = np.ones(T), np.zeros(T), np.zeros(T)
    weights = np.zeros((T, panel.n_assets))
    value = cash
    values = np.full(T, cash)
    for k, (row, record) in enumerate(zip(rows, records, strict=True)):
        at, n = row - first, len(record.dates)
        columns = [place[name] for name in record.symbols]
        held = np.zeros((n, panel.n_assets))
        held[:, columns] = record.weights
        paid = 0.0
        if k:
            shift = held[0] - weights[at]
            prices = panel.close[panel.last_bar[row], np.arange(panel.n_assets)]
            traded = np.flatnonzero(shift)
            _, bought_and_sold, paid = costs.taken(traded).outcome(shift[traded] * value / prices[traded], prices[traded])
            turnover[at + 1] = bought_and_sold / value
        growth[at + 1 : at + n] = 1.0 + record.returns
        growth[at + 1 : at + 2] *= 1.0 - paid / value
        values[at:] = value
        values[at + 1 : at + n] = value * np.cumprod(growth[at + 1 : at + n])
        turnover[at + 1 : at + n] += record.turnover[1:]
        scale = values[at : at + n - 1] / record.value[:-1]
        cost[at + 1 : at + n] = record.cost[1:] * scale
        cost[at + 1] += paid
        weights[at : at + n] = held
        value = float(values[at + n - 1])
    return RunRecord(
        dates=panel.dates[first : last + 1],
        value=values,
        index=panel.target_close[first : last + 1],
        targets=panel.targets,
        symbols=panel.symbols,
        weights=weights,
        turnover=turnover,
        cost=cost,
        orders=records[0].orders.iloc[:0],
        entry=records[0].entry,
        periods_per_year=records[0].periods_per_year,
        **about,
    )
