"""Weights that never learn: the baseline beside which learning is judged."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.feasible import FeasibleSet, Simplex
from tracker_strategies.algorithms.validation import Array, Mask


class ConstantWeights(OnlineAlgorithm):
    r"""The same weights in every round: :math:`w_{t+1} = w_t = w_1`.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    start : array_like, shape (N,), optional
        The weights; uniform by default.

    Notes
    -----
    Cost a round: O(N) for the checks. When a name leaves, what it held goes to the others by projection, and stays there.

    Examples
    --------
    >>> ConstantWeights(4).update([0.01, -0.02, 0.0, 0.03], 0.01).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    def __init__(self, n_assets: int, *, start: Any = None) -> None:
        super().__init__(n_assets, feasible=Simplex(), start=start)

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        return w
