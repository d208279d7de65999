"""Weights of the index that a user knows, from any form in which they may be given: what they are on which bar.

A row counts from the bar after its date: weights of a date are those at its close, and are not known before.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds.errors import DataError, DataWarning
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.holdings.spelling import Spelling
from tracker_strategies.execution.mandate.binding import unknown

FloatArray = NDArray[np.float64]
#: Sums of weights that are taken for the whole of an index: files round, and leave out what they do not hold.
LEAST_SUM, MOST_SUM = 0.98, 1.02
_FORMS = (
    "a mapping of symbol to weight, a mapping of date to such a mapping, a table with one row per date, or a file with columns "
    "symbol, weight and date"
)


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
        """The latest row that counts on the bar of a date, and did not on the bar of the date before (None: there was none)."""
        first, last = "" if before is None else _day(before), _day(now)
        found = [row for date, row in zip(self.dates, self.rows, strict=True) if first <= date < last]
        return found[-1] if found else None

    def among(self, symbols: tuple[str, ...], names: tuple[str, ...]) -> Published:
        """The same for some of the names, in their order, scaled to sum 1."""
        place = [symbols.index(name) for name in names]
        rows = []
        for date, row in zip(self.dates or ("",), self.rows, strict=True):
            some = row[place]
            if not some.sum() > 0.0:
                raise ParameterError(
                    f"the mandate excludes every name in index_weights{f' of {date}' if date else ''}; exclude fewer names"
                )
            rows.append(some / some.sum())
        return Published(self.dates, tuple(rows))


def index_weights(given: Any, symbols: tuple[str, ...]) -> Published:
    """Dated weights of the index from any form in which a param may have them; a :class:`DataWarning` says what was rescaled."""
    plain, notes = settled_weights(given, symbols)
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=2)
    return Published(tuple(plain), tuple(np.array([row.get(name, 0.0) for name in symbols]) for row in plain.values()))


def settled_weights(
    given: Any, symbols: tuple[str, ...], known_from: Any = None, *, today: Any = None, spelling: Spelling | None = None
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Weights of the index by date, each row of sum 1, and what was done to them, in sentences.

    Parameters
    ----------
    given : mapping, table of pandas, or path
    symbols : tuple of str
        Names that can be held. Others are left out, as long as the rest is an index.
    known_from : date, optional
        The first day at whose close weights without a date were known: they are taken for those of the close before.
    today : date, optional
        The same, where nothing else was said.
    spelling : Spelling, optional
        How brokers write the names of the data: an index may be published with BRK.B for BRK-B.

    Raises
    ------
    ParameterError
        Weights without a date and no `known_from`, or with both; a sum outside 0.98 to 1.02; weights that are no numbers >= 0.
    """
    rows = _rows(given, "index_weights")
    if "" in rows and known_from is None and today is None:
        raise ParameterError(
            "index_weights have no date, so a backtest cannot know when they became known; add a column date (or write "
            "{date: weights}), or give the date with --weights-known-from DATE"
        )
    if "" not in rows and known_from is not None:
        raise ParameterError(
            f"index_weights have their own dates, so --weights-known-from {known_from} would have no effect; omit it"
        )
    if "" in rows:  # a row counts from the bar after its date
        known = np.datetime64(_day(today if known_from is None else known_from))
        rows = {str(known - np.timedelta64(1, "D")): rows[""]}
    rows, renamed = _as_in_the_data(rows, symbols, spelling or Spelling())
    found: dict[str, dict[str, float]] = {}
    sums, outside = [], dict[str, float]()
    for date, row in sorted((_day(date), row) for date, row in rows.items()):
        what = f"index_weights of {date}"
        _checked(row, what)
        mine = {name: float(row[name]) for name in symbols if row.get(name)}
        away = {name: float(value) for name, value in row.items() if name not in symbols and value}
        total, whole = sum(mine.values()), sum(mine.values()) + sum(away.values())
        if not LEAST_SUM - 1e-9 <= total <= MOST_SUM + 1e-9:
            raise ParameterError(_bad_sum(what, total, whole, away))
        for name, value in away.items():
            outside[name] = max(outside.get(name, 0.0), value)
        if abs(total - 1.0) > 1e-9:
            sums.append(total)
        found[date] = {name: value / total for name, value in mine.items()}
    notes = []
    if renamed:
        notes.append("index weights: " + ", ".join(f"{name} is {own} in the data" for name, own in list(renamed.items())[:5]))
    if outside:
        some = ", ".join(list(outside)[:5]) + (", ..." if len(outside) > 5 else "")
        many = f"{len(outside)} names are" if len(outside) > 1 else "1 name is"
        notes.append(f"index weights: {many} not among the {len(symbols)} assets and left out: {some}")
    if sums:
        span = f"{min(sums):.6g}" if len(sums) == 1 else f"{min(sums):.6g} to {max(sums):.6g} on {len(sums)} dates"
        notes.append(f"index weights: they sum to {span} and were rescaled to 1")
    return found, notes


def _as_in_the_data(
    rows: Mapping[Any, Mapping[Any, Any]], symbols: tuple[str, ...], spelling: Spelling
) -> tuple[dict[Any, Mapping[Any, Any]], dict[str, str]]:
    """Rows with names as the data spell them, and which were spelt in another way."""
    among, called, renamed = frozenset(symbols), dict[Any, Any](), dict[str, str]()
    for name in {name: None for row in rows.values() for name in row}:
        called[name] = (spelling.known(name, among) if isinstance(name, str) else None) or name
        if called[name] != name:
            renamed[name] = called[name]
    for row in rows.values() if renamed else ():
        first: dict[Any, Any] = {}
        for name in row:
            if (other := first.setdefault(called[name], name)) != name:
                raise ParameterError(f"index_weights contain {name} and {other}, which are one name; keep one")
    return {date: {called[name]: weight for name, weight in row.items()} for date, row in rows.items()}, renamed


def _bad_sum(what: str, total: float, whole: float, away: Mapping[str, float]) -> str:
    if away and LEAST_SUM <= whole <= MOST_SUM:
        some = ", ".join(list(away)[:5]) + (", ..." if len(away) > 5 else "")
        many = f"{len(away)} names" if len(away) > 1 else "a name"
        return (
            f"{what} sum to {total:.6g} over the assets of the data: {many} with {whole - total:.6g} of the index without prices "
            f"({some}); add their prices, or leave them out and scale the rest to 1"
        )
    hint = "; are they in percent? divide by 100" if 98.0 <= whole <= 102.0 else ""
    return f"{what} sum to {total:.6g}; weights of an index sum to 1, and {LEAST_SUM} to {MOST_SUM} are rescaled{hint}"


def published_weights(given: Any, symbols: tuple[str, ...]) -> Published | None:
    """The param ``prior_weights``, of any positive sum, in the order of the symbols; None for none.

    Raises
    ------
    ParameterError
        They name something that is no asset, are negative or no numbers, or sum to nothing.
    """
    if given is None:
        return None
    rows = _rows(given, "prior_weights")
    if set(rows) == {""}:
        return Published((), (_row(rows[""], symbols, "prior_weights"),))
    dated = sorted((_day(date), row) for date, row in rows.items())
    return Published(tuple(date for date, _ in dated), tuple(_row(r, symbols, f"prior_weights of {date}") for date, r in dated))


def plain_weights(given: Any, symbols: tuple[str, ...]) -> dict[str, Any]:
    """``prior_weights`` as mappings, which JSON can hold: from symbols to weights, or from dates to those."""
    found = published_weights(given, symbols)
    assert found is not None
    rows = [dict(zip(symbols, row.tolist(), strict=True)) for row in found.rows]
    return dict(zip(found.dates, rows, strict=True)) if found.dates else rows[0]


def _rows(given: Any, what: str) -> dict[Any, Mapping[Any, Any]]:
    """Rows by date, from any form; the date is empty where there is none."""
    if isinstance(given, str | os.PathLike):
        from datafeeds import read_index_weights

        try:
            return dict(read_index_weights(given))
        except (DataError, OSError) as problem:
            raise ParameterError(f"{what}={str(given)!r} cannot be read: {problem}") from None
    if hasattr(given, "iterrows"):  # a table of pandas, which need not be imported to know it
        return {index: row.dropna().to_dict() for index, row in given.iterrows()}
    if not isinstance(given, Mapping) or not given:
        raise ParameterError(f"{what}={given!r} must be {_FORMS}")
    return dict(given) if all(isinstance(row, Mapping) for row in given.values()) else {"": given}


def _row(given: Mapping[Any, Any], symbols: tuple[str, ...], what: str) -> FloatArray:
    for name in given:
        if name not in symbols:
            raise ParameterError(unknown(f"{what} contain", str(name), symbols, "assets"))
    _checked(given, what)
    return np.array([float(given.get(symbol, 0.0)) for symbol in symbols])


def _checked(given: Mapping[Any, Any], what: str) -> None:
    try:
        row = np.array([float(value) for value in given.values()])
    except (TypeError, ValueError):
        row = np.array([np.nan])
    if not (row.size and np.isfinite(row).all() and row.min() >= 0.0 and row.sum() > 0.0):
        raise ParameterError(f"{what} must be numbers >= 0 with a positive sum, got {_short(given)}")


def _day(date: Any) -> str:
    """A date as ISO text."""
    try:
        if isinstance(date, int | float | np.number):
            raise ValueError
        day = np.datetime64(date, "D")
        if np.isnat(day):
            raise ValueError
        return str(day)
    except (TypeError, ValueError):
        raise ParameterError(f"weights have a row for {date!r}, which is not a date such as 2024-01-31") from None


def _short(given: Mapping[Any, Any]) -> str:
    """What is wrong in a row, or how it begins."""
    bad = [name for name, value in given.items() if not _is_weight(value)]
    names = bad or list(given)
    shown = ", ".join(f"{name}: {given[name]!r}" for name in names[:3])
    return f"{{{shown}, ...}}" if len(names) > 3 else f"{{{shown}}}"


def _is_weight(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)) and float(value) >= 0.0)
    except (TypeError, ValueError):
        return False
