"""Sending: each intent reaches the broker exactly once, in time or not at all, whatever the line between does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracker_strategies.execution.mandate.fills import slots_kept
from tracker_strategies.papertrade.brokers.base import Broker, Report, Status, Ticket
from tracker_strategies.papertrade.brokers.sending_hours import SendingHours
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
    """What came of sending: how many orders the broker has or has refused, and why the others wait or are too late.

    ``early``: they only wait for their hour.
    """

    count: int = 0
    refused: int = 0
    waits: str = ""
    early: bool = False
    late: str = ""


def place(
    broker: Broker, ticket: Ticket, pause: Callable[[float], None], stop: Callable[[], bool] = lambda: False
) -> Report | None:
    """Bring one order to the broker, once: without a usable answer it is looked for before it is sent again.

    Parameters
    ----------
    stop : callable
        Asked right before every attempt. When it says so, nothing is sent any more; None is returned, unless an attempt before
        has arrived.

    Raises
    ------
    OrderRefusedError, BrokerUnavailableError, BrokerKeysError
    """
    problem, wait = "", 0.0
    for gap in (*PAUSES, None):
        report: Report | None
        if stop():
            return _find(broker, ticket.cid) if problem else None
        try:
            reached(f"before sending {ticket.cid}")
            report = broker.submit(ticket)
            reached(f"after sending {ticket.cid}")
        except OrderRefusedError:
            report = _find(broker, ticket.cid) if problem else None  # an attempt that went unanswered may have been taken
            if report is None:
                raise
        except (DuplicateOrderError, BrokerUnavailableError) as trouble:
            problem, report = str(trouble), _find(broker, ticket.cid)
            wait = getattr(trouble, "wait", 0.0)
        if report is not None:
            return report
        if gap is not None and not broker.simulated:  # practice need not wait for its own faults
            pause(max(gap, wait))
    raise BrokerUnavailableError(problem)


def _find(broker: Broker, cid: str) -> Report | None:
    """What the broker knows of an order, if it can be asked."""
    try:
        return broker.reports([cid]).get(cid)
    except BrokerError:
        return None


class Sender:
    """Sends the intents of a session, sells first.

    Parameters
    ----------
    halt : HaltSwitch or None
        Looked at before every attempt. None for orders that a halt must not stop: those that sell everything.
    hours : SendingHours or None
        Asked before every attempt. None for orders that are due now.
    pause : callable
        Waits so many seconds.
    """

    def __init__(
        self,
        ledger: Ledger,
        broker: Broker,
        halt: HaltSwitch | None,
        hours: SendingHours | None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._ledger, self._broker, self._halt, self._hours, self._pause = ledger, broker, halt, hours, pause
        self._acknowledged: list[Report] = []
        self._refused: list[tuple[str, str]] = []

    def send(self, session: str) -> Sent:
        """Send what the session has decided, as far as it may be sent now. What was sent before is not sent again."""
        sent = Sent()
        try:
            self._send_some("size < 0", session, sent, follows=False)
            if self._broker.nets or self._hours is None:  # what is due now waits for nothing
                self._send_some("size > 0", session, sent, follows=False)
            else:
                self._write_down()
                self._send_buys(session, sent)
        finally:
            self._write_down()
        return sent

    def _send_buys(self, session: str, sent: Sent) -> None:
        """The second half: buys, when the sells that pay for them have filled; without sells they are the first."""
        sells = self._ledger.orders("session = ? and size < 0", (session,))
        waiting = [row for row in sells if not Status(row["status"]).ended]
        buys = self._ledger.orders("session = ? and size > 0 and status = 'intent'", (session,))
        if sent.waits or sent.late or not buys:
            return
        # Sells that were too late leave a rebalance of which half is gone: its buys are given up with it.
        follows = bool(sells) and all(row["status"] != Status.UNSENT for row in sells)
        if self._stopped(session, sent, follows=follows):
            return
        if waiting:
            sent.waits = f"{len(buys)} buys wait until {len(waiting)} sells have filled"
            return
        self._size_buys(session)
        self._send_some("size > 0", session, sent, follows=follows)

    def _send_some(self, which: str, session: str, sent: Sent, *, follows: bool) -> None:
        tickers = dict(zip(self._ledger.config.symbols, self._ledger.tickers(), strict=True))
        auction = self._ledger.config.time_in_force == "opg" and not follows and self._hours is not None
        for row in self._ledger.orders(f"session = ? and {which} and status = 'intent'", (session,)):
            opg = auction and float(row["size"]).is_integer()  # a fraction that is left over goes by the day
            ticket = Ticket(row["cid"], tickers[row["symbol"]], row["size"], row["price"], row["due"], session, opg)
            try:
                report = place(
                    self._broker,
                    ticket,
                    self._pause,
                    lambda opg=opg: self._stopped(session, sent, follows=follows, opg=opg),  # type: ignore[misc]
                )
            except OrderRefusedError as refusal:
                self._refused.append((ticket.cid, str(refusal)))
                sent.refused += 1
                continue
            except BrokerUnavailableError as trouble:
                raise BrokerUnavailableError(
                    f"{str(trouble).rstrip('. ')}. {sent.count} orders were sent; {ticket.cid} and the later ones "
                    "were not. Step again: orders the broker already has are not sent twice"
                ) from None
            if report is None:
                return
            self._acknowledged.append(report)
            sent.count += 1

    def _stopped(self, session: str, sent: Sent, *, follows: bool, opg: bool = False) -> bool:
        """Whether nothing may be sent now, and why: a halt, or the hour."""
        reason = None if self._halt is None else self._halt.reason()
        if reason is not None:
            sent.waits = f"halted: {reason}"
        elif self._hours is not None:
            verdict = self._hours.verdict(session, follows=follows, opg=opg)
            sent.waits, sent.early, sent.late = verdict.wait, bool(verdict.wait), verdict.late
        return bool(sent.waits or sent.late)

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
        step, least = max(self._broker.quantum, self._ledger.config.lot), self._broker.least_value
        sizes = {row["cid"]: _rounded(row["wanted"] * scale, step) for row in buys}
        late = self._without_slot(buys, sizes)
        small = [row["cid"] for row in buys if row["cid"] not in late and sizes[row["cid"]] * row["price"] < max(least, 1e-12)]
        with journal.transaction("sizes of buys") as db:  # with those that are given up: sizing is done once
            db.executemany("update orders set size = ? where cid = ?", [(s, cid) for cid, s in sizes.items() if cid not in small])
            journal.set_meta("sized", session)
            if scale < 1.0:
                journal.note(
                    "scaled",
                    f"buys scaled down to {scale:.4f} of their decided size: there is cash for {have:,.2f} of {need:,.2f}",
                    session,
                )
            self._ledger.end_within(
                late, Status.CANCELLED, "a sell did not fill, so the limit on the number of names leaves no room"
            )
            self._ledger.end_within(small, Status.CANCELLED, "too small for the broker after scaling down to the available cash")

    def _without_slot(self, buys: Sequence[Any], sizes: Mapping[str, float]) -> list[str]:
        """Client ids of buys of new names for which there is no place: the sells that were to make it did not fill."""
        config, held = self._ledger.config, self._broker.holdings().sizes
        spots = {symbol: i for i, symbol in enumerate(config.symbols)}
        owned = np.array([held.get(ticker, 0.0) for ticker in self._ledger.tickers()])
        wanted, prices = np.zeros(len(spots)), np.ones(len(spots))
        for row in buys:
            wanted[spots[row["symbol"]]], prices[spots[row["symbol"]]] = sizes[row["cid"]], row["price"]
        kept = slots_kept(wanted, owned, prices, config.guard.slots)
        return [row["cid"] for row in buys if wanted[spots[row["symbol"]]] > 0.0 and kept[spots[row["symbol"]]] == 0.0]


def _rounded(size: float, step: float) -> float:
    return round(int(size / step + 1e-6) * step, 12) if step else size
