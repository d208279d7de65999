"""Feed, broker and memory of :mod:`tracker_strategies.papertrade.live.store`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import backtrader as bt
import numpy as np
from backtrader.position import Position
from numpy.typing import NDArray

from tracker_strategies.execution.basket.basket import Basket
from tracker_strategies.execution.basket.broker import BasketBroker
from tracker_strategies.papertrade.brokers.base import Status
from tracker_strategies.papertrade.journal.history import History

if TYPE_CHECKING:
    from tracker_strategies.papertrade.live.store import PaperStore

FloatArray = NDArray[np.float64]


class SessionMemory:
    """What is known when a session is over: all bars in units, the account after each, and what became of the orders."""

    def __init__(self, known: tuple[History, list[Any], list[Any]]) -> None:
        self.renew(known)
        self.row = -1
        self.carried_out = True

    def renew(self, known: tuple[History, list[Any], list[Any]]) -> None:
        """Another session is in the journal."""
        history, balances, orders = known
        config = history.config
        self.history, self.count = history, len(history.bars.sessions)
        self.kinds, self.places = config.prices, {s: i for i, s in enumerate(config.symbols)}
        self.targets = {t: i for i, t in enumerate(config.targets)}
        self.dates = [bt.date2num(np.datetime64(s, "us").item()) for s in history.bars.sessions]
        self.opening = next((t for t, s in enumerate(history.bars.sessions) if s >= config.start), self.count)
        self._balances = {b["session"]: b for b in balances}
        self._orders: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for order in orders:
            self._orders[order["session"], order["symbol"]].append(order)

    def bar(self, name: str, row: int) -> dict[str, float] | None:
        """Prices of a name in units, or levels of a target; None without a bar."""
        if name in self.targets:
            level = float(self.history.bars.levels[row, self.targets[name]])
            return dict.fromkeys(("open", "high", "low", "close"), level) | {"volume": 0.0}
        i = self.places[name]
        prices = dict(zip(self.kinds, self.history.bars.prices[row, :, i].tolist(), strict=True))
        if np.isnan(prices["close"]):
            return None
        factor = float(self.history.factor(row)[i])
        close = prices["close"]
        shown = {kind: prices.get(kind, close) * factor for kind in ("open", "high", "low", "close")}
        return shown | {"volume": prices.get("volume", 0.0) / factor}

    def account(self, row: int) -> tuple[float, FloatArray]:
        """Cash and units after a session."""
        balance = self._balances.get(self.history.bars.sessions[row])
        if balance is None:
            return self.history.config.cash, np.zeros(len(self.places))
        return balance["cash"], np.frombuffer(balance["sizes"], dtype="<f8") / self.history.factor(row)

    def owed(self, row: int) -> bool:
        """Whether the rebalance before this session was not carried out."""
        balance = self._balances.get(self.history.bars.sessions[row])
        return bool(balance is not None and balance["owed"])

    def outcome(self, row: int, symbol: str) -> tuple[float, float, float, str]:
        """Units filled, price of a unit, fee and how it ended, of the order for a name that was decided one session before."""
        if row < 1:
            return 0.0, 0.0, 0.0, str(Status.UNSENT)
        orders = self._orders.get((self.history.bars.sessions[row - 1], symbol), [])
        filled = sum(o["filled"] for o in orders)
        if not filled:
            return 0.0, 0.0, 0.0, orders[-1]["status"] if orders else str(Status.UNSENT)
        factor = float(self.history.factor(row)[self.places[symbol]])
        price = sum(o["filled"] * o["average"] for o in orders) / filled
        return filled / factor, price * factor, sum(o["fee"] for o in orders), orders[-1]["status"]


class PaperData(bt.feed.DataBase):
    """One name or target of a paper account. The first one that is added leads: it waits for sessions, the others follow it.

    Params:
      - ``store`` (:class:`~tracker_strategies.papertrade.live.store.PaperStore`)
      - ``dataname`` (str): the name
    """

    params = (("store", None), ("qcheck", 0.5))
    is_target = False

    def islive(self) -> bool:
        """Bars come as they come."""
        return True

    def start(self) -> None:
        """Before the first bar."""
        super().start()
        self._row = -1
        self._live = False
        store: PaperStore = self.p.store
        self._leads = self._env.datas[0] is self
        if self._leads:
            store.memory.row = -1
        self.put_notification(self.DELAYED)

    def haslivedata(self) -> bool:
        """Whether a session waits to be delivered."""
        memory: SessionMemory = self.p.store.memory
        return self._row + 1 < memory.count if self._leads else self._row < memory.row

    def _load(self) -> bool | None:
        store: PaperStore = self.p.store
        memory: SessionMemory = store.memory
        if self._leads:
            if memory.row + 1 >= memory.count:
                found = store.wait(self._qcheck or 0.05)
                if not found:
                    if found is False:
                        self.put_notification(self.DISCONNECTED)
                    return found
            memory.row += 1
            memory.carried_out = memory.row + 1 < memory.count
        if self._row >= memory.row:
            return False if store.over else None
        self._row = memory.row
        bar = memory.bar(self.p.dataname, self._row)
        if bar is None:
            return None
        if self._row >= store.past and not self._live:
            self._live = True
            self.put_notification(self.LIVE)
        for kind, value in bar.items():
            getattr(self.lines, kind)[0] = value
        self.lines.openinterest[0] = 0.0
        self.lines.datetime[0] = memory.dates[self._row]
        return True


class PaperBroker(BasketBroker):
    """A paper account as backtrader's broker: cash and positions are the journal's; orders end as the journal says."""

    def prepare(self, store: PaperStore) -> None:
        """Belong to a store."""
        self.store = store
        self._basket: Basket | None = None
        self.setcash(store.account.config.cash)

    def buy(self, *args: Any, **kwargs: Any) -> Any:
        """An order, once the account is open; before its first session the strategy only learns."""
        return super().buy(*args, **kwargs) if self.store.memory.row >= self.store.memory.opening else None

    def sell(self, *args: Any, **kwargs: Any) -> Any:
        """As :meth:`buy`."""
        return super().sell(*args, **kwargs) if self.store.memory.row >= self.store.memory.opening else None

    def open_lane(self, part: Any, gate: Any) -> bool:
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
                self.submit(order)

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

    def _feed(self, symbol: str) -> Any:
        return self.cerebro.datasbyname.get(symbol)

    def next(self) -> None:
        """The broker's turn on a bar: the orders of the session before have ended, and the account is what it is."""
        memory = self.store.memory
        if not self.cerebro.datas or memory.row < 0 or getattr(self, "_row", -1) == memory.row:
            return
        self._row = memory.row
        basket, self._basket = self._basket, None
        if basket is not None:
            self._send(basket, basket.route.asked(self.cash))
        waiting = list(self.submitted)
        self.submitted.clear()
        by_name: dict[str, list[Any]] = defaultdict(list)
        for order in waiting:
            by_name[order.data._name].append(order)
        for symbol, orders in by_name.items():
            self._end(orders, *memory.outcome(self._row, symbol))
        self.cash, sizes = memory.account(self._row)
        for symbol, place in memory.places.items():
            feed, size = self._feed(symbol), float(sizes[place])
            if feed is not None and (size or feed in self.positions):
                held = self.positions[feed]
                held.set(size, held.price if size else 0.0)
        self._take_sizes()
        self._get_value()
        self.store.begins(self._row, due=bool(waiting))

    def _end(self, orders: list[Any], filled: float, price: float, fee: float, status: str) -> None:
        """Announce how the orders for one name ended."""
        wanted = sum(order.size for order in orders)
        for order in orders:
            part = order.size / wanted if wanted else 0.0
            order.addcomminfo(self.getcommissioninfo(order.data))
            order.accept(self)
            self.notify(order)
            if filled * part:
                held: Position = self.positions[order.data]
                size, average, opened, closed = held.update(filled * part, price)
                order.execute(
                    order.data.datetime[0], filled * part, price,
                    closed, abs(closed) * price, fee * part if not opened else 0.0,
                    opened, abs(opened) * price, fee * part if opened else 0.0,
                    0.0, 0.0, size, average,
                )  # fmt: skip
            if abs(order.executed.remsize) <= 1e-9 * abs(order.size):
                order.completed()
            elif status == Status.REJECTED:
                order.reject(self)
            else:
                if filled * part:
                    order.partial()
                    self.notify(order)
                order.cancel()
            self.notify(order)

    def wanted(self) -> tuple[FloatArray | None, list[tuple[int, float]]]:
        """Units to buy and sell in the orders that wait (None without any), and positions that the strategy has booked out."""
        memory = self.store.memory
        _, sizes = memory.account(memory.row)
        out = []
        for symbol, place in memory.places.items():
            feed = self._feed(symbol)
            if sizes[place] and feed is not None and not self.positions[feed].size:
                out.append((place, float(feed.close[0])))
        if not self.submitted:
            return None, out
        deltas = np.zeros(len(memory.places))
        for order in self.submitted:
            deltas[memory.places[order.data._name]] += order.size
        return deltas, out

    def turn_down(self, reason: str) -> None:
        """The account did not take the orders."""
        while self.submitted:
            order = self.submitted.popleft()
            order.addinfo(reason=reason)
            order.reject(self)
            self.notify(order)
