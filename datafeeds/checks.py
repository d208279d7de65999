"""What a market panel refuses, each with the first offending date and name in the message."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from datafeeds.bar_length import BarLength, moment
from datafeeds.errors import DataError, DataWarning, UniverseError
from datafeeds.texts import did_you_mean

FloatArray = NDArray[np.float64]


def check_dates(dates: ArrayLike) -> NDArray[np.datetime64]:
    """Strictly increasing dates as datetime64[ns]."""
    days = np.array(dates, dtype="datetime64[ns]")
    if days.ndim != 1 or not len(days):
        raise DataError(f"dates must be a non-empty list, got shape {days.shape}")
    if np.isnat(days).any():
        raise DataError(f"row {int(np.argmax(np.isnat(days)))} has no date")
    same, back = days[1:] == days[:-1], days[1:] < days[:-1]
    if same.any():
        raise DataError(f"date {moment(days[int(np.argmax(same))])} appears twice; keep one row per date")
    if back.any():
        row = int(np.argmax(back))
        raise DataError(
            f"dates are not sorted: {moment(days[row + 1])} comes after {moment(days[row])}; sort them in ascending order"
        )
    return days


def check_names(symbols: Sequence[str], targets: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Unique, non-empty names; at least one asset and one target."""
    assets, indices = tuple(map(str, symbols)), tuple(map(str, targets))
    if not indices:
        raise UniverseError("no target to track; name at least one index")
    if not assets:
        raise UniverseError("no asset to invest in; a panel needs at least one column in addition to its targets")
    seen: set[str] = set()
    for name in (*indices, *assets):
        if not name:
            raise UniverseError("a column has no name")
        if name in seen:
            raise UniverseError(f"{name!r} appears twice among assets and targets; give each column its own name")
        seen.add(name)
    return assets, indices


def check_matrix(
    values: ArrayLike,
    shape: tuple[int, int],
    what: str,
    dates: NDArray[np.datetime64],
    names: Sequence[str],
    *,
    positive: bool = True,
    holes: bool = True,
) -> FloatArray:
    """A private float64 copy of the right shape, with prices > 0; NaN only where holes are allowed."""
    matrix = np.array(values, dtype=np.float64, order="C")
    if matrix.shape != shape:
        raise DataError(f"{what} has shape {matrix.shape}, but dates and names say {shape}")
    with np.errstate(invalid="ignore"):
        bad = np.isinf(matrix) | (matrix <= 0.0 if positive else matrix < 0.0)
    if not holes:
        bad |= np.isnan(matrix)
    if bad.any():
        t, i = np.argwhere(bad)[0]
        got = matrix[t, i]
        if np.isnan(got):
            raise DataError(
                f"{what} {names[i]} has no value on {moment(dates[t])}; a target needs a value on every date (gaps='freeze' "
                "treats such dates as holidays, and drops the dates before its first and after its last value)"
            )
        raise DataError(
            f"{what} of {names[i]} on {moment(dates[t])} is {got:g}; it must be a finite number {'> 0' if positive else '>= 0'}"
        )
    return matrix


def check_mask(values: ArrayLike | None, shape: tuple[int, ...], what: str) -> NDArray[np.bool_] | None:
    """A private copy of a mask of the right shape; None when there is none, or when it is True everywhere and says nothing."""
    if values is None:
        return None
    mask = np.array(values)
    if mask.shape != shape or mask.dtype != np.bool_:
        raise DataError(f"{what} must be an array of True and False with shape {shape}, got {mask.dtype} with shape {mask.shape}")
    return None if mask.all() else mask


def check_frame(prices: pd.DataFrame, targets: Sequence[str]) -> None:
    """Refuse a wide frame without the targets, with a column twice, with text, or without naive dates."""
    missing = [name for name in targets if name not in prices]
    if missing:
        shown = ", ".join(map(str, prices.columns[:5])) + (", ..." if len(prices.columns) > 5 else "")
        near = did_you_mean(missing[0], prices.columns)
        raise UniverseError(f"no column named {missing[0]!r} among {shown}; name the index with --index (targets=){near}")
    if prices.columns.has_duplicates:
        raise UniverseError(f"column {prices.columns[prices.columns.duplicated()][0]!r} appears twice; keep one")
    if not all(map(pd.api.types.is_numeric_dtype, set(prices.dtypes))):
        text = next(c for c, kind in zip(prices.columns, prices.dtypes, strict=True) if not pd.api.types.is_numeric_dtype(kind))
        raise DataError(f"column {str(text)!r} holds text, not numbers: {first_text(prices[text])}")
    if not isinstance(prices.index, pd.DatetimeIndex):
        raise DataError(f"the index must hold dates, not {prices.index.dtype}; parse the first column as dates")
    if prices.index.tz is not None:
        raise DataError(f"dates carry the time zone {prices.index.tz}; remove it with .tz_localize(None)")


def check_common_dates(seen: NDArray[np.bool_], names: Sequence[str], dates: NDArray[np.datetime64]) -> None:
    """Raise unless every target has a level on two dates at least that all have in common: without, no return can be compared."""
    if np.count_nonzero(seen.all(axis=1)) >= 2:
        return
    spans = []
    for j, name in enumerate(names):
        rows = np.flatnonzero(seen[:, j])
        if not rows.size:
            raise DataError(f"target {name} has no data; add its levels, or do not name it as a target")
        spans.append(f"{name} {moment(dates[rows[0]])}..{moment(dates[rows[-1]])} ({rows.size} levels)")
    raise DataError(
        f"targets have no common dates: {', '.join(spans)}; at least two dates on which each of them has a level are needed"
    )


#: Fewer levels do not tell how far apart they regularly are.
_REGULAR = 12
#: Bars without a level after which a target of a market that goes on has ended; no exchange is closed for longer.
_LONGEST_HOLIDAY = 10


def common_span(
    seen: NDArray[np.bool_], names: Sequence[str], dates: NDArray[np.datetime64], *, live: bool = False
) -> tuple[slice, tuple[str, ...]]:
    """The rows from the first date on which every target has a level to the last before one of them ends, and what is left off.

    Before its first level a target cannot be compared with anything; after its last one there is nothing to learn, and an account
    that traded on would follow nothing. With `live` the market goes on: a target without a level on the newest bars is on holiday
    while another has one, for a time.
    """
    ends = [int(np.flatnonzero(column)[-1]) for column in seen.T]
    start, stop = int(np.argmax(seen.all(axis=1))), 1 + min(ends)
    if live:
        stop = min(stop + _LONGEST_HOLIDAY, 1 + max(ends))
    left = []
    if start:
        left.append(f"{_bars(start)} before {moment(dates[start])}, the first date on which {_and(names)} had a level")
    if stop < len(dates):
        left.append(
            f"{_bars(len(dates) - stop)} after {moment(dates[stop - 1])}, the last level of {names[int(np.argmin(ends))]}"
        )
    return slice(start, stop), tuple(left)


def say_what_is_left_off(left: Sequence[str], source: str, depth: int = 4) -> None:
    """Warn of bars that a panel leaves off, once for each end; `depth` is that of the user's own line."""
    for part in left:
        warnings.warn(f"{source}: dropped {part}", DataWarning, stacklevel=depth)


def _bars(number: int) -> str:
    return f"{number} bar{'' if number == 1 else 's'}"


def _and(names: Sequence[str]) -> str:
    return f"all of {', '.join(names)}" if len(names) > 1 else names[0]


def find_holes(close: FloatArray, dates: NDArray[np.datetime64], names: Sequence[str]) -> None:
    """Raise for the first price missing between two others of the same series."""
    present = ~np.isnan(close)  # an infinite price is no hole; it is refused by name later
    if present.all():
        return
    begun = np.logical_or.accumulate(present, axis=0)
    ongoing = np.logical_or.accumulate(present[::-1], axis=0)[::-1]
    hole = begun & ongoing & ~present
    if hole.any():
        t, i = np.argwhere(hole)[0]
        raise DataError(
            f"{names[i]} has no price on {moment(dates[t])}, but prices before and after it ({int(hole.sum())} missing prices in "
            "all); fill them, or treat them as trading halts with --gaps freeze (gaps='freeze')"
        )


def check_one_length(
    targets: FloatArray,
    assets: FloatArray,
    names: tuple[Sequence[str], Sequence[str]],
    dates: NDArray[np.datetime64],
    source: str,
    depth: int = 4,
) -> None:
    """Refuse a target whose levels are regularly further apart than the bars, such as the daily index of minute bars; warn of
    such an asset, whose last price is kept in between.

    Raises
    ------
    DataError
        Names the target, its length and that of the bars.
    """
    bars = BarLength.usual(dates)
    for what, table, columns in (("target", targets, names[0]), ("asset", assets, names[1])):
        known = ~np.isnan(table)
        few = np.flatnonzero(3 * known.sum(axis=0) <= 2 * len(dates)).tolist()  # only these can be longer
        for i, own in ((i, BarLength.usual(dates[known[:, i]])) for i in few):
            if not (own.days >= 1.5 * bars.days and known[:, i].sum() > _REGULAR):
                continue
            if what == "target":
                raise DataError(
                    f"bars of different lengths are mixed: target {columns[i]} has {own.kind}, the other columns have "
                    f"{bars.kind}; give all columns in bars of one length"
                )
            warnings.warn(
                f"{source}: {columns[i]} has {own.kind}, the other columns have {bars.kind}; its last price is kept in between",
                DataWarning,
                stacklevel=depth,
            )


def fill_target_gaps(levels: FloatArray) -> FloatArray:
    """Targets with their last level carried over missing dates; a level missing at the start stays missing, an infinite one stays
    to be refused.
    """
    rows = np.where(~np.isnan(levels), np.arange(len(levels))[:, None], 0)
    return np.take_along_axis(levels, np.maximum.accumulate(rows, axis=0), axis=0)


def fingerprint_of(
    names: Sequence[str],
    dates: NDArray[np.datetime64],
    prices: Sequence[FloatArray | None],
    seen: NDArray[np.bool_] | None,
    members: NDArray[np.bool_] | None = None,
) -> str:
    """SHA-256 of names, dates and arrays, the same on every machine."""
    digest = hashlib.sha256("\0".join(names).encode())
    digest.update(dates.astype("<i8").tobytes())
    for values in prices:
        digest.update(b"-" if values is None else np.ascontiguousarray(values, dtype="<f8").tobytes())
    if seen is not None:
        digest.update(seen.tobytes())
    if members is not None:
        digest.update(b"members" + members.tobytes())
    return digest.hexdigest()


def first_text(column: pd.Series) -> str:
    """The first entry of a column that is not a number, with its row, for messages."""
    bad = column[pd.to_numeric(column, errors="coerce").isna() & column.notna()]
    return f"{bad.iloc[0]!r} at {bad.index[0]}" if len(bad) else f"dtype {column.dtype}"
