"""Ticker changes: two columns that are one company become one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from datafeeds.errors import DataError
from datafeeds.panel import MarketPanel
from datafeeds.readers.columns import dates_of, find_parts, names_of, naming, read_columns


class Rename(NamedTuple):
    """From `date` on, the company with the ticker `old` has the ticker `new`.

    Examples
    --------
    >>> import numpy as np
    >>> from datafeeds import Rename
    >>> Rename("FB", "META", np.datetime64("2022-06-09")).new
    'META'
    """

    old: str
    new: str
    date: np.datetime64


def read_renames(path: str | os.PathLike[str]) -> tuple[Rename, ...]:
    r"""Read a CSV or Parquet file with the columns `old`, `new` and `date` (the first day of the new name), sorted by date.

    Examples
    --------
    >>> from pathlib import Path
    >>> from datafeeds import read_renames
    >>> size = Path("renames.csv").write_text("old,new,date\nFB,META,2022-06-09\n")
    >>> [(one.old, one.new) for one in read_renames("renames.csv")]
    [('FB', 'META')]
    """
    file = Path(path).expanduser()
    with naming(file):
        columns = find_parts(file, ("old", "new", "date"), "a file of ticker changes")
        table = read_columns(file, columns)
        (i, old), (j, new) = (names_of(table[part], columns[part]) for part in ("old", "new"))
        rows = zip((old[k] for k in i), (new[k] for k in j), dates_of(table["date"], columns["date"]), strict=True)
        return tuple(sorted((Rename(*row) for row in rows), key=lambda r: r.date))


def rename(panel: MarketPanel, renames: Sequence[Rename]) -> MarketPanel:
    """The panel with every company in one column, under its newest name.

    Prices of the old column before the date are put in front of those of the new column, unchanged: the return over the change
    is that of the two prices on either side of it. If the panel has only the old column, it gets the new name. Prices in the
    old column *from the date on*, while there is a new column, are those of another company that took over the ticker; they
    stay. Chains (A to B, later B to C) are followed in the order of the dates; names that the panel does not have are ignored.

    Raises
    ------
    DataError
        The new name has prices before the date: another company had this name, and its own change of name is needed, too.

    Examples
    --------
    >>> import numpy as np
    >>> from datafeeds import Rename, load_sample, rename
    >>> panel = load_sample()
    >>> rename(panel, [Rename("XX", "GE", np.datetime64("2015-01-02"))]).n_assets == panel.n_assets
    True
    """
    for old, new, date in sorted(renames, key=lambda r: r.date):
        if old not in panel.symbols or old == new:
            continue
        if new not in panel.symbols:
            panel = replace(panel, symbols=tuple(new if name == old else name for name in panel.symbols))
            continue
        panel = _joined(panel, panel.symbols.index(old), panel.symbols.index(new), date)
    return panel


def _joined(panel: MarketPanel, old: int, new: int, date: np.datetime64) -> MarketPanel:
    before = panel.dates < date
    if panel.has_bar[before, new].any():
        day = panel.day(int(np.argmax(panel.has_bar[:, new])))
        name, was = panel.symbols[new], panel.symbols[old]
        raise DataError(
            f"{name} has prices from {day} on, but {was} became {name} only on {date.astype('datetime64[D]')}: "
            f"add the later ticker of the company that was {name} before, or drop its prices"
        )
    tables = {}
    for part in ("close", "open", "high", "low", "volume", "members"):
        values = getattr(panel, part)
        if values is not None:
            values = values.copy()
            values[before, new] = values[before, old]
            values[before, old] = False if part == "members" else np.nan
            tables[part] = values
    keep = np.isfinite(tables["close"]).any(axis=0)
    left = panel.take(keep, f"renamed to {panel.symbols[new]}")
    return replace(left, **{part: values[:, keep] for part, values in tables.items()})
