"""Panels on disk, for the processes of one machine: written once, read once by each."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from datafeeds import MarketPanel
from tracker_strategies.errors import OutputError


class Shelf:
    """A temporary folder with panels by their fingerprints; it is gone with the ``with`` block, or with the process.

    Raises :class:`OutputError` where there is no room.
    """

    def __init__(self, panels: Mapping[str, MarketPanel]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tracker-sweep-", ignore_cleanup_errors=True)
        try:
            for name, panel in panels.items():
                with Path(self.path, name).open("wb") as file:
                    pickle.dump(panel, file, protocol=pickle.HIGHEST_PROTOCOL)
        except OSError as problem:
            self._folder.cleanup()
            raise OutputError(
                f"cannot put the prices into {tempfile.gettempdir()} for the processes: {problem.strerror}; "
                "make room or set TMPDIR"
            ) from None

    @property
    def path(self) -> str:
        """Of the folder."""
        return self._folder.name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()

    def remove(self) -> None:
        """Take everything off it."""
        self._folder.cleanup()


@lru_cache(maxsize=8)
def panel_on(shelf: str, name: str) -> MarketPanel:
    """A panel that was put on a shelf."""
    with Path(shelf, name).open("rb") as file:
        found: MarketPanel = pickle.load(file)
    return found
