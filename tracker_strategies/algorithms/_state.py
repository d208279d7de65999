"""What is kept of a learner, as one flat dict of plain values: out of its attributes, back into them, and checked in between."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies.algorithms._kinds import Dims, Kind, Kinds, Piece, like, real
from tracker_strategies.algorithms._names import named, register
from tracker_strategies.errors import ParameterError


class Stored:
    """An object whose attributes named in `_state` go into one flat dict of plain values, and back.

    An attribute may hold a piece with a state of its own, or a list of them: their names are joined by dots, `_members.0._w`.
    """

    _state: ClassVar[tuple[str, ...]] = ()
    """Attributes that a continuation needs: floats, ints, strings, arrays, and pieces with a state of their own."""

    _kinds: ClassVar[Kinds] = {}
    """What they may be, together with what the parents say of theirs; like those of a fresh learner where nothing is said."""

    _key: ClassVar[str]
    """Name of the class in states."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._key = register(cls)

    @classmethod
    def _stored_names(cls) -> tuple[str, ...]:
        return cls._state

    def _stored(self) -> tuple[str, ...]:
        return self._stored_names()

    def _values(self) -> dict[str, Any]:
        flat: dict[str, Any] = {}
        for name in self._stored():
            value = getattr(self, name)
            if isinstance(value, Stored):
                flat |= {f"{name}.{key}": v for key, v in value._values().items()}
            elif _is_list_of_pieces(value):
                flat |= {f"{name}.{i}.{key}": v for i, piece in enumerate(value) for key, v in piece._values().items()}
            else:
                flat[name] = _plain(value)
        return flat

    def _restore(self, values: dict[str, Any]) -> None:
        """Take over values made by :meth:`_values`, or read by :meth:`_read`."""
        for name in self._stored():
            if name in values:
                value = values[name]
                setattr(self, name, np.array(value) if isinstance(value, list | np.ndarray) else value)
            else:
                setattr(self, name, _revived(name, getattr(self, name, None), values))

    # ------------------------------------------------------------------ what is believed of a state

    @classmethod
    def _check_sizes(cls, values: dict[str, Any], dims: Dims) -> None:
        """Raise a ParameterError when an array has not the size that it should: what is built afterwards is no larger than what
        the state holds.
        """
        for name, kind in kinds_of(cls).items():
            if isinstance(kind, Piece):
                for _, inner in pieces_under(name, kind.several, values):
                    if inner.get("part") in kind.parts:
                        named(Part, inner["part"])._check_sizes(inner, kind.within(dims))
            elif name in values:
                kind.check_shape(name, values[name], dims, bind=False)
            elif not kind.missing:
                raise ParameterError(f"{name} is missing")

    @classmethod
    def _read(cls, values: dict[str, Any], dims: Dims, fresh: Stored | None) -> dict[str, Any]:
        """Return the values as a learner keeps them, or raise a ParameterError; `fresh` has learned nothing."""
        kinds, rest = kinds_of(cls), dict(values)
        read: dict[str, Any] = {}
        for name in dict.fromkeys((*cls._stored_names(), *kinds)):
            kind, example = kinds.get(name), getattr(fresh, name, None)
            if isinstance(kind, Piece) or isinstance(example, Stored) or (kind is None and _is_list_of_pieces(example)):
                several = kind.several if isinstance(kind, Piece) else isinstance(example, list)
                found = pieces_under(name, several, rest)
                if not isinstance(kind, Piece) and len(found) != (len(example) if isinstance(example, list) else 1):
                    raise ParameterError(f"{name} is missing, or has the wrong number of parts")
                for i, (at, inner) in enumerate(found):
                    like_it = example[i] if isinstance(example, list) and i < len(example) else example
                    read |= {f"{at}.{key}": value for key, value in _read_piece(at, kind, inner, dims, like_it).items()}
                rest = {key: value for key, value in rest.items() if not key.startswith(f"{name}.")}
            elif name in rest:
                value = rest.pop(name)
                if kind is None and example is None and isinstance(value, str | None):
                    read[name] = value
                else:
                    read[name] = (kind or _kind_of(value, example)).read(name, value, dims)
            elif not (isinstance(kind, Kind) and kind.missing):
                raise ParameterError(f"{name} is missing")
        if rest:
            raise ParameterError(f"{cls.__name__} has no value named {', '.join(sorted(rest)[:3])}")
        return read

    def _sizes(self, dims: Dims) -> Dims:
        """Return sizes that are known, and with them those of the object's own arrays that do not grow."""
        for name, kind in kinds_of(type(self)).items():
            array = getattr(self, name, None)
            if isinstance(kind, Kind) and isinstance(array, np.ndarray):
                for size, found in zip(kind.shape, array.shape, strict=True):
                    if isinstance(size, str) and not size.startswith("*"):
                        dims.agree(size, found)
        return dims

    def _sound(self) -> None:
        """Raise a ParameterError when values that are right one by one do not go together."""

    def _check_sound(self) -> None:
        for name in self._stored():
            value = getattr(self, name)
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, Stored):
                    part._check_sound()
        self._sound()


class Part(Stored):
    """A piece of a learner that has a state of its own and no parameters beside it: it is rebuilt from its values alone, so that
    its `_kinds` say everything.
    """

    def _values(self) -> dict[str, Any]:
        return {"part": self._key, **super()._values()}


def kinds_of(cls: type[Stored]) -> dict[str, Kind | Piece]:
    """Return what a class and its parents say of the values in its state."""
    kinds: dict[str, Kind | Piece] = {}
    for each in reversed(cls.__mro__):
        kinds |= vars(each).get("_kinds", {})
    return {name: kind for name, kind in kinds.items() if name in cls._stored_names() or getattr(kind, "missing", False)}


def pieces_under(name: str, several: bool, values: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the values of the pieces that stand under a name, one or several, each with its full name."""
    inner = {key[len(name) + 1 :]: value for key, value in values.items() if key.startswith(f"{name}.")}
    if not several:
        return [(name, inner)] if inner else []
    by_number: dict[str, dict[str, Any]] = {}
    for key, value in inner.items():
        number, _, rest = key.partition(".")
        by_number.setdefault(number, {})[rest] = value
    if set(by_number) != {str(i) for i in range(len(by_number))}:
        raise ParameterError(f"the parts of {name} must be numbered from 0, got {', '.join(sorted(by_number)[:3])}")
    return [(f"{name}.{i}", by_number[str(i)]) for i in range(len(by_number))]


def _read_piece(name: str, kind: Any, values: dict[str, Any], dims: Dims, example: Any) -> dict[str, Any]:
    """Return the values of one piece, read: those of a part of the right class, or of the learner that a fresh one has there."""
    try:
        if isinstance(example, Stored) and not isinstance(example, Part):
            return example._read(values, example._dims(), example)  # type: ignore[attr-defined]
        rest = dict(values)
        key = rest.pop("part", None)
        allowed = kind.parts if isinstance(kind, Piece) else (example._key,)
        if not isinstance(key, str) or key not in allowed:
            raise ParameterError(f"it must be a {' or '.join(allowed)}, got {key!r:.60}")
        cls = named(Part, key)
        within = kind.within(dims) if isinstance(kind, Piece) else example._sizes(Dims())
        return {"part": key, **cls._read(rest, within, example if type(example) is cls else None)}
    except ParameterError as problem:
        raise ParameterError(f"in {name}: {problem}") from problem


def _kind_of(value: Any, example: Any) -> Kind:
    """The kind of an attribute that nobody described: that of the fresh learner's, or of any finite numbers where it has none."""
    if example is not None:
        return like(example)
    return like(value) if isinstance(value, np.ndarray | bool) else real("*") if isinstance(value, list) else real()


def _revived(name: str, current: Any, values: dict[str, Any]) -> Any:
    """Return the piece, or the list of pieces, whose values stand under `name`; learners take them over, parts are rebuilt."""
    found = pieces_under(name, isinstance(current, list), values)
    if isinstance(current, list):
        return [_rebuilt(inner, current[i] if i < len(current) else None) for i, (_, inner) in enumerate(found)]
    return _rebuilt(found[0][1], current) if found else current


def _rebuilt(values: dict[str, Any], current: Any) -> Any:
    if "part" in values:
        current = object.__new__(named(Part, values["part"]))
    current._restore(values)
    return current


def _is_list_of_pieces(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(piece, Stored) for piece in value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim <= 1 else value.copy()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | dict | tuple):
        raise TypeError(f"state holds numbers, strings and arrays, not {type(value).__name__}")
    return value
