"""How a check fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tracker_strategies.errors import TrackerError


class CheckError(TrackerError, AssertionError):
    """A promise that a learner or a strategy does not keep; the message begins with the promise.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PA
    >>> from tracker_strategies.testing import CheckError, check_learner
    >>> class Forgetful(PA):
    ...     _state = ()
    ...
    >>> try:
    ...     kept = check_learner(Forgetful, only=["clone_is_independent"])
    ... except CheckError as broken:
    ...     print(type(broken).__name__)
    ...
    CheckError
    """


class LookAheadError(CheckError):
    """A result up to bar t changed although only data after t changed.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies import PASTracker
    >>> from tracker_strategies.testing import LookAheadError, check_no_lookahead
    >>> class Cheat(PASTracker):
    ...     params = (("side", "signal"), ("lam", 1.0))
    ...     def next(self):
    ...         self.tracker.signal = lambda bar: self.assets[0].clock.panel.close[-1] / bar.close
    ...         super().next()
    ...
    >>> try:
    ...     check_no_lookahead(Cheat, load_sample().rows(0, 60))
    ... except LookAheadError as error:
    ...     print(type(error).__name__)
    ...
    LookAheadError
    """


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
