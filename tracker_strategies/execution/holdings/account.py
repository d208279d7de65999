"""Account: cash and shares that are there before anything is decided."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds.readers.columns import naming
from tracker_strategies._checks import number
from tracker_strategies.errors import AccountError, ParameterError
from tracker_strategies.execution.holdings.reading import read_holdings
from tracker_strategies.execution.holdings.spelling import Spelling

FloatArray = NDArray[np.float64]

#: What to do with a name that is held and not in the data.
OUTSIDE = ("refuse", "keep", "sell")


@dataclass(frozen=True)
class Account:
    """What is held: cash, and shares by name. A run, a paper account or an order list starts from it.

    Parameters
    ----------
    cash : float
        In the currency of the prices, >= 0.
    shares : mapping of str to float
        Shares held of each name, >= 0; names with none are left out.
    prices : mapping of str to float
        Prices that the broker gave with them, if it did.
    read_as : tuple of str
        What was guessed when it was read from a file.

    Examples
    --------
    >>> from tracker_strategies import Account
    >>> account = Account(1000.0, {"AAPL": 10, "BRK.B": 2})
    >>> account.sizes(("AAPL", "BRK-B", "MSFT")).tolist()
    [10.0, 2.0, 0.0]
    """

    cash: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)
    read_as: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Validate."""
        object.__setattr__(self, "cash", number("cash", self.cash, least=0.0))
        if not isinstance(self.shares, Mapping):
            raise ParameterError(f"shares={self.shares!r} must be a mapping of name to shares, such as {{'AAPL': 10}}")
        held = {str(name): number(f"shares of {name}", size, least=0.0) for name, size in self.shares.items()}
        object.__setattr__(self, "shares", {name: size for name, size in held.items() if size})
        quoted = {str(name): number(f"price of {name}", price, above=0.0) for name, price in self.prices.items()}
        object.__setattr__(self, "prices", quoted)

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, cash: float | None = None) -> Account:
        """Read a file of holdings: CSV or Parquet, your own table or an export of Alpaca or Interactive Brokers.

        The symbol is under symbol, ticker or instrument; the quantity under qty, quantity, shares, position or size; a column
        of prices is kept. Cash is a row with the symbol CASH, or `cash`; without both it is 0.

        Raises
        ------
        DataError
            A column is missing, a name appears twice, a position is short, or a value is not a number.
        ParameterError
            `cash` contradicts the file.
        """
        found = read_holdings(path)
        with naming(Path(os.fspath(path))):
            if cash is not None and found.cash is not None and cash != found.cash:
                raise ParameterError(f"its row CASH has {found.cash:,.2f}, but --cash is {cash:,.2f}; give only one of them")
            there = found.cash if cash is None and found.cash is not None else cash or 0.0
            return cls(there, found.shares, found.prices, found.notes)

    @classmethod
    def of(cls, given: Any, *, cash: float | None = None) -> Account:
        """From an account, a mapping of names to shares, or the path of a file; `cash` where these have none."""
        if isinstance(given, Account):
            return given if cash is None else replace(given, cash=cash)
        if isinstance(given, Mapping):
            return cls(cash or 0.0, given)
        if isinstance(given, str | os.PathLike):
            return cls.read(given, cash=cash)
        raise ParameterError(f"holdings={given!r} must be an Account, a mapping of name to shares, or the path of a file")

    def sizes(self, symbols: Sequence[str], spelling: Spelling | None = None) -> FloatArray:
        """(N,) shares held of these names.

        Raises
        ------
        AccountError
            Something is held that is none of them.
        """
        renamed = self.spelt(symbols, spelling)
        if strange := renamed.outside(symbols):
            near = get_close_matches(strange[0], symbols, n=1)
            others = f" (not in the data: {len(strange)} names, {', '.join(strange[:5])}{', ...' if len(strange) > 5 else ''})"
            raise AccountError(
                f"{strange[0]} is held but not in the data{others if len(strange) > 1 else ''}"
                + (f"; did you mean {near[0]}?" if near else "")
                + "; add its prices, remove its row, or use --outside keep (not traded) or --outside sell"
            )
        return np.array([renamed.shares.get(symbol, 0.0) for symbol in symbols])

    def spelt(self, symbols: Sequence[str], spelling: Spelling | None = None) -> Account:
        """The same account with its names as the data spell them, where the data have them.

        Raises :class:`AccountError` where two names of the account are one of the data.
        """
        spelling, among = spelling or Spelling(), frozenset(symbols)
        called = {name: spelling.known(name, among) or name for name in (*self.shares, *self.prices)}
        shares: dict[str, float] = {}
        for name, size in self.shares.items():
            if called[name] in shares:
                raise AccountError(f"{name} and another row are both {called[name]} in the data; combine them into one row")
            shares[called[name]] = size
        return replace(self, shares=shares, prices={called[name]: price for name, price in self.prices.items()})

    def outside(self, symbols: Sequence[str]) -> list[str]:
        """Names that are held and not among these."""
        known = frozenset(symbols)
        return [name for name in self.shares if name not in known]

    def within(
        self, symbols: Sequence[str], outside: str = "refuse", spelling: Spelling | None = None
    ) -> tuple[Account, Account]:
        """The part of the account that is in the data, and the part that is not.

        Parameters
        ----------
        symbols : sequence of str
            Names of the data.
        outside : {"refuse", "keep", "sell"}
            What to do with names that are not among them: refuse the account; keep them out of it; or count them as sold, at the
            prices of the file: what they bring is in the cash of the first part.
        spelling : Spelling, optional

        Raises
        ------
        AccountError
            There are such names, and they are refused, or they are to be sold but have no price.
        """
        if outside not in OUTSIDE:
            raise ParameterError(f"outside={outside!r} is unknown; choose one of {', '.join(OUTSIDE)}")
        whole = self.spelt(symbols, spelling)
        strange = whole.outside(symbols)
        if outside == "refuse" or not strange:
            whole.sizes(symbols, spelling)
            return whole, Account(0.0)
        rest = Account(
            0.0, {name: whole.shares[name] for name in strange}, {n: p for n, p in whole.prices.items() if n in strange}
        )
        if outside == "sell" and (bare := [name for name in strange if name not in rest.prices]):
            raise AccountError(f"{bare[0]} is to be sold, but has no price: add a column 'price' to the holdings")
        brought = sum(size * rest.prices[name] for name, size in rest.shares.items()) if outside == "sell" else 0.0
        kept = {name: size for name, size in whole.shares.items() if name not in rest.shares}
        return Account(self.cash + brought, kept, whole.prices), rest

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"cash": self.cash, "shares": dict(self.shares)}
