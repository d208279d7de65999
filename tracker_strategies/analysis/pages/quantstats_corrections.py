"""What QuantStats states wrongly about a tracker, put right or left out.

- A drawdown that lasts to the end of the run is given the last date as its recovery.
- R^2 and information ratio compare the portfolio with the index, and are repeated in the column of the index.
- "Risk-Adjusted Return" is the yearly return over the share of bars with any return: for an account that is always invested
  it repeats the yearly return, and after an entry in cash it exceeds it several times.
- Its information ratio is per bar and not annualised, its recovery factor has no sign.
- Treynor ratio, ulcer performance index and serenity index divide the return of the whole run, not that of a year: they grow with
  its length.
- "3Y", "5Y" and "10Y" are 35, 59 and 119 months, "1Y" has a day too many, "All-time" repeats the yearly return. The page has a
  table of 1, 3 and 5 years of its own.
"""

from __future__ import annotations

import re

import pandas as pd

#: Rows that say nothing, or something wrong, about an account that is always invested.
_LEFT_OUT = (
    "Risk-Adjusted Return",
    "Information Ratio",
    "Recovery Factor",
    "Time in Market",
    "Risk of Ruin",
    "Treynor Ratio",
    "Ulcer Performance Index",
    "Serenity Index",
    "1Y",
    "3Y (ann.)",
    "5Y (ann.)",
    "10Y (ann.)",
    "All-time (ann.)",
)
#: Rows that compare the portfolio with the index: the index has none of its own.
_AGAINST_INDEX = ("R^2",)
NOT_YET = "not yet"


def corrected(page: str, value: pd.Series[float], index: pd.Series[float]) -> str:
    """The rendered report with its wrong statements put right. Columns are Index, then Portfolio."""
    dates = pd.DatetimeIndex(value.index)
    for row in _LEFT_OUT:
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
