"""What QuantStats states wrongly about a tracker, put right or left out.

- A drawdown that lasts to the end of the run is given the last date as its recovery.
- R^2 and information ratio compare the portfolio with the index, and are repeated in the column of the index.
- "Risk-Adjusted Return" is the yearly return over the share of bars with any return: for an account that is always invested
  it repeats the yearly return, and after an entry in cash it exceeds it several times.
- Its information ratio is per bar and not annualised, its recovery factor has no sign.
- Returns of 3, 5 and 10 years repeat the whole period where the run is shorter.
"""

from __future__ import annotations

import re

import pandas as pd

#: Rows that say nothing, or something wrong, about an account that is always invested.
_LEFT_OUT = ("Risk-Adjusted Return", "Information Ratio", "Recovery Factor", "Time in Market", "Risk of Ruin")
#: Rows that compare the portfolio with the index: the index has none of its own.
_AGAINST_INDEX = ("R^2",)
_YEARS = {"3Y (ann.)": 3, "5Y (ann.)": 5, "10Y (ann.)": 10}
NOT_YET = "not yet"


def corrected(page: str, value: pd.Series[float], index: pd.Series[float]) -> str:
    """The rendered report with its wrong statements put right. Columns are Index, then Portfolio."""
    dates = pd.DatetimeIndex(value.index)
    years = (dates[-1] - dates[0]).days / 365.25
    for row in (*_LEFT_OUT, *(name for name, least in _YEARS.items() if years < least)):
        page = re.sub(rf"<tr><td>{re.escape(row)}</td>.*?</tr>\n?", "", page, count=1)
    for row in _AGAINST_INDEX:
        page = re.sub(rf"(<tr><td>{re.escape(row)}</td>)<td>[^<]*</td>", r"\1<td>-</td>", page, count=1)
    last = f"{dates[-1]:%Y-%m-%d}"
    below = [bool(levels.iloc[-1] < levels.max()) for levels in (index, value)]

    def ends(found: re.Match[str]) -> str:
        cells = [NOT_YET if day == last and under else day for day, under in zip((found[2], found[3]), below, strict=True)]
        return f"{found[1]}<td>{cells[0]}</td><td>{cells[1]}</td>"

    page = re.sub(r"(<tr><td>Max DD Period End</td>)<td>([^<]*)</td><td>([^<]*)</td>", ends, page, count=1)
    if below[1]:
        page = re.sub(rf"(<tr><td>\d{{4}}-\d\d-\d\d</td>)<td>{last}</td>(<td>-)", rf"\1<td>{NOT_YET}</td>\2", page)
    return page
