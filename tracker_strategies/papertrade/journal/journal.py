"""The journal: one SQLite file that holds all an account knows. What is not in it has not happened."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from datafeeds.log import log
from tracker_strategies.papertrade.errors import JournalError
from tracker_strategies.papertrade.journal.opening_files import DAMAGED
from tracker_strategies.papertrade.journal.schema import FORM
from tracker_strategies.papertrade.journal.sealed_database import SealedDatabase

FILE = "journal.db"
#: Sessions that every step reads again, the newest, and so checks again.
RECENT = 2


class Journal(SealedDatabase):
    """A connection to the journal of an account.

    An older journal is converted when it is opened for writing; who only looks sees it as it will be.
    """

    form = FORM
    error = JournalError
    fixed = "meta"

    def __init__(
        self, path: str | os.PathLike[str], *, readonly: bool = False, from_copy: bool = False, quick: bool = False
    ) -> None:
        place = Path(path)
        if not place.is_file():
            raise JournalError(f"no paper account at {place.parent} ({FILE} is missing); open one with: tracker paper init")
        super().__init__(place, readonly=readonly, from_copy=from_copy, quick=quick)
        if from_copy:
            with self.transaction("copy"):
                self.note("copy", "continues from a restored copy of the journal")

    @classmethod
    def create(cls, path: str | os.PathLike[str], meta: dict[str, str], entries: Callable[[Self], None] | None = None) -> None:
        """Write a new journal with its first entries."""

        def fill(journal: Self) -> None:
            for key, value in meta.items():
                journal.set_meta(key, value)
            if entries is not None:
                entries(journal)

        cls.write_new(path, fill)

    def recent(self) -> dict[str, str]:
        """All tables but the log of events, from the last few sessions on; corporate actions all."""
        since = self.db.execute("select session from bars order by session desc limit 1 offset ?", (RECENT - 1,)).fetchone()
        first = "" if since is None else str(since[0])
        return {name: "" if name == "actions" else first for name in self.form.parts if name != "events"}

    def meta(self, key: str) -> str:
        """A fact about the account."""
        value = self.one("select value from meta where key = ?", (key,))
        if not isinstance(value, str):
            raise JournalError(f"{self.path} has lost its {key}; {DAMAGED}")
        return value

    def set_meta(self, key: str, value: str) -> None:
        """Change a fact about the account, inside a transaction."""
        self.db.execute("insert into meta values (?, ?) on conflict (key) do update set value = excluded.value", (key, value))

    def note(self, kind: str, text: str, session: str | None = None) -> None:
        """Add to the log of events, inside a transaction."""
        self.db.execute("insert into events (at, session, kind, text) values (?, ?, ?, ?)", (now(), session, kind, text))
        log.info("%s: session %s, %s: %s", self.path.parent.name, session or "-", kind, text)

    def note_once(self, kind: str, text: str, session: str | None = None) -> None:
        """As :meth:`note`, unless just that was said of the session before."""
        if not self.one("select 1 from events where kind = ? and text = ? and session is ?", (kind, text, session)):
            self.note(kind, text, session)


def now() -> str:
    """The time, for the record only: nothing is decided by it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
