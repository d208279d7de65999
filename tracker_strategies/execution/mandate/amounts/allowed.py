"""The nearest allowed portfolio on any bar: where there is none, limits give way first."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies.execution.mandate.amounts.relaxing import relax
from tracker_strategies.execution.mandate.amounts.solver import Solution, Start, nearest
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Region
from tracker_strategies.execution.mandate.metric import Metric


def nearest_allowed(
    wish: FloatArray,
    region: Region,
    metric: Metric,
    *,
    must: FloatArray,
    tradable: BoolArray,
    no_trade: float = 0.0,
    start: Start | None = None,
) -> tuple[Solution, Region, dict[str, Any]]:
    """Return the portfolio nearest to a wish, the region that it is in, and what gave way for it.

    The arguments are those of :func:`~.solver.nearest` and :func:`~.relaxing.relax`.
    """
    solution = nearest(wish, region, metric, no_trade=no_trade, start=start)
    if solution.feasible:
        return solution, region, {}
    region, gave = relax(region, must=must, tradable=tradable)
    # In a thin region a steep metric may defeat the solver: then all names count alike.
    even = Metric(np.ones(len(wish)), np.zeros((len(wish), 0)))
    tries = ((wish, metric, no_trade), (wish, even, 0.0), (region.held, even, 0.0))
    solutions = (nearest(goal, region, costs, no_trade=price) for goal, costs, price in tries)
    return next(found for found in solutions if found.feasible), region, gave
