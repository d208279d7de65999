"""Files that a browser opens: where they may be written, how they appear whole or not at all, and what they are made from."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from tracker_strategies.errors import OutputError

NO_SCRIPTS = "style-src 'unsafe-inline'; img-src data:; font-src data:"


@cache
def template(name: str, package: str = __package__) -> str:
    """One of the files that pages are put together from."""
    return (resources.files(package) / "templates" / name).read_text(encoding="utf-8")


def fill_page(name: str, package: str = __package__, *, policy: str = NO_SCRIPTS, **parts: Any) -> str:
    """A page from its template: ``$head`` is what all pages begin with, ``$css`` the style that those without scripts share.

    ``policy`` is what the content security policy of the page allows; all else is forbidden.
    """
    head = Template(template("head.html")).substitute(policy=policy)
    return Template(template(name, package)).substitute(parts, head=head, css=template("tearsheet.css"))


def check_page(target: Path) -> None:
    """Raise :class:`OutputError` unless a page could be written there: before the work, not after it."""
    try:
        folder = next(parent for parent in target.absolute().parents if parent.exists())
        if target.is_dir():
            problem = f"it is a folder; name a file in it, such as {target / 'page.html'}"
        elif not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            problem = f"{folder} is not a folder that can be written to"
        else:
            return
    except OSError as error:
        problem = error.strerror or str(error)
    raise OutputError(f"cannot write {target}: {problem}")


def write_page(target: Path, page: str) -> Path:
    """Beside the target first, then in its place in one step; on failure neither a part nor a new folder stays."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    made = [folder for folder in target.absolute().parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(page)
        part.replace(target)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
            for folder in made:
                folder.rmdir()
        if isinstance(error, OSError):
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
        raise
    return target
