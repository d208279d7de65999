"""What makes one member differ from another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracker_strategies._checks import fraction, number, one_of
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.errors import ParameterError

PRIORS = ("inverse_volatility", "equal")


class Settings(NamedTuple):
    """Of K members: discounts, pulls to the prior, whether that is the inverse volatility, inertias, and shapes of the prior."""

    gammas: Array
    ridges: Array
    quiet: list[bool]
    inertias: Array
    kappas: list[float]


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "gamma": lambda name, value: fraction(name, value, above=0.0),
    "ridge": lambda name, value: number(name, value, above=0.0),
    "prior": lambda name, value: one_of(name, value, PRIORS),
    "inertia": lambda name, value: number(name, value, above=0.0),
    "kappa": lambda name, value: number(name, value, least=0.0),
}


def settings(given: dict[str, Any]) -> tuple[dict[str, Any], Settings]:
    """Return the parameters of :class:`ShareCounts` that may be one value or one for each member: as plain values, and as K."""
    plain: dict[str, Any] = {}
    for name, value in given.items():
        several = isinstance(value, list | tuple | np.ndarray) and np.ndim(value) > 0
        plain[name] = [CHECKS[name](name, each) for each in value] if several else CHECKS[name](name, value)
    counts = {name: len(value) for name, value in plain.items() if isinstance(value, list)}
    members = max(counts.values(), default=1)
    for name, length in counts.items():
        if length not in (1, members) or length == 0:
            raise ParameterError(f"{name} must be one value or {max(members, 1)}, one for each member, got {given[name]!r}")

    def each(name: str) -> list[Any]:
        value = plain[name] if isinstance(plain[name], list) else [plain[name]]
        return value * (members // len(value))

    quiet = [prior == PRIORS[0] for prior in each("prior")]
    numbers = {name: np.array(each(name), dtype=np.float64) for name in ("gamma", "ridge", "inertia")}
    return plain, Settings(numbers["gamma"], numbers["ridge"], quiet, numbers["inertia"], each("kappa"))
