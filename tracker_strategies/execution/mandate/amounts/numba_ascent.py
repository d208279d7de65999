r"""Compiled by numba: the way up the dual of :mod:`.dual`, in one call.

Every step is a Newton step in the multipliers that count; where no free name answers to one of them, a step along what they have
in common and no name feels, up to where names begin to answer. It goes as far as the dual rises. The answer is the one of
:mod:`.solver`, to a rounding. Imported by :mod:`.numba_nearest`, which hands over to numpy where no answer is found.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64

from tracker_strategies.algorithms.numerics.numba_compiling import IN, OUT, TABLE, called, compiled
from tracker_strategies.execution.mandate.limits import FloatArray as Array
from tracker_strategies.execution.mandate.limits import IndexArray as Places

STEPS = 80
SEARCH = 40  # looks along one direction
EXACT = 1e-13
SINGULAR = 1e-12
"""Least curvature that is one, as a share of that without the multipliers before it."""
FARTHER = 4.0
CLOSE = 1e-6
"""Slope after a whole step, as a share of that before it, which is a rounding."""


@called
def _weigh(problem: Array, pull: Array, level: float, x: Array, w: Array, free: Array, sign: Array) -> float:
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
def _factorise(H: Array, m: int) -> int:
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
def _solve(H: Array, m: int, x: Array, whole: bool) -> None:
    """Solve LL'x = x; if not the whole of it, L'x = x."""
    for r in range(m if whole else 0):
        for c in range(r):
            x[r] -= H[r, c] * x[c]
        x[r] /= H[r, r]
    for r in range(m - 1, -1, -1):
        for c in range(r + 1, m):
            x[r] -= H[c, r] * x[c]
        x[r] /= H[r, r]


@called
def _curvature(rows: Array, free: Array, act: Places, m: int, k: int, a: Array, H: Array) -> None:
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
            H[r, c] = t + (1.0 if r == c and act[r] < k else 0.0)


@called
def _direction(
    rows: Array, free: Array, act: Places, m: int, k: int, gap: Array, fresh: Places, a: Array, H: Array, step: Array, full: Array
) -> tuple[float, bool]:
    """Write a direction in which the dual rises; return its slope, 0 if there is none, and whether no free name feels it. A
    multiplier at zero moves only to the side on which its constraint is missed; where it would not, it is left out.
    """
    while m > 0:
        _curvature(rows, free, act, m, k, a, H)
        end = _factorise(H, m)
        slope, flat = 0.0, end < m
        if not flat:
            for r in range(m):
                step[r] = gap[act[r]]
            _solve(H, m, step, True)
        else:
            step[:end] = -H[end, :end]
            _solve(H, end, step, False)
            step[end] = 1.0
            for r in range(end + 1):
                slope += step[r] * gap[act[r]]
            if (
                abs(slope) <= EXACT * np.abs(step[: end + 1]).sum()
            ):  # nothing is gained: the rows before it say all that this one says
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
            full[:], slope = 0.0, 0.0
            for r in range(m):
                full[act[r]] = step[r]
                slope += step[r] * gap[act[r]]
            return slope, flat
        m = left
    return 0.0, False


@called
def _next_kink(problem: Array, x: Array, p: Array, level: float, turn: float, s: float) -> float:
    """Return the first place after s where a name changes its piece; infinite if there is none."""
    held, lower, upper, inverse, first = problem[1], problem[2], problem[3], problem[4], math.inf
    for i in range(x.shape[0]):
        if lower[i] < upper[i]:
            for bound in (0.0, lower[i] - held[i], upper[i] - held[i]):
                for side in (-1.0, 1.0):
                    speed = (p[i] + side * turn) * inverse[i]
                    shrunk = x[i] - side * level * inverse[i]
                    if speed != 0.0 and abs(shrunk - bound) > EXACT * (abs(shrunk) + abs(bound)):  # else it is there already
                        at = (shrunk - bound) / speed
                        first = at if s * (1.0 + EXACT) < at < first else first
    return first


@called
def _length(
    problem: Array, x: Array, w: Array, p: Array, level: float, turn: float, own: float, slope: float, longest: float, flat: bool
) -> float:
    """Return how far the dual rises along a direction (a whole step, where that is far enough); infinite if for ever."""
    held, lower, upper, inverse = problem[1], problem[2], problem[3], problem[4]
    low, high, f_low, f_high = 0.0, math.inf, slope, 0.0
    s = min(_next_kink(problem, x, p, level, turn, 0.0) if flat else 1.0, longest)
    for look in range(SEARCH if s < math.inf else 0):
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
        ahead = s + f / curve if curve > 0.0 else math.inf
        if f > 0.0:  # not far beyond the next kink: a curvature may be a mere rounding
            low, f_low = s, f
            ahead = min(ahead, FARTHER * _next_kink(problem, x, p, level, turn, s), longest)
        else:
            high, f_high = s, f
        if not low < ahead < high:
            if high == math.inf:
                return math.inf
            ahead = low + (high - low) * (f_low / (f_low - f_high) if look % 2 == 0 else 0.5)
            if not low < ahead < high:
                return low if low > 0.0 else high
        s = ahead
    return low if low > 0.0 else s


@called
def _first(
    rows: Array, free: Array, act: Places, m: int, k: int, gap: Array, fresh: Places, a: Array, H: Array, step: Array,
    pull: Array, nu: Array,
) -> None:  # fmt: skip
    """Write the multipliers of the pieces that the first prices of the names make, as far as those say."""
    for r in range(m):
        step[r] = gap[act[r]]
        for i in range(free.shape[0]):
            step[r] += rows[act[r], i] * free[i] * pull[i]
    _curvature(rows, free, act, m, k, a, H)
    if _factorise(H, m) < m:
        nu[:k] = gap[:k]
        return
    _solve(H, m, step, True)
    for r in range(m):
        j = act[r]
        side = gap[j] if fresh[j] == 1 else nu[j]
        last = j == nu.shape[0] - 1
        nu[j] = max(nu[j] + step[r], 0.0) if last else step[r] if j <= k or side * step[r] > 0.0 else 0.0


@compiled(IN, IN, IN, IN, IN, TABLE, float64, TABLE, float64, IN, IN, float64, OUT, OUT, OUT)
def ascend(
    wish: Array, held: Array, lower: Array, upper: Array, d: Array, B: Array, price: float, sums: Array, total: float,
    group_lower: Array, group_upper: Array, turnover: float, pull: Array, prices: Array, w: Array,
) -> bool:  # fmt: skip
    """Write the weights at the top of the dual, and what names, sums and turnover are priced at, from the prices given; False if
    it is not reached: then `prices` hold the last direction.
    """
    n, k = B.shape
    last = k + sums.shape[0]  # of the multipliers: the turnover's
    problem, rows, a = np.empty((5, n)), np.empty((last + 1, n)), np.empty((last + 2, n))
    x, p, free = np.empty(n), np.empty(n), np.empty(n)
    nu, gap, step, full = np.zeros(last + 1), np.zeros(last + 1), np.empty(last + 1), np.empty(last + 1)
    H, act, fresh = np.empty((last + 1, last + 1)), np.empty(last + 1, np.int64), np.zeros(last + 1, np.int64)
    reach = np.zeros(k)  # most that a factor's multiplier moves a weight by
    if (lower > upper).any():
        return False
    problem[0], problem[1], problem[2], problem[3], problem[4] = wish - held, held, lower, upper, 1.0 / d
    rows[:k], rows[k:last] = B.T, sums
    for j in range(k):
        reach[j] = (np.abs(rows[j]) * problem[4]).max()
    nu[k:] = prices
    began = False
    for _ in range(STEPS):
        traded = _weigh(problem, pull, price + nu[last], x, w, free, rows[last])
        missed, m, exact = 0.0, k, True
        for j in range(k):
            exposed = 0.0
            for i in range(n):
                exposed += rows[j, i] * (w[i] - wish[i])
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
                act[m], m = j, m + 1
        if turnover < math.inf and (nu[last] > 0.0 or traded > turnover):
            gap[last] = traded - turnover
            fresh[last] = 1 if nu[last] == 0.0 else 0
            missed = max(missed, abs(gap[last]))
            act[m], m = last, m + 1
        if began and exact and missed <= EXACT:
            prices[:] = nu[k:]
            return True
        if not began:
            _first(rows, free, act, m, k, gap, fresh, a, H, step, pull, nu)
        else:
            slope, flat = _direction(rows, free, act, m, k, gap, fresh, a, H, step, full)
            if not slope > 0.0:
                return False
            # A multiplier of one side ends at zero.
            longest, ends = math.inf, last
            for j in range(k, last + 1):
                one_sided = j == last or (j > k and group_lower[j - k - 1] < group_upper[j - k - 1])
                if one_sided and nu[j] * full[j] < 0.0 and -nu[j] / full[j] < longest:
                    longest, ends = -nu[j] / full[j], j
            p[:], own = 0.0, 0.0
            for j in range(last):
                if full[j] != 0.0:
                    own += full[j] * full[j] if j < k else 0.0
                    for i in range(n):
                        p[i] += full[j] * rows[j, i]
            s = _length(problem, x, w, p, price + nu[last], full[last], own, slope, longest, flat)
            if not 0.0 < s < math.inf:
                prices[:] = full[k:]
                return False
            nu += s * full
            nu[ends] = 0.0 if s >= longest else nu[ends]
        began = True
        pull[:] = nu[k]
        for j in range(last):
            if j != k and nu[j] != 0.0:
                for i in range(n):
                    pull[i] += nu[j] * rows[j, i]
    return False
