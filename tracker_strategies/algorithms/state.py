"""Copies, storage and restoring of learners: one exact route for all of them."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

import numpy as np

from tracker_strategies.algorithms.feasible import feasible_from_dict
from tracker_strategies.algorithms.side_information import side_from_dict
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

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _parameter_names(type(self))}

    def params(self) -> dict[str, Any]:
        """Return the keyword parameters, defaults resolved, as plain values."""
        return {k: v.to_dict() if hasattr(v, "to_dict") else v for k, v in self._parameters().items()}

    def _head(self) -> dict[str, Any]:
        return {"algorithm": type(self).__name__, "version": STATE_VERSION, "n_assets": self.n_assets}

    def state_dict(self) -> dict[str, Any]:
        """Return all that a bit-equal continuation needs.

        Numbers, strings and lists, i.e. JSON; only matrices stay arrays. Nothing in it is shared with the learner.
        """
        state = {name: _plain(getattr(self, name)) for name in ("_w", "_active", "_t", *self._state)}
        return {**self._head(), "params": self.params(), "state": state}

    @classmethod
    def from_state(cls, d: dict[str, Any], **parameters: Any) -> Self:
        """Return the learner that :meth:`state_dict` described, also after a round trip through JSON.

        Parameters
        ----------
        d : dict
        **parameters
            Replace those of the state. Functions cannot be stored: side information that holds one is handed over again here.
        """
        try:
            name, version, n_assets = d["algorithm"], d["version"], d["n_assets"]
            params, state = dict(d["params"]), d["state"]
            values = {key: state[key] for key in ("_w", "_active", "_t", *cls._state)}
        except (KeyError, TypeError, ValueError) as problem:
            raise ParameterError(f"not a state of {cls.__name__}: missing or malformed {problem}") from problem
        if name != cls.__name__ or version != STATE_VERSION:
            raise ParameterError(f"a state of {name} version {version} cannot restore {cls.__name__} version {STATE_VERSION}")
        params |= parameters
        for key, value in params.items():
            if isinstance(value, dict):
                params[key] = side_from_dict(value) if "term" in value else feasible_from_dict(value)
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
        return type(self).from_state(self._shared_state())

    def _shared_state(self) -> dict[str, Any]:
        """Return the state with sets and side information as they are: immutable objects that copies may share."""
        return self.state_dict() | {"params": self._parameters()}

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, (self._shared_state(),)

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
