"""What the commands of :mod:`tracker_strategies.cli.accounts.asking` do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from datafeeds.texts import parse_pairs, plain
from tracker_strategies.cli.accounts.asking import AccountOptions
from tracker_strategies.cli.limits import sector_notes, sectors_of
from tracker_strategies.cli.terminal import Terminal, styled
from tracker_strategies.errors import TrackerError
from tracker_strategies.execution.named_costs import fee_notes
from tracker_strategies.papertrade.account import PaperAccount
from tracker_strategies.papertrade.errors import JournalError
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.opening import first_session
from tracker_strategies.papertrade.risk_limits import RiskLimits
from tracker_strategies.papertrade.step import StepResult
from tracker_strategies.papertrade.views.status import AccountStatus, status_of
from tracker_strategies.strategies.registry import check_params, load_strategy

#: Rows of holdings in the status table.
SHOWN = 15


def open_account(folder: str, strategy: str, options: AccountOptions) -> None:
    """``init``."""
    cls, panel = load_strategy(strategy), None
    check_params(cls, options.params)
    held: dict[str, Any] = {}
    if options.holdings is not None or options.outside != "refuse" or options.spelling is not None:
        panel = options.market.open()
        account, _, notes = options.account(panel.symbols, options.cash)
        held = {"holdings": account}
        for note in notes:
            Terminal(stderr=True).print(note, style="yellow", highlight=False, soft_wrap=True)
    known: dict[str, dict[str, Any]] = {}
    if options.limits.sectors is not None or options.index_weights is not None:
        panel = panel or options.market.open()
        said = sector_notes(options.limits, sectors_of(options.limits, panel.symbols), panel.symbols)
        known, told = options.weights_for({strategy: cls}, panel, today=first_session(panel, options.start or options.replay))
        for note in (*said, *told):
            Terminal(stderr=True).print(note, style="yellow", highlight=False, soft_wrap=True)
    kept = ("start", "replay", "broker", "url", "calendar", "actions", "verify_every", "time_in_force")
    same = {name: getattr(options, name) for name in kept}
    same |= {name: value for name in ("cash", "clock") if (value := getattr(options, name)) is not None}
    if held:
        same.pop("cash", None)
    opened = PaperAccount.create(
        folder,
        strategy,
        options.market,
        options.params_of(cls) | known.get(strategy, {}) | options.cash_flows(),
        panel=panel,
        limits=RiskLimits().changed(parse_pairs(options.limit or (), "--limit")),
        costs=options.costs,
        faults=parse_pairs(options.fault or (), "--fault"),
        **same,
        **held,
    )
    config, console = opened.config, Terminal()
    for note in fee_notes(config.costs_by_name or config.costs, len(config.symbols), config.cash + config.worth):
        Terminal(stderr=True).print(note, style="yellow", highlight=False, soft_wrap=True)
    beside = f" and {config.worth:,.0f} in {len(config.holdings)} names" if config.holdings else ""
    about = (
        f": {config.strategy} on {len(config.symbols)} names of {config.source}, "
        f"{config.cash:,.0f} in cash{beside}, {config.broker} broker, first session {config.start}"
    )
    console.print(styled("opened ", (opened.folder, "bold"), about))
    more = f"watch {opened.folder} --sessions 21" if config.clock == "replay" else f"step {opened.folder}"
    console.print(styled("next: ", (f"tracker paper {more}", "bold")))


def take_step(folder: str, *, verify: bool, max_move: float | None, from_copy: bool, as_json: bool) -> None:
    """``step``."""
    result = PaperAccount(folder).step(verify=verify, max_move=max_move, from_copy=from_copy)
    if as_json:
        print(json.dumps(asdict(result), indent=2))
    else:
        show_step(Terminal(), result)


def show_step(console: Terminal, result: StepResult) -> None:
    """One line for a step, and its messages below."""
    taken = "nothing new" if not result.taken else result.taken[0] if len(result.taken) == 1 else f"{len(result.taken)} sessions"
    words = {
        Kind.ACT: "rebalance",
        Kind.IDLE: "no rebalance due",
        Kind.REFUSED: "rebalance refused",
        Kind.FLATTEN: "sell everything",
        Kind.MISSED: "missed",
        "": "nothing to decide",
    }
    shown = styled((result.session or "-", "bold"), f"  {taken}, {words.get(result.decision, result.decision)}")
    if result.sent or result.refused:
        shown += styled(f", {result.sent} orders sent", *([", ", (f"{result.refused} refused", "red")] if result.refused else []))
    console.print(shown + styled((f"  ({result.way})" if result.way else "", "dim")))
    for message in result.messages:
        console.print(f"  {message}", style="dim", highlight=False)


def keep_watch(folder: str, *, sessions: int | None, speed: float, max_move: float | None) -> None:
    """``watch``."""
    from tracker_strategies.papertrade.live.watching import practise, watch

    account, console = PaperAccount(folder), Terminal()
    try:
        if account.config.clock == "replay":
            count = practise(
                account, lambda result: show_step(console, result), sessions=sessions, speed=speed, max_move=max_move
            )
            ended = count != sessions and account.halt_switch.reason() is None
            console.print(f"{count} sessions" + ("; the history ends here" if ended else ""), style="dim")
        else:
            watch(
                account,
                lambda r: show_step(console, r),
                lambda text: console.print(text, style="red"),
                rounds=sessions,
                max_move=max_move,
            )
    except KeyboardInterrupt:
        console.print("stopped; everything recorded so far is kept. Continue with the same command", style="dim")


def show_status(folder: str, *, check: bool, as_json: bool) -> None:
    """``status``."""
    account = PaperAccount(folder, check=False)
    try:
        status = status_of(account, check=check)
    except JournalError as problem:
        halted = account.halt_switch.reason()
        raise JournalError(f"{problem}. {f'Halted: {halted}' if halted else 'Not halted: tracker paper halt'}") from None
    if as_json:
        print(json.dumps(status.to_dict(), indent=2))
    else:
        print_status(Terminal(), status)


def print_status(console: Terminal, status: AccountStatus) -> None:
    """Head, holdings, alarms."""
    color = {"halted": "bold red", "up to date": "green"}.get(status.state, "yellow")
    console.print(styled((status.folder, "bold"), f"  {status.strategy}, {status.broker} broker  ", (status.state, color)))
    if status.halted:
        console.print(f"  {status.halted}; continue with: tracker paper resume", style="red", highlight=False)
    if not status.session:
        return
    console.print(
        styled(
            f"  {status.session}, session {status.sessions}: worth ",
            (f"{status.value:,.2f}", "bold"),
            f" ({status.last_change:+.2%} on the day), cash {status.cash:,.2f}",
        )
    )
    indices = ", ".join(f"{name} {made:+.2%}" for name, made in status.indices.items())
    console.print(
        f"  since the start {status.since_start:+.2%}, {indices}; last decision: {status.decision}; {status.waiting} orders wait",
        highlight=False,
    )
    table = Table("name", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("shares", "price", "value", "weight %", "target %"):
        table.add_column(column, justify="right")
    for h in status.holdings[:SHOWN]:
        table.add_row(
            h.symbol, f"{h.shares:,.4f}", f"{h.price:,.2f}", f"{h.value:,.2f}", f"{100 * h.weight:.2f}", f"{100 * h.target:.2f}"
        )
    console.print(table)
    if len(status.holdings) > SHOWN:
        console.print(f"  and {len(status.holdings) - SHOWN} more: tracker paper export", style="dim")
    for alarm in status.alarms:
        console.print(f"  {alarm}", style="yellow", highlight=False)


def show_report(folder: str, *, out: str | None, as_json: bool) -> None:
    """``report``."""
    from datafeeds.files import json_text
    from tracker_strategies.analysis.pages.words import unscored
    from tracker_strategies.papertrade.views.gap import gap_words
    from tracker_strategies.papertrade.views.report import report_of, write_report

    account = PaperAccount(folder)
    report = report_of(account)
    if as_json:
        print(json_text({"paper": report.paper.metrics(), "backtest": report.backtest.metrics(), "gap": report.gap}))
        return
    console = Terminal()
    paper, backtest, gap = report.paper.metrics(), report.backtest.metrics(), report.gap
    table = Table("", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("paper account", "its backtest"):
        table.add_column(column, justify="right")
    for name, key, form in (
        ("final value", "final_value", "{:,.2f}"),
        ("tracking error, bp per bar", "te_rms", "{:.2f}"),
        ("turnover, % per bar", "turnover", "{:.2f}"),
        ("names held", "n_holdings", "{:.1f}"),
        ("scored bars", "n_bars", "{:d}"),
    ):
        scale = {"te_rms": 1e4, "turnover": 100.0}.get(key, 1)
        table.add_row(name, *(form.format(scale * m[key]) if m[key] == m[key] else "-" for m in (paper, backtest)))
    console.print(table)
    for words in unscored([report.paper, report.backtest]):
        console.print(words, style="yellow", highlight=False)
    for words in gap_words(gap):
        console.print(words, highlight=False)
    written, missing = write_report(report, Path(out).expanduser() if out else account.folder / "report")
    for path in written:
        console.print(styled("wrote ", (path, "bold")))
    if missing:
        console.print(missing, style="yellow", highlight=False)


def halt_account(folder: str, reason: str, *, cancel_open: bool) -> None:
    """``halt``."""
    account, console = PaperAccount(folder, check=False), Terminal()
    account.halt(reason)  # first, and whatever else is wrong
    console.print("halted: no orders are sent", highlight=False)
    if cancel_open:
        count = account.halt(reason, cancel_open_orders=True)
        console.print(f"{count} open orders cancelled", highlight=False)
    else:
        try:
            account.config  # noqa: B018 (a damaged journal is worth a word)
        except TrackerError as problem:
            account.troubles.append(f"the journal cannot be read ({type(problem).__name__}: {problem})")
    show_troubles(account)


def resume_account(folder: str) -> None:
    """``resume``."""
    PaperAccount(folder).resume()
    Terminal().print("no longer halted; the next step trades again")


def adopt_account(folder: str, *, as_shares: bool) -> None:
    """``adopt``."""
    console, changes = Terminal(), PaperAccount(folder).adopt(as_shares=as_shares)
    for change in changes:
        console.print(change, highlight=False)
    console.print("the journal now matches the broker's account" if changes else "nothing differed")


def flatten_account(folder: str, *, yes: bool, strangers: bool) -> None:
    """``flatten``."""
    account = PaperAccount(folder, check=False)
    if not yes:
        typer.confirm(plain(f"Sell everything in {account.folder} and halt?"), abort=True)
    show_step(Terminal(), account.flatten(strangers=strangers))


def show_troubles(account: PaperAccount) -> None:
    """What an exit could not do on its way."""
    for trouble in account.troubles:
        Terminal(stderr=True).print(trouble, style="yellow", highlight=False, soft_wrap=True)


def show_limits(folder: str, changes: Sequence[str]) -> None:
    """``limits``."""
    account = PaperAccount(folder)
    limits = account.change_limits(parse_pairs(changes, "a limit")) if changes else account.limits()
    table = Table("limit", "value", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name, value in asdict(limits).items():
        table.add_row(name, "none" if value is None else ", ".join(value) if isinstance(value, tuple) else f"{value:g}")
    Terminal().print(table)


def show_flows(folder: str, changes: Sequence[str]) -> None:
    """``flows``."""
    account = PaperAccount(folder)
    flows = account.change_flows(parse_pairs(changes, "a payment")) if changes else account.flows()
    if flows is None:
        Terminal().print("nothing is paid in or out")
        return
    table = Table("date", "amount", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for day, amount in zip(flows.days, flows.amounts, strict=True):
        table.add_row(day, f"{amount:,.2f}")
    if flows.each:
        table.add_row(f"each {flows.period}", f"{flows.each:,.2f}")
    Terminal().print(table)


def export_account(folder: str, out: str, kind: str) -> None:
    """``export``."""
    from tracker_strategies.papertrade.views.exporting import export

    for path in export(PaperAccount(folder), Path(out).expanduser(), kind):
        Terminal().print(f"wrote {path}", highlight=False)
