"""The file of the simulated broker: sealed like the journal, and apart from it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tracker_strategies.papertrade.brokers.order_types import rescale
from tracker_strategies.papertrade.errors import BrokerError
from tracker_strategies.papertrade.journal.sealed_database import SealedDatabase
from tracker_strategies.papertrade.journal.seals import Form
from tracker_strategies.papertrade.market.corporate_actions import Action

FILE = "broker.db"

TABLES = """
create table account (id integer primary key check (id = 0), cash real not null) strict;
create table positions (ticker text primary key, size real not null) strict;
create table sessions (session text primary key) strict;
create table orders (
    cid text primary key, ticker text not null, size real not null, price real not null, due text not null,
    status text not null, filled real not null default 0, average real not null default 0, fee real not null default 0,
    reason text not null default ''
) strict;
create index waiting on orders (status) where status = 'open';
"""


class BrokerFile(SealedDatabase):
    """A connection to the file of a simulated broker.

    A killed process loses nothing. After a power cut only what is durable is sure to be there: orders that are missing then are
    sent again by the journal, fills must not be missing. So its chain may be ahead of its head.
    """

    # 0: had no seals and no mark
    form = Form(
        "file of a simulated broker",
        0x54524B42,  # "TRKB"
        1,
        TABLES,
        {"sessions": "session"},
        unmarked=True,
    )
    error = BrokerError
    slack = None

    @classmethod
    def open(
        cls,
        path: Path,
        cash: float,
        holdings: Mapping[str, float] | None = None,
        *,
        expected: bool = False,
        readonly: bool = False,
        from_copy: bool = False,
    ) -> Self:
        """The file; a new one with a deposit of cash and shares, unless one is expected."""
        lost = expected or path.with_name(f"{path.name}.head").exists()
        if not path.exists() and lost:
            raise BrokerError(
                f"{path} is missing, the simulated broker's file, and the account has already traded; restore it "
                "from a copy, then: "
                "tracker paper step --from-copy; without a copy, open a new account"
            )
        if not path.exists():
            cls.write_new(path, lambda new: new.deposit(cash, holdings or {}))
        return cls(path, readonly=readonly, from_copy=from_copy)

    def deposit(self, cash: float, holdings: Mapping[str, float]) -> None:
        """The first entries."""
        self.db.execute("insert into account values (0, ?)", (cash,))
        self.db.executemany("insert into positions values (?, ?)", [(name, size) for name, size in holdings.items() if size])

    def recent(self) -> dict[str, str]:
        """Cash and shares; the journal compares them with its own, too."""
        return {"account": "", "positions": ""}


def apply_action(db: sqlite3.Connection, action: Action) -> None:
    """A corporate action, on what is held and on what is ordered, inside a transaction. Names are those that the broker knows."""
    ticker = action.symbol
    row = db.execute("select size from positions where ticker = ?", (ticker,)).fetchone()
    size = row[0] if row else 0.0
    if action.kind == "split":
        db.execute("update positions set size = size * ? where ticker = ?", (action.value, ticker))
        rescale(db, ticker, action.value)
        db.execute(
            "update orders set size = size * ?, price = price / ? where ticker = ? and status = 'open'",
            (action.value, action.value, ticker),
        )
    elif action.kind == "dividend":
        db.execute("update account set cash = cash + ?", (size * action.value,))
    elif action.kind == "rename":
        db.execute("update positions set ticker = ? where ticker = ?", (action.text, ticker))
        db.execute("update orders set ticker = ? where ticker = ? and status = 'open'", (action.text, ticker))
    else:
        db.execute("update account set cash = cash + ?", (size * action.value,))
        db.execute("delete from positions where ticker = ?", (ticker,))
        db.execute("update orders set status = 'cancelled', reason = 'delisted' where ticker = ? and status = 'open'", (ticker,))
