r"""The inverse of a discounted moment matrix, kept up to date by Sherman-Morrison.

.. math:: P_t = (\lambda P_{t-1}^{-1} + x x^\top)^{-1}
              = \frac1\lambda \Big(P_{t-1} - \frac{P_{t-1} x\, x^\top P_{t-1}}{\lambda + x^\top P_{t-1} x}\Big)

P is kept as :math:`Q/\rho`: Q in the lower triangle of a C-ordered matrix, all discounts in the number :math:`\rho`. A round is
one product and one rank-one update of half a matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.lapack import blas

LEAST, MOST = 1e-30, 1e150


class Leverage(NamedTuple):
    """Of a round x: Q x, and h = x'Px, how far it lies from what was seen before."""

    z: Array
    h: float


def leverage(Q: Array, rho: float, x: Array) -> Leverage:
    """Return Qx and x'Px, before the round is added."""
    z = blas().dsymv(1.0, Q.T, x)
    return Leverage(z, max(float(x.dot(z)), 0.0) / rho)


def add_round(Q: Array, rho: float, at: Leverage, lam: float) -> tuple[Array, float]:
    """Add the round to P, in place; return the gain Px/(lam + x'Px) and the new rho."""
    share = 1.0 / (rho * (lam + at.h))
    blas().dsyr(-share, at.z, a=Q.T, overwrite_a=1)
    rho *= lam
    if rho < LEAST:
        Q /= rho
        rho = 1.0
    return share * at.z, rho


def is_sound(Q: Array, rho: float) -> bool:
    """Return whether the diagonal of P is positive and of usable size: rounding may have ruined it, or no data held it back."""
    diagonal = Q.diagonal()
    return bool(np.all(diagonal > 0.0)) and float(diagonal.max()) < MOST * rho


def drop_names(Q: Array, rho: float, left: Mask, fresh: float) -> float:
    """Make P the inverse without the names `left`, which start anew with the diagonal entry `fresh`; return the new rho.

    The inverse of a part of :math:`P^{-1}` is a Schur complement of P.
    """
    P = (Q + Q.T) / rho
    P.flat[:: P.shape[0] + 1] *= 0.5
    stay = ~left
    across = P[stay][:, left]
    part = P[stay][:, stay] - across @ np.linalg.solve(P[left][:, left], across.T)
    Q[:] = 0.0
    Q[np.ix_(stay, stay)] = np.tril(part)
    Q[left, left] = fresh
    return 1.0
