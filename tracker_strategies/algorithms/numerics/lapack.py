"""BLAS and LAPACK of scipy, loaded when first called: importing the learners stays light.

Matrices are C-ordered numpy arrays; the transposed view of one is what Fortran calls a matrix, so that nothing is copied.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array


@cache
def blas() -> Any:
    """Return scipy.linalg.blas."""
    from scipy.linalg import blas

    return blas


@cache
def lapack() -> Any:
    """Return scipy.linalg.lapack."""
    from scipy.linalg import lapack

    return lapack


def add_gram(a: Array, rows: Array, alpha: float, beta: float, *, lower: bool) -> None:
    """Set a triangle of `a` to beta a + alpha rows' rows, in place (dsyrk); `a` is a Fortran view, `rows` is C-ordered (m, d)."""
    if blas().dsyrk(alpha, rows.T, beta=beta, c=a, lower=lower, overwrite_c=1) is not a:
        raise RuntimeError("BLAS worked on a copy: the matrix is not a contiguous Fortran view")


NOISE = 10.0 * float(np.finfo(float).eps)
"""Singular values below n times this share of the largest are zero. What should be zero came out as 0.2 n eps of it with one
version of LAPACK and as 1.1 n eps with another; taken for a direction it spoils the solution."""
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
    return shortest_solution(K, right)


def shortest_solution(K: Array, right: Array) -> Array:
    """Return the shortest z of those with the least error in K z = right."""
    if not (np.isfinite(K).all() and np.isfinite(right).all()):  # LAPACK would print a line of its own
        raise np.linalg.LinAlgError("the moments are not finite: there is no solution")
    return np.asarray(np.linalg.lstsq(K, right, rcond=NOISE * len(K))[0], dtype=np.float64)
