"""Where prices come from: files and folders, the bundled sample, and the names that the command line knows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from datafeeds.choices import GAP_POLICIES, SYNTHETIC, Adjustment, check_choice
from datafeeds.cleaning.cleaner import clean as cleaned
from datafeeds.errors import DataError, ParameterError, UniverseError
from datafeeds.index_levels import Targets, check_targets, chosen, names_in, only_names, target_names, with_targets
from datafeeds.log import log
from datafeeds.panel import MarketPanel
from datafeeds.readers.bar_files import folder_frames, long_frames
from datafeeds.readers.bars import Frames
from datafeeds.readers.columns import naming, one_line
from datafeeds.readers.containers import plain_file, split_inside
from datafeeds.readers.heads.headers import shorten
from datafeeds.readers.own_frames import frames_in_memory
from datafeeds.readers.reading import Reading, noted, reading_as
from datafeeds.readers.wide_files import frames_of_table, read_frames, read_unless
from datafeeds.readers.words import is_long_header
from datafeeds.synthetic.source import synthetic_source
from datafeeds.texts import did_you_mean
from datafeeds.universe.members import Members, with_members
from datafeeds.universe.renames import read_renames, rename

#: Where prices may come from, and the names of `only` and `exclude`.
Source = str | os.PathLike[str] | pd.DataFrame | Mapping[str, Any] | MarketPanel
Choice = tuple[tuple[str, ...], tuple[str, ...]]
#: Named sources beside the path of a file.
SOURCES = ("sample", SYNTHETIC)
_ALTERNATIVES = "use sample, synthetic, or the path of a CSV, Parquet or Excel file, or of a folder with one file per ticker"
_YAHOO = re.compile(r"yahoo:(?P<tickers>.+?):(?P<start>\d{4}-\d\d-\d\d)(?::(?P<end>\d{4}-\d\d-\d\d))?")


def read_panel(path: str | os.PathLike[str], targets: str | Sequence[str] = "INDEX", *, gaps: str = "error") -> MarketPanel:
    """Read a wide file of prices: the first column is the date, every other column is one series.

    CSV (comma separated, UTF-8, plain or gzipped) and Parquet are distinguished by their content. In a CSV an empty field, `NA`,
    `NaN` or `null` is a missing price. Numbers are read to the nearest double, so that a panel written with
    ``panel.to_frame().to_csv(path)`` or ``.to_parquet(path)`` comes back with the same fingerprint.

    Parameters
    ----------
    path : path
        The file.
    targets : str or sequence of str, default "INDEX"
        Column(s) to track; they are not investable.
    gaps : {"error", "freeze"}
        What a price missing between two others means: see :meth:`MarketPanel.from_frame`.

    Returns
    -------
    MarketPanel
        With `source` set to the name of the file, without its folder.

    Raises
    ------
    DataError
        The file, a date or a number cannot be used. One line, with the value and its place.
    UniverseError
        A target is absent, or a column has no name or appears twice.

    Notes
    -----
    The peak of memory is about three times the array of prices, for Parquet.

    Examples
    --------
    >>> from datafeeds import load_sample, read_panel
    >>> load_sample().to_frame().to_csv("prices.csv")
    >>> read_panel("prices.csv").n_bars
    3018
    """
    file, part = split_inside(path)
    with reading_as(Reading()) as how, naming(file):
        if file.is_dir():
            raise DataError("is a folder; give the path of one CSV or Parquet file")
        with plain_file(_existing(file), part) as plain:
            frames = read_frames(plain)
        return _panel(frames, target_names(targets), gaps, file.name, how)


def _existing(file: Path) -> Path:
    if not file.exists():
        raise DataError(f"no such file ({shorten(str(file), 200)}); check the path")
    return file


def load_sample(targets: str | Sequence[str] = "INDEX") -> MarketPanel:
    """The bundled prices: 20 large US stocks and the S&P 500 (`INDEX`), daily, 2011-01-03 to 2022-12-28, 3018 bars.

    Stocks are adjusted for splits and dividends, the index is a price index, and the names were chosen with hindsight: excess
    returns on it are biased upwards. `datafeeds/sample/PROVENANCE.md` has the details.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> load_sample().symbols[:3]
    ('AAPL', 'AMD', 'BAC')
    """
    with resources.as_file(resources.files("datafeeds") / "sample" / "sp500_20.csv.gz") as path:
        return _panel(read_frames(path), target_names(targets), "error", "sample", Reading())


def open_source(
    source: Source,
    targets: Targets = "INDEX",
    *,
    gaps: str = "error",
    seed: int = 0,
    adjust: str = "split",
    members: Members | None = None,
    renames: str | os.PathLike[str] | None = None,
    clean: str | None = None,
    index: pd.Series | pd.DataFrame | str | os.PathLike[str] | None = None,
    only: Sequence[str] = (),
    exclude: Sequence[str] = (),
    dates: str | None = None,
    decimal: str | None = None,
    calendar: str | None = None,
) -> MarketPanel:
    """The panel of a SOURCE, as on the command line, or of frames in memory.

    Parameters
    ----------
    source : {"sample", "synthetic[:KEY=VALUE,...]", "yahoo:TICKERS:START[:END]"}, path, DataFrame or mapping
        The bundled prices, :func:`synthetic_market`, with arguments or its defaults, Yahoo, or files: a wide CSV or Parquet file
        (:func:`read_panel`), one with two layers of names as yfinance writes it, a long table, recognised by its columns
        (:func:`~datafeeds.read_long_table`), a sheet of an Excel workbook (``FILE.xlsx:Sheet``), a zip archive with one table, or
        a folder with one file per ticker (:func:`~datafeeds.read_ticker_folder`). A file that is really called `sample` is
        reached as `./sample`. Frames are read alike: wide, with two layers of columns in either order, long, or a mapping of
        tickers to frames. A panel is taken as it is.

        For Yahoo, TICKERS is a file or a list such as `AAPL,MSFT`, the target is Yahoo's ticker of the index, and only what the
        cache does not hold is fetched (:func:`datafeeds.yahoo_panel`): `yahoo:AAPL,MSFT:2015-01-01`. Everything else is for
        the command `tracker fetch`, which writes a file.
    targets : str, Series, or sequence of them, default "INDEX"
        Column(s) to track, levels as a series, or ``FILE:COLUMN``. The synthetic market has as many indices as are named:
        `INDEX`, `INDEX2`, `INDEX3`, ...
    gaps : {"error", "freeze"}
        For files: see :func:`read_panel`.
    seed : int, default 0
        Of the synthetic market.
    adjust : {"split", "total", "raw"}
        For Yahoo, and for bars with an adjusted close: "total" puts dividends into the returns.
    members : path, mapping or sequence of Spell, optional
        Index membership by date: see :func:`~datafeeds.universe.members.with_members`.
    renames : path, optional
        Ticker changes: see :func:`~datafeeds.universe.renames.rename`.
    clean : {"flag", "drop", "winsorise"}, optional
        Look for bad prices, before members are selected, and keep the report as the panel's attribute `cleaning`: see
        :func:`~datafeeds.cleaning.cleaner.clean`. By default prices are taken as they are.
    index : Series, DataFrame or path, optional
        Levels of the index, where they are not among the prices: ``FILE`` or ``FILE:COLUMN``. It is called as `targets` says, or
        by default as the column or the file is.
    only, exclude : sequence of str
        The only columns that are assets, or columns that are not assets; ``^*`` means all that begin with ^.
    dates : {"dmy", "mdy", "ymd"}, optional
        Order of day, month and year, for a file in which it is ambiguous.
    decimal : {".", ","}, optional
        The decimal mark, for a file in which it is ambiguous.
    calendar : str, optional
        The exchange of which stamps with a time zone are sessions: XNYS, XTKS, ...; by default they are dates in their own zone.

    Notes
    -----
    Guesses about a file are kept in the panel's ``read_as`` and said in a :class:`~datafeeds.errors.DataWarning`.

    Examples
    --------
    >>> from datafeeds import open_source
    >>> open_source("sample", exclude=("GE",)).n_assets
    19
    """
    with reading_as(Reading(dates, decimal, calendar)) as how:
        panel = _opened(source, targets, gaps, seed, adjust, index, (names_in(only), names_in(exclude)), how)
    changes = () if renames is None else read_renames(renames)
    panel = rename(panel, changes)
    if clean is not None:
        panel = cleaned(panel, policy=clean)[0]
    panel = panel if members is None else with_members(panel, members, changes)
    log.info("opened %s: %d names, %d bars, %s to %s", panel.source, panel.n_assets, panel.n_bars, panel.day(0), panel.day(-1))
    return panel


def _opened(
    source: Source, targets: Targets, gaps: str, seed: int, adjust: str, index: Any, choice: Choice, how: Reading
) -> MarketPanel:
    """The source as it is, before anything is done to it."""
    check_choice("gaps", gaps, GAP_POLICIES)
    check_choice("adjust", adjust, Adjustment)
    if isinstance(source, MarketPanel):
        return source
    check_targets(targets)
    apart = index is not None or any(choice) or not only_names(targets)
    if isinstance(source, str | os.PathLike):
        kind, _, more = str(source).partition(":")
        if kind in ("yahoo", SYNTHETIC) or source == "sample":
            if apart and source != "sample":
                raise ParameterError(f"--index-file, --only and --exclude work with files and frames, not with {kind}")
            if source != "sample":
                return (
                    _yahoo(str(source), target_names(targets), gaps, adjust)
                    if kind == "yahoo"
                    else synthetic_source(target_names(targets), seed, more)
                )
        if source == "sample" and not apart:
            return load_sample(target_names(targets))
    frames, name = _frames(source, adjust)
    with nullcontext() if name == "memory" else naming(Path(name)):
        frames, wanted = with_targets(frames, targets, index)
        frames, lost = chosen(frames, wanted, *choice)
        return _panel(frames, wanted, gaps, name, how, lost)


def _frames(source: Source, adjust: str) -> tuple[Frames, str]:
    """The frames of a source, and what it is called."""
    if not isinstance(source, str | os.PathLike):
        if not isinstance(source, pd.DataFrame | pd.Series | Mapping):
            raise DataError(f"prices must be a path, a panel, a DataFrame or a mapping of them, got {type(source).__name__}")
        frames = frames_in_memory(source, adjust)
        if len(frames[0]) < 2:
            raise DataError(f"only {len(frames[0])} row of prices; a return needs at least two dates")
        return frames, "memory"
    if source == "sample":
        with resources.as_file(resources.files("datafeeds") / "sample" / "sp500_20.csv.gz") as path:
            return read_frames(path), "sample"
    path = split_inside(source)[0]
    if not os.fspath(source) or (path.parent == Path() and not path.suffix and not os.path.exists(path)):
        near = did_you_mean(str(source), SOURCES)
        raise DataError(one_line(f"{shorten(str(source))} is neither a source nor a file; {_ALTERNATIVES}{near}"))
    return open_frames(source, adjust=adjust), path.name


def _yahoo(source: str, targets: str | Sequence[str], gaps: str, adjust: str) -> MarketPanel:
    """Tickers and dates of a Yahoo source, and its panel."""
    form = "yahoo:TICKERS:START[:END], for example --data yahoo:AAPL,MSFT:2015-01-01 --index ^GSPC"
    asked = _YAHOO.fullmatch(source)
    if asked is None:
        raise DataError(
            one_line(f"{shorten(source)} must look like {form}; or write a file with tracker fetch --out, or {_ALTERNATIVES}")
        )
    if "INDEX" in ([targets] if isinstance(targets, str) else targets):
        raise UniverseError("Yahoo has no index named INDEX; name one with --index / targets=, for example ^GSPC")
    from datafeeds.yahoo.fetching import yahoo_panel

    return yahoo_panel(targets, asked["tickers"], asked["start"], asked["end"], adjust=adjust, mode="prefer-cache", gaps=gaps)


def _panel(
    frames: Frames, targets: tuple[str, ...], gaps: str, source: str, how: Reading, dropped: Mapping[str, str] | None = None
) -> MarketPanel:
    """The panel of wide frames, with what was guessed about them, which is said as well."""
    prices, bars = frames
    try:
        panel = MarketPanel.from_frame(prices, targets, bars=bars, gaps=gaps, source=source, dropped=dropped)
    except DataError as error:
        values = prices.to_numpy(dtype=np.float64)
        negative = float(np.mean(values < 0.0))
        if negative > 0.1 and float(np.nanmedian(np.abs(values))) < 1.0:
            share = f"{negative:.0%} of the cells are negative"
            raise DataError(f"{error}; {share}: if these are returns, turn them into prices first, (1 + r).cumprod()") from None
        raise
    return noted(panel, how)


def open_frames(path: str | os.PathLike[str], *, adjust: str = "split") -> Frames:
    """The series of a file or folder as wide frames (closes, and the other parts of bars), before any of them is called a target.

    What :func:`open_source` does for a path, for those who put several sources together.
    """
    file, part = split_inside(path)
    with naming(file):
        if file.is_dir():
            return folder_frames(file, adjust)
        with plain_file(_existing(file), part) as plain:
            table = read_unless(is_long_header, plain)
            return long_frames(plain, adjust) if table is None else frames_of_table(table, adjust)
