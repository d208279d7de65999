"""One more session without cerebro: the tracker in its recorded state, driven as cerebro would drive it.

Replaying ten years to decide about one day takes as long as a backtest. A checkpoint holds the tracker after its last close, and
what the price gate knew; from there a session costs one bar. Steps replay everything now and then and compare.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.gate import Bar
from tracker_strategies.execution.order_route import Fills
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.papertrade.deciding.by_cerebro import Wish
from tracker_strategies.papertrade.deciding.checkpoint import Balance, Checkpoint, state_hash

FloatArray = NDArray[np.float64]


class JournalRoute:
    """The account as an order route: what the journal says, and what the tracker orders."""

    def __init__(self, balance: Balance, *, books_out: bool) -> None:
        self.balance, self.books_out = balance, books_out
        self.deltas: FloatArray | None = None
        self.booked_out: list[tuple[int, float]] = []

    def become(self, balance: Balance) -> None:
        """A session has passed."""
        self.balance, self.deltas, self.booked_out = balance, None, []

    def cash(self) -> float:
        """Cash in the account."""
        return self.balance.cash

    def sizes(self) -> FloatArray:
        """Units held."""
        return self.balance.sizes

    def pending(self) -> None:
        """Nothing waits past its session."""

    def submit(self, deltas: FloatArray) -> None:
        """Take orders."""
        self.deltas = deltas

    def book_out(self, asset: int, price: float) -> None:
        """A position without a market."""
        self.booked_out.append((asset, price))
        if self.books_out:
            sizes = self.balance.sizes.copy()
            cash = self.balance.cash + float(sizes[asset]) * price
            sizes[asset] = 0.0
            self.balance = Balance(cash, sizes)

    def fills(self) -> Fills | None:
        """Nobody asks."""
        return None


def bar_after(before: Bar, session: str, close: FloatArray, opens: FloatArray, level: FloatArray) -> Bar:
    """The bar of the next session as the price gate would show it, from prices in units (NaN where there are none)."""
    has = np.isfinite(close)
    old = np.zeros(len(close), dtype=np.int64) if before.age is None else before.age
    age = np.where(has, 0, np.where(old >= 0, old + 1, -1))
    carried = np.where(has, close, before.close)
    return Bar(
        np.datetime64(session, "ns"),
        carried,
        np.where(has, opens, carried),
        np.where(np.isfinite(level), level, before.target),
        age if age.any() else None,
        bool(np.isfinite(level).all()),
    )


def bar_before_the_open(bar: Bar) -> Bar:
    """Tomorrow, before it has happened: what traded today opens where it closed. A name that never traded gets some price."""
    never = np.isnan(bar.close)
    close = np.where(never, 1.0, bar.close)
    age = None if bar.age is None else np.where(never, 0, np.where(bar.age == 0, 0, bar.age + 1))
    return Bar(
        bar.date + np.timedelta64(1, "D"), close, close, bar.target, age if age is not None and age.any() else None, bar.fresh
    )


def wish_by_checkpoint(point: Checkpoint, bar: Bar, balance: Balance, *, books_out: bool) -> Wish:
    """What the tracker wants after one more session.

    The order of events is cerebro's: the open, at which the orders of the day before are sent; the fills; the close.
    """
    tracker, route = point.tracker, JournalRoute(point.balance, books_out=books_out)
    at_close = tracker.fill is FillMode.CLOSE
    if not at_close:
        tracker.open(bar, route)
    sent = point.sent or route.deltas is not None
    route.become(balance)
    if balance.owed and sent:
        tracker.owe()
    tracker.close(bar, route)
    after = Checkpoint(tracker, bar, Balance(route.cash(), route.sizes()), route.deltas is not None).to_text()
    weights, out, state = tracker.weights, list(route.booked_out), state_hash(tracker.algorithm)
    limit = None if tracker.keeper is None else tracker.keeper.turnover_limit
    if not at_close:
        tracker.open(bar_before_the_open(bar), route)
    return Wish(weights, route.deltas, out, state, after, turnover=limit)
