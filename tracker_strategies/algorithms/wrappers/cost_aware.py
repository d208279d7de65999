"""Trade only where the gain in tracking pays for the cost."""

from __future__ import annotations

import numpy as np

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.numerics.drift import drifted
from tracker_strategies.algorithms.numerics.kinks import Kinks, prox_budget
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.wrapper import Turn, Wrapper, require_plain_set

MEMORY = 0.99
"""Discount of the variances and of the tracking error."""


@learner(examples=lambda n: ({"learner": PA(n), "cost_bps": 10.0},))
class CostAware(Wrapper):
    r"""What a learner wants to hold, as far as trading for it pays.

    Moving the weight of name i by :math:`\Delta_i` towards the learner's :math:`w^*_i` costs :math:`c |\Delta_i|` once, and
    lowers the tracking error :math:`\sigma` a bar, by :math:`\sigma_i^2 (w^*_i - w_i) \Delta_i / \sigma` at the margin, for as
    long as it is held: H bars, say. So a trade is worth its price down to a distance of

    .. math:: \delta_i = \frac{c\, \sigma}{H \sigma_i^2}, \qquad
        w_{t+1} = \arg\min_{w \in \Delta} \tfrac12 \|w - w^*_{t+1}\|^2 + \sum_i \delta_i |w_i - \tilde w_{t,i}|

    with :math:`\sigma_i^2` the variance of the name against the index and :math:`\tilde w_t` what is held. That is a no-trade
    region for each name, wide for quiet names and high costs, and an exact proximal step.

    Parameters
    ----------
    n_assets : int
    learner : OnlineAlgorithm
        A learner of portfolios that has learned nothing so far; a fresh copy of it learns, as if trading were free. One with
        caps or group limits is refused, and so is :class:`TopNames`, which belongs around this class: what does not pay to be
        sold stays, whatever the limit.
    cost_bps : float
        Cost c of buying or selling, in basis points of the value traded.
    horizon : int, default 5
        H: bars over which a trade has to pay.
    """

    _state = ("_inner", "_variance", "_error2", "_weight")

    def __init__(self, n_assets: int, *, learner: OnlineAlgorithm | None = None, cost_bps: float = 5.0, horizon: int = 5) -> None:
        super().__init__(n_assets, learner=learner)
        self.cost_bps, self.horizon = number("cost_bps", cost_bps, least=0.0), count("horizon", horizon)
        self._variance: Array = np.zeros(self.n_assets)
        self._error2 = self._weight = 0.0

    @classmethod
    def _check(cls, learner: OnlineAlgorithm) -> None:
        require_plain_set("CostAware", learner)
        super()._check(learner)

    def _shape(self, turn: Turn, wish: Array) -> Array:
        free = np.ones(self.n_assets, dtype=np.bool_) if turn.free is None else turn.free
        x, held, goal = turn.x, turn.held, float(np.mean(turn.y))
        self._variance = np.where(free, MEMORY * self._variance + (1.0 - MEMORY) * (x - goal) ** 2, self._variance)
        self._error2 = MEMORY * self._error2 + (1.0 - MEMORY) * (float(held.dot(x)) - goal) ** 2
        self._weight = MEMORY * self._weight + (1.0 - MEMORY)
        return self._step(held, wish, x, free)

    def _step(self, held: Array, wish: Array, x: Array, free: Mask) -> Array:
        """Return the weights: names that are not free keep theirs."""
        kept = np.where(free, 0.0, held)
        room = 1.0 - float(kept.sum())
        if room <= 0.0 or not held[free].any():
            return wish
        now = drifted(held[None], x, free)[0, free]
        now = now * (room / float(now.sum()))
        price = 1e-4 * self.cost_bps * np.sqrt(self._error2 * self._weight) / self.horizon
        variance = self._variance[free]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            width = np.where(variance > 0.0, price / variance, 0.0)
        width = np.minimum(np.nan_to_num(width, nan=0.0, posinf=1.0), 1.0)
        kept[free] = prox_budget(wish[free], Kinks(now[None], width[None]), 0.0, np.inf, room)
        return kept

    def _forget(self, left: Mask) -> None:
        self._variance[left] = 0.0
