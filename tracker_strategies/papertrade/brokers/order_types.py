"""Orders one by one, beside the baskets of trackers: their terms as text, and how a session fills them.

An order of a strategy's own is sent anew for every session while it waits, as an order for that day; its terms stand where a
basket says "open". The rules are those of backtrader's own broker, with two exceptions: an account is long only, and a limit is
never filled beyond its price, whatever slippage says.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Self

import numpy as np

from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade.brokers.base import (
    EXPIRED,
    GROUP_ENDED,
    LONG_ONLY,
    NO_BAR,
    NOT_PAID,
    NOT_REACHED,
    PARTLY,
    TRIGGERED,
    Quotes,
    Status,
)

#: Shares below zero that are rounding, relative to what is sold.
_ROUNDING = 1e-9


class OrderType(StrEnum):
    """When an order fills, and at which price."""

    MARKET = "market"
    AT_CLOSE = "at-close"
    LIMIT = "limit"
    STOP = "stop"
    STOP_LIMIT = "stop-limit"

    @property
    def at_once(self) -> bool:
        """Whether it fills on the next bar, whatever the price."""
        return self in (OrderType.MARKET, OrderType.AT_CLOSE)

    @property
    def slips(self) -> bool:
        """Whether it takes the price that it finds."""
        return self in (OrderType.MARKET, OrderType.STOP)


@dataclass(frozen=True)
class Terms:
    """What an order asks for.

    Parameters
    ----------
    kind : OrderType
    price : float
        The limit of a limit order, the trigger of a stop.
    limit : float
        The limit of a stop-limit order.
    rank : int
        Place in line: orders of a session are looked at in this order.
    group : str
        Of several orders with the same mark, the first that ends cancels the others.
    until : str
        Last moment, in ISO format, at which it may fill.
    """

    kind: OrderType
    price: float = 0.0
    limit: float = 0.0
    rank: int = 0
    group: str = ""
    until: str = ""

    def __str__(self) -> str:
        told = {"price": self.price, "limit": self.limit, "rank": self.rank, "group": self.group, "until": self.until}
        return " ".join([self.kind, *(f"{key}={value}" for key, value in told.items() if value)])

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The terms of an order; None for one of a basket ("open", "close") or a settlement."""
        kind, *words = text.split(" ")
        if kind not in set(OrderType):
            return None
        told = dict(word.split("=", 1) for word in words)
        return cls(
            OrderType(kind),
            float(told.get("price", 0.0)),
            float(told.get("limit", 0.0)),
            int(told.get("rank", 0)),
            told.get("group", ""),
            told.get("until", ""),
        )

    def scaled(self, factor: float) -> Self:
        """The same at prices times a factor."""
        return self if factor == 1.0 else replace(self, price=self.price * factor, limit=self.limit * factor)

    def expired(self, session: str) -> bool:
        """Whether a session is too late. A market order fills whenever it can."""
        late = bool(self.until) and datetime.fromisoformat(session) > datetime.fromisoformat(self.until)
        return late and self.kind is not OrderType.MARKET


class Prices(NamedTuple):
    """The bar of one name."""

    open: float
    high: float
    low: float
    close: float


def fill_price(terms: Terms, side: float, bar: Prices, slip: float = 0.0) -> tuple[float | None, bool]:
    """At which price an order fills on a bar, None if it does not; and whether a stop-limit order was triggered.

    Parameters
    ----------
    side : float
        +1 for a buy, -1 for a sell.
    slip : float
        Slippage as a fraction of the price. A limit that is met during the session, and a close, have none.
    """
    worse = 1.0 + side * slip
    if terms.kind is OrderType.MARKET:
        return bar.open * worse, False
    if terms.kind is OrderType.AT_CLOSE:
        return bar.close, False
    if terms.kind is OrderType.LIMIT:
        return _at_limit(terms.price, side, bar, worse), False
    trigger = terms.price
    gapped, reached = side * bar.open >= side * trigger, side * _far(bar, side) >= side * trigger
    if terms.kind is OrderType.STOP:
        return (bar.open * worse if gapped else trigger * worse if reached else None), False
    if gapped:
        return _at_limit(terms.limit, side, bar, worse), True
    if not reached:
        return None, False
    if side * terms.limit >= side * trigger:
        return _within(trigger * worse, terms.limit, side), True
    # Below its trigger the limit was surely met only where the session turned back to it, as the close shows.
    turned = bar.open > bar.close if side > 0 else bar.open <= bar.close
    return (terms.limit if turned and side * terms.limit >= side * bar.close else None), True


def _at_limit(limit: float, side: float, bar: Prices, worse: float) -> float | None:
    if side * bar.open <= side * limit:
        return _within(bar.open * worse, limit, side)
    return limit if side * _far(bar, -side) <= side * limit else None


def _within(price: float, limit: float, side: float) -> float:
    return min(price, limit) if side > 0 else max(price, limit)


def _far(bar: Prices, side: float) -> float:
    """The highest price for a buy, the lowest for a sell."""
    return bar.high if side > 0 else bar.low


def fill_singles(db: sqlite3.Connection, quotes: Quotes, costs: CostModel, part: Callable[[str], float] | None = None) -> None:
    """Fill the single orders that wait in a simulated broker's file on a session; end those that it did not fill."""
    rows = db.execute("select cid, ticker, size, due from orders where status = 'open'").fetchall()
    waiting = [(cid, ticker, size, terms) for cid, ticker, size, due in rows if (terms := Terms.parse(due)) is not None]
    if not waiting:
        return
    (cash,) = db.execute("select cash from account").fetchone()
    book = _Book(
        cash,
        dict(db.execute("select ticker, size from positions")),
        costs,
        _bars(quotes),
        {ticker: i for i, ticker in enumerate(quotes.tickers)},
    )
    done: set[str] = set()
    news = []
    for cid, ticker, size, terms in sorted(waiting, key=lambda row: row[3].rank):
        if terms.group and terms.group in done:
            filled, price, fee, reason = 0.0, 0.0, 0.0, GROUP_ENDED
        elif terms.expired(quotes.session):
            filled, price, fee, reason = 0.0, 0.0, 0.0, EXPIRED
        else:
            filled, price, fee, reason = book.fill(ticker, size, terms, 1.0 if part is None else part(cid))
        if filled or reason in (EXPIRED, NOT_PAID, LONG_ONLY):  # over for good: so are the others of its group
            done.add(terms.group)
        whole = abs(size - filled) <= _ROUNDING * abs(size)
        status = Status.FILLED if whole else Status.REJECTED if reason == LONG_ONLY else Status.CANCELLED
        news.append((str(status), filled, price, fee, "" if whole else reason, cid))
    db.execute("update account set cash = ?", (book.cash,))
    db.executemany(
        "insert into positions values (?, ?) on conflict (ticker) do update set size = excluded.size",
        [(ticker, book.held[ticker]) for ticker in sorted(book.moved)],
    )
    db.executemany("update orders set status = ?, filled = ?, average = ?, fee = ?, reason = ? where cid = ?", news)


def _bars(quotes: Quotes) -> dict[str, Prices]:
    """The bars of names that have one."""
    parts = [quotes.open if given is None else given for given in (quotes.open, quotes.high, quotes.low, quotes.close)]
    table = np.stack(parts, axis=1)
    named = zip(quotes.tickers, table.tolist(), strict=True)
    return {ticker: Prices(*row) for ticker, row in named if all(map(math.isfinite, row))}


class _Book:
    """Cash and shares while the orders of a session are filled one after the other."""

    def __init__(
        self, cash: float, held: dict[str, float], costs: CostModel, bars: Mapping[str, Prices], places: Mapping[str, int]
    ) -> None:
        self.cash, self.held, self.costs, self.bars = cash, held, costs, bars
        self.moved: set[str] = set()
        self.places = places

    def fill(self, ticker: str, size: float, terms: Terms, part: float) -> tuple[float, float, float, str]:
        """Shares filled, their price and fee, and why not all of them were."""
        bar = self.bars.get(ticker)
        if bar is None:
            return 0.0, 0.0, 0.0, NO_BAR
        side = 1.0 if size > 0.0 else -1.0
        price, triggered = fill_price(terms, side, bar, 1e-4 * self.costs.slippage_bps)
        if price is None:
            return 0.0, 0.0, 0.0, TRIGGERED if triggered else NOT_REACHED
        have, got = self.held.get(ticker, 0.0), size * part
        if not got:
            return 0.0, 0.0, 0.0, PARTLY
        if have + got < -_ROUNDING * abs(got):
            return 0.0, 0.0, 0.0, LONG_ONLY
        i = self.places[ticker]
        bps, per_share, least = self.costs.taken(slice(i, i + 1)).rates
        fee = max(abs(got) * (price * bps * 1e-4 + per_share), least)
        if got > 0.0 and self.cash < got * price + fee:
            return 0.0, 0.0, 0.0, NOT_PAID
        self.cash -= got * price + fee
        left = have + got
        self.held[ticker] = 0.0 if abs(left) <= _ROUNDING * abs(got) else left
        self.moved.add(ticker)
        return got, price, fee, PARTLY


def rescale(db: sqlite3.Connection, ticker: str, ratio: float) -> None:
    """A share has become `ratio` shares: prices in the terms of orders that wait follow."""
    rows = db.execute("select cid, due from orders where ticker = ? and status = 'open'", (ticker,)).fetchall()
    told = [(cid, Terms.parse(due)) for cid, due in rows]
    new = [(str(terms.scaled(1.0 / ratio)), cid) for cid, terms in told if terms is not None]
    db.executemany("update orders set due = ? where cid = ?", new)
