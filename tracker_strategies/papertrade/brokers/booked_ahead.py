"""Corporate actions that the broker has booked and the account has not, or the other way round.

A broker books a split or a new ticker when it likes: mostly in the night before the source shows it. Then its shares are a simple
multiple of ours, or one of our positions is there under a name that nobody knows. That is no money that came or went, and
nothing may be traded on it: at the old price four times the shares look like four times the wealth. The account stands still
until both agree again, which they do when the source or the file of actions brings the same action.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tracker_strategies.papertrade.brokers.base import Holdings
from tracker_strategies.papertrade.journal.actions import confirmed_splits
from tracker_strategies.papertrade.journal.history import Bars
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.market.corporate_actions import Action, split_ratio

#: Sessions whose fills may be of old or of new shares.
_LATELY = 4
#: Sizes that differ by less than this share are equal.
SAME = 1e-8


def booked_ahead(ledger: Ledger, there: Holdings) -> list[Action]:
    """Splits and renames that the difference between the journal and a broker's account looks like.

    A split costs nothing. Where cash differs as well, by half of what the shares are worth or more, something was traded.
    """
    found: list[Action] = []
    prices, paid = np.nan_to_num(ledger.lasts()), abs(there.cash - ledger.cash())
    tickers = ledger.tickers()
    known = {*tickers, *ledger.strangers()}
    here = [*zip(ledger.config.symbols, tickers, ledger.sizes().tolist(), prices.tolist(), strict=True)]
    strangers = {ticker: size for ticker, size in there.sizes.items() if size and ticker not in known}
    confirmed = confirmed_splits(ledger.journal)
    # The split may have come before or after what was filled lately: old shares are multiplied, new ones are not.
    lately = [ledger.filled_since(ledger.last_session("balances", back=back)) for back in range(_LATELY)]
    for symbol, ticker, mine, price in here:
        theirs = there.sizes.get(ticker, 0.0)
        if theirs and abs(theirs - mine) > SAME * max(1.0, abs(mine)):
            news = dict.fromkeys([0.0, *(filled.get(symbol, 0.0) for filled in lately)])
            ratios = [ratio for new in news if (ratio := split_ratio(mine - new, theirs - new)) is not None]
            ratio = confirmed.get(symbol, ratios[0] if ratios else None)
            if ratio is not None and paid < 0.5 * abs(theirs - mine) * price:
                found.append(Action("", symbol, "split", ratio, origin="broker"))
        elif mine and not theirs:
            same = [t for t, size in strangers.items() if abs(size - mine) <= SAME * max(1.0, abs(mine))]
            alike = [s for s, t, size, _ in here if abs(size - mine) <= SAME * max(1.0, abs(mine)) and not there.sizes.get(t)]
            if len(same) == 1 and len(alike) == 1:  # of two that look alike, nobody knows which is which
                found.append(Action("", symbol, "rename", text=same[0], origin="broker"))
    return found


def in_words(action: Action, ledger: Ledger, there: Holdings) -> str:
    """A difference that looks like an action."""
    place = ledger.config.symbols.index(action.symbol)
    ticker, mine = ledger.tickers()[place], float(ledger.sizes()[place])
    if action.kind == "rename":
        return f"{ticker}: {mine:.9g} shares here, and as many of {action.text} at the broker: this looks like a ticker change"
    shares = f"{action.value:g}:1" if action.value >= 1.0 else f"1:{1.0 / action.value:g}"
    return f"{ticker}: {mine:.9g} shares here, {there.sizes[ticker]:.9g} at the broker: this looks like a {shares} split"


def confirmed_actions(ledger: Ledger, source: Bars, listed: Sequence[Action]) -> list[Action]:
    """Confirmed splits that the new bars of a source show, with the sessions on which they do; those that are listed are not."""
    newest, lasts = ledger.last_session(), ledger.lasts()
    named = {a.symbol for a in listed if a.kind == "split" and a.session > newest}
    found = []
    for symbol, ratio in confirmed_splits(ledger.journal).items():
        i = ledger.config.symbols.index(symbol)
        last = float(lasts[i])
        for session, close in zip(source.sessions, source.close[:, i].tolist(), strict=True):
            if session <= newest or not math.isfinite(close):
                continue
            if symbol not in named and np.isfinite(last) and abs(math.log(close / last * ratio)) < 0.5 * abs(math.log(ratio)):
                found.append(Action(session, symbol, "split", ratio, origin="broker"))
                break
            last = close
    return found
