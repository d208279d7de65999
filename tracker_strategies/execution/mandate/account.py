"""What a decision starts from, and what comes of it: shares, prices and cash, in the order of the feeds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.mandate.fills import turnover_kept
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray
from tracker_strategies.execution.rebalancer import Rebalancer

SMALL = 1e-3
"""Share of the account below which a part of it is too small to plan for alone: roundings would count."""


class AccountState(NamedTuple):
    """What is held when a decision is made. Orders that are still open count as done.

    Attributes
    ----------
    sizes, prices : (N,) float
        Shares, and prices > 0; a name without a price has 1 and is not held.
    cash, value : float
    held : (N,) float
        Shares of the account's value.
    tradable, active : (N,) bool or None
        Names that trade now, and names that may be held; None for all.
    priced : (N,) bool
        Names that have a price.
    """

    sizes: FloatArray
    prices: FloatArray
    cash: float
    value: float
    held: FloatArray
    tradable: BoolArray | None
    active: BoolArray | None
    priced: BoolArray

    @classmethod
    def of(
        cls,
        sizes: FloatArray,
        prices: FloatArray,
        cash: float,
        tradable: BoolArray | None,
        active: BoolArray | None,
        pending: FloatArray | None = None,
        costs: CostModel | None = None,
    ) -> AccountState:
        """The account as a decision sees it."""
        priced = np.isfinite(prices)
        if not priced.all():
            prices = np.where(priced, prices, 1.0)
        if pending is not None and costs is not None:
            cash += costs.cash_flow(np.maximum(pending, 0.0), prices)
            sizes = np.maximum(sizes + pending, 0.0)
        worth = sizes * prices
        value = cash + float(np.add.reduce(worth))
        return cls(sizes, prices, cash, value, worth / value, tradable, active, priced)

    def payable_turnover(self, limit: float, costs: CostModel) -> float:
        """Turnover in weights that stays within a limit once the costs are paid, which shrink what is bought and raise what is
        sold, and at fill prices, which slippage moves.
        """
        if costs.free:
            return limit
        rates = costs.taken(self.priced).side_rates(self.prices[self.priced])
        worst = max(float(np.max(rate)) for rate in rates)
        return max(limit * (1.0 - worst) / (1.0 + 1e-4 * costs.slippage_bps), 0.0)

    def lot_values(self, lot: float) -> FloatArray:
        """Value of one lot of each name, as a share of the account."""
        return np.asarray(lot * self.prices / self.value)


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
    turnover : float or None
        Most that may be bought and sold.
    """

    weights: FloatArray
    moved: BoolArray
    shares: FloatArray | None
    turnover: float | None

    def trades(self, account: AccountState, rebalancer: Rebalancer, keep: float) -> FloatArray:
        """Shares to buy and sell. Costs are paid out of what is bought, so that the weights are those of what is left."""
        if self.shares is not None:
            return np.where(self.moved, self.shares - account.sizes, 0.0)
        deltas = self._planned(account, rebalancer, keep)
        kept = deltas if self.turnover is None else turnover_kept(deltas, account, self.turnover, rebalancer)
        if kept is deltas or rebalancer.costs.proportional:
            return kept
        return rebalancer.fit(kept, account.sizes, account.prices, account.cash)  # a least fee does not shrink with its order

    def _planned(self, account: AccountState, rebalancer: Rebalancer, keep: float) -> FloatArray:
        """The plan; where few names trade and that is free, for an account of those and the cash: the same, sooner."""
        some = self.moved.nonzero()[0]
        sizes, prices = account.sizes[some], account.prices[some]
        alone = account.cash + float(sizes.dot(prices))
        if 4 * len(some) > len(self.moved) or not rebalancer.costs.free or not alone > SMALL * account.value:
            return rebalancer.plan(self.weights, account.sizes, account.prices, account.cash, tradable=self.moved, keep=keep)
        deltas, part = np.zeros(len(self.moved)), account.value / alone
        if len(some):
            deltas[some] = rebalancer.plan(self.weights[some] * part, sizes, prices, account.cash, keep=keep * part)
        return deltas


class Stages(NamedTuple):
    """What a decision was before its trades were held back, and after; in the order of the feeds.

    Attributes
    ----------
    allowed : (N,) float or None
        What the limits allow of the wish; of a decision that only cures a breach, that of the decision before it.
    traded : (N,) float
        What turnover, pace, price of trading and band leave of it, before lots.
    """

    allowed: FloatArray | None
    traded: FloatArray
