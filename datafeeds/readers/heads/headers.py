"""The head of a CSV: what separates its columns, and which of its first lines are names.

Most files have one line of names. yfinance writes two or three (field, ticker, and the name of the index), Bloomberg some lines
about the request and then a line of securities above one of fields.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

from datafeeds.errors import DataError, UniverseError
from datafeeds.readers.heads.paired_dates import Block, find_blocks, names_of_blocks
from datafeeds.readers.limits import FileLimits
from datafeeds.readers.reading import reading
from datafeeds.readers.words import are_fields, is_long_header

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
LONGEST_HEADER = 16 << 20
#: Of the rows that are looked at together: cells take many times the memory of their text.
LONGEST_ROWS = 4 << 20
#: Rows that are looked at for the head; no known file has more above its prices.
LOOKED_AT = 24
_DATE = re.compile(
    r"\s*(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{8}\b|\d{1,2}[-/. ](?:\d{1,2}|[A-Za-z]{3,9})[-/. ,]+\d{2,4}\b"
    r"|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}\b)"
)
_NUMBER = re.compile(r"\s*[+-]?[\d.,]*\d[\d.,]*(?:[eE][+-]?\d+)?\s*$")


@dataclass(frozen=True)
class Head:
    """Names of the columns, where the rows begin (in bytes), what separates columns, and the securities that have dates of their
    own.
    """

    names: list[str]
    start: int
    separator: str = ","
    blocks: tuple[Block, ...] = ()


class Header:
    """The first lines of a CSV, blank ones at its beginning left out, taken in block by block."""

    def __init__(self) -> None:
        self._text, self._before, self._lines = b"", 0, 0

    @property
    def whole(self) -> bool:
        """Whether enough has been taken in."""
        return self._lines >= LOOKED_AT

    def take(self, block: bytes, most: FileLimits) -> None:
        """Read another block."""
        if self.whole:
            return
        if not self._text:
            rest = block.lstrip()
            self._before += len(block) - len(rest)
            block = rest
        self._text += block
        self._lines += block.count(b"\n")
        line = self._first_line()
        most.check_columns(max(line.count(mark.encode()) for mark in SEPARATORS) + 1)
        if len(line) > LONGEST_HEADER:
            raise DataError(f"the first line is longer than {LONGEST_HEADER >> 20} MB; it should be a header with names")
        if len(self._text) > 2 * LONGEST_HEADER:
            self._lines = LOOKED_AT

    def _first_line(self) -> bytes:
        stop = self._text.find(b"\n")
        return self._text if stop < 0 else self._text[:stop]

    @property
    def separator(self) -> str:
        """The mark by which most of the first rows have the same number of fields, more than one; of two alike the comma."""
        best, most = ",", 0
        for mark in SEPARATORS:
            counts = Counter(len(row) for row, _ in self._rows(mark) if any(cell.strip() for cell in row))
            fields, often = counts.most_common(1)[0] if counts else (0, 0)
            if fields > 1 and often > most:
                best, most = mark, often
                if len(counts) == 1:
                    break
        return best

    def _rows(self, mark: str) -> list[tuple[list[str], int]]:
        """The first rows, and the number of the line at which each of them ends; no row of a text that is no such CSV."""
        text = io.StringIO(self._text[:LONGEST_ROWS].decode("utf-8-sig", "replace"), newline="\n")
        found = []
        try:
            reader = csv.reader(text, delimiter=mark)
            for row in reader:
                found.append((row, reader.line_num))
                if len(found) == LOOKED_AT:
                    break
        except csv.Error:
            return []
        if found and len(self._text) > LONGEST_ROWS and len(found) < LOOKED_AT:
            found.pop()  # it goes on
        return found

    def head(self) -> Head:
        """What was found."""
        mark = self.separator
        rows = self._rows(mark)
        blocks, n_above = find_blocks([row for row, _ in rows], _DATE.match)
        if blocks:
            names = names_of_blocks(blocks, max(len(row) for row, _ in rows))
            return Head(names, self._end_of_line(rows[n_above - 1][1]), mark, blocks)
        layers = _layers([row for row, _ in rows])
        if layers is None:
            return Head(self._one_line(mark), self._before + len(self._first_line()) + 1, mark)
        names, n_rows = layers
        check_unique(names)
        return Head(names, self._end_of_line(rows[n_rows - 1][1]), mark)

    def _end_of_line(self, number: int) -> int:
        """Where the line after a number of them begins, in bytes."""
        start = 0
        for _ in range(number):
            start = self._text.find(b"\n", start) + 1
        return self._before + start

    def _one_line(self, mark: str) -> list[str]:
        try:
            text = self._first_line().decode("utf-8-sig").strip(" \r\n\v\f" if mark == "\t" else None)
            header = next(csv.reader(io.StringIO(text), strict=True, delimiter=mark), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"the header is not CSV in UTF-8: {error}") from None
        header = [name.strip() for name in header]
        if len(header) <= 1:
            line = header[0] if header else ""
            raise DataError(f"not a wide CSV (no comma in the header): the header reads {shorten(line)}")
        check_unique(header)
        return header


def _layers(rows: list[list[str]]) -> tuple[list[str], int] | None:
    """Names out of several header rows, and the number of rows above the first one of prices; None for a plain header.

    Two layers become names such as ``('Close', 'AAPL')``, as pandas writes them into Parquet files.
    """
    if not rows or is_long_header(rows[0]):
        return None
    first = next((i for i, row in enumerate(rows) if row and _DATE.match(row[0])), None)
    if first is None or first < 2 or len(rows[first]) < 2:
        return None
    width = len(rows[first])
    above = [[*(cell.strip() for cell in row), *[""] * width][:width] for row in rows[:first] if any(c.strip() for c in row)]
    if len(above) < 2:
        return None
    date = above[-1][0]
    if not any(above[-1][1:]):
        above.pop()
    bottom, upper = above[-1], above[-2] if len(above) > 1 else None
    above_fields = upper is not None and are_fields(bottom[1:]) and any(upper[1:])
    if upper is not None and (above_fields or (are_fields(upper[1:]) and all(bottom[1:]))):
        _say_skipped(len(above) - 2)
        return [date, *(str(pair) for pair in zip(_carried(upper[1:]), bottom[1:], strict=True))], first
    if not all(bottom[1:]) or any(_NUMBER.match(cell) for cell in bottom[1:]):
        return None
    _say_skipped(len(above) - 1)
    return [date or bottom[0], *bottom[1:]], first


def _carried(cells: list[str]) -> list[str]:
    """Merged cells of a header: an empty one repeats the one before it."""
    found, last = [], ""
    for cell in cells:
        last = cell or last
        found.append(last)
    return found


def _say_skipped(lines: int) -> None:
    if lines > 0:
        reading().say(f"{lines} line{'s' if lines > 1 else ''} above the header skipped")


def check_unique(header: list[str]) -> None:
    """Refuse a header in which a name stands twice (pandas would rename the second without a word) or is missing."""
    seen = set(header[:1])
    for i, name in enumerate(header[1:], 2):
        if not name:
            raise UniverseError(
                f"column {i} of {len(header)} has no name; name it or delete it (is there one comma too many in the header?)"
            )
        if name in seen:
            raise UniverseError(f"column {name!r} appears {header.count(name)} times in the header; keep one")
        seen.add(name)


def shorten(text: str, limit: int = 60) -> str:
    """Quoted text that stays on the line."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")
