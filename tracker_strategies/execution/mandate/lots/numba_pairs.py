"""Compiled by numba: whether a sell and a buy together may be worth their price, which on a quiet bar is all there is to know."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64, types

from tracker_strategies.algorithms.numerics.numba_compiling import IN, TABLE, compiled
from tracker_strategies.execution.mandate.limits import FloatArray, IndexArray

PLACES = types.Array(int64, 1, "C", readonly=True)


@compiled(PLACES, PLACES, IN, IN, IN, IN, IN, IN, IN, IN, TABLE, float64, float64)
def _pays(
    out: IndexArray, into: IndexArray, sell: FloatArray, buy: FloatArray, value: FloatArray, room: FloatArray, moved: FloatArray,
    slope: FloatArray, curve: FloatArray, price: FloatArray, loads: FloatArray, fee_price: float, trifle: float,
) -> bool:  # fmt: skip
    for i in out:
        for j in into:
            shared = 0.0
            for k in range(loads.shape[1]):
                shared += loads[i, k] * loads[j, k]
            ratio = value[j] / value[i]
            for many in (False, True):
                less, more = sell[i], buy[j]
                if many:
                    less, more = min(max(np.rint(buy[j] * ratio), sell[i]), room[i]), max(np.rint(sell[i] / ratio), buy[j])
                a, b = less * value[i], more * value[j]
                change = a * (a * curve[i] - slope[i]) + b * (b * curve[j] + slope[j]) - 2.0 * a * b * shared
                change += (abs(moved[i] - less) - abs(moved[i])) * price[i] + (abs(moved[j] + more) - abs(moved[j])) * price[j]
                change += fee_price * ((1.0 if moved[i] == 0.0 else 0.0) - (1.0 if moved[i] == less else 0.0))
                change += fee_price * ((1.0 if moved[j] == 0.0 else 0.0) - (1.0 if moved[j] == -more else 0.0))
                if change < -trifle:
                    return True
    return False


def pays(*given: Any) -> bool:
    """Return whether a pair of names to sell and names to buy lowers the squared error by more than its price and a trifle.

    Limits do not count here. The pairs are those of the search: the next lot of each, and as many of the cheaper one as make up
    for the other.

    Parameters
    ----------
    out, into : int
        Positions of names to sell and to buy.
    sell, buy : (N,) float
        Lots that the next sell and the next buy move.
    value, room : (N,) float
        Value of a lot, and lots that may be sold at most.
    moved : (N,) float
        Lots bought so far.
    slope, curve, price, fee_price, trifle
        As in the search; `loads` is (N, m).
    """
    try:
        return bool(_pays(*given))
    except TypeError:  # not contiguous: rare, and a test for it would cost every call; numpy shall look
        return True
