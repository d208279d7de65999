"""What the forms of a discounted ridge regression have in common."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracker_strategies.algorithms._kinds import FAR, Kinds, real
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.numerics.lapack import lapack

LEAST = 1e-60
"""No regulariser falls below this, which keeps squares of its inverse within the range of numbers; it is then set to its root."""
PIVOT, JITTER, MOST_JITTER = 1e-13, 1e-11, 1e9
"""Pivot below which a matrix with unit diagonal counts as singular, and the share of the diagonal that is then added to it: ten
times as much again until that is enough."""

FORM: Kinds = {
    "gammas": real("K", above=0.0, most=1.0),
    "lam": real(above=0.0),
    "floor": real(above=0.0),
    "prior": real("d", least=-FAR, most=FAR),
}
"""What each of them keeps."""


class Look(NamedTuple):
    """What the rounds before say about x, before y is seen, for K discounts and q responses."""

    predictions: Array
    """x.w, shape (K, q)."""
    leverage: list[float]
    """x' Sigma^-1 x of each discount."""
    memo: Any
    """What learning from the same x can use again."""


def regular_inverse(S: Array, diagonal: Array) -> Array:
    """Return the inverse, in its lower triangle, of a matrix that is kept in its lower triangle. One that is singular is made
    regular in place, through its diagonal.
    """
    jitter = JITTER
    while True:
        scale = 1.0 / np.sqrt(diagonal)
        work = np.asfortranarray(S * scale * scale[:, None])
        factor, info = lapack().dpotrf(work, lower=1, overwrite_a=1, clean=0)
        if info == 0 and float(factor.diagonal().min()) ** 2 >= PIVOT:
            break
        if jitter > MOST_JITTER:
            raise FloatingPointError("the second moments of a regression are not finite any more")
        diagonal *= 1.0 + jitter
        jitter *= 10.0
    inverse, _ = lapack().dpotri(factor, lower=1, overwrite_c=1)
    inverse *= scale
    inverse *= scale[:, None]
    return np.asarray(inverse)
