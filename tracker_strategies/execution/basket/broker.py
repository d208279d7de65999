"""BasketBroker: backtrader's broker with a place for the baskets of trackers, and a fast lane for a tracker that is alone.

As long as nothing but the baskets of the only strategy moves the account, all orders of a bar are filled by a handful of vector
operations. The first ordinary order, or a change of the broker's settings, closes the lane for the rest of the run; positions and
waiting baskets are handed over as they stand, and :mod:`~tracker_strategies.execution.basket.queue` goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from typing import Any, cast

import backtrader as bt
import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import ddot

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.basket.basket import Basket, fill_columns, tradable_prices
from tracker_strategies.execution.basket.kept_orders import KeptOrders
from tracker_strategies.execution.basket.listeners import ears_of
from tracker_strategies.execution.basket.orders import filled_basket
from tracker_strategies.execution.basket.part import Part
from tracker_strategies.execution.basket.positions import PositionArrays, Positions
from tracker_strategies.execution.basket.queue import BasketQueue
from tracker_strategies.execution.commission import TrackerCommission, costs_of, is_simple
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.order_route import Fills

FloatArray = NDArray[np.float64]


class BasketBroker(BasketQueue):
    """A ``BackBroker`` that also takes baskets.

    Trackers turn the broker of their cerebro into one by themselves (:func:`host`). Use it as any other:
    ``cerebro.setbroker(BasketBroker())``.
    """

    _fundval: float
    _fundshares: float

    def open_house(self) -> None:
        """No trackers yet."""
        super().open_house()
        self.orders = KeptOrders(self.orders)
        #: The positions of the fast lane; None when it is closed.
        self.owned: PositionArrays | None = None
        self.costs = CostModel()
        self.gate: Any = None
        self._baskets: list[Basket] = []
        #: What the fast lane filled on this bar: value traded, its costs, and what makes the executions.
        self._filled: list[tuple[float, float, tuple[Any, ...]]] = []

    def open_lane(self, part: Part, gate: Any, planned: CostModel | None = None) -> bool:
        """Open the fast lane for the only strategy of a run, whose prices a gate reads and which plans with these costs; False if
        the settings forbid it.
        """
        if not takes_lane(self):
            return False
        costs = costs_of(self, part.owned.datas)
        self.gate, self.owned, self.costs = gate, part.owned, planned if planned == costs else costs
        positions = Positions()
        positions.update(self.positions)
        positions.keep_in(part.owned)
        self.positions = positions
        return True

    def leave_lane(self) -> None:
        """From now on every order is an ordinary one. What waits keeps its place before whatever comes next."""
        if self.owned is None:
            return
        self.positions.release()
        self.owned = None
        waiting, self._baskets = self._baskets, []
        for basket in waiting:
            # Where the feeds stood when it was sent.
            places = self.gate.stamps(basket.route.assets, basket.when, self.gate.read().age)
            basket.stamps = [(when, length) for when, length, _ in places]
            super().submit_basket(basket)

    def submit_basket(self, basket: Basket) -> None:
        """Take the orders of a tracker; they fill on the broker's next turn on a new bar."""
        if self.owned is not None:
            self._baskets.append(basket)
        else:
            super().submit_basket(basket)

    def filled(self, owner: Any) -> Fills | None:
        """What the fast lane filled for a strategy on this bar."""
        fills = None
        for traded, paid, orders in self._filled if id(owner) in self.parts else ():
            these = Fills(traded, paid, partial(fill_columns, *orders))
            fills = these if fills is None else fills + these
        return fills

    # -- backtrader's hooks ----------

    def get_notification(self) -> Any:
        """The next piece of news; in the fast lane there is none, as a rule."""
        return None if self.owned is not None and not self.notifs else super().get_notification()

    def submit(self, order: Any, check: bool = True) -> Any:
        """Take an ordinary order."""
        self.leave_lane()
        return super().submit(order, check)

    def add_order_history(self, orders: Iterable[Any], notify: bool = True) -> None:
        """Take orders of the past."""
        self.leave_lane()
        super().add_order_history(orders, notify)

    def next(self) -> None:
        """The broker's turn on a bar."""
        self._filled.clear()
        if self.owned is not None and self.renew_costs():
            self.leave_lane()
        if self.owned is None:
            super().next()
            return
        if self._trackers[0].route.flows is not None:
            self.book_flows()
        baskets, self._baskets = self._baskets, []
        for basket in baskets:
            self._fill(basket)
        self._get_value()

    def book_out(self, owner: Any, place: int, price: float) -> None:
        """Book a tracker's position out at a price, without an order: there is no market left that could fill one."""
        if self.owned is None:
            super().book_out(owner, place, price)
            return
        size = float(self.owned.sizes[place])
        self.cash += size * price
        self.owned.move(place, -size)

    def _get_value(self, datas: Any = None, lever: bool = False) -> float:
        """Value of the account (or of some feeds) at the current closes."""
        owned = self.owned
        if datas is not None or owned is None:
            return super()._get_value(datas, lever)
        if self._cash_addition or self.paid_in != self._paid_in:
            self._take_in(datas)
        while self._cash_addition:
            extra = self._cash_addition.popleft()
            self._fundshares += extra / self._fundval
            self.cash += extra
        held = worth(owned.sizes, self.gate.read().close)
        self._value = self._valuelever = self.cash + held
        self._fundval = self._value / self._fundshares
        self._valuemkt = self._valuemktlever = held
        self._leverage = held / (held or 1.0)
        return float(self._value)

    @property
    def _unrealized(self) -> float:
        """Gain of the open positions. In the fast lane it is worked out when asked for: nothing on a bar needs it."""
        if self.owned is None:
            return self._gain
        return worth(self.owned.sizes, self.gate.read().close) - float(self.owned.cost.sum())

    @_unrealized.setter
    def _unrealized(self, value: float) -> None:
        self._gain = value

    # -- the lane ----------

    def _fill(self, basket: Basket) -> None:
        owned, route, bar = self.owned, basket.route, self.gate.read()
        owner, known = route.strategy, None
        tracker, at_close = route.tracker, basket.deltas is not None
        assert owned is not None
        if basket.deltas is not None:
            deltas = route.affordable(basket.deltas, basket.closes, self.cash)
            quoted = np.where(deltas != 0.0, basket.closes, 0.0)
        elif bar is tracker.bar:
            self._baskets.append(basket)  # no new bar yet
            return
        else:
            if route.flows is None and tracker.rebalancer.costs is self.costs:
                known = tracker.open_usual(bar, owned.sizes, self.cash)
            deltas = route.asked(self.cash, bar) if known is None else known[0]
            if deltas is None:
                return
            quoted = bar.open if bar.age is None else tradable_prices(bar, "open", deltas)
        costs = self.costs if known is not None else route.impact or self.costs
        flow, traded, paid = costs.outcome(deltas, quoted) if known is None else known[1]
        if traded and self.cash + flow < 0.0:  # money was taken out in the meantime
            deltas = route.affordable(deltas, quoted, self.cash)
            flow, traded, paid = costs.outcome(deltas, quoted)
        if not traded:
            return  # passive: no order at all
        ears = ears_of(owner)
        before = (owned.sizes, owned.cost.copy()) if ears.orders else None
        self.cash += flow
        owned.apply(deltas, costs.fill_prices(deltas, quoted))
        when = basket.when if at_close else self.gate.now()
        self._filled.append((traded, paid, (deltas, quoted, when, costs)))
        self.orders.complete = ears.orders
        if before is not None:
            done = filled_basket(self, basket, fill_columns(deltas, quoted, when, costs), before, bar)
            self.orders.owe(done)
            # In the ordinary broker's words: all submitted, all accepted, all completed.
            notices = done.notices(bt.Order.Submitted, bt.Order.Accepted, bt.Order.Completed)
            if ears.trades or owner.cerebro.p.quicknotify:
                self.notifs.extend(notices)  # the long way, on which backtrader keeps its trades
            else:
                owner._orderspending.extend(notices)

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

    Volume limits, fixed slippage, slippage kept within the bar's range, commission schemes of other kinds for single names,
    leverage, interest, a past of orders or of the fund, and brokers of a class of their own work order by order.
    """
    p = broker.p
    slips = bool(p.slip_perc or p.slip_fixed)
    by_name = [scheme for name, scheme in broker.comminfo.items() if name is not None]
    own_rules = not (is_simple(broker.comminfo[None]) and all(isinstance(scheme, TrackerCommission) for scheme in by_name))
    own_rules = own_rules or "host_of" in type(broker).__dict__
    past = broker._userhist or broker._fundhist
    return not (p.filler is not None or p.slip_fixed or (slips and not (p.slip_open and p.slip_out)) or own_rules or past)


def worth(sizes: FloatArray, prices: FloatArray) -> float:
    """Value of positions; a name without a price (NaN) is not held."""
    held: float = ddot(sizes, prices)
    if held != held:
        own = sizes != 0.0
        held = float(sizes[own].dot(prices[own]))
    return held
