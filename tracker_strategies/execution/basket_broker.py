"""BasketBroker: backtrader's broker, able to fill all orders of a bar at once.

Orders of a basket have no life of their own: they are market orders, sized so that the account can pay for all of them, filled
together at one instant. So what the ordinary broker does order by order, in some two hundred microseconds each, is a handful of
vector operations here. Cash, value, positions, fund mode, analyzers, observers and notifications are those of backtrader;
ordinary orders on any feed work beside it as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import backtrader as bt
import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.basket_orders import FilledBasket, draw_refs
from tracker_strategies.execution.book import Book, Positions
from tracker_strategies.execution.commission import costs_of, is_simple
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.desk import FillColumns, Fills
from tracker_strategies.execution.fills import FillMode
from tracker_strategies.execution.listeners import listens, watches_trades
from tracker_strategies.execution.sums import inner

FloatArray = NDArray[np.float64]


@dataclass(eq=False)
class Basket:
    """Market orders of one strategy, waiting for the broker's next turn. Without prices they fill at the open of that bar."""

    owner: Any
    deltas: FloatArray
    prices: FloatArray | None
    when: float


class BasketBroker(bt.brokers.BackBroker):
    """A ``BackBroker`` that also takes baskets.

    Trackers use it by themselves: they turn a plain ``BackBroker`` into one (see :func:`take_baskets`), unless their ``broker``
    parameter says "ordinary". Use it as any other: ``cerebro.setbroker(BasketBroker())``.
    """

    #: Whether the user had chosen cheat-on-close before a tracker did.
    users_coc = False
    cash: float
    _fundval: float
    _fundshares: float

    def init(self) -> None:
        """Start of a run: no positions, no baskets."""
        super().init()
        self._open_books(Positions())

    def _open_books(self, positions: Positions) -> None:
        self.positions = positions
        self.prices: Any = None
        self.costs = CostModel()
        self._filled: dict[int, Fills] = {}
        self._waiting: list[Basket] = []

    @property
    def _unrealized(self) -> float:
        """Gain of the open positions. Worked out when asked for: nothing on a bar needs it."""
        return float(sum(held.size * (data.close[0] - held.price) for data, held in self.positions.items() if held.size))

    @_unrealized.setter
    def _unrealized(self, value: float) -> None:
        """Ignore what the base class keeps on every bar."""

    @property
    def book(self) -> Book | None:
        """The positions that are kept as arrays."""
        book: Book | None = self.positions.book
        return book

    def keep_book(self, datas: Sequence[Any], prices: Any) -> Book | None:
        """Keep the positions of these feeds as arrays, valued by a price gate over the same feeds in the same order.

        There is one book: None when another one is open already.
        """
        if self.book is None:
            self.positions.keep_in(Book(datas))
            self.prices = prices
            self.costs = costs_of(self)
        book = self.book
        if book is None or book.datas is datas:
            return book
        same = len(book.datas) == len(datas) and all(a is b for a, b in zip(book.datas, datas, strict=True))
        return book if same else None

    def submit_basket(self, owner: Any, deltas: FloatArray, *, at_close: bool) -> None:
        """Take market orders for all feeds of the book at once: shares to buy (+) and sell (-).

        They fill on the broker's next turn: at the open of the bar on which that is, or with ``at_close`` at the current closes
        (the turn is then on the next bar, and the fill dated back, as with backtrader's cheat-on-close). A basket that the cash
        cannot pay for is refused as a whole.
        """
        prices = tradable_prices(self.prices.read(), "close", deltas) if at_close else None
        self._waiting.append(Basket(owner, deltas, prices, self.prices.now()))

    def filled(self, owner: Any) -> Fills | None:
        """What was filled on this bar of the baskets of one strategy."""
        return self._filled.get(id(owner))

    def waiting(self) -> FloatArray | None:
        """Shares in baskets that wait for the broker's next turn."""
        return sum(basket.deltas for basket in self._waiting) if self._waiting else None  # type: ignore[return-value]

    def settle(self, place: int, price: float) -> None:
        """Book a position of the book out at a price, without an order: there is no market left that could fill one."""
        book = self.book
        assert book is not None
        self.cash += float(book.sizes[place]) * price
        book.close_position(place)

    def buy(self, owner: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
        """An ordinary buy order. Cheat-on-close is for those who asked for it, not for the neighbours of a tracker that did."""
        return super().buy(owner, data, *args, **{"coc": self._cheats(owner), **kwargs})

    def sell(self, owner: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
        """An ordinary sell order, as :meth:`buy`."""
        return super().sell(owner, data, *args, **{"coc": self._cheats(owner), **kwargs})

    def _cheats(self, owner: Any) -> bool:
        tracker = getattr(owner, "tracker", None)
        return self.users_coc if tracker is None else tracker.fill is FillMode.CLOSE

    def _try_exec(self, order: Any) -> None:
        """Execute if the feed has a bar now: with cheat-on-open backtrader would fill at the old price of one that pauses."""
        clock = getattr(order.data, "clock", None)
        if clock is None or not order.data.clocked or order.data.datetime[0] >= clock.when[clock.row]:
            super()._try_exec(order)

    # -- backtrader's hooks ----------

    def next(self) -> None:
        """The broker's turn on a bar: baskets first, then ordinary orders if there are any, then the account's value."""
        self._filled = {}
        waiting, self._waiting = self._waiting, []
        for basket in waiting:
            self._fill(basket)
        if self.submitted or self.pending or self._toactivate or self._userhist:
            super().next()
        else:
            self._get_value()

    def _fill(self, basket: Basket) -> None:
        book, costs, deltas = self.book, self.costs, basket.deltas
        assert book is not None
        at_open = basket.prices is None
        quoted = tradable_prices(self.prices.read(), "open", deltas) if basket.prices is None else basket.prices
        when = self.prices.now() if at_open else basket.when
        flow, traded, paid = costs.outcome(deltas, quoted)
        if not traded:
            return  # passive: no order at all
        affordable = self.cash + flow >= 0.0
        before = (book.sizes, book.cost.copy()) if (heard := listens(basket.owner)) else None
        if affordable:
            self.cash += flow
            book.apply(deltas, costs.fill_prices(deltas, quoted))
            mine = Fills(traded, paid, lambda: fill_columns(deltas, quoted, when, costs))
            others = self._filled.get(id(basket.owner))
            self._filled[id(basket.owner)] = mine if others is None else others + mine
        if heard and before is not None:
            self._announce(basket, quoted, when, before, affordable)

    def _announce(
        self, basket: Basket, quoted: FloatArray, when: float, before: tuple[FloatArray, FloatArray], affordable: bool
    ) -> None:
        """Tell those who listen, in the ordinary broker's words: all submitted, all accepted, all completed (or refused)."""
        book, owner = self.book, basket.owner
        assert book is not None
        done = fill_columns(basket.deltas, quoted, when, self.costs)
        which = done.asset
        sizes, cost = before[0][which], before[1][which]
        news = FilledBasket(
            owner=owner,
            broker=self,
            comminfo=self.comminfo[None],
            datas=[book.datas[i] for i in which],
            size=done.size.tolist(),
            price=done.price.tolist(),
            fee=done.fee.tolist(),
            psize=book.sizes[which].tolist(),
            pprice=_average(book.cost[which], book.sizes[which]).tolist(),
            before=_average(cost, sizes).tolist(),
            created=basket.when,
            quoted=quoted[which].tolist(),
            when=when,
            refs=draw_refs(len(which)),
        )
        order = bt.Order
        outcome = (order.Submitted, order.Accepted, order.Completed) if affordable else (order.Submitted, order.Margin)
        notices = news.notices(*outcome)
        if watches_trades(owner) or owner.cerebro.p.quicknotify:
            self.notifs.extend(notices)  # the long way, on which backtrader keeps its trades
        else:
            owner._orderspending.extend(notices)

    def _get_value(self, datas: Any = None, lever: bool = False) -> float:
        """Value of the account (or of some feeds) at the current closes."""
        book = self.book
        if datas is not None or book is None or self._fundhist:
            return float(super()._get_value(datas, lever))
        while self._cash_addition:
            extra = self._cash_addition.popleft()
            self._fundshares += extra / self._fundval
            self.cash += extra
        close = self.prices.read().close
        held = inner(book.sizes, close)
        if held != held:  # NaN: a name without a price is not held, but 0 * NaN says otherwise
            own = book.sizes != 0.0
            held = float(book.sizes[own].dot(close[own]))
        if self.positions.opened:
            for data, position in self.positions.strangers():
                held += self.getcommissioninfo(data).getvaluesize(position.size, data.close[0]) if position.size else 0.0
        self._value = self._valuelever = self.cash + held
        self._fundval = self._value / self._fundshares
        self._valuemkt = self._valuemktlever = held
        self._leverage = 1.0
        return float(self._value)


def take_baskets(broker: Any) -> bool:
    """Make a plain ``BackBroker`` take baskets, if nothing about it stands against that; say whether it does now.

    Volume limits, fixed slippage, slippage kept within the bar's range and commission schemes for single names work order by
    order: with any of them the broker stays as it is.
    """
    if type(broker) is not bt.brokers.BackBroker and not isinstance(broker, BasketBroker):
        return False
    p = broker.p
    slips = bool(p.slip_perc or p.slip_fixed)
    own_rules = set(broker.comminfo) != {None} or not is_simple(broker.comminfo[None])
    if p.filler is not None or p.slip_fixed or (slips and not (p.slip_open and p.slip_out)) or own_rules:
        return False
    if type(broker) is bt.brokers.BackBroker:
        held = broker.positions
        broker.__class__ = BasketBroker
        positions = Positions()
        positions.update(held)
        broker._open_books(positions)
    return True


def tradable_prices(bar: Any, kind: str, deltas: FloatArray) -> FloatArray:
    """Opens or closes of a bar for these orders. An unlisted name has no price, and no order either."""
    prices: FloatArray = getattr(bar, kind)
    return prices if bar.age is None else np.where(deltas != 0.0, prices, 0.0)


def fill_columns(deltas: FloatArray, quoted: FloatArray, when: float, costs: CostModel) -> FillColumns:
    """The orders of a basket one by one, sells first, as they would have been submitted."""
    which = np.concatenate([np.flatnonzero(deltas < 0.0), np.flatnonzero(deltas > 0.0)])
    size, price = deltas[which], quoted[which]
    return FillColumns(which, np.full(len(which), when), size, costs.fill_prices(size, price), costs.fees(size, price))


def _average(cost: FloatArray, sizes: FloatArray) -> FloatArray:
    return np.divide(cost, sizes, out=np.zeros_like(cost), where=sizes != 0.0)
