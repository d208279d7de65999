"""Corporate actions in the books, each once, whoever booked it first: the source, the file of actions or the broker."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tracker_strategies.papertrade.journal.journal import Journal
from tracker_strategies.papertrade.journal.schema import OPEN
from tracker_strategies.papertrade.market.corporate_actions import Action

if TYPE_CHECKING:
    from tracker_strategies.papertrade.journal.ledger import Ledger

#: Facts about splits that a broker booked before the source: those that are in the shares, and those that a person confirmed.
_TAKEN, _CONFIRMED = "taken_splits", "confirmed_splits"
#: Sessions after which a split that is in the shares can no longer be the one that the source shows.
_REMEMBERED = 20


def book_action(ledger: Ledger, action: Action, *, pays: bool) -> None:
    """Take an action into positions, open orders and cash, inside a transaction.

    ``pays``: dividends and delistings are booked at once. A real broker books them itself, at a time of its own.
    """
    journal, db = ledger.journal, ledger.journal.db
    value = None if math.isnan(action.value) else action.value
    db.execute(
        "insert into actions (session, symbol, kind, value, text, factor, origin) values (?, ?, ?, ?, ?, ?, ?)",
        (action.session, action.symbol, action.kind, value, action.text, action.factor, action.origin),
    )
    origin = {"history": " (derived from the adjusted history)", "broker": " (already booked by the broker)"}.get(
        action.origin, ""
    )
    journal.note("action", f"{action}{origin}", action.session)
    (size,) = db.execute("select size from positions where symbol = ?", (action.symbol,)).fetchone()
    if action.kind == "split":
        if _is_in_the_shares(journal, action):
            return
        new = ledger.filled_since().get(action.symbol, 0.0)  # these are new shares: a real broker has filled them after the split
        db.execute("update positions set size = (size - ?) * ? + ? where symbol = ?", (new, action.value, new, action.symbol))
        db.execute(
            f"update orders set size = size * ?, wanted = wanted * ?, price = price / ? where symbol = ? and status in {OPEN}",
            (action.value, action.value, action.value, action.symbol),
        )
    elif action.kind == "rename":
        db.execute("update positions set ticker = ? where symbol = ?", (action.text, action.symbol))
    elif pays and size:
        ledger.pay(db, action.kind, size * action.value, f"{action.session}-{action.symbol}-{action.kind}", action.symbol)
        if action.kind == "delist":
            db.execute("update positions set size = 0 where symbol = ?", (action.symbol,))


def remember_taken(journal: Journal, split: Action, session: str) -> None:
    """A split is in the shares already, inside a transaction: it is not applied when the source shows it."""
    _keep(journal, _TAKEN, {**_kept(journal, _TAKEN), split.symbol: [split.value, session]})


def confirm_split(journal: Journal, split: Action) -> None:
    """A person says that a split is one, inside a transaction: it takes effect when the source shows it."""
    _keep(journal, _CONFIRMED, {**_kept(journal, _CONFIRMED), split.symbol: split.value})


def confirmed_splits(journal: Journal) -> dict[str, float]:
    """Splits that were confirmed and have not shown yet, by name."""
    return _kept(journal, _CONFIRMED)


def forget_confirmed(journal: Journal) -> None:
    """Both sides agree: nothing that was confirmed is waited for any more."""
    if confirmed_splits(journal):
        with journal.transaction("splits that took effect"):
            _keep(journal, _CONFIRMED, {})


def _is_in_the_shares(journal: Journal, split: Action) -> bool:
    """Whether a split is in the shares already; either way nobody waits for it any more."""
    taken, confirmed = _kept(journal, _TAKEN), _kept(journal, _CONFIRMED)
    ratio, since = taken.pop(split.symbol, (0.0, ""))
    if ratio:
        _keep(journal, _TAKEN, taken)
    if confirmed.pop(split.symbol, None):
        _keep(journal, _CONFIRMED, confirmed)
    recent = journal.one("select count(*) from bars where session > ?", (since,)) <= _REMEMBERED
    return bool(ratio) and recent and abs(ratio / split.value - 1.0) < 1e-6


def _kept(journal: Journal, key: str) -> dict[str, Any]:
    told = journal.one("select value from meta where key = ?", (key,))
    with journal.errors():
        return dict(json.loads(told)) if told else {}


def _keep(journal: Journal, key: str, value: Mapping[str, Any]) -> None:
    journal.set_meta(key, json.dumps(value))
