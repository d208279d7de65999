"""Returns over a night in bars shorter than a day: learned as any other, scaled to the size of the others, or not at all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracker_strategies._checks import one_of

CHOICES = ("learn", "scale", "skip")
#: A longer break between two bars is a night or a weekend; lunch is shorter.
_BREAK = 4 * 3600
#: Nights before their variance is known well enough.
_ENOUGH = 5


class Overnight:
    r"""The factor by which the returns of a bar are multiplied before they are learned.

    A break of more than four hours, and of more than two bars, is a night. With :math:`v` the mean squared return of the targets
    so far, the factor of a night is :math:`\sqrt{v_{\text{day}} / v_{\text{night}}}` ("scale"; 1 until five nights are known), or
    0 ("skip"). Multiplying the returns of assets and target alike leaves the portfolio that explains them the same, and weighs
    the night as one of the other bars.

    Parameters
    ----------
    how : {"scale", "skip"}
    """

    def __init__(self, how: str) -> None:
        self.how = one_of("overnight", how, CHOICES[1:])
        self._shortest = math.inf
        self._squares, self._counts = [0.0, 0.0], [0, 0]

    def factor(self, before: np.datetime64, now: np.datetime64, y: Any) -> float:
        """The factor of the return y between two bars. Call it once per bar, in order; only bars before count."""
        seconds = float((now - before) / np.timedelta64(1, "s"))
        night = seconds > _BREAK and seconds > 2.0 * self._shortest
        self._shortest = min(self._shortest, seconds)
        found = 1.0
        if night and self.how == "skip":
            found = 0.0
        elif night and self._counts[1] >= _ENOUGH and self._squares[1] > 0.0:
            found = math.sqrt(self._squares[0] / self._counts[0] * self._counts[1] / self._squares[1])
        self._squares[night] += float(np.mean(np.square(y)))
        self._counts[night] += 1
        return found

    def weigh(
        self, before: np.datetime64, now: np.datetime64, x: Any, y: Any, options: dict[str, Any], n_assets: int
    ) -> tuple[Any, Any]:
        """Returns of assets and target as they are learned; a night that is not learned counts as one without a trade."""
        factor = self.factor(before, now, y)
        if factor == 0.0:
            options["observed"] = np.zeros(n_assets, dtype=bool)
        return (x, y) if factor in (0.0, 1.0) else (factor * x, factor * y)
