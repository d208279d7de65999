"""A tracker's part of an account: what it has bought, and its cash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracker_strategies._checks import number
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.basket.positions import PositionArrays


class Part:
    """Shares and cash of one tracker. It counts and sells what it bought, whatever else is in the account.

    Parameters
    ----------
    assets : sequence of N feeds
    capital : float, optional
        Share of the account's cash that is the tracker's, of the cash it starts with and of money that comes in later. None: all
        cash of the account is at its disposal.
    cash : float
        Cash of the account at the start.

    Attributes
    ----------
    owned : PositionArrays
        Its shares.
    cash : float or None
        Its cash; None when that is the account's.
    flow : float
        Money that has come in so far, + deposits, - withdrawals.
    """

    def __init__(self, assets: Sequence[Any], capital: float | None, cash: float) -> None:
        self.owned = PositionArrays(assets)
        self.capital = capital
        self.cash = None if capital is None else capital * cash
        self.flow = 0.0

    def booked(self, place: int | None, size: float, cash: float) -> None:
        """Book an execution: shares of the asset at a place (None: of another feed), and what it did to the cash."""
        if place is not None and size:
            self.owned.move(place, size)
        if self.cash is not None:
            self.cash += cash

    def deposit(self, amount: float) -> None:
        """Take the part's share of money that comes into the account."""
        if self.capital is not None:
            self.receive(self.capital * amount)

    def receive(self, amount: float) -> None:
        """Take money that comes in for this part."""
        if self.cash is not None:
            self.cash += amount
            self.flow += amount

    def available(self, cash: float) -> float:
        """How much of the account's cash the tracker may spend."""
        return cash if self.cash is None else min(self.cash, cash)


def share_of(given: Any, others: Sequence[float | None], broker: Any) -> float | None:
    """The share of the account that a tracker asks for, once it is known to fit with those of the others and with the broker."""
    own = None if given is None else number("capital", given)
    if own is not None and not 0.0 < own <= 1.0:
        raise ParameterError(f"capital={given!r} must be a share of the account in (0, 1]; 0.5 is one half")
    if own is not None and any(scheme.p.interest for scheme in broker.comminfo.values()):
        raise ParameterError(
            "the broker charges interest to the account as a whole, so the share of one part (capital=...) is unknown; "
            "charge no interest, or run the tracker in its own cerebro"
        )
    shares = [own, *others]
    if others and any(share is None for share in shares):
        raise ParameterError(
            f"{len(shares)} trackers share one account and would undo each other's orders; give each its part, such as "
            "capital=0.5, or run each in its own cerebro"
        )
    total = sum(share for share in shares if share is not None)
    if total > 1.0 + 1e-12:
        raise ParameterError(f"capital of the {len(shares)} trackers sums to {total:g}; it must sum to at most 1")
    return own
