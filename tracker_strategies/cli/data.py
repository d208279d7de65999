"""The commands ``tracker data ...``. Everything heavy is imported when a command runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker_strategies.cli.options import commands
from tracker_strategies.cli.prices import Adjust, Index, Members, PriceOptions, Renames

if TYPE_CHECKING:
    from datafeeds import CleaningReport, SessionReport

#: Names that a line of the report shows before it says how many more there are.
FEW = 5

app = commands("data", "Check prices before you use them. Start with [bold]tracker data check sample[/].")


@app.callback()
def data() -> None:
    """Check prices before you use them. Start with [bold]tracker data check sample[/]."""


@app.command()
def check(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Source of the prices, as for --data of 'tracker run'.")],
    index: Index = None,
    exchange: Annotated[
        str | None,
        typer.Option(metavar="XNYS", help="Compare the dates with the sessions of this exchange: XNYS, XTKS, XLON, ..."),
    ] = None,
    members: Members = None,
    renames: Renames = None,
    adjust: Adjust = "split",
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON on stdout and nothing else.")] = False,
) -> None:
    """Report on a panel: coverage, gaps, outliers, listings, survivorship, and the best tracking that its names allow.

    Example: tracker data check prices.csv --exchange XNYS
    """
    market = PriceOptions(index, adjust=adjust, members=members, renames=renames).source(source)
    from tracker_strategies.research.data_check import look_at

    found, report, sessions = look_at(market, exchange)
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        show(found, report, sessions)


def show(found: dict[str, Any], report: CleaningReport, sessions: SessionReport | None) -> None:
    """Print the report for people."""
    from rich.table import Table

    from datafeeds.cleaning.report import SHOWN
    from tracker_strategies.cli.terminal import Terminal

    console = Terminal(highlight=False)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()

    def row(name: str, text: str, style: str | None = None) -> None:
        table.add_row(name, text, style=style)

    row("source", f"{found['source']}: {found['n_bars']} bars x {found['n_assets']} assets, {found['first']} to {found['last']}")
    if found["read_as"]:
        row("read as", ", ".join(found["read_as"]))
    for left in found["cut"]:
        row("cut", left, "yellow")
    row("bars", f"{found['bar_length']}, {found['periods_per_year']:,g} per year")
    row(
        "coverage",
        f"{found['coverage']['bars']:.2%} of all bars; {found['coverage']['complete_assets']:.0%} of the assets are complete",
    )
    row("gaps", _listed(found["gaps"], "no missing prices inside any series", total=True))
    row("listings", _listed(found["listings"], "none after the first date"))
    row("delistings", _listed(found["delistings"], "none before the last date"))
    if found["joined"] or found["left"]:
        row("members", f"{found['joined']} joined and {found['left']} left the index in this period")
    if found["dropped"]:
        row("dropped", _listed(found["dropped"], ""))
    if found["survivorship_warning"]:
        row(
            "survivorship",
            "no name ever leaves: these assets were probably chosen because they survived. Expect excess returns that "
            "no investor could have earned; add the names that left, or give --members with their dates.",
            "yellow",
        )
    for name, t in found["tracking"].items():
        corr = "-" if t["equal_weight_correlation"] is None else f"{t['equal_weight_correlation']:.3f}"
        row(f"{name}", f"equal weights: correlation {corr}, tracking error {_bp(t['equal_weight_te_rms'])} bp per bar (RMS)")
        loose = "; more assets than returns: this says little about the future" if t["floor_assets"] > t["n_returns"] else ""
        row(
            "",
            f"best constant weights in hindsight: {_bp(t['floor_te_rms'])} bp per bar with {t['floor_names']} of "
            f"{t['floor_assets']} complete assets; best constant share counts: {_bp(t['shares_te_rms'])} with "
            f"{t['shares_names']}{loose}",
        )
    if found["lagged"]:
        row(
            "closing times",
            f"{_listed(found['lagged'], '')} follow {found['targets'][0]} of the bar before more than that of the same bar: "
            "their market closes earlier. Fills at the close would trade on later news; describe the markets with --markets.",
            "yellow",
        )
    if sessions is not None:
        row("sessions", str(sessions))
    console.print(table)
    console.print(report.table(SHOWN), soft_wrap=True)


def _bp(value: float | None) -> str:
    return "-" if value is None else f"{1e4 * value:.2f}"


def _listed(names: dict[str, Any], none: str, *, total: bool = False) -> str:
    if not names:
        return none
    shown = ", ".join(f"{name} ({value})" for name, value in list(names.items())[:FEW])
    many = f"{sum(names.values())} in {len(names)} series" if total else f"{len(names)}"
    return f"{many}: {shown}{', ...' if len(names) > FEW else ''}"
