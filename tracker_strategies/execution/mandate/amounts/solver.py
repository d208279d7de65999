r"""How much of each name: the allowed portfolio nearest to a wish.

.. math:: \min_w \tfrac12 (w - z)^\top (\operatorname{diag}(d) + B B^\top) (w - z) + \sum_i c_i |w_i - h_i|

over a :class:`~tracker_strategies.execution.mandate.limits.Region`: bounds of names and of groups, which may overlap, the
total, and the turnover against what is held. The answer is exact: on the right pieces (which names are at a bound, which are not
traded, which groups bind) the problem is one linear system in a few multipliers. Guess the pieces from the multipliers of the bar
before, solve, correct all pieces at once, solve again: Newton's method on the dual. Where that does not settle within a few
steps, the safeguarded ascent takes over.

References
----------
Qi, Sun, *A nonsmooth version of Newton's method*, Math. Programming 58, 1993. Hintermueller, Ito, Kunisch, *The primal-dual
active set strategy as a semismooth Newton method*, SIAM J. Optim. 13, 2002.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.execution.mandate.amounts.ascent import ascend
from tracker_strategies.execution.mandate.amounts.dual import Dual, group_rows, largest, newton
from tracker_strategies.execution.mandate.limits import FloatArray, Region
from tracker_strategies.execution.mandate.metric import Metric
from tracker_strategies.execution.sums import inner, total

INSIDE = 1e-12
"""Most by which the sums of a wish may miss a bound and still be inside; of a bound of a name, as a share of it."""
KEPT = 1e-12
"""Most by which the sums of an answer may miss a bound."""
EXACT = 1e-13
ROUNDING = 1e-9
"""Most that weights are moved to take a rounding out of their sums."""
SOFT = 0.01
COMPILED = "tracker_strategies.execution.mandate.amounts.numba_nearest"
STEPS = 30
"""Newton steps before the safeguarded ascent."""
PATIENCE, PARTS = 3, (0.5, 0.25)
"""Whole steps that may miss more than the best one so far; after them, parts of steps in turn, which end most cycles."""

Start = tuple[FloatArray, FloatArray, float]
"""What each name (N,), the total and each group (1 + G,), and the turnover are priced at."""


class Solution(NamedTuple):
    """An answer of :func:`nearest`.

    Attributes
    ----------
    weights : (N,) float
        NaN where the region is empty.
    feasible : bool
        Whether the region is not empty.
    multipliers : tuple of (N,) float, (1 + G,) float and float, optional
        What names, the sums (the total, then the groups) and the turnover are priced at: the `start` of the next bar. None if no
        problem had to be solved.
    """

    weights: FloatArray
    feasible: bool
    multipliers: Start | None


def nearest(
    wish: FloatArray, region: Region, metric: Metric, *, no_trade: float | FloatArray = 0.0, start: Start | None = None
) -> Solution:
    """Return the portfolio of a region that is nearest to the target weights.

    Parameters
    ----------
    wish : (N,) float
        Weights asked for, z.
    region : Region
    metric : Metric
        What a difference costs, (d, B).
    no_trade : float or (N,) float, default 0
        Price of a unit of trade in each name, c >= 0, in the units of the metric.
    start : optional
        Multipliers of a similar problem. They change how long it takes, not the answer; of other shapes, they are ignored.

    Returns
    -------
    Solution
        Bounds of names hold exactly, sums and turnover to 1e-12. A wish that is inside comes back as it is if trading is free.

    Notes
    -----
    A step costs two products with the N by k + 1 + G matrix of loadings and groups, and one system of as many unknowns as there
    are factors and binding sums.
    """
    if isinstance(no_trade, np.ndarray) and not no_trade.any():
        no_trade = 0.0
    if not isinstance(no_trade, np.ndarray) and no_trade == 0.0 and inside(wish, region):
        return Solution(wish, True, start)
    if not len(wish):
        return _none(region)
    if (compiled := kernels.counterpart(COMPILED)) is not None and not isinstance(no_trade, np.ndarray):
        w, prices = compiled.nearest(wish, region, group_rows(region.members, len(wish)), metric, no_trade, start)
        if prices is not None:
            return _none(region) if w is None else Solution(w, True, prices)
    if np.logical_or.reduce(region.lower > region.upper):
        return _none(region)
    problem = Dual(wish, region, metric, no_trade)
    nu, theta = _warm(problem, start)
    found = _plain(problem, nu, theta) or ascend(problem, nu, theta)
    if found is None and start is not None:
        found = ascend(problem, *_warm(problem, None))
    if found is None:
        return _none(region)
    w, nu, theta = found
    missed = problem.excess(w)
    if missed > EXACT:
        w, missed = _settled(problem, w, nu, theta, missed)
    if missed > KEPT:
        w, missed = _projected(w, region, missed)
    if not missed <= KEPT:
        return _none(region)
    return Solution(w, True, (nu @ problem.rows, nu[problem.n_factors :], theta))


def _warm(problem: Dual, start: Start | None) -> tuple[FloatArray, float]:
    """Multipliers to climb from: those of the pieces that the prices of the bar before make, if its problem had this shape. Its
    factors may have been other ones.
    """
    rows, k = problem.rows, problem.n_factors
    nu, theta = np.zeros(len(rows)), 0.0
    if start is None or start[0].shape != problem.wish.shape or start[1].shape != (len(nu) - k,):
        return nu, theta
    nu[k:], theta = start[1], start[2] if problem.limited else 0.0
    w, weight, sign = problem.at(start[0], theta)
    gap, counts = problem.missed(w, nu)
    excess = problem.overtraded(w) if problem.limited else 0.0
    side = np.where(nu != 0.0, nu, gap)
    lift = start[0] * weight
    chosen, turning = counts.nonzero()[0], problem.limited and (theta > 0.0 or excess > 0.0)
    matrix, right = problem.system(chosen, sign if turning else None, gap + rows @ lift, excess + inner(sign, lift))
    step = newton(problem.curvature(matrix, weight), right)
    if step is None:
        nu[:k] = gap[:k]
        return nu, theta
    if turning:
        theta = max(theta + float(step[-1]), 0.0)
    nu[:] = 0.0
    nu[chosen] = step[: len(chosen)]
    nu[(nu * side < 0.0) & ~problem.equal] = 0.0
    return nu, theta


def inside(w: FloatArray, region: Region, tolerance: float = INSIDE, *, turnover: bool = True) -> bool:
    """Whether weights keep all constraints of a region, or all but the turnover: sums to the tolerance, names to that share of
    their bounds.
    """
    if turnover and region.turnover < np.inf and not float(np.abs(w - region.held).sum()) <= region.turnover + tolerance:
        return False
    sums = group_rows(region.members, len(w))
    if (compiled := kernels.counterpart(COMPILED)) is not None:
        return bool(compiled.inside(w, region, sums, tolerance))
    if not np.logical_and.reduce(w <= region.upper * (1.0 + tolerance)):
        return False
    if not abs(total(w) - region.total) <= tolerance:
        return False
    if not np.logical_and.reduce(w >= region.lower * (1.0 - tolerance)):
        return False
    if not len(region.members):
        return True
    masses = sums[1:] @ w
    return bool((masses <= region.group_upper + tolerance).all() and (masses >= region.group_lower - tolerance).all())


def _none(region: Region) -> Solution:
    return Solution(np.full(len(region.held), np.nan), False, None)


def _plain(problem: Dual, nu: FloatArray, theta: float) -> tuple[FloatArray, FloatArray, float] | None:
    """Newton's method with whole steps, and shorter ones where those go round in circles; None if it does not settle."""
    rows, k, limited, nu = problem.rows, problem.n_factors, problem.limited, nu.copy()
    pull = nu @ rows
    expected: FloatArray | None = None
    least = np.inf
    for taken in range(STEPS):
        w, weight, sign = problem.at(pull, theta)
        gap, counts = problem.missed(w, nu)
        excess = problem.overtraded(w) if limited else 0.0
        if expected is not None:
            off = largest(w - expected)
            if (
                (off <= EXACT or off <= 1e-15 * largest(pull * weight))
                and largest(gap[k:]) <= KEPT
                and (excess <= KEPT if theta > 0.0 else excess <= 0.0)
            ):
                return w, nu, theta
        turning = limited and (theta > 0.0 or excess > 0.0)
        side = np.where(nu != 0.0, nu, gap)
        chosen = counts.nonzero()[0]
        matrix, right = problem.system(chosen, sign if turning else None, gap, excess)
        step = newton(problem.curvature(matrix, weight), right)
        if step is None:
            # No free name answers to some sum: let all names answer a little, and see which of them become free.
            step = newton(problem.curvature(matrix, weight + SOFT * problem.loose), right)
            if step is None:
                return None
            expected = None
        else:
            expected = w - (step @ matrix) * weight
        now = largest(gap)
        if taken > PATIENCE and now >= 0.99 * least:
            step, expected = step * PARTS[taken % len(PARTS)], None
        least = min(least, now)
        if turning:
            theta += float(step[-1])
            step = step[:-1]
            if theta < 0.0:
                theta, expected = 0.0, None
        nu[chosen] += step
        crossed = (nu * side < 0.0) & ~problem.equal
        if np.logical_or.reduce(crossed):
            nu[crossed] = 0.0
            expected = None
        pull = nu @ rows
    return None


def _settled(problem: Dual, w: FloatArray, nu: FloatArray, theta: float, missed: float) -> tuple[FloatArray, float]:
    """Return the weights with what rounding has left of the binding sums removed, by the smallest change of the free names."""
    k = problem.n_factors
    for _ in range(3):
        sums = problem.rows[k:] @ w
        over, under = sums - problem.high[k:], sums - problem.low[k:]
        gap = np.where((nu[k:] > 0.0) | (over > 0.0), over, np.where((nu[k:] < 0.0) | (under < 0.0), under, 0.0))
        matrix, excess = problem.rows[k:], problem.overtraded(w)
        if theta > 0.0 or excess > 0.0:
            matrix, gap = np.vstack((matrix, np.sign(w - problem.held))), np.append(gap, excess)
        matrix, gap = matrix[gap != 0.0], gap[gap != 0.0]
        weight = np.where((w > problem.lower) & (w < problem.upper) & (w != problem.held), problem.inverse, 0.0)
        H = (matrix * weight) @ matrix.T
        size = np.sqrt(np.maximum(H.diagonal(), 1e-300))
        step = np.linalg.lstsq(H / np.outer(size, size), gap / size, rcond=1e-11)[0] / size
        closer = np.clip(w - (step @ matrix) * weight, problem.lower, problem.upper)
        left = problem.excess(closer)
        if left >= missed:
            break
        w, missed = closer, left
        if missed <= EXACT:
            break
    return w, missed


def _projected(w: FloatArray, region: Region, missed: float) -> tuple[FloatArray, float]:
    """Return the point of the region next to weights that miss it by a rounding; all names count alike."""
    problem = Dual(w, region, Metric(np.ones(len(w)), np.zeros((len(w), 0))), 0.0)
    found = ascend(problem, np.zeros(len(problem.rows)), 0.0)
    if found is None or largest(found[0] - w) > ROUNDING:
        return w, missed
    return found[0], problem.excess(found[0])
