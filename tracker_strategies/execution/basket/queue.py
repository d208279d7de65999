"""Baskets of trackers in the queue of a backtrader broker.

A basket stands among the submitted orders where its tracker put it. On the broker's next turn, when the open and the cash that is
left at that place are known, it becomes ordinary orders, which the broker's own code checks and fills in the order of submission.
Cash, value, positions, notifications, and the orders of everybody else are backtrader's, by backtrader's code.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import backtrader as bt
from backtrader.position import Position

from tracker_strategies.execution.basket.basket import Basket, merged
from tracker_strategies.execution.basket.part import Part
from tracker_strategies.execution.commission import cost_settings

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
    #: By how much of its price the order that is filling moves it.
    _impact = 0.0

    def init(self) -> None:
        """Start of a run: no positions, no trackers."""
        super().init()
        self.open_house()

    def open_house(self) -> None:
        """No trackers yet."""
        #: Parts of the account by the id of their tracker.
        self.parts: dict[int, Part] = {}
        self._trackers: list[Any] = []
        self._line: list[Basket] = []
        self._settings: tuple[Any, ...] = ()
        self._turn = 0
        #: Money that has come in so far, as far as the account's value shows it: backtrader books waiting cash as soon as
        #: somebody asks for the value of a feed, and the account's value shows it on the next bar.
        self.paid_in = self._paid_in = 0.0

    def admit(self, strategy: Any, part: Part) -> None:
        """Take the tracker that owns a part of the account."""
        self.parts[id(strategy)] = part
        self._trackers.append(strategy)
        self._settings = cost_settings(self)

    def take_in_kind(self, worth: float) -> None:
        """Shares of this worth are there before the first bar: the account, and the fund, begin with them."""
        self._value += worth
        self._valuelever, self._valuemkt = self._value, self._value - self.cash
        self._fundshares = self._value / self._fundval

    def submit_basket(self, basket: Basket) -> None:
        """Take the orders of a tracker; they fill on the broker's next turn on a new bar."""
        basket.stamp()
        basket.ahead = {id(order) for order in self._orders_in_line()}
        self._line.append(basket)
        self.notifs.append(basket)  # where the news of its submission belongs

    def _orders_in_line(self) -> deque[Any]:
        """Orders of which the broker has yet to decide, in the order of submission."""
        return self.submitted if self.p.checksubmit else self.pending

    def book_out(self, owner: Any, place: int, price: float) -> None:
        """Book a tracker's position out at a price, without an order: there is no market left that could fill one."""
        part = self.parts[id(owner)]
        size = float(part.owned.sizes[place])
        self.cash += size * price
        part.booked(place, -size, size * price)
        data = part.owned.datas[place]
        held = self.positions[data]
        held.update(-size, price, data.datetime.datetime())
        if abs(held.size) <= ROUNDING * size:
            held.fix(0, 0.0)

    # -- backtrader's hooks ----------

    def get_notification(self) -> Any:
        """The next piece of news."""
        news = super().get_notification()
        while isinstance(news, Basket):
            news = super().get_notification()
        return news

    def next(self) -> None:
        """The broker's turn on a bar."""
        self._turn += 1
        self.renew_costs()
        self.book_flows()
        if self._line:
            self._unpack()
        super().next()

    def book_flows(self) -> None:
        """Book what trackers know to be paid in or taken out with these fills."""
        for tracker in self._trackers:
            tracker.route.book_flow()

    def pay_in(self, part: Part, amount: float, value: float) -> None:
        """Book money that comes in (+) or goes out (-) for a tracker's part while the account is worth so much."""
        self.cash, self.paid_in, self._paid_in = (each + amount for each in (self.cash, self.paid_in, self._paid_in))
        self._fundshares *= 1.0 + amount / value
        part.receive(amount)

    def renew_costs(self) -> bool:
        """Tell trackers when commission or slippage have changed; whether they have."""
        settings = cost_settings(self)
        if settings == self._settings:
            return False
        self._settings = settings
        for tracker in self._trackers:
            tracker.read_costs()
        return True

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
        """Execute an order, for real or to see what it would cost; keep the books of trackers.

        Orders of a basket are fitted to the cash that is there at their fill, so that the check never finds them wanting.
        """
        if ago is None or price is None:
            after = super()._execute(order, ago, price, cash, position, dtcoc)
            return max(after, 0.0) if ago is None and hasattr(order, "basket") else after
        part = None if order.exectype == bt.Order.Historical else self.parts.get(id(order.owner))
        if part is None:
            return super()._execute(order, ago, price, cash, position, dtcoc)
        place = part.owned.find(order.data)
        if place is not None and self._goes_short(order, float(part.owned.sizes[place])):
            return None
        bits = len(order.executed.exbits)
        super()._execute(order, ago, price, cash, position, dtcoc)
        for bit in list(order.executed.exbits)[bits:]:
            part.booked(place, bit.size, -bit.size * bit.price - bit.comm)
        if order.status == bt.Order.Partial and abs(order.executed.remsize) <= 1e-12 * abs(order.size):
            for one in (order, self.notifs[-1]):  # rounding, where a fraction closes a neighbour's short: the order is done
                one.executed.remsize = 0.0
                one.completed()
        return None

    def _goes_short(self, order: Any, held: float) -> bool:
        """Reject an order that sells more than its tracker holds."""
        size = order.executed.remsize
        if not held + size < -ROUNDING * abs(size):
            return False
        order.addinfo(
            reason=f"a tracker is long only: it holds {held:g} of {order.data._name} and this order sells {-size:g}; "
            "sell at most what it holds, or go short from a separate strategy"
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
        if not order.executed.remsize or not basket.route.may_fill(order):  # the cash did not reach, or the slot is not free
            order.cancel()
            self.notify(order)
            self._ococheck(order)
            return
        p, impact = self.p, basket.route.impact
        coc, coo = p.coc, p.coo
        p.coc, p.coo = basket.at_close, False
        order.moved = self._impact = 0.0 if impact is None else impact.moved_by(order.place, order.executed.remsize)
        try:
            super()._try_exec_market(order, popen, phigh, plow)
        finally:
            p.coc, p.coo, self._impact = coc, coo, 0.0
        if order.alive():
            basket.orders.append(order)

    def _slip_up(self, pmax: float, price: float, doslip: bool = True, lim: bool = False) -> float | None:
        """The price of a buy after slippage, and after the impact of a tracker's order, which may leave the bar's range."""
        slipped: float | None = super()._slip_up(pmax, price, doslip, lim)
        return slipped if slipped is None or not self._impact else slipped + self._impact * price

    def _slip_down(self, pmin: float, price: float, doslip: bool = True, lim: bool = False) -> float | None:
        """The price of a sell, likewise."""
        slipped: float | None = super()._slip_down(pmin, price, doslip, lim)
        return slipped if slipped is None or not self._impact else slipped - self._impact * price

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

    def _unpack(self) -> None:
        """Put the orders of each basket where it stands in line, as the broker's check of the orders goes along it: what is left
        for a basket is what those before it leave. A basket that waits for a new bar stays.
        """
        line, self._line = self._line, []
        orders = self._orders_in_line()
        queue, positions, refused = deque[Any](), dict[Any, Position](), set[int]()
        cash = self.cash  # by the check, which is made at closes
        left = self.cash  # by what baskets really pay
        spare = self.cash - sum(part.cash for part in self.parts.values() if part.cash is not None)  # nobody's part
        checked: float | None = None
        for item in merged(line, orders):
            if isinstance(item, Basket):
                made = self._orders_of(item, left, spare, checked)
                queue.extend(made)
                left += item.route.cash_flow(*item.trades(made))
                for order in made:
                    cash = self._pretend(order, cash, positions)
                continue
            queue.append(item)
            if not self.p.checksubmit:
                continue  # nothing is checked
            if item.parent is None or item.parent.ref not in refused:  # else it will be rejected with its parent
                after = self._pretend(item, cash, positions)
                left += after - cash
                spare += after - cash
                checked = cash = after
            if not cash >= 0.0:
                refused.add(item.ref)
        orders.clear()
        orders.extend(queue)

    def _orders_of(self, basket: Basket, cash: float, spare: float, checked: float | None) -> list[Any]:
        """The orders of a basket, with this cash left, so much of it nobody's; `checked`: what the check has left when orders of
        others are ahead.
        """
        route = basket.route
        deltas = route.wanted(basket, cash, spare, 0.0 if checked is None else checked)
        if deltas is None:
            basket.ahead = set()
            self._line.append(basket)
            return []
        if checked is None and route.sized_at_close and len(self.cerebro.runningstrats) > len(self._trackers):
            checked = self.cash
        if checked is not None:  # others count on cash at closes: so must these orders, also where a sell could not be sent
            deltas = route.affordable(deltas, basket.closes, checked)
        # Submitted as any order, and what comes of it put where the basket stands: orders in the queue, news among the news.
        line, news = self._orders_in_line(), self.notifs
        before, self.notifs = list(line), deque()
        line.clear()
        for order in basket.make_orders(deltas):
            self._ocoize(order, None)
            self.submit(order)
        made, told = list(line), list(self.notifs)
        line.clear()
        line.extend(before)
        for notice in told:
            if notice.status == bt.Order.Submitted:
                notice.plen = basket.length_of(notice)
        queued = list(news)
        place = next((i for i, item in enumerate(queued) if item is basket), len(queued))
        self.notifs = deque([*queued[:place], *told, *queued[place + 1 :]])
        return made

    def _fit(self, basket: Basket) -> None:
        """Shrink the buys of a basket to the cash that is left when its first order is about to fill."""
        basket.turn = self._turn
        deltas, quoted = basket.trades(basket.orders)
        if (fitting := basket.route.affordable(deltas, quoted, self.cash)) is not deltas:
            basket.shrink(fitting)
