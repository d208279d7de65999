"""Successive halving: how many candidates go into which round, on how many bars."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tracker_strategies.errors import ParameterError


@dataclass(frozen=True)
class Halving:
    """Successive halving: all candidates on a part of the scored bars, the best 1/eta on eta times as many, and so on.

    Candidates compete on each source, cost model, fill mode and kind of window, by their mean over seeds and folds. The last of
    ``rungs`` rounds has all bars.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Halving
    >>> Halving(eta=2, rungs=3).fractions(), Halving(eta=2).survivors(10)
    ([0.25, 0.5, 1.0], 5)
    """

    eta: int = 3
    rungs: int = 3

    def __post_init__(self) -> None:
        """Something to halve."""
        for name, least in (("eta", 2), ("rungs", 2)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ParameterError(f"halving {name}={value!r} must be a whole number >= {least}")

    def fractions(self) -> list[float]:
        """Part of the scored bars in each round; the last is 1."""
        return [float(self.eta) ** (r - self.rungs + 1) for r in range(self.rungs)]

    def survivors(self, n: int) -> int:
        """How many of n are kept."""
        return max(1, math.ceil(n / self.eta))
