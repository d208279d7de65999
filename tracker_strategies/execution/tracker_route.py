"""The route of a tracker in a backtrader run: what it owns, and how its orders get into the broker's queue."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import AccountError
from tracker_strategies.execution.basket.basket import Basket
from tracker_strategies.execution.basket.order_reader import OrderReader
from tracker_strategies.execution.basket.part import Part
from tracker_strategies.execution.fill_prices import require_opens
from tracker_strategies.execution.gate import Bar, PanelGate, PriceGate
from tracker_strategies.execution.holdings.flows import Flows, closed, opened, worth_at_open
from tracker_strategies.execution.order_route import Fills
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.execution.volume.liquidity import Impact

FloatArray = NDArray[np.float64]


class TrackerRoute:
    """The way from a tracker to a :class:`~tracker_strategies.execution.basket.broker.BasketBroker`.

    Parameters
    ----------
    strategy : TrackerStrategy
    part : Part
        What the strategy owns in the account.
    flows : Flows, optional
        What is paid in and taken out on known dates.
    """

    def __init__(self, strategy: Any, part: Part, flows: Flows | None = None) -> None:
        self.strategy, self.part, self.assets, self._broker = strategy, part, part.owned.datas, strategy.broker
        self._orders = OrderReader(strategy, self.assets)
        self._cash: float | None = None  # at the basket's place in the queue, while it is being asked what to trade
        self._asked: FloatArray | None = None
        self.flows = flows
        self.tracker = strategy.tracker
        self.read_from(strategy.gate)
        #: What was booked on the broker's latest turn, and what the account was worth before.
        self.booked: tuple[float, float] | None = None
        self._due: tuple[float, float] | None = None  # to be booked with fills at the close

    def read_from(self, gate: PriceGate) -> None:
        """Take the gate through which prices are read."""
        self.gate, self._rows = gate, isinstance(gate, PanelGate)

    def is_new(self, bar: Bar) -> bool:
        """Whether a bar is another one than the latest that was decided on."""
        last = self.tracker.bar
        if bar is last or bar is self.gate.nothing:
            return False
        return self._rows or last is None or bool(bar.date != last.date)  # a new row of a panel is always another date

    def bar_at_open(self) -> Bar | None:
        """The bar whose open has come, before its close is known to the strategy; None when there is no new one."""
        bar = self.gate.read()
        if not self.is_new(bar):
            return None
        if not self._rows and self.tracker.waits:
            require_opens(bar, self.strategy.symbols)
        return bar

    @property
    def sized_at_close(self) -> bool:
        """Whether the orders for the open are sized by the closes before it."""
        return self.tracker.fill is FillMode.NEXT_OPEN

    def cash(self) -> float:
        """Cash of the tracker's part; of the account, when it has no part of its own."""
        if self.part.cash is not None:
            return self.part.cash
        return float(self._broker.cash) if self._cash is None else self._cash

    def sizes(self) -> FloatArray:
        """Shares that the tracker has bought."""
        return self.part.owned.sizes

    def value(self) -> float:
        """Value of the tracker's part at the current closes; of the account, when it has no part of its own."""
        if self.part.cash is None:
            return float(self._broker.getvalue())
        held, close = self.sizes(), self.gate.read().close
        own = held != 0.0
        return self.part.cash + float(held[own] @ close[own])

    def pending(self) -> FloatArray | None:
        """Shares in orders of this tracker that are still open."""
        broker = self._broker
        return self._orders.pending() if broker.pending or broker.submitted else None

    def submit(self, deltas: FloatArray) -> None:
        """Send market orders: to fill at the closes of this bar, or, when the open has asked for them, at the open."""
        if self._cash is not None:
            self._asked = deltas
        else:
            self._broker.submit_basket(Basket(self, self.gate.now(), self.tracker.bar.close, deltas))

    def close(self, bar: Any) -> None:
        """Close of a bar: the tracker decides, knowing what is booked with its fills; then it waits for the open if it has to."""
        tracker, flow, flows_at_open = self.tracker, 0.0, False
        if self.flows is not None:
            flow, flows_at_open = self._flow_at_close(self.flows, bar), tracker.fill is not FillMode.CLOSE
        try:
            if flow:
                closed(tracker, bar, self, flow)
            else:
                tracker.close(bar, self)
        except AccountError as problem:
            if self.value() > 0.0:
                raise
            day = str(np.datetime64(bar.date, "D"))
            raise AccountError(f"on {day} withdrawals and losses had used up the account: {problem}") from None
        if flow:
            self._due = flow, self.value()
        if tracker.waits or flows_at_open:
            self._broker.submit_basket(Basket(self, self.gate.now(), bar.close))

    def _flow_at_close(self, flows: Flows, bar: Any) -> float:
        """What is paid in or taken out with fills at this close. On the first bar all that is to come is checked."""
        tracker = self.tracker
        if tracker.bar is None:
            flows.check(bar.date, bar.date + np.timedelta64(40_000, "D"), limited=tracker.liquidity is not None)
            return 0.0
        return flows.due(tracker.bar.date, bar.date) if tracker.fill is FillMode.CLOSE else 0.0

    def book_flow(self) -> None:
        """The broker's turn on a bar begins: book what is due with its fills."""
        self.booked, due, self._due = None, self._due, None
        if self.flows is None or (last := self.tracker.bar) is None:
            return
        if self.tracker.fill is not FillMode.CLOSE:
            bar = self.bar_at_open()
            flow = 0.0 if bar is None else self.flows.due(last.date, bar.date)
            due = (flow, self.cash() + worth_at_open(self.sizes(), bar) + self._of_others()) if flow else None
        if due is not None:
            self._broker.pay_in(self.part, *due)
            self.booked = due

    def _of_others(self) -> float:
        """Value of positions that are not the tracker's own, where the whole account is what counts."""
        if self.part.cash is not None or self._broker.owned is not None:
            return 0.0
        held = dict(zip(self.assets, self.sizes().tolist(), strict=True))
        return float(
            sum(
                (p.size - held.get(data, 0.0)) * data.open[0]
                for data, p in self._broker.positions.items()
                if p.size != held.get(data, 0.0)
            )
        )

    def wanted(self, basket: Basket, cash: float, spare: float = 0.0, checked: float = 0.0) -> FloatArray | None:
        """What a basket trades, now that the bar of its fill is there. None when there is no new bar yet.

        Parameters
        ----------
        cash : float
            What is left in the account at the basket's place.
        spare : float
            How much of that belongs to nobody's part; below zero when others have spent or ordered more than they have.
        checked : float
            What the broker's check of the orders ahead has left.
        """
        bar = None if basket.at_close else self.bar_at_open()
        if bar is None and not basket.at_close:
            return None
        own = self.part.cash
        if (own is not None or checked < 0.0) and self._is_refused(own, spare, checked):
            self.tracker.put_off()
            return np.zeros(len(self.assets))
        limit = cash if own is None else own + min(0.0, spare)
        if basket.deltas is not None:
            return self.affordable(basket.deltas, basket.closes, limit)
        asked = self.asked(cash, bar)
        if asked is None or bar is None:
            return np.zeros(len(self.assets))
        return asked if own is None else self.affordable(asked, bar.open, limit)

    def _is_refused(self, own: float | None, spare: float, checked: float) -> bool:
        """Whether the broker refuses what follows in line."""
        cash, dust = self._broker.cash, 1e-9 * self._broker.startingcash
        robbed = own is not None and own >= -dust and spare < -dust and cash < 0.0  # others have lost what is not theirs
        return bool(robbed or checked < min(0.0, cash))

    def asked(self, cash: float, bar: Any = None) -> FloatArray | None:
        """What the tracker sends at the open of a bar (that at which the run stands) when so much cash is left; None: nothing."""
        self._cash, self._asked, tracker, bar = cash, None, self.tracker, bar or self.gate.read()
        try:
            if self.booked is None:
                tracker.open(bar, self)
            else:
                opened(tracker, bar, self, self.booked[0])
        finally:
            self._cash = None
        return self._asked

    def affordable(self, deltas: FloatArray, prices: FloatArray, cash: float) -> FloatArray:
        """The trades, their buys shrunk by one factor where the cash does not reach, their sells to what is still held; the very
        array when neither is needed.
        """
        rebalancer, cash, sizes = self.tracker.market, self.part.available(cash), self.sizes()
        traded = deltas != 0.0
        held = bool((sizes + deltas >= -1e-12 * np.abs(deltas)).all())
        if held and cash + self.cash_flow(deltas, np.where(traded, prices, 0.0)) >= 0.0:
            return deltas
        fitting: FloatArray = rebalancer.fit(deltas, sizes, np.where(traded, prices, 1.0), cash)
        return fitting

    def may_fill(self, order: Any) -> bool:
        """Whether an order of a basket may fill now: a new name needs a slot, which a sell that did not fill still takes."""
        keeper, sizes = self.tracker.keeper, self.sizes()
        if keeper is None or order.executed.remsize < 0.0 or sizes[order.place] > 0.0:
            return True
        return bool(keeper.guard.may_enter(order.place, sizes))

    def cash_flow(self, deltas: FloatArray, prices: FloatArray) -> float:
        """What these trades do to the cash."""
        return float(self.tracker.market.costs.cash_flow(deltas, prices))

    @property
    def impact(self) -> Impact | None:
        """What the market charges for the orders that are filling; None when that does not depend on their size."""
        tracker = self.tracker
        costs = None if tracker.liquidity is None else tracker.market.costs
        return costs if isinstance(costs, Impact) else None

    def book_out(self, asset: int, price: float) -> None:
        """Book a position out at a price."""
        self._broker.book_out(self.strategy, asset, price)

    def fills(self) -> Fills | None:
        """What was executed on this bar."""
        basket: Fills | None = self._broker.filled(self.strategy)
        orders = [o for o in self.strategy._orderspending if not hasattr(o, "filled")]
        ordinary = self._orders.fills_of(orders) if orders else None
        return ordinary if basket is None else basket if ordinary is None else basket + ordinary
