"""The commands ``tracker data ...``. Everything heavy is imported when a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    name="data",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Look at prices before trusting them. Start with [bold]tracker data check sample[/].",
)


@app.callback()
def data() -> None:
    """Look at prices before trusting them. Start with [bold]tracker data check sample[/]."""


@app.command()
def check(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="What --data of 'tracker run' takes.")],
    index: Annotated[
        list[str] | None, typer.Option("--index", metavar="NAME", help="Column to track, INDEX by default; repeat for several.")
    ] = None,
    exchange: Annotated[
        str | None,
        typer.Option(metavar="XNYS", help="Compare the dates with the sessions of this exchange: XNYS, XTKS, XLON, ..."),
    ] = None,
    members: Annotated[
        str | None, typer.Option("--members", metavar="FILE", help="Table of symbol, from, to: who belonged to the index when.")
    ] = None,
    adjust: Annotated[
        str, typer.Option(metavar="split|total|raw", help="For bars and Yahoo: which corporate actions are in the prices.")
    ] = "split",
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON on stdout and nothing else.")] = False,
) -> None:
    """A report on a panel: coverage, gaps, outliers, listings, survivorship, and how well it can track its index at best.

    Example: tracker data check prices.csv --exchange XNYS
    """
    from tracker_strategies.research.data_check import run_check

    run_check(source, tuple(index or ("INDEX",)), exchange=exchange, members=members, adjust=adjust, as_json=as_json)
