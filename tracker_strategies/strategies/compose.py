"""From the params of a strategy to what its learner is handed: its mandate, the convex part of it, and coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies.algorithms import FeasibleSet, Holdings, OnlineAlgorithm, Simplex
from tracker_strategies.algorithms.sets.yielding import YieldingCaps, YieldingGroups
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.mandate.binding import bind, grouping_of
from tracker_strategies.execution.mandate.mandate import KEYS, OTHERS

#: Sum of caps that leaves a learner hardly a choice: it then learns without them, and the mandate alone keeps them.
TIGHT = 1.0 + 1e-9


def settle_mandate(cls: Any, p: Any, symbols: tuple[str, ...]) -> Mandate:
    """The mandate of a strategy: what ``mandate`` says and what the params say, together. The params tell all of it after, with
    the sectors of the names in the place of a file.

    Raises :class:`ParameterError` where both say different things.
    """
    defaults = dict(cls.params._getitems())
    mandate = Mandate.of(p.mandate)
    told = mandate.said()
    given = {name: getattr(p, name) for name in KEYS if getattr(p, name, None) is not None}
    # What a strategy has by default gives way to what a mandate says.
    own = {name: value for name, value in given.items() if not (name in told and value == defaults.get(name))}
    mandate = mandate.merged(own)
    if mandate.max_names is not None and mandate.max_names >= len(symbols):
        mandate = mandate.overruled({"max_names": None})  # as many as there are: no limit
    groups = {name: rules | {"of": grouping_of(name, rules["of"], symbols)} for name, rules in (mandate.groups or {}).items()}
    sectors = None if mandate.sectors is None else grouping_of("sector", mandate.sectors, symbols)
    mandate = mandate.overruled({"sectors": sectors, "groups": groups or None})
    for name, value in mandate.plain().items():
        setattr(p, name, value)
    p.mandate = None
    return mandate


def feasible_set(p: Any, symbols: tuple[str, ...], *, groups: bool = True) -> FeasibleSet:
    """The convex part of a mandate, for a learner that learns inside a set: the simplex with caps on names and sectors.

    A learner's weights sum to 1, so that limits are shares of what is invested. The mandate is applied to every decision after;
    what a learner cannot take in here, such as a second grouping, is kept there.
    """
    given = {name: getattr(p, name) for name in ("sectors", "max_sector", "min_sector", "unmapped", "min_cash", "headroom")}
    caps = p.max_weight
    if isinstance(caps, dict):
        caps = {name: cap for name, cap in caps.items() if name == OTHERS or name in symbols}
    limits = bind(Mandate(max_weight=caps, **given), symbols)
    invested = limits.total
    upper = np.minimum(limits.upper / invested, 1.0)
    mine = [group for group in limits.groups if groups and len(group.members)]
    if upper.sum() <= TIGHT or (not mine and upper.min() >= 1.0):
        return Simplex()
    if not mine:
        return YieldingCaps(float(upper[0]) if (upper == upper[0]).all() else upper)
    lower, most = (np.minimum(np.array([getattr(g, side) for g in mine]) / invested, 1.0) for side in ("lower", "upper"))
    found = YieldingGroups([group.members.tolist() for group in mine], lower, most, upper)
    try:
        found.check(len(symbols))
    except ParameterError:
        return Simplex()  # what is wrong with the limits is for the mandate to say
    return found


def in_coordinates(p: Any, algorithm: OnlineAlgorithm) -> OnlineAlgorithm:
    """The algorithm, in holdings where the params ask for that."""
    if p.coordinates not in ("weights", "holdings"):
        raise ParameterError(f"coordinates={p.coordinates!r} is unknown; choose weights or holdings")
    return Holdings(algorithm.n_assets, learner=algorithm) if p.coordinates == "holdings" else algorithm
