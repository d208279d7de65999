"""The command ``tracker orders``. Everything heavy is imported when it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tracker_strategies.cli.desk.held import HoldingsOptions
from tracker_strategies.cli.options import AsJson, Cash, Force, StrategyOptions, grouped

PANEL = "The order list"


@dataclass(frozen=True)
class OrderOptions(HoldingsOptions, StrategyOptions):
    """An order list as it was asked for: a strategy on a market, what is held, and who takes the orders."""

    cash: Cash = None
    out: Annotated[str | None, typer.Option("--out", metavar="FILE", help="Write the orders as CSV.", rich_help_panel=PANEL)] = (
        None
    )
    broker: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="generic|alpaca|ibkr",
            help="Format of --out, and whose symbols it uses.",
            rich_help_panel=PANEL,
        ),
    ] = "generic"
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Use this bar as the last, whatever today's date is; later bars are ignored.",
            rich_help_panel=PANEL,
        ),
    ] = None
    account_name: Annotated[
        str,
        typer.Option("--account", metavar="NAME", help="Name of the account, in the id of every order.", rich_help_panel=PANEL),
    ] = "desk"
    gap: Annotated[
        str,
        typer.Option(
            metavar="SHARE",
            help="Size buys so that the cash suffices if they open higher by this much: 1%.",
            rich_help_panel=PANEL,
        ),
    ] = "0"
    time_in_force: Annotated[
        str,
        typer.Option(
            metavar="day|opg", help="Orders for the day, or for the opening auction (whole shares).", rich_help_panel=PANEL
        ),
    ] = "day"
    currency: Annotated[str, typer.Option(metavar="CODE", help="Currency of IBKR's basket.", rich_help_panel=PANEL)] = "USD"
    state: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder that keeps what was learned, to continue from it tomorrow: the same orders, in less time.",
            rich_help_panel=PANEL,
        ),
    ] = None
    as_json: AsJson = False
    force: Force = False


@grouped
def orders(
    options: OrderOptions,
    strategy: Annotated[
        str, typer.Argument(metavar="[STRATEGY]", help="Name as 'tracker list' shows it, or path/to/file.py:Class.")
    ] = "ensemble",
) -> None:
    """Tomorrow's orders, from prices and what is held. Nothing is sent: the list is yours to place.

    The last bar must be that of the last completed session of --calendar (XNYS by default), unless --as-of says otherwise. The
    strategy learns from all bars and decides at the last close. Below the table: cash after, expected tracking error, limits,
    and names that are not traded and why.

    Examples: tracker orders ensemble --data prices.csv --holdings holdings.csv --cost-bps 5 --out orders.csv;
    tracker orders --data prices.csv --holdings positions.csv --whole-shares --for ibkr --out basket.csv --state desk
    """
    options.check([strategy])
    from tracker_strategies.cli.desk.list_orders import list_orders

    list_orders(strategy, options)
