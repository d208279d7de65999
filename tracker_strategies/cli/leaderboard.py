"""The command ``tracker leaderboard``. Light: what it does stands in :mod:`tracker_strategies.cli.leaderboard_command`."""

from __future__ import annotations

from typing import Annotated

import typer


def leaderboard(
    data: Annotated[
        list[str], typer.Option("--data", metavar="FILE|DIR", help="A market, or a folder with one market per file; repeat.")
    ],
    strategies: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Strategies; all by default.", show_default=False)
    ] = None,
    eval_from: Annotated[str, typer.Option(metavar="0.5|DATE", help="Score from this fraction or date on.")] = "0.5",
    fill: Annotated[str, typer.Option(help="next_open (honest), open, or close (what the papers assume).")] = "next_open",
    cost_bps: Annotated[float, typer.Option(help="Cost that the accounts pay, in basis points of the traded value.")] = 0.0,
    gaps: Annotated[str, typer.Option(help="A price missing inside a series: freeze (a trading halt), or error.")] = "freeze",
    skfolio: Annotated[
        bool, typer.Option("--skfolio", help="With skfolio's BenchmarkTracker in walk-forward (extra 'rivals').")
    ] = False,
    max_names: Annotated[
        int | None, typer.Option(help="Also the ensemble and SLAIT with at most so many names.", show_default=False)
    ] = None,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Also every combination of members, coordinates and cost term.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes; times per bar are only comparable with one.")] = 1,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Folder for leaderboard.html and its numbers.", show_default=False)
    ] = None,
    markdown: Annotated[
        str | None, typer.Option("--markdown", metavar="FILE", help="Write the tables as Markdown.", show_default=False)
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Add to the Markdown file instead of replacing it.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON on stdout and nothing else.")] = False,
) -> None:
    """Every strategy on every market with the same bars: tracking error, turnover, net excess return, time per bar.

    Example: tracker leaderboard --data markets/ --strategies ensemble,pa,slait,equal-weight --out runs/leaderboard
    """
    from tracker_strategies.cli.leaderboard_command import leaderboard_command

    leaderboard_command(dict(locals()))
