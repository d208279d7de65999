"""The journal: one SQLite file that holds all an account knows. What is not in it has not happened."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from datafeeds.files import remove_unfinished, staged_path
from tracker_strategies.errors import TrackerError
from tracker_strategies.papertrade.errors import JournalError
from tracker_strategies.papertrade.journal import schema
from tracker_strategies.papertrade.journal.crash_points import reached

FILE = "journal.db"


class Journal:
    """A connection to the journal of an account.

    Changes are made in :meth:`transaction` only: each is on the disk when it returns (write-ahead log, ``synchronous=FULL``), or
    it has not happened. Whatever SQLite complains about becomes a :class:`JournalError` that tells what to do.

    Parameters
    ----------
    path : path
        The file; it must exist: see :meth:`create`.
    readonly : bool, default False
        For looking only; never waits for a step that runs.
    """

    def __init__(self, path: str | os.PathLike[str], *, readonly: bool = False) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise JournalError(f"no paper account at {self.path.parent} ({FILE} is missing); open one with: tracker paper init")
        with self.errors():
            self.db = self._connect(readonly)
        try:
            with self.errors():
                self._check_version(readonly)
        except BaseException:
            self.db.close()
            raise

    @classmethod
    def create(cls, path: str | os.PathLike[str], meta: dict[str, str], entries: Callable[[Self], None] | None = None) -> None:
        """Write a new journal, with its first entries, beside its place, and move it there in one step."""
        target = Path(path)
        remove_unfinished(target)
        try:
            with staged_path(target) as part:
                with closing(sqlite3.connect(part, isolation_level=None)) as db:
                    db.executescript(f"begin; {schema.TABLES} pragma user_version = {schema.VERSION}; commit")
                    db.execute(f"pragma application_id = {schema.APPLICATION_ID}")
                    db.executemany("insert into meta values (?, ?)", meta.items())
                if entries is not None:
                    with cls(part) as journal:
                        entries(journal)
                reached("before the journal is in its place")
        except (sqlite3.Error, OSError) as problem:
            remove_unfinished(target)
            raise JournalError(f"cannot write {target}: {problem}; choose another folder, or make room") from None

    def _connect(self, readonly: bool) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode={'ro' if readonly else 'rw'}"
        db = sqlite3.connect(uri, uri=True, timeout=10.0, isolation_level=None)
        db.row_factory = sqlite3.Row
        if not readonly:
            if not os.access(self.path, os.W_OK) or not os.access(self.path.parent, os.W_OK):
                db.close()
                raise JournalError(
                    f"{self.path} may not be written to; make it and its folder writable (chmod u+w), then step again"
                )
            db.execute("pragma journal_mode = wal")
            db.execute("pragma synchronous = full")
            db.execute("pragma foreign_keys = on")
        return db

    def _check_version(self, readonly: bool) -> None:
        (marked,) = self.db.execute("pragma application_id").fetchone()
        (version,) = self.db.execute("pragma user_version").fetchone()
        if marked != schema.APPLICATION_ID:
            raise JournalError(f"{self.path} is no journal of a paper account; restore it from a copy")
        if version > schema.VERSION:
            raise JournalError(
                f"{self.path} has version {version}, this program knows {schema.VERSION}; update it: "
                "pip install -U backtrader-index-tracker"
            )
        if version < schema.VERSION:
            if readonly:
                raise JournalError(f"{self.path} has the older version {version}; run: tracker paper step, which converts it")
            self._migrate(version)

    def _migrate(self, version: int) -> None:
        """Copy the file aside, then go from version to version in one transaction."""
        missing = [v for v in range(version, schema.VERSION) if v not in schema.MIGRATIONS]
        if missing:
            raise JournalError(f"{self.path} has version {version}, which cannot be converted any more; restore a newer copy")
        copy = self.path.with_name(f"{self.path.name}.version{version}")
        if not copy.exists():
            self.db.execute("vacuum into ?", (str(copy),))
        with self.transaction("migrate") as db:
            for v in range(version, schema.VERSION):
                for statement in schema.MIGRATIONS[v]:
                    db.execute(statement)
            db.execute(f"pragma user_version = {schema.VERSION}")

    def close(self) -> None:
        """Let go of the file."""
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- reading and writing ----------

    @contextmanager
    def errors(self) -> Iterator[None]:
        """What SQLite says, as a :class:`JournalError`; what cannot be what was written, too."""
        try:
            yield
        except TrackerError:
            raise
        except sqlite3.Error as problem:
            raise JournalError(f"{self.path}: {problem}; {_advice(str(problem))}") from None
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError) as problem:
            raise JournalError(f"{self.path} holds something that was never written there ({problem!r}); {_DAMAGED}") from None

    @contextmanager
    def transaction(self, point: str) -> Iterator[sqlite3.Connection]:
        """All or nothing."""
        try:
            self.db.execute("begin immediate")
            yield self.db
            reached(f"before commit of {point}")
            self.db.execute("commit")
        except sqlite3.Error as problem:
            self._rollback()
            raise JournalError(f"{self.path}: {problem}; {_advice(str(problem))}") from None
        except BaseException:
            self._rollback()
            raise
        reached(f"after commit of {point}")

    def _rollback(self) -> None:
        if self.db.in_transaction:
            self.db.execute("rollback")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Rows of a query."""
        with self.errors():
            return self.db.execute(statement, values).fetchall()

    def one(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """First field of the first row; None without one."""
        with self.errors():
            row = self.db.execute(statement, values).fetchone()
        return None if row is None else row[0]

    def meta(self, key: str) -> str:
        """A fact about the account."""
        value = self.one("select value from meta where key = ?", (key,))
        if not isinstance(value, str):
            raise JournalError(f"{self.path} has lost its {key}; {_DAMAGED}")
        return value

    def set_meta(self, key: str, value: str) -> None:
        """Change a fact about the account, inside a transaction."""
        self.db.execute("insert into meta values (?, ?) on conflict (key) do update set value = excluded.value", (key, value))

    def note(self, kind: str, text: str, session: str | None = None) -> None:
        """Add to the log of events, inside a transaction."""
        self.db.execute("insert into events (at, session, kind, text) values (?, ?, ?, ?)", (now(), session, kind, text))

    def note_once(self, kind: str, text: str, session: str | None = None) -> None:
        """As :meth:`note`, unless just that was said of the session before."""
        if not self.one("select 1 from events where kind = ? and text = ? and session is ?", (kind, text, session)):
            self.note(kind, text, session)

    def check(self) -> str:
        """What SQLite's own check of the file says: "ok", or what is wrong."""
        return str(self.one("pragma integrity_check(1)"))


_DAMAGED = "the file is damaged: restore it from a copy"


def _advice(problem: str) -> str:
    if "full" in problem or "disk I/O" in problem:
        return "the disk is full or failing: nothing was changed; make room and step again"
    if "readonly" in problem or "read-only" in problem:
        return "make the file and its folder writable (chmod u+w) and step again; nothing was changed"
    if "locked" in problem:
        return "another program keeps it busy; close it and step again"
    return _DAMAGED


def seal(*parts: bytes | str | float | int) -> str:
    """Checksum of a row, to tell damage from data."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:16]


def now() -> str:
    """The time, for the record only: nothing is decided by it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
