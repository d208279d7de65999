"""What happened at the broker since the last look: fills, orders to be cancelled, and whether both accounts agree."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum

from tracker_strategies.papertrade.brokers.base import Broker, Holdings, Report, Status
from tracker_strategies.papertrade.brokers.booked_ahead import SAME, booked_ahead, in_words
from tracker_strategies.papertrade.errors import ReconcileError
from tracker_strategies.papertrade.journal.actions import confirm_split, forget_confirmed, remember_taken
from tracker_strategies.papertrade.journal.crash_points import reached
from tracker_strategies.papertrade.journal.fills import DUST
from tracker_strategies.papertrade.journal.ledger import ID_MARK, Ledger
from tracker_strategies.papertrade.journal.schema import OPEN
from tracker_strategies.papertrade.market.corporate_actions import Action

#: Cash may differ from a real broker's by this share of the account without a question: fees to the cent, interest.
CASH_TOLERANCE = 1e-4
#: So may shares, up to the sixth decimal, if what is between is worth less than a cent.
CENT = 0.01
#: Looks at an account that moves while it is looked at.
_LOOKS = 3
#: Money that is rounding, whatever the account is worth: nobody has paid it in or out.
_ROUNDING = 1e-6
#: Sessions whose orders are asked for again when the accounts differ: a broker may correct how one ended.
_RECENT = 2
#: Up to which order the shares that were taken over include all fills, told or not.
_INCLUDED = "orders_included"


def settle(ledger: Ledger, broker: Broker, *, recent: bool = False) -> None:
    """Book what the broker says about orders that are still open here; if wanted, about all of the last sessions.

    An order that we think is there and the broker has never heard of becomes an intent again.
    """
    waiting = ledger.orders(f"status in {OPEN}")
    if recent:
        since, included = (
            ledger.last_session(back=_RECENT),
            ledger.journal.one(f"select value from meta where key = '{_INCLUDED}'"),
        )
        waiting += ledger.orders(f"session >= ? and status not in {OPEN} and rowid > ?", (since, int(included or 0)))
    if not waiting:
        return
    known = broker.reports([row["cid"] for row in waiting])
    news, lost = [], []
    for row in waiting:
        report = known.get(row["cid"])
        if report is None:
            lost += [row["cid"]] if row["status"] in (Status.OPEN, Status.PARTIAL) else []
        elif report.status != row["status"] or report.filled != row["filled"] or report.fee != row["fee"]:
            news.append(report)
    ledger.book(news)
    if lost:
        with ledger.journal.transaction("lost orders") as db:
            db.executemany("update orders set status = 'intent' where cid = ?", [(cid,) for cid in lost])
            ledger.journal.note(
                "lost", f"the broker does not know {len(lost)} orders that it had confirmed, starting with {lost[0]}"
            )


def cancel_open(ledger: Ledger, broker: Broker) -> int:
    """Cancel our orders that wait at the broker, then book how they ended."""
    waiting = ledger.orders("status in ('open', 'partial')")
    if not waiting:
        return 0
    known = broker.reports([row["cid"] for row in waiting])
    for report in known.values():
        if not report.status.ended:
            reached(f"before cancelling {report.cid}")
            broker.cancel(report)
            reached(f"after cancelling {report.cid}")
    settle(ledger, broker)
    return len(waiting)


def drop_intents(ledger: Ledger, why: str) -> int:
    """Give up orders that were never sent. Call it after :func:`settle`, which finds those that were sent."""
    cids = [row["cid"] for row in ledger.orders("status = 'intent'")]
    if cids:
        ledger.end(cids, Status.UNSENT, why)
    return len(cids)


def reconcile(ledger: Ledger, broker: Broker) -> str:
    """Raise :class:`ReconcileError` with the differences unless journal and broker have the same account.

    A small difference at a real broker (fees, interest, rounding) is booked, not argued about. What looks like a corporate action
    that only one of the two has booked is no difference of wealth: it is returned in words, and nothing may be traded.
    """
    tolerance = 1e-6 + 1e-10 * ledger.value() if broker.simulated else max(0.01, CASH_TOLERANCE * ledger.value())
    wrong: list[str] = []
    for look in range(_LOOKS):
        there = broker.holdings()
        strange = [_told(report) for report in strange_orders(ledger, broker.open_orders())]
        if not strange and not differences(ledger, there, min(tolerance, 0.005)):
            forget_confirmed(ledger.journal)
            return ""
        ahead = booked_ahead(ledger, there)
        wrong = [*differences(ledger, there, tolerance, ahead, dust=not broker.simulated), *strange]
        if not wrong:
            if not broker.simulated and differences(ledger, there, 0.005, ahead):
                adopt(ledger, there, "fees, interest and rounding at the broker", ahead)
            return "; ".join(in_words(action, ledger, there) for action in ahead)
        if look and not ledger.orders("status in ('open', 'partial')"):
            break
        settle(ledger, broker, recent=True)  # something may have been filled between two questions, or ended otherwise
    raise ReconcileError(
        f"the broker's account differs from the journal: {'; '.join(wrong[:5])}"
        + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        + ". Nothing was decided. Accept the broker's positions and cash with: tracker paper adopt; or sell "
        "everything: tracker paper flatten"
    )


def strange_orders(ledger: Ledger, there: Sequence[Report]) -> list[Report]:
    """Orders that wait at the broker and that the journal does not know, but for those that sell everything past the journal."""
    known = {row["cid"] for row in ledger.orders(f"status in {OPEN}")}
    return [r for r in there if r.cid not in known and not r.cid.startswith(f"{ledger.config.name}-flat-")]


def _told(report: Report) -> str:
    return f"an open order that this account did not send: {report.size:+g} {report.ticker} ({report.cid})"


def differences(
    ledger: Ledger, there: Holdings, tolerance: float, ahead: Sequence[Action] = (), *, dust: bool = False
) -> list[str]:
    """Where the broker's account is not the journal's; empty when it is.

    Parameters
    ----------
    tolerance : float
        Cash that may differ.
    ahead : sequence of Action
        Names that differ by these are not listed.
    dust : bool
        Leave out differences of shares that are rounding.
    """
    found = []
    here = dict(zip(ledger.tickers(), ledger.sizes().tolist(), strict=True))
    prices = dict(zip(ledger.tickers(), ledger.lasts().tolist(), strict=True))
    called = dict(zip(ledger.config.symbols, ledger.tickers(), strict=True))
    explained = {called[a.symbol] for a in ahead} | {a.text for a in ahead}
    known = ledger.strangers()
    for ticker in dict.fromkeys([*here, *(t for t in there.sizes if t not in known)]):
        mine, theirs = here.get(ticker, 0.0), there.sizes.get(ticker, 0.0)
        gap = abs(mine - theirs)
        if dust and gap <= DUST and gap * prices.get(ticker, float("inf")) < CENT:
            continue
        if gap > SAME * max(1.0, abs(mine), abs(theirs)) and ticker not in explained:
            found.append(f"{ticker}: the journal has {mine:.9g} shares, the broker {theirs:.9g}")
    cash = ledger.cash()
    if abs(cash - there.cash) > tolerance:
        found.append(f"cash: the journal has {cash:,.2f}, the broker {there.cash:,.2f}")
    return found


class Splits(StrEnum):
    """What a person's order does with shares at the broker that look like a split."""

    WAIT = "wait"  #: nothing is traded until the source shows it
    NOW = "now"  #: they are that many shares; when the source shows the split, it is not applied again
    SHARES = "shares"  #: it is none, nor is a new ticker one: shares came in or went out. Nor is it applied again, if it was one


def adopt(ledger: Ledger, there: Holdings, why: str, ahead: Sequence[Action] = (), splits: Splits | None = None) -> list[str]:
    """Make the journal's account what the broker's is, and say what changed. Names that are not ours are left alone.

    What a person takes over is money that came in or went out, a ``transfer``, and no return: cash, and shares at the latest
    close. What the broker booked by itself (fees, interest) is one.

    Parameters
    ----------
    ahead : sequence of Action
        What some differences look like.
    splits : Splits, optional
        By a person's order. Without one, these differences are left alone.
    """
    left = [a for a in ahead if splits is None or (splits is Splits.WAIT and a.kind == "split")]
    done = [a for a in ahead if a not in left and splits is not Splits.SHARES]
    changes = [*differences(ledger, there, _ROUNDING, [*left, *done]), *(in_words(a, ledger, there) for a in ahead if splits)]
    journal = ledger.journal
    with journal.transaction("adoption") as db:
        for action in ahead if splits else ():
            if action in left:
                confirm_split(journal, action)
            elif action.kind == "split":
                remember_taken(journal, action, ledger.last_session())
        for action in done:
            if action.kind == "split":
                db.execute("update positions set size = size * ? where symbol = ?", (action.value, action.symbol))
            else:
                db.execute("update positions set ticker = ? where symbol = ?", (action.text, action.symbol))
        symbols = dict(zip(ledger.tickers(), ledger.config.symbols, strict=True))
        worth = ledger.value() - ledger.cash()
        for ticker, symbol in symbols.items():
            if symbol not in {a.symbol for a in left}:
                db.execute("update positions set size = ? where symbol = ?", (there.sizes.get(ticker, 0.0), symbol))
        gap = there.cash - ledger.cash()
        moved = gap + (ledger.value() - ledger.cash()) - worth if splits else 0.0
        moved = moved if abs(moved) > _ROUNDING else 0.0
        for kind, amount in (("transfer", moved), ("adjustment", gap - moved)):
            if amount:
                number = db.execute("select count(*) from cash").fetchone()[0]
                ledger.pay(db, kind, amount, f"{kind}-{number}")
        if gap:
            journal.set_meta("cash", repr(there.cash))
        # By a person's order, the session tells from when on positions are inherited.
        session = ledger.last_session("balances") if splits else None
        if splits and changes:
            # Orders of a time that the books do not know may be at the broker: ids from now on are others.
            mark = hashlib.sha256(f"{ledger.id_mark()} {changes}".encode()).hexdigest()[:6]
            journal.set_meta(ID_MARK, mark)
        journal.note("adopt", f"{why}: " + ("; ".join(changes) or "nothing differed"), session or None)
        journal.set_meta(_INCLUDED, str(db.execute("select coalesce(max(rowid), 0) from orders").fetchone()[0]))
        journal.set_meta("strangers", ",".join(sorted(ticker for ticker in there.sizes if ticker not in symbols)))
    return changes
