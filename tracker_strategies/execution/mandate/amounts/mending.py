"""Back within the limits by few and small trades, on the way to a portfolio that is within them.

Prices carry a weight over its limit on many bars, mostly by little. What is held then moves towards the goal, which keeps all
limits: only as far as they ask for, and in as few names as possible. That takes a handful of operations, no problem is solved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg.blas import dasum

from tracker_strategies.execution.mandate.amounts.dual import group_rows, overlap
from tracker_strategies.execution.mandate.amounts.solver import inside
from tracker_strategies.execution.mandate.limits import FloatArray, Region

EXACT = 1e-15
"""Sums that miss a bound by less need no trade."""
KEPT = 1e-12
"""Most by which a sum may miss its bound."""
CLOSE = 1e-5
"""A weight that is closer than this to its goal goes all the way: nothing is left of a position that is to be sold."""
TIED = 1e-8
"""Gaps that differ by less are the same, and the first name is taken: roundings decide nothing."""
STEPS = 40
"""Most names that are traded for one sum."""


def mended(region: Region, goal: FloatArray) -> FloatArray | None:
    """Return what is held, moved towards the goal until all limits hold; None where that is not found.

    Every weight is between what is held, cut to the bounds of the name, and its goal. Of the names of a group that is outside its
    bounds, and of all names where the total is missed, those furthest from the goal on the right side are traded. Where no two
    groups overlap that always succeeds; the turnover may be too small for it.

    Parameters
    ----------
    region : Region
    goal : (N,) float
        A portfolio that keeps all limits but the turnover.
    """
    w = np.minimum(np.maximum(region.held, region.lower), region.upper)
    rows, low, high = group_rows(region.members, len(w)), region.group_lower, region.group_upper
    sums = rows @ w
    masses = sums[1:]
    outside = ((masses > high + EXACT) | (masses < low - EXACT)).nonzero()[0].tolist()
    for j in outside:
        bound = high[j] if masses[j] > high[j] else low[j]
        if not _trade(w, goal, float(bound - masses[j]), rows[1 + j]):
            return None
    if outside:
        sums = rows @ w
    missing = region.total - float(sums[0])
    if abs(missing) > EXACT:
        spare = (high - sums[1:] if missing > 0.0 else sums[1:] - low).tolist()
        if not _trade(w, goal, missing, spare=spare, rows=rows):
            return None
    if outside and overlap(region.members, len(w)) and not inside(w, region, turnover=False):
        return None
    return w if region.turnover == np.inf or float(dasum(w - region.held)) <= region.turnover else None


def stands(region: Region, idle: float) -> bool:
    """Whether what is held keeps all limits, with at most so much cash left that may be invested."""
    held = region.held
    if np.logical_or.reduce(held > region.upper + KEPT) or np.logical_or.reduce(held < region.lower - KEPT):
        return False
    sums = group_rows(region.members, len(held)) @ held
    masses = sums[1:]
    if not -KEPT <= region.total - float(sums[0]) <= idle:
        return False
    return not np.logical_or.reduce((masses > region.group_upper + KEPT) | (masses < region.group_lower - KEPT))


def towards(goal: FloatArray, share: float, region: Region, now: FloatArray) -> FloatArray:
    """Return the portfolio that is a share of the way from `now` to the goal, both within the limits, or as far as the turnover
    lets it go.
    """
    way = goal - now
    length, room = float(dasum(way)), np.inf
    if region.turnover < np.inf:
        room = region.turnover - float(dasum(now - region.held))
        share = min(share, max(room, 0.0) / length if length > 0.0 else share)
    w = now + share * way
    close = (np.abs(way) * (1.0 - share) < CLOSE) & (way != 0.0)
    settled = mended(replace(region, held=np.where(close, goal, w), turnover=np.inf), goal)
    if settled is None or (room < np.inf and float(dasum(settled - region.held)) > region.turnover):
        return np.asarray(np.minimum(np.maximum(w, region.lower), region.upper))
    return settled


def _trade(
    w: FloatArray,
    goal: FloatArray,
    missing: float,
    some: FloatArray | None = None,
    *,
    spare: list[float] | None = None,
    rows: FloatArray | None = None,
) -> bool:
    """Buy what is missing, or sell what is too much, in place; False if it is not all done.

    Parameters
    ----------
    some : (N,) float, optional
        Ones for the names that may be traded; None for all.
    spare, rows : optional
        By how much the sum of each group may still change; all sums that there are.
    """
    side, left = (1.0, missing) if missing > 0.0 else (-1.0, -missing)
    gap = (goal - w) * (side if some is None else side * some)
    for _ in range(STEPS):
        most = float(gap.max())
        if most <= 0.0:
            return left <= KEPT  # what is missing is the way to the goal, but for a rounding
        i = int((gap >= most - min(TIED, 0.5 * most)).argmax())
        room = take = float(gap[i])
        gap[i] = 0.0
        if spare is not None and rows is not None:
            mine = rows[1:, i].nonzero()[0].tolist()
            take = min([take, *(spare[j] for j in mine)])
            if take <= 0.0:
                continue
            for j in mine:
                spare[j] -= min(take, left)
        if take >= left:
            w[i] += side * left
            return True
        w[i] = goal[i] if take == room else w[i] + side * take
        left -= take
    return False
