"""What becomes of portfolios while prices move and nobody trades."""

from __future__ import annotations

import numpy as np

from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.thresholds import ZERO, ones


def drifted(portfolios: Array, x: Array, free: Mask | None = None) -> Array:
    """Return portfolios, shape (K, N), after the returns x; names that are not free (None: all are) keep their weights."""
    growth, one = np.maximum(1.0 + x, ZERO), ones(len(x))
    moved = np.empty(portfolios.shape)
    some = free is not None and not free.all()
    for w, new in zip(portfolios, moved, strict=True):
        part = np.where(free, w, 0.0) if some else w  # type: ignore[arg-type]
        whole = float(part.dot(growth))
        if whole > 0.0:
            np.multiply(w, growth, out=new)
            new *= float(part.dot(one)) / whole
        if some or not whole > 0.0:  # all is lost: nothing tells what to hold
            np.copyto(new, w, where=~free if whole > 0.0 else True)  # type: ignore[operator]
    moved.setflags(write=False)
    return moved
