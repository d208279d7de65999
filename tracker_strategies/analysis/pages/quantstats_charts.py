"""Charts of our own in the place of those that QuantStats draws wrongly, and what the axes of its charts show."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from tracker_strategies.analysis.pages import charts
from tracker_strategies.analysis.pages.charts import INDEX, PORTFOLIO, Chart

#: What the axes of its charts show, across and up.
AXES = {
    "Monthly returns, %": ("Month", "Year"),
    "Distribution of monthly returns": ("Return of a month", "Number of months"),
    "Five longest drawdowns": ("Date", "Cumulated return"),
    "Return quantiles": ("Length of the period", "Return of a period"),
    "Under water": ("Date", "Drawdown"),
    "Rolling volatility, half a year": ("Date", "Volatility, annualised"),
    "Rolling Sharpe ratio, half a year": ("Date", "Sharpe ratio"),
    "Rolling Sortino ratio, half a year": ("Date", "Sortino ratio"),
}


#: What the titles of charts over the last half year end with.
HALF_YEAR = ", half a year"


def half_year(periods_per_year: float) -> int:
    """Bars in half a year, over which rolling figures are taken."""
    return max(3, math.ceil(periods_per_year / 2))


def calendar_years(value: pd.Series[float], index: pd.Series[float], number: int = 0) -> Chart:
    """Return of each calendar year, index and portfolio side by side."""
    dates = pd.DatetimeIndex(value.index)
    logs = pd.DataFrame({"value": np.log(value.to_numpy()), "index": np.log(index.to_numpy())}, dates)
    years: Any = np.expm1(logs.diff().iloc[1:].groupby(dates[1:].year).sum())
    figure, (ax,) = charts.panels(height=305, dates=False)
    x = np.arange(len(years))
    ax.bar(x - 0.2, years["index"], width=0.38, color=INDEX)
    ax.bar(x + 0.2, years["value"], width=0.38, color=PORTFOLIO)
    ax.axhline(0.0, color=charts.SOFT, linewidth=0.8)
    ax.margins(x=0.02)
    step = math.ceil(len(x) / 8)
    ax.set_xticks(x[::step], [str(year) for year in years.index[::step]])
    charts.percent_axis(ax.yaxis)
    legend = (("Portfolio", PORTFOLIO), ("Index", INDEX))
    return charts.finish(
        figure, "Return by calendar year", legend, y="Return", x="Year; index left, portfolio right", number=number
    )


def rolling_beta(value: pd.Series[float], index: pd.Series[float], periods_per_year: float, number: int = 0) -> Chart | None:
    """Beta to the index over the last half year; none when the run is not longer than that."""
    window = half_year(periods_per_year)
    r, y = value.pct_change(fill_method=None), index.pct_change(fill_method=None)
    beta = (r.rolling(window).cov(y) / y.rolling(window).var()).replace([np.inf, -np.inf], np.nan).dropna()
    if len(beta) < 2:
        return None
    figure, (ax,) = charts.panels(height=224)
    charts.curve(ax, charts.day_numbers(beta.index.to_numpy()), beta.to_numpy(), PORTFOLIO)
    ax.axhline(1.0, color=INDEX, linewidth=1.4, linestyle=charts.pattern(INDEX))
    legend = (("Portfolio", PORTFOLIO), ("Index", INDEX))
    return charts.finish(figure, "Rolling beta, half a year", legend, y="Beta to the index", number=number)
