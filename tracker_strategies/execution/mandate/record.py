"""What is written down of limits that gave way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Limits

#: Limits whose items are groups; those of the others are names.
OF_GROUPS = ("min_sector", "max_sector")


class Forced(NamedTuple):
    """A limit that gave way on a bar because it could not hold together with what could not be traded.

    Attributes
    ----------
    date
        Of the bar.
    limit, item : str
        Which limit, and of which name or group; "" where it is one for all.
    value, bound : float
        What was decided with, and what was asked for.
    """

    date: Any
    limit: str
    item: str
    value: float
    bound: float


def said(gave: Iterable[tuple[str, int | None, float, float]], date: Any, symbols: Sequence[str], limits: Limits) -> list[Forced]:
    """From (limit, number of the item, bound asked for, bound now) to names."""
    found = []
    for limit, item, asked, now in gave:
        name = "" if item is None else limits.groups[item].name if limit in OF_GROUPS else symbols[item]
        found.append(Forced(date, limit, name, float(now), float(asked)))
    return found


def stuck(weights: FloatArray, fixed: BoolArray, date: Any, symbols: Sequence[str], limits: Limits) -> list[Forced]:
    """Limits that names which cannot be traded are outside of."""
    found = []
    for i in np.flatnonzero(fixed & (weights > 0.0)).tolist():
        w = float(weights[i])
        if w > limits.upper[i]:
            found.append(
                Forced(date, "max_weight" if limits.upper[i] > 0.0 else "exclude", symbols[i], w, float(limits.upper[i]))
            )
        if w < limits.least[i]:
            found.append(Forced(date, "min_weight", symbols[i], w, float(limits.least[i])))
    for i in np.flatnonzero(fixed & (weights < limits.must)).tolist():
        found.append(Forced(date, "must_hold", symbols[i], float(weights[i]), float(limits.must[i])))
    if limits.max_names is not None and (count := int(np.count_nonzero(weights))) > limits.max_names:
        found.append(Forced(date, "max_names", "", float(count), float(limits.max_names)))
    for group in (group for group in limits.groups if group.max_names is not None):
        if (count := int(np.count_nonzero(weights[group.members]))) > (group.max_names or 0):
            found.append(Forced(date, "max_names_per_group", group.name, float(count), float(group.max_names or 0)))
    return found
