r"""Steps in the metric :math:`H = \delta I + G^{1/2}` of a full matrix G of gradients.

The root itself is kept, not G: :math:`S_t^2 = S_{t-1}^2 + g_t g_t^\top`, so that :math:`S_t = U \Sigma U^\top` with the singular
value decomposition :math:`[S_{t-1}\; g_t] = U \Sigma V^\top`. That keeps all digits, where the root of an eigendecomposition of G
loses half of them whenever G is singular.
"""

from __future__ import annotations

import numpy as np

from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.gradient._regularisers import Regulariser, l2_step, ridge
from tracker_strategies.algorithms.gradient.metric_projections import project_simplex_full_metric
from tracker_strategies.algorithms.numerics.lapack import NOISE
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, Hyperplane, RealSpace, Simplex
from tracker_strategies.errors import ParameterError

STEPS: dict[type[FeasibleSet], tuple[str, ...]] = {
    RealSpace: ("none", "l2sq", "l2"),
    Simplex: ("none", "l1", "l2sq"),
    Hyperplane: ("none", "l2sq"),
}
"""The sets that can be projected on in a full metric, and the regularisers that have an exact step on each."""

FLOOR = 1e-12
"""On the simplex, eigenvalues of H below this share of the largest are raised to it: a double cannot tell them from zero."""


def root_of_gram(M: Array) -> tuple[Array, Array]:
    r"""Return eigenvalues s and eigenvectors Q of :math:`(M M^\top)^{1/2}`; O(n^3)."""
    Q, s, _ = np.linalg.svd(M, full_matrices=False)
    return s, Q


def matrix(s: Array, Q: Array, seen: Mask | None = None) -> Array:
    """Return Q diag(s) Q', symmetric to the last bit, and zero to it beside coordinates that had a gradient (`seen`)."""
    S = (Q * s) @ Q.T
    S = 0.5 * (S + S.T)
    if seen is not None:
        S[~seen] = S[:, ~seen] = 0.0
    return np.asarray(S)


class FullMetric:
    r"""The metric :math:`\delta I + Q\, \mathrm{diag}(s)\, Q^\top`.

    Parameters
    ----------
    s : ndarray, shape (n,)
        Eigenvalues of the root, >= 0.
    Q : ndarray, shape (n, n)
        Orthonormal columns.
    delta : float
        >= 0.
    coupling : ndarray, shape (n,), optional
        What coordinates that rest add to the gradient of :math:`\tfrac12 x^\top H x`.
    """

    def __init__(self, s: Array, Q: Array, delta: float, coupling: Array | None = None) -> None:
        self.s, self.Q, self.delta, self.coupling = s, Q, delta, coupling

    def divide(self, v: Array) -> Array:
        """Return H^{-1} v for v in the range of the root; its part outside is rounding and is dropped."""
        inside = self.s > NOISE * self.s.shape[0] * float(self.s.max())
        c = np.divide(self.Q.T @ v, self.delta + self.s, out=np.zeros(v.shape[0]), where=inside)
        return np.asarray(self.Q @ c)

    def step(self, y: Array, k: float, phi: Regulariser, W: FeasibleSet) -> Array:
        r"""Return :math:`\arg\min_{x \in W} \tfrac12 (x-y)^\top H (x-y) + k\varphi(x)/\lambda`, a new array or y itself."""
        h, Q = self.delta + self.s, self.Q
        if k > 0.0 and phi.name == "l2":  # the norm is the same in any basis: a diagonal problem in that of H
            return np.asarray(Q @ l2_step(Q.T @ y, h, k))
        if k > 0.0 and phi.name == "l2sq":
            y, h = np.asarray(Q @ ridge(Q.T @ y, h, k)), h + k
        if isinstance(W, RealSpace):
            return y
        if isinstance(W, Simplex):
            return _simplex(y, h, Q, W.total)
        if isinstance(W, Hyperplane):
            a = np.ones(y.shape[0]) if W.a is None else W.a
            q = Q @ ((Q.T @ a) * (float(h.min()) / h))
            return np.asarray(y - ((float(a.dot(y)) - W.b) / float(a.dot(q))) * q)
        raise ParameterError(f"{W!r} has no projection in a full metric")


def _simplex(y: Array, h: Array, Q: Array, total: float) -> Array:
    if total <= 0.0:
        return np.zeros(y.shape[0])
    H = matrix(np.maximum(h / float(h.max()), FLOOR), Q)
    return np.asarray(total * project_simplex_full_metric(y / total, H))
