"""Which runs cannot be distinguished from the best: the model confidence set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.analysis.inference.bootstrap import Resamples
from tracker_strategies.analysis.inference.objectives import LEVEL

FloatArray = NDArray[np.float64]
_CHUNK = 500


def confidence_set(losses: FloatArray, resamples: Resamples, level: float = LEVEL) -> NDArray[np.bool_]:
    """(K,) the runs that contain the best of all with a probability of at least ``1 - level``.

    Parameters
    ----------
    losses : (K, T) float
        What each run lost on each bar: e^2, or minus its log return over the index.
    resamples : Resamples
        Of the T bars.
    level : float, default 0.05

    Notes
    -----
    Hansen, Lunde, Nason (2011), The model confidence set, with their max statistic: each mean loss against the mean over all
    that are left, over its bootstrap deviation. While the hypothesis that all are equally good is rejected, the worst go: all
    beyond the critical value of the round at once, so that thousands of runs take a few rounds. A run with the same losses as
    another shares its fate.
    """
    mean = losses.mean(axis=1)
    moved = np.hstack([resamples.deviations(losses[at : at + _CHUNK]) for at in range(0, len(losses), _CHUNK)])
    left = np.arange(len(losses))
    while len(left) > 1:
        ahead = mean[left] - mean[left].mean()
        around = moved[:, left] - moved[:, left].mean(axis=1, keepdims=True)
        spread = np.sqrt((around**2).mean(axis=0))
        least = 1e-12 * max(float(np.abs(mean[left]).max()), np.finfo(float).tiny)
        t, around = (np.divide(x, spread, out=np.zeros_like(x), where=spread > least) for x in (ahead, around))
        t[(spread <= least) & (ahead > least)] = np.inf
        worst = around.max(axis=1)
        if t.max() <= 0.0 or (t.max() < worst).mean() >= level:
            break
        left = left[t < min(float(np.quantile(worst, 1.0 - level)), float(t.max()))]
    found = np.zeros(len(losses), dtype=bool)
    found[left] = True
    return found
