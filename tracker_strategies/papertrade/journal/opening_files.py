"""How the files of a database are opened: for writing, for looking, and where nothing can be written."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

E = TypeVar("E", bound=Exception)

DAMAGED = (
    "the file is damaged: restore it from a copy, then: tracker paper step --from-copy; without a copy, open a new account "
    "and accept the broker's positions: tracker paper adopt"
)


class _UnwritableError(PermissionError):
    """Nothing may be written to a file or its folder."""


class Connections:
    """Connections to one database, closed together."""

    def __init__(self, path: Path) -> None:
        self._path, self._open = path, ExitStack()

    def close(self) -> None:
        """Let go of all."""
        self._open.close()

    def open(self, mode: str) -> sqlite3.Connection:
        """A connection by one of SQLite's modes."""
        if mode == "rw" and not (os.access(self._path, os.W_OK) and os.access(self._path.parent, os.W_OK)):
            raise _UnwritableError
        return self._connect(f"{self._path.absolute().as_uri()}?mode={mode}")

    def in_memory(self) -> sqlite3.Connection:
        """A connection to a database that vanishes."""
        return self._connect("file::memory:")

    def look(self) -> sqlite3.Connection:
        """A connection that changes nothing, and sees one moment only."""
        try:
            db = self.open("ro")
        except sqlite3.OperationalError as problem:
            if not problem.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
                raise
            db = self._look_without_writing()
        db.execute("begin")
        return db

    def _look_without_writing(self) -> sqlite3.Connection:
        """Where not even the files can be made that SQLite needs for looking: so nobody writes there now."""
        log = self._path.with_name(f"{self._path.name}-wal")
        if not log.exists() or not log.stat().st_size:
            return self._connect(f"{self._path.absolute().as_uri()}?immutable=1")
        aside = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="paper-")))
        for path in (self._path, log):
            (aside / path.name).write_bytes(path.read_bytes())
        return self._connect(f"{(aside / self._path.name).as_uri()}?mode=rw")

    def _connect(self, uri: str) -> sqlite3.Connection:
        db = sqlite3.connect(uri, uri=True, timeout=10.0, isolation_level=None)
        try:
            db.row_factory = sqlite3.Row
            db.execute("select count(*) from sqlite_master").fetchone()  # SQLite opens a file when it needs it
        except BaseException:
            db.close()
            raise
        self._open.callback(db.close)
        return db


def advice(problem: sqlite3.Error, path: Path) -> str:
    """What to do about an error of SQLite."""
    name = getattr(problem, "sqlite_errorname", "")
    if name == "SQLITE_IOERR_SHORT_READ":
        return DAMAGED
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return "the disk is full or failing: nothing was changed; free disk space and step again"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "another program is using it; close that program and step again"
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
        return f"{_who_may_write(path)}; nothing was changed"
    return DAMAGED


def named(problem: OSError, path: Path, error: type[E]) -> E:
    """An error of the system, as one that says what to do."""
    if isinstance(problem, _UnwritableError) or problem.errno == errno.EROFS:
        return error(f"{path} is not writable; {_who_may_write(path)}; nothing was changed")
    if isinstance(problem, PermissionError):
        return error(f"{problem.filename or path} cannot be opened; make it readable and writable (chmod u+rw) and step again")
    return error(f"{path}: {problem.strerror or problem}; free disk space or repair the disk, then step again")


def _who_may_write(path: Path) -> str:
    if is_readonly_system(path):
        return (
            "it is on a read-only file system: make that writable (the system often remounts a failing disk "
            "read-only: check the disk first) and step again; status, report and export still work"
        )
    return "make it and its folder writable (chmod u+w), then step again"


def is_readonly_system(path: Path) -> bool:
    """Whether nobody can write there."""
    try:
        return bool(os.statvfs(path.parent).f_flag & os.ST_RDONLY)
    except (OSError, AttributeError):  # Windows has neither
        return False
