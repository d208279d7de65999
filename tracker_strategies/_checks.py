"""Checks of single values, for all packages: each says what was received and what is allowed.

Numbers of numpy count as numbers, although numpy is not imported here: the command line asks these questions before it needs it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral
from typing import Any

from tracker_strategies.errors import ParameterError


def number(
    name: str, value: Any, *, above: float | None = None, least: float | None = None, error: type[ValueError] = ParameterError
) -> float:
    """Return `value` as a finite float that is > `above` and >= `least`."""
    allowed = "a finite number" + (f" > {above:g}" if above is not None else "") + (f" >= {least:g}" if least is not None else "")
    if _is_truth(value) or isinstance(value, str | bytes):
        raise error(f"{name} must be {allowed}, got {value!r}")
    try:
        result = float(value)
    except (TypeError, ValueError) as problem:
        raise error(f"{name} must be {allowed}, got {value!r}") from problem
    if not math.isfinite(result) or (above is not None and result <= above) or (least is not None and result < least):
        raise error(f"{name} must be {allowed}, got {value!r}")
    return result


def count(name: str, value: Any, *, least: int = 1, error: type[ValueError] = ParameterError) -> int:
    """Return `value` as an int >= `least`."""
    if _is_truth(value) or not isinstance(value, Integral) or value < least:
        raise error(f"{name} must be an integer >= {least}, got {value!r}")
    return int(value)


def one_of(name: str, value: Any, allowed: Iterable[str], error: type[ValueError] = ParameterError) -> str:
    """Return `value` if it is one of the texts allowed."""
    allowed = tuple(allowed)
    if not isinstance(value, str) or value not in allowed:
        raise error(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return str(value)


def flag(name: str, value: Any, error: type[ValueError] = ParameterError) -> bool:
    """Return `value` as a bool if it is one; 0, 1 and texts are not."""
    if not _is_truth(value):
        raise error(f"{name} must be True or False, got {value!r}")
    return bool(value)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool) or (getattr(value, "shape", None) == () and str(getattr(value, "dtype", "")) == "bool")
