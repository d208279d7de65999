"""The head of a chain, kept beside the database: what the last commit was, and how its file looked when it was closed.

A file of two lines that are written in turn, so that one of them is whole at any moment. It is on the disk after every commit. A
database that is behind it has lost commits (its ``-wal`` is gone, or an older copy was put in its place); one that is ahead of it
by one was killed in between.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from datafeeds.files import sync_folder
from tracker_strategies.papertrade.journal.seals import Link

#: Bytes of a line: disks write so many at once.
_LINE = 512


@dataclass(frozen=True)
class Head:
    """Number and hash of the last commit; ``stamp`` tells the files as they were left, and is empty while they are in use."""

    count: int = 0
    hash: str = ""
    stamp: str = ""


class HeadFile:
    """The file ``<database>.head``.

    Parameters
    ----------
    database : path
    """

    def __init__(self, database: Path) -> None:
        self._database, self.path = database, database.with_name(f"{database.name}.head")

    def read(self) -> Head | None:
        """The newest line that is whole; None without one."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        found = [head for at in (0, _LINE) if (head := _parse(data[at : at + _LINE])) is not None]
        return max(found, key=lambda head: head.count, default=None)

    def apart(self, head: Head | None, links: Sequence[Link], slack: int | None) -> str:
        """How a chain and its head disagree; empty when they do not. ``slack``: commits that may be missing in the head."""
        last, known, name = links[-1], Head() if head is None else head, self._database
        purpose = "if you restored this copy on purpose: tracker paper step --from-copy"
        if last.count < known.count:
            return (
                f"{name} ends with commit {last.count}, but {self.path.name} records commit {known.count}: the "
                f"file is too old (a lost -wal, or an older copy). Restore the newest copy; {purpose}"
            )
        if head is None and last.count > 1:
            return f"{self.path}, which records the last commit, is missing or damaged; restore it, or, {purpose}"
        linked = any((link.count, link.head) == (known.count, known.hash) for link in links) or last.count == 1 > known.count
        if not linked or (slack is not None and last.count - known.count > slack):
            return (
                f"{name} (commit {last.count}) is not the file that {self.path.name} was written for (commit {known.count}); "
                f"restore both from one copy, or, {purpose}"
            )
        return ""

    def write(self, link: Link, stamp: str = "", *, alone: bool = False) -> None:
        """Put a line on the disk; ``alone`` wipes the other one out, which may be about commits that are lost."""
        text = f"{link.count} {link.head} {stamp or '-'}"
        line = f"{text} {_check(text)}".ljust(_LINE - 1).encode() + b"\n"
        new = not self.path.exists()
        with self.path.open("xb" if new else "r+b") as file:
            if alone or new:
                file.write((b" " * (_LINE - 1) + b"\n") * 2)
            file.seek(_LINE * (link.count % 2))
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        if new:
            sync_folder(self.path.parent)


def _check(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _parse(line: bytes) -> Head | None:
    words = line.decode("ascii", errors="replace").split()
    if len(words) != 4 or _check(" ".join(words[:3])) != words[3]:
        return None
    return Head(int(words[0]), words[1], "" if words[2] == "-" else words[2])


def stamp_of(database: Path) -> str:
    """How the files of a database look from outside. Whoever writes to them changes it."""
    parts = []
    for path in (database, database.with_name(f"{database.name}-wal")):
        try:
            seen = path.stat()
        except FileNotFoundError:
            continue
        if path == database or seen.st_size:  # who only looks may leave an empty one behind
            parts.append(f"{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}:{seen.st_ino}")
    return "/".join(parts)


def put_stamp(database: Path) -> str:
    """Give the file a time of change that no writing can give it by chance, however soon; return the stamp, empty without right
    to do so.
    """
    try:
        seen = database.stat()
        odd = seen.st_mtime_ns // 1_000_000 * 1_000_000 + secrets.randbelow(1_000_000)
        os.utime(database, ns=(seen.st_atime_ns, odd))
    except OSError:
        return ""
    return stamp_of(database)
