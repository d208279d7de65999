"""Choices of names that are one or two names away from a given one, and may be better than it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, IndexArray
from tracker_strategies.execution.mandate.names.support import Bar, Point

#: Scores that differ by less than this share of the largest are the same: rounding must not choose between twins.
TIE = 1e-9


def by_worth(score: FloatArray) -> IndexArray:
    """Places by falling score; those of the same score in the order in which they stand, which is that of the symbols."""
    largest = float(np.abs(score).max(initial=0.0))
    return np.argsort(-np.round(score / (TIE * largest)) if largest else score, kind="stable")


def exchanges(bar: Bar, point: Point, enough: float, most: int) -> list[BoolArray]:
    """Return the choices one name away that may save more than `enough`, by falling bounds of what they save."""
    support, gains, groups = point.support, point.gains, bar.groups
    out = np.flatnonzero(support & bar.allowed & ~bar.forced)
    into = np.flatnonzero(bar.allowed & ~support)
    if len(into) > most and not bar.counted:  # the best few suffice where any may come for any
        into = into[by_worth(gains[into])[:most]]
    # One more row and column for "none": a name is only added, or only dropped.
    bound = np.append(gains[into], 0.0)[None, :] - np.append(gains[out], 0.0)[:, None]
    if np.count_nonzero(support) >= bar.most:
        bound[-1] = -np.inf
    bound[-1, -1] = -np.inf
    if bar.counted:
        full = groups.rows @ support >= bar.group_most
        comes, goes = groups.rows[full][:, into], groups.rows[full][:, out]
        blocked = np.vstack([(1.0 - goes).T @ comes, comes.sum(axis=0, keepdims=True)]) > 0
        bound[:, :-1][blocked] = -np.inf
    chosen = np.flatnonzero(bound.ravel() > enough)
    chosen = chosen[by_worth(bound.ravel()[chosen])[:most]]
    result = []
    for j, i in zip(*np.unravel_index(chosen, bound.shape), strict=True):
        trial = support.copy()
        if j < len(out):
            trial[out[j]] = False
        if i < len(into):
            trial[into[i]] = True
        result.append(trial)
    return result


def exchanges_of_two(bar: Bar, point: Point, enough: float) -> Iterator[BoolArray]:
    """Yield the choices in which up to two names go and up to two come, two on one side at least, as in :func:`exchanges`."""
    out = np.flatnonzero(point.support & bar.allowed & ~bar.forced).tolist()
    into = np.flatnonzero(bar.allowed & ~point.support).tolist()
    some = [[list(c) for k in range(3) for c in combinations(names, k)] for names in (out, into)]
    pairs = [(float(point.gains[i].sum() - point.gains[j].sum()), j, i) for j, i in product(*some) if max(len(j), len(i)) == 2]
    for place in by_worth(np.array([bound for bound, _, _ in pairs])).tolist():
        bound, j, i = pairs[place]
        if bound <= enough:
            return
        trial = point.support.copy()
        trial[j], trial[i] = False, True
        if bar.fits(trial):
            yield trial
