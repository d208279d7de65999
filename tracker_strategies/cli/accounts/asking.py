"""The commands ``tracker paper ...``. Everything heavy is imported when a command runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tracker_strategies.cli.desk.held import HoldingsOptions
from tracker_strategies.cli.options import AsJson, StrategyOptions, commands, grouped

app = commands(
    "paper",
    "Paper trading: the same strategies in an account that resumes after a crash. "
    "Start with [bold]tracker paper init demo apas --replay 2020-01-02[/].",
)

Folder = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Folder of the account.")]


@dataclass(frozen=True)
class AccountOptions(HoldingsOptions, StrategyOptions):
    """An account as it was asked for: a strategy, a market and a broker."""

    cash: Annotated[
        float | None,
        typer.Option(
            help="Starting cash: 1,000,000 by default; with --holdings its row CASH; at Alpaca, the account's current cash."
        ),
    ] = None
    start: Annotated[
        str | None, typer.Option(metavar="DATE", help="First session that may trade; by default the newest one.")
    ] = None
    replay: Annotated[str | None, typer.Option(metavar="DATE", help="Practise on recorded history, starting on this date.")] = (
        None
    )
    broker: Annotated[str, typer.Option(help="simulated, or alpaca (its paper account; keys from the environment).")] = (
        "simulated"
    )
    url: Annotated[str, typer.Option(help="Address of the broker; only paper hosts and this computer are allowed.")] = ""
    clock: Annotated[
        str | None, typer.Option(help="How the latest session is determined: data (simulated) or wall (the calendar).")
    ] = None
    calendar: Annotated[
        str, typer.Option(help="Exchange calendar: XNYS; or several, with the names of each: 'XNYS XTKS=NKY,SONY'.")
    ] = "XNYS"
    actions: Annotated[str, typer.Option(metavar="FILE", help="CSV of corporate actions: date,symbol,kind,value.")] = ""
    limit: Annotated[
        list[str] | None, typer.Option("--limit", metavar="KEY=VALUE", help="A limit: see 'tracker paper limits'.")
    ] = None
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="KEY=P",
            help="Inject simulated broker faults with probability P: reject, partial, delay, duplicate, disconnect.",
        ),
    ] = None
    time_in_force: Annotated[str, typer.Option(help="At Alpaca: day, or opg, the opening auction (whole shares only).")] = "day"
    verify_every: Annotated[int, typer.Option(help="Do a full replay every N sessions; resume from a checkpoint in between.")] = (
        250
    )


@app.command()
@grouped
def init(
    folder: Folder,
    strategy: Annotated[str, typer.Argument(help="Name as 'tracker list' shows it, or path/to/file.py:Class.")],
    options: AccountOptions,
) -> None:
    """Open an account in a new folder.

    Example: tracker paper init demo apas --data prices.csv --cost-bps 5 --limit max_weight=0.2
    """
    options.check([strategy])
    from tracker_strategies.cli.accounts.commands import open_account

    open_account(folder, strategy, options)


@app.command()
def step(
    folder: Folder,
    verify: Annotated[bool, typer.Option("--verify", help="Replay everything and compare with what was decided.")] = False,
    max_move: Annotated[float | None, typer.Option(help="Accept price moves up to this size, for this step only.")] = None,
    from_copy: Annotated[
        bool, typer.Option("--from-copy", help="Continue from files that were deliberately restored from a copy.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Do everything that is due: settle, reconcile, ingest new sessions, decide, send. Run it after every close.

    A line for cron: 30 17 * * 1-5  tracker paper step /path/to/demo
    """
    from tracker_strategies.cli.accounts.commands import take_step

    take_step(folder, verify=verify, max_move=max_move, from_copy=from_copy, as_json=as_json)


@app.command()
def watch(
    folder: Folder,
    sessions: Annotated[int | None, typer.Option(help="Stop after N sessions.")] = None,
    speed: Annotated[float, typer.Option(help="With recorded history: seconds between two sessions.")] = 0.0,
    max_move: Annotated[float | None, typer.Option(help="Accept price moves up to this size, while it watches.")] = None,
) -> None:
    """Step after every session, and sleep until the next by the exchange's calendar; with recorded history, at a chosen pace."""
    from tracker_strategies.cli.accounts.commands import keep_watch

    keep_watch(folder, sessions=sessions, speed=speed, max_move=max_move)


@app.command()
def status(
    folder: Folder,
    check: Annotated[bool, typer.Option("--check", help="Also check every row of the account's files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the account: sessions, value, positions, open orders, limits."""
    from tracker_strategies.cli.accounts.commands import show_status

    show_status(folder, check=check, as_json=as_json)


@app.command()
def report(
    folder: Folder,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Folder for the tear sheet; by default in the account's.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The account against its own backtest on the same bars: shortfall, missed fills, divergence, and a tear sheet."""
    from tracker_strategies.cli.accounts.commands import show_report

    show_report(folder, out=out, as_json=as_json)


@app.command()
def halt(
    folder: Folder,
    reason: Annotated[str, typer.Option(help="Reason, recorded in the journal.")] = "by hand",
    cancel_open: Annotated[bool, typer.Option("--cancel-open", help="Also cancel orders that are open at the broker.")] = False,
) -> None:
    """Stop sending orders at once, also in a step that is running now."""
    from tracker_strategies.cli.accounts.commands import halt_account

    halt_account(folder, reason, cancel_open=cancel_open)


@app.command()
def resume(folder: Folder) -> None:
    """Allow trading again after a halt."""
    from tracker_strategies.cli.accounts.commands import resume_account

    resume_account(folder)


@app.command()
def adopt(
    folder: Folder,
    as_shares: Annotated[
        bool,
        typer.Option("--as-shares", help="Treat what looks like a split or a new ticker as shares that came in or went out."),
    ] = False,
) -> None:
    """Adopt the broker's positions and cash into the journal when the two disagree."""
    from tracker_strategies.cli.accounts.commands import adopt_account

    adopt_account(folder, as_shares=as_shares)


@app.command()
def flatten(
    folder: Folder,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation prompt.")] = False,
    strangers: Annotated[
        bool, typer.Option("--strangers", help="Also sell positions at the broker in names that do not belong to this account.")
    ] = False,
) -> None:
    """Halt, cancel open orders and sell everything; works even when the journal cannot be used."""
    from tracker_strategies.cli.accounts.commands import flatten_account

    flatten_account(folder, yes=yes, strangers=strangers)


@app.command()
def limits(
    folder: Folder,
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="KEY=VALUE limits to set; use KEY=none to remove one.")
    ] = None,
) -> None:
    """Show or change the limits.

    Example: tracker paper limits demo max_weight=0.2 max_turnover=none
    """
    from tracker_strategies.cli.accounts.commands import show_limits

    show_limits(folder, changes or [])


@app.command()
def flows(
    folder: Folder,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATE=AMOUNT]...",
            help="Money paid in (+) or out (-) on a later date; DATE=none removes it. each=1000/month is a contribution.",
        ),
    ] = None,
) -> None:
    """Show or change what is paid in and out, at the simulated broker.

    Example: tracker paper flows demo 2020-10-01=5000 each=none
    """
    from tracker_strategies.cli.accounts.commands import show_flows

    show_flows(folder, changes or [])


@app.command()
def export(
    folder: Folder,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder for the files.")],
    kind: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
) -> None:
    """Write the whole journal as tables."""
    from tracker_strategies.cli.accounts.commands import export_account

    export_account(folder, out, kind)
