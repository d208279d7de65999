"""Weights of the index that a user has: for the first bar, or one row per date."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import OnlineAlgorithm, ShareCounts
from tracker_strategies.algorithms.wrapper import learners_within
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.gate import Bar
from tracker_strategies.execution.mandate.binding import unknown
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]
COLUMNS = ("symbol", "weight")
_FORMS = "a mapping from symbols to weights, a table with one row per date, or a CSV file with columns symbol, weight and date"


@dataclass(frozen=True, eq=False)
class Published:
    """Weights of the index.

    Attributes
    ----------
    dates : tuple of str
        ISO dates, in order; none where one row holds from the first bar on.
    rows : tuple of ndarray, shape (N,)
        One for each date.
    """

    dates: tuple[str, ...]
    rows: tuple[FloatArray, ...]

    @property
    def at_start(self) -> FloatArray | None:
        """Weights that are known before the first bar; None where they are dated."""
        return None if self.dates else self.rows[0]

    def new(self, before: Any, now: Any) -> FloatArray | None:
        """The latest row after a date (None: of all) and up to another one; None if there is none."""
        first, last = "" if before is None else _day(before), _day(now)
        found = [row for date, row in zip(self.dates, self.rows, strict=True) if first < date <= last]
        return found[-1] if found else None


class InformedTracker(Tracker):
    """A tracker whose learner is told published weights on the first bar that is not before their date."""

    published: Published

    @classmethod
    def of(cls, tracker: Tracker, published: Published) -> Self:
        """The same tracker, told."""
        told = object.__new__(cls)
        vars(told).update(vars(tracker))
        told.published = published
        return told

    def observe(self, bar: Bar) -> bool:
        """Learn from a bar as every tracker, then take the weights of its date."""
        before = self._base
        due = super().observe(bar)
        if self._base is bar:
            weights = self.published.new(None if before is None else before.date, bar.date)
            if weights is not None:
                _stack_in(self.algorithm).publish(weights)
        return due


def _stack_in(algorithm: OnlineAlgorithm) -> ShareCounts:
    return next(each for each in (algorithm, *learners_within(algorithm)) if isinstance(each, ShareCounts))


def published_weights(given: Any, symbols: tuple[str, ...]) -> Published | None:
    """Weights of the index in the order of the symbols, from any form in which they may be given; None for none.

    Raises
    ------
    ParameterError
        They name something that is no asset, are negative or no numbers, or sum to nothing.
    """
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        return _from_rows(_read(given), symbols)
    if hasattr(given, "iterrows"):  # a table of pandas, which need not be imported to know it
        return _from_rows({index: row.dropna().to_dict() for index, row in given.iterrows()}, symbols)
    if not isinstance(given, Mapping) or not given:
        raise ParameterError(f"prior_weights={given!r} must be {_FORMS}")
    if all(isinstance(row, Mapping) for row in given.values()):
        return _from_rows(given, symbols)
    return Published((), (_row(given, symbols, "prior_weights"),))


def plain_weights(given: Any, symbols: tuple[str, ...]) -> dict[str, Any]:
    """The same as mappings, which JSON can hold: from symbols to weights, or from dates to those."""
    found = published_weights(given, symbols)
    assert found is not None
    rows = [dict(zip(symbols, row.tolist(), strict=True)) for row in found.rows]
    return dict(zip(found.dates, rows, strict=True)) if found.dates else rows[0]


def _from_rows(rows: Mapping[Any, Mapping[Any, Any]], symbols: tuple[str, ...]) -> Published:
    if set(rows) == {""}:
        return Published((), (_row(rows[""], symbols, "prior_weights"),))
    dated = sorted((_day(date), row) for date, row in rows.items())
    dates = tuple(date for date, _ in dated)
    return Published(dates, tuple(_row(row, symbols, f"prior_weights of {date}") for date, row in dated))


def _row(given: Mapping[Any, Any], symbols: tuple[str, ...], what: str) -> FloatArray:
    for name in given:
        if name not in symbols:
            raise ParameterError(unknown(f"{what} name", str(name), symbols, "assets"))
    try:
        row = np.array([float(given.get(symbol, 0.0)) for symbol in symbols])
    except (TypeError, ValueError):
        row = np.array([np.nan])
    if not (np.isfinite(row).all() and row.min() >= 0.0 and row.sum() > 0.0):
        raise ParameterError(f"{what} must be numbers >= 0 with a positive sum, got {_short(given)}")
    return row


def _read(path: Any) -> dict[str, dict[str, float]]:
    """Rows by date from a CSV file; the date is empty where the file has none."""
    import pandas as pd

    try:
        table = pd.read_csv(path, dtype={"symbol": str, "date": str}, keep_default_na=False)
        if not set(COLUMNS) <= set(table.columns):
            raise ValueError(f"its columns are {', '.join(map(str, table.columns))}")
        dates = table["date"] if "date" in table else [""] * len(table)
        rows: dict[str, dict[str, float]] = {}
        for date, symbol, weight in zip(dates, table["symbol"], table["weight"], strict=True):
            if symbol in rows.setdefault(date, {}):
                raise ValueError(f"{symbol} stands twice" + (f" on {date}" if date else ""))
            rows[date][symbol] = weight
        if not rows:
            raise ValueError("it is empty")
    except (OSError, ValueError) as problem:
        raise ParameterError(f"prior_weights={str(path)!r} cannot be read: {problem}; it must be {_FORMS}") from None
    return rows


def _day(date: Any) -> str:
    """A date as ISO text."""
    try:
        return str(np.datetime64(date, "D"))
    except (TypeError, ValueError):
        raise ParameterError(f"prior_weights has a row for {date!r}, which is no date such as 2024-01-31") from None


def _short(given: Mapping[Any, Any]) -> str:
    shown = ", ".join(f"{name}: {value!r}" for name, value in list(given.items())[:3])
    return f"{{{shown}, ...}}" if len(given) > 3 else f"{{{shown}}}"
