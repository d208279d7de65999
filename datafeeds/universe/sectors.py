"""Sector groups: which asset belongs to which sector, for limits on sectors."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from datafeeds.errors import DataError, UniverseError
from datafeeds.readers.columns import find_parts, header_of, names_of, naming, read_columns


def read_sectors(
    path: str | os.PathLike[str], symbols: Iterable[str] | None = None, *, column: str | None = None
) -> dict[str, str]:
    r"""Read a CSV or Parquet file with the columns `symbol` and `sector`, as the param ``sectors`` of the strategies takes it.

    Parameters
    ----------
    path : path
        The column of sectors may be called sector, gics_sector, group or industry; others are ignored.
    symbols : iterable of str, optional
        Keep only these. A name that is not in the file has no sector, and no sector limit.
    column : str, optional
        Name of the column of sectors, if it is different from these.

    Raises
    ------
    DataError, UniverseError
        A symbol has two sectors, or none of the symbols is in the file. One line that names the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from datafeeds import read_sectors
    >>> size = Path("sectors.csv").write_text("symbol,sector\nAAPL,Technology\nJPM,Financials\n")
    >>> read_sectors("sectors.csv")
    {'AAPL': 'Technology', 'JPM': 'Financials'}
    """
    file = Path(path).expanduser()
    with naming(file):
        needed = ("symbol",) if column is not None else ("symbol", "sector")
        columns = find_parts(file, needed, "a file of sectors") | ({} if column is None else {"sector": column})
        if column is not None and column not in header_of(file):
            raise DataError(f"no column {column!r} among {', '.join(header_of(file)[:8])}")
        table = read_columns(file, columns)
        (i, names), (j, sectors) = (names_of(table[part], columns[part]) for part in columns)
        found: dict[str, str] = {}
        for name, sector in zip((names[k] for k in i), (sectors[k] for k in j), strict=True):
            if found.setdefault(name, sector) != sector:
                raise UniverseError(f"{name} has two sectors, {found[name]} and {sector}; keep one")
        if symbols is None:
            return found
        wanted = list(symbols)
        kept = {name: found[name] for name in wanted if name in found}
        if not kept:
            raise UniverseError(
                f"none of the {len(wanted)} assets ({', '.join(wanted[:3])}, ...) is in the file; check that both write the "
                "symbols in the same way"
            )
        return kept
