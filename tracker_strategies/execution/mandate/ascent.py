r"""The safeguarded way to the multipliers: slower, and certain.

Each step is a Newton step with a little damping (so that it exists for any set of free names), and goes exactly as far along it as
the dual rises. The dual is concave, so every step gains; it has finitely many pieces, so the steps end. Where the region is
empty the dual rises without bound, and the multipliers themselves prove it: they price the constraints such that even the
cheapest portfolio within the bounds of the names costs more than the constraints allow.
"""

from __future__ import annotations

import numpy as np

from tracker_strategies.execution.mandate.dual import Dual
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray

STEPS = 400
DAMPING = 1e-12
"""Damping, as a share of the curvature that all names together would have."""
EMPTY = 1e-12
"""Least infeasibility that is called one, per unit of multiplier."""
EXACT = 1e-13


def ascend(problem: Dual, nu: FloatArray, theta: float) -> tuple[FloatArray, FloatArray, float] | None:
    """Return the weights and the multipliers at the top of the dual, or None if the region is empty (or no top was found)."""
    nu = nu.copy()
    rows, k, tau = problem.rows, problem.n_factors, problem.turnover
    limited = np.isfinite(tau)
    every = (rows * rows) @ problem.inverse
    damping = DAMPING * np.append(np.where(every > 0.0, every, 1.0), float(problem.inverse.sum()))
    damping[:k] = 0.0
    for _ in range(STEPS):
        if _proves_empty(problem, nu, theta):
            return None
        w, free, sign = problem.at(rows.T @ nu, theta)
        gap, counts = problem.missed(w, nu)
        excess = problem.overtraded(w) if limited else 0.0
        turning = limited and (theta > 0.0 or excess > 0.0)
        gap, counts = np.append(gap, excess), np.append(counts, turning)
        step, weight = _direction(problem, gap, counts, np.append(nu, theta), free, sign, damping)
        if step is None:
            return w, nu, theta
        if not limited:
            step[-1] = 0.0
        moved = -(rows.T @ step[:-1] + sign * step[-1]) * weight
        noise = EXACT + 4e-16 * float(np.abs(rows.T @ nu * problem.inverse)[free].max(initial=0.0))
        if max(np.abs(moved).max(), np.abs(gap[k:][counts[k:]]).max(initial=0.0)) <= noise:
            return np.clip(w + moved, problem.lower, problem.upper), nu, theta
        if _proves_empty(problem, step[:-1], max(step[-1], 0.0)):
            return None
        found = _along(problem, nu, theta, step)
        if found is None:
            return None
        nu, theta = found
    return None


def _direction(
    problem: Dual, gap: FloatArray, counts: BoolArray, now: FloatArray, free: BoolArray, sign: FloatArray, damping: FloatArray
) -> tuple[FloatArray | None, FloatArray]:
    """Return a direction in which the dual rises (None at the top), and 1/d of the free names.

    A multiplier at zero may only move to the side on which its constraint is missed. Where the Newton step would have it
    otherwise it is left out; if nothing else is left to improve, the constraint missed most is taken alone.
    """
    weight = np.where(free, problem.inverse, 0.0)
    matrix = np.vstack((problem.rows, sign))
    H = problem.curvature(matrix, weight)
    H[np.diag_indices_from(H)] += damping
    fresh = counts & (now == 0.0)
    fresh[: problem.n_factors] = False
    fresh[:-1] &= ~problem.equal
    size = np.sqrt(H.diagonal())
    H /= np.outer(size, size)
    right = gap / size
    settled = counts & ~fresh
    while True:
        step = np.zeros(len(gap))
        chosen = np.flatnonzero(settled | fresh)
        if not len(chosen):
            return None, weight
        step[chosen] = np.linalg.lstsq(H[np.ix_(chosen, chosen)], right[chosen], rcond=1e-15)[0] / size[chosen]
        wrong = fresh & (step * gap <= 0.0)
        if not wrong.any():
            return step, weight
        fresh &= ~wrong
        if not fresh.any() and float(np.abs(gap[settled]).max(initial=0.0)) <= EXACT:
            worst = int(np.argmax(np.where(wrong, np.abs(gap), 0.0)))
            fresh[worst] = True
            settled = settled & (now != 0.0)
            if step[worst] * gap[worst] <= 0.0 and not settled.any():
                step[:] = 0.0
                step[worst] = gap[worst] / H[worst, worst] / size[worst] ** 2
                return step, weight


def _slope(problem: Dual, nu: FloatArray, theta: float, step: FloatArray) -> float:
    """Return the rate at which the dual rises along `step`."""
    w, _, _ = problem.at(problem.rows.T @ nu, theta)
    sums = problem.rows @ w
    k = problem.n_factors
    side = np.where(nu != 0.0, nu, step[:-1])
    gap = np.where(side > 0.0, sums - problem.high, sums - problem.low)
    gap[:k] -= nu[:k]
    rate = float(gap @ step[:-1])
    if step[-1]:
        rate += step[-1] * problem.overtraded(w)
    return rate


def _along(problem: Dual, nu: FloatArray, theta: float, step: FloatArray) -> tuple[FloatArray, float] | None:
    """Return the multipliers at the top of the dual along a direction; None if it rises for ever."""
    breaks, cut = _breaks(problem, nu, theta, step)

    def slope(s: float) -> float:
        return _slope(problem, nu + s * step[:-1], max(theta + s * step[-1], 0.0), step)

    # The slope falls along the direction, and is linear between two breaks: find the last piece that still begins by rising.
    edges = np.concatenate(((0.0,), breaks, (cut,)))
    low, high = 0, len(edges) - 2
    while low < high:
        middle = (low + high + 1) // 2
        inside = 0.5 * (edges[middle] + edges[middle + 1]) if np.isfinite(edges[middle + 1]) else edges[middle] * 2.0 + 1.0
        if slope(inside) > 0.0:
            low = middle
        else:
            high = middle - 1
    s = 0.0
    for piece in (low, low + 1):
        if piece > len(edges) - 2:
            break
        a, b = float(edges[piece]), float(edges[piece + 1])
        width = b - a if np.isfinite(b) else a + 1.0
        first, second = slope(a + 0.25 * width), slope(a + 0.75 * width)
        fall = 2.0 * (first - second) / width
        top = a + 0.25 * width + first / fall if fall > 0.0 else (b if first > 0.0 else a)
        s = min(max(top, a), b)
        if s < b:
            break
    if not np.isfinite(s):
        return None
    after = nu + s * step[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        after[(-nu / step[:-1] == s) & ~problem.equal] = 0.0
    return after, max(theta + s * step[-1], 0.0) if s != cut else 0.0


def _breaks(problem: Dual, nu: FloatArray, theta: float, step: FloatArray) -> tuple[FloatArray, float]:
    """Return where along a direction a name or a multiplier changes its piece, ascending; and where theta reaches zero."""
    x = problem.gap - (problem.rows.T @ nu) * problem.inverse
    dx = -(problem.rows.T @ step[:-1]) * problem.inverse
    t, dt = (problem.no_trade + theta) * problem.inverse, step[-1] * problem.inverse
    to = (problem.lower - problem.held, problem.upper - problem.held, np.zeros(len(x)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        at = [(goal - (x - t)) / (dx - dt) for goal in to] + [(goal - (x + t)) / (dx + dt) for goal in to]
        at.append(np.where(problem.equal, np.nan, -nu / step[:-1])[problem.n_factors :])
    cut = -theta / step[-1] if step[-1] < 0.0 else np.inf
    every = np.concatenate(at)
    return np.unique(every[(every > 0.0) & (every < cut)]), cut


def _proves_empty(problem: Dual, nu: FloatArray, theta: float) -> bool:
    """Whether multipliers (of the sums and the turnover) show that no portfolio can keep all constraints."""
    k = problem.n_factors
    prices = nu[k:]
    scale = float(np.abs(prices).sum()) + (theta if np.isfinite(problem.turnover) else 0.0)
    if not scale > 0.0:
        return False
    pull, h = problem.rows[k:].T @ prices, problem.held
    corners = (problem.lower, problem.upper, np.minimum(np.maximum(h, problem.lower), problem.upper))
    least = np.minimum.reduce([pull * w + theta * np.abs(w - h) for w in corners])
    bound = float(np.where(prices > 0.0, prices * problem.high[k:], prices * problem.low[k:]).sum())
    if theta > 0.0:
        bound += theta * problem.turnover
    return float(least.sum()) - bound > EMPTY * scale
