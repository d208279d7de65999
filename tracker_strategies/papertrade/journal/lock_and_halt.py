"""One process at a time, and a switch that stops everything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from datafeeds.locks import locked
from tracker_strategies.errors import OutputError
from tracker_strategies.papertrade.errors import JournalError

LOCK, HALT = "lock", "HALT"


@contextmanager
def account_lock(folder: Path, *, timeout: float = 0.0) -> Iterator[None]:
    """Keep an account for one process, as long as that lives: the system takes it back however the process ends."""
    with ExitStack() as held:
        try:
            held.enter_context(locked(folder / LOCK, folder, timeout=timeout))
        except OSError as problem:
            raise JournalError(f"cannot lock {folder}: {problem.strerror}; is the folder writable?") from None
        yield


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
            if self.reason() is not None:  # whatever it is that stands there, it halts
                return
            raise OutputError(
                f"cannot write {self.path}: {problem.strerror}; create a file of that name by hand to halt"
            ) from None

    def clear(self) -> None:
        """Remove the halt."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as problem:
            raise OutputError(f"cannot remove {self.path}: {problem.strerror}; remove it by hand") from None
