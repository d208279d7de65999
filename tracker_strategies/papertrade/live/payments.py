"""Money that comes into a paper account, or leaves it, while a cerebro runs on it: no return for whoever measures the account."""

from __future__ import annotations

from typing import Any

from tracker_strategies.papertrade.errors import PaperError


def note_payments(broker: Any) -> None:
    """Tell all who measure the account what the journal has moved on this session.

    The broker is at the close of the session, with the account as it is then. ``paid_in`` is the sum so far; ``booked`` a
    scheduled payment, and what the account was worth before it; the shares of the fund are worth what they would be without.
    """
    moved, broker.booked = broker.store.memory.paid(broker.store.memory.row)
    for tracker in broker._trackers:
        tracker.route.booked = broker.booked
    if broker.store.memory.row == 0:  # what was held at the opening is there from the first bar on
        broker.take_in_kind(sum(held.size * feed.close[0] for feed, held in broker.positions.items() if held.size))
    if moved:
        amount, worth = broker.booked or (0.0, 1.0)
        value, broker._paid_in = broker._get_value(), broker._paid_in + moved
        broker._fundshares *= (1.0 + amount / worth) * value / (value - moved + amount)
    broker._get_value()


def refuse_cash(broker: Any, amount: float) -> None:
    """The account's money is at its broker: no strategy can add to it.

    Raises
    ------
    PaperError
        With the way to do it.
    """
    config = broker.store.account.config
    how = (
        f"write: tracker paper flows {broker.store.account.folder} DATE={amount:g}"
        if config.broker == "simulated"
        else f"pay in or out at {config.broker}, then run: tracker paper adopt {broker.store.account.folder}"
    )
    raise PaperError(f"add_cash({amount:g}) has no effect on a paper account, whose money is at its broker; {how}")
