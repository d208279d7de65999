"""How files are to be read here, where they leave a choice, and what was guessed: one line for whoever asked."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from datafeeds.choices import DATE_ORDERS, DECIMALS, check_choice
from datafeeds.errors import DataError, ReadingNote

if TYPE_CHECKING:
    from datafeeds.panel import MarketPanel


@dataclass(frozen=True)
class Reading:
    """What the reader was told about a file, and what it found out by itself.

    Parameters
    ----------
    dates : {"dmy", "mdy", "ymd"}, optional
        Order of day, month and year. By default the whole column decides.
    decimal : {".", ","}, optional
        The decimal mark. By default all numbers of the file decide.
    calendar : str, optional
        The exchange whose sessions stamps with a time zone belong to, such as ``XNYS``.
    notes : list of str
        Guesses, in the order in which they were made: ``semicolons``, ``decimal comma``, ``day first``.
    """

    dates: str | None = None
    decimal: str | None = None
    calendar: str | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.dates is not None:
            check_choice("dates", self.dates, DATE_ORDERS)
        if self.decimal is not None:
            check_choice("decimal", self.decimal, DECIMALS)
            object.__setattr__(self, "decimal", {"point": ".", "comma": ","}.get(self.decimal, self.decimal))

    def say(self, note: str) -> None:
        """Keep what was guessed, once."""
        if note not in self.notes:
            self.notes.append(note)


#: What a user has said about all files that leave a choice: the order of dates, the decimal mark.
_said: ContextVar[dict[str, str]] = ContextVar("what was said about ambiguous files", default={})  # noqa: B039 (never changed)


@contextmanager
def deciding(dates: str | None = None, decimal: str | None = None) -> Iterator[None]:
    """Inside the ``with`` block, small tables that can be read in two ways are read in this one; others are read as they are."""
    said = Reading(dates, decimal)
    token = _said.set({name: told for name in ("dates", "decimal") if (told := getattr(said, name)) is not None})
    try:
        yield
    finally:
        _said.reset(token)


def ambiguous(message: str, option: str) -> DataError:
    """The error for a file that can be read in two ways; ``option`` decides: dates or decimal."""
    problem = DataError(message)
    problem.option = option  # type: ignore[attr-defined]
    return problem


def said_of(option: str) -> str | None:
    """What was said about files that are ambiguous; None for nothing."""
    return _said.get().get(option)


_now: ContextVar[Reading | None] = ContextVar("how files are read", default=None)


def reading() -> Reading:
    """What holds here; outside of :func:`reading_as` every choice is the reader's."""
    return _now.get() or Reading()


@contextmanager
def reading_as(how: Reading) -> Iterator[Reading]:
    """Read files in this way inside the ``with`` block; its notes grow."""
    token = _now.set(how)
    try:
        yield how
    finally:
        _now.reset(token)


def noted(panel: MarketPanel, how: Reading) -> MarketPanel:
    """The panel with what was guessed about its file, which is said in a warning, too."""
    if not how.notes:
        return panel
    told = " ".join(f"{panel.source} read as: {', '.join(how.notes)}".split())
    warnings.warn(told if len(told) < 600 else f"{told[:600]}...", ReadingNote, stacklevel=4)
    return replace(panel, read_as=tuple(how.notes))
