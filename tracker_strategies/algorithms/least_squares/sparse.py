r"""Discounted least squares with at most K names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import count
from tracker_strategies.algorithms._kinds import Kinds, flag, whole
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.least_squares.dense import NO_DATA, NO_RETURNS, LeastSquares
from tracker_strategies.algorithms.numerics.simplex_qp import solve_simplex_qp
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.errors import ParameterError

WIDE, DROPPED = 2, 0.25
"""Forward selection goes on to so many times the names wanted; this share of them is then given up at a time."""
LOYALTY = 2.0
"""A name that is held already counts as much as one of this times its importance: changing sides costs."""
STEADY = 10.0
"""The pull to the start counts this much more when names are chosen: a choice should not follow the noise."""
Indices = np.ndarray[Any, np.dtype[np.intp]]


@learner(examples=lambda n: ({"max_names": min(n, 3), "warm_up": 5, "review": 4},))
class SparseLeastSquares(LeastSquares):
    r"""Least squares on the K names that reduce the error most.

    Every `review` rounds the names are chosen again: first 2 K by forward selection, which adds the names with the largest price
    over their risk :math:`\sqrt{C_{ii}}`; then backward elimination, which removes the quarter with the smallest share of the
    risk, :math:`w_i \sqrt{C_{ii}}`, repeatedly until K are left. Names held already count twice. The weights of a new choice are
    computed without inertia; until the next choice they move by the rule of :class:`LeastSquares`.

    Parameters
    ----------
    n_assets : int
    max_names : int
        Maximum number K of names held, from 1 to N.
    review : int, default 20
        Rounds between two choices.
    warm_up : int, default 40
        Rounds before the first choice; until then the start is held, all of it.
    gamma, inertia, ridge, damping, start
        As for :class:`LeastSquares`. Of several discounts, the first chooses the names for all.

    Notes
    -----
    A name that cannot be traded stays, and is not counted. Cost: that of the weights of K names, and O(N^2 + N K^2) at a review.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import SparseLeastSquares
    >>> learner, rng = SparseLeastSquares(5, max_names=2), np.random.default_rng(0)
    >>> for _ in range(60):
    ...     x = rng.normal(0.0, 0.01, 5)
    ...     weights = learner.update(x, x[:2].mean())
    ...
    >>> weights.round(2).tolist()
    [0.5, 0.5, 0.0, 0.0, 0.0]
    """

    _state: ClassVar[tuple[str, ...]] = (*LeastSquares._state, "_chosen", "_rounds")
    _kinds: ClassVar[Kinds] = {
        "_chosen": flag("n"),
        "_rounds": whole(),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        max_names: int = 30,
        review: int = 20,
        warm_up: int = 40,
        gamma: float | Sequence[float] = 0.99,
        inertia: float = 3.0,
        ridge: float = 0.003,
        damping: float | Sequence[float] = 0.5,
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, gamma=gamma, inertia=inertia, ridge=ridge, damping=damping, start=start)
        self.max_names, self.review, self.warm_up = (
            count("max_names", max_names),
            count("review", review),
            count("warm_up", warm_up),
        )
        if self.max_names > self.n_assets:
            raise ParameterError(f"max_names={self.max_names} must be at most the number of assets, {self.n_assets}")
        self._chosen: Mask = np.zeros(self.n_assets, dtype=np.bool_)
        self._rounds = 0

    def _solve(self, now: Array, free: Mask | None, inertia: float | None = None) -> Array:
        self._rounds += 1
        movable = np.ones(self.n_assets, dtype=np.bool_) if free is None else free
        if self._rounds < self.warm_up:
            return now
        due = (self._rounds - self.warm_up) % self.review == 0 or not (self._chosen & movable).any()
        if due:
            self._chosen = self._choose(movable, now[0])
        names = self._chosen & movable
        if not names.any():
            return now
        # What the names given up held goes to those that stay, in equal parts; the fit then finds their place, at once.
        start = np.where(movable, 0.0, now)
        room, own = now[:, movable].sum(axis=1), now[:, names].sum(axis=1)
        start[:, names] = now[:, names] + (np.maximum(room - own, 0.0) / int(np.count_nonzero(names)))[:, None]
        return super()._solve(start, names, 0.0 if due and self.ridge > 0.0 else None)

    def _choose(self, movable: Mask, now: Array) -> Mask:
        """Return the names to hold from now on, by what the first of the discounts remembers."""
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
        loyalty = np.where(self._chosen[index] & (now[index] > 0.0), LOYALTY, 1.0)
        risk = np.sqrt(C.diagonal())
        b = self._b[0, index] / a + metric * anchor
        C.flat[:: len(index) + 1] += metric
        few = _fewer(C, b, _wide(C, b, loyalty / risk, WIDE * self.max_names), loyalty * risk, self.max_names)
        chosen[index[few]] = True
        return chosen

    def _forget(self, left: Mask) -> None:
        super()._forget(left)
        self._chosen = self._chosen & ~left


def _wide(C: Array, b: Array, worth: Array, most: int) -> Indices:
    """Return the first names of a forward selection: those that would lower the objective fastest join, an eighth at a time."""
    n = len(b)
    if n <= most:
        return np.arange(n)
    chosen, w = np.array([np.argmin(0.5 * C.diagonal() - b)]), np.ones(1)
    while len(chosen) < most:
        price = C[:, chosen] @ w - b
        gain = (float(price[chosen] @ w) - price) * worth
        gain[chosen] = -np.inf
        joining = np.argsort(-gain, kind="stable")[: min(1 + len(chosen) // 8, most - len(chosen))]
        chosen = np.concatenate((chosen, joining))
        w, _ = solve_simplex_qp(C[chosen[:, None], chosen], b[chosen], np.concatenate((w, np.ones(len(joining)))))
    return np.sort(chosen)


def _fewer(C: Array, b: Array, left: Indices, worth: Array, most: int) -> Indices:
    """Return the last names of a backward elimination: those that matter least leave, a quarter at a time."""
    w = None
    while len(left) > most:
        w, _ = solve_simplex_qp(C[left[:, None], left], b[left], w)
        matters = w * worth[left]
        held = int(np.count_nonzero(matters))
        keep = max(most, min(int((1.0 - DROPPED) * len(left)), held))
        best = np.sort(np.argsort(-matters, kind="stable")[:keep])
        left, w = left[best], w[best]
    return left
