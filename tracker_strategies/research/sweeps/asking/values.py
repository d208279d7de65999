"""Values of parameters: in one form for equal ones, and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.timing import FillMode


def canonical(value: Any) -> Any:
    """A JSON value in which 1, 1.0 and a numpy 1 are the same, and a tuple is a list."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(k): canonical(v) for k, v in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [canonical(v) for v in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    raise ParameterError(f"{value!r} cannot be a value in a sweep: use numbers, text, true, false, lists or tables")


def as_json(params: Mapping[str, Any]) -> str:
    """Parameters as one line of JSON, sorted by name."""
    return json.dumps(canonical(params), sort_keys=True)


def in_words(params: Mapping[str, Any]) -> str:
    """``eps=0.0003, lam=0.01``: parameters for people."""
    return ", ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in params.items())


def limits_in_words(limits: Mapping[str, Any]) -> str:
    """``max_names=30, max_weight=5%, sectors of 100 names``: a mandate for people, from its plain values."""
    shares = ("max_weight", "min_weight", "must_hold", "max_sector", "min_sector", "min_cash", "max_turnover", "entry_turnover")

    def one(key: str, value: Any) -> str:
        if isinstance(value, Mapping):
            return ",".join(f"{name}:{one(key, part)}" for name, part in value.items())
        if isinstance(value, list | tuple):
            return ",".join(map(str, value))
        return (
            f"{100 * value:.6g}%"
            if key in (*shares, "band", "headroom")
            else f"{value:g}"
            if isinstance(value, float)
            else f"{value}"
        )

    words = []
    for key, value in limits.items():
        if key == "sectors":
            words.append(f"sectors from {value}" if isinstance(value, str) else f"sectors of {len(value)} names")
        elif key == "groups":
            words.append(f"groups by {' and '.join(value)}")
        else:
            words.append(f"{key}={one(key, value)}")
    return ", ".join(words)


def setting_words(told: Mapping[str, Any]) -> str:
    """``sample, fills at the next open, 5 bp costs``: a setting in words."""
    costs = CostModel(**json.loads(told["costs"])).in_words()
    part = "" if told["part"] in ("whole", "test") else f", {told['part']}"
    limits = limits_in_words(json.loads(told.get("mandate") or "{}"))
    return f"{told['data']}, {fill_words(told)}, {costs}{part}" + (f", {limits}" if limits else "")


def fill_words(told: Mapping[str, Any]) -> str:
    """``fills at the next open``: when the orders of a setting fill. Whether prices have opens is told by tunings only."""
    return FillMode.parse(told["fill"]).in_words(opens=told.get("opens"))
