"""Sums of Euclidean norms of disjoint groups (group lasso) and their exact proximal steps."""

from __future__ import annotations

import math

import numpy as np

from tracker_strategies.algorithms._validation import Array, describe_not_finite
from tracker_strategies.errors import InputError


class GroupNorms:
    r"""The function :math:`\sum_g k_g \|w_g\|_2` of n coordinates; one in no group is free.

    Parameters
    ----------
    groups : list of ndarray of int
        Positions of each group; disjoint.
    k : ndarray, shape (number of groups,)
        Weights, >= 0.
    n : int
    """

    def __init__(self, groups: list[Array], k: Array, n: int) -> None:
        self.labels = np.full(n, len(groups), dtype=np.intp)
        for g, group in enumerate(groups):
            self.labels[group] = g
        self.k = np.append(k, 0.0)

    def _factors(self, a: Array) -> tuple[Array, Array]:
        """Return [1 - k_g/||a_g||]_+ and ||a_g|| of each group."""
        top = float(np.abs(a).max()) or 1.0
        norms = top * np.sqrt(np.bincount(self.labels, (a / top) ** 2, self.k.shape[0]))
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = np.where(norms > self.k, 1.0 - self.k / norms, 0.0)
        return factors, norms

    def shrink(self, a: Array) -> Array:
        """Return the minimiser of ||w-a||^2/2 + sum k_g ||w_g|| over all of R^n."""
        return a * self._factors(a)[0][self.labels]

    def on_simplex(self, z: Array, total: float) -> Array:
        r"""Return the minimiser over {w >= 0, sum w = total}.

        With the multiplier :math:`\mu` of the sum it is shrink([z + mu]_+); the sum increases in mu: a safeguarded Newton root.
        """
        if not np.isfinite(z).all():
            raise InputError(f"the point of a proximal step must be finite, got {describe_not_finite(z)}")
        if total <= 0.0:
            return np.zeros(z.shape[0])
        top = float(z.max())
        with np.errstate(over="ignore"):
            z = np.maximum(z - top, -1e300)
        # At the lower end nothing is held. At the upper one the largest entry alone, after shrinking, reaches the total.
        low, high = 0.0, total + float(self.k.max())
        mu = high
        for _ in range(200):
            a = np.maximum(z + mu, 0.0)
            factors, norms = self._factors(a)
            sums = np.bincount(self.labels, a, self.k.shape[0])
            gap = float(factors.dot(sums)) - total
            if abs(gap) <= 4e-16 * max(1.0, total):
                break
            if gap > 0.0:
                high = mu
            else:
                low = mu
            held = np.bincount(self.labels, a > 0.0, self.k.shape[0])
            on = factors > 0.0
            slope = float((factors * held)[on].sum())
            curved = on & (self.k > 0.0)
            slope += float((self.k[curved] * (sums[curved] / norms[curved]) ** 2 / norms[curved]).sum())
            step = mu - gap / slope if slope > 0.0 else math.inf
            if not low < step < high:
                step = 0.5 * (low + high)
            if step in (mu, low, high):
                break
            mu = step
        return a * factors[self.labels]
