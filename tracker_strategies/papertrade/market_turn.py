"""The market's turn on a session, for an account at the simulated broker: orders fill, and what is due is paid in or out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import AccountError
from tracker_strategies.execution.holdings.flows import check_withdrawal
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.papertrade.brokers.base import Broker, Payment, Quotes, Ticket
from tracker_strategies.papertrade.deciding.risk import breaches
from tracker_strategies.papertrade.deciding.tickets import client_id
from tracker_strategies.papertrade.errors import FlowError, PaperError
from tracker_strategies.papertrade.journal import payments
from tracker_strategies.papertrade.journal.crash_points import reached
from tracker_strategies.papertrade.journal.history import History
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.journal.lock_and_halt import HaltSwitch
from tracker_strategies.papertrade.market.corporate_actions import Action
from tracker_strategies.papertrade.risk_limits import RiskLimits

FloatArray = NDArray[np.float64]

_INSTEAD = "Nothing is booked. Change what is paid with: tracker paper flows"


def market_turn(ledger: Ledger, broker: Broker, limits: RiskLimits, halt: HaltSwitch, session: str) -> list[str]:
    """Tell a simulated broker what happened on a session, and book what is paid then; say what was."""
    happened = _happened(ledger, session)
    quotes = happened.quotes
    due = _payment(ledger, broker, limits, halt, happened)
    if due is not None:
        at = "close" if ledger.config.fill is FillMode.CLOSE else "open"
        quotes = replace(quotes, paid=Payment(due.amount, at, due.day, _cids(ledger, due)))
    reached(f"before the market of {session}")
    try:
        broker.advance(quotes, happened.actions)
    except AccountError as problem:
        if isinstance(problem, PaperError):
            raise
        payments.give_up(ledger.journal)
        raise FlowError(f"{problem}. {_INSTEAD}") from problem
    reached(f"after the market of {session}")
    return [] if due is None else [_finish(ledger, broker, due, happened.prices)]


def finish_payment(ledger: Ledger, broker: Broker) -> list[str]:
    """Book a payment that the broker has made and a step that was killed has not booked; say what was paid."""
    session = ledger.last_session()
    due = payments.under_way(ledger.journal, session)
    if due is None or not broker.has_had(session):
        return []
    return [_finish(ledger, broker, due, _happened(ledger, session).prices)]


@dataclass(frozen=True, eq=False)
class _Session:
    """A session as a simulated broker is told of it, with its corporate actions under the names that it knows.

    ``prices`` are those of the fills with which money is paid, NaN where a name does not trade, and ``known`` the latest closes
    as of these fills; both in the shares after the actions.
    """

    quotes: Quotes
    actions: list[Action]
    prices: FloatArray
    known: FloatArray


def _happened(ledger: Ledger, session: str) -> _Session:
    config = ledger.config
    before, liquid = ledger.last_session(before=session), config.liquidity is not None
    history = History.load(ledger.journal, config, after="" if liquid else ledger.last_session(before=before))
    row = history.bars.sessions.index(session)
    opens = history.opens[row]
    closes = history.bars.close[row - 1] if row else np.full(len(opens), np.nan)
    new = ledger.tickers()
    renames = {a.symbol: a.text for a in history.actions if a.kind == "rename" and a.session < session}
    today = [a for a in history.actions if a.session == session]
    changed = {a.symbol for a in today if a.kind == "rename"}
    old = tuple(renames.get(s, s) if s in changed else t for s, t in zip(config.symbols, new, strict=True))
    called = dict(zip(config.symbols, old, strict=True))
    parts, prices, lasts = history.quoted(row), opens, ledger.lasts()
    known = lasts
    if config.fill is FillMode.CLOSE:
        parts["lasts_before"] = _lasts_before(ledger, history, row)
        ratios = _new_shares(config.symbols, today)
        prices, known = closes / ratios, parts["lasts_before"] / ratios
    quotes = Quotes(session, new, opens, old, closes, ledger.turnover_of(before), lasts, **parts)
    return _Session(quotes, [replace(a, symbol=called[a.symbol]) for a in today], prices, known)


def _lasts_before(ledger: Ledger, history: History, row: int) -> FloatArray:
    """(N,) latest close of each name as of the session before a row: what is known at its close."""
    lasts, closes = ledger.lasts(), history.bars.close
    came_back = np.isfinite(closes[row]) & ~(np.isfinite(closes[row - 1]) if row else np.zeros(len(lasts), dtype=bool))
    if row:
        lasts = np.where(np.isfinite(closes[row - 1]), closes[row - 1], lasts)
    if came_back.any():
        past = History.load(ledger.journal, ledger.config).bars
        earlier = past.close[: past.sessions.index(history.bars.sessions[row])]
        for i in np.flatnonzero(came_back).tolist():
            seen = earlier[np.isfinite(earlier[:, i]), i]
            lasts[i] = seen[-1] if len(seen) else np.nan
    return lasts


def _new_shares(symbols: Sequence[str], actions: Sequence[Action]) -> FloatArray:
    """(N,) new shares for an old one."""
    ratios = np.ones(len(symbols))
    for action in actions:
        if action.kind == "split":
            ratios[symbols.index(action.symbol)] *= action.value
    return ratios


def _cids(ledger: Ledger, due: payments.Due) -> tuple[str, ...]:
    """Ids of the orders that invest a payment, one for each name."""
    config, before = ledger.config, ledger.last_session(before=due.session)
    names = enumerate(config.symbols) if due.invests else ()
    return tuple(client_id(config.name, before, i, symbol, f"flow{ledger.id_mark()}") for i, symbol in names)


def _finish(ledger: Ledger, broker: Broker, due: payments.Due, prices: FloatArray) -> str:
    """Book a payment that the broker has made, with its orders."""
    cids, new = _cids(ledger, due), ledger.tickers()
    made = broker.reports(cids)
    which = [i for i, cid in enumerate(cids) if cid in made]
    tickets = [Ticket(cids[i], new[i], made[cids[i]].size, float(prices[i]), "flow") for i in which]
    return payments.finish(ledger, due, tickets, [ledger.config.symbols[i] for i in which])


def _payment(ledger: Ledger, broker: Broker, limits: RiskLimits, halt: HaltSwitch, happened: _Session) -> payments.Due | None:
    """What is paid with the fills of a session, written down; None for nothing, or when it is booked. What was written down and
    the broker has not made is worked out again: the account may have been halted in the meantime.
    """
    journal, session = ledger.journal, happened.quotes.session
    known = np.where(np.isfinite(happened.prices), happened.prices, np.nan_to_num(happened.known))
    due = payments.under_way(journal, session)
    if payments.is_made(journal, session) or (due is not None and broker.has_had(session)):
        return due
    if due is not None:
        payments.give_up(journal)
    day, amount = payments.due_on(ledger, session)
    if not amount:
        return None
    if ledger.config.fill is FillMode.CLOSE:
        worth = float(journal.one("select value from balances where session = ?", (day,)))
    else:
        worth = ledger.cash() + float(ledger.sizes() @ known)
    try:
        check_withdrawal(worth, amount, day)
    except AccountError as problem:
        raise FlowError(f"{problem}. {_INSTEAD}") from None
    invests = halt.reason() is None
    if invests:
        _refuse_beyond(limits, ledger, amount, worth, known, day)
    due = payments.Due(session, day, amount, worth, invests)
    payments.begin(journal, due)
    return due


def _refuse_beyond(limits: RiskLimits, ledger: Ledger, amount: float, worth: float, known: FloatArray, day: str) -> None:
    """Raise when the orders that invest a payment break a limit. Like the entry, it does not count against the turnover."""
    place = {symbol: i for i, symbol in enumerate(ledger.config.symbols)}
    after = ledger.sizes()
    for order in ledger.orders("status in ('open', 'partial')"):
        after[place[order["symbol"]]] += order["size"] - order["filled"]
    after = np.maximum(after, 0.0)
    own = replace(limits, max_turnover=None, max_weight=None)
    found = breaches(
        own, ledger.config.symbols, after, after * (amount / worth), known, max(worth - float(after @ known), 0.0), pays=False
    )
    if found:
        raise FlowError(
            f"what is {'paid in' if amount > 0.0 else 'taken out'} on {day}, {abs(amount):,.2f}, breaks a limit: "
            f"{'; '.join(found)}. Change the limit with: tracker paper limits. {_INSTEAD}"
        )
