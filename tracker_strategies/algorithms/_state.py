"""Copies, storage and restoring of learners: one exact route for all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np

from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.errors import ParameterError

STATE_VERSION = 1

PROJECT = __name__.partition(".")[0]

READERS: dict[str, Callable[[dict[str, Any]], Any]] = {}
"""What makes a parameter from the dict of plain values that describes it, by the entry that such a dict has and no other."""

GONE = {"TopNames": "max_names", "CostAware": "cost_aware"}
"""Classes that old states name and nobody can restore, each with the limit of a mandate that has taken its place."""

_CLASSES: dict[str, type[Any]] = {}
_AMBIGUOUS: set[str] = set()
"""Keys that several classes have: those that one function makes, each time it is called."""


def tag_of(cls: type, entry: str) -> str:
    """Return the tag by which a set or a term is described: its own. One that a user's class has inherited is that of another
    class, and would restore as it: such a class is named, and has to be handed over again.
    """
    own = cls.__module__.partition(".")[0] == PROJECT or entry in vars(cls)
    return str(getattr(cls, entry)) if own else f"{cls.__module__}.{cls.__qualname__}"


def load_names(package: str) -> None:
    """Import all public names of a package: they load when they are asked for, and only then do classes register themselves."""
    module = import_module(package)
    for name in module.__all__:
        getattr(module, name)


class Stored:
    """An object whose attributes named in `_state` go into one flat dict of plain values, and back.

    An attribute may hold a piece with a state of its own, or a list of them: their names are joined by dots, `_members.0._w`.
    """

    _state: ClassVar[tuple[str, ...]] = ()
    """Attributes that a continuation needs: floats, ints, strings, arrays, and pieces with a state of their own."""

    _key: ClassVar[str]
    """Name of the class in states: its own for classes of this project, with the module for all others, so that nobody's `PA`
    is taken for another's. A module that is loaded again replaces its classes.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        ours = cls.__module__.partition(".")[0] == PROJECT
        cls._key = cls.__name__ if ours else f"{cls.__module__}.{cls.__qualname__}"
        if cls._key in _CLASSES and "<locals>" in cls.__qualname__:
            _AMBIGUOUS.add(cls._key)
        _CLASSES[cls._key] = cls

    def _stored(self) -> tuple[str, ...]:
        return self._state

    def _values(self) -> dict[str, Any]:
        flat: dict[str, Any] = {}
        for name in self._stored():
            value = getattr(self, name)
            if isinstance(value, Stored):
                flat |= {f"{name}.{key}": v for key, v in value._values().items()}
            elif isinstance(value, list) and all(isinstance(piece, Stored) for piece in value):
                flat |= {f"{name}.{i}.{key}": v for i, piece in enumerate(value) for key, v in piece._values().items()}
            else:
                flat[name] = _plain(value)
        return flat

    def _restore(self, values: dict[str, Any]) -> None:
        """Take over values made by :meth:`_values`; a KeyError when one is missing."""
        for name in self._stored():
            if name in values:
                value = values[name]
                setattr(self, name, np.array(value) if isinstance(value, list | np.ndarray) else value)
            else:
                setattr(self, name, _revived(name, getattr(self, name, None), values))


class Part(Stored):
    """A piece of a learner that has a state of its own and no parameters beside it: it is rebuilt from its values alone."""

    def _values(self) -> dict[str, Any]:
        return {"part": self._key, **super()._values()}


class Stateful(Stored):
    """An object made by `Class(n_assets, **params)` whose attributes named in `_state` are all that later rounds depend on.

    Each keyword parameter is kept under its own name. clone, copy, pickle and restoring all go through :meth:`from_state`.
    """

    n_assets: int
    _w: Array
    _active: Mask | None
    _t: int

    def _stored(self) -> tuple[str, ...]:
        return ("_w", "_active", "_t", *self._state)

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _parameter_names(type(self))}

    def params(self) -> dict[str, Any]:
        """Return the keyword parameters, defaults resolved, as plain values."""
        return {k: _plain_parameter(v) for k, v in self._parameters().items()}

    def _head(self) -> dict[str, Any]:
        return {"algorithm": self._key, "version": STATE_VERSION, "n_assets": self.n_assets}

    def state_dict(self) -> dict[str, Any]:
        """Return all that a bit-equal continuation needs.

        Numbers, strings and lists, i.e. JSON; only matrices stay arrays. Nothing in it is shared with the learner.
        """
        return {**self._head(), "params": self.params(), "state": self._values()}

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
        except (KeyError, TypeError, ValueError) as problem:
            raise ParameterError(f"not a state of {cls.__name__}: missing or malformed {problem}") from problem
        _refuse_gone(name)
        if name != cls._key or version != STATE_VERSION:
            raise ParameterError(f"a state of {name} version {version} cannot restore {cls._key} version {STATE_VERSION}")
        learner = cls._made(n_assets, params | parameters)
        try:
            learner._restore(state)
        except (KeyError, TypeError) as problem:
            raise ParameterError(f"not a state of {cls.__name__}: missing or malformed {problem}") from problem
        return learner

    @classmethod
    def _made(cls, n_assets: Any, params: dict[str, Any]) -> Self:
        """Return a fresh learner from parameters as :meth:`params` gives them."""
        try:
            return cls(n_assets, **{k: _parameter(v) for k, v in params.items()})  # type: ignore[call-arg]
        except TypeError as problem:
            raise ParameterError(f"not a state of {cls.__name__}: {problem}") from problem

    def _restore(self, values: dict[str, Any]) -> None:
        super()._restore(values)
        if self._w.shape != (self.n_assets,):
            raise ParameterError(f"a state for {self.n_assets} assets holds weights of shape {self._w.shape}")
        self._w.setflags(write=False)

    def fresh(self) -> Self:
        """Return a learner with the same parameters that has not learnt anything yet."""
        return self._made(self.n_assets, self._parameters())

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


def _plain_parameter(value: Any) -> Any:
    """Return a parameter as plain values; a learner among the parameters as what makes a fresh one."""
    if isinstance(value, Stateful):
        return value._head() | {"params": value.params()}
    if isinstance(value, list | tuple) and any(isinstance(v, Stateful) for v in value):
        return [_plain_parameter(v) for v in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def _parameter(value: Any) -> Any:
    """Return the parameter that :func:`_plain_parameter` described."""
    if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
        return [_parameter(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "algorithm" in value:
        return _named(Stateful, value["algorithm"])._made(value["n_assets"], value["params"])
    for tag, reader in READERS.items():
        if tag in value:
            return reader(value)
    raise ParameterError(f"a parameter stored as a dict has an entry {', '.join(('algorithm', *READERS))}; got {sorted(value)}")


def _revived(name: str, current: Any, values: dict[str, Any]) -> Any:
    """Return the piece, or the list of pieces, whose values stand under `name`; learners take them over, parts are rebuilt."""
    inner = {key[len(name) + 1 :]: value for key, value in values.items() if key.startswith(f"{name}.")}
    if "part" in inner:
        piece = object.__new__(_named(Part, inner["part"]))
        piece._restore(inner)
        return piece
    if isinstance(current, list):
        count = 1 + max((int(key.partition(".")[0]) for key in inner), default=-1)
        return [_revived(str(i), current[i] if i < len(current) else None, inner) for i in range(count)]
    if not isinstance(current, Stateful):
        raise KeyError(name)
    current._restore(inner)
    return current


def _named(base: type[Any], key: Any) -> Any:
    """Return the class derived from `base` that states call `key`."""
    _refuse_gone(key)
    if key not in _CLASSES:
        load_names(__package__)
    if key in _AMBIGUOUS:
        raise ParameterError(f"{key!r} is the name of several classes; define each at the top of a module to restore it by name")
    cls = _CLASSES.get(key)
    if cls is None or not issubclass(cls, base):
        raise ParameterError(f"{key!r} is not a known {base.__name__}; import the module that defines it first")
    return cls


def _refuse_gone(key: Any) -> None:
    """Raise a ParameterError that says what to do with the state of a class that is gone."""
    if isinstance(key, str) and key in GONE:
        limit = GONE[key]
        raise ParameterError(
            f"a state of {key} cannot be restored: this wrapper is gone, and the mandate does its work after the learner. "
            f"Begin anew with the learner that was inside it, and give the strategy {limit}=..., or mandate=Mandate({limit}=...)"
        )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim <= 1 else value.copy()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | dict | tuple):
        raise TypeError(f"state holds numbers, strings and arrays, not {type(value).__name__}")
    return value
