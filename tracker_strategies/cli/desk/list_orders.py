"""What ``tracker orders`` does."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from datafeeds import MarketPanel
from datafeeds.cleaning.report import SHOWN
from datafeeds.files import json_text
from datafeeds.markets.market_files import currencies_of
from tracker_strategies.cli.desk.orders import OrderOptions
from tracker_strategies.cli.limits import sector_notes, sectors_of
from tracker_strategies.cli.options import START_CASH
from tracker_strategies.cli.terminal import Terminal, styled
from tracker_strategies.desk.formats import check_format
from tracker_strategies.desk.ids import check_account_name
from tracker_strategies.desk.orders import orders_for
from tracker_strategies.desk.plan import OrderPlan
from tracker_strategies.desk.sessions import check_session, next_session, until
from tracker_strategies.errors import OutputError, ParameterError
from tracker_strategies.execution.holdings import Account
from tracker_strategies.execution.holdings.flows import flows_of
from tracker_strategies.strategies.registry import check_params, load_strategy


def list_orders(strategy: str, options: OrderOptions) -> None:
    """Decide, show the list, and write it."""
    cls, console = load_strategy(strategy), Terminal(stderr=True)
    check_params(cls, options.params)
    check_account_name(options.account_name)
    check_format(options.broker, options.time_in_force, options.limits.lot)
    if options.markets is not None and options.broker != "generic" and len(codes := currencies_of(options.markets)) > 1:
        raise ParameterError(
            f"the markets of {options.markets} are quoted in {', '.join(codes)}, but a file for {options.broker} is of one "
            "currency; write the list without --for and split it, or make a file of markets for each currency"
        )
    _ = options.costs
    panel = until(options.market.open(), options.as_of)
    checked = check_session(panel, options.calendar or "XNYS", as_of=options.as_of)
    if panel.cleaning is not None:
        console.print(panel.cleaning.table(SHOWN), highlight=False, soft_wrap=True)
    notes = [checked]
    if options.holdings is None:
        account = Account(START_CASH if options.cash is None else options.cash)
        options.account(panel.symbols, options.cash)  # refuses options that are for holdings
        notes.append(f"no --holdings: an account of {account.cash:,.2f} in cash")
    else:
        account = Account.read(options.holdings, cash=options.cash)
        notes += options.account(panel.symbols, options.cash)[2]
    notes += sector_notes(options.limits, sectors_of(options.limits, panel.symbols), panel.symbols)
    known, used = options.weights_for({strategy: cls}, panel, today=panel.day(-1))
    notes += used
    flow, day = _flow(options, panel)
    plan = orders_for(
        panel,
        cls,
        account,
        options.params_of(cls) | known.get(strategy, {}),
        costs=options.costs,
        name=options.account_name,
        outside=options.outside,
        spelling=options.names,
        gap=options.gap,
        flow=flow,
        flow_date=day,
        time_in_force=options.time_in_force,
        currency=options.currency,
        state=options.state,
    )
    for note in (*notes, *plan.notes):
        console.print(note, style="yellow", highlight=False, soft_wrap=True)
    if options.out is not None:
        _write(plan, options, console)
    if options.as_json:
        print(json_text(plan.to_dict()))
    else:
        show(plan, options)


def _flow(options: OrderOptions, panel: MarketPanel) -> tuple[float, str | None]:
    """What is paid in or taken out on the session of these orders, and the first date of it."""
    known = [flows for flows in (flows_of(options.flows), flows_of(options.contribute)) if flows is not None]
    if not known:
        return 0.0, None
    last, session = panel.day(-1)[:10], next_session(panel, options.calendar or "XNYS")
    days = [day for flows in known for day in flows.days if last < day <= session]
    return sum(flows.due(panel.dates[-1], session) for flows in known), min(days, default=session)


def _write(plan: OrderPlan, options: OrderOptions, console: Terminal) -> None:
    """The file: whole or not at all, and never over another list unasked."""
    file = Path(options.out or "").expanduser()
    text = plan.to_csv(broker=options.broker)
    if file.is_dir():
        raise OutputError(f"--out {file} is a folder; name a file, such as {file / 'orders.csv'}")
    if file.exists() and not options.force and file.read_bytes() != text.encode():
        raise OutputError(f"{file} already contains other orders; choose another file, or replace it with --force")
    plan.to_csv(file, broker=options.broker)
    console.print(styled("wrote ", (file, "bold")), soft_wrap=True)
    for line in plan.rows(options.broker)[1]:
        console.print(f"left out of {file}: {line}", style="yellow", highlight=False, soft_wrap=True)


def show(plan: OrderPlan, options: OrderOptions) -> None:
    """The table, and what stands below it."""
    console = Terminal()
    if len(plan):
        table = Table("symbol", "side", box=None, padding=(0, 2, 0, 0), title=f"orders for the session after {plan.as_of}")
        table.title_justify = "left"
        for head in ("qty", "price", "value", "weight", "target"):
            table.add_column(head, justify="right")
        table.add_column("reason")
        table.add_column("batch", justify="right")
        for order in plan.table.to_dict("records"):
            table.add_row(
                plan.spelling.at(options.broker, order["symbol"]),
                order["side"],
                f"{order['qty']:,.0f}" if float(order["qty"]).is_integer() else f"{order['qty']:,.4f}",
                f"{order['est_price']:,.2f}",
                f"{order['est_value']:,.2f}",
                f"{order['weight_now']:.2%}",
                f"{order['weight_target']:.2%}",
                order["reason"],
                str(order["batch"]),
            )
        console.print(table, highlight=False)
    for line in plan.foot:
        console.print(line, highlight=False, soft_wrap=True)
    console.print("nothing was sent", style="dim")
