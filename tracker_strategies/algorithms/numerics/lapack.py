"""BLAS and LAPACK of scipy, loaded when first called: importing the learners stays light.

Matrices are C-ordered numpy arrays; the transposed view of one is what Fortran calls a matrix, so that nothing is copied.
"""

from __future__ import annotations

from functools import cache
from typing import Any

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
