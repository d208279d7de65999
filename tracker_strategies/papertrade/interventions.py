"""What only a person may order: taking the broker's account over, cancelling what waits, selling everything.

Cancelling and selling are emergency exits. They do at the broker what they can before anything is booked, and where the books
cannot be kept they go on without them: what they did then shows as a difference, for ``adopt``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import numpy as np

from tracker_strategies.papertrade.brokers.base import Broker, Report, Ticket
from tracker_strategies.papertrade.brokers.booked_ahead import booked_ahead
from tracker_strategies.papertrade.brokers.sending import Sender, place
from tracker_strategies.papertrade.brokers.settling import Splits, adopt, cancel_open, drop_intents, settle, strange_orders
from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.deciding.tickets import client_id, make_tickets
from tracker_strategies.papertrade.errors import (
    BrokerError,
    BrokerKeysError,
    BrokerUnavailableError,
    ExitError,
    OrderRefusedError,
    PaperError,
)
from tracker_strategies.papertrade.journal.crash_points import reached
from tracker_strategies.papertrade.journal.journal import now
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.market_turn import finish_payment
from tracker_strategies.papertrade.step import StepResult

#: Seconds between looks whether cancelled orders have gone: until then they hold back the shares that they would sell.
_LOOKS = (0.2, 0.5, 1.0, 2.0, 4.0)


def take_over(ledger: Ledger, broker: Broker, splits: Splits = Splits.WAIT) -> list[str]:
    """Make the journal's account the broker's: orders that are not ours are cancelled, positions and cash taken over.

    A scheduled payment that the broker has made is booked as such before. What looks like a split is taken as ``splits`` says,
    and what looks like a new ticker as that, unless all are shares.
    """
    finished = finish_payment(ledger, broker)
    settle(ledger, broker, recent=True)
    strange = strange_orders(ledger, broker.open_orders())
    for report in strange:
        broker.cancel(report)
    changes = [f"cancelled {r.size:+g} {r.ticker} ({r.cid}), an order that this account did not send" for r in strange]
    there = broker.holdings()
    ahead = booked_ahead(ledger, there)
    return [*finished, *changes, *adopt(ledger, there, "adopted from the broker", ahead, splits)]


def cancel_waiting(broker: Broker, name: str = "") -> int:
    """Cancel the orders that wait at the broker and carry an account's name, or all; return how many. Nothing is booked."""
    waiting = [report for report in broker.open_orders() if report.cid.startswith(f"{name}-" if name else "")]
    failed: list[BrokerError] = []
    for report in waiting:
        try:
            reached(f"before cancelling {report.cid}")
            broker.cancel(report)
            reached(f"after cancelling {report.cid}")
        except BrokerError as problem:  # the others are tried all the same
            failed.append(problem)
    if failed:
        raise ExitError(
            f"{len(failed)} of {len(waiting)} orders could not be cancelled: {failed[0]}. The account is halted; try again, or "
            "cancel them at the broker"
        )
    return len(waiting)


def book_what_happened(ledger: Ledger | None, broker: Broker) -> list[str]:
    """Settle and book, if that is possible; say why not."""
    try:
        if ledger is not None:
            settle(ledger, broker)
            cancel_open(ledger, broker)
    except PaperError as problem:
        return [f"not booked ({type(problem).__name__}: {problem})"]
    return []


def flatten_account(
    config: AccountConfig,
    ledger: Ledger | None,
    broker: Broker,
    pause: Callable[[float], None],
    *,
    strangers: bool = False,
) -> StepResult:
    """Sell everything. The account is halted before, or the strategy would buy it all again.

    Without a ledger, or when its books cannot be kept, the broker's positions are sold past them.

    Raises
    ------
    ExitError
        All was done that could be, and something is left: positions that are not of the account's names (``strangers`` sells
        them, too), or that the broker does not sell.
    """
    result = StepResult(decision=Kind.FLATTEN)
    result.messages += _clear(broker, pause)
    sold: Sequence[str] = ()
    if ledger is not None:
        try:
            sold = _sell_by_the_books(ledger, broker, pause, result)
        except PaperError as problem:
            result.messages.append(
                f"sold without recording it in the journal, which cannot be written ({type(problem).__name__}: {problem})"
            )
            result.messages += _clear(broker, pause)  # some may have been sent
            result.sent = result.refused = 0
    left = _sell_the_rest(config, ledger, broker, pause, result, sold, strangers=strangers)
    if left:
        raise ExitError(
            f"{result.sent} positions are being sold; these were not: {', '.join(left)}. The account is halted. "
            "Sell them at the broker; to sell positions that do not belong to this account as well: tracker paper "
            "flatten --strangers"
        )
    return result


def _clear(broker: Broker, pause: Callable[[float], None]) -> list[str]:
    """Cancel all that waits, and look until it has gone; say what did not. What can be sold is sold all the same."""
    try:
        cancel_waiting(broker)
        for seconds in _LOOKS:
            if not broker.open_orders():
                return []
            pause(seconds)
    except BrokerKeysError:
        raise
    except PaperError as problem:
        return [f"{type(problem).__name__}: {problem}"]
    return ["some orders are still being cancelled at the broker"]


def _sell_by_the_books(ledger: Ledger, broker: Broker, pause: Callable[[float], None], result: StepResult) -> list[str]:
    """Sell what is held of the account's names, written down before; return their tickers. Before the first session, none."""
    newest = ledger.last_session("balances")
    if not newest:
        return []
    settle(ledger, broker)
    drop_intents(ledger, "dropped: the account is being flattened")
    cancel_open(ledger, broker)
    take_over(ledger, broker, Splits.NOW)
    sizes = ledger.sizes()
    again = ledger.journal.one("select count(*) from events where kind = 'flatten' and session = ?", (newest,))
    tickets, symbols = make_tickets(
        ledger.config,
        newest,
        -sizes,
        np.nan_to_num(ledger.lasts(), nan=0.0),
        ledger.tickers(),
        broker,
        purpose=f"flat{again or ''}",
        out=np.ones(len(sizes), dtype=bool),
    )
    with ledger.journal.transaction("flattening") as db:
        db.execute(
            "insert into decisions (session, made_at, kind) values (?, ?, ?) "
            "on conflict (session) do update set kind = excluded.kind",
            (newest, now(), Kind.FLATTEN),
        )
        ledger.add_intents(newest, tickets, symbols)
        ledger.journal.note("flatten", f"{len(tickets)} positions to be sold", newest)
    sent = Sender(ledger, broker, None, None, pause).send(newest)
    result.session, result.sent, result.refused = newest, sent.count, sent.refused
    if sent.waits:
        result.messages.append(sent.waits)
    refused = ledger.orders("session = ? and status = 'rejected'", (newest,))
    gone = {row["symbol"] for row in refused if row["cid"] in {t.cid for t in tickets}}
    called = dict(zip(ledger.config.symbols, ledger.tickers(), strict=True))
    return [called[symbol] for symbol in symbols if symbol not in gone]


def _sell_the_rest(
    config: AccountConfig,
    ledger: Ledger | None,
    broker: Broker,
    pause: Callable[[float], None],
    result: StepResult,
    sold: Sequence[str],
    *,
    strangers: bool,
) -> list[str]:
    """Sell what the broker still holds and nobody has written down; return what is left, in words."""
    ours = set(config.symbols)
    if ledger is not None:
        with suppress(PaperError):
            ours |= set(ledger.tickers())
    left, moment = [], datetime.now(UTC).strftime("%Y%m%d%H%M%S")
    for number, (ticker, size) in enumerate(sorted(broker.holdings().sizes.items())):
        if ticker in sold or not size:
            continue
        if ticker not in ours and not strangers:
            left.append(f"{size:g} {ticker} (not one of this account's names)")
            continue
        ticket = Ticket(client_id(f"{config.name}-flat", moment, number, ticker), ticker, -size, 0.0)
        try:
            report: Report | None = place(broker, ticket, pause)
        except (OrderRefusedError, BrokerUnavailableError) as refusal:
            left.append(f"{size:g} {ticker} ({refusal})")
            continue
        result.sent += report is not None
    return left
