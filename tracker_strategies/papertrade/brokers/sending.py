"""Sending: each intent reaches the broker exactly once, whatever the line between does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracker_strategies.execution.mandate.fills import slots_kept
from tracker_strategies.papertrade.brokers.base import Broker, Report, Status, Ticket
from tracker_strategies.papertrade.errors import (
    BrokerError,
    BrokerUnavailableError,
    DuplicateOrderError,
    OrderRefusedError,
)
from tracker_strategies.papertrade.journal.crash_points import reached
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.journal.lock_and_halt import HaltSwitch

#: Of the cash, what is kept back when buys are sized before they fill: the market may open higher.
CASH_BUFFER = 0.01
#: Seconds to wait after each failed attempt to send an order.
PAUSES = (0.5, 1.0, 2.0, 4.0)


@dataclass
class Sent:
    """What came of sending: how many orders the broker has, and why the others wait."""

    count: int = 0
    refused: int = 0
    waits: str = ""


class Sender:
    """Sends the intents of a session, sells first.

    Parameters
    ----------
    halt : HaltSwitch or None
        Looked at before every order. None for orders that a halt must not stop: those that sell everything.
    pause : callable
        Waits so many seconds.
    """

    def __init__(
        self, ledger: Ledger, broker: Broker, halt: HaltSwitch | None, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._ledger, self._broker, self._halt, self._pause = ledger, broker, halt, pause
        self._acknowledged: list[Report] = []
        self._refused: list[tuple[str, str]] = []

    def send(self, session: str) -> Sent:
        """Send what the session has decided, as far as it may be sent now. What was sent before is not sent again."""
        sent = Sent()
        try:
            self._send_some("session = ? and size < 0", session, sent)
            if not self._broker.nets and not sent.waits:
                self._write_down()
                sells = self._ledger.orders("session = ? and size < 0 and status in ('intent', 'open', 'partial')", (session,))
                buys = self._ledger.orders("session = ? and size > 0 and status = 'intent'", (session,))
                if sells and buys:
                    sent.waits = f"{len(buys)} buys wait until {len(sells)} sells have filled"
                elif buys:
                    self._size_buys(session)
            if not sent.waits:
                self._send_some("session = ? and size > 0", session, sent)
        finally:
            self._write_down()
        return sent

    def _send_some(self, which: str, session: str, sent: Sent) -> None:
        tickers = dict(zip(self._ledger.config.symbols, self._ledger.tickers(), strict=True))
        for row in self._ledger.orders(f"{which} and status = 'intent'", (session,)):
            reason = None if self._halt is None else self._halt.reason()
            if reason is not None:
                sent.waits = f"halted: {reason}"
                return
            self._send_one(Ticket(row["cid"], tickers[row["symbol"]], row["size"], row["price"], row["due"]), sent)

    def _send_one(self, ticket: Ticket, sent: Sent) -> None:
        problem, wait = "", 0.0
        for pause in (*PAUSES, None):
            report: Report | None
            try:
                reached(f"before sending {ticket.cid}")
                report = self._broker.submit(ticket)
                reached(f"after sending {ticket.cid}")
            except OrderRefusedError as refusal:
                report = self._find(ticket.cid) if problem else None  # an attempt that went unanswered may have been taken
                if report is None:
                    self._refused.append((ticket.cid, str(refusal)))
                    sent.refused += 1
                    return
            except (DuplicateOrderError, BrokerUnavailableError) as trouble:
                problem, report = str(trouble), self._find(ticket.cid)
                wait = getattr(trouble, "wait", 0.0)
            if report is not None:
                self._acknowledged.append(report)
                sent.count += 1
                return
            if pause is not None and not self._broker.simulated:  # practice need not wait for its own faults
                self._pause(max(pause, wait))
        raise BrokerUnavailableError(
            f"{problem.rstrip('. ')}. {sent.count} orders were sent, {ticket.cid} and those after it were not. "
            "Step again: what the broker has is not sent twice"
        )

    def _find(self, cid: str) -> Report | None:
        """What the broker knows of an order, if it can be asked."""
        try:
            return self._broker.reports([cid]).get(cid)
        except BrokerError:
            return None

    def _write_down(self) -> None:
        """Into the journal, a batch at a time: an order that is not written down yet is found by its id when it is sent again."""
        done, self._acknowledged = self._acknowledged, []
        refused, self._refused = self._refused, []
        self._ledger.book(done)
        for reason in dict.fromkeys(r for _, r in refused):
            self._ledger.end([cid for cid, why in refused if why == reason], Status.REJECTED, reason)

    def _size_buys(self, session: str) -> None:
        """Shrink the buys to the cash that the sells have really brought; once, before the first of them is sent."""
        journal = self._ledger.journal
        if journal.one("select value from meta where key = 'sized'") == session:
            return
        buys = self._ledger.orders("session = ? and size > 0 and status = 'intent'", (session,))
        need = sum(row["wanted"] * row["price"] for row in buys)
        have = self._broker.holdings().cash * (1.0 - CASH_BUFFER)
        scale = max(0.0, min(1.0, have / need)) if need > 0.0 else 1.0
        step, least = self._broker.quantum, self._broker.least_value
        sizes = {row["cid"]: _rounded(row["wanted"] * scale, step) for row in buys}
        late = self._without_slot(buys, sizes)
        small = [row["cid"] for row in buys if row["cid"] not in late and sizes[row["cid"]] * row["price"] < max(least, 1e-12)]
        with journal.transaction("sizes of buys") as db:
            db.executemany("update orders set size = ? where cid = ?", [(s, cid) for cid, s in sizes.items() if cid not in small])
            journal.set_meta("sized", session)
            if scale < 1.0:
                journal.note(
                    "scaled", f"buys shrunk to {scale:.4f} of what was decided: cash for {have:,.2f} of {need:,.2f}", session
                )
        if late:
            self._ledger.end(late, Status.CANCELLED, "a sell did not fill, and its place is not free")
        if small:
            self._ledger.end(small, Status.CANCELLED, "too small for the broker after shrinking to the cash")

    def _without_slot(self, buys: Sequence[Any], sizes: Mapping[str, float]) -> list[str]:
        """Client ids of buys of new names for which there is no place: the sells that were to make it did not fill."""
        config, held = self._ledger.config, self._broker.holdings().sizes
        place = {symbol: i for i, symbol in enumerate(config.symbols)}
        owned = np.array([held.get(ticker, 0.0) for ticker in self._ledger.tickers()])
        wanted, prices = np.zeros(len(place)), np.ones(len(place))
        for row in buys:
            wanted[place[row["symbol"]]], prices[place[row["symbol"]]] = sizes[row["cid"]], row["price"]
        kept = slots_kept(wanted, owned, prices, config.guard.slots)
        return [row["cid"] for row in buys if wanted[place[row["symbol"]]] > 0.0 and kept[place[row["symbol"]]] == 0.0]


def _rounded(size: float, step: float) -> float:
    return round(int(size / step + 1e-6) * step, 12) if step else size
