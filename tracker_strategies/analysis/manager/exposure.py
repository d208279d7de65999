r"""How closely a portfolio resembles its index: beta and R squared with intervals, active share and active weights.

With the returns r of the account and y of the index, :math:`\beta = \mathrm{cov}(r, y) / \mathrm{var}(y)` and
:math:`R^2 = \mathrm{corr}(r, y)^2`. Intervals are those of means over dependent bars, as for tracking errors
(:mod:`~tracker_strategies.analysis.inference.fixed_b`): that of beta from :math:`(y - \bar y)\epsilon`, that of the correlation
:math:`\rho` on Fisher's scale, artanh, from :math:`ab - \rho (a^2 + b^2)/2` with a and b the standardised returns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracker_strategies.analysis.inference.fixed_b import critical_value, standard_errors
from tracker_strategies.analysis.inference.objectives import LEVEL
from tracker_strategies.analysis.inference.verdicts import LEAST_BARS
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import DataError

FloatArray = NDArray[np.float64]


class Estimate(NamedTuple):
    """A figure and its 95 % interval; NaN where there are too few bars, or an index that does not move."""

    value: float
    low: float
    high: float


_UNKNOWN = Estimate(math.nan, math.nan, math.nan)


def beta(record: RunRecord, target: int | None = None, level: float = LEVEL) -> Estimate:
    """Slope of the account's return on that of the index, over the scored bars."""
    return beta_of(*record.scored(target), level)


def beta_of(r: FloatArray, y: FloatArray, level: float = LEVEL) -> Estimate:
    """The same of two series of returns."""
    moves, T = y - y.mean() if len(y) else y, len(y)
    square = float(moves @ moves) / max(T, 1)
    if T < LEAST_BARS or square == 0.0:
        return _UNKNOWN
    slope = float(moves @ r) / (T * square)
    rest = r - r.mean() - slope * moves
    reach = critical_value(T, level) * float(standard_errors((moves * rest)[None, :])[0]) / square
    return Estimate(slope, slope - reach, slope + reach)


def r_squared(record: RunRecord, target: int | None = None, level: float = LEVEL) -> Estimate:
    """Share of the variance of the account's return that the index explains, over the scored bars."""
    return r_squared_of(*record.scored(target), level)


def r_squared_of(r: FloatArray, y: FloatArray, level: float = LEVEL) -> Estimate:
    """The same of two series of returns."""
    T = len(y)
    if T < LEAST_BARS or r.std() == 0.0 or y.std() == 0.0:
        return _UNKNOWN
    a, b = (r - r.mean()) / r.std(), (y - y.mean()) / y.std()
    rho = float(a @ b) / T
    if abs(rho) >= 1.0 - 1e-15:
        return Estimate(1.0, 1.0, 1.0)
    error = float(standard_errors((a * b - 0.5 * rho * (a * a + b * b))[None, :])[0]) / (1.0 - rho * rho)
    reach = critical_value(T, level) * error
    low, high = math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach)
    ends = sorted((low * low, high * high))
    return Estimate(rho * rho, 0.0 if low < 0.0 < high else ends[0], ends[1])


def active_share(weights: FloatArray, index_weights: FloatArray) -> FloatArray:
    """(T,) half the sum of absolute active weights, cash included: 0 is the index, 1 has nothing in common with it.

    Both are (T, N), or (N,) for one moment; what a row lacks to 1 is cash in the account, and names that are not in the data in
    the index.
    """
    active = active_weights(weights, index_weights)
    rest = np.abs(1.0 - weights.sum(axis=-1)) + np.abs(1.0 - index_weights.sum(axis=-1))
    return np.asarray(0.5 * (np.abs(active).sum(axis=-1) + rest))


def active_weights(weights: FloatArray, index_weights: FloatArray) -> FloatArray:
    """Weights in the account minus those in the index, of the same shape."""
    if weights.shape != index_weights.shape:
        raise DataError(f"weights of shape {weights.shape} and index weights of shape {index_weights.shape} do not match")
    return np.asarray(weights - index_weights)


def largest_active(record: RunRecord, index_weights: FloatArray, most: int = 10) -> pd.DataFrame:
    """The names furthest from the index at the last close: ``weight``, ``index``, ``active``."""
    last = record.weights[-1]
    active = active_weights(last, index_weights)
    order = np.argsort(-np.abs(active), kind="stable")[:most]
    columns = {"weight": last[order], "index": index_weights[order], "active": active[order]}
    return pd.DataFrame(columns, index=pd.Index([record.symbols[i] for i in order], name="name"))
