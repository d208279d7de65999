"""Names of classes in states: which class a state means, and how parameters that are no plain values are read."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tracker_strategies.errors import ParameterError

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


def register(cls: type[Any]) -> str:
    """Return the name of a class in states: its own for classes of this project, with the module for all others, so that
    nobody's `PA` is taken for another's. A module that is loaded again replaces its classes.
    """
    ours = cls.__module__.partition(".")[0] == PROJECT
    key = cls.__name__ if ours else f"{cls.__module__}.{cls.__qualname__}"
    if key in _CLASSES and "<locals>" in cls.__qualname__:
        _AMBIGUOUS.add(key)
    _CLASSES[key] = cls
    return key


def named(base: type[Any], key: Any) -> Any:
    """Return the class derived from `base` that states call `key`."""
    refuse_gone(key)
    if not isinstance(key, str):
        raise ParameterError(f"the name of a class is a text, got {type(key).__name__}")
    if key not in _CLASSES:
        load_names(__package__)
    if key in _AMBIGUOUS:
        raise ParameterError(f"{key!r} is the name of several classes; define each at the top of a module to restore it by name")
    cls = _CLASSES.get(key)
    if cls is None or not issubclass(cls, base):
        raise ParameterError(f"{key!r} is not a known {base.__name__}; import the module that defines it first")
    return cls


def refuse_gone(key: Any) -> None:
    """Raise a ParameterError that says what to do with the state of a class that is gone."""
    if isinstance(key, str) and key in GONE:
        limit = GONE[key]
        raise ParameterError(
            f"a state of {key} cannot be restored: this wrapper was removed; a mandate limits the portfolio instead. Start "
            f"again with the learner that it contained, and give the strategy {limit}=..., or mandate=Mandate({limit}=...)"
        )
