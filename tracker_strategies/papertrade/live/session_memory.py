"""What a running cerebro knows of its account: all bars in units, the account after each, and what became of the orders."""

from __future__ import annotations

from typing import Any, NamedTuple

import backtrader as bt
import numpy as np
from numpy.typing import NDArray

from tracker_strategies.papertrade.brokers.base import Status
from tracker_strategies.papertrade.deciding.tickets import client_id
from tracker_strategies.papertrade.journal.history import History
from tracker_strategies.papertrade.journal.journal import Journal
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.journal.payments import payments_made
from tracker_strategies.papertrade.journal.schema import Kind

FloatArray = NDArray[np.float64]


class Known(NamedTuple):
    """What the journal has."""

    history: History
    balances: list[Any]
    orders: list[Any]
    decisions: dict[str, tuple[Kind, str]]
    transfers: dict[str, float]
    payments: dict[str, tuple[float, float]]


def read(journal: Journal, config: Any) -> Known:
    """Everything that a run needs."""
    with journal.errors():
        return Known(
            History.load(journal, config),
            journal.rows("select * from balances order by session"),
            journal.rows("select * from orders order by session, seq"),
            {s: (Kind(kind), why) for s, kind, why in journal.rows("select session, kind, reason from decisions")},
            Ledger(journal, config).transfers(),
            payments_made(journal),
        )


class Outcome(NamedTuple):
    """How the order of one session ended: units filled, price of a unit, fee; where it stands, why, and its terms."""

    filled: float
    price: float
    fee: float
    status: Status
    reason: str
    due: str


class SessionMemory:
    """The journal, session by session. ``row`` is the session that is delivered at the moment."""

    def __init__(self, known: Known) -> None:
        self.renew(known)
        self.row = -1

    def renew(self, known: Known) -> None:
        """Another session is in the journal."""
        history = self.history = known.history
        config = history.config
        self.count = len(history.bars.sessions)
        self.kinds, self.places = config.prices, {s: i for i, s in enumerate(config.symbols)}
        self.targets = {t: i for i, t in enumerate(config.targets)}
        self.dates = [bt.date2num(np.datetime64(s, "us").item()) for s in history.bars.sessions]
        self.opening = next((t for t, s in enumerate(history.bars.sessions) if s >= config.start), self.count)
        self.decisions, self._transfers, self._payments = known.decisions, known.transfers, known.payments
        self._balances = {b["session"]: b for b in known.balances}
        self._orders = {order["cid"]: order for order in known.orders}

    def session(self, row: int) -> str:
        """The date of a row; empty before the first."""
        return self.history.bars.sessions[row] if row >= 0 else ""

    def bar(self, name: str, row: int) -> dict[str, float] | None:
        """Prices of a name in units, or levels of a target; None without a bar."""
        if name in self.targets:
            level = float(self.history.bars.levels[row, self.targets[name]])
            return None if np.isnan(level) else dict.fromkeys(("open", "high", "low", "close"), level) | {"volume": 0.0}
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
        balance = self._balances.get(self.session(row))
        if balance is None:
            return self.history.config.cash, self.history.config.held
        return balance["cash"], np.frombuffer(balance["sizes"], dtype="<f8") / self.history.factor(row)

    def paid(self, row: int) -> tuple[float, tuple[float, float] | None]:
        """Money moved on a session; and the scheduled payment in it, with what the account was worth before that."""
        session = self.session(row)
        return self._transfers.get(session, 0.0), self._payments.get(session)

    def owed(self, row: int) -> bool:
        """Whether the rebalance before this session was not carried out."""
        balance = self._balances.get(self.session(row))
        return bool(balance is not None and balance["owed"])

    def outcome(self, row: int, symbol: str, key: str = "") -> Outcome | None:
        """What became, on a session, of the order that was sent in the night before it; None when none was."""
        if row < 1:
            return None
        place = self.places[symbol]
        order = self._orders.get(client_id(self.history.config.name, self.session(row - 1), place, symbol, key))
        if order is None:
            return None
        factor = float(self.history.factor(row)[place])
        return Outcome(
            order["filled"] / factor,
            order["average"] * factor,
            order["fee"],
            Status(order["status"]),
            order["reason"],
            order["due"],
        )
