r"""Losses of a prediction p = w.x: all are convex, and each has the gradient :math:`g = \ell'(p)\, x` in w."""

from __future__ import annotations

import math
from typing import Any

from tracker_strategies.errors import ParameterError

LOSSES = ("squared", "eps_insensitive", "hinge")


def check_loss(loss: Any) -> str:
    """Return the name of a loss."""
    if loss not in LOSSES:
        raise ParameterError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    return str(loss)


def loss_and_slope(loss: str, prediction: float, y: float, eps: float) -> tuple[float, float]:
    r"""Return the loss of a prediction and its derivative; at a kink the derivative is 0, so that a tie is passive.

    ==================  ==========================  ====================================
    loss                value                       derivative
    ==================  ==========================  ====================================
    squared             (p - y)^2 / 2               p - y
    eps_insensitive     max(abs(p - y) - eps, 0)    sgn(p - y) where the loss is > 0
    hinge, y = +-1      max(1 - y p, 0)             -y where the loss is > 0
    ==================  ==========================  ====================================

    >>> loss_and_slope("squared", 0.5, 0.25, 0.0)
    (0.03125, 0.25)
    >>> loss_and_slope("eps_insensitive", 0.5, 0.25, 0.25)
    (0.0, 0.0)
    """
    if loss == "squared":
        error = prediction - y
        return 0.5 * error * error, error
    if loss == "hinge":
        missing = 1.0 - y * prediction
        return (missing, -y) if missing > 0.0 else (0.0, 0.0)
    error = prediction - y
    beyond = abs(error) - eps
    return (beyond, math.copysign(1.0, error)) if beyond > 0.0 else (0.0, 0.0)
