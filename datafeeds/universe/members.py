"""Who belonged to the index when: point-in-time members, so that a backtest holds no name before it could have been known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from datafeeds.errors import DataError, UniverseError
from datafeeds.panel import MarketPanel
from datafeeds.readers.columns import find_parts, names_of, naming, read_columns
from datafeeds.readers.dates import parse_dates
from datafeeds.readers.parquet_tables import plain_text
from datafeeds.universe.renames import Rename

#: Ends of a spell that has none.
ALWAYS, FOR_EVER = np.datetime64("1678-01-01", "D"), np.datetime64("2261-12-31", "D")
_OPEN = frozenset({"", "na", "n/a", "nan", "nat", "null", "none"})


class Spell(NamedTuple):
    """A time in the index, from `start` to `stop`, both days included.

    Examples
    --------
    >>> from datafeeds import Spell
    >>> Spell("GE", None, "2018-06-25").symbol
    'GE'
    """

    symbol: str
    start: np.datetime64
    stop: np.datetime64


Members = str | os.PathLike[str] | Mapping[str, Sequence[tuple[Any, Any]]] | Sequence[Spell]


def read_members(path: str | os.PathLike[str]) -> tuple[Spell, ...]:
    r"""Read a CSV or Parquet file with the columns `symbol`, `from` and `to`: one row per spell in the index.

    A symbol that left and came back has several rows. Both days belong to the spell. An empty `from` means from the beginning,
    an empty `to` until today.

    Raises
    ------
    DataError
        A spell ends before it begins, two spells of a symbol overlap, or the file cannot be used. One line that names the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from datafeeds import read_members
    >>> size = Path("members.csv").write_text("symbol,from,to\nGE,,2018-06-25\n")
    >>> [spell.symbol for spell in read_members("members.csv")]
    ['GE']
    """
    file = Path(path).expanduser()
    with naming(file):
        columns = find_parts(file, ("symbol", "from", "to"), "a file of members")
        table = read_columns(file, columns)
        which, names = names_of(table["symbol"], columns["symbol"])
        start, stop = (_days(table[part], columns[part], edge) for part, edge in (("from", ALWAYS), ("to", FOR_EVER)))
        return checked_spells(Spell(names[i], a, b) for i, a, b in zip(which, start, stop, strict=True))


def _days(column: Any, name: str, edge: np.datetime64) -> Any:
    """Days of a column in which an empty cell stands for an edge of time."""
    column = plain_text(column, name)
    if pa.types.is_null(column.type):
        return np.full(len(column), edge)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        cells = [str(edge) if c is None or c.strip().lower() in _OPEN else c for c in column.to_pylist()]
        column = pa.chunked_array([pa.array(cells, pa.string())])
    elif column.null_count:
        column = column.cast(pa.timestamp("s")).fill_null(pa.scalar(edge.astype("datetime64[s]").astype(object)))
    return parse_dates(column, name).astype("datetime64[D]")


def checked_spells(spells: Iterable[Spell]) -> tuple[Spell, ...]:
    """Spells sorted by symbol and day, each with its end after its start and none over another."""
    result = tuple(sorted(spells))
    for spell in result:
        if not spell.start <= spell.stop:
            raise DataError(f"{spell.symbol} is a member from {spell.start} to {spell.stop}, which ends before it begins")
    for one, two in pairwise(result):
        if one.symbol == two.symbol and two.start <= one.stop:
            raise DataError(
                f"two spells of {one.symbol} overlap: {one.start}..{one.stop} and {two.start}..{two.stop}, both days included"
            )
    return result


def with_members(panel: MarketPanel, members: Members, renames: Sequence[Rename] = ()) -> MarketPanel:
    """The panel with its point-in-time members.

    Parameters
    ----------
    panel : MarketPanel
    members : path, mapping of symbol to (from, to) pairs, or sequence of Spell
        See :func:`read_members`. In a mapping None means an open end.
    renames : sequence of Rename
        Spells under an old name that began before its change count for the new one.

    Returns
    -------
    MarketPanel
        With the mask `members`. Names that never belong to the index in the panel's period are dropped, and members without
        prices are listed among the dropped: their number shows how far the backtest is from the true index.

    Raises
    ------
    UniverseError
        No asset of the panel is ever a member.

    Examples
    --------
    >>> from datafeeds import load_sample, with_members
    >>> panel = load_sample()
    >>> members = {name: [("2011-01-03", None)] for name in panel.symbols if name != "GE"}
    >>> with_members(panel, members).n_assets
    19
    """
    spells = _spells(members)
    for old, new, date in sorted(renames, key=lambda r: r.date):
        day = date.astype("datetime64[D]")
        spells = checked_spells(s._replace(symbol=new) if s.symbol == old and s.start < day else s for s in spells)
    place = {name: i for i, name in enumerate(panel.symbols)}
    days = panel.dates.astype("datetime64[D]")
    mask = np.zeros(panel.close.shape, dtype=bool)
    unpriced = {}
    for name, start, stop in spells:
        inside = slice(int(np.searchsorted(days, start)), int(np.searchsorted(days, stop, side="right")))
        if name in place:
            mask[inside, place[name]] = True
        elif inside.start < inside.stop and name not in panel.targets:
            unpriced[name] = "a member of the index without prices"
    ever = mask.any(axis=0)
    if not ever.any():
        known = ", ".join(dict.fromkeys(s.symbol for s in spells[:5])) or "none"
        raise UniverseError(
            f"none of the {panel.n_assets} assets ({', '.join(panel.symbols[:3])}, ...) is a member between {panel.day(0)} and "
            f"{panel.day(-1)}; the members are {known}, ...: check that both write the symbols in the same way"
        )
    panel = replace(panel, members=mask, dropped={**unpriced, **panel.dropped})
    return panel if ever.all() else panel.take(np.asarray(ever), "never a member of the index in this period")


def _spells(members: Members) -> tuple[Spell, ...]:
    if isinstance(members, str | os.PathLike):
        return read_members(members)
    if not isinstance(members, Mapping):
        return checked_spells(members)
    day = np.datetime64
    return checked_spells(
        Spell(str(name), ALWAYS if a is None else day(a, "D"), FOR_EVER if b is None else day(b, "D"))
        for name, pairs in members.items()
        for a, b in pairs
    )
