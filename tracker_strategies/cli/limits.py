"""The limits of a mandate as options, once for every command that runs strategies. Nothing here imports numpy or pandas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any

import typer

from tracker_strategies.errors import ParameterError, TrackerError
from tracker_strategies.execution.mandate.mandate import KEYS, Mandate

PANEL = "Limits, kept in every decision; 5% and 0.05 are the same; 'none' removes a limit of the file"
DEFAULTS = {f.name: f.default for f in fields(Mandate)}
#: Keys whose values are names of assets, which may look like numbers.
NAMES = ("exclude", "only", "freeze")


def _limit(help: str, metavar: str = "SHARE", *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=PANEL, show_default=False)


@dataclass(frozen=True)
class MandateOptions:
    """Limits that hold for every strategy of the command. They are texts here: :class:`Mandate` reads them."""

    mandate: Annotated[
        str | None, _limit("Limits from a file with the same keys, such as max_weight = 0.05; options override it.", "FILE.toml")
    ] = None
    max_names: Annotated[
        str | None, _limit("Maximum number of names held, including halted names and names being sold.", "N")
    ] = None
    max_weight: Annotated[str | None, _limit("Maximum weight of a name, as a share of the account: 5%, or '*:5%,AAPL:8%'.")] = (
        None
    )
    min_weight: Annotated[str | None, _limit("Minimum weight of each name that is held: 0.2%.")] = None
    must_hold: Annotated[
        str | None, _limit("Names that must be held, with their minimum weights: AAPL:2%,MSFT:1%.", "NAME:SHARE,...")
    ] = None
    sectors: Annotated[
        str | None,
        _limit("Table of symbol, sector, for limits on sectors; without limits, for the tear sheet only.", "FILE", "--sectors"),
    ] = None
    max_sector: Annotated[str | None, _limit("Maximum weight of a sector: 20%, or '*:25%,Energy:10%'.")] = None
    min_sector: Annotated[str | None, _limit("Minimum weight of a sector: Utilities:1%.")] = None
    max_names_per_group: Annotated[str | None, _limit("Maximum number of names of one sector: 5, or '*:5,Energy:2'.", "N")] = None
    unmapped: Annotated[
        str | None,
        _limit(
            "Names without a sector: refuse the run (default), treat them as one more sector, or leave them without a limit.",
            "refuse|group|free",
        ),
    ] = None
    exclude: Annotated[str | None, _limit("Names that are never bought: XOM,CVX.", "NAME,...")] = None
    only: Annotated[str | None, _limit("The only names that may be held.", "NAME,...")] = None
    freeze: Annotated[str | None, _limit("Names that are neither bought nor sold.", "NAME,...")] = None
    min_cash: Annotated[str | None, _limit("Minimum cash, as a share of the account: 1%.")] = None
    max_turnover: Annotated[
        str | None,
        _limit(
            "Maximum turnover per rebalance: buys plus sells at fill prices, as a share of the account. The entry is not counted."
        ),
    ] = None
    entry_turnover: Annotated[
        str | None,
        _limit("The same for each rebalance of the entry, until the account is first at its target; no limit by default."),
    ] = None
    lot: Annotated[str | None, _limit("Smallest number of shares, such as 1 or 100; 0 (default) allows fractions.", "N")] = None
    whole_shares: Annotated[
        bool, typer.Option("--whole-shares", help="The same as --lot 1.", rich_help_panel=PANEL, show_default=False)
    ] = False
    band: Annotated[str | None, _limit("Do not trade a name whose weight is off by less than this: 0.1%.")] = None
    cost_aware: Annotated[
        str | None,
        _limit("Cost of a trade in basis points; a name is traded only if the gain in tracking exceeds it.", "BPS"),
    ] = None
    headroom: Annotated[
        str | None, _limit("Room for price drift: 5% decides at 95 % of each maximum and 105 % of each minimum.")
    ] = None
    cure: Annotated[
        str | None,
        _limit(
            "When to trade back a limit that price moves broke: at the next rebalance (default), or on the next bar.",
            "schedule|bar",
        ),
    ] = None

    @cached_property
    def limits(self) -> Mandate:
        """All limits of the command: those of the file, overruled by options, and those of ``--param``, which may not
        contradict them.
        """
        found = Mandate.read(self.mandate) if self.mandate is not None else Mandate()
        found = found.overruled({key: DEFAULTS[key] if value == "none" else value for key, value in self._flags().items()})
        others, known = self._in_params(), found.said()
        for key, value in others.items():
            if value is None and key in known:
                raise ParameterError(f"--param {key}=none contradicts {key}={known[key]!r} in the mandate; keep one of them")
        if others.get("mandate") is not None:
            found = found.merged(found.said() | Mandate.of(others["mandate"]).said(), other="in --param mandate")
        # With all that is known beside them: a limit on sectors means nothing without the sectors.
        whole = found.said() | {key: value for key, value in others.items() if key != "mandate" and value is not None}
        return found.merged(whole, other="with --param")

    @property
    def lifted(self) -> tuple[str, ...]:
        """Limits that a strategy may have by default, and that were said to be none."""
        said = {**self._in_params(), **self._flags()}
        return tuple(key for key, value in said.items() if value in (None, "none") and key != "mandate")

    def limit_params(self) -> dict[str, Any]:
        """The limits as params of a strategy, in plain values."""
        return dict.fromkeys(self.lifted) | self.limits.told()

    def _flags(self) -> dict[str, Any]:
        """The options that were given, by key."""
        given = {key: value for key in KEYS if (value := getattr(self, key, None)) is not None}
        if self.whole_shares:
            if given.get("lot") not in (None, "1", "1.0"):
                raise ParameterError(f"--lot {given['lot']} contradicts --whole-shares, which means --lot 1; keep one of them")
            given["lot"] = 1
        return given

    def _in_params(self) -> dict[str, Any]:
        """Limits that were said with ``--param``, None for none."""
        return {}


def sectors_of(mandate: Mandate, symbols: Sequence[str]) -> dict[str, str]:
    """The sectors of these names, where the mandate knows them."""
    if isinstance(mandate.sectors, str):
        from datafeeds import read_sectors

        return read_sectors(mandate.sectors, symbols)
    return {name: mandate.sectors[name] for name in symbols if name in mandate.sectors} if mandate.sectors else {}


def sector_notes(mandate: Mandate, sectors: Mapping[str, str], symbols: Sequence[str]) -> list[str]:
    """What a user should know about the sectors: what they are used for, and which names have none."""
    if mandate.sectors is None:
        return []
    file = mandate.sectors if isinstance(mandate.sectors, str) else "the mandate"
    limited = bool(mandate.max_sector or mandate.min_sector or mandate.max_names_per_group)
    notes = []
    if not limited:
        notes.append(
            f"sectors from {file}: no limit on sectors is set, so they appear on the tear sheet only; --max-sector limits them"
        )
    barred = {*mandate.exclude} | ({*symbols} - {*mandate.only} if mandate.only else set())
    missing = [name for name in symbols if name not in sectors and name not in barred]
    if missing and (mandate.unmapped != "refuse" or not limited):
        fate = {"group": "limited together, as the sector 'unmapped'", "free": "under no limit on sectors"}.get(mandate.unmapped)
        notes.append(
            f"{file} has no sector for {len(missing)} of {len(symbols)} names"
            + (f", which are {fate}" if limited and fate else "")
            + f": {', '.join(missing)}"
        )
    return notes


@contextmanager
def naming(label: str) -> Iterator[None]:
    """Say which of several strategies an error is about."""
    try:
        yield
    except TrackerError as problem:
        raise type(problem)(f"{label}: {problem}" if label else str(problem)) from None
