r"""Regularisers :math:`\varphi` of composite gradient steps, with their exact steps in a diagonal metric.

A step solves, for a centre y, a diagonal H >= 0 and a strength k,

.. math:: \arg\min_x\; \tfrac12 \sum_i H_i (x_i - y_i)^2 + k\, \varphi(x)/\lambda .

With u = -H y this is Eq. 21 of the paper. Where :math:`H_i = 0` a coordinate has no metric yet; of several minimisers the one
nearest to y is returned.

References
----------
Duchi, Hazan, Singer, *Adaptive subgradient methods for online learning and stochastic optimization*, UCB/EECS-2010-24:
l1 Eqs. 22 and 24, squared l2 sec. 6.2, l2 sec. 6.4, l_inf sec. 6.5, mixed norms sec. 6.6. Two of its formulas are not followed:
Eq. 25 leaves delta out of the divergence, and Fig. 4 has the ends of its bracket swapped; both are replaced by the minimiser.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies._checks import number, one_of
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.sets.grouped import Groups, check_positions, disjoint_groups
from tracker_strategies.errors import ParameterError

SEPARABLE = ("none", "l1", "l2sq")
NORMS = ("l2", "linf", "l1l2", "l1linf")
REGULARISERS = SEPARABLE + NORMS
MIXED = {"l1l2": "l2", "l1linf": "linf"}


class Regulariser:
    r"""One of the functions below times :math:`\lambda \ge 0`. Immutable.

    =========  ======================================================  =====================================================
    name       :math:`\varphi(w)/\lambda`                              effect
    =========  ======================================================  =====================================================
    none       0
    l1         :math:`\|w\|_1`                                         weights at zero; no effect on a simplex
    l2sq       :math:`\tfrac12 \|w\|_2^2`                              weights near zero, equal weights on a simplex
    l2         :math:`\|w\|_2`                                         all weights at zero together
    linf       :math:`\|w\|_\infty`                                    largest weights cut
    l1l2       :math:`\sum_g \|w_g\|_2`                                whole groups at zero
    l1linf     :math:`\sum_g \|w_g\|_\infty`                           whole groups at zero, the others cut
    =========  ======================================================  =====================================================

    Parameters
    ----------
    name : str
    lam : float or None
        :math:`\lambda`; None for "none" and for no other.
    groups : sequence of sequences of int, or None
        Disjoint positions, for "l1l2" and "l1linf" only; a coordinate in no group costs nothing.
    n : int
        Number of coordinates.
    """

    def __init__(self, name: Any, lam: Any, groups: Any, n: int) -> None:
        one_of("regulariser", name, REGULARISERS)
        if (name == "none") != (lam is None):
            wanted = "has no meaning without a regulariser" if name == "none" else f"must be given with regulariser={name!r}"
            raise ParameterError(f"lam={lam!r}: lam {wanted}")
        if (name in MIXED) != (groups is not None):
            wanted = "must be given with" if name in MIXED else "have no meaning for"
            raise ParameterError(f"groups={groups!r}: groups {wanted} regulariser={name!r}")
        self.name = str(name)
        self.lam = 0.0 if lam is None else number("lam", lam, least=0.0)
        self.groups: Groups = disjoint_groups(groups) if groups is not None else ()
        check_positions(self.groups, n)
        self._indices = [np.array(group, dtype=np.intp) for group in self.groups]

    def slice(self, free: Mask) -> Regulariser:
        """Return the regulariser of the coordinates in `free`."""
        if not self.groups:
            return self
        position = np.cumsum(free) - 1
        part = object.__new__(Regulariser)
        part.name, part.lam = self.name, self.lam
        part._indices = [position[index[free[index]]] for index in self._indices if free[index].any()]
        part.groups = tuple(tuple(int(i) for i in index) for index in part._indices)
        return part

    def value(self, w: Array) -> float:
        """Return phi(w)."""
        match self.name:
            case "none":
                return 0.0
            case "l1":
                return self.lam * float(np.abs(w).sum())
            case "l2sq":
                return 0.5 * self.lam * float(w.dot(w))
            case "l2" | "linf":
                return self.lam * float(np.linalg.norm(w, 2 if self.name == "l2" else np.inf))
        order = 2 if self.name == "l1l2" else np.inf
        return self.lam * float(sum(np.linalg.norm(w[index], order) for index in self._indices))

    def shrink(self, y: Array, H: Array | float, k: float) -> Array:
        """Return the step over all of R^n, a new array."""
        if k == 0.0 or self.name == "none":
            return y.copy()
        H = np.broadcast_to(H, y.shape)
        match self.name:
            case "l1":
                return soft(y, H, k)
            case "l2sq":
                return ridge(y, H, k)
            case "l2":
                return l2_step(y, H, k)
            case "linf":
                return linf_step(y, H, k)
        one = l2_step if MIXED[self.name] == "l2" else linf_step
        x = y.copy()
        for index in self._indices:
            x[index] = one(y[index], H[index], k)
        return x


def soft(y: Array, H: Array | float, k: float | Array) -> Array:
    r"""Return :math:`\mathrm{sgn}(y_i) [|y_i| - k/H_i]_+`, the step of the l1 norm."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.copysign(np.maximum(np.abs(y) - k / H, 0.0), y)


def ridge(y: Array, H: Array | float, k: float | Array) -> Array:
    r"""Return :math:`H_i y_i/(H_i + k)`, the step of half the squared l2 norm, for k > 0."""
    return np.asarray(H * y / (H + k))


def l2_step(y: Array, H: Array, k: float) -> Array:
    r"""Return the step of the l2 norm: 0 when :math:`\|Hy\| \le k`, else :math:`x_i = H_i y_i\, r/(H_i r + k)`, r = norm of x.

    The root r of :math:`\|v(r)\| = 1`, :math:`v_i = H_i y_i/(H_i r + k)`: :math:`1/\|v\|` is increasing and concave in r, so
    that Newton's method climbs to it from the left, exact at once when all :math:`H_i` are equal. It starts at
    :math:`\max_i |y_i| - k/H_i \le r`.
    """
    a = (H / k) * y
    if not float(np.linalg.norm(a)) > 1.0:
        return np.zeros(y.shape[0])
    h = H / k
    seen = h > 0.0
    r = max(float((np.abs(y[seen]) - 1.0 / h[seen]).max()), 0.0)
    for _ in range(200):
        base = h * r + 1.0
        v = a / base
        norm2 = float(v.dot(v))
        norm = norm2**0.5
        slope = float((v * v).dot(h / base))  # of 1/norm, times norm^3
        step = (norm2 - norm) * norm / slope
        if not step > 1e-16 * r:
            break
        r += step
    return a * (r / (h * r + 1.0))


def linf_step(y: Array, H: Array, k: float) -> Array:
    r"""Return the step of the l_inf norm: 0 when :math:`\sum H_i |y_i| \le k`, else y clipped to [-m, m].

    The root m of :math:`\sum_i H_i [|y_i| - m]_+ = k`, by Newton's method from the left: each pass drops an index or ends.
    """
    size = np.abs(y)
    if not float(H.dot(size)) > k:
        return np.zeros(y.shape[0])
    cut, m = H > 0.0, 0.0
    while True:
        mass = H[cut]
        m = max((float(mass.dot(size[cut])) - k) / float(mass.sum()), m)
        still = cut & (size > m)
        if not still.any() or np.array_equal(still, cut):
            return np.minimum(np.maximum(y, -m), m)
        cut = still
