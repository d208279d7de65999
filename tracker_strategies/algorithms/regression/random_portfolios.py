"""Random portfolios: names drawn by lot, weights fitted like anybody else's. What a selection has to beat."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracker_strategies._checks import count, one_of
from tracker_strategies.algorithms._kinds import Kinds, real, whole
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.simplex_qp import solve_simplex_qp
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.regression.forgetting import check_forgetting
from tracker_strategies.algorithms.regression.moments import MomentLearner, at_most_assets
from tracker_strategies.algorithms.sets.feasible import FeasibleSet
from tracker_strategies.errors import ParameterError

MOST_EXCHANGES = 30


@learner("random-portfolio", shows=("held",), examples=lambda n: ({"n_portfolios": 3, "theta": n, "warm_up": 5},))
class RandomPortfolios(MomentLearner):
    r"""A population of portfolios of `theta` names each, drawn uniformly without replacement, all fitted to the target.

    The weights of the learner are the mean of the population's, so that its return is the population's mean return, exactly. One
    member is a random portfolio.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    n_portfolios : int, default 1000
        Members of the population.
    theta : int, optional
        Names of each, at most N; 10 by default, or N.
    n_targets : int, default 1
        Number of targets q.
    omega : array_like, shape (q,), optional
        Weights of the targets, > 0; equal by default.
    mapping : {"refit", "project"}, default "refit"
        Weights of a member: least squares on the simplex, or recursive least squares, projected on the simplex.
    forgetting : float, default 0.998
        :math:`\lambda`, in (0, 1].
    ridge : float, default 0.01
        Pull towards equal weights, as a share of the mean variance of the names.
    warm_up : int, default 20
        Rounds before the weights move from 1/theta each.
    seed : int, default 0
        Of the draw: member k of a seed is the same in a population of any size.

    Notes
    -----
    A member holds the first `theta` names, of those that may be held, in its own random order: when a name leaves the next
    one in the order takes its place. If a name that may be held has no price in a round, all members stay as they are.
    Cost per round: the moments, O(N^2), and O(theta^3) for each member and exchange, all members at once. State: C, M, the
    weights of all members.

    References
    ----------
    McWilliams, Montana 2010, sec. 5: 1000 random portfolios of 10 names out of 323 with weights by recursive least squares.

    Examples
    --------
    >>> from tracker_strategies.algorithms import RandomPortfolios
    >>> learner = RandomPortfolios(4, theta=2, n_portfolios=1, seed=0)
    >>> int((learner.update([0.02, -0.01, 0.0, 0.01], 0.01) > 0).sum())
    2
    """

    _state: ClassVar[tuple[str, ...]] = (*MomentLearner._state, "_supports", "_parts")
    _kinds: ClassVar[Kinds] = {
        "_supports": whole("n_portfolios", "*names"),
        "_parts": real("n_portfolios", "*names", least=0.0),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        n_portfolios: int = 1000,
        theta: int | None = None,
        n_targets: int = 1,
        omega: Any = None,
        mapping: str = "refit",
        forgetting: float = 0.998,
        ridge: float = 0.01,
        warm_up: int = 20,
        seed: int = 0,
    ) -> None:
        one_of("mapping", mapping, ("refit", "project"))
        super().__init__(n_assets, n_targets, omega, mapping, None, ridge, warm_up, None)
        lam = check_forgetting(forgetting)
        if not isinstance(lam, float):
            raise ParameterError(f"forgetting must be a number in (0, 1], got {forgetting!r}")
        self.n_portfolios, self.seed = count("n_portfolios", n_portfolios), count("seed", seed, least=0)
        self.forgetting = lam
        self.theta = min(10, self.n_assets) if theta is None else at_most_assets("theta", theta, self.n_assets)
        self._orders = np.array(
            [
                np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(k,))).permutation(self.n_assets)
                for k in range(self.n_portfolios)
            ]
        )
        self._supports: NDArray[np.int64] = np.sort(self._orders[:, : self.theta], axis=1)
        self._parts: Array = np.full(self._supports.shape, 1.0 / self.theta)
        w = self._mean()
        w.setflags(write=False)
        self._w = w

    def _sound(self) -> None:
        super()._sound()
        k = self._supports.shape[1]
        if not 1 <= k <= self.theta or int(self._supports.max()) >= self.n_assets or (np.diff(self._supports) <= 0).any():
            raise ParameterError(f"_supports must name up to {self.theta} of {self.n_assets} assets in each row, in order")
        if np.abs(self._parts.sum(axis=1) - 1.0).max() > 1e-6:
            raise ParameterError("_parts must be portfolios, each with sum 1")

    def _mean(self) -> Array:
        """Return the mean weights of the population, shape (N,)."""
        total = np.bincount(self._supports.ravel(), self._parts.ravel(), self.n_assets)
        return np.asarray(total / total.sum())

    def _learn(self, w: Array, x: Array, y: Any, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        self._absorb(self._whole(x, free), y, self.forgetting, free)
        if free is not None and (getattr(W, "total", 1.0) < 1.0 or bool((~free & (self._B.diagonal() > 0.0)).any())):
            return w  # somebody who may be held was not seen
        self._draw(free)
        if self._t + 1 >= self.warm_up:
            self._fit()
        new = self._mean()
        return new if free is None else new[free]

    def _draw(self, free: Mask | None) -> None:
        """Let every member hold the first names in its order that may be held."""
        if free is None:
            chosen = self._orders[:, : self.theta]
        else:
            allowed = free[self._orders]
            k = min(self.theta, int(np.count_nonzero(free)))
            first = allowed & (np.cumsum(allowed, axis=1) <= k)
            chosen = self._orders[first].reshape(self.n_portfolios, k)
        supports = np.sort(chosen, axis=1)
        if not np.array_equal(supports, self._supports):
            self._supports = supports
            self._parts = np.full(supports.shape, 1.0 / supports.shape[1])

    def _fit(self) -> None:
        """Fit all members to the target."""
        S = self._supports
        C, m = self._moments(), self._omega.dot(self._M)
        scale = self._gap_scale()
        if scale is not None:
            C, m = C * scale * scale[:, None], m * scale
        A, b = C[S[:, :, None], S[:, None, :]], m[S]
        k = S.shape[1]
        diagonal = np.arange(k)
        pull = self.ridge * A[:, diagonal, diagonal].sum(axis=1) / k
        pull = np.maximum(pull, 1e-12 * float(pull.max()) + 1e-280)
        A[:, diagonal, diagonal] += pull[:, None]
        b = b + pull[:, None] / k
        self._parts = batched_simplex_qp(A, b, self._parts) if self.mapping == "refit" else batched_simplex(_solve(A, b))

    def member_returns(self, x: Any) -> Array:
        """Return the return of each member, shape (n_portfolios,), when the assets return x."""
        return np.asarray(np.einsum("ij,ij->i", self._vector(x)[self._supports], self._parts))

    @property
    def supports(self) -> NDArray[np.int64]:
        """Names of each member, shape (n_portfolios, theta), ascending."""
        return self._supports.copy()

    def diagnostics(self) -> dict[str, float]:
        """Return the number of names that a member holds on average."""
        return {"held": float(np.count_nonzero(self._parts)) / self.n_portfolios}


def batched_simplex_qp(A: Array, b: Array, start: Array) -> Array:
    """Minimise 0.5 w'Aw - b'w on the simplex for many small problems at once.

    Parameters
    ----------
    A : ndarray, shape (n, k, k)
        Positive definite.
    b, start : ndarray, shape (n, k)
        `start`: guesses, of which the support counts.
    """
    w, todo, held = np.zeros(b.shape), np.arange(b.shape[0]), start > 0.0
    for _ in range(MOST_EXCHANGES):
        empty = todo[~held[todo].any(axis=1)]
        held[empty, b[empty].argmax(axis=1)] = True
        A_, b_, in_ = A[todo], b[todo], held[todo]
        part = np.where(in_[:, :, None] & in_[:, None, :], A_, 0.0)
        size = np.einsum("ijj->ij", A_).max(axis=1)[:, None]
        part[:, np.arange(b.shape[1]), np.arange(b.shape[1])] += np.where(in_, 0.0, size)
        equal = in_ / in_.sum(axis=1, keepdims=True)
        left = np.where(in_, b_ - np.einsum("ijk,ik->ij", A_, equal), 0.0)
        solved = np.linalg.solve(part, np.stack((left, np.where(in_, size, 0.0)), axis=2))
        ones = solved[:, :, 1] / solved[:, :, 1].sum(axis=1, keepdims=True)
        found = equal + (solved[:, :, 0] - solved[:, :, 0].sum(axis=1, keepdims=True) * ones)
        price = np.einsum("ijk,ik->ij", A_, found) - b_
        level = np.where(in_, price, 0.0).sum(axis=1, keepdims=True) / in_.sum(axis=1, keepdims=True)
        slack = 1e-12 * np.maximum(np.abs(level), np.abs(b_).max(axis=1, keepdims=True))
        wrong = np.where(in_, found < -1e-12, price < level - slack)
        w[todo] = found
        held[todo] = in_ ^ wrong
        todo = todo[wrong.any(axis=1)]
        if todo.size == 0:
            break
    for i in todo.tolist():
        w[i] = solve_simplex_qp(A[i], b[i], start[i])[0]
    w = np.maximum(w, 0.0)
    return np.asarray(w / w.sum(axis=1, keepdims=True))


def batched_simplex(y: Array) -> Array:
    """Project each row on the unit simplex, by sorting."""
    descending = -np.sort(-y, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    rank = np.arange(1, y.shape[1] + 1)
    rho = np.count_nonzero(descending * rank > excess, axis=1)
    kappa = np.take_along_axis(excess, rho[:, None] - 1, axis=1) / rho[:, None]
    w = np.maximum(y - kappa, 0.0)
    return np.asarray(w / w.sum(axis=1, keepdims=True))


def _solve(A: Array, b: Array) -> Array:
    return np.asarray(np.linalg.solve(A, b[:, :, None])[:, :, 0])
