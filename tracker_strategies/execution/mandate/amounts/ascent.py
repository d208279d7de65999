r"""The safeguarded way to the multipliers: slower, and certain.

Each step is a Newton step, or, where no free name answers to what is missed, the gradient itself; it goes exactly as far as the
dual rises. The dual is concave, so every step gains; it has finitely many pieces, so the steps end. Where the region is empty the
dual rises without bound, and the multipliers themselves prove it: they price the constraints such that even the cheapest
portfolio within the bounds of the names costs more than the constraints allow.
"""

from __future__ import annotations

import numpy as np

from tracker_strategies.execution.mandate.amounts.dual import Dual, newton
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray

STEPS = 200
SINGULAR = 1e-11
"""Least curvature that is one, for multipliers scaled to a curvature of one each."""
EMPTY = 1e-12
"""Least infeasibility that is called one, per unit of multiplier."""
EXACT = 1e-13
PATIENCE = 5
"""Steps without gain, close to the top, before it is called the top."""
LOOKS = 40
"""Looks along one direction."""
FARTHER = 4.0
CLOSE = 1e-6
"""Slope after a whole step, as a share of that before it, which is a rounding."""
STALLED = 1e-8
"""Most that weights may still move when the multipliers can no longer."""


def ascend(problem: Dual, nu: FloatArray, theta: float) -> tuple[FloatArray, FloatArray, float] | None:
    """Return the weights and the multipliers at the top of the dual, or None if the region is empty (or no top was found)."""
    nu = nu.copy()
    rows, k = problem.rows, problem.n_factors
    limited = problem.limited
    best, idle = np.inf, 0
    for taken in range(STEPS):
        w, weight, sign = problem.at(nu @ rows, theta)
        gap, counts = problem.missed(w, nu)
        excess = problem.overtraded(w) if limited else 0.0
        gap, counts = np.append(gap, excess), np.append(counts, limited and (theta > 0.0 or excess > 0.0))
        # Multipliers that cancel leave a rounding of their own size in the pull on a name.
        noise = EXACT + 1e-15 * float((np.abs(nu) @ np.abs(rows) * weight).max())
        gap[~counts] = 0.0
        step, flat = _direction(problem, gap, np.append(nu, theta), counts, sign, weight, noise)
        moved = (step[:-1] @ rows + sign * step[-1]) * weight
        left = max(float(np.abs(moved).max()), float(np.abs(gap[k:][counts[k:]]).max(initial=0.0)))
        exposed = np.abs(rows[:k]) @ np.abs(w - problem.wish)
        answer = np.clip(w - moved, problem.lower, problem.upper), nu, theta
        if left <= noise and (np.abs(gap[:k]) <= EXACT * exposed).all():
            return answer
        if (flat or taken % PATIENCE == PATIENCE - 1) and (
            _proves_empty(problem, nu, theta) or _proves_empty(problem, step[:-1], max(float(step[-1]), 0.0))
        ):
            return None
        ahead = _ahead(problem, w, nu, theta, step, float(gap @ step), flat=flat)
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
) -> tuple[FloatArray, bool]:
    """Return a direction in which the dual rises, zero at the top; and whether no free name feels it.

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
        step, flat = _uphill(H, gap, size, settled | entering)
        wrong = entering & (step * gap <= 0.0)
        if not wrong.any():
            return step, flat
        entering = entering & ~wrong
    step, flat = _uphill(H, gap, size, settled)
    if np.abs(gap[settled]).max(initial=0.0) > noise:
        return step, flat
    for j in np.argsort(-np.abs(np.where(fresh, gap, 0.0)))[: int(fresh.sum())]:
        only = settled.copy()
        only[j] = True
        alone, flat_alone = _uphill(H, gap, size, only)
        if alone[j] * gap[j] > 0.0:
            return alone, flat_alone
    return step, flat


def _uphill(H: FloatArray, gap: FloatArray, size: FloatArray, chosen: BoolArray) -> tuple[FloatArray, bool]:
    """Return the Newton step in the chosen multipliers, and False; where none exists, the part of the gradient without curvature,
    and True.
    """
    step = np.zeros(len(gap))
    at = np.flatnonzero(chosen)
    if not len(at):
        return step, False
    part = H[at[:, None], at]
    plain = newton(part, (gap / size)[at], SINGULAR)
    if plain is not None:
        step[at] = plain
        return step / size, False
    values, vectors = np.linalg.eigh(part)
    along = (gap / size)[at] @ vectors
    answered = values > SINGULAR
    lost = vectors @ np.where(answered, 0.0, along)
    flat = bool(np.abs(lost * size[at]).max() > max(EXACT, 1e-6 * float(np.abs(gap[at]).max())))
    step[at] = lost if flat else vectors @ np.divide(along, values, out=np.zeros(len(at)), where=answered)
    return step / size, flat


def _ahead(
    problem: Dual, w: FloatArray, nu: FloatArray, theta: float, step: FloatArray, slope: float, *, flat: bool
) -> tuple[FloatArray, float] | None:
    """Return the multipliers as far along a direction as the dual rises (after a whole step, where that is far enough); None if
    it rises for ever.
    """
    change, turn = step[:-1], float(step[-1])
    # A multiplier of one side ends at zero.
    ends = ~problem.equal & (nu * change < 0.0)
    limits = -nu[ends] / change[ends]
    longest = min(float(limits.min(initial=np.inf)), -theta / turn if turn < 0.0 else np.inf)
    x, dx = problem.gap - (nu @ problem.rows) * problem.inverse, -(change @ problem.rows) * problem.inverse
    s = _length(problem, w, x, dx, (problem.no_trade + theta) * problem.inverse, step, slope, longest, flat=flat)
    if not s < np.inf:
        return None
    after = nu + s * change
    if s == longest:
        after[np.flatnonzero(ends)[limits == s]] = 0.0
    return after, 0.0 if turn < 0.0 and s == -theta / turn else max(theta + s * turn, 0.0)


def _length(
    problem: Dual,
    w: FloatArray,
    x: FloatArray,
    dx: FloatArray,
    t: FloatArray,
    step: FloatArray,
    slope: float,
    longest: float,
    *,
    flat: bool,
) -> float:
    """Return how far the dual rises: its slope falls, and is linear between two kinks."""
    own, turn = float(step[: problem.n_factors] @ step[: problem.n_factors]), float(step[-1])
    pull, dt = dx / problem.inverse, turn * problem.inverse
    traded = np.abs(w - problem.held)
    low, high, f_low, f_high = 0.0, np.inf, slope, 0.0
    s = min(_next_kink(problem, x, dx, t, dt, 0.0) if flat else 1.0, longest)
    for look in range(LOOKS):
        if s == np.inf:
            return s
        y, level = x + s * dx, t + s * dt
        trade = y - np.minimum(np.maximum(y, -level), level)
        v = problem.held + trade
        u = np.minimum(np.maximum(v, problem.lower), problem.upper)
        f = slope - s * own - float(pull @ (u - w))
        moves = (u == v) & ((trade != 0.0) | (level == 0.0))
        speed = pull
        if turn:
            f += turn * float((np.abs(u - problem.held) - traded).sum())
            speed = pull - turn * np.sign(trade)
        curve = own + float((speed * speed * problem.loose) @ moves)
        if abs(f) <= (CLOSE if look == 0 else 0.1) * slope or (f > 0.0 and (s >= longest or (look == 0 and f <= 0.5 * slope))):
            return s
        ahead = s + f / curve if curve > 0.0 else np.inf
        if f > 0.0:  # not far beyond the next kink: a curvature may be a mere rounding
            low, f_low = s, f
            ahead = min(ahead, FARTHER * _next_kink(problem, x, dx, t, dt, s), longest)
        else:
            high, f_high = s, f
        if not low < ahead < high:
            if high == np.inf:
                return high
            ahead = low + (high - low) * (f_low / (f_low - f_high) if look % 2 == 0 else 0.5)
            if not low < ahead < high:
                break
        s = ahead
    return low if low > 0.0 else s


def _next_kink(problem: Dual, x: FloatArray, dx: FloatArray, t: FloatArray, dt: FloatArray, s: float) -> float:
    """Return the first place after s where a name changes its piece; infinite if there is none."""
    first = np.inf
    for bound in (0.0, problem.lower - problem.held, problem.upper - problem.held):
        for side in (-1.0, 1.0):
            shrunk, speed = x - side * t, dx - side * dt
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                at = (bound - shrunk) / speed
            there = np.abs(shrunk - bound) <= EXACT * (np.abs(shrunk) + np.abs(bound))
            first = float(np.min(at, where=(at > s * (1.0 + EXACT)) & ~there & (problem.loose > 0.0), initial=first))
    return first


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
