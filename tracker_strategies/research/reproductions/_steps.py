"""What the experiments of all papers need: numbers that make sense, and somebody who is told how far they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracker_strategies._checks import count
from tracker_strategies.errors import ParameterError

Progress = Callable[[int, int], None]


def whole(name: str, value: Any) -> int:
    """An integer >= 0, or a :class:`ParameterError`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ParameterError(f"{name} must be an integer >= 0, got {value!r}")
    return int(value)


def several(name: str, value: Any) -> int:
    """An integer >= 2, or a :class:`ParameterError`."""
    if count(name, value) < 2:
        raise ParameterError(f"{name} must be at least 2, so that a mean has a standard error, got {value!r}")
    return int(value)


class Steps:
    """Counts the parts of the work that are done; called after each."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total, self._done, self._progress = total, 0, progress

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)
