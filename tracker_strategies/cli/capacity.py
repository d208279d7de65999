"""The command ``tracker capacity``. Everything heavy is imported when it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tracker_strategies.cli.options import AsJson, StrategyOptions, grouped

PANEL = "The accounts"


@dataclass(frozen=True)
class CapacityOptions(StrategyOptions):
    """A capacity as it was asked for."""

    smallest: Annotated[float, typer.Option(help="Smallest account.", rich_help_panel=PANEL)] = 1e5
    largest: Annotated[float, typer.Option(help="Largest account.", rich_help_panel=PANEL)] = 1e11
    per_decade: Annotated[int, typer.Option(help="Accounts per power of ten.", rich_help_panel=PANEL)] = 2
    max_cost: Annotated[
        float, typer.Option(metavar="BP", help="Most that trading may cost per year, in basis points.", rich_help_panel=PANEL)
    ] = 10.0
    max_unfilled: Annotated[
        str, typer.Option(metavar="SHARE", help="Largest share of all orders that may stay unfilled.", rich_help_panel=PANEL)
    ] = "5%"
    jobs: Annotated[int | None, typer.Option(help="Processes; all cores by default.")] = None
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="Folder for the page and the figures as JSON.")] = None
    as_json: AsJson = False


@grouped
def capacity(
    options: CapacityOptions,
    strategy: Annotated[
        str, typer.Argument(metavar="[STRATEGY]", help="Name as 'tracker list' shows it, or path/to/file.py:Class.")
    ] = "ensemble",
) -> None:
    """How large an account a strategy can run: tracking error, cost and unfilled orders against the size of the account.

    Fills respect volume, which the data must have: at most a tenth of a bar's volume, with the square-root law of impact. Change
    that with --param max_participation=0.05, unfilled=drop, impact=sqrt, impact_coefficient=0.7.

    Example: tracker capacity ensemble --data bars.parquet --cost-bps 2 --max-cost 10 --out capacity
    """
    from tracker_strategies._checks import fraction

    options.check([strategy])
    share = fraction("--max-unfilled", options.max_unfilled)
    from datafeeds.files import check_place
    from tracker_strategies.research.account_size import account_sizes
    from tracker_strategies.research.account_size import capacity as measure
    from tracker_strategies.research.account_size_page import FILES, write_capacity
    from tracker_strategies.strategies.registry import check_params, load_strategy

    sizes = account_sizes(options.smallest, options.largest, options.per_decade)
    folder = None if options.out is None else Path(options.out).expanduser()
    if folder is not None:
        check_place(folder, "capacity", FILES)
    cls = load_strategy(strategy)
    check_params(cls, options.params)
    params = {**options.params_of(cls), "fill": str(options.fill_mode)}
    found = measure(
        options.market.open(),
        strategy,
        params,
        costs=options.costs,
        accounts=sizes,
        max_cost_bps=options.max_cost,
        max_unfilled=share,
        jobs=options.jobs,
    )
    page = None if folder is None else write_capacity(found, folder)
    if options.as_json:
        print(json.dumps(found, indent=2))
    else:
        show(found, page)


def show(found: Mapping[str, Any], page: Path | None) -> None:
    """Print the figures for people."""
    from rich.table import Table

    from tracker_strategies.cli.terminal import Terminal, styled
    from tracker_strategies.research.account_size_page import money, verdict

    console = Terminal(highlight=False)
    table = Table("account", "TE\n% per year", "cost\nbp per year", "unfilled\n%", "invested\n%", box=None, padding=(0, 2, 0, 0))
    for column in table.columns:
        column.justify = "right"
    for row in found["accounts"]:
        scaled = (100 * row["te_per_year"], row["cost_bps_per_year"], 100 * row["unfilled"], 100 * row["invested"])
        table.add_row(money(row["cash"]), *(f"{value:.2f}" for value in scaled))
    console.print(table)
    console.print(styled(("capacity  ", "bold"), verdict(found)))
    if page is not None:
        console.print(styled("page  ", (page, "bold"), "  (open it in a browser)"))
