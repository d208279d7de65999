"""All that people read in a terminal goes through here, and is shown as it is: names of columns, folders and files, errors of
libraries and brokers are text, whatever stands in them. No tags, no emoji codes, no control characters.

Styles are given beside the text: ``console.print(styled("wrote ", (path, "bold")))``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import TextColumn
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

from datafeeds.texts import plain


def styled(*parts: Any) -> Text:
    """A line of several parts; one with a style is a tuple, ``(text, style)``."""
    pairs = (part if isinstance(part, tuple) else (part, "") for part in parts)
    return Text.assemble(*((str(text), style) for text, style in pairs))


class Terminal(Console):
    """A console that shows every text as it is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As usual, without control characters in the text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)

    def status(self, status: RenderableType, **options: Any) -> Status:
        """As usual; a text is shown as it is."""
        return super().status(Text(status) if isinstance(status, str) else status, **options)


def progress_text(template: str, style: str = "none") -> TextColumn:
    """A column of a progress bar, whose text is shown as it is."""
    return TextColumn(template, style=style, markup=False)
