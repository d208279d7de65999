"""A lock on a file that the operating system takes back when its holder dies, however it dies."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from datafeeds.errors import DataError

#: Seconds between two tries.
POLL = 0.05


class LockedError(DataError):
    """Somebody else has held a lock for longer than one was ready to wait."""


if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        os.lseek(handle, 1 << 20, os.SEEK_SET)  # far behind the text: what is locked there cannot be read either
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def _give(handle: int) -> None:
        os.lseek(handle, 1 << 20, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _give(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


class FileLock:
    """Mutual exclusion between processes (and threads) that use the same path.

    The kernel holds the lock, not the existence of the file: after ``kill -9`` or a power cut nothing stale is left, and the file
    that stays behind means nothing. It is never deleted, because another process may be waiting on that very file.

    Parameters
    ----------
    path : Path
        The lock file; made when absent. Its text names the holder, for messages.
    timeout : float
        Seconds to wait for another holder before :class:`LockedError`.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self.path, self.timeout = path, timeout
        self._handle = -1

    def __enter__(self) -> Self:
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        deadline = time.monotonic() + self.timeout
        try:
            while True:
                try:
                    _take(handle)
                    break
                except (BlockingIOError, PermissionError):
                    if time.monotonic() >= deadline:
                        raise LockedError(
                            f"{self.path.stem} is being refreshed by another process ({self._holder()}) "
                            f"for more than {self.timeout:g} s; wait for it to end"
                        ) from None
                    time.sleep(POLL)
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, f"process {os.getpid()}".encode())
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        handle, self._handle = self._handle, -1
        try:
            _give(handle)
        finally:
            os.close(handle)

    def _holder(self) -> str:
        try:
            return self.path.read_text(encoding="ascii", errors="replace").strip() or "unknown"
        except OSError:
            return "unknown"
