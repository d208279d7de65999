"""Portfolios that never learn: the baselines beside which learning is judged."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies.algorithms._kinds import Kinds, real
from tracker_strategies.algorithms._validation import Array, Mask, finite_vector
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, Simplex
from tracker_strategies.errors import InputError, ParameterError


@learner()
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
    Cost per round: O(N) for the checks. While a name is absent, the others share its weight in proportion to theirs; if none of
    those present has a weight, they are held in equal parts. In :class:`Holdings` the share counts are constant: buy and hold.

    Examples
    --------
    >>> from tracker_strategies.algorithms import ConstantWeights
    >>> ConstantWeights(4).update([0.01, -0.02, 0.0, 0.03], 0.01).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    _kinds: ClassVar[Kinds] = {"_wish": real("n", least=0.0, missing=True)}

    _drifted = False  # whether the wish is another than the start, as in Holdings

    def __init__(self, n_assets: int, *, start: Any = None) -> None:
        super().__init__(n_assets, feasible=Simplex(), start=start)
        self._wish: Array = self._w

    def _stored(self) -> tuple[str, ...]:
        return (*super()._stored(), "_wish") if self._drifted else super()._stored()

    def _restore(self, values: dict[str, Any]) -> None:
        self._drifted = "_wish" in values
        super()._restore(values)

    def _sound(self) -> None:
        super()._sound()
        if abs(float(self._wish.sum()) - 1.0) > 1e-6:
            raise ParameterError(f"_wish must be weights with sum 1, got {float(self._wish.sum()):.9g}")

    def _take(self, portfolios: Array) -> None:
        """Go on from weights that prices have moved: they are the wish now; absent names keep their part of it."""
        super()._take(portfolios)
        wish = self._w
        if self._active is not None:
            absent = np.where(self._active, 0.0, self._wish)
            wish = absent + np.where(self._active, self._w, 0.0) * (1.0 - float(absent.sum()))
        self._wish, self._drifted = wish, True

    def restrict(self, active: Any) -> Array:
        """Set the assets that may be held from now on; those that stay share the weight in proportion to the target weights."""
        before = self._active
        super().restrict(active)
        allowed = np.ones(self.n_assets, dtype=np.bool_) if self._active is None else self._active
        stay = allowed if before is None else allowed & before
        if stay.any():
            w = np.zeros(self.n_assets)
            w[stay] = self._part(self.feasible, stay)
            w.setflags(write=False)
            self._w = w
        return self._w

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        return self._wish if free is None else self._part(W, free)

    def _part(self, W: FeasibleSet, free: Mask) -> Array:
        """Return the wish for some of the names, scaled to the mass that is theirs."""
        wish = self._wish[free]
        mass, total = float(getattr(W, "total", 1.0)), float(wish.sum())
        return wish * (mass / total) if total > 0.0 else np.full(wish.shape[0], mass / wish.shape[0])


@learner()
class PublishedShares(ConstantWeights):
    r"""The share counts of an index whose weights are known: held until other weights are published.

    Between two reviews an index holds a constant number of shares of each name, so that its weights drift with prices:
    :math:`w_{t+1} = w_t \circ (1 + x_t) / (1 + w_t \cdot x_t)`.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    start : array_like, shape (N,), optional
        Weights of the index before the first round; uniform by default.

    Notes
    -----
    Cost per round: O(N). A name that is absent keeps its part of the index; the others share it in proportion to theirs.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PublishedShares, learner
    >>> learner = PublishedShares(2, start=[0.5, 0.5])
    >>> learner.update([0.10, 0.00], 0.05).round(4).tolist()
    [0.5238, 0.4762]
    >>> learner.publish([0.9, 0.1])
    >>> learner.weights.tolist()
    [0.9, 0.1]
    """

    def publish(self, weights: Any, *, error: type[ValueError] = InputError) -> None:
        """Set the current weights of the index, >= 0 and of any positive sum; absent names get theirs when they list."""
        weights = finite_vector("weights", weights, error, self.n_assets)
        if weights.min() < 0.0 or not weights.sum() > 0.0:
            raise error(
                f"weights must be >= 0 with a positive sum, got a minimum of {weights.min():g} and a sum of {weights.sum():g}"
            )
        self._wish, self._drifted = weights / weights.sum(), True
        w = self._wish
        if self._active is not None:
            w = np.zeros(self.n_assets)
            w[self._active] = self._part(self.feasible, self._active)
        w.setflags(write=False)
        self._w = w

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        grown = self._wish.copy()
        if free is None:
            grown *= 1.0 + x
        else:
            grown[free] *= 1.0 + x
        total = float(grown.sum())
        if total > 0.0:  # else all is lost, and what was held is as good as anything
            self._wish, self._drifted = grown / total, True
        return super()._learn(w, x, y, xx, W, free)
