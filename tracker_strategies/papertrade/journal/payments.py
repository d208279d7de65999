"""Money that is paid in and out on known dates, in the books: the schedule, the payment under way, and those that were made.

A payment is written down before the broker's turn and booked after it, so that it is made once however often a step is killed:
what the broker has made is not worked out again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tracker_strategies.analysis.metrics import carried_to_close
from tracker_strategies.execution.holdings.flows import Flows, flows_of
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.papertrade.brokers.base import Ticket
from tracker_strategies.papertrade.errors import FlowError
from tracker_strategies.papertrade.journal.journal import Journal
from tracker_strategies.papertrade.journal.ledger import Ledger

#: Facts of a journal: the schedule; the payment under way; by session what the account was worth when one was made, and its day.
SCHEDULE, _UNDER_WAY, _MADE = "flows", "flow_under_way", "flows_made"


@dataclass(frozen=True)
class Due:
    """A payment under way.

    Attributes
    ----------
    session : str
        On which it is booked.
    day : str
        At whose fills: this session, or the one before with fills at the close.
    amount, worth : float
        Paid in (+) or out (-), and what the account was worth just before.
    invests : bool
        Whether it is invested with these fills, in proportion; an account that is halted keeps it in cash.
    """

    session: str
    day: str
    amount: float
    worth: float
    invests: bool


def schedule_of(journal: Journal) -> Flows | None:
    """What is paid in and out, and when; None for nothing."""
    told = journal.one("select value from meta where key = ?", (SCHEDULE,))
    with journal.errors():
        return flows_of(json.loads(told) or None) if told else None


def changed_schedule(ledger: Ledger, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule with payments added, replaced or, with None, removed, in plain values. Days that have passed stay."""
    # What is due on a session that could not be settled may be changed; with fills at the close that is of the one before.
    newest = ledger.last_session("balances", back=int(ledger.config.fill is FillMode.CLOSE))
    booked = [day for _, day in _made(ledger.journal).values()]
    begun = _begun(ledger.journal)
    booked += [] if begun is None else [begun.day]
    old, newest = schedule_of(ledger.journal), max(newest, ledger.config.start, *booked)
    if ledger.config.broker != "simulated":
        raise FlowError(f"at {ledger.config.broker} a person pays money in and out; do it there, then run: tracker paper adopt")
    if ledger.config.liquidity is not None:
        Flows().check(newest, newest, limited=True)
    plain = {} if old is None else old.plain()
    for key, value in changes.items():
        gone = value in (None, "none")
        made = None if gone and key == "each" else flows_of({key: 1.0 if gone else value})
        day = made.days[0] if made is not None and made.days else "each"
        if day != "each" and day <= newest:
            raise FlowError(
                f"what was due on {day} is booked or is being booked, or the account had not begun; name a date after {newest}"
            )
        if gone and day not in plain:
            when = "each period" if day == "each" else f"on {day}"
            raise FlowError(f"nothing is to be paid in or out {when}; the schedule is unchanged")
        plain.pop(day, None)
        if not gone:
            plain |= made.plain() if made is not None else {}
    return plain


def due_on(ledger: Ledger, session: str) -> tuple[str, float]:
    """The day and the amount of what is booked on a session; 0 for nothing."""
    flows = schedule_of(ledger.journal)
    if flows is None:
        return session, 0.0
    day, before = session, ledger.last_session(before=session)
    if ledger.config.fill is FillMode.CLOSE:  # filled at the close before, when this session comes in
        day, before = before, ledger.last_session(before=before)
    return day, flows.due(before, day) if before >= ledger.config.start else 0.0


def under_way(journal: Journal, session: str) -> Due | None:
    """The payment that was begun on a session and not finished."""
    due = _begun(journal)
    return due if due is not None and due.session == session else None


def _begun(journal: Journal) -> Due | None:
    told = journal.one("select value from meta where key = ?", (_UNDER_WAY,))
    with journal.errors():
        return Due(**json.loads(told)) if told else None


def begin(journal: Journal, due: Due) -> None:
    """Write a payment down before the broker's turn."""
    with journal.transaction(f"payment on {due.session}"):
        journal.set_meta(_UNDER_WAY, json.dumps(asdict(due)))


def give_up(journal: Journal) -> None:
    """The payment cannot be made."""
    with journal.transaction("payment refused"):
        journal.set_meta(_UNDER_WAY, "")


def is_made(journal: Journal, session: str) -> bool:
    """Whether the payment of a session is booked."""
    return session in _made(journal)


def finish(ledger: Ledger, due: Due, tickets: Sequence[Ticket], symbols: Sequence[str]) -> str:
    """Book a payment, with the orders that invest it, which the broker has filled; say what was paid."""
    journal = ledger.journal
    how = ("invested" if due.amount > 0.0 else "raised") if due.invests else "kept in cash" if due.amount > 0.0 else "from cash"
    text = f"{abs(due.amount):,.2f} paid {'in' if due.amount > 0.0 else 'out'} and {how}"
    with journal.transaction(f"payment made on {due.session}") as db:
        ledger.pay(db, "transfer", due.amount, f"flow-{due.session}")
        ledger.add_intents(ledger.last_session(before=due.session), tickets, symbols)
        journal.set_meta(_MADE, json.dumps({**_made(journal), due.session: [due.worth, due.day]}))
        journal.set_meta(_UNDER_WAY, "")
        journal.note("flow", text, due.session)
    return f"{due.session}: {text}"


def made(journal: Journal) -> dict[str, float]:
    """Scheduled payments that were made, by the day at whose fills they were."""
    amounts = {row["ref"]: row["amount"] for row in journal.rows("select ref, amount from cash where kind = 'transfer'")}
    return {day: float(amounts[f"flow-{session}"]) for session, (_, day) in _made(journal).items()}


def carried_transfers(ledger: Ledger) -> tuple[dict[str, float], dict[str, float]]:
    """Money that came in or went out, by session; and what it counts at that session's close, where it has made a return of its
    own since it was booked, so that (V_t - F_t) / V_{t-1} is the growth of the account.
    """
    journal, moved = ledger.journal, ledger.transfers()
    carried = dict(moved)
    values = {row["session"]: row["value"] for row in journal.rows("select session, value from balances")}
    for session, (amount, worth) in payments_made(journal).items():
        if session in values:
            carried[session] = carried_to_close(amount, worth, values[session], moved[session] - amount)
    return moved, carried


def payments_made(journal: Journal) -> dict[str, tuple[float, float]]:
    """Scheduled payments that were made, by the session on which they are booked, and what the account was worth before each."""
    amounts = {row["ref"]: row["amount"] for row in journal.rows("select ref, amount from cash where kind = 'transfer'")}
    return {session: (float(amounts[f"flow-{session}"]), worth) for session, (worth, _) in _made(journal).items()}


def _made(journal: Journal) -> dict[str, tuple[float, str]]:
    told = journal.one("select value from meta where key = ?", (_MADE,))
    with journal.errors():
        return {session: (float(worth), str(day)) for session, (worth, day) in json.loads(told).items()} if told else {}
