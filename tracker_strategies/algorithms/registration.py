"""What a learner says of itself beside its rule: a name as a strategy, figures worth drawing, examples for the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

Examples = Callable[[int], Iterable[dict[str, Any]]]
Class = TypeVar("Class", bound=type)


def _defaults(n_assets: int) -> Iterable[dict[str, Any]]:
    return ({},)


@dataclass(frozen=True)
class Registration:
    """The record that :func:`learner` leaves on a class.

    Parameters
    ----------
    name : str or None
        Name of its strategy on the command line; None for a learner without a strategy of its own.
    shows : tuple of str
        Figures of ``diagnostics()`` that tell most about how it learns.
    examples : callable
        From the number of assets to the keyword arguments of one learner after the other.
    """

    name: str | None
    shows: tuple[str, ...]
    examples: Examples


def learner(name: str | None = None, *, shows: Iterable[str] = (), examples: Examples = _defaults) -> Callable[[Class], Class]:
    """Register a learner: ``@learner("pa", shows=("loss", "tau"))`` above its class.

    This imports and calls nothing. Strategies, checks and commands read the record when they need it.

    Parameters
    ----------
    name : str, optional
        Name of the strategy that runs it; None for a learner that is part of others.
    shows : iterable of str
        Figures of ``diagnostics()`` that a chart should draw.
    examples : callable, optional
        From n_assets to dicts of keyword arguments, one for each variant that the checks run on, the plainest first; the
        defaults alone by default.

    Returns
    -------
    callable
        Decorator that returns the class itself.

    Examples
    --------
    >>> from tracker_strategies.algorithms import OnlineAlgorithm, Simplex, learner
    >>> @learner("constant")
    ... class Constant(OnlineAlgorithm):
    ...     def __init__(self, n_assets, *, feasible=Simplex()):
    ...         super().__init__(n_assets, feasible=feasible)
    ...     def _learn(self, w, x, y, xx, W, free):
    ...         return w
    ...
    >>> Constant(2).update([0.01, 0.02], 0.015).tolist()
    [0.5, 0.5]
    """

    def register(cls: Class) -> Class:
        cls.registration = Registration(name, tuple(shows), examples)  # type: ignore[attr-defined]
        return cls

    return register


def registration_of(cls: type) -> Registration | None:
    """Return the record of a class itself; what a parent says of itself does not hold for its children."""
    return vars(cls).get("registration")
