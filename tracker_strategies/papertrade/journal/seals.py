"""Seals: every row of a database is part of a sum, and every commit a link of a chain, so that damage is told from data.

A row's seal is a checksum of its table and its values. The seals of a table are summed in parts, one for each day (or one for a
table that does not grow); the sums are in the table ``seals``, and all of them together in the last link of ``chain``. Sums go up
and down with the rows that are added, changed and removed, so a commit costs what it changes. They are kept by triggers of the
connection, which see every change whoever makes it through this program; a change past it does not fit its sum.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

#: What a sealed database has beside its own tables.
_TABLES = """
create table seals (
    name text not null,
    part text not null,
    rows integer not null,
    total integer not null,
    primary key (name, part)
) strict, without rowid;

-- One link per commit; the older ones are deleted once the head of the chain is safe outside.
create table chain (
    count integer primary key,
    total integer not null,
    head text not null
) strict;
"""

_RANGE = 1 << 64


def number_of(*values: object) -> int:
    """Checksum of some values, as SQLite's integers are: signed, 64 bits. Exact: floats that differ in one bit differ."""
    if bytes in map(type, values):  # written out they are four times as long
        values = tuple(hashlib.blake2b(v, digest_size=16).digest() if isinstance(v, bytes) else v for v in values)
    digest = hashlib.blake2b(ascii(values).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def added(total: int, more: int) -> int:
    """Sum that stays within 64 bits."""
    return (total + more + _RANGE // 2) % _RANGE - _RANGE // 2


@dataclass(frozen=True)
class Link:
    """The state after a commit: its number, the sum of all seals, and a hash of both and of the link before."""

    count: int = 0
    total: int = 0
    head: str = ""

    def next(self, total: int) -> Link:
        """The link after this one."""
        count = self.count + 1
        return Link(count, total, hashlib.blake2b(ascii((self.head, count, total)).encode(), digest_size=16).hexdigest())


@dataclass(frozen=True)
class Shape:
    """What a database should look like: its columns by table, and what SQLite's own table of contents says."""

    columns: Mapping[str, tuple[str, ...]]
    contents: frozenset[tuple[str, ...]]


@dataclass(frozen=True)
class Form:
    """A kind of sealed database.

    Parameters
    ----------
    what : str
        In words.
    mark, version : int
        SQLite's ``application_id`` and ``user_version``.
    tables : str
        The statements that make its own tables.
    days : mapping of str to str
        For each table that grows the column by whose first ten characters, a date, its sum is split; others have one sum.
    unmarked : bool, default False
        Whether older versions had no mark.
    """

    what: str
    mark: int
    version: int
    tables: str
    days: Mapping[str, str]
    unmarked: bool = False

    @cached_property
    def parts(self) -> Mapping[str, str]:
        """All tables that are sealed, each with the column by which its sum is split, or none."""
        return {name: self.days.get(name, "") for name in self.shape.columns if f"create table {name} (" in self.tables}

    @property
    def shape(self) -> Shape:
        """What its tables are."""
        return _shape_of(self.tables)

    def lay_out(self, db: sqlite3.Connection) -> None:
        """Make the tables, in one step, in an empty database."""
        marks = f"pragma application_id = {self.mark}; pragma user_version = {self.version};"
        db.executescript(f"begin; {self.tables} {_TABLES} {marks} commit")


@cache
def _shape_of(tables: str) -> Shape:
    db = sqlite3.connect(":memory:")
    db.executescript(tables + _TABLES)
    names = [row[0] for row in db.execute("select name from sqlite_master where type = 'table'")]
    columns = {name: tuple(row[1] for row in db.execute(f"pragma table_info({name})")) for name in names}
    found = Shape(columns, contents_of(db))
    db.close()
    return found


def contents_of(db: sqlite3.Connection) -> frozenset[tuple[str, ...]]:
    """Tables and indexes of a database, as they were declared."""
    rows = db.execute("select type, name, tbl_name, coalesce(sql, '') from main.sqlite_master").fetchall()
    return frozenset(tuple(map(str, row)) for row in rows)


class Seals:
    """Keeps the sums and the chain of one connection."""

    def __init__(self, db: sqlite3.Connection, form: Form) -> None:
        self.db, self.parts, self._columns = db, form.parts, form.shape.columns
        self._changes: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        self._counts = False
        #: Everything was checked: what is read later need not be.
        self.whole = False

    # -- writing ----------

    def watch(self) -> None:
        """Count every change of this connection from now on."""
        self.db.execute("pragma recursive_triggers = on")  # or rows that are replaced would leave no trace
        self.db.create_function("tally", -1, self._tally)
        for name in self.parts:
            new, old = (f"select tally('{name}', {sign}, {self._values(name, row)});" for row, sign in (("new", 1), ("old", -1)))
            for moment, work in (("insert", new), ("delete", old), ("update", old + new)):
                self.db.execute(f"create temp trigger seal_{name}_{moment} after {moment} on main.{name} begin {work} end")

    def _values(self, name: str, row: str) -> str:
        part = f"substr(coalesce({row}.{self.parts[name]}, ''), 1, 10)" if self.parts[name] else "''"
        return ", ".join([part, *(f"{row}.{column}" for column in self._columns[name])])

    def _tally(self, name: str, sign: int, part: str, *values: object) -> None:
        if not self._counts:
            raise RuntimeError(f"{name} was changed outside one of the account's transactions")
        change = self._changes[name, part]
        change[0] += sign
        change[1] += sign * number_of(name, *values)

    def begin(self) -> None:
        """A transaction begins: nothing was changed in it so far."""
        self._changes.clear()
        self._counts = True

    def close_commit(self, safe: int) -> Link | None:
        """Write the sums and the next link of the chain, inside the transaction; None when nothing changed.

        ``safe``: the link that is on the disk as the head; those before it are not needed any more.
        """
        changes = [(key, rows, total) for key, (rows, total) in self._changes.items() if rows or total]
        self._counts = False
        if not changes:
            return None
        last = self.last_link()
        whole = last.total
        for (name, part), rows, total in changes:
            known = self.db.execute("select rows, total from seals where name = ? and part = ?", (name, part)).fetchone()
            before = tuple(known) if known else (0, 0)
            after = before[0] + rows, added(before[1], total)
            whole = added(whole, _of_part(name, part, *after) - _of_part(name, part, *before))
            if after == (0, 0):
                self.db.execute("delete from seals where name = ? and part = ?", (name, part))
            else:
                self.db.execute("insert or replace into seals values (?, ?, ?, ?)", (name, part, *after))
        link = last.next(whole)
        self.db.execute("insert into chain values (?, ?, ?)", (link.count, link.total, link.head))
        self.db.execute("delete from chain where count < ?", (safe,))
        return link

    def last_link(self) -> Link:
        """The newest link; one with count 0 before the first commit."""
        row = self.db.execute("select count, total, head from chain order by count desc limit 1").fetchone()
        return Link() if row is None else Link(*row)

    # -- checking ----------

    def checked(self, name: str, since: str = "") -> list[sqlite3.Row]:
        """All rows of a table, or those from a day on and those without one, in the order of their days.

        Raises :class:`BrokenSealError` when one is missing, is one too many, or is not as it was written.
        """
        column, day = self.parts[name], since[:10]
        wanted, sums = f"select * from {name}", "select part, rows, total from seals where name = ?"
        if self.whole and not day:
            return self.db.execute(wanted + (f" order by {column}" if column else "")).fetchall()
        if column and day:  # in two questions each: SQLite finds the answers to both by an index, but not to one with "or"
            rows = self.db.execute(f"{wanted} where {column} is null").fetchall()
            rows += self.db.execute(f"{wanted} where {column} >= ? order by {column}", (day,)).fetchall()
            parts = self.db.execute(f"{sums} and part = ''", (name,)).fetchall()
            parts += self.db.execute(f"{sums} and part >= ?", (name, day)).fetchall()
        else:
            rows = self.db.execute(wanted + (f" order by {column}" if column else "")).fetchall()
            parts = self.db.execute(sums, (name,)).fetchall()
        found, known = self._sums(name, rows), {part: values for part, *values in parts}
        for part in sorted(found.keys() | known.keys()):
            if list(found.get(part, (0, 0))) != known.get(part):
                raise BrokenSealError(name, part)
        return rows

    def _sums(self, name: str, rows: Iterable[sqlite3.Row]) -> dict[str, tuple[int, int]]:
        place = self._columns[name].index(self.parts[name]) if self.parts[name] else None
        found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for row in rows:
            values = tuple(row)
            change = found["" if place is None else str(values[place] or "")[:10]]
            change[0] += 1
            change[1] += number_of(name, *values)
        return {part: (rows, added(0, total)) for part, (rows, total) in found.items()}

    def check_all(self) -> Link:
        """Every row against its sum, the sums against the chain, the chain against itself; return its last link."""
        whole, self.whole = 0, False
        for name in self.parts:
            self.checked(name)
        for name, part, rows, total in self.db.execute("select name, part, rows, total from seals").fetchall():
            if name not in self.parts:
                raise BrokenSealError("seals", "")
            whole = added(whole, _of_part(name, part, rows, total))
        links = self.links()
        if links[-1].total != whole:
            raise BrokenSealError("chain", "")
        self.whole = True
        return links[-1]

    def links(self) -> list[Link]:
        """The links that are kept, oldest first, each following from the one before."""
        links = [Link(*row) for row in self.db.execute("select count, total, head from chain order by count").fetchall()]
        if not links or any(before.next(after.total) != after for before, after in pairwise(links)):
            raise BrokenSealError("chain", "")
        return links

    def seal_everything(self) -> None:
        """Count all rows that are there, of a database that was not sealed before."""
        self.begin()
        for name in self.parts:
            for part, (rows, total) in self._sums(name, self.db.execute(f"select * from {name}").fetchall()).items():
                change = self._changes[name, part]
                change[0] += rows
                change[1] += total


class BrokenSealError(ValueError):
    """Rows that are not those that were written."""

    def __init__(self, name: str, part: str) -> None:
        super().__init__(f"{name}{f' of {part}' if part else ''}: content differs from what was written")


def _of_part(name: str, part: str, rows: int, total: int) -> Any:
    return number_of(name, part, rows, total) if rows or total else 0
