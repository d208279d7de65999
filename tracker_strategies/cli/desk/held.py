"""Options that say what is held at the start, for every command that begins with an account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tracker_strategies.errors import ParameterError

if TYPE_CHECKING:
    from tracker_strategies.execution.holdings import Account, Spelling

PANEL = "What is held at the start"


@dataclass(frozen=True)
class HoldingsOptions:
    """What is held at the start."""

    holdings: Annotated[
        str | None,
        typer.Option(
            "--holdings",
            metavar="FILE",
            help="Start from what is held: a table of symbol, qty [, price] with a row CASH, or positions as Alpaca or IBKR "
            "export them.",
            rich_help_panel=PANEL,
        ),
    ] = None
    outside: Annotated[
        str,
        typer.Option(
            metavar="refuse|keep|sell",
            help="Held names that are not in the data: refuse the run, keep them apart, or sell them at the price in the file.",
            rich_help_panel=PANEL,
        ),
    ] = "refuse"
    spelling: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table of symbol (as in the data), yahoo, alpaca, ibkr: names that the rule BRK-B, BRK.B, BRK B does not cover.",
            rich_help_panel=PANEL,
        ),
    ] = None

    @property
    def names(self) -> Spelling:
        """How names are spelt elsewhere."""
        from tracker_strategies.execution.holdings import Spelling

        return Spelling() if self.spelling is None else Spelling.read(self.spelling)

    def account(self, symbols: Sequence[str], cash: float | None) -> tuple[Account | None, Account | None, list[str]]:
        """What is held of these names, what is held beside them, and what a user should know; None without a file."""
        from tracker_strategies.execution.holdings import Account

        if self.holdings is None:
            if self.outside != "refuse" or self.spelling is not None:
                raise ParameterError("--outside and --spelling need a file of holdings; add --holdings FILE")
            return None, None, []
        whole = Account.read(self.holdings, cash=cash)
        inside, rest = whole.within(symbols, self.outside, self.names)
        notes = [f"{self.holdings} read as: {', '.join(whole.read_as)}"] if whole.read_as else []
        if cash is None and not whole.cash:
            notes.append(f"{self.holdings}: no row CASH and no --cash: the account has no cash")
        if rest.shares:
            fate = "kept apart, not traded and not counted" if self.outside == "keep" else "sold at the prices of the file"
            notes.append(f"{self.holdings}: not in the data and {fate}: {', '.join(rest.shares)}")
        return inside, rest, notes
