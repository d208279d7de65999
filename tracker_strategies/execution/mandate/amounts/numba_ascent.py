r"""Compiled by numba: the way up the dual of :mod:`.dual`, in one call.

Every step is a Newton step in the multipliers that count; where no free name answers to one of them, a step along what they have
in common and no name feels, up to where names begin to answer. It goes as far as the dual rises. The answer is the one of
:mod:`.solver`, to a rounding; None is left to it: limits that cannot hold, and the rare way that does not end.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64

from tracker_strategies.algorithms.numerics.numba_compiling import IN, OUT, TABLE, called, compiled
from tracker_strategies.execution.mandate.limits import FloatArray, IndexArray, Region
from tracker_strategies.execution.mandate.metric import Metric

Start = tuple[FloatArray, FloatArray, float]

STEPS = 80
SEARCH = 40
"""Looks along one direction."""
EXACT = 1e-13
SINGULAR = 1e-12
"""Least curvature that is one, as a share of that without the multipliers before it."""
FARTHER = 4.0
CLOSE = 1e-6
"""Slope after a whole step, as a share of that before it, which is a rounding."""


@called
def _weigh(
    problem: FloatArray, pull: FloatArray, level: float, x: FloatArray, w: FloatArray, free: FloatArray, sign: FloatArray
) -> float:
    """Write the weights for given prices of the names, 1/d of the free ones, and which way they trade; return the turnover."""
    gap, held, lower, upper, inverse = problem[0], problem[1], problem[2], problem[3], problem[4]
    traded = 0.0
    for i in range(w.shape[0]):
        x[i] = gap[i] - pull[i] * inverse[i]
        t = level * inverse[i]
        trade = x[i] - min(max(x[i], -t), t)
        v = held[i] + trade
        w[i] = min(max(v, lower[i]), upper[i])
        moves = w[i] == v and lower[i] < upper[i] and (trade != 0.0 or level == 0.0)
        free[i] = inverse[i] if moves else 0.0
        sign[i] = 1.0 if trade > 0.0 else -1.0 if trade < 0.0 else 0.0
        traded += abs(w[i] - held[i])
    return traded


@called
def _factorise(H: FloatArray, m: int) -> int:
    """Write the Cholesky factor over the lower triangle; return the first row that adds no curvature, m if all do."""
    for j in range(m):
        own = H[j, j]
        left = own
        for c in range(j):
            left -= H[j, c] * H[j, c]
        if not left > SINGULAR * own:
            return j
        H[j, j] = math.sqrt(left)
        for r in range(j + 1, m):
            t = H[r, j]
            for c in range(j):
                t -= H[r, c] * H[j, c]
            H[r, j] = t / H[j, j]
    return m


@called
def _back(H: FloatArray, m: int, x: FloatArray) -> None:
    """Solve L'x = x."""
    for r in range(m - 1, -1, -1):
        for c in range(r + 1, m):
            x[r] -= H[c, r] * x[c]
        x[r] /= H[r, r]


@called
def _curvature(rows: FloatArray, free: FloatArray, act: IndexArray, m: int, k: int, a: FloatArray, H: FloatArray) -> None:
    """Write minus the second derivative of the dual in the multipliers that count; only free names make it."""
    n_free, last = 0, a.shape[0] - 1
    for i in range(free.shape[0]):
        if free[i] > 0.0:
            for r in range(m):
                a[r, n_free] = rows[act[r], i]
            a[last, n_free] = free[i]
            n_free += 1
    for r in range(m):
        for c in range(r + 1):
            t = 0.0
            for i in range(n_free):
                t += a[r, i] * a[c, i] * a[last, i]
            H[r, c] = t
        if act[r] < k:
            H[r, r] += 1.0


@called
def _direction(
    rows: FloatArray,
    free: FloatArray,
    act: IndexArray,
    m: int,
    k: int,
    gap: FloatArray,
    fresh: IndexArray,
    a: FloatArray,
    H: FloatArray,
    step: FloatArray,
    full: FloatArray,
) -> tuple[float, bool]:
    """Write a direction in which the dual rises; return its slope, 0 if there is none, and whether no free name feels it.

    A multiplier at zero moves only to the side on which its constraint is missed: where the direction would have it otherwise, it
    is left out.
    """
    while m > 0:
        _curvature(rows, free, act, m, k, a, H)
        end = _factorise(H, m)
        slope, flat = 0.0, end < m
        if not flat:
            for r in range(m):
                t = gap[act[r]]
                for c in range(r):
                    t -= H[r, c] * step[c]
                step[r] = t / H[r, r]
            _back(H, m, step)
        else:
            for c in range(end):
                step[c] = -H[end, c]
            _back(H, end, step)
            step[end] = 1.0
            size = 0.0
            for r in range(end + 1):
                slope += step[r] * gap[act[r]]
                size += abs(step[r])
            if abs(slope) <= EXACT * size:  # nothing is gained: the rows before it say all that this one says
                for r in range(end, m - 1):
                    act[r] = act[r + 1]
                m -= 1
                continue
            for r in range(m):
                step[r] *= 0.0 if r > end else 1.0 if slope > 0.0 else -1.0
        left = 0
        for r in range(m):
            j = act[r]
            if not (fresh[j] == 1 and step[r] * gap[j] < 0.0):
                act[left] = j
                step[left] = step[r]
                left += 1
        if left == m:
            full[:] = 0.0
            slope = 0.0
            for r in range(m):
                full[act[r]] = step[r]
                slope += step[r] * gap[act[r]]
            return slope, flat
        m = left
    return 0.0, False


@called
def _next_kink(problem: FloatArray, x: FloatArray, p: FloatArray, level: float, turn: float, s: float) -> float:
    """Return the first place after s where a name changes its piece; infinite if there is none."""
    held, lower, upper, inverse = problem[1], problem[2], problem[3], problem[4]
    first = math.inf
    for i in range(x.shape[0]):
        if lower[i] < upper[i]:
            for bound in (0.0, lower[i] - held[i], upper[i] - held[i]):
                for side in (-1.0, 1.0):
                    speed = (p[i] + side * turn) * inverse[i]
                    shrunk = x[i] - side * level * inverse[i]
                    if speed != 0.0 and abs(shrunk - bound) > EXACT * (abs(shrunk) + abs(bound)):  # else it is there already
                        at = (shrunk - bound) / speed
                        if s * (1.0 + EXACT) < at < first:
                            first = at
    return first


@called
def _length(
    problem: FloatArray,
    x: FloatArray,
    w: FloatArray,
    p: FloatArray,
    level: float,
    turn: float,
    own: float,
    slope: float,
    longest: float,
    flat: bool,
) -> float:
    """Return how far the dual rises along a direction (a whole step, where that is far enough); infinite if for ever."""
    held, lower, upper, inverse = problem[1], problem[2], problem[3], problem[4]
    low, high, f_low, f_high = 0.0, math.inf, slope, 0.0
    s = min(_next_kink(problem, x, p, level, turn, 0.0) if flat else 1.0, longest)
    if s == math.inf:
        return s
    for look in range(SEARCH):
        f, curve, now = slope - s * own, own, level + s * turn
        for i in range(w.shape[0]):
            y, t = x[i] - s * p[i] * inverse[i], now * inverse[i]
            trade = y - min(max(y, -t), t)
            v = held[i] + trade
            u = min(max(v, lower[i]), upper[i])
            f += p[i] * (u - w[i]) + turn * (abs(u - held[i]) - abs(w[i] - held[i]))
            speed = p[i] + (turn if trade > 0.0 else -turn)
            curve += speed * speed * inverse[i] if u == v and (trade != 0.0 or now == 0.0) else 0.0
        if abs(f) <= (CLOSE if look == 0 else 0.1) * slope or (f > 0.0 and (s >= longest or (look == 0 and f <= 0.5 * slope))):
            return s
        if f > 0.0:
            low, f_low = s, f
        else:
            high, f_high = s, f
        ahead = s + f / curve if curve > 0.0 else math.inf
        if f > 0.0:  # not far beyond the next kink: a curvature may be a mere rounding
            ahead = min(ahead, FARTHER * _next_kink(problem, x, p, level, turn, s), longest)
        if not low < ahead < high:
            if high == math.inf:
                return math.inf
            ahead = low + (high - low) * (f_low / (f_low - f_high) if look % 2 == 0 else 0.5)
            if not low < ahead < high:
                return low if low > 0.0 else high
        s = ahead
    return low if low > 0.0 else s


@compiled(IN, IN, IN, IN, IN, TABLE, float64, TABLE, float64, IN, IN, float64, OUT, OUT, OUT)
def _ascend(
    wish: FloatArray,
    held: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    d: FloatArray,
    B: FloatArray,
    price: float,
    sums: FloatArray,
    total: float,
    group_lower: FloatArray,
    group_upper: FloatArray,
    turnover: float,
    pull: FloatArray,
    prices: FloatArray,
    w: FloatArray,
) -> bool:
    n, k = B.shape
    last = k + sums.shape[0]  # of the multipliers: the turnover's
    problem, rows, a = np.empty((5, n)), np.empty((last + 1, n)), np.empty((last + 2, n))
    x, p, free = np.empty(n), np.empty(n), np.empty(n)
    nu, gap, step, full = np.zeros(last + 1), np.zeros(last + 1), np.empty(last + 1), np.empty(last + 1)
    H, act, fresh = np.empty((last + 1, last + 1)), np.empty(last + 1, np.int64), np.zeros(last + 1, np.int64)
    reach = np.zeros(k)  # most that a factor's multiplier moves a weight by
    for i in range(n):
        if lower[i] > upper[i]:
            return False
        problem[0, i], problem[1, i], problem[2, i], problem[3, i] = wish[i] - held[i], held[i], lower[i], upper[i]
        problem[4, i] = 1.0 / d[i]
        for j in range(k):
            rows[j, i] = B[i, j]
            reach[j] = max(reach[j], abs(B[i, j]) * problem[4, i])
    rows[k:last] = sums
    nu[k:] = prices
    began = False
    for _ in range(STEPS):
        traded = _weigh(problem, pull, price + nu[last], x, w, free, rows[last])
        missed, m = 0.0, k
        exact = True
        for j in range(k):
            exposed = 0.0
            for i in range(n):
                exposed += rows[j, i] * (w[i] - wish[i])
            if not began:
                nu[j] = exposed
            gap[j] = exposed - nu[j]
            exact = exact and abs(gap[j]) * reach[j] <= EXACT
            act[j] = j
        for j in range(k, last):
            mass = 0.0
            for i in range(n):
                mass += rows[j, i] * w[i]
            low, high = (total, total) if j == k else (group_lower[j - k - 1], group_upper[j - k - 1])
            above = nu[j] > 0.0 or (nu[j] == 0.0 and mass > high)
            if above or nu[j] < 0.0 or mass < low or low == high:
                gap[j] = mass - (high if above else low)
                fresh[j] = 1 if nu[j] == 0.0 and low < high else 0
                missed = max(missed, abs(gap[j]))
                act[m] = j
                m += 1
        if turnover < math.inf and (nu[last] > 0.0 or traded > turnover):
            gap[last] = traded - turnover
            fresh[last] = 1 if nu[last] == 0.0 else 0
            missed = max(missed, abs(gap[last]))
            act[m] = last
            m += 1
        if began and exact and missed <= EXACT:
            prices[:] = nu[k:]
            return True
        if began:
            slope, flat = _direction(rows, free, act, m, k, gap, fresh, a, H, step, full)
            if not slope > 0.0:
                return False
            # A multiplier of one side ends at zero.
            longest, ends = math.inf, -1
            for j in range(k, last + 1):
                one_sided = j == last or (j > k and group_lower[j - k - 1] < group_upper[j - k - 1])
                if one_sided and nu[j] * full[j] < 0.0 and -nu[j] / full[j] < longest:
                    longest, ends = -nu[j] / full[j], j
            own = 0.0
            p[:] = 0.0
            for j in range(last):
                if full[j] != 0.0:
                    own += full[j] * full[j] if j < k else 0.0
                    for i in range(n):
                        p[i] += full[j] * rows[j, i]
            s = _length(problem, x, w, p, price + nu[last], full[last], own, slope, longest, flat)
            if not 0.0 < s < math.inf:
                return False
            for j in range(last + 1):
                nu[j] += s * full[j]
            if s >= longest:
                nu[ends] = 0.0
        began = True
        pull[:] = nu[k]
        for j in range(last):
            if j != k and nu[j] != 0.0:
                for i in range(n):
                    pull[i] += nu[j] * rows[j, i]
    return False


@compiled(IN, IN, IN, TABLE, float64, IN, IN, float64)
def _inside(
    w: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    sums: FloatArray,
    total: float,
    group_lower: FloatArray,
    group_upper: FloatArray,
    tolerance: float,
) -> bool:
    outside = 0
    for i in range(w.shape[0]):
        outside += 0 if lower[i] * (1.0 - tolerance) <= w[i] <= upper[i] * (1.0 + tolerance) else 1
    if outside:
        return False
    for j in range(sums.shape[0]):
        mass = 0.0
        for i in range(w.shape[0]):
            mass += sums[j, i] * w[i]
        low, high = (total, total) if j == 0 else (group_lower[j - 1], group_upper[j - 1])
        if not low - tolerance <= mass <= high + tolerance:
            return False
    return True


def inside(w: FloatArray, region: Region, sums: FloatArray, tolerance: float) -> bool:
    """Return whether weights keep the bounds of names and of sums."""
    given = (w, region.lower, region.upper, sums, region.total, region.group_lower, region.group_upper, tolerance)
    try:
        return bool(_inside(*given))
    except TypeError:  # not contiguous: rare, and a test for it would cost every call
        return bool(_inside(*(np.ascontiguousarray(one) if isinstance(one, np.ndarray) else one for one in given)))


def ascend(
    wish: FloatArray, region: Region, sums: FloatArray, metric: Metric, price: float, start: Start | None
) -> tuple[FloatArray, Start] | None:
    """Return the weights at the top of the dual and their prices; None if that is for numpy to find out.

    Parameters
    ----------
    sums : (1 + G, N) float
        Ones for the total, and where a name is in a group.
    """
    n, limited = len(wish), region.turnover < math.inf
    prices = np.zeros(len(sums) + 1)
    if start is not None and start[0].shape == (n,) and start[1].shape == (len(sums),):
        pull = start[0].copy()
        prices[:-1], prices[-1] = start[1], start[2] if limited else 0.0
    else:
        pull = np.zeros(n)
    w = np.empty(n)
    given = [wish, region.held, region.lower, region.upper, metric.d, metric.B, price, sums]
    given += [region.total, region.group_lower, region.group_upper, region.turnover]
    try:
        found = _ascend(*given, pull, prices, w)
    except TypeError:  # not contiguous: rare, and a test for it would cost every call
        given = [np.ascontiguousarray(one, dtype=np.float64) if isinstance(one, np.ndarray) else one for one in given]
        found = _ascend(*given, pull, prices, w)
    return (w, (pull, prices[:-1], float(prices[-1]))) if found else None
