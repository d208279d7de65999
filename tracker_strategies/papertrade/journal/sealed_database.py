"""A database of an account: an SQLite file whose every row is sealed, with the head of its chain beside it."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from datafeeds.files import remove_unfinished, staged_path
from tracker_strategies.errors import TrackerError
from tracker_strategies.papertrade.errors import PaperError
from tracker_strategies.papertrade.journal.conversion import convert, convert_file
from tracker_strategies.papertrade.journal.crash_points import reached
from tracker_strategies.papertrade.journal.head import Head, HeadFile, put_stamp, stamp_of
from tracker_strategies.papertrade.journal.opening_files import DAMAGED, Connections, advice, named
from tracker_strategies.papertrade.journal.seals import BrokenSealError, Form, Link, Seals, contents_of

#: Looks at a database into which somebody writes while it is compared with its head.
_LOOKS = 20


class SealedDatabase:
    """A connection to a sealed database.

    Changes are made in :meth:`transaction` only: each is on the disk when it returns (write-ahead log, ``synchronous=FULL``) and
    the head beside it is, too; or it has not happened. What was written is checked before it is used: all of it when the files
    are not as they were left, otherwise what the next step reads. Whatever SQLite complains about becomes an error that tells
    what to do.

    Parameters
    ----------
    path : path
        The file; it must exist: see :meth:`write_new`.
    readonly : bool, default False
        For looking only: works where nothing can be written, and never waits for somebody who writes. All that is read is from
        one moment.
    from_copy : bool, default False
        It was put there on purpose: whatever the head says, if it is sound in itself, it is the truth from now on.
    quick : bool, default False
        For a look at what never changes (:attr:`fixed`): whether the rest is whole, and the newest, is not asked.
    """

    form: ClassVar[Form]
    error: ClassVar[type[PaperError]]
    #: Commits that may be missing in the head; None for any number of those that need not survive a power cut.
    slack: ClassVar[int | None] = 1
    #: The table of what never changes.
    fixed: ClassVar[str] = ""

    def __init__(
        self, path: str | os.PathLike[str], *, readonly: bool = False, from_copy: bool = False, quick: bool = False
    ) -> None:
        self.path, self.readonly, self._from_copy = Path(path), readonly, from_copy
        self._set_up()
        try:
            with self.errors():
                head = self._head_file.read()
                untouched = head is not None and head.stamp == stamp_of(self.path)
                if readonly or from_copy or not untouched:  # nothing is written to a file before it is checked
                    self._look(head, everything=not untouched, quick=quick)
                if not readonly:
                    self._begin(head, checked=from_copy or not untouched)
        except BaseException:
            self._files.close()
            raise

    @classmethod
    def write_new(cls, path: str | os.PathLike[str], fill: Callable[[Self], None]) -> None:
        """Write a new database, with what `fill` puts into it as its first commit, beside its place, and move it there."""
        target = Path(path)
        remove_unfinished(target)
        try:
            with staged_path(target) as part:
                new = cls.__new__(cls)
                new.path, new.readonly, new._from_copy = part, False, False
                new._set_up()
                new._headless = True  # a single commit needs none: it is ahead of nothing by one
                try:
                    new._use(new._files.open("rwc"))
                    new.form.lay_out(new.db)
                    new.seals.watch()
                    with new.transaction("opening"):
                        fill(new)
                finally:
                    new._files.close()
                reached(f"before {target.name} is in its place")
        except (sqlite3.Error, OSError, PaperError) as problem:
            remove_unfinished(target)
            raise cls.error(f"cannot write {target}: {problem}; choose another folder, or free disk space") from None

    # -- opening ----------

    def _set_up(self) -> None:
        self._head_file, self._files, self._headless = HeadFile(self.path), Connections(self.path), False
        self._durable = True
        self._safe, self._late, self._suspect = 0, False, False  # newest commit in the head; head not written; damage was seen

    def _use(self, db: sqlite3.Connection) -> None:
        self.db, self.seals = db, Seals(db, self.form)

    def _look(self, head: Head | None, *, everything: bool, quick: bool) -> None:
        self._use(self._files.look())
        version = self._version()
        if version < self.form.version and self.readonly:
            old, new = self.db, self._files.in_memory()
            convert(old, new, self.form)
            self._use(new)
        elif quick:
            self.seals.checked(self.fixed)
        elif version < self.form.version:
            self._files.close()
            convert_file(self.path, self.form, version)
            self._use(self._files.look())
            self._compare(None, everything=True)
        else:
            self._compare(head, everything=everything)

    def _begin(self, head: Head | None, *, checked: bool) -> None:
        self._files.close()
        self._use(self._files.open("rw"))
        for pragma in ("journal_mode = wal", "synchronous = full", "foreign_keys = on"):
            self.db.execute(f"pragma {pragma}")
        if not checked:
            self._version()
            self._compare(head, everything=False)
        self.seals.watch()
        link, known = self.seals.last_link(), 0 if head is None else head.count
        self._safe = min(known, link.count)
        if link.count != known or self._from_copy:
            self._write_head(link, alone=True)

    def _version(self) -> int:
        (marked,) = self.db.execute("pragma application_id").fetchone()
        (version,) = self.db.execute("pragma user_version").fetchone()
        if marked != self.form.mark and (marked or version or not self.form.unmarked):
            raise self.error(f"{self.path} is not a {self.form.what}; {DAMAGED}")
        if version > self.form.version:
            raise self.error(
                f"{self.path} has version {version}, this program reads up to {self.form.version}; update the program: "
                "pip install -U backtrader-index-tracker"
            )
        return int(version)

    # -- checking ----------

    def _compare(self, head: Head | None, *, everything: bool) -> None:
        """The chain with its head; what is read, or everything, with its seals."""
        if contents_of(self.db) != self.form.shape.contents:
            raise self.error(f"{self.path} has unexpected tables; {DAMAGED}")
        for look in range(_LOOKS):
            links = self.seals.links()
            wrong = "" if self._from_copy else self._head_file.apart(head, links, self.slack)
            if not wrong:
                break
            if not self.readonly or look == _LOOKS - 1:
                raise self.error(wrong)
            time.sleep(0.005)  # who only looks may come between a commit and its head
            self.db.execute("rollback")
            self.db.execute("begin")
            head = self._head_file.read()
        if everything:
            self._check_all()
        else:
            for name, since in self.recent().items():
                self.seals.checked(name, since)

    def _check_all(self) -> None:
        found = self.db.execute("pragma integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise self.error(f"{self.path}: {' '.join(found.split())}; {DAMAGED}")
        self.seals.check_all()

    def recent(self) -> dict[str, str]:
        """Tables that every step reads, and from which day on."""
        raise NotImplementedError

    def assure(self) -> None:
        """Look at everything, and raise if anything is not what was written."""
        with self.errors():
            self._check_all()

    def check(self) -> str:
        """Look at everything: "ok", or what is wrong."""
        try:
            self.assure()
        except self.error as problem:
            return str(problem)
        return "ok"

    # -- reading and writing ----------

    @contextmanager
    def errors(self) -> Iterator[None]:
        """What SQLite says, as a named error; what cannot be what was written, too."""
        try:
            with self._sqlite_errors():
                yield
        except TrackerError:
            raise
        except BrokenSealError as problem:
            self._suspect = True
            raise self.error(f"{self.path}: {problem}; {DAMAGED}") from None
        except OSError as problem:
            raise named(problem, self.path, self.error) from None
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError) as problem:
            raise self.error(f"{self.path} is corrupted ({problem!r}); {DAMAGED}") from None

    @contextmanager
    def transaction(self, point: str, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing; inside another one, part of that.

        ``durable``: it is there after a power cut, too.
        """
        if self.db.in_transaction:
            with self._sqlite_errors():
                yield self.db
            return
        if self._late:
            self._write_head(self.seals.last_link())
        with self._sqlite_errors():
            try:
                if durable != self._durable:
                    self._durable = durable
                    self.db.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
                self.db.execute("begin immediate")
                self.seals.begin()
                yield self.db
                link = self.seals.close_commit(self._safe)
                if durable:
                    reached(f"before commit of {point}")
                self.db.execute("commit")
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("rollback")
                raise
        if durable:
            reached(f"after commit of {point}")
            if link is not None:
                self._write_head(link)

    @contextmanager
    def _sqlite_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            self._suspect = True
            raise self.error(f"{self.path}: {problem}; {advice(problem, self.path)}") from None

    def _write_head(self, link: Link, *, alone: bool = False) -> None:
        if self._headless:
            return
        self._late = True
        try:
            self._head_file.write(link, alone=alone)
        except OSError as problem:
            raise named(problem, self._head_file.path, self.error) from None
        self._late, self._safe = False, link.count

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Rows of a query."""
        with self.errors():
            return self.db.execute(statement, values).fetchall()

    def one(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """First field of the first row; None without one."""
        with self.errors():
            row = self.db.execute(statement, values).fetchone()
        return None if row is None else row[0]

    def table(self, name: str, since: str = "") -> list[sqlite3.Row]:
        """Rows of a table, all or from a day on, in the order of their days, each checked against its seal."""
        with self.errors():
            return self.seals.checked(name, since)

    # -- closing ----------

    def close(self) -> None:
        """Let go of the files, and remember how they were left."""
        link = None
        if not (self.readonly or self._suspect or self._late):
            with suppress(sqlite3.Error):
                link = self.seals.last_link()
        self._files.close()
        if link is not None:
            with suppress(OSError):  # without it, the next one looks at everything
                self._head_file.write(link, put_stamp(self.path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
