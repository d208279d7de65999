"""Which market: one description for runs, comparisons, sweeps, tuning, leaderboards and paper accounts.

Light: a description is made and checked without pandas; only :meth:`MarketSource.open` reads anything.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from datafeeds.choices import CLEANING_POLICIES, DATE_ORDERS, DECIMALS, GAP_POLICIES, SYNTHETIC, Adjustment, check_choice

if TYPE_CHECKING:
    from datafeeds.panel import MarketPanel


@dataclass(frozen=True)
class MarketSource:
    """Where prices come from, and how they are read and cleaned.

    Parameters
    ----------
    source : str, default "sample"
        As :func:`datafeeds.open_source` knows it: ``sample``, ``synthetic``, which may bring arguments of
        :func:`datafeeds.synthetic_market` (``synthetic:n_assets=40,n_bars=300``), ``yahoo:AAPL,MSFT:2015-01-01``, or a path.
    targets : tuple of str, default ("INDEX",)
        Columns to track.
    gaps : {"error", "freeze", "live"}
        A price missing inside a series: refuse the source, or treat it as a trading halt. "live" is "freeze" for a source that
        continues: a target without a level on the newest bars has not ended, it is on holiday.
    seed : int, default 0
        Of the synthetic market.
    adjust : {"split", "total", "raw"}
        For bars and Yahoo: which corporate actions are in the prices.
    members, renames : str, optional
        Files: index membership by date, and ticker changes.
    clean : {"flag", "drop", "winsorise"}, optional
        Look for bad prices, and what to do with them.
    index_file : str, optional
        Levels of the index where they are not among the prices, ``FILE`` or ``FILE:COLUMN``.
    dates, decimal, calendar : str, optional
        How a file is to be read that leaves a choice: see :func:`datafeeds.open_source`.
    not_assets : tuple of str
        Columns that are not assets and are ignored; ``^*`` means all that begin with ^.

    Raises
    ------
    DataError
        A value that is not one of its choices.

    Examples
    --------
    >>> from datafeeds import MarketSource
    >>> MarketSource("sample", gaps="freeze").open().n_assets
    20
    """

    source: str = "sample"
    targets: tuple[str, ...] = ("INDEX",)
    gaps: str = "error"
    seed: int = 0
    adjust: str = "split"
    members: str | None = None
    renames: str | None = None
    clean: str | None = None
    index_file: str | None = None
    dates: str | None = None
    decimal: str | None = None
    calendar: str | None = None
    not_assets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """All that can be known without the data."""
        check_choice("gaps", self.gaps, GAP_POLICIES)
        check_choice("adjust", self.adjust, Adjustment)
        if self.clean is not None:
            check_choice("clean", self.clean, CLEANING_POLICIES)
        if self.dates is not None:
            check_choice("dates", self.dates, DATE_ORDERS)
        if self.decimal is not None:
            check_choice("decimal", self.decimal, DECIMALS)

    @property
    def synthetic(self) -> bool:
        """Whether the prices are simulated, so that they depend on the seed."""
        return self.source.partition(":")[0] == SYNTHETIC

    @property
    def reading(self) -> dict[str, Any]:
        """How the file is to be read, as given."""
        said = {name: getattr(self, name) for name in ("index_file", "dates", "decimal", "calendar", "not_assets")}
        return {name: value for name, value in said.items() if value}

    def open(self) -> MarketPanel:
        """Read or simulate the panel."""
        if self.source.lower().endswith(".toml"):
            from datafeeds.markets.market_files import open_market_file

            return open_market_file(self)
        from datafeeds.sources import open_source

        options: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(MarketSource)}
        options |= {"index": options.pop("index_file"), "exclude": options.pop("not_assets")}
        return open_source(options.pop("source"), **options)
