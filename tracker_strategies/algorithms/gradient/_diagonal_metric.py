r"""Steps in a diagonal metric: :math:`\arg\min_{x \in W} \tfrac12 \sum_i H_i (x_i-y_i)^2 + k\varphi(x)/\lambda`.

A number in place of H means the same weight for every coordinate, i.e. the Euclidean metric.
"""

from __future__ import annotations

import numpy as np

from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.gradient._regularisers import NORMS, REGULARISERS, SEPARABLE, Regulariser, ridge, soft
from tracker_strategies.algorithms.numerics import thresholds
from tracker_strategies.algorithms.sets import projections
from tracker_strategies.algorithms.sets.feasible import Box, CappedSimplex, FeasibleSet, Hyperplane, L1Ball, RealSpace, Simplex
from tracker_strategies.errors import ParameterError

STEPS: dict[type[FeasibleSet], tuple[str, ...]] = {
    RealSpace: REGULARISERS,
    Box: SEPARABLE,
    L1Ball: SEPARABLE,
    Simplex: SEPARABLE,
    CappedSimplex: SEPARABLE,
    Hyperplane: ("none", "l2sq"),
}
"""The sets that can be projected on in a diagonal metric, and the regularisers that have an exact step on each."""

MAX_NEWTON = 40
ZERO = np.zeros(())


def check_step(W: FeasibleSet, phi: Regulariser, steps: dict[type[FeasibleSet], tuple[str, ...]], metric: str) -> None:
    """Raise a ParameterError unless there is an exact step for this set and regulariser; it says which ones there are."""
    for kind, names in steps.items():
        if isinstance(W, kind):
            if phi.name not in names:
                raise ParameterError(
                    f"regulariser={phi.name!r} has no exact step on {kind.__name__} in the {metric} metric; "
                    f"choose one of {', '.join(names)}"
                )
            return
    known = ", ".join(kind.__name__ for kind in steps)
    raise ParameterError(f"feasible={W!r} has no projection in the {metric} metric; choose one of {known}")


class DiagonalMetric:
    """The metric diag(H), H >= 0, as one number per coordinate or one for all."""

    coupling: Array | None = None  # of the coordinates with those that rest: none

    def __init__(self, H: Array | float) -> None:
        self.H = H

    def divide(self, v: Array) -> Array:
        """Return v/H; a coordinate without a metric (H = 0) gets 0."""
        if not isinstance(self.H, np.ndarray) or float(self.H.min()) > 0.0:
            return np.asarray(v / self.H)
        return np.divide(v, self.H, out=np.zeros(v.shape[0]), where=self.H > 0.0)

    def step(self, y: Array, k: float, phi: Regulariser, W: FeasibleSet) -> Array:
        """Return the minimiser over W, a new array or y itself."""
        H = self.H
        if k > 0.0:
            if phi.name in NORMS:
                return phi.shrink(y, H, k)
            if phi.name == "l2sq":  # completes the square: another centre, another metric
                y, H = ridge(y, H, k), H + k
            elif phi.name == "l1" and not W.portfolio:
                y = soft(y, H, k)
        return project(W, y, H)


def project(W: FeasibleSet, y: Array, H: Array | float) -> Array:
    """Return the point of W nearest to y in the metric diag(H), a new array or y itself; H > 0 except on R^n and boxes."""
    if isinstance(W, RealSpace):
        return y
    if isinstance(W, Box) or not isinstance(H, np.ndarray):
        return W.project(y)
    if isinstance(W, Simplex):
        return simplex(y, H, W.total)
    if isinstance(W, CappedSimplex):
        return capped(y, H, projections.bounds("u", W.u, y.shape[0]), W.total)
    if isinstance(W, L1Ball):
        size = np.abs(y)
        return y if float(size.sum()) <= W.c else np.copysign(simplex(size, H, W.c), y)
    if isinstance(W, Hyperplane):
        a = np.ones(y.shape[0]) if W.a is None else W.a
        q = a * (float(H.min()) / H)
        return np.asarray(y - ((float(a.dot(y)) - W.b) / float(a.dot(q))) * q)
    raise ParameterError(f"{W!r} has no projection in a diagonal metric")


def simplex(y: Array, H: Array, total: float) -> Array:
    r"""Return :math:`w_i = [y_i - \theta/H_i]_+` with sum `total`, for H > 0 of any range.

    Newton's method on :math:`\theta` climbs from the left, as in :mod:`..numerics.thresholds`. It works on
    the weights themselves, which stay of the size of y while H and theta may be anything; should y be too large for its sum to
    come out, the breakpoints are sorted.
    """
    if total <= 0.0 or y.shape[0] == 1:
        return np.full(y.shape[0], total)
    q = float(H.min()) / H
    theta = (float(y.sum()) - total) / float(q.sum())
    support = -1
    for _ in range(MAX_NEWTON):
        w: Array = np.maximum(y - theta * q, ZERO)
        held = w > ZERO
        count = int(np.count_nonzero(held))
        gap = float(w.sum()) - total
        if count == support and abs(gap) <= 1e-14 * total:
            return w
        if count == 0:
            break
        support = count
        theta += gap / float(q.dot(held))
    return thresholds.capped_simplex(H * y, 1.0 / H, np.full(y.shape[0], 2.0 * total), total)


def capped(y: Array, H: Array, u: Array, total: float) -> Array:
    r"""Return :math:`w_i = \mathrm{clip}(y_i - \theta/H_i, 0, u_i)` with sum `total`, for H > 0 and caps that can hold it.

    Newton's method as in :func:`simplex`, from any side; a step out of its bracket hands over to sorted breakpoints.
    """
    if 0.0 < total < float(u.sum()):
        q = float(H.min()) / H
        theta = (float(y.sum()) - total) / float(q.sum())
        low, high = -np.inf, np.inf
        for _ in range(MAX_NEWTON):
            w: Array = np.minimum(np.maximum(y - theta * q, ZERO), u)
            gap = float(w.sum()) - total
            if abs(gap) <= 1e-14 * total:
                return w
            low, high = (theta, high) if gap > 0.0 else (low, theta)
            slope = float(q.dot((w > ZERO) & (w < u)))
            theta += gap / slope if slope > 0.0 else np.inf
            if not low < theta < high:
                break
    return projections.capped_simplex_unchecked(y, u, total, 1.0 / H)
