"""A lock on a file that the operating system takes back when its holder dies, however it dies."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from datafeeds.errors import LockedError


@contextmanager
def locked(
    path: Path, what: object, *, timeout: float = 0.0, advice: str = "wait until it is done, or stop it"
) -> Iterator[None]:
    """Keep others out, processes and threads alike, that lock the same path.

    The kernel holds the lock, not the existence of the file: after ``kill -9`` or a power cut nothing stale is left, and the file
    that stays behind means nothing. It is never deleted, because another process may be waiting on that very file.

    Parameters
    ----------
    path : Path
        The lock file; made when absent. While it is held, a file beside it (``.holder``) names the holder, for messages.
    what : object
        What is locked, in words.
    timeout : float, default 0
        Seconds to wait for another holder.
    advice : str
        What to do when it is in use.

    Raises
    ------
    LockedError
        Somebody else holds it.
    OSError
        The file cannot be made or opened.
    """
    # A new one for each call: an object that is asked twice lets the same process in twice. Any thread may give it back.
    lock, holder = FileLock(path, thread_local=False), holder_of(path)
    try:
        lock.acquire(timeout=timeout)
    except Timeout:
        raise LockedError(f"{what} is in use by {_who(holder)}; {advice}") from None
    try:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        me = {"pid": os.getpid(), "host": socket.gethostname(), "command": " ".join(sys.argv[:4]), "since": since}
        with suppress(OSError):
            holder.write_text(json.dumps(me), encoding="utf-8")
        yield
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        lock.release()


def is_locked(path: Path) -> bool:
    """Whether somebody holds a lock now. Where one may only look, what the holder has written counts, though it may be dead."""
    if not path.exists():
        return False
    try:
        with FileLock(path).acquire(timeout=0.0):
            return False
    except Timeout:
        return True
    except OSError:
        return holder_of(path).exists()


def holder_of(path: Path) -> Path:
    """The file that names the holder of a lock."""
    return path.with_name(f"{path.name}.holder")


def _who(holder: Path) -> str:
    try:
        who = json.loads(holder.read_text(encoding="utf-8"))
        return f"process {who['pid']} on {who['host']} ({who['command']}) since {who['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
