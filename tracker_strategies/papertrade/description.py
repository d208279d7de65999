"""A copy of an account's description beside its journal, for the exits when the journal cannot be read."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from datafeeds.files import replace_file
from tracker_strategies.errors import TrackerError
from tracker_strategies.papertrade.config import AccountConfig

DESCRIPTION = "account.json"


def keep_description(folder: Path, config: AccountConfig) -> None:
    """Write the copy, unless it is there. It is a spare: a folder that cannot be written to is no reason to fail."""
    path = folder / DESCRIPTION
    if not path.exists():
        with suppress(OSError):
            replace_file(path, f"{config.to_json()}\n".encode())


def kept_description(folder: Path, problem: TrackerError) -> AccountConfig:
    """Read the copy; raise what was wrong with the journal where there is none."""
    try:
        return AccountConfig.from_json((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except (OSError, ValueError, TrackerError):
        raise problem from None
