"""Files of bars: long tables with one row per date and name, as databases hand them out, and folders with one file per ticker, as
downloads leave them behind.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from datafeeds.adjustment import Adjustment
from datafeeds.errors import DataError, UniverseError
from datafeeds.panel import MarketPanel
from datafeeds.readers.bars import Frames, frames_of, read_rows, stack
from datafeeds.readers.columns import header_of, naming
from datafeeds.readers.containers import plain_file, split_inside
from datafeeds.readers.reading import Reading, noted, reading_as
from datafeeds.readers.words import is_long_header, parts_of

#: How the files end that are read; the rest of their names is the ticker.
ENDINGS = (".csv.gz", ".csv", ".parquet", ".pq")
#: The ending of Stooq's files; a text without a date and a close is none of them.
STOOQ = ".txt"


def read_long_table(
    path: str | os.PathLike[str], targets: str | Sequence[str] = "INDEX", *, gaps: str = "error", adjust: str = "split"
) -> MarketPanel:
    r"""Read a CSV (plain or gzipped) or Parquet file with the columns date, ticker, close, and any of open, high, low, volume.

    Columns may be in any order and case (`Adj Close` is `adj_close`); rows may be in any order; columns
    of another name are ignored. A row without a close is not a bar.

    Parameters
    ----------
    path : path
        The file. The column of names may be called ticker, symbol, name, asset, tic or permno.
    targets : str or sequence of str, default "INDEX"
        Name(s) to track; they are not investable.
    gaps : {"error", "freeze"}
        What a bar missing between two others means: see :meth:`MarketPanel.from_frame`.
    adjust : {"split", "total", "raw"}
        "total" takes the column adj_close, where there is one, and scales the bar alike: returns then hold the dividends, as
        those of a total return index do. The other two use the prices unchanged.

    Raises
    ------
    DataError, UniverseError
        On one line that begins with the name of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from datafeeds import read_long_table
    >>> rows = "date,ticker,close\n2024-01-02,SPX,10\n2024-01-02,AAPL,5\n2024-01-03,SPX,11\n2024-01-03,AAPL,6\n"
    >>> size = Path("long.csv").write_text(rows)
    >>> read_long_table("long.csv", "SPX").close.tolist()
    [[5.0], [6.0]]
    """
    file, part = split_inside(path)
    with naming(file), reading_as(Reading()) as how:
        with plain_file(file, part) as plain:
            prices, bars = long_frames(plain, adjust)
        return noted(MarketPanel.from_frame(prices, targets, bars=bars, gaps=gaps, source=file.name), how)


def long_frames(file: Path, adjust: str = "split") -> Frames:
    """The wide frames of a long table: closes, and the other parts of the bars."""
    header = header_of(file)
    if header and not is_long_header(header):
        raise DataError(f"not a long table: columns date, ticker and close are needed, but it has {', '.join(header[:8])}")
    return frames_of(read_rows(file), Adjustment.parse(adjust))


def read_ticker_folder(
    path: str | os.PathLike[str], targets: str | Sequence[str] = "INDEX", *, gaps: str = "error", adjust: str = "split"
) -> MarketPanel:
    r"""Read a folder of CSV or Parquet files, one per ticker, named after it: `AAPL.csv`, `BRK.B.parquet`, `^GSPC.csv.gz`.

    Each holds a date column and a close, or a whole bar, as a long table has them (see
    :func:`read_long_table`, also for the parameters); a file with one column besides its dates needs no
    name for it. Files with another ending, and those whose name begins with a dot or an underscore, are left alone.
    A `.txt` is read if it has a date and a close, as those of Stooq have.

    Raises
    ------
    DataError, UniverseError
        On one line that begins with the name of the folder, and names the file where one is at fault.

    Examples
    --------
    >>> from pathlib import Path
    >>> from datafeeds import read_ticker_folder
    >>> Path("prices").mkdir()
    >>> for name, first in (("SPX", 10), ("AAPL", 5)):
    ...     size = Path("prices", f"{name}.csv").write_text(f"date,close\n2024-01-02,{first}\n2024-01-03,{first + 1}\n")
    ...
    >>> read_ticker_folder("prices", "SPX").close.tolist()
    [[5.0], [6.0]]
    """
    folder = Path(path).expanduser()
    with naming(folder), reading_as(Reading()) as how:
        prices, bars = folder_frames(folder, adjust)
        return noted(MarketPanel.from_frame(prices, targets, bars=bars, gaps=gaps, source=folder.name), how)


def folder_frames(folder: Path, adjust: str = "split") -> Frames:
    """The wide frames of a folder: closes, and the other parts of the bars. Names in alphabetical order."""
    mode = Adjustment.parse(adjust)
    files: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        ending = next((e for e in (*ENDINGS, STOOQ) if file.name.lower().endswith(e)), None)
        if ending is None or file.name.startswith((".", "_")) or not file.is_file():
            continue
        if ending == STOOQ and not {"date", "close"} <= parts_of(header_of(file)).keys():
            continue
        ticker = file.name[: -len(ending)]
        if ticker in files:
            raise UniverseError(f"{ticker!r} has two files, {files[ticker].name} and {file.name}; keep one")
        files[ticker] = file
    if not files:
        raise DataError(
            f"no file ends with {', '.join(ENDINGS)}; one file per ticker is expected, named after the ticker (AAPL.csv)"
        )
    parts = []
    for ticker, file in files.items():
        with naming(file):
            parts.append(read_rows(file, ticker))
    return frames_of(stack(parts), mode)
