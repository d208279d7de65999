"""What becomes of portfolios while prices move and nobody trades."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.thresholds import ZERO, ones

LEAST, MOST = np.array(0.02), np.array(50.0)  # arrays spare numpy a conversion
"""Growth of a price within a round beyond these bounds counts as one of them when the past is restated."""


def relative_growth(x: Array, y: Any) -> Array:
    """Return the growth of each name against the index, or the mean of several, each within bounds."""
    pace = y if isinstance(y, float) else float(np.mean(y))
    growth: Array = np.minimum(np.maximum(1.0 + x, LEAST), MOST)
    growth /= min(max(1.0 + pace, float(LEAST)), float(MOST))
    return growth


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
