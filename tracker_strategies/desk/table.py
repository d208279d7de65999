"""From a decision to the rows of an order list, and what stands below them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds import MarketPanel
from tracker_strategies.desk.formats import COLUMNS
from tracker_strategies.desk.ids import order_id
from tracker_strategies.desk.outlook import expected_error, limits_in_words, not_traded
from tracker_strategies.desk.plan import OrderPlan
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.gate import Bar
from tracker_strategies.execution.holdings import Account, Spelling
from tracker_strategies.execution.named_costs import fee_notes
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]
#: Weights that differ by less are the same.
ALREADY = 1e-6


@dataclass(frozen=True, eq=False)
class Decision:
    """What was decided at the last close.

    Attributes
    ----------
    tracker : Tracker
        After the decision.
    bar : Bar
        The last one.
    deltas : (N,) float
        Shares to buy and sell.
    notes : list of str
    without_flow : (N,) float or None
        The same without the money that comes in or goes out; None where there is none.
    """

    tracker: Tracker
    bar: Bar
    deltas: FloatArray
    notes: list[str]
    without_flow: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class OrderList:
    """An order list in the making.

    Parameters
    ----------
    panel : MarketPanel
    decision : Decision
    costs : CostModel
    sizes : (N,) float
        Shares held.
    cash, flow : float
        In the account with the flow; and the flow.
    sold : Account
        Names that are not in the data and are to be sold, with their prices.
    gap : float
        Rise at the open that buys are sized for.
    name, time_in_force, currency : str
    spelling : Spelling
    """

    panel: MarketPanel
    decision: Decision
    costs: CostModel
    sizes: FloatArray
    cash: float
    flow: float
    sold: Account
    gap: float
    name: str
    time_in_force: str
    currency: str
    spelling: Spelling

    def plan(self) -> OrderPlan:
        """All of it."""
        prices = np.nan_to_num(self.decision.bar.close, nan=1.0)
        outside = [self._row_of_sold(name) for name in self.sold.shares]
        brought = sum(row["est_value"] - row["est_cost"] for row in outside)
        deltas = self._with_reserve(prices, self.cash + brought)
        value = self.cash + brought + float(np.where(self.sizes > 0.0, self.sizes * prices, 0.0).sum())
        before = value - self.flow
        for sold in outside:
            sold["weight_now"] = sold["est_value"] / before
        fees = _costs_of(self.decision.tracker.rebalancer.costs, deltas, prices)
        sells = [*outside, *(self._row(i, deltas, prices, fees, before) for i in _places(deltas < 0.0))]
        buys = [self._row(i, deltas, prices, fees, before) for i in _places(deltas > 0.0)]
        for row in (sells, buys):
            row.sort(key=lambda order: str(order["symbol"]))
        _in_batches(buys, self.cash, self.gap)
        buys.sort(key=lambda order: int(order["batch"]))
        table = pd.DataFrame([*sells, *buys], columns=list(COLUMNS))
        after = self.sizes + deltas
        flow = self.decision.tracker.rebalancer.costs.cash_flow(deltas, prices)
        left = self.cash + brought + flow
        weights = np.where(after > 0.0, after * prices, 0.0) / value
        held = np.where(self.sizes > 0.0, self.sizes * prices, 0.0) / before
        error = expected_error(self.panel, self.decision.tracker, weights)
        bought = float(np.maximum(deltas, 0.0) @ prices)
        room = left / bought if bought > 0.0 else None
        figures = {
            "value": value,
            "cash_before": self.cash - self.flow,
            "flow": self.flow,
            "cash_after": left,
            "turnover": (float(np.abs(deltas) @ prices) + sum(row["est_value"] for row in outside)) / value,
            "cost": float(table["est_cost"].sum()) if len(table) else 0.0,
            "tracking_error": None if error is None else error[0],
            "gap_covered": room,
        }
        foot = self._foot(table, figures, error, held, deltas, value)
        notes = tuple(self.decision.notes)
        return OrderPlan(self.panel.day(-1), table, figures, tuple(foot), notes, self.spelling, self.name, self.currency)

    def _with_reserve(self, prices: FloatArray, cash: float) -> FloatArray:
        """The decision, with buys that the cash still pays for when they open higher by the gap."""
        deltas = self.decision.deltas
        if not self.gap:
            return deltas
        dearer = np.where(deltas > 0.0, prices * (1.0 + self.gap), prices)
        return self.decision.tracker.rebalancer.fit(deltas, self.sizes, dearer, cash)

    def _row(self, i: int, deltas: FloatArray, prices: FloatArray, fees: FloatArray, value: float) -> dict[str, Any]:
        size = float(deltas[i])
        target = float(self.decision.tracker.weights[i])
        return self._order(
            self.panel.symbols[i],
            size,
            float(prices[i]),
            float(fees[i]),
            float(self.sizes[i] * prices[i] / value),
            target,
            self._reason(i, size),
        )

    def _row_of_sold(self, name: str) -> dict[str, Any]:
        size, price = np.array([-self.sold.shares[name]]), np.array([self.sold.prices[name]])
        return self._order(name, float(size[0]), float(price[0]), float(_costs_of(self.costs, size, price)[0]), 0.0, 0.0, "exit")

    def _order(
        self, symbol: str, size: float, price: float, cost: float, now: float, target: float, reason: str
    ) -> dict[str, Any]:
        side, day = "buy" if size > 0.0 else "sell", self.panel.day(-1)
        return {
            "as_of": day,
            "symbol": symbol,
            "side": side,
            "qty": abs(size),
            "type": "market",
            "time_in_force": self.time_in_force,
            "est_price": price,
            "est_value": abs(size) * price,
            "est_cost": cost,
            "weight_now": now,
            "weight_target": target,
            "reason": reason,
            "client_order_id": order_id(self.name, day, symbol, side),
            "batch": 1,
        }

    def _reason(self, i: int, size: float) -> str:
        tracker, bar, plain = self.decision.tracker, self.decision.bar, self.decision.without_flow
        if plain is not None and not plain[i]:
            return "flow"
        if size > 0.0:
            return "rebalance" if self.sizes[i] else "entry"
        if self.sizes[i] + size > 0.0:
            return "rebalance"
        mandate = None if tracker.keeper is None else tracker.keeper.mandate
        symbol = self.panel.symbols[i]
        if mandate is not None and (symbol in mandate.exclude or (mandate.only and symbol not in mandate.only)):
            return "excluded"
        return "delisted" if bar.member is not None and not bar.member[i] else "exit"

    def _why_none(self, value: float) -> str:
        """Why nothing is ordered."""
        prices = np.nan_to_num(self.decision.bar.close, nan=0.0)
        apart = float(np.abs(self.decision.tracker.weights - np.where(self.sizes > 0.0, self.sizes * prices, 0.0) / value).max())
        if apart < ALREADY:
            return "no orders: the holdings are already as decided"
        return f"no orders: fees, lots or limits leave the holdings as they are, up to {apart:.2%} from the decided weights"

    def _foot(
        self,
        table: pd.DataFrame,
        figures: dict[str, Any],
        error: tuple[float, int] | None,
        held: FloatArray,
        deltas: FloatArray,
        value: float,
    ) -> list[str]:
        """Lines below the table."""
        count = {side: int((table["side"] == side).sum()) for side in ("sell", "buy")}
        told = f"{_many(count['sell'], 'sell')}, {_many(count['buy'], 'buy')}" if len(table) else self._why_none(value)
        lines = [
            f"{told}; turnover {figures['turnover']:.2%} of an account of {value:,.2f}, costs {figures['cost']:,.2f}",
            f"cash after: {figures['cash_after']:,.2f} ({figures['cash_after'] / value:.2%})",
        ]
        if self.flow:
            lines.insert(1, f"{'paid in' if self.flow > 0.0 else 'taken out'} with these orders: {abs(self.flow):,.2f}")
        costs = self.decision.tracker.rebalancer.costs
        lines += fee_notes(costs, self.panel.n_assets, value)
        if error is not None:
            year = error[0] * self.panel.periods_per_year**0.5
            lines.append(
                f"expected tracking error: {1e4 * error[0]:.2g} bp per bar, {year:.2%} per year: these weights over the last "
                f"{error[1]} bars"
            )
        else:
            lines.append("expected tracking error: not known, too few bars on which all names have prices")
        lines.append(limits_in_words(self.decision.tracker, self.panel.symbols, self.decision.bar, held))
        lines += not_traded(self.decision.tracker, self.panel.symbols, self.decision.bar, self.sizes, deltas, value)
        if count["buy"] and figures["gap_covered"] is not None:
            lines.append(
                f"the cash pays for buys that open up to {max(figures['gap_covered'], 0.0):.2%} higher, if all sells fill at "
                "their last price; beyond that, all buys must be reduced by one factor (--gap 1% keeps cash for it)"
            )
        second = table[table["batch"] == 2]
        if len(second):
            lines.append(
                f"batch 2, {len(second)} buys worth {second['est_value'].sum():,.2f}, needs the money of the sells: send it when "
                "they have filled"
            )
        return lines


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _places(which: NDArray[np.bool_]) -> list[int]:
    return [int(i) for i in np.flatnonzero(which)]


def _in_batches(buys: list[dict[str, Any]], cash: float, gap: float) -> None:
    """Batch 1 for buys that the cash of today pays for, the largest first; batch 2 for those that need what the sells bring."""
    left = cash
    for order in sorted(buys, key=lambda one: (-one["est_value"], one["symbol"])):
        price = order["est_value"] * (1.0 + gap) + order["est_cost"]
        order["batch"] = 1 if price <= left else 2
        left -= price if price <= left else 0.0


def _costs_of(costs: CostModel, deltas: FloatArray, prices: FloatArray) -> FloatArray:
    """Fee and slippage of each order."""
    slip = np.abs(costs.fill_prices(deltas, prices) - prices) * np.abs(deltas)
    return np.asarray(costs.fees(deltas, prices) + slip)
