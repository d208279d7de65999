"""Names leave within the turnover: a place is free only when the old position is sold in full."""

from __future__ import annotations

import numpy as np

from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray
from tracker_strategies.execution.mandate.support import Bar, Point


def staged(
    bar: Bar, support: BoolArray, lower: FloatArray, upper: FloatArray, turnover: float, point: Point | None
) -> tuple[BoolArray, FloatArray, FloatArray, BoolArray]:
    """Let only as many names leave as half the turnover can sell in full; the others keep their places for now.

    Those that may not be held at all go first, then the smallest holdings. A name above half the turnover is sold down, not
    below its least weight; where the least weight itself is above half the turnover, it is sold out alone, with all of it.

    Parameters
    ----------
    bar : Bar
    support : (N,) bool
        Names that shall be held.
    lower, upper : (N,) float
        Their bounds.
    turnover : float
    point : Point, optional
        A portfolio of them: of the names that shall enter, the largest come first.

    Returns
    -------
    support, lower, upper, leaving
        The names that may be held now, their bounds, and which of them are on their way out.
    """
    held, limits = bar.held, bar.limits
    support, lower, upper = support.copy(), lower.copy(), upper.copy()
    leaving = np.zeros(len(held), bool)
    left = 0.5 * turnover
    gone = np.flatnonzero((held > 0) & ~support)
    for i in gone[np.lexsort((gone, held[gone], bar.allowed[gone]))].tolist():
        if held[i] <= left + 1e-12:
            left -= held[i]
            continue
        if left == 0.5 * turnover and limits.least[i] > left and held[i] <= turnover:
            left = 0.0
            continue
        leaving[i] = support[i] = True
        sold = min(left, max(held[i] - limits.least[i], 0.0)) if held[i] > 0.5 * turnover else 0.0
        left -= sold
        upper[i] = min(held[i] - sold, bar.cap[i]) if bar.cap[i] > 0 else held[i] - sold
        lower[i] = min(limits.least[i], upper[i])
    if leaving.any():
        enters = np.flatnonzero(support & (held == 0))
        support[enters] = False
        weight = np.zeros(len(enters)) if point is None else point.weights[enters]
        worth = enters[np.lexsort((enters, -weight, ~bar.forced[enters]))]
        counts, count = bar.groups.rows @ support, int(np.count_nonzero(support))
        for i in worth.tolist():
            inside = bar.groups.rows[:, i] > 0
            if count < bar.most and not np.any(counts[inside] >= bar.group_most[inside]):
                support[i] = True
                count += 1
                counts[inside] += 1
        lower[~support] = upper[~support] = 0.0
    return support, lower, upper, leaving
