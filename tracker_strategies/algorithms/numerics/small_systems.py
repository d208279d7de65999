"""Systems of as many equations as there are factors."""

from __future__ import annotations

import numpy as np

from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.numerics.lapack import lapack

NO_SIGNAL = 1e-300
REGULAR = 1e-9
"""Least pivot of a matrix, as a share of its largest entry, for which Cholesky is as good as the singular value decomposition."""


def least_squares(K: Array, right: Array) -> Array:
    """Return the solution of K z = right for a small positive semidefinite K, the shortest one if it is singular."""
    if K.shape[0] == 1:
        k = float(K[0, 0])
        return right / k if k > NO_SIGNAL else np.zeros(right.shape)
    factor, solved, singular = lapack().dposv(K, right, lower=1)
    if not singular and min(factor.diagonal().tolist()) ** 2 > REGULAR * max(K.diagonal().tolist()):
        return solved.reshape(right.shape)  # type: ignore[no-any-return]
    return np.asarray(np.linalg.lstsq(K, right, rcond=None)[0], dtype=np.float64)
