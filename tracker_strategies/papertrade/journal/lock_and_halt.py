"""One process at a time, and a switch that stops everything."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from datafeeds.locks import FileLock
from datafeeds.locks import LockedError as TakenError
from tracker_strategies.errors import OutputError
from tracker_strategies.papertrade.errors import JournalError, LockedError
from tracker_strategies.papertrade.journal.journal import now

LOCK, HOLDER, HALT = "lock", "lock.holder", "HALT"


class Lock:
    """Keeps an account for one process, as long as that lives: the system takes it back however the process ends."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._holder = folder, folder / HOLDER
        self._lock = FileLock(folder / LOCK, timeout=0.0)

    def __enter__(self) -> Self:
        try:
            self._lock.__enter__()
        except TakenError:
            raise LockedError(f"{self._folder} is in use by {self._who()}; wait until it is done, or stop it") from None
        except OSError as problem:
            raise JournalError(f"cannot lock {self._folder}: {problem.strerror}; is the folder writable?") from None
        me = {"pid": os.getpid(), "host": socket.gethostname(), "command": " ".join(sys.argv[:4]), "since": now()}
        with suppress(OSError):
            self._holder.write_text(json.dumps(me))
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._holder.unlink(missing_ok=True)
        self._lock.__exit__(None, None, None)

    def _who(self) -> str:
        try:
            who = json.loads(self._holder.read_text())
            return f"process {who['pid']} on {who['host']} ({who['command']}) since {who['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"


class HaltSwitch:
    """A file whose presence stops all sending. It is looked for before every order, so it works in the middle of a step, too."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / HALT

    def reason(self) -> str | None:
        """Why the account is halted; None when it is not."""
        try:
            return self.path.read_text(encoding="utf-8", errors="replace").strip() or "no reason given"
        except FileNotFoundError:
            return None
        except OSError as problem:
            return f"{self.path} cannot be read ({problem.strerror})"

    def set(self, why: str) -> None:
        """Halt."""
        try:
            self.path.write_text(f"{why} ({datetime.now(UTC):%Y-%m-%d %H:%M} UTC)\n", encoding="utf-8")
        except OSError as problem:
            raise OutputError(
                f"cannot write {self.path}: {problem.strerror}; create a file of that name by hand to halt"
            ) from None

    def clear(self) -> None:
        """Go on."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as problem:
            raise OutputError(f"cannot remove {self.path}: {problem.strerror}; remove it by hand") from None
