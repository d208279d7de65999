"""Baskets of trackers in the queue of a backtrader broker.

A basket stands among the submitted orders where its tracker put it. On the broker's next turn, when the open and the cash that is
left at that place are known, it becomes ordinary orders, which the broker's own code checks and fills in the order of submission.
Cash, value, positions, notifications, and the orders of everybody else are backtrader's, by backtrader's code.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import backtrader as bt
import numpy as np
from backtrader.position import Position

from tracker_strategies.execution.basket import Basket
from tracker_strategies.execution.part import Part

#: Shares below zero that are rounding, not a short position, relative to what was sold.
ROUNDING = 1e-9


class BasketQueue(bt.brokers.BackBroker):
    """A ``BackBroker`` whose queue takes baskets, and which keeps the books of trackers."""

    cash: float
    submitted: deque[Any]
    pending: deque[Any]
    notifs: deque[Any]
    orders: Any
    positions: Any

    def init(self) -> None:
        """Start of a run: no positions, no trackers."""
        super().init()
        self.open_house()

    def open_house(self) -> None:
        """No trackers yet."""
        #: Parts of the account by the id of their tracker.
        self.parts: dict[int, Part] = {}
        self._turn = 0
        #: Money that has come in so far, as far as the account's value shows it: backtrader books waiting cash as soon as
        #: somebody asks for the value of a feed, and the account's value shows it on the next bar.
        self.paid_in = self._paid_in = 0.0

    def admit(self, strategy: Any, part: Part) -> None:
        """Take the tracker that owns a part of the account."""
        self.parts[id(strategy)] = part

    def submit_basket(self, basket: Basket) -> None:
        """Take the orders of a tracker; they fill on the broker's next turn on a new bar."""
        basket.stamp()
        self._stand(basket)
        self.notifs.append(basket)  # where the news of its submission belongs

    def _stand(self, basket: Basket) -> None:
        (self.submitted if self.p.checksubmit else self.pending).append(basket)

    def settle(self, owner: Any, place: int, price: float) -> None:
        """Book a tracker's position out at a price, without an order: there is no market left that could fill one."""
        part = self.parts[id(owner)]
        size = float(part.book.sizes[place])
        self.cash += size * price
        part.booked(place, -size, size * price)
        self.positions[part.book.datas[place]].update(-size, price)

    # -- backtrader's hooks ----------

    def get_orders_open(self, safe: bool = False) -> list[Any]:
        """Orders that are still to be filled."""
        return [o.clone() if safe else o for o in self.pending if not isinstance(o, Basket)]

    def get_notification(self) -> Any:
        """The next piece of news."""
        news = super().get_notification()
        while isinstance(news, Basket):
            news = super().get_notification()
        return news

    def next(self) -> None:
        """The broker's turn on a bar."""
        self._turn += 1
        waiting = self._unpack()
        super().next()
        for basket in waiting:
            self._stand(basket)

    def check_submitted(self) -> None:
        """Accept the orders that the cash can pay for at the prices of their submission, in that order.

        Those of a basket are fitted to the cash that is there at their fill, so that they are always accepted.
        """
        if not any(hasattr(order, "basket") for order in self.submitted):
            super().check_submitted()
            return
        cash, positions = self.cash, dict[Any, Position]()
        while self.submitted:
            order = self.submitted.popleft()
            if self._take_children(order) is None:
                continue
            cash = self._pretend(order, cash, positions)
            if hasattr(order, "basket"):
                cash = max(cash, 0.0)
            if cash >= 0.0:
                self.submit_accept(order)
                continue
            order.margin()
            self.notify(order)
            self._ococheck(order)
            self._bracketize(order, cancel=True)

    def _pretend(self, order: Any, cash: float, positions: dict[Any, Position]) -> float:
        """Cash after an order at the price of its submission, and what it does to copies of the positions."""
        held = positions.setdefault(order.data, self.positions[order.data].clone())
        return float(self._execute(order, cash=cash, position=held))

    def _execute(
        self,
        order: Any,
        ago: int | None = None,
        price: float | None = None,
        cash: float | None = None,
        position: Any = None,
        dtcoc: float | None = None,
    ) -> Any:
        """Execute an order, for real or to see what it would cost; keep the books of trackers."""
        part = self.parts.get(id(order.owner)) if ago is not None and price is not None else None
        place = None if part is None else part.book.find(order.data)
        if part is None:
            return super()._execute(order, ago, price, cash, position, dtcoc)
        if place is not None and self._goes_short(order, float(part.book.sizes[place])):
            return None
        before, done = self.cash, order.executed.size
        super()._execute(order, ago, price, cash, position, dtcoc)
        part.booked(place, order.executed.size - done, self.cash - before)
        return None

    def _goes_short(self, order: Any, held: float) -> bool:
        """Reject an order that sells more than its tracker holds."""
        size = order.executed.remsize
        if not held + size < -ROUNDING * abs(size):
            return False
        order.addinfo(
            reason=f"a tracker is long only: it holds {held:g} of {order.data._name} and this order sells {-size:g}; "
            "sell at most what it holds, or go short from a strategy of its own"
        )
        order.reject()
        self.notify(order)
        self._ococheck(order)
        self._bracketize(order, cancel=True)
        return True

    def _try_exec_market(self, order: Any, popen: float, phigh: float, plow: float) -> None:
        """A market order. One of a basket fills as its tracker asks, whatever the broker does with those of others."""
        basket: Basket | None = getattr(order, "basket", None)
        if basket is None:
            super()._try_exec_market(order, popen, phigh, plow)
            return
        if basket.turn != self._turn:
            self._fit(basket)
        basket.orders.remove(order)  # the first, as a rule
        if not order.executed.remsize:  # the cash did not reach
            order.cancel()
            self.notify(order)
            self._ococheck(order)
            return
        p = self.p
        coc, coo = p.coc, p.coo
        p.coc, p.coo = basket.at_close, False
        try:
            super()._try_exec_market(order, popen, phigh, plow)
        finally:
            p.coc, p.coo = coc, coo
        if order.alive():
            basket.orders.append(order)

    def _get_value(self, datas: Any = None, lever: bool = False) -> float:
        """Value of the account (or of some feeds) at the current closes; cash that waits is booked."""
        self._take_in(datas)
        return float(super()._get_value(datas, lever))

    def _take_in(self, datas: Any) -> None:
        """Tell those who own a part that cash is about to be booked."""
        if self._cash_addition:
            added = float(sum(self._cash_addition))
            self._paid_in += added
            for part in self.parts.values():
                part.deposit(added)
        if datas is None:
            self.paid_in = self._paid_in

    # -- from baskets to orders ----------

    def _unpack(self) -> list[Basket]:
        """Put the orders of each basket where it stands in the queue; return those that wait for a new bar."""
        waiting: list[Basket] = []
        if any(isinstance(item, Basket) for item in self.submitted):
            self._unpack_submitted(waiting)
        if any(isinstance(item, Basket) for item in self.pending):
            items, self.pending = self.pending, deque()
            for item in items:
                if not isinstance(item, Basket):
                    self.pending.append(item)
                    continue
                for order in self._orders_of(item, self.cash, None, waiting):
                    self.submit_accept(order)
        return waiting

    def _unpack_submitted(self, waiting: list[Basket]) -> None:
        """Follow the broker's check of the orders: what is left for a basket is what those before it leave."""
        queue, positions, refused = deque[Any](), dict[Any, Position](), set[int]()
        cash = self.cash  # by the check, which is made at closes
        left = self.cash  # by what baskets really pay
        checked: float | None = None
        for item in self.submitted:
            if isinstance(item, Basket):
                orders = self._orders_of(item, left, checked, waiting)
                queue.extend(orders)
                left += item.desk.cost_of(orders)
                for order in orders:
                    cash = max(self._pretend(order, cash, positions), 0.0)
                continue
            queue.append(item)
            if item.parent is None or item.parent.ref not in refused:  # else it will be rejected with its parent
                after = self._pretend(item, cash, positions)
                left += after - cash
                checked = cash = after
            if not cash >= 0.0:
                refused.add(item.ref)
        self.submitted = queue

    def _orders_of(self, basket: Basket, cash: float, checked: float | None, waiting: list[Basket]) -> list[Any]:
        """The orders of a basket, with this cash left; `checked`: what the check has left when orders of others are ahead."""
        desk = basket.desk
        deltas = desk.wanted(basket, cash)
        if deltas is None:
            waiting.append(basket)
            return []
        if checked is not None:  # others count on cash at closes: so must these orders
            deltas = desk.affordable(deltas, basket.closes, checked)
        orders = basket.make_orders(deltas)
        for order in orders:
            self._ocoize(order, None)
            self._pchildren[order.ref].append(order)
            self.orders.append(order)
        news = [order.clone() for order in orders]
        queued = list(self.notifs)
        place = next((i for i, item in enumerate(queued) if item is basket), len(queued))
        self.notifs = deque([*queued[:place], *news, *queued[place + 1 :]])
        return orders

    def _fit(self, basket: Basket) -> None:
        """Shrink the buys of a basket to the cash that is left when its first order is about to fill."""
        basket.turn = self._turn
        deltas, quoted = np.zeros(len(basket.closes)), np.zeros(len(basket.closes))
        for order in basket.orders:
            deltas[order.place] = order.executed.remsize
            quoted[order.place] = basket.closes[order.place] if basket.at_close else order.data.open[0]
        fitting = basket.desk.affordable(deltas, quoted, self.cash)
        if fitting is not deltas:
            basket.shrink(fitting)
