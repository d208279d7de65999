r"""The safeguarded way to the multipliers: slower, and certain.

Each step is a Newton step, or, where no free name answers to what is missed, the gradient itself; it goes exactly as far as the
dual rises. The dual is concave, so every step gains; it has finitely many pieces, so the steps end. Where the region is empty the
dual rises without bound, and the multipliers themselves prove it: they price the constraints such that even the cheapest
portfolio within the bounds of the names costs more than the constraints allow.
"""

from __future__ import annotations

import numpy as np

from tracker_strategies.execution.mandate.amounts.dual import Dual
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray

STEPS = 200
SINGULAR = 1e-11
"""Least curvature that is one, for multipliers scaled to a curvature of one each."""
EMPTY = 1e-12
"""Least infeasibility that is called one, per unit of multiplier."""
EXACT = 1e-13
PATIENCE = 5
"""Steps without gain, close to the top, before it is called the top."""
STALLED = 1e-8
"""Most that weights may still move when the multipliers can no longer."""


def ascend(problem: Dual, nu: FloatArray, theta: float) -> tuple[FloatArray, FloatArray, float] | None:
    """Return the weights and the multipliers at the top of the dual, or None if the region is empty (or no top was found)."""
    nu = nu.copy()
    rows, k = problem.rows, problem.n_factors
    limited = problem.limited
    best, idle = np.inf, 0
    for _ in range(STEPS):
        w, weight, sign = problem.at(nu @ rows, theta)
        gap, counts = problem.missed(w, nu)
        excess = problem.overtraded(w) if limited else 0.0
        gap, counts = np.append(gap, excess), np.append(counts, limited and (theta > 0.0 or excess > 0.0))
        # Multipliers that cancel leave a rounding of their own size in the pull on a name.
        noise = EXACT + 1e-15 * float((np.abs(nu) @ np.abs(rows) * weight).max())
        step = _direction(problem, np.where(counts, gap, 0.0), np.append(nu, theta), counts, sign, weight, noise)
        moved = (step[:-1] @ rows + sign * step[-1]) * weight
        left = max(float(np.abs(moved).max()), float(np.abs(gap[k:][counts[k:]]).max(initial=0.0)))
        exposed = np.abs(rows[:k]) @ np.abs(w - problem.wish)
        answer = np.clip(w - moved, problem.lower, problem.upper), nu, theta
        if left <= noise and (np.abs(gap[:k]) <= EXACT * exposed).all():
            return answer
        if _proves_empty(problem, nu, theta) or _proves_empty(problem, step[:-1], max(float(step[-1]), 0.0)):
            return None
        ahead = _ahead(problem, nu, theta, step, float(np.abs(gap[counts]).max())) or _along(problem, nu, theta, step)
        # Where steps fall below the resolution of the multipliers, what is left is left to the weights themselves.
        stuck = ahead is not None and bool((np.abs(ahead[0] - nu) <= 4e-16 * np.abs(nu)).all() and ahead[1] == theta)
        close = left <= max(STALLED, 100.0 * noise)
        idle = idle + 1 if close and left >= best else 0
        if ahead is None or stuck or idle > PATIENCE:
            return answer if close else None
        best = min(best, left)
        nu, theta = ahead
    return None


def _direction(
    problem: Dual, gap: FloatArray, now: FloatArray, counts: BoolArray, sign: FloatArray, weight: FloatArray, noise: float
) -> FloatArray:
    """Return a direction in which the dual rises; zero at the top.

    A multiplier at zero may only move to the side on which its constraint is missed. Where the direction would have it
    otherwise it is left out; if nothing else is left to improve, such constraints are tried one by one, worst first.
    """
    H = problem.curvature(np.vstack((problem.rows, sign)), weight)
    size = np.sqrt(np.where(H.diagonal() > 0.0, H.diagonal(), float(problem.inverse.mean())))
    H /= np.outer(size, size)
    fresh = counts & (now == 0.0)
    fresh[: problem.n_factors] = False
    fresh[:-1] &= ~problem.equal
    settled = counts & ~fresh
    entering = fresh
    while entering.any():
        step = _uphill(H, gap, size, settled | entering)
        wrong = entering & (step * gap <= 0.0)
        if not wrong.any():
            return step
        entering = entering & ~wrong
    step = _uphill(H, gap, size, settled)
    if np.abs(gap[settled]).max(initial=0.0) > noise:
        return step
    for j in np.argsort(-np.abs(np.where(fresh, gap, 0.0)))[: int(fresh.sum())]:
        only = settled.copy()
        only[j] = True
        alone = _uphill(H, gap, size, only)
        if alone[j] * gap[j] > 0.0:
            return alone
    return step


def _uphill(H: FloatArray, gap: FloatArray, size: FloatArray, chosen: BoolArray) -> FloatArray:
    """Return the Newton step in the chosen multipliers; where none exists, the part of the gradient without curvature."""
    step = np.zeros(len(gap))
    at = np.flatnonzero(chosen)
    if not len(at):
        return step
    values, vectors = np.linalg.eigh(H[np.ix_(at, at)])
    part = (gap / size)[at] @ vectors
    answered = values > SINGULAR
    lost = vectors @ np.where(answered, 0.0, part)
    if np.abs(lost * size[at]).max() > max(EXACT, 1e-6 * float(np.abs(gap[at]).max())):
        step[at] = lost
    else:
        step[at] = vectors @ np.divide(part, values, out=np.zeros(len(at)), where=answered)
    return step / size


def _ahead(problem: Dual, nu: FloatArray, theta: float, step: FloatArray, missed: float) -> tuple[FloatArray, float] | None:
    """Return the multipliers after the whole step if it changes no side and misses less than half as much; else None."""
    after, turned = nu + step[:-1], theta + float(step[-1])
    if turned < 0.0 or (~problem.equal & (after * nu < 0.0)).any():
        return None
    w, _, _ = problem.at(after @ problem.rows, turned)
    gap, counts = problem.missed(w, after)
    left = float(np.abs(gap[counts]).max(initial=0.0))
    if problem.limited:
        excess = problem.overtraded(w)
        left = max(left, abs(excess) if turned > 0.0 else excess)
    return (after, turned) if left <= 0.5 * missed else None


def _slope(problem: Dual, nu: FloatArray, theta: float, step: FloatArray) -> float:
    """Return the rate at which the dual rises along `step`."""
    w, _, _ = problem.at(nu @ problem.rows, theta)
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
    # A slope of the size of a rounding is none: the dual is flat along what groups have in common.
    flat = EXACT * float(np.abs(step[problem.n_factors :]).sum())
    edges = np.concatenate(((0.0,), breaks, (cut,)))
    low, high = 0, len(edges) - 2
    while low < high:
        middle = (low + high + 1) // 2
        inside = 0.5 * (edges[middle] + edges[middle + 1]) if np.isfinite(edges[middle + 1]) else edges[middle] * 2.0 + 1.0
        if slope(inside) > flat:
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
        if first + 0.25 * width * fall <= flat:
            s = a
            break
        top = a + 0.25 * width + first / fall if fall * width > flat else (b if first > flat else a)
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
    x = problem.gap - (nu @ problem.rows) * problem.inverse
    dx = -(step[:-1] @ problem.rows) * problem.inverse
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
    scale = float(np.abs(prices).sum()) + (theta if problem.limited else 0.0)
    if not scale > 0.0:
        return False
    pull, h = problem.rows[k:].T @ prices, problem.held
    corners = (problem.lower, problem.upper, np.minimum(np.maximum(h, problem.lower), problem.upper))
    least = np.minimum.reduce([pull * w + theta * np.abs(w - h) for w in corners])
    bound = float(np.where(prices > 0.0, prices * problem.high[k:], prices * problem.low[k:]).sum())
    if theta > 0.0:
        bound += theta * problem.turnover
    return float(least.sum()) - bound > EMPTY * scale
