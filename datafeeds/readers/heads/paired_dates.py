"""Tables in which every security has a column of dates of its own, as Bloomberg's BDH pastes them, of any length.

AAPL US Equity,,,MSFT US Equity,
Dates,PX_LAST,,Dates,PX_LAST
2020-01-02,75.09,,2020-01-02,160.62
2020-01-03,74.36,,,
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from datafeeds.errors import UniverseError
from datafeeds.readers.words import FIELDS, part_of

#: What a cell of prices may hold.
_PRICE = re.compile(r"\s*(?:[+-]?[\d.,]*\d[\d.,]*(?:[eE][+-]?\d+)?|#N/A.*|)\s*$")
#: Words beside a security's name that are no name.
_LABELS = frozenset({"symbol", "date"})


@dataclass(frozen=True)
class Block:
    """The columns of one security, by their numbers: its dates, and its fields with their names."""

    name: str
    dates: int
    fields: tuple[tuple[int, str], ...]


def find_blocks(rows: Sequence[Sequence[str]], is_date: Callable[[str], object]) -> tuple[tuple[Block, ...], int]:
    """The securities of a table, from its first rows, and the number of rows above the first one of prices; none for a table of
    another kind.

    Raises
    ------
    UniverseError
        Each security has dates of its own, and what they are called cannot be told.
    """
    width = max(map(len, rows), default=0)
    for first, line in enumerate(rows):
        if not any(is_date(cell) for cell in line):
            continue
        above = [_padded(line, width) for line in rows[:first] if any(line)]
        if not above:
            continue
        below = [_padded(line, width) for line in rows[first:]]
        # A security may begin later than the others: its first cells are empty.
        columns = [[cell for cell in column if cell] for column in zip(*below, strict=True)]
        dated = [
            bool(is_date(cell)) or (cells != [] and all(map(is_date, cells)))
            for cell, cells in zip(below[0], columns, strict=True)
        ]
        dates = [i for i in range(width) if dated[i] or part_of(above[-1][i]) == "date"]
        blocks = _blocks(above, below[0], columns, dates) if len(dates) > 1 else ()
        if blocks:
            return blocks, first
    return (), 0


def _padded(line: Sequence[str], width: int) -> list[str]:
    return [cell.strip() for cell in line] + [""] * (width - len(line))


def _blocks(
    above: Sequence[Sequence[str]], row: Sequence[str], cells: Sequence[Sequence[str]], dates: Sequence[int]
) -> tuple[Block, ...]:
    """The securities of a table with these rows above its first row of prices, and these cells in each column below."""
    if any(row[: dates[0]]):
        return ()
    width = len(row)
    ends = [*dates[1:], width]
    # An empty column separates securities.
    columns = [[i for i in range(start + 1, end) if cells[i] or above[-1][i]] for start, end in zip(dates, ends, strict=True)]
    if not all(columns) or not all(_PRICE.match(row[i]) for own in columns for i in own):
        return ()
    bottom, upper = above[-1], above[-2] if len(above) > 1 else [""] * width
    called = all(part_of(bottom[i]) == "date" for i in dates)
    compact = any(cell.isdigit() for i in dates for cell in cells[i][:1])  # eight digits may be a volume
    if not called and (compact or (any(bottom[i] for i in dates) and any(bottom[i] for own in columns for i in own))):
        return ()
    parts = {part_of(bottom[i]) for own in columns for i in own}
    if called and not any(upper) and all(len(own) == 1 and bottom[own[0]] for own in columns) and not parts <= set(FIELDS):
        return _checked([Block(bottom[own[0]], d, ((own[0], "close"),)) for d, own in zip(dates, columns, strict=True)])
    if called or (parts <= set(FIELDS) and parts & {"close"}):
        nameless = [i for own in columns for i in own if not bottom[i]]
        if nameless:
            raise UniverseError(f"column {nameless[0] + 1} of {width} has no name; name it or delete it")
        fields = [tuple((i, bottom[i]) for i in own) for own in columns]
        names = upper
    elif all(len(own) == 1 for own in columns):
        fields, names = [((own[0], "close"),) for own in columns], bottom
    else:
        return ()
    made = [Block(_name(names[d:end], d), d, own) for d, end, own in zip(dates, ends, fields, strict=True)]
    known = {part_of(field) for block in made for _, field in block.fields}
    if not known & {"close", "adj_close"}:
        held = ", ".join(dict.fromkeys(field for block in made for _, field in block.fields)) or "no field"
        raise UniverseError(
            f"every security has dates of its own and {held[:80]}, which is not a price; paste PX_LAST (or close)"
        )
    return _checked(made)


def _name(cells: Sequence[str], place: int) -> str:
    """What is written above the columns of a security."""
    found = list(dict.fromkeys(cell for cell in cells if cell and part_of(cell) not in _LABELS))
    if len(found) != 1:
        what = f"{' and '.join(map(repr, found[:2]))} above it" if found else "no name above it"
        raise UniverseError(
            f"every security has a column of dates of its own, and column {place + 1} has {what}; write the name of one security "
            "above each pair of columns"
        )
    return found[0]


def _checked(blocks: Sequence[Block]) -> tuple[Block, ...]:
    seen = set()
    for block in blocks:
        for _, field in block.fields:
            if (key := (block.name, part_of(field) or field)) in seen:
                raise UniverseError(f"{block.name!r} appears twice, with {field} each time; keep one")
            seen.add(key)
    return tuple(blocks)


def names_of_blocks(blocks: Sequence[Block], width: int) -> list[str]:
    """A name for each column of the file, each there once."""
    names = [f"column {i}" for i in range(1, width + 1)]
    for block in blocks:
        names[block.dates] = f"dates of {block.name}"
        for i, field in block.fields:
            names[i] = f"{field} of {block.name}"
    return names
