r"""The sets W in which weights may lie: small immutable objects that a learner projects on.

Each knows how to project, where to start, and what is left of it when some coordinates are fixed (:meth:`FeasibleSet.slice`):
all that a learner needs to serve a changing universe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import number
from tracker_strategies.algorithms._names import READERS, load_names
from tracker_strategies.algorithms._validation import Array, Mask, finite_vector
from tracker_strategies.algorithms.numerics import thresholds
from tracker_strategies.algorithms.sets import projections
from tracker_strategies.algorithms.sets.base import FeasibleSet as FeasibleSet
from tracker_strategies.errors import InputError, ParameterError


def _frozen(name: str, value: Any) -> float | Array:
    """Return a number, or a read-only copy of a vector."""
    if np.ndim(value) == 0:
        if np.isnan(value):
            raise ParameterError(f"{name} must not be NaN")
        return float(value)
    vector = np.array(value, dtype=np.float64)
    if vector.ndim != 1 or np.isnan(vector).any():
        raise ParameterError(f"{name} must be a number or a vector without NaN, got {value!r}")
    vector.setflags(write=False)
    return vector


def _part(value: float | Array, free: Mask) -> float | Array:
    return value[free] if isinstance(value, np.ndarray) else value


def _check_length(name: str, value: float | Array | None, n: int) -> None:
    if isinstance(value, np.ndarray) and value.shape != (n,):
        raise ParameterError(f"{name} has {value.shape[0]} entries for {n} assets")


@dataclass(frozen=True, eq=False)
class Simplex(FeasibleSet):
    """Long-only and fully invested: w >= 0 with sum `total` (1 unless some mass is held elsewhere).

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import Simplex
    >>> Simplex().project(np.array([0.9, 0.5, -0.2])).round(3).tolist()
    [0.7, 0.3, 0.0]
    """

    total: float = 1.0

    kind: ClassVar[str] = "simplex"
    portfolio: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", number("total", self.total, least=0.0))

    def project(self, y: Array) -> Array:
        """Return the nearest point; expected O(n)."""
        return thresholds.simplex(y, self.total)

    def step(self, w: Array, size: float, x: Array) -> Array:
        """Return the nearest point to w + size x; expected O(n)."""
        return thresholds.simplex_step(w, size, x, self.total)

    def start(self, n: int) -> Array:
        """Return equal weights."""
        return np.full(n, self.total / n)

    def slice(self, free: Mask, fixed: Mask, w: Array) -> Simplex:
        """Return the simplex of the mass that the fixed coordinates leave."""
        return Simplex(max(self.total - float(w[fixed].sum()), 0.0))


@dataclass(frozen=True, eq=False)
class CappedSimplex(FeasibleSet):
    """Long-only, fully invested, no weight above its cap: 0 <= w_i <= u_i with sum `total`; u is one number or one per asset.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import CappedSimplex
    >>> CappedSimplex(0.6).project(np.array([0.9, 0.5, -0.2])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """

    u: float | Array
    total: float = 1.0

    kind: ClassVar[str] = "capped"
    portfolio: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "u", _frozen("u", self.u))
        object.__setattr__(self, "total", number("total", self.total, least=0.0))
        if np.min(self.u) < 0.0:
            raise ParameterError(f"u must be >= 0, got {np.min(self.u)}")

    def check(self, n: int) -> None:
        """Raise a ParameterError when n assets at their caps do not reach the total."""
        _check_length("u", self.u, n)
        projections.check_caps(self.u, n, self.total)

    def project(self, y: Array) -> Array:
        """Return the nearest point; expected O(n), O(n log n) at worst."""
        return projections.capped_simplex_unchecked(y, projections.bounds("u", self.u, y.shape[0]), self.total)

    def start(self, n: int) -> Array:
        """Return equal weights, as far as the caps allow."""
        self.check(n)
        return self.project(np.full(n, self.total / n))

    def slice(self, free: Mask, fixed: Mask, w: Array) -> CappedSimplex:
        """Return the same caps for the free coordinates and the mass left; an InputError when the caps cannot hold it."""
        part = CappedSimplex(_part(self.u, free), max(self.total - float(w[fixed].sum()), 0.0))
        n = int(np.count_nonzero(free))
        try:
            part.check(n)
        except ParameterError as problem:
            raise InputError(f"{n} of {free.size} assets may be held and move: {problem}") from problem
        return part


@dataclass(frozen=True, eq=False)
class L1Ball(FeasibleSet):
    """Long and short with gross exposure at most c: sum |w_i| <= c.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import L1Ball
    >>> L1Ball(1.0).project(np.array([0.9, -0.5])).round(3).tolist()
    [0.7, -0.3]
    """

    c: float = 1.0

    kind: ClassVar[str] = "l1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", number("c", self.c, above=0.0))

    def project(self, y: Array) -> Array:
        """Return the nearest point; expected O(n)."""
        return projections.project_l1_ball(y, self.c)

    def slice(self, free: Mask, fixed: Mask, w: Array) -> FeasibleSet:
        """Return the ball of the exposure that the fixed coordinates leave."""
        left = self.c - float(np.abs(w[fixed]).sum())
        return L1Ball(left) if left > 0.0 else Box(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Hyperplane(FeasibleSet):
    """Points with a.w = b; a defaults to all ones: fully invested, short positions allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import Hyperplane
    >>> Hyperplane(b=1.0).project(np.array([0.9, 0.5, -0.1])).round(3).tolist()
    [0.8, 0.4, -0.2]
    """

    a: Array | None = None
    b: float = 1.0

    kind: ClassVar[str] = "hyperplane"

    def __post_init__(self) -> None:
        object.__setattr__(self, "b", number("b", self.b))
        if self.a is not None:
            a = finite_vector("a", self.a, ParameterError).copy()
            a.setflags(write=False)
            object.__setattr__(self, "a", a)

    def check(self, n: int) -> None:
        """Raise a ParameterError when a has another length or is zero."""
        _check_length("a", self.a, n)
        if self.a is not None and not self.a.any():
            raise ParameterError("a must not be the zero vector: no hyperplane is normal to it")

    def project(self, y: Array) -> Array:
        """Return the nearest point; O(n)."""
        return projections.project_hyperplane(y, self.a, self.b)

    def slice(self, free: Mask, fixed: Mask, w: Array) -> FeasibleSet:
        """Return the hyperplane in the free coordinates; an InputError when its normal vanishes there."""
        if self.a is None:
            return Hyperplane(None, self.b - float(w[fixed].sum()))
        if not self.a[free].any():
            raise InputError("no asset that may be held and move enters the constraint a.w = b")
        return Hyperplane(self.a[free], self.b - float(self.a[fixed].dot(w[fixed])))


@dataclass(frozen=True, eq=False)
class Box(FeasibleSet):
    """Each weight between its own bounds, lo_i <= w_i <= hi_i, whatever the sum; an asset that may not be held is at 0.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import Box
    >>> Box(0.0, 0.6).project(np.array([0.9, 0.5, -0.2])).round(3).tolist()
    [0.6, 0.5, 0.0]
    """

    lo: float | Array = 0.0
    hi: float | Array = 1.0

    kind: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lo", _frozen("lo", self.lo))
        object.__setattr__(self, "hi", _frozen("hi", self.hi))
        if np.any(np.asarray(self.lo) > np.asarray(self.hi)):
            raise ParameterError(f"lo must not exceed hi, got lo={self.lo}, hi={self.hi}")

    @property
    def nonnegative(self) -> bool:
        """Whether no lower bound is negative."""
        return bool(np.min(self.lo) >= 0.0)

    def check(self, n: int) -> None:
        """Raise a ParameterError when a bound has another length."""
        _check_length("lo", self.lo, n)
        _check_length("hi", self.hi, n)

    def project(self, y: Array) -> Array:
        """Return `y` clipped; O(n)."""
        return np.minimum(np.maximum(y, self.lo), self.hi)

    def slice(self, free: Mask, fixed: Mask, w: Array) -> Box:
        """Return the bounds of the free coordinates."""
        return Box(_part(self.lo, free), _part(self.hi, free))


@dataclass(frozen=True, eq=False)
class RealSpace(FeasibleSet):
    """No constraint at all.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import RealSpace
    >>> RealSpace().project(np.array([0.9, -0.2])).tolist()
    [0.9, -0.2]
    """

    kind: ClassVar[str] = "Rn"

    def project(self, y: Array) -> Array:
        """Return a copy of `y`."""
        return y.copy()

    def step(self, w: Array, size: float, x: Array) -> Array:
        """Return w + size x."""
        return thresholds.moved(w, size, x)


KINDS: dict[str, type[FeasibleSet]] = {c.kind: c for c in (Simplex, CappedSimplex, L1Ball, Hyperplane, Box, RealSpace)}


def feasible_from_dict(description: dict[str, Any]) -> FeasibleSet:
    """Return the set that :meth:`FeasibleSet.to_dict` described.

    >>> from tracker_strategies.algorithms.sets import feasible_from_dict
    >>> feasible_from_dict({"kind": "capped", "u": 0.4})
    CappedSimplex(u=0.4, total=1.0)
    """
    parameters = dict(description)
    kind = parameters.pop("kind", None)
    if kind not in KINDS:
        load_names(__package__)
    if kind not in KINDS:
        raise ParameterError(f"the kind of a feasible set must be one of {', '.join(KINDS)}; got {kind!r}")
    try:
        return KINDS[kind](**parameters)
    except TypeError as problem:
        raise ParameterError(f"feasible set of kind {kind!r}: {problem}") from problem


READERS["kind"] = feasible_from_dict
