"""How a check fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tracker_strategies.errors import TrackerError


class CheckError(TrackerError, AssertionError):
    """A promise that a learner or a strategy does not keep; the message begins with the promise."""


class LookAheadError(CheckError):
    """A result up to bar t changed although only data after t changed."""


def require(kept: Any, words: str = "") -> None:
    """Raise an AssertionError unless a condition holds; unlike an assert statement also under ``python -O``."""
    if not kept:
        raise AssertionError(words or "this is not so")


@contextmanager
def raises(kind: type[Exception], words: str = "", what: str = "it") -> Iterator[None]:
    """Raise an AssertionError unless the block raises an error of that kind with these words in its message."""
    try:
        yield
    except kind as problem:
        require(words in str(problem), f"{what} is refused with {str(problem)!r}, which does not contain {words!r}")
    else:
        raise AssertionError(f"{what} does not raise {kind.__name__}")


@contextmanager
def promise(title: str, subject: Any) -> Iterator[None]:
    """Turn whatever the block raises into a :class:`CheckError` that names the promise and who broke it."""
    try:
        yield
    except CheckError:
        raise
    except Exception as problem:
        kind = "" if isinstance(problem, AssertionError) else f"{type(problem).__name__}: "
        raise CheckError(f"{title}: {subject}: {kind}{str(problem).strip()}") from problem
