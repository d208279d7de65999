"""A mandate for the names of one run, as arrays; and the convex part of it on one bar."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.int64]

EXACT = 1e-9
"""Limits are kept to this."""


@dataclass(frozen=True, eq=False)
class Group:
    """Names whose weights are limited together, such as a sector.

    Parameters
    ----------
    grouping, name : str
        What kind of group it is ("sector"), and which one ("Energy").
    members : (m,) int
        Positions of its names, ascending.
    lower, upper : float
        Bounds of the sum of their weights, as shares of the account.
    max_names : int, optional
        Most of its names that may be held.
    """

    grouping: str
    name: str
    members: IndexArray
    lower: float = 0.0
    upper: float = 1.0
    max_names: int | None = None


@dataclass(frozen=True, eq=False)
class Limits:
    """What a mandate says about N names. All weights are shares of the account, cash included; headroom is applied already.

    Parameters
    ----------
    upper : (N,) float
        Most of each name: 1 where there is no limit, 0 for an excluded name.
    least : (N,) float
        Least of each name, if it is held at all; 0 where there is no limit.
    must : (N,) float
        Least of each name in any case; 0 for most.
    frozen : (N,) bool
        Names that are neither bought nor sold.
    groups : tuple of Group
        Groups of one grouping do not overlap; those of different groupings may.
    max_names : int, optional
        Most names held.
    min_cash : float
        Least share of the account in cash.
    """

    upper: FloatArray
    least: FloatArray
    must: FloatArray
    frozen: BoolArray
    groups: tuple[Group, ...] = ()
    max_names: int | None = None
    min_cash: float = 0.0

    @property
    def n_names(self) -> int:
        """Number of names N."""
        return len(self.upper)

    @cached_property
    def buyable(self) -> BoolArray:
        """(N,) names that the mandate lets be bought."""
        return np.asarray((self.upper > 0.0) & ~self.frozen)

    @cached_property
    def sellable(self) -> BoolArray:
        """(N,) names that the mandate lets be sold."""
        return ~self.frozen

    @cached_property
    def unwanted(self) -> IndexArray:
        """Positions of the names that may not be held."""
        return np.flatnonzero(self.upper == 0.0)

    @property
    def total(self) -> float:
        """Share of the account that is invested where nothing forbids it."""
        return 1.0 - self.min_cash

    def is_breached(self, held: FloatArray, tradable: BoolArray | None = None) -> bool:
        """Whether weights are outside the caps of names that can be traded, of groups, or above what may be invested."""
        over = held > self.upper + EXACT
        if tradable is not None:
            over &= tradable
        sums = ((group, float(held[group.members].sum())) for group in self.groups)
        outside = any(not group.lower - EXACT <= mass <= group.upper + EXACT for group, mass in sums)
        return bool(over.any()) or outside or float(held.sum()) > self.total + EXACT

    def narrowed(self, region: Region) -> Limits:
        """The limits within a region: its bounds in the place of their own."""
        bounds = zip(self.groups, region.group_lower.tolist(), region.group_upper.tolist(), strict=True)
        groups = tuple(
            group if (group.lower, group.upper) == (low, high) else replace(group, lower=low, upper=high)
            for group, low, high in bounds
        )
        return replace(self, upper=region.upper, must=np.minimum(self.must, region.lower), groups=groups)


@dataclass(eq=False)
class Region:
    r"""The portfolios allowed on one bar, once it is known which names may be held: a convex set.

    .. math:: \{w : l \le w \le u,\ L_g \le \sum_{i \in g} w_i \le U_g,\ \sum_i w_i = \mathrm{total},\
        \sum_i |w_i - h_i| \le \tau\}

    Parameters
    ----------
    lower, upper : (N,) float
        Bounds of each name; equal to what is held for a name that cannot be traded now.
    held : (N,) float
        Weights before the trade, h.
    total : float
        Sum of the weights.
    members : tuple of (m,) int
        Positions of the names of each of G groups.
    group_lower, group_upper : (G,) float
        Bounds of their sums, L and U.
    turnover : float
        Most that is bought and sold together, tau; infinite where there is no limit.
    """

    lower: FloatArray
    upper: FloatArray
    held: FloatArray
    total: float
    members: tuple[IndexArray, ...] = ()
    group_lower: FloatArray = field(default_factory=lambda: np.zeros(0))
    group_upper: FloatArray = field(default_factory=lambda: np.zeros(0))
    turnover: float = np.inf


class BarLimits(NamedTuple):
    """What is allowed on one bar.

    Attributes
    ----------
    region : Region
    can_buy, can_sell : (N,) bool
    lots : (N,) float or None
        Values of a lot, as shares of the account; None for fractions.
    """

    region: Region
    can_buy: BoolArray
    can_sell: BoolArray
    lots: FloatArray | None
