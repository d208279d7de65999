"""What runs are compared by: figures of ``metrics.json`` that are functions of a mean over bars, so that there is a theory of
how sure they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Of claims; intervals hold with a probability of one minus it.
LEVEL = 0.05
#: Differences below this part of a baseline's figure are rounding, not skill.
TRIFLE = 1e-6


@dataclass(frozen=True)
class Objective:
    """A figure and what it is made of.

    Parameters
    ----------
    name : str
        Key of ``metrics.json``.
    path : {"active", "excess"}
        Column of the rows that holds it bar by bar: the active return e, or the log return over that of the index.
    sign : {-1, 1}
        1 if more is better.
    words, short : str
        For people, and for people with narrow terminals.
    """

    name: str
    path: str
    sign: int
    words: str
    short: str

    def better(self, value: float) -> float:
        """To be sorted by: the smallest is the best."""
        return -self.sign * value


OBJECTIVES = {
    o.name: o
    for o in (
        Objective("te_rms", "active", -1, "tracking error, RMS", "TE"),
        Objective("te_centred", "active", -1, "tracking error, centred", "TE ctr"),
        Objective("excess_log_return", "excess", 1, "log return over the index", "excess"),
    )
}


def units(objective: Objective) -> tuple[float, str]:
    """Factor and words: tracking errors in basis points per bar, returns in per cent."""
    return (1e4, "bp per bar") if objective.path == "active" else (100.0, "per cent")


def per_bar(paths: FloatArray, objective: Objective) -> FloatArray:
    """(K, T) what the objective is the mean of: e^2, (e - mean)^2, or the log return over the index."""
    if objective.path == "excess":
        return paths
    if objective.name == "te_centred":
        paths = paths - paths.mean(axis=1, keepdims=True)
    return np.asarray(paths**2)


def figure(mean: FloatArray, n_bars: FloatArray | int, objective: Objective) -> FloatArray:
    """From a mean over bars to the objective as ``metrics.json`` has it."""
    return np.asarray(n_bars * mean if objective.path == "excess" else np.sqrt(np.maximum(mean, 0.0)))
