"""A paper account as backtrader's broker.

Trackers send baskets, as to any broker. An order of a strategy's own waits in line here, as in backtrader's broker and by its
code: checked for cash, held back until its parent fills, cancelled with its group, expired. What differs is who fills it: every
night the orders in line are sent to the account, each under an id of its own, and on the next session they are told what the
journal says about that id. Run again from the first bar, the same orders find the same ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from backtrader import Order
from numpy.typing import NDArray

from tracker_strategies.execution.basket.basket import Basket
from tracker_strategies.execution.basket.broker import BasketBroker
from tracker_strategies.papertrade.brokers.base import (
    EXPIRED,
    GROUP_ENDED,
    NO_BAR,
    NOT_PAID,
    NOT_REACHED,
    PARTLY,
    TRIGGERED,
    Status,
)
from tracker_strategies.papertrade.brokers.order_types import OrderType, Terms
from tracker_strategies.papertrade.deciding.tickets import SingleOrder
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.live.orders import refusal, terms_of
from tracker_strategies.papertrade.live.payments import note_payments, refuse_cash
from tracker_strategies.papertrade.live.session_memory import Outcome

if TYPE_CHECKING:
    from tracker_strategies.papertrade.live.store import PaperStore

FloatArray = NDArray[np.float64]

#: After these an order goes on waiting: another session may fill it.
_WAITS = (NOT_REACHED, TRIGGERED, NO_BAR, GROUP_ENDED, PARTLY, EXPIRED)
_TRAIL = (Order.StopTrail, Order.StopTrailLimit)
_ROUNDING = 1e-9


class PaperBroker(BasketBroker):
    """A paper account as backtrader's broker: cash and positions are the journal's; orders end as the journal says."""

    def prepare(self, store: PaperStore) -> None:
        """Belong to a store."""
        self.store = store
        self._row = -1
        self._basket: Basket | None = None
        self._sent: list[Any] = []  # orders of baskets
        self._due = False  # whether there were any
        self._keys = 0
        self.rejected: list[str] = []  # at the order, on this session
        self.booked: tuple[float, float] | None = None  # a payment on this session, and what the account was worth before it
        self.setcash(store.account.config.cash)

    def start(self) -> None:
        """Before the first session; what cannot work is refused here."""
        self.store.check()
        super().start()

    def add_cash(self, cash: float) -> None:
        """Before the run it is remembered, and refused with everything else; then it is refused at once."""
        super().add_cash(cash) if self._row < 0 else refuse_cash(self, cash)

    # -- baskets of trackers ----------

    def open_lane(self, part: Any, gate: Any, planned: Any = None) -> bool:
        """Every order is the journal's business."""
        return False

    def submit_basket(self, basket: Basket) -> None:
        """Orders of a tracker: sent at once when it says what they are, at the next open when it says so then."""
        basket.stamp()
        if basket.deltas is not None:
            self._send(basket, basket.deltas)
        else:
            self._basket = basket

    def _send(self, basket: Basket, deltas: FloatArray | None) -> None:
        if deltas is not None and self.store.memory.row >= self.store.memory.opening:
            for order in basket.make_orders(deltas):
                order.submit(self)
                self._due = True
                self._sent.append(order)
                self.notify(order)

    def book_out(self, owner: Any, place: int, price: float) -> None:
        """Book a position out."""
        feed = self.parts[id(owner)].owned.datas[place]
        self.cash += self.positions[feed].size * price
        self.positions[feed].set(0, 0.0)
        self._take_sizes()

    def _take_sizes(self) -> None:
        """Trackers own what the account holds."""
        for part in self.parts.values():
            part.owned.sizes = np.array([float(self.positions[d].size) if d in self.positions else 0.0 for d in part.owned.datas])

    # -- orders one by one ----------

    def submit(self, order: Any, check: bool = True) -> Any:
        """Take an order, or reject it at once with the reason in ``order.info.reason``."""
        reason = refusal(order, self)
        if not reason:
            return super().submit(order, check)
        family = self._pchildren.pop(getattr(order.parent, "ref", order.ref), ())
        for one in (*family, order):  # a bracket without one of its orders is none
            self._reject(one, reason)
        return order

    def transmit(self, order: Any, check: bool = True) -> Any:
        """Send an order on; from now on it has a name that is the same in every run."""
        session = self.store.memory.session(self.store.memory.row)
        order.key = f"o{session.replace('-', '').replace(':', '')}x{self._keys}"
        self._keys += 1
        return super().transmit(order, check)

    def _line_up(self) -> None:
        """Orders that have come since are checked for cash; children of a parent that was filled take part."""
        while self._toactivate:
            self._toactivate.popleft().activate()
        self.check_submitted()

    def _reject(self, order: Any, reason: str) -> None:
        order.addinfo(reason=reason)
        order.reject(self)
        self.notify(order)
        text = f"{order.ordtypename()} {abs(order.size):g} {order.data._name} ({order.getordername()}) rejected: {reason}"
        self.store.put_notification(text, order)
        self.rejected.append(text)

    def _leave(self, order: Any, reason: str) -> None:
        """An order that left the line unfilled: its group and its children go with it."""
        if reason:
            order.addinfo(reason=reason)
        self.notify(order)
        self._ococheck(order)
        self._bracketize(order, cancel=True)

    # -- a session ----------

    def next(self) -> None:
        """The broker's turn on a bar: the orders of the session before have ended, and the account is what it is."""
        memory = self.store.memory
        if not self.cerebro.datas or memory.row < 0 or self._row == memory.row:
            return
        self._row, self._keys, self.rejected = memory.row, 0, []
        basket, self._basket = self._basket, None
        if basket is not None:
            self._send(basket, basket.route.asked(self.cash))
        self._line_up()
        sent, self._sent = self._sent, []
        for order in sent:
            self._end(order, memory.outcome(self._row, order.data._name))
        self._go_through_the_line()
        self.cash, sizes = memory.account(self._row)
        for symbol, place in memory.places.items():
            feed, size = self.cerebro.datasbyname.get(symbol), float(sizes[place])
            if feed is not None and (size or feed in self.positions):
                held = self.positions[feed]
                held.set(size, held.price if size else 0.0)
        self._take_sizes()
        note_payments(self)
        due, self._due = self._due, False
        self.store.begins(self._row, due=due)

    def _end(self, order: Any, outcome: Outcome | None) -> None:
        """Announce how an order of a basket ended."""
        order.accept(self)
        self.notify(order)
        if outcome is not None and outcome.filled:
            self._book(order, outcome)
        if order.status == Order.Completed:
            self.notify(order)
        elif outcome is not None and outcome.status is Status.REJECTED:
            self._reject(order, outcome.reason)
        else:
            if order.status == Order.Partial:
                self.notify(order)
            order.addinfo(reason="it was not sent" if outcome is None else outcome.reason)
            order.cancel()
            self.notify(order)

    def _go_through_the_line(self) -> None:
        """Once over all orders that wait, as backtrader's broker does."""
        self.pending.append(None)
        while (order := self.pending.popleft()) is not None:
            if order.expire():
                self._leave(order, EXPIRED)
            elif not order.active():
                self.pending.append(order)
            else:
                self._look_at(order)
                if order.alive():
                    self.pending.append(order)
                elif order.status == Order.Completed:
                    self._bracketize(order)

    def _look_at(self, order: Any) -> None:
        """What the session has done to an order."""
        memory, kind = self.store.memory, terms_of(order).kind
        outcome = memory.outcome(self._row, order.data._name, order.key)
        if outcome is not None and (terms := Terms.parse(outcome.due)) is not None and terms.kind is not kind:
            outcome = None  # a strategy that has changed since: the journal tells of another order
        if outcome is None:
            before = memory.session(self._row - 1)
            decided, why = memory.decisions.get(before, (None, ""))
            if decided is Kind.REFUSED:
                order.reject(self)
                self._leave(order, why)
            elif kind.at_once:
                order.cancel()
                self._leave(order, f"it was not sent before the open after {before}; orders are never sent late")
            return
        if outcome.filled:
            self._book(order, outcome)
            self.notify(order)
            self._ococheck(order)
        if order.status == Order.Completed:
            return
        order.triggered = order.triggered or outcome.reason == TRIGGERED
        if outcome.reason == NOT_PAID:
            order.margin()
        elif outcome.status is Status.REJECTED:
            order.reject(self)
        elif not (outcome.reason in _WAITS or (outcome.status is Status.UNSENT and not kind.at_once)):
            order.cancel()
        if not order.alive():
            self._leave(order, outcome.reason)
        elif outcome.reason in (NOT_REACHED, TRIGGERED) and kind is not OrderType.LIMIT and order.exectype in _TRAIL:
            order.trailadjust(order.data.close[0])

    def _book(self, order: Any, outcome: Outcome) -> None:
        """Book what was filled, in backtrader's terms."""
        scheme, held = self.getcommissioninfo(order.data), self.positions[order.data]
        size, price, before = outcome.filled, outcome.price, held.price
        psize, pprice, opened, closed = held.update(size, price, order.data.datetime.datetime())
        part = abs(closed / size)
        order.execute(
            order.data.datetime[0], size, price,
            closed, scheme.getvaluesize(-closed, before), outcome.fee * part,
            opened, scheme.getvaluesize(opened, price), outcome.fee * (1.0 - part),
            scheme.margin, scheme.profitandloss(-closed, before, price), psize, pprice,
        )  # fmt: skip
        order.addcomminfo(scheme)
        if abs(order.executed.remsize) <= _ROUNDING * abs(order.size):
            order.executed.remsize = 0.0
            order.completed()

    # -- the night ----------

    def wanted(self) -> tuple[FloatArray | None, list[tuple[int, float]], list[SingleOrder]]:
        """Units to buy and sell in baskets (None without any), positions that the strategy has booked out, and the orders that
        wait in line.
        """
        memory = self.store.memory
        _, sizes = memory.account(memory.row)
        out = []
        for symbol, place in memory.places.items():
            feed = self.cerebro.datasbyname.get(symbol)
            if sizes[place] and feed is not None and not self.positions[feed].size:
                out.append((place, float(feed.close[0])))
        self._line_up()
        singles = [
            SingleOrder(memory.places[o.data._name], o.executed.remsize, terms_of(o, rank, self), o.key)
            for rank, o in enumerate(o for o in self.pending if o.active())
        ]
        if not self._sent:
            return None, out, singles
        deltas = np.zeros(len(memory.places))
        for order in self._sent:
            deltas[memory.places[order.data._name]] += order.size
        return deltas, out, singles

    def turn_down(self, reason: str) -> None:
        """The account did not take the orders of this night."""
        sent, self._sent = self._sent, []
        for order in sent:
            order.addinfo(reason=reason)
            order.reject(self)
            self.notify(order)
        for order in [o for o in self.pending if o.active()]:
            if order in self.pending:  # not gone with another one
                self.pending.remove(order)
                order.reject(self)
                self._leave(order, reason)
