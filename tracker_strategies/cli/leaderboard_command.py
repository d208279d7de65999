"""What ``tracker leaderboard`` does: run, show a table per market, write the page and the Markdown file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tracker_strategies.analysis.pages.comparison_page import Field
from tracker_strategies.errors import OutputError
from tracker_strategies.research.leaderboard.rivals import has_skfolio
from tracker_strategies.research.leaderboard.run import (
    COMPARISON,
    COSTS,
    Row,
    check_folder,
    entrants,
    market_name,
    open_markets,
    run_leaderboard,
)
from tracker_strategies.research.leaderboard.tables import FACTOR_HEAD, cells, factors, markdown, tables

#: The columns in few letters: a terminal is narrow.
SHORT = ("strategy", "TE\nbp", "diff.\n%", "turnover\n%", *(f"net {cost}\n% p.a." for cost in COSTS), "names", "ms a\nbar")


def leaderboard_command(given: Mapping[str, Any]) -> None:
    """``tracker leaderboard`` with its options by name."""
    notes, skfolio = Console(stderr=True), bool(given["skfolio"])
    remarks = []
    if skfolio and not has_skfolio():
        skfolio = False
        remarks.append("skfolio is not installed and was left out: pip install 'backtrader-index-tracker[rivals]'.")
    names = [name.strip() for name in (given["strategies"] or "").split(",") if name.strip()]
    taking_part = entrants(names, skfolio=skfolio, max_names=given["max_names"], ablation=given["ablation"])
    if given["out"] is not None:
        check_folder(Path(given["out"]))
    panels, left_out = open_markets(given["data"], gaps=given["gaps"])
    for words in (*remarks, *(f"left out  {name}: {why}" for name, why in left_out.items())):
        notes.print(escape(words), style="yellow", highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    runs: dict[tuple[str, str, str], Field] = {}
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task("running", total=len(panels) * len(taking_part))

        def tick(row: Row) -> None:
            progress.update(task, advance=1, description=escape(f"{row['market']} {row['strategy']}"))

        def keep(row: Row, field: Field) -> None:
            runs[row["market"], row["group"], row["strategy"]] = field

        options = {key: given[key] for key in ("fill", "cost_bps", "eval_from", "jobs")}
        result = run_leaderboard(panels, taking_part, tick=tick, keep=keep, **options)
    result |= {"left_out": left_out, "notes": remarks}
    command = command_line(given)
    if given["markdown"] is not None:
        _write_markdown(Path(given["markdown"]), markdown(result, command, heading=not given["append"]), given["append"])
    page = None
    if given["out"] is not None:
        from tracker_strategies.research.leaderboard.page import write_leaderboard  # draws charts

        page = write_leaderboard(result, Path(given["out"]), command, runs)
    if given["as_json"]:
        print(json.dumps({"command": command, **result}, indent=2))
        return
    console = Console()
    for market, group, rows in tables(result):
        console.print(_table(f"{market}: {group}", SHORT, [cells(row) for row in rows]))
    if found := factors(result):
        console.print(_table("What each part is worth", FACTOR_HEAD, found))
    if page is not None:
        console.print(f"page  [bold]{page}[/]  (open it in a browser; the runs bar by bar: {page.parent / COMPARISON})")


def command_line(given: Mapping[str, Any]) -> str:
    """The command that gives the same rows, with markets by name: where they lie differs from machine to machine."""
    words = ["tracker", "leaderboard"]
    for source in given["data"]:
        words += ["--data", market_name(source) or source]
    for key in ("strategies", "eval_from", "fill", "cost_bps", "gaps", "max_names", "jobs"):
        if given[key] is not None:
            words += [f"--{key.replace('_', '-')}", str(given[key])]
    words += [f"--{key}" for key in ("skfolio", "ablation") if given[key]]
    return shlex.join(words)


def _table(title: str, head: tuple[str, ...], lines: list[list[str]]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), header_style="dim")
    for i, name in enumerate(head):
        table.add_column(name, justify="right" if i else "left", style="" if i else "bold", overflow="fold", no_wrap=not i)
    for line in lines:
        table.add_row(*(escape(cell) for cell in line))
    return table


def _write_markdown(path: Path, text: str, append: bool) -> None:
    try:
        before = path.read_text(encoding="utf-8").rstrip("\n") + "\n\n" if append and path.exists() else ""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before + text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror}); choose another place for --markdown") from None
