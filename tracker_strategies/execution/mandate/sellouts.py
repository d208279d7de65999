"""Names that leave, when the turnover does not reach for all of them at once."""

from __future__ import annotations

import numpy as np

from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray


def room_to_sell(held: FloatArray, leaving: BoolArray, least: FloatArray, turnover: float) -> FloatArray:
    """(N,) most that is held of each leaving name after this decision; what is held of the others.

    Half of the turnover pays for sells, the other half for what is bought with their cash. The smallest positions go first, as
    a whole; if not even the smallest fits, it alone may use all of the turnover. What is left of a position that is sold in
    part stays at or above its least weight.
    """
    upper = held.copy()
    names = np.flatnonzero(leaving)
    names = names[np.argsort(held[names], kind="stable")]
    budget = 0.5 * turnover
    for place, i in enumerate(names.tolist()):
        mine = float(held[i])
        spend = turnover if place == 0 and mine > budget else budget
        if mine <= spend:
            upper[i] = 0.0
            budget = max(budget - mine, 0.0)
            continue
        rest = mine - spend
        upper[i] = min(max(rest, float(least[i])), mine)
        break
    return upper
