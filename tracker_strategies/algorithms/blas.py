"""Rank-one updates and products of matrices in place, by BLAS."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from tracker_strategies.algorithms.fortran import blas


class Symmetric(NamedTuple):
    """Rank-one update ``add(alpha, x, a=A, overwrite_a=1)`` and product ``product(alpha, A, x)`` of the upper triangle of a
    Fortran-ordered A: the lower triangle of a C-ordered matrix, seen through its transpose. ``outer(alpha, x, y, a=A,
    overwrite_a=1)`` adds to a whole matrix.
    """

    add: Any
    product: Any
    outer: Any


@cache
def symmetric() -> Symmetric:
    """Return the three routines."""
    return Symmetric(blas().dsyr, blas().dsymv, blas().dger)
