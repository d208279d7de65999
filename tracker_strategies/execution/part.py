"""A tracker's part of an account: what it has bought, and its cash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracker_strategies.execution.book import Book


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
    book : Book
        Its shares.
    cash : float or None
        Its cash; None when that is the account's.
    flow : float
        Money that has come in so far, + deposits, - withdrawals.
    """

    def __init__(self, assets: Sequence[Any], capital: float | None, cash: float) -> None:
        self.book = Book(assets)
        self.capital = capital
        self.cash = None if capital is None else capital * cash
        self.flow = 0.0

    def booked(self, place: int | None, size: float, cash: float) -> None:
        """Book an execution: shares of the asset at a place (None: of another feed), and what it did to the cash."""
        if place is not None and size:
            self.book.move(place, size)
        if self.cash is not None:
            self.cash += cash

    def deposit(self, amount: float) -> None:
        """Take the part's share of money that comes into the account."""
        if self.cash is not None and self.capital is not None:
            self.cash += self.capital * amount
            self.flow += self.capital * amount

    def available(self, cash: float) -> float:
        """How much of the account's cash the tracker may spend."""
        return cash if self.cash is None else min(self.cash, cash)
