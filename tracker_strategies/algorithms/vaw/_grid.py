"""The grid of discount factors that a vote chooses from."""

from __future__ import annotations

import math

import numpy as np

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.errors import ParameterError

MOST_DISCOUNTS = 10_000
"""A grid of more is a slip."""


def discount_grid(d: int, horizon: int, base: float = 2.0) -> Array:
    r"""Return the discount factors of Theorem 4.2: 0, and :math:`\gamma_i = \eta_i/(1 + \eta_i)` in ascending order.

    :math:`\eta_i = \min(2 d\, b^i,\, d T)` for i = 0, 1, ... until :math:`d T` is reached, which appears once. The discount 0
    is the forecaster that predicts its hint.

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
    >>> from tracker_strategies.algorithms.vaw import discount_grid
    >>> discount_grid(1, 10).round(4).tolist()
    [0.0, 0.6667, 0.8, 0.8889, 0.9091]
    """
    d, horizon, base = count("d", d), count("horizon", horizon), number("base", base, above=1.0)
    etas, eta, most = [], 2.0 * d, float(d) * horizon
    if math.log(max(horizon, 2)) > MOST_DISCOUNTS * math.log(base):
        raise ParameterError(f"base={base!r} makes more than {MOST_DISCOUNTS} discounts; choose a larger base")
    while eta < most * (1.0 - 1e-12):
        etas.append(eta)
        eta *= base
    grid = np.array([*etas, most])
    return np.concatenate(([0.0], grid / (1.0 + grid)))
