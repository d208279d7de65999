"""From the params of a strategy to what its learner is handed: its mandate, the convex part of it, and coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies.algorithms import CappedSimplex, FeasibleSet, GroupedSimplex, Holdings, OnlineAlgorithm, Simplex
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.mandate.binding import bind
from tracker_strategies.execution.mandate.mandate import KEYS

#: Sum of caps that leaves a learner hardly a choice: it then learns without them, and the mandate alone keeps them.
TIGHT = 1.0 + 1e-9


def settle_mandate(cls: Any, p: Any) -> Mandate:
    """The mandate of a strategy: what ``mandate`` says and what the params say, together. The params tell all of it after.

    Raises :class:`ParameterError` where both say different things.
    """
    defaults = dict(cls.params._getitems())
    given = {name: getattr(p, name) for name in KEYS if getattr(p, name, None) is not None}
    mandate = Mandate.of(p.mandate)
    told = mandate.said()
    # What a strategy has by default gives way to what a mandate says.
    own = {name: value for name, value in given.items() if not (name in told and value == defaults.get(name))}
    mandate = mandate.merged(own)
    for name, value in mandate.plain().items():
        setattr(p, name, value)
    p.mandate = None
    return mandate


def feasible_set(p: Any, symbols: tuple[str, ...], *, groups: bool = True) -> FeasibleSet:
    """The convex part of a mandate, for a learner that learns inside a set: the simplex with caps on names and sectors.

    A learner's weights sum to 1, so that limits are shares of what is invested. The mandate is applied to every decision after;
    what a learner cannot take in here, such as a second grouping, is kept there.
    """
    mandate = Mandate(**{name: getattr(p, name) for name in KEYS if getattr(p, name, None) is not None})
    limits = bind(mandate, symbols)
    invested = limits.total
    upper = np.minimum(limits.upper / invested, 1.0)
    first = limits.groups[0].grouping if limits.groups and groups else None
    mine = [group for group in limits.groups if group.grouping == first and len(group.members)]
    if upper.sum() <= TIGHT or (not mine and upper.min() >= 1.0):
        return Simplex()
    if not mine:
        return CappedSimplex(float(upper[0]) if (upper == upper[0]).all() else upper)
    lower, most = (np.minimum(np.array([getattr(g, side) for g in mine]) / invested, 1.0) for side in ("lower", "upper"))
    return GroupedSimplex([group.members.tolist() for group in mine], lower, most, upper)


def in_coordinates(p: Any, algorithm: OnlineAlgorithm) -> OnlineAlgorithm:
    """The algorithm, in holdings where the params ask for that."""
    if p.coordinates not in ("weights", "holdings"):
        raise ParameterError(f"coordinates={p.coordinates!r} is unknown; choose weights or holdings")
    return Holdings(algorithm.n_assets, learner=algorithm) if p.coordinates == "holdings" else algorithm
