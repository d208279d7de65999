"""The log of fills as a table, and date numbers of backtrader as dates."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from typing import Any

import backtrader as bt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracker_strategies.execution.order_route import FillColumns

ORDER_COLUMNS = ("date", "symbol", "size", "price", "value", "commission")


def bar_dates(numbers: Any) -> NDArray[np.datetime64]:
    """Dates, nanoseconds since 1970 (an array of integers) or date numbers of backtrader, as dates; whole days, the usual case,
    without a loop.
    """
    if isinstance(numbers, array) and numbers.typecode == "q":
        return np.array(numbers, dtype=np.int64).view("datetime64[ns]")
    if len(numbers) and isinstance(numbers[0], np.datetime64):
        return np.array(numbers, dtype="datetime64[ns]")
    days = np.asarray(numbers, dtype=np.float64)
    if (days == np.floor(days)).all():
        return (days.astype(np.int64) - 719163).astype("datetime64[D]").astype("datetime64[ns]")
    return np.array([np.datetime64(bt.num2date(x).replace(tzinfo=None), "ns") for x in days], dtype="datetime64[ns]")


def order_table(log: Sequence[FillColumns], symbols: Sequence[str]) -> pd.DataFrame:
    """Fills as a table, one row each."""
    if not log:
        return _no_orders().copy()
    asset, when, size, price, fee = (np.concatenate(column) for column in zip(*log, strict=True))
    names = np.array(symbols, dtype=object)[asset]
    columns = (bar_dates(when), names, size, price, np.abs(size) * price, fee)
    return pd.DataFrame(dict(zip(ORDER_COLUMNS, columns, strict=True)))


@cache
def _no_orders() -> pd.DataFrame:
    """The table without rows. pandas takes a millisecond to make it, which counts in a sweep."""
    none = FillColumns(np.zeros(0, dtype=np.int64), *(np.zeros(0) for _ in range(4)))
    return order_table([none], ())
