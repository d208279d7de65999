"""Keeper: the last thing done to a decision. What the learner wishes becomes what the mandate allows.

One order, in one place: names, amounts (with the price of trading and the turnover in the same problem), band, lots. Nothing comes
after it but the arithmetic of paying for it. Inside, names are in the order of their symbols, whatever the order of the feeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.mandate.amounts import nearest
from tracker_strategies.execution.mandate.banding import banded
from tracker_strategies.execution.mandate.binding import bind
from tracker_strategies.execution.mandate.feasibility import check
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, IndexArray, Limits, Region
from tracker_strategies.execution.mandate.lots import round_lots
from tracker_strategies.execution.mandate.mandate import Mandate
from tracker_strategies.execution.mandate.metric import ErrorModel, Metric
from tracker_strategies.execution.mandate.names import choose
from tracker_strategies.execution.mandate.relaxing import relax

#: Share of the account that may be missing when it counts as having reached its target.
NEAR = 0.05
#: Weights that differ by less are the same: no trade.
SAME = 1e-13
#: Memory of the tracking error, and bars over which a trade has to pay.
MEMORY, HORIZON = 0.99, 5.0


class Account(NamedTuple):
    """What is held when a decision is made, in the order of the feeds; what has no price and is not held has any price > 0."""

    sizes: FloatArray
    prices: FloatArray
    cash: float
    tradable: BoolArray | None
    active: BoolArray | None


class Decided(NamedTuple):
    """What a mandate allows.

    Attributes
    ----------
    weights : (N,) float
        Shares of the account at the prices of the decision.
    moved : (N,) bool
        Names that are traded.
    shares : (N,) float or None
        Shares to hold, where they come in lots.
    """

    weights: FloatArray
    moved: BoolArray
    shares: FloatArray | None


class Forced(NamedTuple):
    """A limit that gave way on a bar because it could not hold."""

    date: Any
    limit: str
    item: str
    value: float
    bound: float
    reason: str


class Keeper:
    """Keeps a mandate for one tracker.

    Parameters
    ----------
    mandate : Mandate
    symbols : sequence of N str
        In the order of the feeds.
    """

    def __init__(self, mandate: Mandate, symbols: Sequence[str]) -> None:
        self.mandate = mandate
        order = sorted(range(len(symbols)), key=symbols.__getitem__)
        plain = order == list(range(len(symbols)))
        self._order: IndexArray | None = None if plain else np.array(order)
        self._place: IndexArray | None = None if plain else np.argsort(order)
        self.symbols = tuple(symbols[i] for i in order)
        self.limits = bind(mandate, self.symbols)
        self.model = ErrorModel(len(symbols))
        self.entered = False
        self.forced: list[Forced] = []
        limits = self.limits
        self._members = tuple(group.members for group in limits.groups)
        self._group_lower = np.array([group.lower for group in limits.groups])
        self._group_upper = np.array([group.upper for group in limits.groups])
        self._counts = limits.max_names is not None or bool(limits.least.any()) or any(g.max_names for g in limits.groups)
        self._floor = limits.must if limits.must.any() else np.zeros(len(symbols))
        self._start: Any = None
        self._aim: FloatArray | None = None
        self._error2 = self._weight = 0.0
        self._checked = False

    # -- learning ----------

    def learn(self, x: FloatArray, y: Any, weights: FloatArray, seen: BoolArray | None = None) -> None:
        """Take in the returns of a bar, and the weights that were decided before it."""
        x, weights = self._in(x), self._in(weights)
        goal = float(np.mean(y))
        self.model.update(x, goal, None if seen is None else self._in(seen))
        error = float(weights.dot(x)) - goal * float(weights.sum())
        self._error2 = MEMORY * self._error2 + (1.0 - MEMORY) * error * error
        self._weight = MEMORY * self._weight + (1.0 - MEMORY)

    def forget(self, left: BoolArray) -> None:
        """Forget all about names that left."""
        self.model.forget(self._in(left))

    # -- deciding ----------

    def decide(self, wish: FloatArray, account: Account, costs: CostModel, date: Any, *, note: bool = True) -> Decided:
        """What to hold, from what the learner wishes to hold.

        Parameters
        ----------
        wish : (N,) float
            Weights >= 0 with sum 1, in the order of the feeds.
        account : Account
        costs : CostModel
            What trades will pay; the turnover is kept with them.
        date
            Of the bar, for the record.
        note : bool, default True
            Whether to write down which limits gave way.
        """
        sizes, prices = self._in(account.sizes), self._in(account.prices)
        worth = sizes * prices
        value = account.cash + float(np.add.reduce(worth))
        held = worth / value
        tradable, active = self._in(account.tradable), self._in(account.active)
        if not self._checked:
            listed = np.ones(len(held), dtype=np.bool_) if active is None else active
            check(self.limits, listed, self.symbols, prices=prices, cash=value, lot=self.mandate.lot, headroom=self.mandate.headroom)
            self._checked = True
        self._look_whether_entered(held)
        target = self._in(wish) * self.limits.total
        metric = None
        problem = self._problem(held, tradable, active, self._turnover(costs, prices))
        ...
