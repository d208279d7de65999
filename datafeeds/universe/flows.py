"""Files of money that is paid in and taken out."""

from __future__ import annotations

import os
from pathlib import Path

from pandas.api.types import is_numeric_dtype

from datafeeds.errors import DataError
from datafeeds.readers.columns import naming
from datafeeds.readers.small_tables import read_any_table, say_how
from datafeeds.readers.words import parts_of


def read_flows(path: str | os.PathLike[str], *, dates: str | None = None, decimal: str | None = None) -> dict[str, float]:
    r"""Read a table (CSV, Parquet, Excel) with the columns `date` and `amount`; other columns, such as a note, are ignored.

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
        From ISO dates to amounts, + paid in, - taken out; several of one date are added up.

    Raises
    ------
    DataError
        A date or an amount is missing, or the file cannot be used. One line that names the file.

    Examples
    --------
    >>> from datafeeds import read_flows
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "flows.csv"
    >>> _ = file.write_text("date,amount,note\n2020-01-02,1000,gift\n2020-02-03,-250,\n")
    >>> read_flows(file)
    {'2020-01-02': 1000.0, '2020-02-03': -250.0}
    """
    table, notes = read_any_table(path, texts=("note",), dates=dates, decimal=decimal)
    say_how(path, notes)
    with naming(Path(path).expanduser()):
        parts = parts_of(table.columns)
        for part in ("date", "amount"):
            if part not in parts:
                shown = ", ".join(map(str, table.columns[:8]))
                raise DataError(f"no column {part!r} among {shown}; flows are a table of date and amount")
        amounts = table[parts["amount"]]
        if len(table) and not is_numeric_dtype(amounts):
            raise DataError(f"column {parts['amount']!r} holds text where numbers are needed, such as {amounts.iloc[0]!r}")
        found: dict[str, float] = {}
        for row, (date, amount) in enumerate(zip(table[parts["date"]], amounts, strict=True), 1):
            if date != date or amount != amount:
                raise DataError(f"row {row} has no {'amount' if date == date else 'date'}; fill it or delete the row")
            found[str(date)[:10]] = found.get(str(date)[:10], 0.0) + float(amount)
        if not found:
            raise DataError("the table has no rows")
        return found
