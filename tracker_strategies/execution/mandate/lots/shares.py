"""Whole lots within what is allowed on one bar."""

from __future__ import annotations

import numpy as np

from tracker_strategies.execution.mandate.limits import BarLimits, FloatArray, Limits, Region
from tracker_strategies.execution.mandate.lots.rounding import round_lots
from tracker_strategies.execution.mandate.metric import ErrorModel, Metric


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
