"""Which run is better, in the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.table import Table

from tracker_strategies.analysis.inference.verdicts import Judged
from tracker_strategies.analysis.pages.judged import EXPLAINED, p_words, reference_of
from tracker_strategies.cli.terminal import Terminal


def print_judged(judged: Mapping[str, Judged], notes: Sequence[str] = (), title: str = "") -> None:
    """In what the runs differ, then which is better."""
    console = Terminal()
    for words in notes:
        console.print(words, style="yellow", highlight=False, soft_wrap=True)
    console.print(judged_table(judged, title))


def judged_table(judged: Mapping[str, Judged], title: str = "") -> Table:
    """Tracking errors with intervals, and each run against the reference; fits a terminal of 80 columns."""
    table = Table(
        title=title or None,
        title_justify="left",
        caption=f"* cannot be told from the best. {EXPLAINED}",
        caption_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        header_style="dim",
    )
    table.add_column("strategy", style="bold", overflow="fold", min_width=14)
    for name in ("TE\nbp", "95 %\ninterval", f"ahead of\n{reference_of(judged)}", "95 %\ninterval", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict")
    for run in judged.values():
        own = f"{run.name}{' *' if run.among_best else ''}", _bp(run.figure), f"{_bp(run.low)}..{_bp(run.high)}"
        v = run.versus
        ahead = (
            ("", "", "") if v is None else (_bp(v.delta, "+"), f"{_bp(v.low, '+')}..{_bp(v.high, '+')}", p_words(v.p_adjusted))
        )
        table.add_row(*own, *ahead, run.verdict)
    return table


def _bp(value: float, sign: str = "") -> str:
    return f"{1e4 * value:{sign}.2f}" if math.isfinite(value) else "-"
