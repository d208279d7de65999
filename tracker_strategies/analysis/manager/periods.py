"""Tracking difference and tracking error of years and months, as fund issuers publish them.

Returns of a period are compounded and time-weighted, over its scored bars; the tracking difference is the account's minus the
index's. Over several years both are annualised first. The tracking error is the sample standard deviation of the active returns
per bar, annualised with the square root of time. A bar belongs to the period of its date. Where the index has no level on a bar,
the bar counts with the next one that has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import DataError, ParameterError

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
COLUMNS = ("first", "last", "n_bars", "whole", "portfolio", "index", "tracking_difference", "tracking_error")


def scored_returns(record: RunRecord, target: int | None = None) -> pd.DataFrame:
    """Returns of account and index on the scored bars, by the date on which each ends; ``attrs["base"]`` is the close before.

    Raises
    ------
    DataError
        No bar is scored.
    """
    part = record.part
    dates = part.dates[part._seen_rows(target)[1]]
    if len(dates) < 2:
        raise DataError(f"no bar of {record.strategy} is scored: there is nothing to show")
    r, y = record.scored(target)
    frame = pd.DataFrame({"portfolio": r, "index": y}, index=pd.DatetimeIndex(dates[1:], name="date"))
    frame.attrs["base"] = pd.Timestamp(dates[0])
    return frame


def calendar_years(record: RunRecord, target: int | None = None) -> pd.DataFrame:
    """One row per calendar year, with the index named year.

    Columns: ``first`` and ``last`` scored bar, ``n_bars``, ``whole`` (False where the year began before the scoring, or is not
    over at the last bar), total returns ``portfolio`` and ``index``, ``tracking_difference``, ``tracking_error``.
    """
    frame = scored_returns(record, target)
    base, end = frame.attrs["base"], frame.index[-1]
    rows = {}
    years = _years(frame)
    for year in np.unique(years).tolist():
        # A year is whole when the scoring began before its first bar can have been, and the data go to its last days.
        whole = base < pd.Timestamp(year, 1, 8) and end >= pd.Timestamp(year, 12, 24)
        rows[year] = _row(frame[years == year], record.periods_per_year, whole=whole, annualise=False)
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS)).rename_axis("year")


def trailing_years(record: RunRecord, years: Sequence[int] = (1, 3, 5), target: int | None = None) -> pd.DataFrame:
    """One row per number of years back from the last bar, and one for all scored bars, with the index named period.

    Columns as for :func:`calendar_years`; returns, tracking difference and tracking error are per year. A period longer than what
    is scored has no figures: no shorter one takes its place. Less than a year is not annualised.
    """
    if not all(isinstance(n, int) and n >= 1 for n in years):
        raise ParameterError(f"years={years!r} must be whole numbers >= 1")
    frame = scored_returns(record, target)
    base, end = frame.attrs["base"], frame.index[-1]
    rows = {}
    for n in years:
        begins = end - pd.DateOffset(years=n)
        name = f"{n} year{'s' * (n > 1)}"
        if base > begins + pd.Timedelta(days=4):  # the close before may lie behind a weekend
            rows[name] = [pd.NaT, pd.NaT, 0, False, *[math.nan] * 4]
        else:
            rows[name] = _row(frame[frame.index > begins], record.periods_per_year, whole=True, annualise=True)
    rows["all"] = _row(frame, record.periods_per_year, whole=True, annualise=True)
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS)).rename_axis("period")


def monthly_active(record: RunRecord, target: int | None = None) -> pd.DataFrame:
    """Return of the account minus that of the index by year and month, NaN where nothing is scored; and the year as a column."""
    frame = scored_returns(record, target)
    grown = (1.0 + frame).groupby([_years(frame), pd.DatetimeIndex(frame.index).month.to_numpy()]).prod()
    table = (grown["portfolio"] - grown["index"]).unstack().reindex(columns=range(1, 13)).set_axis(list(MONTHS), axis=1)
    yearly = (1.0 + frame).groupby(_years(frame)).prod()
    return table.assign(year=yearly["portfolio"] - yearly["index"]).rename_axis("year")


def _years(frame: pd.DataFrame) -> NDArray[np.int32]:
    return np.asarray(pd.DatetimeIndex(frame.index).year)


def _row(own: pd.DataFrame, periods_per_year: float, *, whole: bool, annualise: bool) -> list[object]:
    growth = np.log1p(own.to_numpy()).sum(axis=0)
    if annualise and len(own) > periods_per_year:
        growth *= periods_per_year / len(own)
    portfolio, index = np.expm1(growth).tolist()
    active = (own["portfolio"] - own["index"]).to_numpy()
    error = float(active.std(ddof=1)) * math.sqrt(periods_per_year) if len(active) > 1 else math.nan
    return [own.index[0], own.index[-1], len(own), whole, portfolio, index, portfolio - index, error]
