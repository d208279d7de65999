"""Whole lots within what is allowed on one bar."""

from __future__ import annotations

import numpy as np

from tracker_strategies.execution.mandate.limits import BarLimits, FloatArray, Limits, Region
from tracker_strategies.execution.mandate.lots.rounding import WHOLE, round_lots
from tracker_strategies.execution.mandate.metric import ErrorModel, Metric

EXACT = 1e-12


def shares_in_lots(
    weights: FloatArray,
    region: Region,
    limits: Limits,
    bar: BarLimits,
    sizes: FloatArray,
    lot: float,
    metric: Metric,
    model: ErrorModel,
    rate: FloatArray,
    fee: float,
) -> FloatArray:
    """Shares in whole lots for weights in a region; `sizes` are the shares now. What cannot be traded stays.

    `limits` are the mandate's within the region; `rate` is what a unit of trade costs, `fee` the least fee as a share of the
    account.
    """
    assert bar.lots is not None
    found = round_lots(
        weights,
        sizes / lot,
        bar.lots,
        metric,
        model.index_variance,
        limits,
        support=region.upper > 0.0,
        can_buy=bar.can_buy,
        can_sell=bar.can_sell,
        total=region.total,
        turnover=region.turnover,
        cost_rate=rate,
        fee=fee,
        error=model.tracking_error or None,
    )
    return np.where(bar.can_sell, found * lot, sizes)


def mended_lots(
    weights: FloatArray,
    region: Region,
    lots: FloatArray,
    sizes: FloatArray,
    lot: float,
    rate: FloatArray | float,
    fee: float,
    idle: float,
) -> FloatArray | None:
    """Shares for weights that differ from what is held in a few names only: sells in one lot more, buys in one less than would be
    exact, so that all caps hold. None where that is not enough for a limit, would leave odd lots, or more than the idle cash.
    """
    if weights is region.held:
        return sizes
    change = weights - region.held
    trades = np.where(change < 0.0, -np.ceil(-change / lots - WHOLE), np.floor(change / lots + WHOLE))
    change = trades * lots
    after = region.held + change
    low = np.logical_or.reduce((after < region.lower - EXACT) | ((after > 0.0) & (after < lots - EXACT)))
    traded, costs = np.abs(change), 0.0
    if fee or np.any(rate):
        costs = float((rate * traded).sum()) + fee * float(np.count_nonzero(trades))
    left = region.total - float(after.sum())
    if low or float(traded.sum()) > region.turnover or not costs - EXACT <= left <= max(idle, costs):
        return None
    found = sizes + lot * trades
    return None if np.logical_or.reduce(np.abs(found / lot - np.rint(found / lot)) > WHOLE) else np.rint(found / lot) * lot
