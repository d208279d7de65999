"""The best portfolio of some chosen names on one bar, and what each name would be worth to it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tracker_strategies.execution.mandate.amounts.solver import Start, nearest
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Group, IndexArray, Limits, Region
from tracker_strategies.execution.mandate.metric import Metric

_ROUNDING = 1e-12
_NEVER = np.iinfo(np.int64).max


class Groups(NamedTuple):
    """The groups of a mandate as arrays: members by group, (G, N) ones where a name is inside, bounds, most names."""

    members: tuple[IndexArray, ...]
    rows: FloatArray
    lower: FloatArray
    upper: FloatArray
    most: IndexArray


def groups_of(limits: Limits) -> Groups:
    """Return the groups of a mandate, the same object on every bar."""
    return _groups(limits.groups, limits.n_names)


@lru_cache(maxsize=16)
def _groups(groups: tuple[Group, ...], n_names: int) -> Groups:
    rows = np.zeros((len(groups), n_names))
    for row, group in zip(rows, groups, strict=True):
        row[group.members] = 1.0
    most = np.array([_NEVER if g.max_names is None else g.max_names for g in groups], np.int64)
    bounds = np.array([(g.lower, g.upper) for g in groups], float).reshape(-1, 2)
    return Groups(tuple(g.members for g in groups), rows, bounds[:, 0].copy(), bounds[:, 1].copy(), most)


class Point(NamedTuple):
    """The nearest portfolio of some names.

    Attributes
    ----------
    support : (N,) bool
    weights : (N,) float
    value : float
        Half its squared distance to the wish.
    gains : (N,) float
        At most what `value` falls by if a name may be held, or rises by if it may not be: for the sum of several names too.
    prices : tuple of (N,) float, (1 + G,) float and float
        What each name, held or not, is priced at, the total and each group: where a similar problem may start.
    """

    support: BoolArray
    weights: FloatArray
    value: float
    gains: FloatArray
    prices: Start


class Bar:
    """A wish, what is held, and the limits of one bar.

    Parameters
    ----------
    wish, held : (N,) float
    limits : Limits
    metric : Metric
    can_buy, must_keep : (N,) bool

    Attributes
    ----------
    fixed, allowed, forced : (N,) bool
        Names that are held and cannot be traded; other names that may be held; those of them that must be.
    floor, cap : (N,) float
        Least and most of each name, if it is held.
    served : bool
        Whether every name that must be held can be.
    """

    def __init__(
        self, wish: FloatArray, held: FloatArray, limits: Limits, metric: Metric, can_buy: BoolArray, must_keep: BoolArray
    ) -> None:
        self.wish, self.held, self.limits, self.metric = wish, held, limits, metric
        self.groups = groups_of(limits)
        self.fixed = must_keep & (held > 0)
        self.cap = np.where(can_buy, limits.upper, np.minimum(limits.upper, held))
        self.floor = np.maximum(limits.least, limits.must)
        self.allowed = ~must_keep & (self.cap > 0) & (self.floor <= self.cap * (1 + _ROUNDING))
        self.floor = np.minimum(self.floor, self.cap)
        self.forced = self.allowed & (limits.must > 0)
        self.cap[self.fixed] = self.floor[self.fixed] = held[self.fixed]
        self.most = _NEVER if limits.max_names is None else max(limits.max_names, int(np.count_nonzero(self.fixed)))
        self.group_most = np.maximum(self.groups.most, (self.groups.rows @ self.fixed).astype(np.int64))
        self.counted = bool((self.group_most < _NEVER).any())
        wanted = limits.must > 0
        self.served = True
        if wanted.any():
            self._drop_what_has_no_place()
            self.served = not np.any(wanted & ~self.forced & ~(self.fixed & (held >= limits.must)))

    def _drop_what_has_no_place(self) -> None:
        """Take names that must be held, and for which those that cannot be sold leave no place, from the allowed ones."""
        if self.fits(self.fixed | self.forced):
            return
        wanted = np.flatnonzero(self.forced)
        self.forced = np.zeros(len(self.forced), bool)
        for i in wanted[np.argsort(self.held[wanted] == 0, kind="stable")]:
            self.forced[i] = True
            if not self.fits(self.fixed | self.forced):
                self.forced[i] = self.allowed[i] = False

    def fits(self, support: BoolArray) -> bool:
        """Whether a choice of names keeps the counts."""
        if np.count_nonzero(support) > self.most:
            return False
        return not self.counted or bool((self.groups.rows @ support <= self.group_most).all())

    def best(self, support: BoolArray, start: Start | None = None, *, floor: FloatArray | None = None) -> Point | None:
        """Return the nearest portfolio of these names; None if none of them is allowed."""
        groups, d, B, z, total = self.groups, self.metric.d, self.metric.B, self.wish, self.limits.total
        least, most = (self.floor if floor is None else floor) * support, self.cap * support
        if float(most.sum()) < total - _ROUNDING or float(least.sum()) > total + _ROUNDING:
            return None
        region = Region(least, most, self.held, total, groups.members, groups.lower, groups.upper)
        found = nearest(z, region, self.metric, start=start)
        if not found.feasible:
            return None
        if found.weights is z or found.multipliers is None:
            pull, prices = np.zeros(len(z)), np.zeros(1 + len(groups.members))
        else:
            pull, prices, _ = found.multipliers
        error = found.weights - z
        factors = error @ B
        value = 0.5 * float(error @ (d * error) + factors @ factors)
        # What a name outside would add, at the prices of the factors, the total and the groups.
        x = np.minimum(np.maximum(z - pull / d, self.floor if floor is None else floor), self.cap)
        gains = x * (d * z - pull - 0.5 * d * x)
        return Point(support, found.weights, value, gains, (pull, prices, 0.0))
