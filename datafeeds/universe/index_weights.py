"""Published weights of an index: which share of it each name is, with the dates from which that is known."""

from __future__ import annotations

import os
from pathlib import Path

from pandas.api.types import is_numeric_dtype

from datafeeds.errors import DataError
from datafeeds.readers.columns import naming
from datafeeds.readers.small_tables import read_any_table, say_how
from datafeeds.readers.words import parts_of


def read_index_weights(
    path: str | os.PathLike[str], *, dates: str | None = None, decimal: str | None = None
) -> dict[str, dict[str, float]]:
    r"""Read a table (CSV, Parquet, Excel) with the columns `symbol` and `weight`, and `date` where there are several.

    Parameters
    ----------
    path : path
    dates : {"dmy", "mdy", "ymd"}, optional
        Order of day, month and year, where every row fits two.
    decimal : {".", ","}, optional
        The decimal mark, where every number fits both.

    Returns
    -------
    dict
        From ISO dates to symbols and their weights, as in the file. A file without dates has the one key ``""``.

    Raises
    ------
    DataError
        A symbol has two weights on one date, a weight is missing, or the file cannot be used. One line that names the file.

    Examples
    --------
    >>> from datafeeds import read_index_weights
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "weights.csv"
    >>> _ = file.write_text("date,symbol,weight\n2020-01-02,AAPL,0.6\n2020-01-02,MSFT,0.4\n")
    >>> read_index_weights(file)
    {'2020-01-02': {'AAPL': 0.6, 'MSFT': 0.4}}
    """
    file = Path(path).expanduser()
    table, notes = read_any_table(path, dates=dates, decimal=decimal)
    say_how(path, notes)
    with naming(file):
        parts = parts_of(table.columns)
        for part in ("symbol", "weight"):
            if part not in parts:
                shown = ", ".join(map(str, table.columns[:8]))
                raise DataError(
                    f"no column {part!r} among {shown}; a file of index weights has the columns symbol, weight and date"
                )
        weights, days = table[parts["weight"]], [""] * len(table)
        if not is_numeric_dtype(weights):
            raise DataError(f"column {parts['weight']!r} holds text where numbers are needed, such as {weights.iloc[0]!r}")
        if "date" in parts:
            days = [str(day)[:10] for day in table[parts["date"]]]
        found: dict[str, dict[str, float]] = {}
        for row, (date, name, weight) in enumerate(zip(days, table[parts["symbol"]], weights, strict=True), 1):
            if not name or weight != weight:
                raise DataError(f"row {row} has no {'weight' if name else 'symbol'}; fill it or delete the row")
            if name in found.setdefault(date, {}):
                raise DataError(f"{name} appears twice" + (f" on {date}" if date else "") + "; keep one row")
            found[date][name] = float(weight)
        if not found:
            raise DataError("the table has no rows")
        return found
