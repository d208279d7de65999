"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from datafeeds.errors import OutputError, TrackerError

#: How the name of a file that is still being written ends.
UNFINISHED = ".unfinished"


# -- files ----------


@contextmanager
def staged_path(path: Path) -> Iterator[Path]:
    """The name of a file to be written beside `path`, which takes its place when all went well, and vanishes when not: a reader
    sees the old one or the new one, also after a crash of process or machine.

    Raises :class:`OSError` and leaves the old file as it was when the disk is full or the folder cannot be written to.
    """
    stage = path.with_name(f"{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        yield stage
        _sync_file(stage)  # the name must not point to a file whose content is still on its way
        os.replace(stage, path)
    except BaseException:
        with suppress(OSError):
            stage.unlink()
        raise
    sync_folder(path.parent)


@contextmanager
def staged_file(path: Path) -> Iterator[IO[bytes]]:
    """As :func:`staged_path`, open for writing."""
    with staged_path(path) as stage, stage.open("xb") as file:
        yield file


def replace_file(path: Path, content: bytes) -> None:
    """Put `content` at `path`, in one step: see :func:`staged_file`."""
    with staged_file(path) as file:
        file.write(content)


def _sync_file(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder survive a power cut, where the system allows it (Windows has no such call)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_unfinished(path: Path) -> None:
    """Delete what killed processes left beside `path`, whose name may be a pattern, ``*`` for all files of a folder.

    Call it only while nobody else can be writing there.
    """
    for orphan in path.parent.glob(f"{path.name}.*{UNFINISHED}*"):  # with what SQLite puts beside its files
        orphan.unlink(missing_ok=True)


# -- JSON ----------


def write_json(path: Path, content: Any) -> None:
    """Put :func:`json_text` and a newline at `path`, in one step."""
    replace_file(path, f"{json_text(content)}\n".encode())


def json_text(content: Any) -> str:
    """Valid JSON, ordered as given, two spaces: NaN and infinities become null, what JSON does not know its ``repr``."""
    return json.dumps(_jsonable(content), indent=2, allow_nan=False)


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(v) for v in value]
    if hasattr(value, "tolist"):
        return _jsonable(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else repr(value)


# -- folders ----------


def check_place(target: Path, what: str, files: Collection[str]) -> None:
    """Raise :class:`OutputError` unless a `what`, which has a ``<what>.json`` and no other files than `files`, could be written
    there, in the place of an earlier one if need be: to fail before minutes of work, not after.
    """
    if target.exists() and not target.is_dir():
        raise OutputError(f"cannot write to {target}: it is a file; choose a folder")
    if target.is_dir():
        entries = {p.name for p in target.iterdir() if not p.name.endswith(UNFINISHED)}  # what a killed process left is no result
        if entries.difference(files) or (entries and f"{what}.json" not in entries):
            other = min(entries.difference(files), default=f"no {what}.json")
            raise OutputError(
                f"{target} contains files that do not belong to a {what} ({other}); choose an empty or new folder with --out"
            )
        if target.resolve() in (Path.cwd(), *Path.cwd().parents):
            raise OutputError(f"{target} is the current folder and cannot be replaced; choose a folder inside it with --out")
    above = next(p for p in target.absolute().parents if p.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write to {target}: {above} is not a writable folder; choose another folder with --out")


@contextmanager
def staged_folder(target: Path, what: str, files: Collection[str]) -> Iterator[Path]:
    """A temporary folder beside the target that takes its place when all went well, and vanishes when not.

    An older `what` there is replaced, anything else refused: see :func:`check_place`.
    """
    check_place(target, what, files)
    with named_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        old = stage.with_name(stage.name + "-old")
        try:
            yield stage
            for file in stage.iterdir():
                _sync_file(file)
            stage.chmod(0o755)
            sync_folder(stage)
            if target.exists():
                os.replace(target, old)
            os.replace(stage, target)
            sync_folder(target.parent)
        finally:
            if old.exists() and not target.exists():  # interrupted between the two: the older one stays
                os.replace(old, target)
            for folder in (stage, old):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def named_errors(folder: Path) -> Iterator[None]:
    """A full disk or a missing permission as an :class:`OutputError` on one line."""
    try:
        yield
    except OSError as problem:
        if isinstance(problem, TrackerError):
            raise
        raise OutputError(f"cannot write to {folder}: {problem.strerror or problem}; choose another folder with --out") from None
