"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

#: How the name of a file that is still being written ends.
UNFINISHED = ".unfinished"


def replace_file(path: Path, content: bytes) -> None:
    """Put `content` at `path` so that a reader sees the old file or the new one, also after a crash of process or machine.

    Raises :class:`OSError` and leaves the old file as it was when the disk is full or the folder cannot be written to.
    """
    stage = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        with stage.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # the name must not point to a file whose content is still on its way
        os.replace(stage, path)
    except BaseException:
        with contextlib.suppress(OSError):
            stage.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder survive a power cut, where the system allows it (Windows has no such call)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_unfinished(path: Path) -> None:
    """Delete what killed processes left beside `path`. Call it only while nobody else can be writing `path`."""
    for orphan in path.parent.glob(f"{path.name}.*{UNFINISHED}"):
        orphan.unlink(missing_ok=True)
