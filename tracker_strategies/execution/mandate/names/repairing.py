"""A choice of names that can hold the limits, by a mixed-integer program: where no rule has found one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracker_strategies.execution.mandate.feasibility.choices import most_invested
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Limits
from tracker_strategies.execution.mandate.names.support import Bar, Point


def repaired(bar: Bar, first: FloatArray | BoolArray | None) -> Point | None:
    """Return a choice that can hold the limits, by a mixed-integer program; None if there is none."""
    found = most_invested(_as_limits(bar), full=True, first=None if first is None else np.asarray(first, float))
    return None if found is None else bar.best(found.support | bar.fixed)


def least_infeasible(bar: Bar) -> BoolArray:
    """Return the choice that misses the limits by least."""
    found = most_invested(_as_limits(bar), elastic=True, first=bar.held)
    return np.asarray(bar.fixed | bar.forced if found is None else found.support | bar.fixed)


def _as_limits(bar: Bar) -> Limits:
    """Return the limits of this bar for the mixed-integer program: names that cannot be traded have one weight."""
    may = bar.allowed | bar.fixed
    groups = tuple(
        replace(group, max_names=None if group.max_names is None else int(most))
        for group, most in zip(bar.limits.groups, bar.group_most, strict=True)
    )
    must = np.where(bar.fixed, bar.held, np.where(may, bar.limits.must, 0.0))
    return replace(
        bar.limits,
        upper=np.where(may, bar.cap, 0.0),
        least=np.where(may, bar.floor, 0.0),
        must=must,
        groups=groups,
        max_names=None if bar.limits.max_names is None else bar.most,
    )
