"""Databases of older versions become the current one: whole or not at all, and the older file is kept."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

from datafeeds.files import remove_unfinished, staged_path
from tracker_strategies.papertrade.journal.crash_points import reached
from tracker_strategies.papertrade.journal.seals import BrokenSealError, Form, Seals


def convert(old: sqlite3.Connection, new: sqlite3.Connection, form: Form) -> None:
    """Fill an empty database with the rows of an older one: each table with the columns that both have."""
    found = old.execute("pragma integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise BrokenSealError(str(found), "")
    _check_old_seals(old)
    form.lay_out(new)
    new.execute("begin")
    for name in form.parts:
        known = {row[1] for row in old.execute(f"pragma table_info({name})")}
        columns = [column for column in form.shape.columns[name] if column in known]
        if columns:
            rows = old.execute(f"select {', '.join(columns)} from {name} order by rowid")
            new.executemany(
                f"insert into {name} ({', '.join(columns)}) values ({', '.join('?' * len(columns))})", map(tuple, rows)
            )
    seals = Seals(new, form)
    seals.seal_everything()
    seals.close_commit(0)
    new.execute("commit")


def convert_file(path: Path, form: Form, version: int) -> None:
    """Convert a file in its place; the older one stays beside it as ``<name>.version<number>``."""
    remove_unfinished(path)
    copy = path.with_name(f"{path.name}.version{version}")
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        (busy, *_) = old.execute("pragma wal_checkpoint(truncate)").fetchone()  # its log must not meet the new file
        if busy:
            raise sqlite3.OperationalError("database is locked: another program has it open while it is converted")
        with staged_path(path) as part:
            with closing(sqlite3.connect(part, isolation_level=None)) as new:
                convert(old, new, form)
            if not copy.exists():
                with staged_path(copy) as kept:
                    old.execute("vacuum into ?", (str(kept),))
            old.close()
            reached(f"before the converted {path.name} is in its place")


# -- version 1 ----------


def _check_old_seals(old: sqlite3.Connection) -> None:
    """Version 1 of the journal sealed its bars and balances, row by row."""
    for name, columns in (("bars", "session, prices, levels"), ("balances", "session, cash, value, sizes, owed")):
        if "seal" in {row[1] for row in old.execute(f"pragma table_info({name})")}:
            for *values, mark in old.execute(f"select {columns}, seal from {name}"):
                if mark != _old_seal(*values):
                    raise BrokenSealError(name, str(values[0]))


def _old_seal(*parts: bytes | str | float) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:16]
