"""Options about prices, once for every command: which source, how it is read, what is done to it. Nothing here imports pandas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import typer

from datafeeds.market_source import MarketSource
from tracker_strategies.errors import ParameterError

Data = Annotated[
    str,
    typer.Option(
        "--data",
        metavar="SOURCE",
        help="sample, synthetic or synthetic:n_assets=40,n_bars=300, a wide CSV or Parquet file, a long table of bars, a folder "
        "with one file per ticker, or yahoo:AAPL,MSFT:2015-01-01.",
    ),
]
Index = Annotated[
    list[str] | None, typer.Option("--index", metavar="NAME", help="Column to track, INDEX by default; repeat for several.")
]
Gaps = Annotated[str, typer.Option(help="A price missing inside a series: error, or freeze (treat it as a trading halt).")]
Adjust = Annotated[
    str,
    typer.Option(
        metavar="split|total|raw", help="For bars and Yahoo: adjust for splits, for dividends too (total), or not at all."
    ),
]
Members = Annotated[
    str | None, typer.Option("--members", metavar="FILE", help="Table of symbol, from, to: index membership by date.")
]
Renames = Annotated[str | None, typer.Option("--renames", metavar="FILE", help="Table of old, new, date: ticker changes.")]
Clean = Annotated[
    str | None,
    typer.Option(
        metavar="flag|drop|winsorise",
        help="Look for bad prices and report them on stderr and in run.json; drop or cut them, or only flag them.",
    ),
]
IndexFile = Annotated[
    str | None,
    typer.Option("--index-file", metavar="FILE[:COLUMN]", help="Levels of the index, if they are not in the file of prices."),
]
Dates = Annotated[
    str | None,
    typer.Option("--dates", metavar="dmy|mdy|ymd", help="Order of day, month and year, for a file in which it is ambiguous."),
]
Decimal = Annotated[
    str | None, typer.Option("--decimal", metavar=".|,", help="Decimal mark, for a file in which it is ambiguous.")
]
Calendar = Annotated[
    str | None,
    typer.Option(
        "--calendar", metavar="XNYS", help="Exchange of timestamps with a time zone; by default, days are those of that zone."
    ),
]
Markets = Annotated[
    str | None,
    typer.Option(
        "--markets", metavar="FILE.toml", help="Several markets with calendars, time zones and currencies, instead of --data."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the synthetic market.")]


@dataclass(frozen=True)
class PriceOptions:
    """What is done to prices, wherever they come from."""

    index: Index = None
    gaps: Gaps = "error"
    adjust: Adjust = "split"
    members: Members = None
    renames: Renames = None
    clean: Clean = None
    index_file: IndexFile = None
    dates: Dates = None
    decimal: Decimal = None
    calendar: Calendar = None

    @property
    def targets(self) -> tuple[str, ...]:
        """Columns to track."""
        return tuple(self.index or ("INDEX",))

    def source(self, data: str, seed: int = 0) -> MarketSource:
        """The market that a SOURCE stands for."""
        same = ("gaps", "adjust", "members", "renames", "clean", "index_file", "dates", "decimal", "calendar")
        said = {name: getattr(self, name) for name in same}
        if said["calendar"] and not said["calendar"].isalnum():  # an account at several exchanges
            said["calendar"] = None
        return MarketSource(data, self.targets, seed=seed, not_assets=self.not_assets, **said)

    @property
    def not_assets(self) -> tuple[str, ...]:
        """Columns that are no assets."""
        return ()


@dataclass(frozen=True)
class MarketOptions(PriceOptions):
    """One market."""

    data: Data = "sample"
    seed: Seed = 0
    markets: Markets = None

    @cached_property
    def market(self) -> MarketSource:
        """Where the prices come from."""
        return self.source(self.data if self.markets is None else market_file(self.markets, self.data), self.seed)


def market_file(markets: str, data: str | None) -> str:
    """The source that ``--markets`` stands for."""
    if data not in (None, "sample"):
        raise ParameterError(f"--data {data} and --markets {markets}: the prices come from one of them; remove the other")
    if not markets.lower().endswith(".toml"):
        raise ParameterError(f"--markets {markets} must be a file that ends with .toml; give a file of prices with --data")
    return markets
