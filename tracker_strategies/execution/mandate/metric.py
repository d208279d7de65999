"""What a difference between two portfolios costs in tracking: a diagonal plus a few factors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Metric(NamedTuple):
    """diag(d) + B B', in squared returns over the index per bar: e'(diag(d) + B B')e is the squared tracking error that a
    difference e of weights is expected to make on a bar.

    Attributes
    ----------
    d : (N,) float
        > 0.
    B : (N, k) float
        k is small, and may be 0.
    """

    d: FloatArray
    B: FloatArray
