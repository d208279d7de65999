"""What is wrong with the input of a plan that led nowhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import AccountError, InputError
from tracker_strategies.execution.sums import inner

FloatArray = NDArray[np.float64]


def diagnose(weights: FloatArray, sizes: FloatArray, prices: FloatArray, cash: float) -> None:
    """Say what is wrong with an input that led nowhere. Checking every input on every bar would cost as much as planning."""
    if not weights.shape == sizes.shape == prices.shape:
        shapes = ", ".join(str(a.shape) for a in (weights, sizes, prices))
        raise InputError(f"weights, sizes and prices have shapes {shapes}; each must have one entry per name")
    if not weights.size:
        raise InputError("there are no names to plan for; give weights, sizes and prices of at least one")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if bad.size or weights.sum() > 1.0 + 1e-9:
        what = f"weight {weights[bad[0]]!r} at position {bad[0]}" if bad.size else f"weights that sum to {weights.sum():.12g}"
        raise InputError(f"{what}: targets must be finite, >= 0 and sum to at most 1")
    if (sizes < 0.0).any():
        short = int(sizes.argmin())
        raise AccountError(f"position {short} is short by {-sizes[short]:g} shares; this rebalancer is long only")
    if not (np.isfinite(prices) & (prices > 0.0)).all():
        raise InputError("a name to be traded or valued has no positive finite price; take prices from the price gate")
    value = cash + inner(sizes, prices)
    if not 0.0 < value < np.inf:
        raise AccountError(f"the account is worth {value:g} (cash {cash:g}); there is nothing to rebalance")
