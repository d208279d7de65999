"""Copies, storage and restoring of learners: one exact route for all of them."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

import numpy as np

from tracker_strategies.algorithms.feasible import FeasibleSet, feasible_from_dict
from tracker_strategies.algorithms.validation import Array, Mask
from tracker_strategies.errors import ParameterError

STATE_VERSION = 1


class Stateful:
    """An object made by `Class(n_assets, **params)` whose attributes named in `_state` are all that later rounds depend on.

    Each keyword parameter is kept under its own name. clone, copy, pickle and restoring all go through :meth:`from_state`.
    """

    _state: ClassVar[tuple[str, ...]] = ()
    """Attributes besides weights, active mask and time that a continuation needs: floats, ints, strings, arrays."""

    n_assets: int
    _w: Array
    _active: Mask | None
    _t: int

    def params(self) -> dict[str, Any]:
        """Return the keyword parameters, defaults resolved, as plain values."""
        values = {name: getattr(self, name) for name in _parameter_names(type(self))}
        return {k: v.to_dict() if isinstance(v, FeasibleSet) else v for k, v in values.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return all that a bit-equal continuation needs.

        Numbers, strings and lists, i.e. JSON; only matrices stay arrays. Nothing in it is shared with the learner.
        """
        state = {name: _plain(getattr(self, name)) for name in ("_w", "_active", "_t", *self._state)}
        head = {"algorithm": type(self).__name__, "version": STATE_VERSION, "n_assets": self.n_assets}
        return {**head, "params": self.params(), "state": state}

    @classmethod
    def from_state(cls, d: dict[str, Any]) -> Self:
        """Return the learner that :meth:`state_dict` described, also after a round trip through JSON."""
        try:
            name, version, n_assets = d["algorithm"], d["version"], d["n_assets"]
            params, state = dict(d["params"]), d["state"]
            values = {key: state[key] for key in ("_w", "_active", "_t", *cls._state)}
        except (KeyError, TypeError, ValueError) as problem:
            raise ParameterError(f"not a state of {cls.__name__}: missing or malformed {problem}") from problem
        if name != cls.__name__ or version != STATE_VERSION:
            raise ParameterError(f"a state of {name} version {version} cannot restore {cls.__name__} version {STATE_VERSION}")
        for key, value in params.items():
            if isinstance(value, dict) and "kind" in value:
                params[key] = feasible_from_dict(value)
        try:
            learner = cls(n_assets, **params)  # type: ignore[call-arg]
        except TypeError as problem:
            raise ParameterError(f"not a state of {cls.__name__}: {problem}") from problem
        for key, value in values.items():
            setattr(learner, key, np.array(value) if isinstance(value, list | np.ndarray) else value)
        if learner._w.shape != (learner.n_assets,):
            raise ParameterError(f"a state for {learner.n_assets} assets holds weights of shape {learner._w.shape}")
        learner._w.setflags(write=False)
        return learner

    def clone(self) -> Self:
        """Return an independent copy in the same state."""
        return type(self).from_state(self.state_dict())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, (self.state_dict(),)

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={getattr(self, k)!r}" for k in _parameter_names(type(self)) if k != "start")
        return f"{type(self).__name__}({self.n_assets}, {given})"


def _parameter_names(cls: type) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(cls).parameters if name != "n_assets")


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim <= 1 else value.copy()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | dict | tuple):
        raise TypeError(f"state holds numbers, strings and arrays, not {type(value).__name__}")
    return value
