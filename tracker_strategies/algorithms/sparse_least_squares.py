r"""Discounted least squares with at most K names."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies.algorithms.least_squares import NO_DATA, NO_RETURNS, LeastSquares
from tracker_strategies.algorithms.simplex_least_squares import solve_simplex_qp
from tracker_strategies.algorithms.validation import Array, Mask, count, number
from tracker_strategies.errors import ParameterError

DROPPED = 0.25
"""Share of the names that is given up at a time while there are too many."""
LOYALTY = 2.0
"""A name that is held already counts as much as one of this times its importance: changing sides costs."""
STEADY = 10.0
"""The pull to the start counts this much more when names are chosen: a choice should not follow the noise."""


class SparseLeastSquares(LeastSquares):
    r"""Least squares on the K names that are missed most.

    Every `review` rounds the names are chosen anew by backward elimination: fit on all, give up the quarter that matters least,
    fit the rest, and so on until K are left. What matters is :math:`w_i \sqrt{C_{ii}}`, the share of the risk; names held already
    count twice. In between only their weights move, by the rule of :class:`LeastSquares`.

    Parameters
    ----------
    n_assets : int
    max_names : int
        Most names K held; at least 1, and at most N.
    review : int, default 20
        Rounds between two choices.
    warm_up : int, default 40
        Rounds before the first choice; until then the start is held, all of it.
    gamma, inertia, ridge, damping, start
        As for :class:`LeastSquares`.

    Notes
    -----
    A name that cannot be traded stays and does not count. Cost: that of the weights of K names, and O(N^3) at a review.
    """

    _state: ClassVar[tuple[str, ...]] = (*LeastSquares._state, "_chosen", "_rounds")

    def __init__(
        self,
        n_assets: int,
        *,
        max_names: int = 30,
        review: int = 20,
        warm_up: int = 40,
        gamma: float = 0.99,
        inertia: float = 3.0,
        ridge: float = 0.003,
        damping: float = 0.5,
        start: Any = None,
    ) -> None:
        single = {"gamma": number("gamma", gamma), "damping": number("damping", damping)}
        super().__init__(n_assets, **single, inertia=inertia, ridge=ridge, start=start)
        self.max_names, self.review, self.warm_up = (
            count("max_names", max_names),
            count("review", review),
            count("warm_up", warm_up),
        )
        if self.max_names > self.n_assets:
            raise ParameterError(f"max_names={self.max_names} must be at most the number of assets, {self.n_assets}")
        self._chosen: Mask = np.zeros(self.n_assets, dtype=np.bool_)
        self._rounds = 0

    def _solve(self, now: Array, free: Mask | None) -> Array:
        return self._sparse(now[0], free)[None]

    def _sparse(self, now: Array, free: Mask | None) -> Array:
        self._rounds += 1
        movable = np.ones(self.n_assets, dtype=np.bool_) if free is None else free
        if self._rounds < self.warm_up:
            return now
        due = (self._rounds - self.warm_up) % self.review == 0
        if due or not (self._chosen & movable).any():
            self._chosen = self._choose(movable, now)
        names = self._chosen & movable
        if not names.any():
            return now
        # What the names given up held goes to those that stay, in equal parts; the fit then finds their place.
        room, own = float(now[movable].sum()), float(now[names].sum())
        start = np.where(movable, 0.0, now)
        start[names] = now[names] + max(room - own, 0.0) / int(np.count_nonzero(names))
        found: Array = super()._solve(start[None], names)[0]
        return found

    def _choose(self, movable: Mask, now: Array) -> Mask:
        """Return the names to hold from now on."""
        B, c = self._B[0], float(self._c[0])
        index = np.flatnonzero(movable & (B.diagonal() > 0.0))
        chosen = np.zeros(self.n_assets, dtype=np.bool_)
        part = B[index[:, None], index]
        C = part + part.T
        C.flat[:: len(index) + 1] *= 0.5
        a = self._a[index]
        C *= c / (a[:, None] * a)
        mean = float(C.diagonal().mean()) if len(index) else 0.0
        if not NO_DATA < mean < NO_RETURNS:
            return self._chosen
        metric = STEADY * self.ridge * mean / self._growth[index] ** 2
        anchor = self._anchor[index]
        anchor = anchor / anchor.sum() if anchor.sum() > 0.0 else np.full(len(index), 1.0 / len(index))
        importance = np.sqrt(C.diagonal()) * np.where(self._chosen[index] & (now[index] > 0.0), LOYALTY, 1.0)
        b = self._b[0, index] / a + metric * anchor
        C.flat[:: len(index) + 1] += metric
        left, w = np.arange(len(index)), None
        while len(left) > self.max_names:
            w, _ = solve_simplex_qp(C[left[:, None], left], b[left], w)
            matters = w * importance[left]
            held = int(np.count_nonzero(matters))
            keep = max(self.max_names, min(int((1.0 - DROPPED) * len(left)), held))
            best = np.sort(np.argsort(-matters, kind="stable")[:keep])
            left, w = left[best], w[best]
        chosen[index[left]] = True
        return chosen

    def _forget(self, left: Mask) -> None:
        super()._forget(left)
        self._chosen = self._chosen & ~left
