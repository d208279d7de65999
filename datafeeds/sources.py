"""Where prices come from: files and folders, the bundled sample, and the names that the command line knows."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd

from datafeeds.choices import GAP_POLICIES, SYNTHETIC, Adjustment, check_choice
from datafeeds.cleaning.cleaner import clean as cleaned
from datafeeds.errors import DataError, ParameterError, UniverseError
from datafeeds.log import log
from datafeeds.panel import MarketPanel
from datafeeds.readers.bar_files import folder_frames, long_frames, read_long_table, read_ticker_folder
from datafeeds.readers.bars import Frames
from datafeeds.readers.columns import naming, one_line
from datafeeds.readers.dates import parse_dates
from datafeeds.readers.headers import shorten
from datafeeds.readers.wide_files import WideTable, read_table, read_unless
from datafeeds.readers.words import LONG_TABLE_COLUMNS, is_long_header
from datafeeds.synthetic.market import index_names, synthetic_market
from datafeeds.texts import parse_pairs
from datafeeds.universe.members import Members, with_members
from datafeeds.universe.renames import read_renames, rename

#: Named sources beside the path of a file.
SOURCES = ("sample", SYNTHETIC)
_ALTERNATIVES = "use sample, synthetic, or the path of a CSV or Parquet file, or of a folder with one file per ticker"
_YAHOO = re.compile(r"yahoo:(?P<tickers>.+?):(?P<start>\d{4}-\d\d-\d\d)(?::(?P<end>\d{4}-\d\d-\d\d))?")


def read_panel(path: str | os.PathLike[str], targets: str | Sequence[str] = "INDEX", *, gaps: str = "error") -> MarketPanel:
    """Read a wide file of prices: the first column is the date, every other column is one series.

    CSV (comma separated, UTF-8, plain or gzipped) and Parquet are told apart by their content. In a CSV an empty field, `NA`,
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
        A target is absent, or a column has no name or stands twice.

    Notes
    -----
    The peak of memory is about three times the array of prices, for Parquet.
    """
    file = Path(path).expanduser()
    with naming(file):
        if file.is_dir():
            raise DataError("is a folder; give the path of one CSV or Parquet file")
        return _build(read_table(_existing(file)), targets, gaps, file.name)


def _existing(file: Path) -> Path:
    if not file.exists():
        raise DataError(f"no such file ({shorten(str(file), 200)}); check the path")
    return file


def load_sample(targets: str | Sequence[str] = "INDEX") -> MarketPanel:
    """The bundled prices: 20 large US stocks and the S&P 500 (`INDEX`), daily, 2011-01-03 to 2022-12-28, 3018 bars.

    Stocks are adjusted for splits and dividends, the index is a price index, and the names were chosen with hindsight: excess
    returns on it are biased upwards. `datafeeds/sample/PROVENANCE.md` tells the whole story.
    """
    with resources.as_file(resources.files("datafeeds") / "sample" / "sp500_20.csv.gz") as path:
        return _build(read_table(path), targets, "error", "sample")


def open_source(
    source: str | os.PathLike[str],
    targets: str | Sequence[str] = "INDEX",
    *,
    gaps: str = "error",
    seed: int = 0,
    adjust: str = "split",
    members: Members | None = None,
    renames: str | os.PathLike[str] | None = None,
    clean: str | None = None,
) -> MarketPanel:
    """The panel that a SOURCE of the command line stands for.

    Parameters
    ----------
    source : {"sample", "synthetic[:KEY=VALUE,...]", "yahoo:TICKERS:START[:END]"} or path
        The bundled prices, :func:`synthetic_market`, with arguments or its defaults, Yahoo, or files: a wide CSV or Parquet file
        (:func:`read_panel`), a long table, told by its columns (:func:`~datafeeds.read_long_table`), or a folder with
        one file per ticker (:func:`~datafeeds.read_ticker_folder`). A file that is really called `sample` is
        reached as `./sample`.

        For Yahoo, TICKERS is a file or a list such as `AAPL,MSFT`, the target is Yahoo's ticker of the index, and only what the
        cache does not hold is fetched (:func:`datafeeds.yahoo_panel`): `yahoo:AAPL,MSFT:2015-01-01`. Everything else is for
        the command `tracker fetch`, which writes a file.
    targets : str or sequence of str, default "INDEX"
        Column(s) to track. The synthetic market has as many indices as are asked for: `INDEX`, `INDEX2`, `INDEX3`, ...
    gaps : {"error", "freeze"}
        For files: see :func:`read_panel`.
    seed : int, default 0
        Of the synthetic market.
    adjust : {"split", "total", "raw"}
        For Yahoo, long tables and folders: "total" puts dividends into the returns.
    members : path, mapping or sequence of Spell, optional
        Who belonged to the index when: see :func:`~datafeeds.universe.members.with_members`.
    renames : path, optional
        Ticker changes: see :func:`~datafeeds.universe.renames.rename`.
    clean : {"flag", "drop", "winsorise"}, optional
        Look for bad prices, before members are told apart, and keep the report as the panel's attribute `cleaning`: see
        :func:`~datafeeds.cleaning.cleaner.clean`. By default prices are taken as they are.
    """
    panel = _opened(source, targets, gaps, seed, adjust)
    changes = () if renames is None else read_renames(renames)
    panel = rename(panel, changes)
    if clean is not None:
        panel = cleaned(panel, policy=clean)[0]
    panel = panel if members is None else with_members(panel, members, changes)
    log.info("opened %s: %d names, %d bars, %s to %s", panel.source, panel.n_assets, panel.n_bars, panel.day(0), panel.day(-1))
    return panel


def _opened(source: str | os.PathLike[str], targets: str | Sequence[str], gaps: str, seed: int, adjust: str) -> MarketPanel:
    """The source as it is, before anything is done to it."""
    check_choice("gaps", gaps, GAP_POLICIES)
    check_choice("adjust", adjust, Adjustment)
    if source == "sample":
        return load_sample(targets)
    kind, _, more = str(source).partition(":")
    if kind == SYNTHETIC:
        return _synthetic((targets,) if isinstance(targets, str) else tuple(targets), seed, more)
    if kind == "yahoo":
        return _yahoo(str(source), targets, gaps, adjust)
    path = Path(source)
    if path.parent == Path() and not path.suffix and not os.path.exists(source):
        raise DataError(one_line(f"{shorten(str(source))} is neither a source nor a file; {_ALTERNATIVES}"))
    file = path.expanduser()
    if os.path.isdir(file):
        return read_ticker_folder(source, targets, gaps=gaps, adjust=adjust)
    with naming(file):
        table = read_unless(is_long_header, _existing(file))
        if table is not None:
            return _build(table, targets, gaps, file.name)
    return read_long_table(source, targets, gaps=gaps, adjust=adjust)


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


def _synthetic(targets: tuple[str, ...], seed: int, more: str) -> MarketPanel:
    """A synthetic market, with just the indices that were asked for. ``more`` are arguments, ``n_assets=40,n_bars=300``."""
    known = index_names(9)
    unknown = [name for name in targets if name not in known]
    if unknown:
        raise UniverseError(
            f"no index named {unknown[0]!r} in the synthetic market; it has {', '.join(known[:3])}, ... to {known[-1]}"
        )
    if not targets:
        raise UniverseError("no target to track; name at least one index")
    name = f"{SYNTHETIC}:{more}" if more else SYNTHETIC
    given = parse_pairs(more.split(",") if more else (), f"data {name!r}:", "synthetic:n_assets=40")
    if given.keys() & {"seed", "n_indices"}:
        raise ParameterError(f"data {name!r}: choose the seeds with seeds (--seed), the indices with index")
    columns = [known.index(target) for target in targets]
    try:
        panel = synthetic_market(seed=seed, n_indices=max(columns) + 1, **given)
    except TypeError as problem:
        raise ParameterError(f"data {name!r}: {str(problem).partition('() ')[2] or problem}") from None
    seen = None if panel.target_seen is None else panel.target_seen[:, columns]
    return replace(panel, targets=targets, target_close=panel.target_close[:, columns], target_seen=seen, source=SYNTHETIC)


def _build(table: WideTable, targets: str | Sequence[str], gaps: str, source: str) -> MarketPanel:
    """The panel of a wide table."""
    frame = _frame(table)
    try:
        return MarketPanel.from_frame(frame, targets, gaps=gaps, source=source)
    except DataError as error:
        negative = float(np.mean(table.values < 0.0))
        if negative > 0.1 and float(np.nanmedian(np.abs(table.values))) < 1.0:
            share = f"{negative:.0%} of the cells are negative"
            raise DataError(f"{error}; {share}: if these are returns, turn them into prices first, (1 + r).cumprod()") from None
        raise


def _frame(table: WideTable) -> pd.DataFrame:
    """Check what only the file can tell (dates, text) and leave the rest to the panel."""
    dates = parse_dates(table.dates, table.first)
    if table.text is not None:
        name, row, cell = table.text
        long = name.lower() in LONG_TABLE_COLUMNS
        hint = (
            "a long table? open_source reads those that have date, ticker and close; or pivot it to one column per name"
            if long
            else "write a number, or leave it empty where there is no price"
        )
        day = str(dates[row].astype("datetime64[D]"))
        raise DataError(f"column {name!r} holds text where a number is needed: {shorten(cell)} on {day} (row {row + 1}); {hint}")
    if len(dates) < 2:
        raise DataError(f"only one row of prices ({str(dates[0])[:10]}); a return needs at least two dates")
    infinite = np.isinf(table.values)
    if infinite.any():
        column, row = np.argwhere(infinite)[0].tolist()
        cell = f"{table.names[column]} on {dates[row].astype('datetime64[D]')} (row {row + 1}) is {table.values[column, row]:g}"
        raise DataError(f"the price of {cell}; it must be a positive finite number, or empty where there is none")
    return pd.DataFrame(table.values.T, index=pd.DatetimeIndex(dates), columns=pd.Index(table.names, dtype=object), copy=False)


def open_frames(path: str | os.PathLike[str], *, adjust: str = "split") -> Frames:
    """The series of a file or folder as wide frames (closes, and the other parts of bars), before any of them is called a target.

    What :func:`open_source` does for a path, for those who put several sources together.
    """
    file = Path(path).expanduser()
    with naming(file):
        if file.is_dir():
            return folder_frames(file, adjust)
        table = read_unless(is_long_header, _existing(file))
        return long_frames(file, adjust) if table is None else (_frame(table), {})
