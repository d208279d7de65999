"""Bands: small trades left out, without idle cash and without a broken limit."""

from __future__ import annotations

import numpy as np

from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Region

#: Rounding of sums of weights.
SLACK = 1e-12


def banded(wish: FloatArray, region: Region, band: float) -> FloatArray:
    """The wish, with names left as they are whose weight would change by less than the band.

    A name whose target is 0 is sold all the same. What the band leaves unspent goes to the names furthest below their target, at
    most up to it, in as few names as possible; what it overspends comes from those furthest above. Where a name or a group is
    outside its limits, the band gives way.

    Parameters
    ----------
    wish : (N,) float
        A point of the region.
    region : Region
    band : float
        > 0.
    """
    gap = wish - region.held
    stays = (np.abs(gap) < band) & (gap != 0.0) & ~((wish == 0.0) & (region.held > 0.0))
    stays &= (region.held >= region.lower) & (region.held <= region.upper)
    while stays.any():
        w = np.where(stays, region.held, wish)
        left = region.total - float(w.sum())
        w = _spent(w, wish, left)
        broken = _broken_groups(w, region)
        if not broken.any():
            return w
        stays &= ~broken
    return wish


def _spent(w: FloatArray, wish: FloatArray, left: float) -> FloatArray:
    """Bring the sum back: towards the wish in the names that are furthest from it on the right side."""
    if abs(left) <= SLACK:
        return w
    room = np.maximum(wish - w, 0.0) if left > 0.0 else np.maximum(w - wish, 0.0)
    order = np.argsort(-room, kind="stable")
    taken = np.minimum(np.maximum(abs(left) - np.concatenate([[0.0], np.cumsum(room[order])[:-1]]), 0.0), room[order])
    moved = w.copy()
    moved[order] += np.sign(left) * taken
    whole = (taken >= room[order]) & (taken > 0.0)
    moved[order[whole]] = wish[order[whole]]  # exactly
    return moved


def _broken_groups(w: FloatArray, region: Region) -> BoolArray:
    """Names of the groups that are outside their limits."""
    broken = np.zeros(len(w), dtype=np.bool_)
    for members, low, high in zip(region.members, region.group_lower, region.group_upper, strict=True):
        mass = float(w[members].sum())
        if not low - SLACK <= mass <= high + SLACK:
            broken[members] = True
    return broken
