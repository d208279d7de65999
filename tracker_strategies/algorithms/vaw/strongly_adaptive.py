"""Discounted VAW on every stretch of time: fresh forecasters start on the intervals of a geometric covering."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import count
from tracker_strategies.algorithms._kinds import Kinds, piece, real
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.expert_weights import CoveringShare
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, Simplex
from tracker_strategies.algorithms.vaw._ridge import DiscountedRidge, dual_rounds_worth_it
from tracker_strategies.algorithms.vaw.adaptive_discount import DiscountVote
from tracker_strategies.errors import ParameterError


@learner(examples=lambda n: ({"gammas": [0.0, 0.99], "horizon": 500},))
class StronglyAdaptive(DiscountVote):
    r"""Strongly adaptive discounted VAW: low dynamic regret on every stretch of rounds at once.

    For each interval :math:`[k 2^i, (k+1) 2^i - 1]` of the geometric covering and each discount factor there is an expert: a
    fresh discounted VAW forecaster that starts with the interval and predicts the reference point outside it. All of them vote
    as in :class:`~tracker_strategies.algorithms.AdaptiveDiscount`. Only those whose interval holds the round are updated: one
    interval for each power of two up to t. The others share one loss.

    The portfolio is that of the experts that are awake in the coming round and have weights, mixed, then projected.

    Parameters
    ----------
    n_assets : int
        Number of assets N = d.
    gammas : array_like, optional
        Discount factors in [0, 1]; the grid of Theorem 4.2 by default.
    lam, hint, yref, prior, floor, feasible, base, dual_rounds
        As for :class:`~tracker_strategies.algorithms.AdaptiveDiscount`.
    horizon : int, default 5000
        Rounds T that the number of experts, and the grid, are made for. Beyond it the number of experts doubles with time.

    Notes
    -----
    Cost per round: O(log t) times that of AdaptiveDiscount, and memory alike: for small universes, or few discounts. A short
    interval never needs the matrix, since inner products are cheaper there. A fresh expert has the probability 1/(all experts):
    it takes :math:`O(\ln T)` rounds of clearly smaller losses before it has weight in the vote.

    References
    ----------
    Jacobsen, Cutkosky 2024, sec. 5, Theorem F.1; Daniely, Gonen, Shalev-Shwartz, *Strongly adaptive online learning*, ICML 2015.

    Examples
    --------
    >>> from tracker_strategies.algorithms import StronglyAdaptive, learner
    >>> learner = StronglyAdaptive(2, gammas=[0.0, 0.9], horizon=100)
    >>> w = learner.update([0.02, -0.01], 0.02)
    >>> learner.awake  # rounds 2 and 3 are covered by the intervals [2, 2] and [2, 3]
    2
    """

    _state = ("_a", "_ridges", "_hints", "_vote", "_forecast", "_loss")
    _kinds: ClassVar[Kinds] = {
        "_a": real("n", none=True, above=0.0),
        "_hints": piece("TargetRange", q=1),
        "_ridges": piece("DiscountedRidge", several=True, d="n", q=1),
        "_vote": piece("CoveringShare"),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        gammas: Any = None,
        lam: float = 1e-2,
        hint: str = "zero",
        yref: str = "zero",
        prior: Any = "uniform",
        floor: float = 0.0,
        feasible: FeasibleSet = Simplex(),  # noqa: B008 (immutable)
        horizon: int = 5000,
        base: float = 2.0,
        dual_rounds: int | None = None,
    ) -> None:
        horizon = count("horizon", horizon)
        super().__init__(n_assets, gammas, lam, hint, yref, prior, floor, feasible, horizon, base, dual_rounds)
        self._vote = CoveringShare(len(self._gammas), horizon)
        self._ridges = [self._level(i) for i in range(self._vote.levels)]
        self._vote.begin()
        self._begin(self._ridges[0].prior)

    def _sound(self) -> None:
        super()._sound()
        positive = self._gammas[self._gammas > 0.0]
        if self._vote.size != len(self._gammas) or not self.awake <= len(self._ridges) <= self._vote.levels:
            raise ParameterError(f"_ridges must hold at least one for each of {self.awake} intervals, got {len(self._ridges)}")
        if not all(np.array_equal(ridge.gammas, positive) for ridge in self._ridges):
            raise ParameterError(f"_ridges must have the discounts {positive.tolist()}")

    def _level(self, i: int) -> DiscountedRidge:
        """Return fresh regressions for an interval of length 2^i."""
        positive = self._gammas[self._gammas > 0.0]
        rounds = dual_rounds_worth_it(self.n_assets, len(positive)) if self.dual_rounds is None else self.dual_rounds
        return self._regressions(positive, min(rounds, 2**i + 1))

    @property
    def awake(self) -> int:
        """Number of intervals that hold the coming round."""
        return self._vote.awake

    @property
    def p(self) -> Array:
        """Probabilities of the experts awake in the coming round, shape (intervals, K), the shortest interval first."""
        return self._vote.p.copy()

    def forecast(self, x: Any) -> float:
        r"""Return :math:`\hat y_t` for the returns of the coming round, before its target is seen: improper, as for every VAW."""
        clipped, base = self.expert_forecasts(x)
        return self._mean(clipped) + base

    def expert_forecasts(self, x: Any) -> tuple[Array, float]:
        """Return the clipped forecasts of the residual target, shape (intervals, K), and what the prior has of the target."""
        x = self._seen(x, self._eldest.known)
        base = float(self._eldest.prior.dot(x))
        awake = self._ridges[: self.awake]
        return np.array([self._all_forecasts(ridge, ridge.look(x, repair=False), base) for ridge in awake]), base

    @property
    def _eldest(self) -> DiscountedRidge:
        return self._ridges[self.awake - 1]

    def _mean(self, clipped: Array) -> float:
        """Return the mean prediction; sleepers predict the reference point."""
        return float((self._vote.p * clipped).sum() + sum(self._vote.asleep) * self._hints.reference[0])

    def _forget(self, left: Mask) -> None:
        self._renew_units(left)
        for ridge in self._ridges[: self.awake]:
            ridge.forget(left)

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        vote, hints = self._vote, self._hints
        ridges = self._ridges[: vote.awake]
        x = self._embedded(x, free)
        for ridge in ridges:
            ridge.meet(free)
        base = float(ridges[-1].prior.dot(x))
        looks = [ridge.look(x) for ridge in ridges]
        clipped = np.array([self._all_forecasts(ridge, look, base) for ridge, look in zip(ridges, looks, strict=True)])
        self._score(self._mean(clipped), y, base)
        vote.learn(0.5 * (y - base - clipped) ** 2, 0.5 * (y - base - float(hints.reference[0])) ** 2)
        hints.observe(np.array([y - base]))
        for ridge, look in zip(ridges, looks, strict=True):
            ridge.learn(x, np.array([y]), look)
        self._restart(vote.begin(), free)
        p = vote.p[:, self._gammas > 0.0]
        p = p / p.sum()
        v = np.sum([ridge.combined(row[:, None]) for ridge, row in zip(self._ridges, p, strict=False)], axis=0)
        return self._invested(v, W, free)

    def _restart(self, levels: list[int], free: Mask | None) -> None:
        for i in levels:
            fresh = self._level(i)
            fresh.meet(free)
            if i < len(self._ridges):
                self._ridges[i] = fresh
            else:
                self._ridges.append(fresh)

    def diagnostics(self) -> dict[str, float]:
        """Return forecast and loss of the last round, the discount factor (mean and most probable), and the votes by length."""
        p = self._vote.p
        votes = {f"p_{2**i}": value for i, value in enumerate(p.sum(axis=1).tolist())}
        return self._gamma_diagnostics(p.sum(axis=0)) | votes | {"p_asleep": sum(self._vote.asleep)}
