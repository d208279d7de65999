"""Discounted VAW whose discount factor is learnt: a fixed-share vote over a grid of them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._kinds import Kinds, piece, real, whole
from tracker_strategies.algorithms._validation import Array, Mask, finite_vector
from tracker_strategies.algorithms.numerics.expert_weights import FixedShare
from tracker_strategies.algorithms.numerics.target_range import TargetRange
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, RealSpace, Simplex
from tracker_strategies.algorithms.vaw._base import RidgeForecaster
from tracker_strategies.algorithms.vaw._grid import discount_grid
from tracker_strategies.errors import ParameterError


def check_discounts(gammas: Any) -> Array:
    """Return discount factors in [0, 1], at least one of them above 0."""
    values = finite_vector("gammas", gammas, ParameterError)
    if values.min() < 0.0 or values.max() > 1.0 or not values.any():
        raise ParameterError(f"gammas must lie in [0, 1] and not all be 0, got {gammas!r}")
    return values.copy()


def geometric_intervals(horizon: int) -> list[tuple[int, int]]:
    r"""Return the geometric covering of rounds 1 to T: :math:`[k 2^i, (k + 1) 2^i - 1]` for k >= 1, i >= 0, cut at T, in order.

    Every round lies in :math:`\lfloor \log_2 t \rfloor + 1` of them, one of each length up to t, and every stretch of rounds is a
    union of :math:`O(\log T)` of them.

    References
    ----------
    Daniely, Gonen, Shalev-Shwartz, *Strongly adaptive online learning*, ICML 2015.

    Examples
    --------
    >>> from tracker_strategies.algorithms.vaw import geometric_intervals
    >>> geometric_intervals(4)
    [(1, 1), (2, 2), (2, 3), (3, 3), (4, 4), (4, 4), (4, 4)]
    """
    horizon = count("horizon", horizon)
    lengths = [2**i for i in range(horizon.bit_length())]
    return sorted((start, min(start + n - 1, horizon)) for n in lengths for start in range(n, horizon + 1, n))


FIRST_HORIZON = 128
"""Horizon with which an any-time grid begins."""


def check_reference(hint: Any, yref: Any) -> str:
    """Return the reference point; "hint" is the hint itself, which a self-confident one cannot be."""
    if yref != "hint":
        return str(yref)
    if hint == "self":
        raise ParameterError("yref='hint' has no meaning with hint='self', which is clipped around yref; choose 'zero' or 'last'")
    return str(hint)


class DiscountVote(RidgeForecaster):
    """What the learners that vote over discount factors share: experts, among them the one that predicts its hint."""

    def __init__(
        self,
        n_assets: int,
        gammas: Any,
        lam: float,
        hint: str,
        yref: str,
        prior: Any,
        floor: float,
        feasible: FeasibleSet,
        horizon: int | None,
        base: float,
        dual_rounds: int | None,
    ) -> None:
        super().__init__(n_assets, lam, hint, yref, prior, floor, feasible, dual_rounds)
        self.horizon = None if horizon is None else count("horizon", horizon)
        self.base = number("base", base, above=1.0)
        self._hints = TargetRange(hint, check_reference(hint, yref))
        if gammas is not None and horizon is None:
            raise ParameterError(
                "gammas are a fixed list, which horizon=None cannot extend; give horizon as a number, or omit gammas"
            )
        horizon = self.horizon or FIRST_HORIZON
        grid = discount_grid(self.n_assets, horizon, self.base) if gammas is None else check_discounts(gammas)
        self.gammas = None if gammas is None else grid.tolist()
        self._gammas: Array = grid
        self._forecast = self._loss = 0.0

    @property
    def discounts(self) -> Array:
        """The discount factors of the vote, in its order, shape (K,)."""
        return self._gammas.copy()

    def _all_forecasts(self, ridge: Any, look: Any, base: float) -> Array:
        """Return the clipped forecasts of the residual target by all discounts, shape (K,)."""
        forecasts = np.empty(len(self._gammas))
        positive = self._gammas > 0.0
        forecasts[positive] = self._forecasts(look, ridge.gammas, base)[1][:, 0]
        hint = self._hints.reference if self.hint == "self" else self._hints.of(np.zeros((1, 1)))[0]
        forecasts[~positive] = hint[0]
        return self._hints.clip(forecasts)

    def _score(self, forecast: float, y: float, base: float) -> None:
        self._forecast, self._loss = forecast + base, 0.5 * (y - base - forecast) ** 2

    def _gamma_diagnostics(self, p: Array) -> dict[str, float]:
        """Return the mean discount factor under the probabilities, and the most probable one."""
        mean = float(p.dot(self._gammas) / p.sum())
        return {"forecast": self._forecast, "loss": self._loss, "gamma": mean, "gamma_best": float(self._gammas[p.argmax()])}


@learner(
    "adaptive-discount",
    shows=("gamma", "gamma_best"),
    examples=lambda n: (  # the default grid depends on n
        {"gammas": [0.0, 0.9, 0.998, 1.0], "hint": "self"},
        {"gammas": [0.9, 1.0], "feasible": RealSpace()},
    ),
)
class AdaptiveDiscount(DiscountVote):
    r"""Discounted VAW without a discount to tune: a vote of experts with different discount factors.

    The experts are :class:`~tracker_strategies.algorithms.DiscountedVAW` forecasters that differ in :math:`\gamma`, and one that
    predicts its hint (:math:`\gamma = 0`). With the range :math:`B_t = [y^{ref}_t - M_t, y^{ref}_t + M_t]` of the targets so far,

    .. math:: \hat y_t = \sum_i p_{t,i}\, \mathrm{clip}_{B_t}(\hat y_t^{(i)}), \qquad
        \ell_{t,i} = \tfrac12 \big(y_t - \mathrm{clip}_{B_t}(\hat y_t^{(i)})\big)^2

    and :math:`p_{t+1}` by :class:`.numerics.FixedShare`. On the grid of Theorem 4.2 the dynamic regret of
    :meth:`forecast` against any sequence of comparators is what the best discount factor would have had, up to logarithms.

    The portfolio mixes first and projects then, over the experts that have weights, with the probabilities for the coming round:

    .. math:: w_{t+1} = P_W\Big(\frac{\sum_{\gamma_i > 0} p_{t+1,i}\, v^{(i)}_{t+1}}{\sum_{\gamma_i > 0} p_{t+1,i}}\Big),
        \qquad v^{(i)}_{t+1} = \Sigma^{(i)\,-1}_t \theta^{(i)}_{t+1} .

    As for :class:`DiscountedVAW`, the guarantees are those of the forecast, not of the portfolio.

    Parameters
    ----------
    n_assets : int
        Number of assets N = d.
    gammas : array_like, optional
        Discount factors in [0, 1]; the grid of Theorem 4.2 for `horizon` rounds by default, K = O(log horizon) of them.
    lam : float, default 1e-2
        Regulariser of all experts.
    hint : {"zero", "last", "self"}, default "zero"
        Hint of all experts.
    yref : {"hint", "zero", "last"}, default "zero"
        Centre of the range: the hint (Theorem 4.2), 0 or the last target (Theorem 4.3, for hint "self").
    prior, floor, feasible, dual_rounds
        As for :class:`DiscountedVAW`.
    horizon : int or None, default 5000
        Rounds that the grid is made for; more may come. None is an any-time grid: it begins with that of 128 rounds, and whenever
        its horizon is reached this doubles. The discount that the grid then lacks joins as a twin of the largest one, whose
        weights of rounds so far it would have shared up to a factor of :math:`e^{1/d}`; both share its probability. There is no
        restart, and nothing is forgotten. K grows with log t.
    base : float, default 2
        Ratio of neighbours in the grid, > 1 (2 with an any-time grid).

    Notes
    -----
    Cost per round: K times that of a single discount; on the first rounds (inner products) one Gram matrix serves all of them,
    and they cost little more than one. State: K N (N + 1) numbers.

    References
    ----------
    Jacobsen, Cutkosky, *Online linear regression in dynamic environments via discounting*, ICML 2024: Algorithm 2, Theorems 4.1
    to 4.3, Lemma D.3, Theorem E.1.

    Examples
    --------
    >>> from tracker_strategies.algorithms import AdaptiveDiscount, learner
    >>> learner = AdaptiveDiscount(1, gammas=[0.0, 0.5, 1.0], lam=1.0, prior=None)
    >>> for y in [1.0] * 20 + [-1.0] * 20:
    ...     w = learner.update([1.0], y)
    >>> learner.diagnostics()["gamma_best"]
    0.5
    """

    _state = ("_a", "_ridge", "_hints", "_vote", "_gammas", "_until", "_forecast", "_loss")
    _kinds: ClassVar[Kinds] = {
        "_a": real("n", none=True, above=0.0),
        "_hints": piece("TargetRange", q=1),
        "_ridge": piece("DiscountedRidge", d="n", q=1),
        "_vote": piece("FixedShare"),
        "_gammas": real("*K", least=0.0, most=1.0),
        "_until": whole(least=1),
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
        horizon: int | None = 5000,
        base: float = 2.0,
        dual_rounds: int | None = None,
    ) -> None:
        super().__init__(n_assets, gammas, lam, hint, yref, prior, floor, feasible, horizon, base, dual_rounds)
        if self.horizon is None and self.base != 2.0:
            raise ParameterError(f"horizon=None doubles the horizon of the grid as needed: base must be 2, got {base!r}")
        self._until = self.horizon or FIRST_HORIZON
        self._vote = FixedShare(len(self._gammas))
        self._ridge = self._regressions(self._gammas[self._gammas > 0.0], self.dual_rounds)
        self._begin(self._ridge.prior)

    def _sound(self) -> None:
        super()._sound()
        positive = self._gammas[self._gammas > 0.0]
        if len(self._vote.p) != len(self._gammas) or not np.array_equal(self._ridge.gammas, positive) or not len(positive):
            raise ParameterError("_vote and _ridge must have the discounts in _gammas")
        if self.horizon is None and self._until <= self._vote.rounds:
            raise ParameterError(f"_until must be after round {self._vote.rounds}, got {self._until}")

    @property
    def p(self) -> Array:
        """Probabilities of the discount factors for the coming round, in the order of `discounts`."""
        return self._vote.p.copy()

    def forecast(self, x: Any) -> float:
        r"""Return :math:`\hat y_t` for the returns of the coming round, before its target is seen: improper, as for every VAW."""
        clipped, base = self.expert_forecasts(x)
        return float(self._vote.p.dot(clipped)) + base

    def expert_forecasts(self, x: Any) -> tuple[Array, float]:
        """Return the clipped forecasts of the residual target, shape (K,), and what the prior has of the target."""
        x = self._seen(x, self._ridge.known)
        base = float(self._ridge.prior.dot(x))
        return self._all_forecasts(self._ridge, self._ridge.look(x, repair=False), base), base

    def _forget(self, left: Mask) -> None:
        self._renew_units(left)
        self._ridge.forget(left)

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        ridge, vote = self._ridge, self._vote
        ridge.meet(free)
        x = self._embedded(x, free)
        base = float(ridge.prior.dot(x))
        look = ridge.look(x)
        clipped = self._all_forecasts(ridge, look, base)
        self._score(float(vote.p.dot(clipped)), y, base)
        vote.learn(0.5 * (y - base - clipped) ** 2)
        self._hints.observe(np.array([y - base]))
        ridge.learn(x, np.array([y]), look)
        if self.horizon is None and vote.rounds == self._until:
            self._double()
        positive = vote.p[self._gammas > 0.0]
        v = ridge.combined((positive / positive.sum())[:, None])
        return self._invested(v, W, free)

    def _double(self) -> None:
        self._until *= 2
        gamma = float(discount_grid(self.n_assets, self._until)[-1])
        self._gammas = np.append(self._gammas, gamma)
        self._ridge.twin(gamma)
        self._vote.twin()

    def diagnostics(self) -> dict[str, float]:
        """Return figures of the last round and the votes for the coming one.

        `forecast`, `loss`; the discount factor, `gamma` (mean) and `gamma_best` (most probable); rate `alpha` and share `beta` of
        the vote and the `range` M of the targets; the probabilities `p_0`, `p_1`, ... in the order of `discounts`.
        """
        vote = self._vote
        state = {"alpha": vote.alpha, "beta": vote.beta, "range": float(self._hints.range[0])}
        return self._gamma_diagnostics(vote.p) | state | {f"p_{i}": value for i, value in enumerate(vote.p.tolist())}
