"""What all sets of allowed weights have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from tracker_strategies.algorithms._names import tag_of
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics import thresholds


class FeasibleSet(ABC):
    """A closed convex set in R^n. `portfolio` is whether all its points are long-only with a fixed sum.

    Examples
    --------
    >>> from tracker_strategies.algorithms import FeasibleSet, Simplex
    >>> isinstance(Simplex(), FeasibleSet)
    True
    """

    kind: ClassVar[str]
    portfolio: ClassVar[bool] = False

    @property
    def nonnegative(self) -> bool:
        """Whether no point of this set has a negative coordinate."""
        return self.portfolio

    @abstractmethod
    def project(self, y: Array) -> Array:
        """Return the nearest point to the finite float64 vector `y`, as a new array."""

    def step(self, w: Array, size: float, x: Array) -> Array:
        """Return the nearest point to w + size x, as a new array."""
        return self.project(thresholds.moved(w, size, x))

    def start(self, n: int) -> Array:
        """Return the point of this set in R^n from which learners start: the nearest to the origin."""
        self.check(n)
        return self.project(np.zeros(n))

    def check(self, n: int) -> None:  # noqa: B027 (most sets exist in any dimension)
        """Raise a ParameterError unless this set exists in R^n."""

    def slice(self, free: Mask, fixed: Mask, w: Array) -> FeasibleSet:
        """Return the set left for the coordinates `free` while those in `fixed` stay at `w` and all others are 0."""
        return self

    def contains(self, w: Array, tolerance: float = 1e-12) -> bool:
        """Return whether no coordinate of `w` is farther than `tolerance` from its projection."""
        return bool(np.abs(self.project(w) - w).max() <= tolerance)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain numbers and lists under "kind" and their names."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {"kind": tag_of(type(self), "kind")} | {
            k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()
        }
