"""What happened at the broker since the last look: fills, orders to be cancelled, and whether both accounts agree."""

from __future__ import annotations

from collections.abc import Sequence

from tracker_strategies.papertrade.brokers.base import Broker, Holdings, Report, Status
from tracker_strategies.papertrade.errors import ReconcileError
from tracker_strategies.papertrade.journal.crash_points import reached
from tracker_strategies.papertrade.journal.ledger import OPEN, Ledger

#: Cash may differ from a real broker's by this share of the account without a question: fees to the cent, interest.
CASH_TOLERANCE = 1e-4
#: Looks at an account that moves while it is looked at.
_LOOKS = 3


def settle(ledger: Ledger, broker: Broker) -> None:
    """Book what the broker says about orders that are still open here.

    An order that we think is there and the broker has never heard of becomes an intent again.
    """
    waiting = ledger.orders(f"status in {OPEN}")
    if not waiting:
        return
    known = broker.reports([row["cid"] for row in waiting])
    news, lost = [], []
    for row in waiting:
        report = known.get(row["cid"])
        if report is None:
            lost += [row["cid"]] if row["status"] != Status.INTENT else []
        elif report.status != row["status"] or report.filled != row["filled"] or report.fee != row["fee"]:
            news.append(report)
    ledger.book(news)
    if lost:
        with ledger.journal.transaction("lost orders") as db:
            db.executemany("update orders set status = 'intent' where cid = ?", [(cid,) for cid in lost])
            ledger.journal.note("lost", f"the broker does not know {len(lost)} orders that it had confirmed, the first {lost[0]}")


def cancel_open(ledger: Ledger, broker: Broker, rows: Sequence[str] | None = None) -> int:
    """Cancel our orders that wait at the broker (all, or those of some sessions), then book how they ended."""
    waiting = [row for row in ledger.orders("status in ('open', 'partial')") if rows is None or row["session"] in rows]
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


def drop_intents(ledger: Ledger, why: str, where: str = "1", values: Sequence[object] = ()) -> int:
    """Give up orders that were never sent. Call it after :func:`settle`, which knows the ones that were."""
    cids = [row["cid"] for row in ledger.orders(f"status = 'intent' and {where}", values)]
    if cids:
        ledger.end(cids, Status.UNSENT, why)
    return len(cids)


def reconcile(ledger: Ledger, broker: Broker) -> None:
    """Raise :class:`ReconcileError` with the differences unless journal and broker have the same account.

    A small difference of cash at a real broker (fees, interest, rounding) is booked, not argued about.
    """
    tolerance = 1e-6 + 1e-10 * ledger.value() if broker.simulated else max(0.01, CASH_TOLERANCE * ledger.value())
    wrong: list[str] = []
    for _ in range(_LOOKS):
        there = broker.holdings()
        strange = _strange_orders(ledger, broker.open_orders())
        wrong = [*differences(ledger, there, tolerance), *strange]
        if not wrong:
            gap = there.cash - ledger.cash()
            if not broker.simulated and abs(gap) >= 0.005:
                adopt(ledger, there, "fees, interest and rounding at the broker")
            return
        if not ledger.orders("status in ('open', 'partial')"):
            break
        settle(ledger, broker)  # something may have been filled between two questions
    raise ReconcileError(
        f"the broker's account is not what the journal says: {'; '.join(wrong[:5])}"
        + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        + ". Nothing was decided. Take the broker's account over with: tracker paper adopt; or sell all: tracker paper flatten"
    )


def _strange_orders(ledger: Ledger, there: Sequence[Report]) -> list[str]:
    known = {row["cid"] for row in ledger.orders(f"status in {OPEN}")}
    return [f"an open order that is not ours: {r.size:+g} {r.ticker} ({r.cid})" for r in there if r.cid not in known]


def differences(ledger: Ledger, there: Holdings, tolerance: float) -> list[str]:
    """Where the broker's account is not the journal's; empty when it is."""
    found = []
    here = dict(zip(ledger.tickers(), ledger.sizes().tolist(), strict=True))
    known = set(ledger.journal.meta("strangers").split(","))
    for ticker in dict.fromkeys([*here, *(t for t in there.sizes if t not in known)]):
        mine, theirs = here.get(ticker, 0.0), there.sizes.get(ticker, 0.0)
        if abs(mine - theirs) > 1e-8 * max(1.0, abs(mine), abs(theirs)):
            found.append(f"{ticker}: the journal says {mine:.9g} shares, the broker {theirs:.9g}")
    cash = ledger.cash()
    if abs(cash - there.cash) > tolerance:
        found.append(f"cash: the journal says {cash:,.2f}, the broker {there.cash:,.2f}")
    return found


def adopt(ledger: Ledger, there: Holdings, why: str, *, by_hand: bool = False) -> list[str]:
    """Make the journal's account what the broker's is, and say what changed. Names that are not ours are left alone.

    What a person takes over is money that came in or went out, a ``transfer``, and no return: cash, and shares at the latest
    close. What the broker booked by itself (fees, interest) is one.
    """
    changes = differences(ledger, there, 1e-6)
    symbols = dict(zip(ledger.tickers(), ledger.config.symbols, strict=True))
    journal = ledger.journal
    with journal.transaction("adoption") as db:
        worth = ledger.value() - ledger.cash()
        for ticker, symbol in symbols.items():
            db.execute("update positions set size = ? where symbol = ?", (there.sizes.get(ticker, 0.0), symbol))
        gap = there.cash - ledger.cash()
        moved = gap + (ledger.value() - ledger.cash()) - worth if by_hand else 0.0
        for kind, amount in (("transfer", moved), ("adjustment", gap - moved)):
            if amount:
                number = db.execute("select count(*) from cash").fetchone()[0]
                ledger.pay(db, kind, amount, f"{kind}-{number}")
        if gap:
            journal.set_meta("cash", repr(there.cash))
        journal.note("adopt", f"{why}: " + ("; ".join(changes) or "nothing differed"))
        journal.set_meta("strangers", ",".join(sorted(ticker for ticker in there.sizes if ticker not in symbols)))
    return changes
