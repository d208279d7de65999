"""The commands ``tracker mandate ...``. Everything heavy is imported when a command runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from tracker_strategies.cli.options import START_CASH, AsJson, commands, grouped
from tracker_strategies.cli.prices import MarketOptions
from tracker_strategies.errors import TrackerError
from tracker_strategies.execution.mandate.mandate import Mandate
from tracker_strategies.strategies.registry import check_name

#: Names that a line of the report shows before it says how many more there are.
FEW = 12

app = commands("mandate", "Limits on a portfolio. Start with [bold]tracker mandate check mandate.toml --data prices.csv[/].")


@app.callback()
def mandate() -> None:
    """Limits on a portfolio. Start with [bold]tracker mandate check mandate.toml --data prices.csv[/]."""


@app.command()
@grouped
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The mandate: a TOML file with lines such as max_weight = 0.05.")],
    options: MarketOptions,
    cash: Annotated[float, typer.Option(help="Starting cash.")] = START_CASH,
    strategy: Annotated[str, typer.Option(help="Strategy that shows what the limits cost in tracking.")] = "ensemble",
    as_json: AsJson = False,
) -> None:
    """Check whether the limits can hold together with these names and this account, which names cannot be bought, and the cost.

    Exit code 0 if they can hold; 2, and one line with the arithmetic, if not. The cost is measured by two replays with fills at
    the close, with and without the limits.

    Example: tracker mandate check mandate.toml --data prices.csv --cash 10000
    """
    check_name(strategy)
    limits, market = Mandate.read(file), options.market
    from tracker_strategies.research.mandate_check import look_at_mandate

    try:
        found = look_at_mandate(limits, market.open(), cash, strategy)
    except TrackerError as problem:
        if as_json:
            print(json.dumps({"feasible": False, "why": str(problem)}, indent=2))
        raise
    if as_json:
        print(json.dumps({"feasible": True, **found}, indent=2))
    else:
        show(file, found)


def show(file: str, found: Mapping[str, Any]) -> None:
    """Print the report for people."""
    from rich.table import Table

    from tracker_strategies.cli.terminal import Terminal, styled
    from tracker_strategies.research.sweeps.asking.values import limits_in_words

    console = Terminal(highlight=False)
    facts = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column()
    facts.add_row("mandate", (f"{file}: {limits_in_words(found['mandate']) or 'no limits'}"))
    facts.add_row(styled(("feasible", "green")), f"with {found['n_names']} names of {found['source']} on {found['day']}")
    reasons: dict[str, list[str]] = {}
    for name, why in found["cannot_be_bought"].items():
        reasons.setdefault("one lot costs more than the maximum weight" if " costs " in why else why, []).append(
            f"{name} ({why})" if " costs " in why else name
        )
    for why, names in reasons.items():
        facts.add_row("cannot be bought", (f"{len(names)}, {why}: {_some(names)}"))
    if found["no_sector"]:
        facts.add_row("without a sector", (f"{len(found['no_sector'])}: {_some(found['no_sector'])}"))
    console.print(facts)
    if found["groups"]:
        groups = Table("group", "names", "can be bought", "at least", "at most", "most names", box=None, padding=(0, 2, 0, 0))
        for column in groups.columns[1:]:
            column.justify = "right"
        for g in found["groups"]:
            count = "-" if g["max_names"] is None else str(g["max_names"])
            label = g["name"] if g["grouping"] == "sector" else f"{g['grouping']}: {g['name']}"
            least = _percent(g["min"] or None)
            groups.add_row(label, str(g["names"]), str(g["can_be_bought"]), least, _percent(g["max"]), count)
        console.print()
        console.print(groups)
    console.print()
    price = found["price"]
    table = Table(
        f"cost of the limits for {price['strategy']}",
        "TE\nbp per bar",
        "TE\n% per year",
        "turnover\n% per bar",
        "names\nmean",
        "cash\n%",
        "idle\n%",
        box=None,
        padding=(0, 2, 0, 0),
        caption="Fills at the close, no costs. TE: tracking error, RMS. Idle: cash beyond min_cash that a limit forces.",
        caption_justify="left",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for name in ("without", "within"):
        table.add_row(f"{name} the mandate", *_cells(price[name]))
    console.print(table)


def _cells(figures: Mapping[str, Any]) -> list[str]:
    scales = (
        ("te_rms", 1e4, ".2f"),
        ("te_per_year", 100, ".2f"),
        ("turnover", 100, ".2f"),
        ("n_holdings", 1, ".1f"),
        ("cash", 100, ".2f"),
        ("idle_cash", 100, ".2f"),
    )
    return ["-" if figures[key] is None else format(scale * figures[key], form) for key, scale, form in scales]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.4g} %"


def _some(names: list[str]) -> str:
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more (--json names them)" if len(names) > FEW else "")
