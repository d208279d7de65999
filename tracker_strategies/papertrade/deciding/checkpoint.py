"""A tracker's state as text, and back: exactly, and without running anything that the text says.

Learners go through their own ``state_dict``; the small objects around them (universe, schedule, the last bar) as their
attributes. Both are written under names, not under the modules they live in today. What cannot be written down, a function or a
learner of a user's own for example, makes no checkpoint: then every step replays from the first bar.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tracker_strategies.algorithms as learners
from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.errors import TrackerError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.gate import Bar
from tracker_strategies.execution.mandate import Group, Limits, Mandate
from tracker_strategies.execution.mandate.amounts.reviews import Amounts
from tracker_strategies.execution.mandate.fills import FillGuard
from tracker_strategies.execution.mandate.keeper import Keeper
from tracker_strategies.execution.mandate.metric import ErrorModel
from tracker_strategies.execution.mandate.pacing import Pacing
from tracker_strategies.execution.mandate.record import Forced
from tracker_strategies.execution.named_costs import NamedCosts
from tracker_strategies.execution.overnight import Overnight
from tracker_strategies.execution.rebalancer import Rebalancer
from tracker_strategies.execution.schedule import Schedule
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.execution.universe import Universe, UniverseEvent
from tracker_strategies.execution.volume.depth import Depth
from tracker_strategies.execution.volume.liquidity import Liquidity
from tracker_strategies.strategies.index_weights.informed import InformedTracker
from tracker_strategies.strategies.index_weights.published import Published
from tracker_strategies.strategies.target import Target
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Balance:
    """The account at the close of one session, in units; ``owed``: the rebalance before it was not carried out."""

    cash: float
    sizes: FloatArray
    owed: bool = False


@dataclass(eq=False)
class Checkpoint:
    """A tracker after the close of a session, and the bar that it saw there.

    ``balance`` is the account after that close: at the next open the tracker still has it. ``sent``: it has sent its orders at
    the close already.
    """

    tracker: Tracker
    bar: Bar
    balance: Balance
    sent: bool

    def to_text(self) -> str | None:
        """For the journal; None when the state cannot be written down."""
        return freeze((self.tracker, self.bar, self.balance, self.sent))

    @classmethod
    def from_text(cls, text: str) -> Checkpoint:
        """From the journal; ValueError when it is none."""
        parts, kinds = thaw(text), (Tracker, Bar, Balance, bool)
        if not (isinstance(parts, tuple) and len(parts) == len(kinds) and all(map(isinstance, parts, kinds))):
            raise ValueError("not a checkpoint")
        return cls(*parts)


#: What is made from text beside learners. The names are in journals: they stay, whatever becomes of the classes.
_CLASSES: dict[str, type] = {
    "amounts": Amounts,
    "balance": Balance,
    "bar": Bar,
    "costs": CostModel,
    "depth": Depth,
    "error model": ErrorModel,
    "fill": FillMode,
    "fill guard": FillGuard,
    "forced": Forced,
    "group": Group,
    "informed tracker": InformedTracker,
    "keeper": Keeper,
    "limits": Limits,
    "liquidity": Liquidity,
    "mandate": Mandate,
    "named costs": NamedCosts,
    "overnight": Overnight,
    "pacing": Pacing,
    "published": Published,
    "rebalancer": Rebalancer,
    "schedule": Schedule,
    "target": Target,
    "tracker": Tracker,
    "universe": Universe,
    "universe event": UniverseEvent,
}
_NAMES = {kind: name for name, kind in _CLASSES.items()}


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
    if isinstance(thing, OnlineAlgorithm) and _learner(kind.__name__) is kind:  # not a user's of the same name
        return {"s": _pack(thing.state_dict())}
    if kind not in _NAMES:
        raise NoSnapshotError(f"{kind.__module__}.{kind.__qualname__}")
    if isinstance(thing, Enum):
        return {"e": [_NAMES[kind], thing.value]}
    return {"o": [_NAMES[kind], [[k, _pack(v)] for k, v in vars(thing).items()]]}


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
    if mark == "s":
        state = _unpack(content)
        learner = _learner(state["algorithm"])
        if learner is None:
            raise ValueError(f"{state['algorithm']!r} is not a known learner")
        return learner.from_state(state)
    if mark not in ("e", "o"):
        raise ValueError(f"unknown mark {mark!r}")
    name, state = content
    kind = _CLASSES[name]
    if mark == "e":
        return kind(state)
    thing: Any = object.__new__(kind)
    vars(thing).update({str(k): _unpack(v) for k, v in state})
    return thing


def _learner(name: str) -> type[OnlineAlgorithm] | None:
    """The learner of this project that has that name, among those that it shows."""
    found = getattr(learners, name, None)
    return found if isinstance(found, type) and issubclass(found, OnlineAlgorithm) else None
