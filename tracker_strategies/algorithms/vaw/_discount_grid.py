"""Which discount factors, and which stretches of time, a set of forecasters should cover."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array, count, finite_vector, number
from tracker_strategies.errors import ParameterError


def discount_grid(d: int, horizon: int, base: float = 2.0) -> Array:
    r"""Return the discount factors of Theorem 4.2: 0, and :math:`\gamma_i = \eta_i/(1 + \eta_i)` in ascending order.

    :math:`\eta_i = \min(2 d\, b^i,\, d T)` for i = 0, 1, ... until :math:`d T` is reached, which appears once. The discount 0
    stands for the forecaster that predicts its hint.

    Parameters
    ----------
    d : int
        Number of assets.
    horizon : int
        Number of rounds T.
    base : float, default 2
        b > 1: the best discount is met up to this factor in :math:`\eta`.

    References
    ----------
    Jacobsen, Cutkosky 2024, Theorem 4.2.

    Examples
    --------
    >>> discount_grid(1, 10).round(4).tolist()
    [0.0, 0.6667, 0.8, 0.8889, 0.9091]
    """
    d, horizon, base = count("d", d), count("horizon", horizon), number("base", base, above=1.0)
    etas, eta, most = [], 2.0 * d, float(d) * horizon
    while eta < most * (1.0 - 1e-12):
        etas.append(eta)
        eta *= base
    grid = np.array([*etas, most])
    return np.concatenate(([0.0], grid / (1.0 + grid)))


def check_discounts(gammas: Any) -> Array:
    """Return discount factors in [0, 1], at least one of them above 0."""
    values = finite_vector("gammas", gammas, ParameterError)
    if values.min() < 0.0 or values.max() > 1.0 or not values.any():
        raise ParameterError(f"gammas must lie in [0, 1] and not all be 0, got {gammas!r}")
    return values.copy()


def geometric_intervals(horizon: int) -> list[tuple[int, int]]:
    r"""Return the geometric covering of rounds 1 to T: :math:`[k 2^i, (k + 1) 2^i - 1]` for k >= 1, i >= 0, cut at T, in order.

    Every round lies in :math:`\lfloor \log_2 t \rfloor + 1` of them, one of each length up to t, and every stretch of rounds is a
    union of :math:`O(\log T)` of them.

    References
    ----------
    Daniely, Gonen, Shalev-Shwartz, *Strongly adaptive online learning*, ICML 2015.

    Examples
    --------
    >>> geometric_intervals(4)
    [(1, 1), (2, 2), (2, 3), (3, 3), (4, 4), (4, 4), (4, 4)]
    """
    horizon = count("horizon", horizon)
    lengths = [2**i for i in range(horizon.bit_length())]
    return sorted((start, min(start + n - 1, horizon)) for n in lengths for start in range(n, horizon + 1, n))
