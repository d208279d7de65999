"""The command ``tracker leaderboard``: run, show a table per market, write the page and the Markdown file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker_strategies.cli.limits import MandateOptions, naming, sector_notes, sectors_of
from tracker_strategies.cli.options import STOPPED, Cash, Fill, Force, grouped, said, words
from tracker_strategies.cli.prices import PriceOptions
from tracker_strategies.errors import OutputError
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.strategies.registry import check_name, load_strategy

if TYPE_CHECKING:
    from rich.table import Table

    from datafeeds import MarketSource

#: Starting cash of every account.
CASH = 1_000_000.0


@grouped
def leaderboard(
    data: Annotated[
        list[str], typer.Option("--data", metavar="FILE|DIR", help="A market, or a folder with one market per file; repeat.")
    ],
    prices: PriceOptions,
    options: MandateOptions,
    strategies: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="Strategies, or path/to/file.py:Class; all by default.", show_default=False),
    ] = None,
    eval_from: Annotated[str, typer.Option(metavar="0.5|DATE", help="Score from this fraction or date on.")] = "0.5",
    fill: Fill = "next_open",
    cost_bps: Annotated[float, typer.Option(help="Cost that the accounts pay, in basis points of the traded value.")] = 0.0,
    cash: Cash = CASH,
    skfolio: Annotated[
        bool, typer.Option("--skfolio", help="With skfolio's BenchmarkTracker in walk-forward (extra 'rivals').")
    ] = False,
    few_names: Annotated[
        int | None,
        typer.Option(help="Also the ensemble, least squares and SLAIT limited to N names.", show_default=False),
    ] = None,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Also every combination of members, coordinates and cost term.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="NAME",
            help="The entrant that the others are compared with; the ensemble by default, or the first without it.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; times per bar are only comparable with one.")] = 1,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for leaderboard.html, its numbers and the rows: the same command resumes where it was stopped.",
            show_default=False,
        ),
    ] = None,
    markdown: Annotated[
        str | None, typer.Option("--markdown", metavar="FILE", help="Write the tables as Markdown.", show_default=False)
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Add to the Markdown file instead of replacing it.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON on stdout and nothing else.")] = False,
    force: Force = False,
) -> None:
    """Every strategy on every market with the same bars: tracking error, turnover, net excess return, time per bar.

    Limits such as --max-weight 5% hold for all of them.

    Example: tracker leaderboard --data markets/ --strategies ensemble,pa,slait,equal-weight --out runs/leaderboard
    """
    given = dict(locals())
    given["strategies"] = words(strategies or "")
    for name in given["strategies"]:
        check_name(name)
    FillMode.parse(fill)
    _ = options.limits
    _leaderboard(given, prices.source(""))


def _leaderboard(given: Mapping[str, Any], how: MarketSource) -> None:
    """The command, with its options by name, and what is done to all markets."""
    from tracker_strategies.analysis.places import refuse_other
    from tracker_strategies.cli.progress import watching
    from tracker_strategies.cli.show import print_judged
    from tracker_strategies.cli.terminal import Terminal, styled
    from tracker_strategies.research.leaderboard import rivals, tables
    from tracker_strategies.research.leaderboard.judging import reference
    from tracker_strategies.research.leaderboard.run import (
        COMPARISON,
        COSTS,
        check_folder,
        entrants,
        open_markets,
        run_leaderboard,
    )
    from tracker_strategies.research.sweeps.asking.values import limits_in_words
    from tracker_strategies.runner import check_mandate

    notes, remarks, limits = Terminal(stderr=True), [], given["options"].limits
    skfolio = given["skfolio"] and rivals.has_skfolio()
    if given["skfolio"] and not skfolio:
        remarks.append(
            "skfolio is not installed, so BenchmarkTracker was left out: pip install 'backtrader-index-tracker[rivals]'."
        )
    if not limits.is_free:
        remarks.append(f"Limits of all: {limits_in_words(limits.told())}.")
    taking_part = entrants(given["strategies"], skfolio=skfolio, max_names=given["few_names"], ablation=given["ablation"])
    reference([entrant.name for entrant in taking_part], given["against"])
    folder = None if given["out"] is None else Path(given["out"]).expanduser()
    if folder is not None:
        check_folder(folder)
    panels, left_out = open_markets(given["data"], how)
    asked = {
        "command": command_line({**given, "jobs": None}),
        "data": {name: panel.fingerprint() for name, panel in panels.items()},
    }
    if folder is not None and not given["force"]:
        refuse_other(folder / "leaderboard.json", asked)
    for name, panel in panels.items():
        for one in taking_part:
            own = {**limits.told(), **one.candidate.params}
            with naming(f"{one.name} on {name}"):
                check_mandate(panel, load_strategy(one.candidate.strategy), own, given["cash"])
    missing = [
        f"{name}: {line}" for name, p in panels.items() for line in sector_notes(limits, sectors_of(limits, p.symbols), p.symbols)
    ]
    for line in (*remarks, *missing, *(f"left out  {name}: {why}" for name, why in left_out.items())):
        notes.print(line, style="yellow", highlight=False, soft_wrap=True)
    options = {key: given[key] for key in ("fill", "cost_bps", "eval_from", "jobs", "cash", "against")}
    try:
        with watching(notes) as watcher:
            result = run_leaderboard(panels, taking_part, folder, watcher=watcher, mandate=limits, **options)
    except KeyboardInterrupt:
        kept = f"finished rows are kept in {folder}; the same command resumes" if folder else "nothing is kept without --out"
        notes.print(f"stopped; {kept}")
        raise typer.Exit(STOPPED) from None
    result |= {"left_out": left_out, "notes": remarks, "asked": asked}
    command = command_line(given)
    if given["markdown"] is not None:
        text = tables.markdown(result, command, heading=not given["append"])
        _write_markdown(Path(given["markdown"]), text, append=given["append"])
    page = None
    if folder is not None:
        from tracker_strategies.research.leaderboard.page import write_leaderboard  # draws charts

        page = write_leaderboard(result, folder, command, panels)
    if given["as_json"]:
        print(json.dumps({"command": command, **result}, indent=2))
        return
    # The columns in few letters: a terminal is narrow.
    short = ("strategy", "TE\nbp", "diff.\n%", "turnover\n%", *(f"net {cost}\n% p.a." for cost in COSTS), "names", "ms per\nbar")
    console = Terminal()
    for market, group, rows in tables.tables(result):
        console.print(_table(f"{market}: {group}", short, [tables.cells(row, judged=False) for row in rows]))
        for same in tables.identical(rows):
            console.print(same, style="yellow", highlight=False, soft_wrap=True)
        if len(judged := tables.judged_of(rows)) > 1:
            print_judged(judged)
    if found := tables.factors(result):
        console.print(_table("What each part is worth", tables.FACTOR_HEAD, found))
    if page is not None:
        beside = page.parent / COMPARISON
        more = f"; the runs bar by bar: {beside}" if beside.exists() else ""
        console.print(styled("page  ", (page, "bold"), f"  (open it in a browser{more})"))


def command_line(given: Mapping[str, Any]) -> str:
    """The command that gives the same rows, with markets by name: where they lie differs from machine to machine."""
    from tracker_strategies.research.leaderboard.run import market_name

    line = ["tracker", "leaderboard"]
    for source in given["data"]:
        line += ["--data", market_name(source) or source]
    prices: PriceOptions = given["prices"]
    for name in prices.index or ():
        line += ["--index", name]
    told = {**given, **vars(prices), "strategies": ",".join(given["strategies"]) or None}
    others = [name for name in said(prices) if name not in ("index", "gaps")]
    limits: MandateOptions = given["options"]
    told |= {key: value for key, value in vars(limits).items() if key != "whole_shares"}
    own = [name for name in said(limits) if name != "whole_shares"]
    cash = ["cash"] if given["cash"] != CASH else []
    for key in ("strategies", "eval_from", "fill", "cost_bps", *cash, "gaps", *others, *own, "few_names", "against", "jobs"):
        if told[key] is not None:
            line += [f"--{key.replace('_', '-')}", str(told[key])]
    line += [f"--{key}" for key in ("skfolio", "ablation") if given[key]]
    line += ["--whole-shares"] if limits.whole_shares else []
    return shlex.join(line)


def _table(title: str, head: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), header_style="dim")
    for i, name in enumerate(head):
        table.add_column(name, justify="right" if i else "left", style="" if i else "bold", overflow="fold", no_wrap=not i)
    for line in lines:
        table.add_row(*line)
    return table


def _write_markdown(path: Path, text: str, *, append: bool) -> None:
    try:
        before = path.read_text(encoding="utf-8").rstrip("\n") + "\n\n" if append and path.exists() else ""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before + text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror}); choose another place for --markdown") from None
