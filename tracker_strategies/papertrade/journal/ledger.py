"""Bookkeeping: bars, corporate actions, orders, fills and balances go into the journal here, each in one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.papertrade.brokers.base import AS_IN_A_BACKTEST, Report, Status, Ticket
from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.journal.actions import book_action
from tracker_strategies.papertrade.journal.fills import increment
from tracker_strategies.papertrade.journal.history import Bars
from tracker_strategies.papertrade.journal.journal import Journal, now
from tracker_strategies.papertrade.journal.schema import OPEN, Kind
from tracker_strategies.papertrade.market.corporate_actions import Action

FloatArray = NDArray[np.float64]


#: What ids of orders have in addition since the broker's account was taken over.
ID_MARK = "id_mark"


class Ledger:
    """What an account has and has done, in its journal."""

    def __init__(self, journal: Journal, config: AccountConfig) -> None:
        self.journal, self.config = journal, config
        self._place = {symbol: i for i, symbol in enumerate(config.symbols)}

    # -- what the account has ----------

    def cash(self) -> float:
        """Cash: what was paid in, earned and adjusted, and what the fills left of it."""
        return float(self.journal.meta("cash"))

    def sizes(self) -> FloatArray:
        """(N,) shares held."""
        sizes = np.zeros(len(self._place))
        with self.journal.errors():
            for symbol, size in self.journal.rows("select symbol, size from positions"):
                sizes[self._place[symbol]] = size
        return sizes

    def lasts(self) -> FloatArray:
        """(N,) latest close of each name as seen, however old; NaN before its first."""
        with self.journal.errors():
            seen = {row["symbol"]: row["last"] for row in self.journal.rows("select symbol, last from positions")}
            return np.array([np.nan if seen[s] is None else seen[s] for s in self.config.symbols], dtype=np.float64)

    def tickers(self) -> tuple[str, ...]:
        """What the names are called at the broker now."""
        with self.journal.errors():
            called = {row["symbol"]: row["ticker"] for row in self.journal.rows("select symbol, ticker from positions")}
            return tuple(called[symbol] for symbol in self.config.symbols)

    def strangers(self) -> set[str]:
        """Tickers at the broker that do not belong to the account and are left alone."""
        return set(self.journal.meta("strangers").split(",")) - {""}

    def orders(self, where: str = "1", values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """Orders in the order in which they were decided."""
        return self.journal.rows(f"select * from orders where {where} order by session, seq", values)

    def last_session(self, table: str = "bars", before: str = "~", back: int = 0) -> str:
        """The newest session of a table (before another one, or some back from it); empty when there is none."""
        query = f"select session from {table} where session < ? order by session desc limit 1 offset ?"
        return str(self.journal.one(query, (before, back)) or "")

    # -- bars and corporate actions ----------

    def take_bars(self, bars: Bars, found: Sequence[Action] = (), notes: Sequence[str] = (), *, pays: bool = True) -> None:
        """Bring in sessions; corporate actions belong to the first of them.

        ``pays``: dividends and delistings are booked at once. A real broker books them itself, at a time of its own.
        """
        with self.journal.transaction(f"bars of {bars.sessions[-1]}") as db:
            db.executemany(
                "insert into bars values (?, ?, ?, ?)",
                [
                    (s, now(), bars.prices[t].astype("<f8").tobytes(), bars.levels[t].astype("<f8").tobytes())
                    for t, s in enumerate(bars.sessions)
                ],
            )
            for action in found:
                book_action(self, action, pays=pays)
            last = bars.close[-1]
            for row in bars.close[-2::-1]:
                last = np.where(np.isfinite(last), last, row)
            new = [(float(last[i]), self.config.symbols[i]) for i in np.flatnonzero(np.isfinite(last))]
            db.executemany("update positions set last = ? where symbol = ?", new)
            for note in notes:
                self.journal.note("data", note, bars.sessions[0])

    def pay(self, db: sqlite3.Connection, kind: str, amount: float, ref: str, symbol: str = "") -> None:
        """Money in or out that is no fill, inside a transaction."""
        db.execute("insert into cash (kind, symbol, amount, ref) values (?, ?, ?, ?)", (kind, symbol, amount, ref))
        self._add_cash(amount)

    def _add_cash(self, amount: float) -> None:
        self.journal.set_meta("cash", repr(self.cash() + amount))

    # -- decisions and orders ----------

    def decide(
        self,
        session: str,
        kind: Kind,
        reason: str = "",
        *,
        weights: FloatArray | None = None,
        state_hash: str = "",
        way: str = "",
        tickets: Sequence[Ticket] = (),
        symbols: Sequence[str] = (),
        checkpoint: tuple[str, str, str] | None = None,
        turnover: float | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        """Write a decision and all its intents down, in one transaction. One that was refused may be made again.

        ``checkpoint``: fingerprint of the code, last session that was verified, and the strategy's state. ``turnover``: most that
        the orders may buy and sell, as a share of the account. ``facts``: what is to be remembered with it.
        """
        with self.journal.transaction(f"decision of {session}") as db:
            db.execute("delete from decisions where session = ? and kind = ?", (session, Kind.REFUSED))
            db.execute(
                "insert into decisions values (?, ?, ?, ?, ?, ?, ?)",
                (session, now(), kind, reason, None if weights is None else weights.astype("<f8").tobytes(), state_hash, way),
            )
            self.add_intents(session, tickets, symbols)
            if kind in (Kind.MISSED, Kind.REFUSED):
                self.journal.note_once(kind, reason, session)
            for key, value in (facts or {}).items():
                self.journal.set_meta(key, value)
            self.journal.set_meta("turnover", json.dumps([session, turnover]))
            if checkpoint is not None:
                db.execute("delete from checkpoints")
                db.execute("insert into checkpoints values (?, ?, ?, ?)", (session, *checkpoint))

    def turnover_of(self, session: str) -> float | None:
        """Most that the orders of a session may buy and sell, as a share of the account; None for no limit."""
        told = self.journal.one("select value from meta where key = 'turnover'")
        decided, limit = json.loads(told) if told else ("", None)
        return limit if decided == session else None

    def add_intents(self, session: str, tickets: Sequence[Ticket], symbols: Sequence[str]) -> None:
        """Orders to be sent, inside a transaction."""
        first = self.journal.one("select coalesce(max(seq) + 1, 0) from orders where session = ?", (session,))
        self.journal.db.executemany(
            "insert into orders (cid, session, seq, symbol, size, wanted, price, due, status) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, 'intent')",
            [
                (t.cid, session, seq, symbol, t.size, t.size, t.price, t.due)
                for seq, (t, symbol) in enumerate(zip(tickets, symbols, strict=True), first)
            ],
        )

    def end(self, cids: Sequence[str], status: Status, reason: str) -> None:
        """Close orders that never reached the broker or were refused by it."""
        with self.journal.transaction(f"{status} orders"):
            self.end_within(cids, status, reason)

    def end_within(self, cids: Sequence[str], status: Status, reason: str) -> None:
        """As :meth:`end`, inside a transaction."""
        db = self.journal.db
        db.executemany("update orders set status = ?, reason = ? where cid = ?", [(status, reason, cid) for cid in cids])
        for cid in cids:
            symbol, size = db.execute("select symbol, size from orders where cid = ?", (cid,)).fetchone()
            self.journal.note(str(status), f"{'buy' if size > 0 else 'sell'} {abs(size):g} {symbol}: {reason}")

    def miss(self, session: str, why: str) -> bool:
        """The hour of a session has passed: what was not sent is given up; True if nothing was, which is a missed session."""
        with self.journal.transaction(f"missing of {session}") as db:
            waiting = [row["cid"] for row in self.orders("session = ? and status = 'intent'", (session,))]
            self.end_within(waiting, Status.UNSENT, "not sent in time")
            missed = not self.orders("session = ? and status != 'unsent'", (session,))
            if missed:
                db.execute(
                    "insert into decisions (session, made_at, kind, reason) values (?, ?, ?, ?) "
                    "on conflict (session) do update set kind = excluded.kind, reason = excluded.reason",
                    (session, now(), Kind.MISSED, why),
                )
            self.journal.note(Kind.MISSED, why, session)
        return missed

    # -- fills ----------

    def book(self, reports: Sequence[Report]) -> None:
        """Take in what the broker says about our orders. Its totals become increments, so that no report counts twice; what
        cannot be true is set aside with an event (``unexplained``).
        """
        if not reports:
            return
        with self.journal.transaction("fills") as db:
            stamp, cash = now(), self.cash()
            ours = {row["cid"]: row for row in db.execute(f"select * from orders where status in {OPEN}")}
            held = {row["symbol"]: row["size"] for row in db.execute("select symbol, size from positions")}
            fills, news, changed = [], [], set()
            for report in reports:
                order = ours[report.cid] if report.cid in ours else self.orders("cid = ?", (report.cid,))[0]
                new = increment(order, report)
                news.append((new.status, report.reason, report.broker_id, new.filled, new.average, report.fee, report.cid))
                if new.size:
                    symbol = order["symbol"]
                    fills.append((report.cid, stamp, new.size, new.price, new.fee))
                    left = held[symbol] + new.size
                    # nothing is left of a position that was sold as a whole, whatever the rounding says
                    held[symbol] = 0.0 if abs(left) < 1e-9 * abs(new.size) else left
                    changed.add(symbol)
                    cash -= new.size * new.price + new.fee  # one by one: the same to the last bit, in however many batches
                if new.problem:
                    self.journal.note_once("unexplained", new.problem, order["session"])
                self._note_end(order, report)
            db.executemany("insert into fills (cid, seen_at, size, price, fee) values (?, ?, ?, ?, ?)", fills)
            db.executemany("update positions set size = ? where symbol = ?", [(held[s], s) for s in sorted(changed)])
            db.executemany(
                "update orders set status = ?, reason = ?, broker_id = ?, filled = ?, average = ?, fee = ? where cid = ?", news
            )
            if fills:
                self.journal.set_meta("cash", repr(cash))

    def _note_end(self, order: sqlite3.Row, report: Report) -> None:
        """Remember an order that ended otherwise than filled, unless the strategy reckons with that."""
        ended = report.status in (Status.REJECTED, Status.CANCELLED) and report.status != order["status"]
        if ended and report.reason not in AS_IN_A_BACKTEST:
            side, done = "buy" if order["size"] > 0 else "sell", f"{abs(report.filled):g} of {abs(order['size']):g}"
            self.journal.note(
                str(report.status), f"{side} {order['symbol']}, {done} filled: {report.reason or 'no reason given'}"
            )

    def filled_since(self, session: str = "~") -> dict[str, float]:
        """Shares bought and sold after a session, by name; by default since the last one whose balance is known."""
        rows = self.journal.rows(
            "select symbol, sum(fills.size) as size from fills join orders using (cid) "
            "where fills.session is null or fills.session > ? group by symbol",
            (session,),
        )
        return {row["symbol"]: row["size"] for row in rows}

    # -- balances ----------

    def value(self) -> float:
        """Cash and shares, at the latest closes; a name without one counts nothing."""
        return self.cash() + float((self.sizes() * np.nan_to_num(self.lasts())).sum())

    def id_mark(self) -> str:
        """Part of the ids of orders, which the broker must not have seen before."""
        return str(self.journal.one("select value from meta where key = ?", (ID_MARK,)) or "")

    def transfers(self) -> dict[str, float]:
        """Money that came in or went out after the opening, by the session on which it was booked; under "" what waits."""
        rows = self.journal.rows(
            "select coalesce(session, '') as session, sum(amount) as amount from cash where kind = 'transfer' group by 1"
        )
        return {row["session"]: float(row["amount"]) for row in rows}

    def close_session(self, session: str) -> None:
        """The account at the close of a session: fills belong to it now, and what is owed is known."""
        cash, sizes, value = self.cash(), self.sizes(), self.value()
        with self.journal.transaction(f"balance of {session}") as db:
            db.execute("update fills set session = ? where session is null", (session,))
            db.execute("update cash set session = ? where session is null", (session,))
            owed = int(self._owed(session))
            blob = sizes.astype("<f8").tobytes()
            db.execute("insert into balances values (?, ?, ?, ?, ?)", (session, cash, value, blob, owed))

    def _owed(self, session: str) -> bool:
        """Whether the decision before this session was not carried out: then it is due again."""
        rows = self.journal.rows(
            "select session, kind from decisions where session < ? order by session desc limit 1", (session,)
        )
        if not rows:
            return False
        before, kind = rows[0]
        if kind in (Kind.MISSED, Kind.REFUSED):
            return True
        return any(
            row["status"] in (Status.REJECTED, Status.UNSENT)
            or (row["status"] == Status.CANCELLED and row["reason"] not in AS_IN_A_BACKTEST)
            for row in self.orders("session = ?", (before,))
        )


def opening_entries(journal: Journal, config: AccountConfig, tickers: Mapping[str, str] | None = None) -> None:
    """The first entries of a new journal: the deposit, and one line per name."""
    with journal.transaction("opening") as db:
        db.execute("insert into cash (kind, amount, ref) values ('deposit', ?, 'deposit')", (config.cash,))
        journal.set_meta("cash", repr(float(config.cash)))
        journal.set_meta("strangers", "")
        called, held = tickers or {}, config.held.tolist()
        rows = [(s, called.get(s, s), size) for s, size in zip(config.symbols, held, strict=True)]
        db.executemany("insert into positions (symbol, ticker, size) values (?, ?, ?)", rows)
