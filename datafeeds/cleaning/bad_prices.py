"""Where a series of prices cannot be trusted: prints that revert, jumps, prices that stand still, days without volume."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: The kinds of findings.
KINDS = ("spike", "jump", "stale", "no volume")


class Suspect(NamedTuple):
    """Bars `first` to `last` of a series, and a figure for the report."""

    kind: str
    first: int
    last: int
    value: float


def find_spikes(close: FloatArray, times: float) -> BoolArray:
    """(n,) mask of prints that are at least `times` both their neighbours, or at most 1/`times` of both.

    The next bar is needed to tell a bad print from news, so this looks one bar ahead. The first and the last bar have only one
    neighbour and are never called spikes.
    """
    spike = np.zeros(len(close), dtype=bool)
    if len(close) > 2:
        before, after = close[1:-1] / close[:-2], close[1:-1] / close[2:]
        spike[1:-1] = (np.minimum(before, after) >= times) | (np.maximum(before, after) <= 1.0 / times)
        for t in np.flatnonzero(spike):  # the bar after a bad print only looks like one beside it
            spike[t] = not spike[t - 1]
    return spike


def find_jumps(close: FloatArray, limit: float, spikes: BoolArray, excused: BoolArray) -> list[Suspect]:
    """Returns beyond the limit, up by more than `limit` or down by as large a factor, from one good bar to the next.

    Known at the close of the bar itself, but for the spikes that are left out.
    """
    good = np.flatnonzero(~spikes)
    ratio = close[good[1:]] / close[good[:-1]]
    far = np.flatnonzero((np.maximum(ratio, 1.0 / ratio) > 1.0 + limit) & ~excused[good[1:]])
    return [Suspect("jump", int(good[k + 1]), int(good[k + 1]), float(ratio[k])) for k in far]


def find_stale(close: FloatArray, moved: BoolArray, bars: int) -> list[Suspect]:
    """Runs of at least `bars` bars that repeat the close before them; bars on which the index did not move do not count.

    Parameters
    ----------
    close : (n,) float
    moved : (n,) bool
        Bars on which the index has another level than on the bar before.
    bars : int
    """
    same = np.r_[False, close[1:] == close[:-1]]
    found = []
    for first, last in _runs(same):
        count = int(np.count_nonzero(moved[first : last + 1]))
        if count >= bars:
            found.append(Suspect("stale", first, last, float(count)))
    return found


def find_no_volume(volume: FloatArray) -> list[Suspect]:
    """Runs of bars without a single share traded. A series without any volume at all has none on record, which is no finding."""
    if not np.nansum(volume) > 0.0:
        return []
    return [Suspect("no volume", first, last, float(last - first + 1)) for first, last in _runs(volume == 0.0)]


def _runs(mask: BoolArray) -> list[tuple[int, int]]:
    """First and last place of each run of True."""
    edges = np.diff(np.r_[0, mask.astype(np.int8), 0])
    return list(zip(np.flatnonzero(edges == 1).tolist(), (np.flatnonzero(edges == -1) - 1).tolist(), strict=True))
