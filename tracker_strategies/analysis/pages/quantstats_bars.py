"""Bars that QuantStats can describe: it takes every return for that of a day, and says so in the names of its rows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from datafeeds.bar_length import BarLength

#: Its rows about days, and about months, with what takes the place of the day in their names.
_DAYS = {
    "Expected Daily": "Expected {ly}",
    "Daily Value-at-Risk": "{ly} Value-at-Risk",
    "Best Day": "Best {unit}",
    "Worst Day": "Worst {unit}",
    "Win Days": "Win {unit}s",
}
_MONTHS = ("Expected Monthly", "Gain/Pain (1M)", "Best Month", "Worst Month", "Avg. Up Month", "Avg. Down Month", "Win Month")


def daily_levels(levels: pd.Series[float]) -> pd.Series[float]:
    """The last level of each day, from which returns of days are compounded; before them the first level of all, as the base."""
    days = pd.DatetimeIndex(levels.index).normalize()
    ends = np.r_[days[1:] != days[:-1], True]
    found = pd.Series(levels.to_numpy()[ends], days[ends])
    if days[0] == days[1]:  # the first day has returns of its own
        found = pd.concat([pd.Series(levels.to_numpy()[:1], days[:1] - pd.Timedelta(days=1)), found])
    return found


def rows_in_bars(page: str, length: BarLength) -> str:
    """The report with rows named by the bars that it was made from, and without rows about times that are shorter than a bar."""
    if length.intraday or length.unit == "day":  # it got days
        return page
    unit = "bar" if length.unit == "irregular" or length.size > 1 else length.unit
    ly = "Per-bar" if unit == "bar" else f"{unit.title()}ly"
    gone = _MONTHS if length.unit in ("quarter", "year") else ()
    for row, name in _DAYS.items():
        new = name.format(ly=ly, unit=unit.title())
        double = unit == "month" and "Value-at-Risk" not in row  # rows about months there are already
        page = _without(page, row) if double else page.replace(f"<td>{row}</td>", f"<td>{new}</td>")
    for row in gone:
        page = _without(page, row)
    return page


def _without(page: str, row: str) -> str:
    return re.sub(rf"<tr>\s*<td>{re.escape(row)}</td>.*?</tr>", "", page, count=1, flags=re.S)


def made_from(length: BarLength) -> str:
    """What the returns of the report are, as the end of a sentence."""
    if length.intraday:
        return f" from returns of days, compounded from {length.kind}"
    return f" from returns of {length.kind}"
