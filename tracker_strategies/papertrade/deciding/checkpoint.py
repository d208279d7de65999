"""A tracker's state as text, and back: exactly, and without running anything that the text says.

Learners go through their own ``state_dict``; the small objects around them (universe, schedule, the last bar) as their
attributes. What cannot be written down, a function for example, makes no snapshot: then every step replays from the first bar.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
from enum import Enum
from typing import Any

import numpy as np

from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.errors import TrackerError

#: Only objects of this project are made from text.
_PACKAGE = "tracker_strategies."


class NoSnapshotError(TypeError):
    """Something in the state cannot be written down."""


def freeze(thing: Any) -> str | None:
    """Text for an object; None when it holds something that cannot be written down."""
    try:
        return json.dumps(_pack(thing), separators=(",", ":"))
    except (NoSnapshotError, TypeError, RecursionError):
        return None


def thaw(text: str) -> Any:
    """The object again. Raises ValueError for text that :func:`freeze` did not write."""
    try:
        return _unpack(json.loads(text))
    except (TypeError, KeyError, IndexError, AttributeError, ImportError, OverflowError, RecursionError, TrackerError) as problem:
        raise ValueError(f"not a snapshot: {problem!r}") from None


def state_hash(algorithm: OnlineAlgorithm) -> str:
    """Short fingerprint of all that a learner has learned."""
    text = json.dumps(_pack(algorithm.state_dict()), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _pack(thing: Any) -> Any:
    if thing is None or (isinstance(thing, (bool, int, str)) and not isinstance(thing, Enum)):
        return thing
    if isinstance(thing, float):
        return {"f": thing.hex()} if thing != thing or thing in (float("inf"), float("-inf")) else float(thing)
    if isinstance(thing, np.ndarray):
        if thing.dtype.hasobject:
            raise NoSnapshotError("an array of objects")
        data = base64.b64encode(np.ascontiguousarray(thing).tobytes()).decode()
        return {"a": [thing.dtype.str, list(thing.shape), data, bool(thing.flags.writeable)]}
    if isinstance(thing, np.generic):
        return {"g": _pack(np.asarray(thing))}
    if isinstance(thing, (list, tuple)):
        return {"l" if isinstance(thing, list) else "t": [_pack(x) for x in thing]}
    if isinstance(thing, dict):
        return {"d": [[_pack(k), _pack(v)] for k, v in thing.items()]}
    kind = type(thing)
    if not kind.__module__.startswith(_PACKAGE) or "<" in kind.__qualname__:
        raise NoSnapshotError(f"{kind.__module__}.{kind.__qualname__}")
    name = [kind.__module__, kind.__qualname__]
    if isinstance(thing, Enum):
        return {"e": [*name, thing.value]}
    if isinstance(thing, OnlineAlgorithm):
        return {"s": [*name, _pack(thing.state_dict())]}
    return {"o": [*name, [[k, _pack(v)] for k, v in vars(thing).items()]]}


def _unpack(text: Any) -> Any:
    if not isinstance(text, dict):
        if isinstance(text, list):
            raise ValueError("a bare list")
        return text
    ((mark, content),) = text.items()
    if mark == "f":
        return float.fromhex(content)
    if mark == "a":
        kind, shape, data, writeable = content
        array = np.frombuffer(base64.b64decode(data, validate=True), dtype=np.dtype(kind)).reshape(shape)
        array = array.copy()
        array.setflags(write=bool(writeable))
        return array
    if mark == "g":
        return _unpack(content)[()]
    if mark in ("l", "t"):
        parts = [_unpack(x) for x in content]
        return parts if mark == "l" else tuple(parts)
    if mark == "d":
        return {_unpack(k): _unpack(v) for k, v in content}
    if mark in ("e", "s", "o"):
        module, name, state = content
        return _rebuild(mark, _class(module, name), state)
    raise ValueError(f"unknown mark {mark!r}")


def _class(module: str, name: str) -> type:
    if not isinstance(module, str) or not module.startswith(_PACKAGE):
        raise ValueError(f"{module!r} is not a part of this project")
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, type) or found.__module__ != module:
        raise ValueError(f"{module}.{name} is no class of its own")
    return found


def _rebuild(mark: str, kind: type, state: Any) -> Any:
    if mark == "e":
        return kind(state)
    if mark == "s":
        if not issubclass(kind, OnlineAlgorithm):
            raise ValueError(f"{kind.__name__} is no learner")
        return kind.from_state(_unpack(state))
    thing: Any = object.__new__(kind)
    vars(thing).update({str(k): _unpack(v) for k, v in state})
    return thing
