"""The cost model in backtrader's terms, and back: what a broker was told to charge, as a cost model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import backtrader as bt
import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel, outcome_of_fills
from tracker_strategies.execution.named_costs import NamedCosts

FloatArray = NDArray[np.float64]


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


class FeesOfRun(TrackerCommission):
    """What a name pays in one run, because a param of a tracker says so: the next run of the same broker begins without it."""


def charge(broker: Any, costs: CostModel) -> None:
    """Make a backtrader broker charge these costs, for every data.

    Examples
    --------
    >>> import backtrader as bt
    >>> from tracker_strategies import CostModel, charge
    >>> cerebro = bt.Cerebro()
    >>> charge(cerebro.broker, CostModel(bps=5, min_fee=1.0))
    """
    broker.addcommissioninfo(TrackerCommission(costs=costs))
    slip = costs.slippage_bps * 1e-4
    # slip_out: daily files often carry only closes, and a fill limited to that bar's range would never slip at all.
    broker.set_slippage_perc(slip, slip_open=True, slip_match=True, slip_out=True)


def charge_by_name(broker: Any, costs: CostModel, names: Sequence[str], *, of_run: bool = False) -> None:
    """Make a broker charge each of these names what it pays, where that differs from name to name; nothing without names.

    With `of_run`, until the next run begins: :func:`costs_of_run`.

    Raises
    ------
    ParameterError
        It has been told otherwise for one of them.
    """
    if not isinstance(costs, NamedCosts) or not names:
        return
    kind = FeesOfRun if of_run else TrackerCommission
    for name, own in zip(names, costs.each, strict=True):
        known = broker.comminfo.get(name)
        if known is None:
            broker.addcommissioninfo(kind(costs=own), name=name)
        elif not (isinstance(known, TrackerCommission) and known.p.costs == own):
            raise ParameterError(f"fees: the broker has a commission for {name} already; keep one of them")


def charged(broker: Any) -> CostModel | None:
    """The costs that :func:`charge` gave a broker; None for one that was told in another way what to charge."""
    scheme = getattr(broker, "comminfo", {}).get(None)
    return scheme.p.costs if isinstance(scheme, TrackerCommission) else None


@dataclass(frozen=True)
class SchemeCosts(CostModel):
    """Costs of commission schemes that only backtrader knows: asked order by order, hence slower.

    Parameters
    ----------
    schemes : tuple of N bt.CommInfoBase
        One per asset.
    slip_fixed : float
        Slippage in money per share.
    """

    schemes: tuple[Any, ...] = ()
    slip_fixed: float = 0.0

    proportional = property(lambda self: False)
    free = property(lambda self: False)
    by_value = property(lambda self: False)

    def fill_prices(self, deltas: FloatArray, prices: FloatArray) -> FloatArray:
        """Quoted prices, moved against the order."""
        return np.asarray(super().fill_prices(deltas, prices) + np.sign(deltas) * self.slip_fixed)

    def taken(self, which: Any) -> CostModel:
        """Of some of the assets."""
        own = np.arange(len(self.schemes))[slice(None) if which is None else which]
        return replace(self, schemes=tuple(self.schemes[i] for i in own))

    def fees(self, deltas: FloatArray, prices: FloatArray) -> FloatArray:
        """What each scheme charges."""
        fills = self.fill_prices(deltas, prices)
        rows = zip(self.schemes, deltas.tolist(), fills.tolist(), strict=True)
        return np.array([scheme.getcommission(size, price) if size else 0.0 for scheme, size, price in rows])

    def outcome(self, deltas: FloatArray, prices: FloatArray) -> tuple[float, float, float]:
        """Change of cash, value traded and costs."""
        return outcome_of_fills(self, deltas, prices)


def is_simple(scheme: Any) -> bool:
    """Whether a commission scheme is one of backtrader's own, stock-like and without leverage, so that its params say all."""
    p = scheme.p
    known = type(scheme) in (TrackerCommission, bt.CommInfoBase, bt.CommissionInfo)
    plain = p.leverage == 1.0 and p.mult == 1.0 and not (p.interest or p.margin or p.automargin)
    return known and bool(scheme.stocklike) and plain


def costs_of(broker: Any, assets: Sequence[Any] = ()) -> CostModel:
    """What a broker charges, read from its commission schemes and slippage: ``broker.setcommission(...)`` works as usual."""
    p, default = broker.p, broker.comminfo[None]
    slippage = 1e4 * float(getattr(p, "slip_perc", 0.0)) if getattr(p, "slip_open", False) else 0.0
    fixed = float(getattr(p, "slip_fixed", 0.0)) if getattr(p, "slip_open", False) else 0.0
    if not default.stocklike:
        raise ParameterError(
            "the broker charges margin, as for futures; a long-only tracker needs a commission scheme for stocks"
        )
    levered = [scheme.p.leverage for scheme in broker.comminfo.values() if scheme.p.leverage != 1.0]
    if levered:
        raise ParameterError(
            f"the broker lends money (leverage={levered[0]:g}); a long-only tracker invests only its own money: set leverage=1"
        )
    others = [scheme for name, scheme in broker.comminfo.items() if name is not None]
    ours = all(isinstance(scheme, TrackerCommission) for scheme in others)
    if fixed or not (ours and is_simple(default)):
        return SchemeCosts(slippage_bps=slippage, schemes=tuple(broker.getcommissioninfo(d) for d in assets), slip_fixed=fixed)
    if others and len(assets):
        return NamedCosts.of([_simple_costs(broker.getcommissioninfo(d), slippage) for d in assets], slippage)
    return _simple_costs(default, slippage)


def costs_of_run(broker: Any, assets: Sequence[Any], *, first: bool) -> CostModel:
    """The same when a tracker is made; the first of a run takes away the fees by name that the run before has left."""
    if first:
        for name in [name for name, scheme in broker.comminfo.items() if isinstance(scheme, FeesOfRun)]:
            del broker.comminfo[name]
    return costs_of(broker, assets)


def _simple_costs(scheme: Any, slippage: float) -> CostModel:
    if isinstance(scheme, TrackerCommission):
        own: CostModel = scheme.p.costs
        return replace(own, slippage_bps=slippage)
    percent = scheme._commtype == bt.CommInfoBase.COMM_PERC
    return CostModel(
        bps=1e4 * scheme.p.commission if percent else 0.0,
        per_share=0.0 if percent else scheme.p.commission,
        slippage_bps=slippage,
    )


def cost_settings(broker: Any) -> tuple[Any, ...]:
    """Everything about a broker that says what an order costs."""
    p, schemes = broker.p, broker.comminfo
    return (p.filler, p.slip_perc, p.slip_fixed, p.slip_open, p.slip_out, *schemes.values())
