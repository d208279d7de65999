"""What the values of a state may be: type, shape and range of each attribute, said once, beside its name.

A learner says it in ``_kinds``::

    _state = ("_loss", "_B", "_rounds")
    _kinds: ClassVar[Kinds] = {"_loss": real(least=0.0), "_B": real("n", "n", gram=True), "_rounds": whole()}

Sizes are numbers or names: ``n`` is the number of assets, the name of a parameter its value, any other name stands for one and
the same size throughout the state, that of a fresh learner. A name that begins with ``*`` may differ from a fresh learner's, for
arrays that grow. ``"d+1"`` is one more than ``d``. Attributes that are not mentioned are taken to be like those of a fresh
learner: a finite number, a text, or an array of the same type and shape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array
from tracker_strategies.errors import ParameterError

Size = str | int
MOST = 2**62
"""Whole numbers of a state lie below this in size."""
FAR, HUGE = 1e150, 1e250
"""No weight or coefficient is larger than the first, whose square is a number, and no other value than the second."""
TYPES = {"real": "fiu", "whole": "iu", "flag": "b"}
INDEFINITE = 1e-7
"""Share of the diagonal by which rounding may make a matrix of second moments indefinite."""
NO_DATA = 1e-200
"""Second moments below this are too few digits to judge."""


class Dims(dict[str, int]):
    """Sizes by name; one that is not known yet becomes known with the first array that has it."""

    def agree(self, size: Size, found: int, bind: bool = True) -> bool:
        """Return whether a size is the one that was found."""
        if isinstance(size, int):
            return found == size
        name, _, more = size.partition("+")
        wanted = found - int(more or 0)
        if name not in self:
            if bind:
                self[name] = wanted
            return wanted >= 0
        return self[name] == wanted

    def told(self, sizes: tuple[Size, ...]) -> str:
        """The shape in words, numbers where they are known."""
        return f"({', '.join(str(self.get(size, size) if isinstance(size, str) else size) for size in sizes)})"


@dataclass(frozen=True)
class Kind:
    """What one value may be: see :func:`real`, :func:`whole`, :func:`flag` and :func:`text`."""

    type: str
    shape: tuple[Size, ...] = ()
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    none: bool = False
    """None is a value, too."""
    missing: bool = False
    """There may be no such entry."""
    nan: bool = False
    """NaN is a value, too."""
    gram: bool = False
    """A matrix, or several, of second moments: the lower triangle is positive semidefinite up to rounding."""
    texts: tuple[str, ...] = ()

    def check_shape(self, name: str, value: Any, dims: Dims, bind: bool = True) -> None:
        """Raise a ParameterError for a value of another shape. Nothing is copied, and no more is read than the shape needs."""
        if value is None and self.none:
            return
        found = shape_of(value, len(self.shape))
        if len(found) != len(self.shape) or not all(dims.agree(s, n, bind) for s, n in zip(self.shape, found, strict=True)):
            wanted = f"an array of shape {dims.told(self.shape)}" if self.shape else "a single value"
            raise ParameterError(f"{name} must be {wanted}, got {short(value)}")

    def read(self, name: str, value: Any, dims: Dims) -> Any:
        """Return the value as a learner keeps it, arrays as new ones."""
        if value is None and self.none:
            return None
        self.check_shape(name, value, dims)
        if self.type == "text":
            if not isinstance(value, str) or (self.texts and value not in self.texts):
                raise ParameterError(f"{name} must be {' or '.join(map(repr, self.texts)) or 'a text'}, got {short(value)}")
            return value
        array = numbers(name, value, TYPES[self.type])
        if self.type == "flag":
            return array if self.shape else bool(array)
        self._check_range(name, array)
        if self.gram:
            check_gram(name, array)
        if self.shape:
            return array.astype(np.float64 if self.type == "real" else np.int64, copy=False)
        return array.item()

    def _check_range(self, name: str, array: Any) -> None:
        if not array.size:
            return
        usable = array if not self.nan else array[~np.isnan(array)]
        if array.dtype.kind == "f" and not np.isfinite(usable).all():
            raise ParameterError(f"{name} must be finite, got {short(array)}")
        if usable.size:
            low, high = float(usable.min()), float(usable.max())  # a bound may be beyond what the type of the array holds
            if not (self.least <= low and high <= self.most and low > self.above):
                limits = [f">= {self.least:g}"] * (self.least > -math.inf) + [f"> {self.above:g}"] * (self.above > -math.inf)
                limits += [f"<= {self.most:g}"] * (self.most < math.inf)
                raise ParameterError(f"{name} must be {' and '.join(limits)}, got values from {low:g} to {high:g}")


@dataclass(frozen=True)
class Piece:
    """A part with a state of its own, or a list of them: see :func:`piece`."""

    parts: tuple[str, ...]
    several: bool = False
    dims: Mapping[str, Size] = field(default_factory=dict)

    def within(self, dims: Dims) -> Dims:
        """Return the sizes as the part calls them."""
        known = ((name, dims.get(size) if isinstance(size, str) else size) for name, size in self.dims.items())
        return Dims({name: size for name, size in known if size is not None})


Kinds = Mapping[str, Kind | Piece]


def real(*shape: Size, least: float = -HUGE, most: float = HUGE, **limits: Any) -> Kind:
    """A finite float, or an array of them; limits are `least`, `most`, `above`, and `none`, `missing`, `nan`, `gram`."""
    return Kind("real", shape, least, most, **limits)


def whole(*shape: Size, least: float = 0, most: float = MOST, **more: Any) -> Kind:
    """An int, or an array of them, from `least` to `most`."""
    return Kind("whole", shape, least, most, **more)


def flag(*shape: Size, **more: Any) -> Kind:
    """True or False, or an array of them."""
    return Kind("flag", shape, **more)


def text(*allowed: str) -> Kind:
    """A text, one of those allowed if there are any."""
    return Kind("text", texts=allowed)


def piece(*parts: str, several: bool = False, **dims: Size) -> Piece:
    """A part of one of these classes; `dims` says which sizes of the part are known to the owner."""
    return Piece(parts, several, dims)


def like(value: Any) -> Kind:
    """The kind of an attribute that nobody described, from that of a fresh learner."""
    if isinstance(value, np.ndarray):
        kind = {"f": "real", "i": "whole", "u": "whole", "b": "flag"}.get(value.dtype.kind, "real")
        size = {"real": HUGE, "whole": MOST}.get(kind, math.inf)
        return Kind(kind, value.shape, -size, size, nan=kind == "real" and bool(np.isnan(value).any()))
    if isinstance(value, bool | np.bool_):
        return flag()
    return text() if isinstance(value, str) else real()


def shape_of(value: Any, most: int) -> tuple[int, ...]:
    """The shape of an array or of nested lists, looked at `most` levels deep and one beyond."""
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    if not isinstance(value, list):
        return ()
    if most <= 1:
        return (len(value),) if not any(isinstance(v, list | np.ndarray) for v in value) else (len(value), -1)
    shapes = {shape_of(v, most - 1) for v in value}
    return (len(value), *shapes.pop()) if len(shapes) == 1 else (len(value), -1)


def numbers(name: str, value: Any, types: str) -> Any:
    """Return an array of numbers of one of these types, in C order and not shared."""
    try:
        array = np.array(value, order="C")
    except (TypeError, ValueError, OverflowError) as problem:
        raise ParameterError(f"{name} must hold numbers: {problem}") from problem
    empty = array.size == 0 and not isinstance(value, np.ndarray)
    if array.dtype.kind not in types and not empty:
        wanted = {"b": "True or False", "iu": "whole numbers"}.get(types, "numbers")
        raise ParameterError(f"{name} must hold {wanted}, got {short(value)}")
    return array


def check_gram(name: str, array: Array) -> None:
    """Raise a ParameterError unless the lower triangle of each matrix is one of second moments."""
    for matrix in array.reshape(-1, *array.shape[-2:]):
        diagonal = matrix.diagonal()
        if (diagonal < 0.0).any():
            raise ParameterError(f"{name} must not have a negative entry on its diagonal, got {diagonal.min():g}")
        index = np.flatnonzero(diagonal > NO_DATA)
        if not index.size:
            continue
        scale = 1.0 / np.sqrt(diagonal[index])
        with np.errstate(all="ignore"):
            unit = np.tril(matrix[np.ix_(index, index)] * scale * scale[:, None], -1)
        unit.flat[:: index.size + 1] = 1.0 + INDEFINITE
        try:
            factor = np.linalg.cholesky(unit)  # which reads the lower triangle
        except np.linalg.LinAlgError:
            factor = np.array(np.nan)
        if not np.isfinite(factor).all():
            raise ParameterError(f"{name} must be positive semidefinite, as every sum of squares is, but it is not")


def short(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    if isinstance(value, list | dict | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    told = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a huge whole number"
    return told if len(told) <= 60 else f"{told[:57]}..."
