"""The cost model in backtrader's terms, and back: what a broker was told to charge, as a cost model."""

from __future__ import annotations

from typing import Any

import backtrader as bt

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel


class TrackerCommission(bt.CommInfoBase):
    """backtrader commission scheme of a :class:`CostModel`: fractional shares, minimum fee, and 0 shares are worth 0 at any
    price.

    Params:
      - ``costs`` (:class:`CostModel`)
    """

    params = (("costs", CostModel()), ("stocklike", True), ("commtype", bt.CommInfoBase.COMM_PERC), ("percabs", True))

    def _getcommission(self, size: float, price: float, pseudoexec: bool) -> float:
        costs: CostModel = self.p.costs
        fee = abs(size) * (price * costs.bps * 1e-4 + costs.per_share)
        return max(fee, costs.min_fee) if size else 0.0

    def getsize(self, price: float, cash: float) -> float:
        """Fractional number of shares that cash buys."""
        return cash / price

    def getvaluesize(self, size: float, price: float) -> float:
        """Value of a position; a name that is not listed yet has no price, and no position either."""
        return size * price if size else 0.0

    def profitandloss(self, size: float, price: float, newprice: float) -> float:
        """Profit of a position against its price."""
        return size * (newprice - price) if size else 0.0


def charge(broker: Any, costs: CostModel) -> None:
    """Make a backtrader broker charge these costs, for every data."""
    broker.addcommissioninfo(TrackerCommission(costs=costs))
    slip = costs.slippage_bps * 1e-4
    # slip_out: daily files often carry only closes, and a fill limited to that bar's range would never slip at all.
    broker.set_slippage_perc(slip, slip_open=True, slip_match=True, slip_out=True)


def costs_of(broker: Any) -> CostModel:
    """What a broker charges, read from its commission scheme and slippage: ``broker.setcommission(...)`` works as usual."""
    info = broker.comminfo[None]
    slippage = 1e4 * float(getattr(broker.p, "slip_perc", 0.0)) if getattr(broker.p, "slip_open", False) else 0.0
    if isinstance(info, TrackerCommission):
        costs: CostModel = info.p.costs
        return CostModel(costs.bps, costs.per_share, costs.min_fee, slippage)
    if not info.stocklike:
        raise ParameterError("the broker charges margin, as for futures; a long-only tracker needs a stock-like scheme")
    percent = info._commtype == bt.CommInfoBase.COMM_PERC
    return CostModel(
        bps=1e4 * info.p.commission if percent else 0.0, per_share=0.0 if percent else info.p.commission, slippage_bps=slippage
    )
