"""The ways to say a limit, brought into one form: numbers, percent signs, mappings, and text as a command line has it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from tracker_strategies._checks import count, fraction, number
from tracker_strategies.errors import ParameterError

#: In a mapping of names or groups to numbers: all others.
OTHERS = "*"
#: Keys of one more grouping beside the sectors.
_GROUPING = ("of", "max", "min", "max_names")
#: Keys of what a name or market pays.
_FEES = ("bps", "per_share", "min_fee", "names")


def as_number(value: Any) -> Any:
    """A number that a command line or a file has left as text."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def whole(value: Any) -> Any:
    """A number without a fraction as an integer; anything else as it is."""
    value = as_number(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _pairs(name: str, given: Any) -> Any:
    """A mapping from text such as "AAPL:8%,*:5%"; anything else as it is."""
    if isinstance(given, str) and ":" in given:
        parts = [part.rpartition(":") for part in given.split(",")]
        if not all(key.strip() for key, _, _ in parts):
            raise ParameterError(f"{name}={given!r} cannot be read; write *:5%,AAPL:8%")
        return {key.strip(): value.strip() for key, _, value in parts}
    return given


def shares(name: str, given: Any, *, everybody: bool = True) -> dict[str, float] | None:
    """Shares by name, from a number, a mapping or text; None for none."""
    given = _pairs(name, given)
    if given is None:
        return None
    if isinstance(given, Mapping):
        if not everybody and OTHERS in given:
            raise ParameterError(f"{name} lists each name that must be held, so '*' is not allowed in it; write the names")
        return {str(key): fraction(f"{name} of {key}", value) for key, value in given.items()} or None
    if not everybody:
        raise ParameterError(f"{name}={given!r} must be a mapping of name to minimum weight, such as {{'AAPL': 0.02}}")
    return {OTHERS: fraction(name, given)}


def counts(name: str, given: Any) -> dict[str, int] | None:
    """Counts by group, from a number, a mapping or text; None for none."""
    given = _pairs(name, given)
    if given is None:
        return None
    pairs = given.items() if isinstance(given, Mapping) else ((OTHERS, given),)
    return {str(key): count(name if key == OTHERS else f"{name} of {key}", whole(value)) for key, value in pairs} or None


def names(name: str, given: Any) -> tuple[str, ...]:
    """Names, from a list or from text with commas."""
    if given is None:
        return ()
    found = given.split(",") if isinstance(given, str) else list(given) if isinstance(given, Iterable) else None
    if found is None or not all(isinstance(each, str) for each in found):
        raise ParameterError(f"{name}={given!r} must be names of assets, such as XOM,CVX")
    return tuple(dict.fromkeys(each.strip() for each in found if each.strip()))


def grouping(name: str, given: Any) -> Any:
    """Where the group of each name is told: the path of a file, or a mapping."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, os.PathLike):
        return os.fspath(given)
    if isinstance(given, Mapping):
        return {str(key): str(value) for key, value in given.items()}
    raise ParameterError(f"{name}={given!r} must be a file with columns symbol and sector, or a mapping of symbol to sector")


def fees(given: Any) -> dict[str, dict[str, Any]] | None:
    """What names and markets pay, by name; None for nothing."""
    if given is None:
        return None
    example = "{'AAPL': {'bps': 1}, '*.T': {'bps': 8, 'min_fee': 500}}"
    if not isinstance(given, Mapping):
        raise ParameterError(f"fees={given!r} must be a mapping such as {example}")
    found: dict[str, dict[str, Any]] = {}
    for name, rules in given.items():
        keys = [key for key in rules if key not in _FEES] if isinstance(rules, Mapping) else []
        if not isinstance(rules, Mapping) or keys or not set(rules) - {"names"}:
            odd = f", not {keys[0]!r}" if keys else ""
            raise ParameterError(
                f"fees of {name!r} have the keys bps, per_share, min_fee and perhaps names{odd}; as in {example}"
            )
        own = {key: number(f"fees of {name}: {key}", as_number(rules[key]), least=0.0) for key in _FEES[:3] if key in rules}
        if own.get("bps", 0.0) >= 5000.0:
            raise ParameterError(f"fees of {name}: bps={own['bps']:g} a side leaves nothing to invest; 5 is typical")
        found[str(name)] = own | ({"names": list(names(f"fees of {name}: names", rules["names"]))} if "names" in rules else {})
    return found or None


def groups(given: Any) -> dict[str, dict[str, Any]] | None:
    """More groupings, by name; None for none."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ParameterError(f"groups={given!r} must be a mapping such as {{'country': {{'of': 'countries.csv', 'max': 0.3}}}}")
    found = {}
    for name, rules in given.items():
        if not isinstance(rules, Mapping) or "of" not in rules or (unknown := [key for key in rules if key not in _GROUPING]):
            odd = f"; it has no {unknown[0]!r}" if isinstance(rules, Mapping) and "of" in rules else ""
            raise ParameterError(f"group {name!r} needs the key 'of' (file or mapping) and takes max, min and max_names{odd}")
        found[str(name)] = {
            "of": grouping(f"groups {name}", rules["of"]),
            "max": shares(f"max of {name}", rules.get("max")),
            "min": shares(f"min of {name}", rules.get("min")),
            "max_names": counts(f"max_names of {name}", rules.get("max_names")),
        }
    return found or None
