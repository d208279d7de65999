"""Long tables: one row per date and name, with a close and perhaps a whole bar. What databases and vendors hand out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from datafeeds.adjustment import Adjustment
from datafeeds.errors import DataError
from datafeeds.panel import MarketPanel
from datafeeds.readers.bars import Frames, frames_of, is_long, read_rows
from datafeeds.readers.columns import header_of, naming


def read_long_table(
    path: str | os.PathLike[str], targets: str | Sequence[str] = "INDEX", *, gaps: str = "error", adjust: str = "split"
) -> MarketPanel:
    """Read a CSV (plain or gzipped) or Parquet file with the columns date, ticker, close, and any of open, high, low, volume.

    Columns may stand in any order and be written in any case (`Adj Close` is `adj_close`); rows may stand in any order; columns
    of another name are ignored. A row without a close is no bar.

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
        those of a total return index do. The other two take the prices as they stand.

    Raises
    ------
    DataError, UniverseError
        On one line that begins with the name of the file.
    """
    file = Path(path).expanduser()
    with naming(file):
        prices, bars = long_frames(file, adjust)
        return MarketPanel.from_frame(prices, targets, bars=bars, gaps=gaps, source=file.name)


def long_frames(file: Path, adjust: str = "split") -> Frames:
    """The wide frames of a long table: closes, and the other parts of the bars."""
    header = header_of(file)
    if header and not is_long(header):
        raise DataError(f"not a long table: columns date, ticker and close are needed, it has {', '.join(header[:8])}")
    return frames_of(read_rows(file), Adjustment.parse(adjust))
