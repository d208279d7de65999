"""Levels of an index that stand apart from the prices: a series in memory, or a file of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pandas as pd

from datafeeds.checks import check_frame
from datafeeds.choices import INDEX_LIKE
from datafeeds.errors import DataError, ParameterError, UniverseError
from datafeeds.readers.bar_files import long_frames
from datafeeds.readers.bars import Frames, frames_of, one_ticker, read_rows
from datafeeds.readers.columns import header_of, naming
from datafeeds.readers.containers import plain_file, split_inside
from datafeeds.readers.own_frames import frames_in_memory
from datafeeds.readers.reading import reading
from datafeeds.readers.wide_files import read_frames
from datafeeds.readers.words import is_long_header, parts_of
from datafeeds.texts import did_you_mean

#: What is to be followed: columns by their names, or levels.
Targets = str | pd.Series | pd.DataFrame | Sequence[str | pd.Series]


def split_column(text: str) -> tuple[str, str | None] | None:
    """``FILE`` or ``FILE:COLUMN`` taken apart, a sheet of a workbook left with its file; None when there is no such file."""
    if split_inside(text)[0].is_file():
        return text, None
    file, _, column = text.rpartition(":")
    return (file, column) if file and column and split_inside(file)[0].is_file() else None


def index_levels(index: pd.Series | pd.DataFrame | str | os.PathLike[str], name: str | None = None) -> pd.Series:
    """The levels of an index on their own dates, under the name that was asked for, or that of the column or file."""
    if isinstance(index, pd.Series | pd.DataFrame):
        closes = frames_in_memory(index)[0] if not _one_bar(index) else frames_in_memory({name or "INDEX": index})[0]
        if closes.shape[1] != 1:
            raise UniverseError(f"the index has {closes.shape[1]} columns ({', '.join(closes.columns[:5])}); give one of them")
        only: pd.Series = closes.iloc[:, 0]
        return only.rename(name or str(closes.columns[0]))
    found = split_column(os.fspath(index))
    if found is None:
        raise DataError(f"{os.fspath(index)}: no such file for the index; give FILE or FILE:COLUMN")
    path, column = found
    file, part = split_inside(path)
    with naming(file), plain_file(file, part) as plain:
        levels, called = _columns(plain, column, file)
    return levels.rename(name or called)


def _one_bar(index: pd.Series | pd.DataFrame) -> bool:
    return isinstance(index, pd.DataFrame) and "close" in parts_of(str(c) for c in index.columns) and index.columns.nlevels == 1


def _columns(plain: Path, column: str | None, file: Path) -> tuple[pd.Series, str]:
    """The levels in a file, and what they are called there."""
    stem = file.name.partition(".")[0]
    header = header_of(plain)
    if is_long_header(header):
        closes = long_frames(plain)[0]
    elif column is None and one_ticker(header):
        reading().say(f"index from the close of {file.name}")
        return frames_of(read_rows(plain, stem))[0].iloc[:, 0], stem
    else:
        closes = read_frames(plain, bars=True)[0]
    if column is None:
        if closes.shape[1] > 1:
            shown = ", ".join(map(str, closes.columns[:6]))
            raise UniverseError(f"{closes.shape[1]} columns ({shown}); name one of them, as {file.name}:{closes.columns[0]}")
        column = str(closes.columns[0])
    if column not in closes:
        shown = ", ".join(map(str, closes.columns[:6]))
        raise UniverseError(f"no column named {column!r} among {shown}{did_you_mean(column, closes.columns)}")
    return closes[column], stem if parts_of([column]) else column


def with_index(frames: Frames, levels: pd.Series) -> Frames:
    """The frames with the levels of an index beside them, on the dates that both reach.

    A date inside that only one of them has becomes a missing price of the other, which is for the rules of gaps to judge.
    """
    prices, bars = frames
    name = str(levels.name)
    if name in prices:
        raise UniverseError(f"the prices have a column {name!r}, too; remove it, or give the index another name with --index")
    first, last = max(prices.index[0], levels.index[0]), min(prices.index[-1], levels.index[-1])
    if first >= last:
        spans = (f"{frame.index[0].date()} to {frame.index[-1].date()}" for frame in (levels, prices))
        raise DataError("the index {} ({}) and the prices ({}) have no dates in common".format(name, *spans))
    off = int(((prices.index < first) | (prices.index > last)).sum())
    if off:
        reading().say(f"{off} date{'s' if off > 1 else ''} of the prices outside those of the index {name} dropped")
    dates = prices.index.union(levels.index)
    dates = dates[(dates >= first) & (dates <= last)]
    joined = prices.reindex(dates)
    joined.insert(0, name, levels.reindex(dates))
    return joined, {part: frame.reindex(dates) for part, frame in bars.items()}


def names_in(given: str | Sequence[str]) -> tuple[str, ...]:
    """Names of columns from a sequence, or from a text such as ``AAPL,MSFT``."""
    if isinstance(given, str):
        return tuple(name.strip() for name in given.split(",") if name.strip())
    return tuple(given)


def chosen(
    frames: Frames, targets: tuple[str, ...], only: tuple[str, ...], exclude: tuple[str, ...]
) -> tuple[Frames, dict[str, str]]:
    """The frames without columns that are no assets, and why each of those was left out.

    Raises
    ------
    UniverseError
        A name of `only` or `exclude` is absent, or an index is left among the assets.
    """
    prices, bars = frames
    check_frame(prices, targets)
    names = [str(name) for name in prices.columns]
    for what, given in (("only", only), ("exclude", exclude)):
        absent = next((name for name in given if name not in names and "*" not in name and name not in INDEX_LIKE), None)
        if absent is not None:
            raise UniverseError(f"{what} names {absent!r}, which is not a column{did_you_mean(absent, names)}")
    lost: dict[str, str] = {}
    for name in names:
        if name in targets or name in only:
            continue
        if any(fnmatchcase(name, pattern) for pattern in exclude):
            lost[name] = "excluded"
        elif only:
            lost[name] = "not listed in only"
        elif any(fnmatchcase(name, pattern) for pattern in INDEX_LIKE):
            raise UniverseError(
                f"column {name!r} looks like an index and would be bought as an asset, because {', '.join(targets)} is tracked; "
                f"remove it with --exclude {name}, or list the assets with --only (exclude=, only=)"
            )
    if not lost:
        return frames, {}
    kept = [name for name in prices.columns if str(name) not in lost]
    return (prices[kept], {part: frame[kept] for part, frame in bars.items()}), lost


def check_targets(targets: Any) -> None:
    """Refuse what is neither the name of a column nor levels, nor several of them."""
    one = (str, pd.Series, pd.DataFrame, os.PathLike)
    several = isinstance(targets, Sequence | Mapping) and not isinstance(targets, bytes)
    if not isinstance(targets, one) and not (several and all(isinstance(each, one) for each in targets)):
        raise ParameterError(f"targets={targets!r} must be the name of a column, such as 'INDEX', a series of levels, or several")


def only_names(targets: Targets) -> bool:
    """Whether targets are named, and not given as levels."""
    if isinstance(targets, str | pd.Series | pd.DataFrame):
        return isinstance(targets, str)
    return all(isinstance(target, str) for target in targets)


def target_names(targets: Targets) -> tuple[str, ...]:
    """Targets where they can only be names."""
    check_targets(targets)
    if not only_names(targets):
        raise ParameterError("targets can be levels of an index only where the prices are a file or a frame; give a name here")
    return (targets,) if isinstance(targets, str) else tuple(map(str, targets))


def with_targets(frames: Frames, targets: Targets, index: Any) -> tuple[Frames, tuple[str, ...]]:
    """The frames with all targets among them, and what those are called."""
    several = [targets] if isinstance(targets, str | pd.Series | pd.DataFrame) else list(targets)
    if index is not None:
        if len(several) > 1 or not isinstance(several[0], str):
            raise ParameterError(
                "the index comes from a separate file, but several targets are named; put all of them into the file of prices"
            )
        levels = index_levels(index, None if several[0] == "INDEX" else several[0])
        return with_index(frames, levels), (str(levels.name),)
    names = []
    for target in several:
        if isinstance(target, str) and (target in frames[0] or split_column(target) is None):
            names.append(target)
            continue
        levels = index_levels(target)
        frames = with_index(frames, levels)
        names.append(str(levels.name))
    return frames, tuple(names)
