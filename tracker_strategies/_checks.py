"""Checks of single values, for all packages: each says what was received and what is allowed.

Numbers of numpy count as numbers, although numpy is not imported here: the command line asks these questions before it needs it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral
from typing import Any

from tracker_strategies.errors import ParameterError

_FRACTION = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(%?)\s*", re.ASCII)


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


def fraction(
    name: str,
    value: Any,
    *,
    least: float = 0.0,
    most: float = 1.0,
    above: float | None = None,
    error: type[ValueError] = ParameterError,
) -> float:
    """Return a share as a float from `least` to `most` that is > `above`: 0.05, "0.05", "5%" and "5 %" are the same.

    A percent sign divides by 100 in decimals, so that "2.3%" is the very number 0.023.
    """
    low = f"from {least:g} to" if above is None or above < least else f"above {above:g} and at most"
    allowed = f"a fraction {low} {most:g} such as 0.05 or 5%"
    given, bare = value, True
    if isinstance(value, str):
        read = _FRACTION.fullmatch(value)
        if read is None:
            raise error(f"{name} must be {allowed}, got {given!r}")
        bare = not read[2]
        value = float(Decimal(read[1]).scaleb(0 if bare else -2))
    try:
        result = number(name, value, error=error)
    except error:
        raise error(f"{name} must be {allowed}, got {given!r}") from None
    if not least <= result <= most or (above is not None and result <= above):
        slip = f"; write {result:g}% for {result:g} percent" if bare and most < result <= 100.0 * most else ""
        raise error(f"{name} must be {allowed}, got {given!r}{slip}")
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
