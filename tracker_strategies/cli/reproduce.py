"""What ``tracker reproduce`` does: a paper's experiments with a progress bar, its page, and each sentence with its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TimeElapsedColumn
from rich.table import Table

from tracker_strategies.cli.terminal import Terminal, progress_text, styled
from tracker_strategies.research.reproductions.papers import Asked, reproduce
from tracker_strategies.research.reproductions.verdicts import CONFIRMED, NOT_CONFIRMED, all_claims, criteria, in_words


def run_reproduction(paper: str, out: str, *, sets: int, runs: int, data: Sequence[str], seed: int, force: bool = False) -> None:
    """Run a paper's experiments and write its page."""
    console = Terminal()
    files = tuple(Path(name).expanduser() for name in data)
    what, count = progress_text("{task.description}"), progress_text("{task.completed}/{task.total}")
    with Progress(what, BarColumn(), count, TimeElapsedColumn(), console=Terminal(stderr=True), transient=True) as progress:
        task = progress.add_task(paper, total=None)

        def tick(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        page, found = reproduce(paper, Path(out).expanduser(), Asked(sets, runs, files, seed, tick), force=force)
    for table in found.get("tables", {}).values():
        shown = Table(*map(str, table["head"]))
        for row in table["rows"]:
            shown.add_row(*map(str, row))
        console.print(shown)
    show_answers(found, console)
    console.print(styled("page  ", (page, "bold"), "  (open it in a browser)"))


def show_answers(found: Mapping[str, Any], console: Terminal) -> None:
    """Print each sentence of the paper with its verdict, how many got which, and whether the run is the experiment at all."""
    claims = all_claims(found)
    colours = {CONFIRMED: "green", NOT_CONFIRMED: "red"}
    for claim in claims:
        colour = colours.get(claim["verdict"], "yellow")
        console.print(styled((f"{claim['verdict']:>14}", colour), f"  {claim['claim']} ", (f"({claim['tested']})", "dim")))
    console.print(f"claims of the paper: {in_words(claims)}")
    tested = criteria(found["accepted"])
    missed = [words for words, met in tested.items() if not met]
    missing = f"; not met: {'; '.join(missed)}" if missed else ""
    console.print(f"criteria of the experiment: {len(tested) - len(missed)} of {len(tested)} met{missing}")
