"""What can be done to the state of a learner: every type, shape, range and name that it should not have."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

State = dict[str, Any]


def _deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


JUNK: list[Callable[[], Any]] = [
    *(lambda value=value: value for value in (None, True, False, "", "PA", "x" * 10_000, b"\xff", 1j, object())),
    *(lambda value=value: value for value in (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -1.0, 0.0, 1e60, -0.0)),
    *(lambda value=value: value for value in (0, -1, 1, 2, 63, 64, 10**6, 10**9, 10**12, 2**62, 2**63, 10**400, -(10**400))),
    *(list, dict, lambda: [None], lambda: [[]], lambda: ["a", 1], lambda: [[1.0], [1.0, 2.0]], lambda: (1.0, 2.0)),
    lambda: _deep(30),
    lambda: _deep(3000),
    lambda: {"algorithm": "PA", "n_assets": 3, "params": {}},
    lambda: {"kind": "simplex"},
    lambda: {"kind": ["simplex"]},
    lambda: {"kind": "capped", "u": "much"},
    lambda: {"kind": "grouped", "groups": [[0, 10**9]]},
    lambda: {"term": "switching", "kappa": [1]},
    lambda: {"term": None},
    lambda: np.array(3.0),
    lambda: np.zeros((0,)),
    lambda: np.zeros((2, 0, 2)),
    lambda: np.array(["a", "b"]),
    lambda: np.array([None, 1.0], dtype=object),
    lambda: np.array([1 + 1j]),
    lambda: np.broadcast_to(1.0, (10**6, 10**6)),
    lambda: [1e-3] * 100_000,
    lambda: set(range(3)),
]
ENTRIES = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e200, -1.0, 0.0, 5e-324, 1e-200, 7.0, 1e9)
FACTORS = (-1.0, 0.0, 1e-300, 1e200, 1e300, 1e20, 2.0, math.nan)
SIZES = (0, -1, 1, 2, 3, 7, 10**5, 10**8, 10**9, 10**12, 2**61, 2**70)


def _names(rng: np.random.Generator, table: dict[str, Any]) -> str | None:
    return str(rng.choice(sorted(table))) if table else None


def junk(rng: np.random.Generator) -> Any:
    """Something that is no value of a state, or not this one."""
    return JUNK[int(rng.integers(len(JUNK)))]()


def value_replaced(state: State, rng: np.random.Generator) -> None:
    if name := _names(rng, state["state"]):
        state["state"][name] = junk(rng)


def value_missing(state: State, rng: np.random.Generator) -> None:
    if name := _names(rng, state["state"]):
        del state["state"][name]


def value_added(state: State, rng: np.random.Generator) -> None:
    names = ("_more", "", "_w.0", "_ridges.999999999999._w", "_members.-1._w", "_inner.part", "part", "_vote.p.q", "_form.part")
    state["state"][str(rng.choice(names))] = junk(rng)


def values_swapped(state: State, rng: np.random.Generator) -> None:
    one, other = _names(rng, state["state"]), _names(rng, state["state"])
    if one and other:
        state["state"][one], state["state"][other] = state["state"][other], state["state"][one]


def _arrays(state: State) -> list[str]:
    return sorted(k for k, v in state["state"].items() if isinstance(v, list | np.ndarray) and len(v))


def entry_replaced(state: State, rng: np.random.Generator) -> None:
    if names := _arrays(state):
        name = str(rng.choice(names))
        array = np.array(state["state"][name], dtype=np.float64)
        array.flat[int(rng.integers(array.size))] = rng.choice(ENTRIES)
        state["state"][name] = array.tolist() if rng.random() < 0.5 else array


def array_multiplied(state: State, rng: np.random.Generator) -> None:
    if names := _arrays(state):
        name = str(rng.choice(names))
        with np.errstate(all="ignore"):
            state["state"][name] = np.array(state["state"][name], dtype=np.float64) * rng.choice(FACTORS)


def array_scrambled(state: State, rng: np.random.Generator) -> None:
    if names := _arrays(state):
        name = str(rng.choice(names))
        array = np.array(state["state"][name])
        state["state"][name] = rng.permutation(array.ravel()).reshape(array.shape)


def array_reshaped(state: State, rng: np.random.Generator) -> None:
    if not (names := _arrays(state)):
        return
    name = str(rng.choice(names))
    array = np.array(state["state"][name])
    changed = [array[:-1], array.T, array[None], array[..., None], array.ravel(), np.repeat(array, 2, axis=0), array[:0]]
    changed += [array.astype(np.int64) if array.dtype.kind == "f" and np.isfinite(array).all() else array.astype(np.float64)]
    new = changed[int(rng.integers(len(changed)))]
    state["state"][name] = new.tolist() if rng.random() < 0.5 else new


def number_replaced(state: State, rng: np.random.Generator) -> None:
    names = sorted(k for k, v in state["state"].items() if isinstance(v, int | float))
    if names:
        state["state"][str(rng.choice(names))] = rng.choice([rng.choice(ENTRIES), float(rng.choice(FACTORS))]).item()


def count_replaced(state: State, rng: np.random.Generator) -> None:
    names = sorted(k for k, v in state["state"].items() if type(v) is int)
    if names:
        state["state"][str(rng.choice(names))] = int(rng.integers(-3, 200)) if rng.random() < 0.6 else SIZES[rng.integers(12)]


def text_replaced(state: State, rng: np.random.Generator) -> None:
    names = sorted(k for k, v in state["state"].items() if isinstance(v, str))
    if names:
        texts = ("FixedShare", "PrimalRidge", "DualRidge", "SketchRidge", "CoveringShare", "TargetRange", "PA", "last", "self")
        state["state"][str(rng.choice(names))] = str(rng.choice(texts))


def _described(state: State, rng: np.random.Generator) -> dict[str, Any]:
    """The parameters of the learner, or of one inside it."""
    params: dict[str, Any] = state["params"]
    while rng.random() < 0.6:
        inside = [
            v for p in params.values() for v in (p if isinstance(p, list) else [p]) if isinstance(v, dict) and "params" in v
        ]
        if not inside:
            break
        params = inside[int(rng.integers(len(inside)))]["params"]
    return params


def parameter_replaced(state: State, rng: np.random.Generator) -> None:
    params = _described(state, rng)
    if name := _names(rng, params):
        params[name] = junk(rng)


def parameter_huge(state: State, rng: np.random.Generator) -> None:
    params = _described(state, rng)
    names = sorted(k for k, v in params.items() if type(v) in (int, float) or v is None)
    if names:
        name = str(rng.choice(names))
        size = SIZES[int(rng.integers(len(SIZES)))]
        params[name] = size if type(params[name]) is not float else float(size)


def parameter_missing(state: State, rng: np.random.Generator) -> None:
    params = _described(state, rng)
    if name := _names(rng, params):
        del params[name]


def parameter_added(state: State, rng: np.random.Generator) -> None:
    _described(state, rng)[str(rng.choice(("more", "n_assets", "self", "window", "start", "side")))] = junk(rng)


def size_replaced(state: State, rng: np.random.Generator) -> None:
    state["n_assets"] = SIZES[int(rng.integers(len(SIZES)))] if rng.random() < 0.7 else junk(rng)


def size_and_weights(state: State, rng: np.random.Generator) -> None:
    n = int(rng.choice([1, 2, 4, 9, 20_000, 50_000]))
    state["n_assets"], state["state"]["_w"] = n, [1.0 / n] * n


def head_replaced(state: State, rng: np.random.Generator) -> None:
    state[str(rng.choice(["algorithm", "version", "params", "state"]))] = junk(rng)


def head_missing(state: State, rng: np.random.Generator) -> None:
    del state[str(rng.choice(sorted(state)))]


def nested_deep(state: State, rng: np.random.Generator) -> None:
    inner: Any = {"algorithm": "PA", "version": 1, "n_assets": state["n_assets"], "params": {}}
    for _ in range(int(rng.choice([2, 50, 3000]))):
        inner = {"algorithm": "Holdings", "version": 1, "n_assets": state["n_assets"], "params": {"learner": inner}}
    state["params"][str(rng.choice(["learner", "feasible", "side", "start"]))] = inner


CHANGES = (
    value_replaced,
    value_replaced,
    value_missing,
    value_added,
    values_swapped,
    entry_replaced,
    entry_replaced,
    array_multiplied,
    array_scrambled,
    array_reshaped,
    number_replaced,
    number_replaced,
    count_replaced,
    count_replaced,
    text_replaced,
    parameter_replaced,
    parameter_replaced,
    parameter_huge,
    parameter_huge,
    parameter_missing,
    parameter_added,
    size_replaced,
    size_and_weights,
    head_replaced,
    head_missing,
    nested_deep,
)


def changed(state: State, rng: np.random.Generator) -> tuple[str, State]:
    """Return a state with one to three things changed, and the name of the first change."""
    state = copy.deepcopy(state)
    done = [CHANGES[int(i)] for i in rng.integers(len(CHANGES), size=int(rng.choice([1, 1, 1, 2, 3])))]
    for change in done:
        with suppress(Exception):  # what is junk by now takes no further change
            change(state, rng)
    return done[0].__name__.replace("_", " "), state
