"""BasketBroker: backtrader's broker, with a place for the baskets of trackers.

A basket stands in the queue of submitted orders where its tracker put it. On the broker's next turn, when the open and the cash
that is left at that place are known, it becomes ordinary orders, which the broker's own code checks and fills in the order of
submission. Cash, value, positions, notifications, and the orders of everybody else are backtrader's, by backtrader's code.

A tracker that is alone has a fast lane: as long as nothing but its baskets moves the account, all orders of a bar are filled by
a handful of vector operations. The first ordinary order, or a change of the broker's settings, closes the lane for the rest of
the run; positions and waiting baskets are handed over as they stand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import cache, partial
from typing import Any, cast

import backtrader as bt
import numpy as np
from backtrader.position import Position
from numpy.typing import NDArray

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.basket import Basket, fill_columns, tradable_prices
from tracker_strategies.execution.basket_orders import KeptOrders, announced
from tracker_strategies.execution.book import Book, Positions
from tracker_strategies.execution.commission import costs_of, is_simple
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.desk import Fills
from tracker_strategies.execution.listeners import listens, watches_trades
from tracker_strategies.execution.part import Part
from tracker_strategies.execution.sums import inner

FloatArray = NDArray[np.float64]

#: Shares below zero that are rounding, not a short position, relative to what was sold.
ROUNDING = 1e-9


class BasketBroker(bt.brokers.BackBroker):
    """A ``BackBroker`` that also takes baskets.

    Trackers turn the broker of their cerebro into one by themselves (:func:`host`). Use it as any other:
    ``cerebro.setbroker(BasketBroker())``.
    """

    cash: float
    submitted: deque[Any]
    pending: deque[Any]
    notifs: deque[Any]
    orders: Any
    positions: Any
    _fundval: float
    _fundshares: float

    def init(self) -> None:
        """Start of a run: no positions, no trackers."""
        super().init()
        self.open_house()

    def open_house(self) -> None:
        """No trackers yet."""
        self.orders = KeptOrders(self.orders)
        #: Parts of the account by the id of their tracker.
        self.parts: dict[int, Part] = {}
        #: The book of the fast lane; None when it is closed.
        self.book: Book | None = None
        self.costs = CostModel()
        self._settings: tuple[Any, ...] = ()
        self._gate: Any = None
        self._baskets: list[Basket] = []
        self._filled: dict[int, Fills] = {}
        self._turn = 0

    # -- trackers ----------

    def admit(self, strategy: Any, part: Part) -> None:
        """Take the tracker that owns a part of the account."""
        self.parts[id(strategy)] = part

    def open_lane(self, part: Part, gate: Any) -> bool:
        """Open the fast lane for the only strategy of a run, whose prices a gate reads; False if the settings forbid it."""
        if not takes_lane(self):
            return False
        self._gate, self.book, self.costs, self._settings = gate, part.book, costs_of(self), lane_settings(self)
        positions = Positions()
        positions.update(self.positions)
        positions.keep_in(part.book)
        self.positions = positions
        return True

    def leave_lane(self) -> None:
        """From now on every order is an ordinary one. What waits keeps its place before whatever comes next."""
        if self.book is None:
            return
        self.positions.release()
        self.book = None
        waiting, self._baskets = self._baskets, []
        for basket in waiting:
            self._queue(basket)

    def submit_basket(self, basket: Basket) -> None:
        """Take the orders of a tracker; they fill on the broker's next turn on a new bar."""
        if self.book is not None:
            self._baskets.append(basket)
        else:
            self._queue(basket)

    def _queue(self, basket: Basket) -> None:
        basket.stamp()
        (self.submitted if self.p.checksubmit else self.pending).append(basket)
        self.notifs.append(basket)  # where the news of its submission belongs

    def filled(self, owner: Any) -> Fills | None:
        """What the fast lane filled for a strategy on this bar."""
        return self._filled.get(id(owner))

    def settle(self, owner: Any, place: int, price: float) -> None:
        """Book a tracker's position out at a price, without an order: there is no market left that could fill one."""
        part = self.parts[id(owner)]
        size = float(part.book.sizes[place])
        self.cash += size * price
        part.booked(place, -size, size * price)
        if self.book is None:
            self.positions[part.book.datas[place]].update(-size, price)

    # -- backtrader's hooks ----------

    def submit(self, order: Any, check: bool = True) -> Any:
        """Take an ordinary order."""
        self.leave_lane()
        return super().submit(order, check)

    def add_order_history(self, orders: Iterable[Any], notify: bool = True) -> None:
        """Take orders of the past."""
        self.leave_lane()
        super().add_order_history(orders, notify)

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
        self._filled = {}
        if self.book is not None and self._settings != lane_settings(self):
            self.leave_lane()
        if self.book is not None:
            baskets, self._baskets = self._baskets, []
            for basket in baskets:
                self._fill(basket)
            self._get_value()
            return
        waiting = self._unpack()
        super().next()
        for basket in waiting:
            (self.submitted if self.p.checksubmit else self.pending).append(basket)

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
        basket.orders = [o for o in basket.orders if o is not order]
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
        """Value of the account (or of some feeds) at the current closes."""
        if self._cash_addition:
            added = float(sum(self._cash_addition))
            for part in self.parts.values():
                part.deposit(added)
        book = self.book
        if datas is not None or book is None:
            return float(super()._get_value(datas, lever))
        while self._cash_addition:
            extra = self._cash_addition.popleft()
            self._fundshares += extra / self._fundval
            self.cash += extra
        held = worth(book.sizes, self._gate.read().close)
        self._value = self._valuelever = self.cash + held
        self._fundval = self._value / self._fundshares
        self._valuemkt = self._valuemktlever = held
        self._leverage = held / (held or 1.0)
        return float(self._value)

    @property
    def _unrealized(self) -> float:
        """Gain of the open positions. In the fast lane it is worked out when asked for: nothing on a bar needs it."""
        if self.book is None:
            return self._gain
        return worth(self.book.sizes, self._gate.read().close) - float(self.book.cost.sum())

    @_unrealized.setter
    def _unrealized(self, value: float) -> None:
        self._gain = value

    # -- the fast lane ----------

    def _fill(self, basket: Basket) -> None:
        book, costs, desk = self.book, self.costs, basket.desk
        assert book is not None
        deltas = desk.wanted(basket, self.cash)
        if deltas is None:
            self._baskets.append(basket)  # no new bar yet
            return
        bar, when = self._gate.read(), self._gate.now()
        at_close = basket.at_close
        quoted = tradable_prices(bar, "open", deltas) if not at_close else np.where(deltas != 0.0, basket.closes, 0.0)
        flow, traded, paid = costs.outcome(deltas, quoted)
        if traded and self.cash + flow < 0.0:  # money was taken out in the meantime
            deltas = desk.affordable(deltas, quoted, self.cash)
            flow, traded, paid = costs.outcome(deltas, quoted)
        if not traded:
            return  # passive: no order at all
        owner = basket.owner
        before = (book.sizes, book.cost.copy()) if (heard := listens(owner)) else None
        self.cash += flow
        book.apply(deltas, costs.fill_prices(deltas, quoted))
        mine = Fills(traded, paid, partial(fill_columns, deltas, quoted, basket.when if at_close else when, costs))
        others = self._filled.get(id(owner))
        self._filled[id(owner)] = mine if others is None else others + mine
        self.orders.complete = heard
        if heard and before is not None:
            notices = announced(self, basket, mine.columns(), before, bar)
            self.orders.extend(notices[-len(notices) // 3 :])
            if watches_trades(owner) or owner.cerebro.p.quicknotify:
                self.notifs.extend(notices)  # the long way, on which backtrader keeps its trades
            else:
                owner._orderspending.extend(notices)

    # -- ordinary orders ----------

    def _unpack(self) -> list[Basket]:
        """Put the orders of each basket where it stands in the queue; return those that wait for a new bar."""
        waiting: list[Basket] = []
        if any(isinstance(item, Basket) for item in self.submitted):
            queue: deque[Any] = deque()
            cash, positions = self.cash, dict[Any, Position]()
            for item in self.submitted:
                orders = self._orders_of(item, cash, waiting) if isinstance(item, Basket) else [item]
                for order in orders:
                    cash = self._pretend(order, cash, positions)
                queue.extend(orders)
            self.submitted = queue
        if any(isinstance(item, Basket) for item in self.pending):
            items, self.pending = self.pending, deque()
            for item in items:
                if not isinstance(item, Basket):
                    self.pending.append(item)
                    continue
                for order in self._orders_of(item, self.cash, waiting):
                    self.submit_accept(order)
        return waiting

    def _orders_of(self, basket: Basket, cash: float, waiting: list[Basket]) -> list[Any]:
        deltas = basket.desk.wanted(basket, cash)
        if deltas is None:
            waiting.append(basket)
            return []
        orders = basket.make_orders(deltas)
        for order in orders:
            self._ocoize(order, None)
            self._pchildren[order.ref].append(order)
        self.orders.extend(orders)
        news = [order.clone() for order in orders]
        place = next((i for i, item in enumerate(self.notifs) if item is basket), None)
        if place is None:
            self.notifs.extend(news)
        else:
            self.notifs = deque([*list(self.notifs)[:place], *news, *list(self.notifs)[place + 1 :]])
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

    def __reduce__(self) -> Any:
        """Classes that :func:`hosting` has made are made again where they are read."""
        kind = type(self)
        return _unpickled, (kind.__dict__.get("host_of", kind),), self.__dict__


def host(broker: Any) -> BasketBroker:
    """The broker of a cerebro, able to take baskets from now on: it stays the object that it is.

    Raises
    ------
    ParameterError
        It is not of backtrader's own kind.
    """
    if not isinstance(broker, bt.brokers.BackBroker):
        raise ParameterError(
            f"trackers trade on backtrader's broker (BackBroker) or one derived from it, not on {type(broker).__name__}; "
            "leave cerebro's own broker in place, or use PaperStore for a paper account"
        )
    if not isinstance(broker, BasketBroker):
        kept = broker.__dict__
        gain, kind = kept.pop("_unrealized"), cast(Any, type(broker))
        broker.__class__ = hosting(kind)
        broker._unrealized = gain
        broker.open_house()
    taken: BasketBroker = broker
    return taken


@cache
def hosting(kind: Any) -> Any:
    """The class of brokers like these that take baskets."""
    if kind is bt.brokers.BackBroker or issubclass(kind, BasketBroker):
        return BasketBroker if kind is bt.brokers.BackBroker else kind
    return type(kind)(f"Basket{kind.__name__}", (BasketBroker, kind), {"host_of": kind})


def _unpickled(kind: Any) -> Any:
    return object.__new__(hosting(kind))


def takes_lane(broker: Any) -> bool:
    """Whether the settings of a broker allow the fast lane.

    Volume limits, fixed slippage, slippage kept within the bar's range, commission schemes for single names, leverage, interest,
    a past of orders or of the fund, and brokers of a class of their own work order by order.
    """
    p = broker.p
    slips = bool(p.slip_perc or p.slip_fixed)
    own_rules = set(broker.comminfo) != {None} or not is_simple(broker.comminfo[None]) or "host_of" in type(broker).__dict__
    past = broker._userhist or broker._fundhist
    return not (p.filler is not None or p.slip_fixed or (slips and not (p.slip_open and p.slip_out)) or own_rules or past)


def lane_settings(broker: Any) -> tuple[Any, ...]:
    """What must not change while the fast lane is open."""
    p, schemes = broker.p, broker.comminfo
    return (p.filler, p.slip_perc, p.slip_fixed, p.slip_open, p.slip_out, len(schemes), id(schemes[None]))


def worth(sizes: FloatArray, prices: FloatArray) -> float:
    """Value of positions; a name without a price (NaN) is not held."""
    held = inner(sizes, prices)
    if held != held:
        own = sizes != 0.0
        held = float(sizes[own].dot(prices[own]))
    return held
