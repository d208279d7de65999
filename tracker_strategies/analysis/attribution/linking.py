r"""From effects of single bars to a period: shares of the squared error, and Carino's linking.

The active return e of a bar is the sum of its effects e_k. Over T bars the share of effect k in the squared error is
:math:`\sum_t e_t e_{k,t} / \sum_t e_t^2`: the shares sum to 1 and may be negative, where an effect works against the others.

Returns compound, effects do not. Carino's factors :math:`k_t = (\ln(1 + r) - \ln(1 + y)) / (r - y)`, :math:`1 / (1 + r)` where
the two are equal, and the same K of the whole period, make the linked effects :math:`\sum_t k_t e_{k,t} / K` sum to the tracking
difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def squared_shares(effects: FloatArray, active: FloatArray) -> FloatArray:
    """(K,) share of each of K effects (T, K) in the sum of squares of their sum (T,); 0 where that is 0."""
    whole = float(active @ active)
    return np.asarray(active @ effects / whole) if whole > 0.0 else np.zeros(effects.shape[1])


def carino(returns: FloatArray, index: FloatArray) -> FloatArray:
    """Carino's factor of each bar."""
    r, y = np.asarray(returns, dtype=np.float64), np.asarray(index, dtype=np.float64)
    # ln((1 + r) / (1 + y)) / (r - y), written so that nothing is lost where r is near y.
    z = (r - y) / (1.0 + y)
    near = np.abs(z) < 1e-4
    factor = np.divide(np.log1p(z), z, out=np.ones_like(z), where=~near)
    series = 1.0 - z / 2.0 + z**2 / 3.0 - z**3 / 4.0
    return np.asarray(np.where(near, series, factor) / (1.0 + y))


def linked(effects: FloatArray, returns: FloatArray, index: FloatArray) -> FloatArray:
    """(K,) K effects (T, K) over all bars: they sum to prod(1 + r) - prod(1 + y)."""
    own, tracked = (np.atleast_1d(np.prod(1.0 + each) - 1.0) for each in (returns, index))
    return np.asarray(carino(returns, index) @ effects / carino(own, tracked))
