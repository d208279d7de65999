r"""Side information :math:`h_t(w)`: what a tracker wants besides a small tracking error.

A term is a small immutable object that knows its value, its gradient and its proximal step. Terms add up and scale:
``NegativeLogReturn() + 0.5 * SwitchingCost(0.01)``. What changes from round to round reaches a term through :class:`Round`.
The terms themselves stand in :mod:`~tracker_strategies.algorithms.side.smooth` and
:mod:`~tracker_strategies.algorithms.side.costs`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tracker_strategies._checks import number
from tracker_strategies.algorithms._names import READERS, load_names, tag_of
from tracker_strategies.algorithms._validation import Array, Mask, describe_not_finite, finite_vector, real_array
from tracker_strategies.algorithms.sets.feasible import FeasibleSet
from tracker_strategies.algorithms.side._prox import Parts, solve
from tracker_strategies.errors import InputError, ParameterError


class Round(NamedTuple):
    """What is known of a round when its side information is evaluated, for the k assets that take part in it.

    Attributes
    ----------
    x : ndarray, shape (k,)
        Their returns over the round.
    w : ndarray, shape (k,)
        Their weights during the round.
    signal : ndarray, shape (k,), or None
        One number per asset, as passed to ``update(..., signal=...)``.
    free : ndarray of bool, shape (N,), or None
        Which of all N assets they are; None means all.
    xx : float or None
        ||x||^2, if it is known.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import Round
    >>> Round(w=np.array([0.5, 0.5]), x=np.array([0.1, 0.0])).drifted().round(4).tolist()
    [0.5238, 0.4762]
    """

    x: Array
    w: Array
    signal: Array | None = None
    free: Mask | None = None
    xx: float | None = None

    def drifted(self) -> Array:
        r"""Return the weights after the returns of the round, :math:`w_i (1 + x_i)/(1 + w \cdot x)`: the weights really held."""
        growth = 1.0 + float(self.w.dot(self.x))
        if not growth > 0.0:
            raise InputError(f"the portfolio lost everything, 1 + w.x = {growth:g}: there are no holdings to compare with")
        held: Array = self.w * (1.0 + self.x) / growth
        return held


class SideInformation(ABC):
    """A convex function h_t of the next weights, or a sum of several.

    Examples
    --------
    >>> from tracker_strategies.algorithms import NegativeLogReturn, SwitchingCost
    >>> side = NegativeLogReturn() + 0.5 * SwitchingCost(0.01)
    >>> type(side).__name__
    'Sum'
    """

    term: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]] = ()
    """Names of the constructor's arguments; those that are vectors have one entry per asset."""

    reads_signal: bool = False
    """Whether the signal of a round matters to this term."""

    @abstractmethod
    def value(self, w: Array, at: Round) -> float:
        """Return h_t(w)."""

    @abstractmethod
    def gradient(self, w: Array, at: Round) -> Array:
        """Return the gradient at w; where h_t has a kink, the subgradient with sgn(0) = 0."""

    @abstractmethod
    def collect(self, parts: Parts, at: Round, nonnegative: bool) -> None:
        """Add this term to `parts`; `nonnegative` is whether no weight can be negative."""

    @abstractmethod
    def scaled(self, factor: float) -> SideInformation:
        """Return factor times this term, factor >= 0."""

    def prox(self, v: Array, lam: float, W: FeasibleSet, at: Round) -> Array:
        r"""Return :math:`\arg\min_{w \in W} h_t(w) + \|w - v\|^2/(2\lambda)`, a new array in W.

        Exact to rounding, except for user-defined terms and for group norms together with kinks, or on sets other than the
        simplex.
        """
        parts = Parts()
        self.collect(parts, at, W.nonnegative)
        return solve(parts, v, lam, W, at.w)

    def slice(self, free: Mask) -> SideInformation:
        """Return this term for the assets in `free` only."""
        values = {name: getattr(self, name) for name in self.parameters}
        if not any(isinstance(value, np.ndarray) for value in values.values()):
            return self
        return type(self)(**{k: v[free] if isinstance(v, np.ndarray) else v for k, v in values.items()})

    def check(self, n: int) -> None:
        """Raise a ParameterError unless this term exists for n assets."""
        for name in self.parameters:
            value = getattr(self, name)
            if isinstance(value, np.ndarray) and value.shape != (n,):
                raise ParameterError(f"{name} of {type(self).__name__} has {value.shape[0]} entries for {n} assets")

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain values under "term" and their names."""
        values = {name: getattr(self, name) for name in self.parameters}
        return {"term": tag_of(type(self), "term")} | {
            k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()
        }

    def __add__(self, other: SideInformation) -> SideInformation:
        if not isinstance(other, SideInformation):
            return NotImplemented
        return Sum([self, other])

    def __rmul__(self, factor: float) -> SideInformation:
        return self.scaled(number("the weight of side information", factor, least=0.0))

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in self.to_dict().items() if k != "term")
        return f"{type(self).__name__}({given})"


class Sum(SideInformation):
    """The sum of several terms; nested sums are flattened. ``a + b`` makes one.

    Parameters
    ----------
    terms : sequence of SideInformation

    Examples
    --------
    >>> from tracker_strategies.algorithms import NegativeLogReturn, Sum, SwitchingCost
    >>> isinstance(NegativeLogReturn() + SwitchingCost(0.01), Sum)
    True
    """

    term = "sum"

    def __init__(self, terms: Any) -> None:
        flat: list[SideInformation] = []
        for h in terms:
            if not isinstance(h, SideInformation):
                raise ParameterError(f"a sum of side information takes terms such as NegativeLogReturn(), got {h!r}")
            flat += list(h.terms) if isinstance(h, Sum) else [h]
        self.terms: tuple[SideInformation, ...] = tuple(flat)
        self.reads_signal = any(h.reads_signal for h in flat)

    def value(self, w: Array, at: Round) -> float:
        """Return the sum of the values."""
        return sum(h.value(w, at) for h in self.terms)

    def gradient(self, w: Array, at: Round) -> Array:
        """Return the sum of the gradients."""
        total = np.zeros(w.shape[0])
        for h in self.terms:
            total += h.gradient(w, at)
        return total

    def collect(self, parts: Parts, at: Round, nonnegative: bool) -> None:
        """Add every term."""
        for h in self.terms:
            h.collect(parts, at, nonnegative)

    def scaled(self, factor: float) -> Sum:
        """Scale every term."""
        return Sum([h.scaled(factor) for h in self.terms])

    def slice(self, free: Mask) -> Sum:
        """Slice every term."""
        return Sum([h.slice(free) for h in self.terms])

    def check(self, n: int) -> None:
        """Check every term."""
        for h in self.terms:
            h.check(n)

    def to_dict(self) -> dict[str, Any]:
        """Return the terms as a list under "terms"."""
        return {"term": tag_of(type(self), "term"), "terms": [h.to_dict() for h in self.terms]}

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms)) if self.terms else "Sum([])"


def read_only(name: str, value: Any, least: float | None = None) -> Array:
    """Return a read-only copy of a finite vector."""
    vector = finite_vector(name, value, ParameterError).copy()
    if least is not None and (vector < least).any():
        raise ParameterError(f"{name} must be >= {least:g}, got {float(vector.min())} at position {int(vector.argmin())}")
    vector.setflags(write=False)
    return vector


def vector_or_number(name: str, value: Any, least: float | None = None) -> float | Array:
    """Return a number, or a read-only copy of a finite vector."""
    return number(name, value, least=least) if np.ndim(value) == 0 else read_only(name, value, least)


TERMS: dict[str, type[SideInformation]] = {Sum.term: Sum}


def register(cls: type[SideInformation]) -> type[SideInformation]:
    """Make a class known to :func:`side_from_dict`."""
    TERMS[cls.term] = cls
    return cls


def side_from_dict(description: dict[str, Any]) -> SideInformation:
    """Return the term that :meth:`SideInformation.to_dict` described.

    >>> from tracker_strategies.algorithms.side import side_from_dict
    >>> side_from_dict({"term": "switching", "kappa": 0.01})
    SwitchingCost(kappa=0.01, reference=None, against='weights')
    """
    parameters = dict(description)
    term = parameters.pop("term", None)
    if term not in TERMS:
        load_names(__package__)
    if term not in TERMS:
        raise ParameterError(f"the term of side information must be one of {', '.join(TERMS)}; got {term!r}")
    if "terms" in parameters:
        parameters["terms"] = [side_from_dict(h) for h in parameters["terms"]]
    try:
        return TERMS[term](**parameters)
    except TypeError as problem:
        raise ParameterError(f"side information {term!r}: {problem}") from problem


READERS["term"] = side_from_dict


def checked_side(side: Any, n_assets: int) -> SideInformation:
    """Return side information that exists for n assets."""
    if not isinstance(side, SideInformation):
        raise ParameterError(f"side must be side information such as NegativeLogReturn(), got {side!r}")
    side.check(n_assets)
    return side


def checked_signal(signal: Any, side: SideInformation, n_assets: int) -> Array | None:
    """Return the signal of a round as an array, if there is one and somebody reads it."""
    if signal is None:
        return None
    if not side.reads_signal:
        raise InputError(f"a signal was given, but the side information {side!r} does not use it; add AlphaSignal()")
    numbers: Array = real_array("signal", signal, InputError)
    if numbers.shape != (n_assets,):
        raise InputError(f"signal must have shape ({n_assets},), one number per asset, got {numbers.shape}")
    return numbers


def signal_of_round(signal: Array | None, free: Mask | None) -> Array | None:
    """Return the entries of the assets that take part (None: all), which must be finite."""
    if signal is None:
        return None
    part = signal if free is None else signal[free]
    if not np.isfinite(part).all():
        raise InputError(f"signal must be finite for assets that take part, got {describe_not_finite(part)}")
    return part
