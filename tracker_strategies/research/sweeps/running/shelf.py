"""Panels on disk, for the processes of one machine: written once, read once by each."""

from __future__ import annotations

import fcntl
import os
import pickle
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from datafeeds import MarketPanel
from tracker_strategies.errors import OutputError

_NAME, _LOCK = "tracker-sweep-", "in-use"


class Shelf:
    """A temporary folder with panels by their fingerprints. It is gone with the ``with`` block; one whose process was killed is
    removed by the next.

    Raises :class:`OutputError` where there is no room.
    """

    def __init__(self, panels: Mapping[str, MarketPanel]) -> None:
        _remove_orphans()
        made = ""
        try:
            made = tempfile.mkdtemp(prefix=f".{_NAME}")
            self._lock = os.open(Path(made, _LOCK), os.O_RDWR | os.O_CREAT)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self.path = str(Path(made).with_name(Path(made).name.removeprefix(".")))
            os.rename(made, self.path)  # under its name it has always been locked
            made = self.path
            for name, panel in panels.items():
                with Path(self.path, name).open("wb") as file:
                    pickle.dump(panel, file, protocol=pickle.HIGHEST_PROTOCOL)
        except OSError as problem:
            shutil.rmtree(made, ignore_errors=True)
            raise OutputError(
                f"cannot write the prices for the worker processes to {tempfile.gettempdir()}: {problem.strerror}; "
                "free disk space or set TMPDIR"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()

    def remove(self) -> None:
        """Take everything off it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _remove_orphans() -> None:
    """Remove shelves whose processes are gone: the system has taken their locks back."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_NAME}*"):
        with suppress(OSError):  # somebody uses it, or it is another user's
            lock = os.open(folder / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


@lru_cache(maxsize=8)
def panel_on(shelf: str, name: str) -> MarketPanel:
    """A panel that was put on a shelf."""
    with Path(shelf, name).open("rb") as file:
        found: MarketPanel = pickle.load(file)
    return found
