"""What only a person may order: taking the broker's account over, and selling everything."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tracker_strategies.papertrade.brokers.base import Broker
from tracker_strategies.papertrade.brokers.sending import Sender
from tracker_strategies.papertrade.brokers.settling import adopt, cancel_open, drop_intents, settle
from tracker_strategies.papertrade.deciding.tickets import in_shares, make_tickets
from tracker_strategies.papertrade.errors import PaperError
from tracker_strategies.papertrade.journal.journal import now
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.journal.lock_and_halt import HaltSwitch
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.step import StepResult


def take_over(ledger: Ledger, broker: Broker) -> list[str]:
    """Make the journal's account the broker's: orders that are not ours are cancelled, positions and cash taken over."""
    settle(ledger, broker)
    known = {row["cid"] for row in ledger.orders()}
    strange = [report for report in broker.open_orders() if report.cid not in known]
    for report in strange:
        broker.cancel(report)
    changes = [f"cancelled {r.size:+g} {r.ticker} ({r.cid}), an order that was not ours" for r in strange]
    return [*changes, *adopt(ledger, broker.holdings(), "taken over by hand", by_hand=True)]


def flatten_account(ledger: Ledger, broker: Broker, halt: HaltSwitch, pause: Callable[[float], None]) -> StepResult:
    """Sell everything. The account stays halted afterwards, or the strategy would buy it all again."""
    newest = ledger.last_session("balances")
    if not newest:
        raise PaperError("nothing to sell: the account has not had a session yet")
    halt.set("flattened by hand")  # first: killed at any moment, the strategy must not go on
    settle(ledger, broker)
    drop_intents(ledger, "given up: the account is flattened")
    cancel_open(ledger, broker)
    take_over(ledger, broker)
    sizes = ledger.sizes()
    again = ledger.journal.one("select count(*) from events where kind = 'flatten' and session = ?", (newest,))
    purpose = f"flat{again or ''}"
    shares = in_shares(-sizes, np.ones(len(sizes)), sizes, broker, 0.0)
    tickets, symbols = make_tickets(
        ledger.config, newest, shares, np.nan_to_num(ledger.lasts(), nan=0.0), ledger.tickers(), broker, purpose=purpose
    )
    with ledger.journal.transaction("flattening") as db:
        db.execute(
            "insert into decisions (session, made_at, kind) values (?, ?, ?) "
            "on conflict (session) do update set kind = excluded.kind",
            (newest, now(), Kind.FLATTEN),
        )
        ledger.add_intents(newest, tickets, symbols)
        ledger.journal.note("flatten", f"{len(tickets)} positions to be sold", newest)
    sent = Sender(ledger, broker, None, pause).send(newest)
    result = StepResult(newest, decision=Kind.FLATTEN, sent=sent.count, refused=sent.refused)
    if sent.waits:
        result.messages.append(sent.waits)
    return result
