"""Files that a browser opens: where they may be written, how they appear whole or not at all, and what they are made from.

Pages are Jinja templates, all of them in ``templates/``, which escape whatever they are given: names are text, wherever they come
from. Each extends ``base.html``, which forbids scripts and requests; ``parts.html`` has the tiles, tables and charts they share.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from datafeeds.files import replace_file
from tracker_strategies.errors import OutputError


class Cell(NamedTuple):
    """A figure or a word on a page, in a table, in a tile or in the words of one.

    ``note`` stands below the text in small letters; ``value`` is what it says exactly, for programs, and ``key`` its name in
    ``metrics.json``; ``kind`` is a colour: good, bad or open. ``shade`` from -1 to 1 colours the cell of a table behind the text.
    """

    text: str
    note: str = ""
    value: float | str | None = None
    key: str = ""
    kind: str = ""
    shade: float | None = None


class Bar(NamedTuple):
    """A bar in a cell of a table: from -1 to 1 of the width of the cell, negative in the colour of losses."""

    length: float

    @property
    def width(self) -> str:
        """In per cent."""
        return f"{100 * min(abs(self.length), 1.0):.1f}"


#: What may stand in a cell.
Word = str | Cell | Bar


class Tile(NamedTuple):
    """A figure in large letters under a title, and words below it that may hold figures too."""

    title: str
    figure: Cell
    words: Sequence[Word]


class Table(NamedTuple):
    """Rows of text and figures, the first of each its heading. Rows in ``own`` stand out; ``kind`` is a class of the style."""

    head: Sequence[Word]
    rows: Sequence[Sequence[Word]]
    own: Collection[int] = ()
    kind: str = ""


@cache
def source(name: str) -> str:
    """A style sheet or a script as it stands in ``templates/``."""
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["source"] = source
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return made


def render(name: str, **values: Any) -> str:
    """A page from its template. A missing value is an error."""
    return _templates().get_template(name).render(values)


def part(name: str, *given: Any) -> Markup:
    """One of the macros of ``parts.html``, for what is put into a page as it is."""
    made: Markup = getattr(_templates().get_template("parts.html").module, name)(*given)
    return made


def check_page(target: Path) -> None:
    """Raise :class:`OutputError` unless a page could be written there: before the work, not after it."""
    try:
        folder = next(parent for parent in target.absolute().parents if parent.exists())
        if target.is_dir():
            problem = f"it is a folder; name a file in it, such as {target / 'page.html'}"
        elif not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            problem = f"{folder} is not a folder that can be written to; choose another place"
        else:
            return
    except OSError as error:
        problem = error.strerror or str(error)
    raise OutputError(f"cannot write {target}: {problem}")


def write_page(target: Path, page: str) -> Path:
    """Write next to the target first, then move it in one step; after a failure neither a part nor a new folder is left."""
    made = [folder for folder in target.absolute().parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, page.encode())
    except BaseException as error:
        with suppress(OSError):
            for folder in made:
                folder.rmdir()
        if isinstance(error, OSError):
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
        raise
    return target
