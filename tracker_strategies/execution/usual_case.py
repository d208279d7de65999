"""The usual case of a rebalance: every name trades, shares are fractions of any size, and costs are a share of the value traded.

Then the plan at the factor s* of :mod:`~tracker_strategies.execution.rebalancer`, and what is left of it at other prices, take a
handful of sums. They are asked for on every bar.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dasum, daxpy, ddot, dscal

from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.sums import DUST, affordable_scale, ones

FloatArray = NDArray[np.float64]
Outcome = tuple[float, float, float]

ZERO, ONE, TINY = np.zeros(()), np.ones(()), np.array(DUST)  # spare numpy the conversion
INF = math.inf
#: What sums of sizes may differ from plain sums by rounding; more of it is a number below zero. And the largest sum of weights.
ROUNDING, MOST = 1e-12, 1.0 + 1e-9
#: Debt so deep, in values of the account, that rounding could sell more than is held.
DEEP = 1e3


def plan_of_all(weights: FloatArray, sizes: FloatArray, prices: FloatArray, cash: float, costs: CostModel) -> FloatArray | None:
    """Shares to buy and sell for these weights; None if that cannot be paid for when rid of dust, and for numbers that are not
    those of a long-only account.

    All is worked out in fractions of the account.
    """
    held = sizes * prices
    shape = held.shape
    if not (weights.shape == shape == prices.shape and held.size):
        return None
    unit = ones(shape[0])
    have, whole = ddot(held, unit), ddot(weights, unit)
    value, (even, odd) = cash + have, costs.even_odd
    if not (0.0 < value < INF and have < DEEP * value and whole <= MOST and dasum(held) <= have + ROUNDING * have):
        return None
    least = weights.item(weights.argmin())
    if least < 0.0 and dasum(weights) > whole + ROUNDING:
        return None
    held, have = dscal(1.0 / value, held), have / value
    s, gap, size, gross = affordable_scale(weights, held, whole, have, 1.0 - DUST, even, odd)
    change: FloatArray = gap / prices
    change = dscal(value, change)
    if least <= DUST:
        none = weights <= TINY
        np.putmask(change, none, ZERO - sizes)  # a target below rounding is none, and its position is sold in full
        np.putmask(size, none, ONE)
    # What the search for s has added up tells what the plan costs, unless a change is below rounding, and then no trade.
    if size.item(size.argmin()) <= DUST:
        change[size <= DUST] = 0.0
    elif cash / value - (1.0 + odd) * (s * whole - have) - even * gross >= 0.5 * DUST and dasum(change) < INF:
        return change
    return change if cash + costs.cash_flow(change, prices) >= 0.0 else None


def shrunk(deltas: FloatArray, prices: FloatArray, cash: float, costs: CostModel) -> tuple[FloatArray, Outcome]:
    """These orders at other prices, buys by one common factor if the cash no longer suffices; and what they do there: change of
    cash, value traded and costs. The caller has seen to it that no sell is larger than what is held.
    """
    n = len(deltas)
    if not n:
        return deltas, costs.charged(0.0, 0.0)
    buys = np.maximum(deltas, ZERO)
    bought: float = ddot(buys, prices)
    sold = bought - ddot(deltas, prices)
    takes, brings = costs.sides
    need, room = takes * bought, cash + brings * sold - 0.1 * DUST * (abs(cash) + bought + sold)
    if need <= room:
        return deltas, costs.charged(bought - sold, bought + sold)
    s = max(0.0, room / need) if need > 0.0 else 0.0
    some = deltas.copy()
    daxpy(buys, some, a=s - 1.0)
    return some, costs.charged(s * bought - sold, s * bought + sold)
