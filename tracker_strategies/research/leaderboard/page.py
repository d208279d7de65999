"""The page of a leaderboard: frontiers and tables in one HTML file without scripts, and its numbers as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from datafeeds.files import write_json
from tracker_strategies.analysis.pages.charts import (
    INDEX,
    PORTFOLIO,
    SOFT,
    Chart,
    chart_style,
    finish,
    panels,
    pareto,
    percent_axis,
)
from tracker_strategies.analysis.pages.comparison_page import Field, comparison_page
from tracker_strategies.analysis.pages.page import Table, render, write_page
from tracker_strategies.research.leaderboard.run import COMPARISON, Row, check_folder
from tracker_strategies.research.leaderboard.tables import (
    EXPLAINED,
    FACTOR_HEAD,
    HEAD,
    RECOMMENDED,
    SURVIVORS,
    cells,
    factors,
    tables,
)

#: Market, group, strategy.
RunKey = tuple[str, str, str]
#: Points that are named in a chart wherever they lie; others only on the frontier.
NAMED = ("ensemble", "pa", "slait", "skfolio", "equal-weight", "buy-and-hold")
RIVALS = ("slait", "skfolio", "equal-weight", "buy-and-hold")
TITLE = "Trackers on the same bars"


def write_leaderboard(result: Mapping[str, Any], folder: Path, command: str, runs: Mapping[RunKey, Field]) -> Path:
    """Write ``leaderboard.html``, ``comparison.html`` with all runs bar by bar, and ``leaderboard.json``.

    Returns the path of the first page; ``runs`` has a field of one curve for each (market, group, strategy).
    """
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if fields := fields_of(result, runs):
        write_page(folder / COMPARISON, comparison_page(fields, TITLE, _lead(result)))
    write_json(folder / "leaderboard.json", {"command": command, **result})
    return write_page(folder / "leaderboard.html", leaderboard_page(result, command))


def fields_of(result: Mapping[str, Any], runs: Mapping[RunKey, Field]) -> list[Field]:
    """The runs of each market and group together, best first; those that got to their targets later than others are left to the
    table: a page compares the same bars.
    """
    found = []
    for market, group, rows in tables(result):
        own = [runs[key] for row in rows if (key := (market, group, row["strategy"])) in runs]
        own = [field for field in own if len(field.curves[0].active) == max(len(f.curves[0].active) for f in own)]
        if own:
            name = market if group == "strategies" else f"{market}: {group}"
            found.append(replace(own[0], name=name, curves=[field.curves[0] for field in own]))
    return found


def _lead(result: Mapping[str, Any]) -> str:
    s = result["settings"]
    return f"Fills: {s['fill']}; costs paid: {s['cost_bps']:g} bp; scored from {s['eval_from']} on."


def leaderboard_page(result: Mapping[str, Any], command: str) -> str:
    """The page as text."""
    sections = []
    with chart_style():
        for market, group, rows in tables(result):
            own = [i for i, row in enumerate(rows) if row["strategy"] == RECOMMENDED]
            table = Table(HEAD, [cells(row) for row in rows], own=own)
            plain = group == "strategies"
            sections.append((market if plain else f"{market}: {group}", frontiers(market, rows) if plain else [], table))
    if found := factors(result):
        sections.append(("What each part is worth", [], Table(FACTOR_HEAD, found)))
    return render(
        "leaderboard.html",
        title=TITLE,
        lead=_lead(result),
        comparison=COMPARISON if any(not row["error"] for row in result["rows"]) else "",
        command=command,
        warning=SURVIVORS.replace("`", ""),
        explained=EXPLAINED,
        sections=sections,
    )


def frontiers(market: str, rows: Sequence[Row]) -> list[Chart]:
    """Tracking error against turnover and against return; nothing when no strategy has a tracking error."""
    fine = [row for row in rows if not row["error"] and row["te_rms"] > 0.0]
    if not fine:
        return []
    return [
        _frontier(market, fine, "turnover", 1.0, "turnover", "Up: bought plus sold a bar, of the account."),
        _frontier(market, fine, "net_excess_0", -1.0, "return", "Up: log return over the index a year, without costs."),
    ]


def _frontier(market: str, rows: Sequence[Row], key: str, sign: float, words: str, up: str) -> Chart:
    figure, (ax,) = panels(height=330, dates=False)
    te, other = np.array([1e4 * row["te_rms"] for row in rows]), np.array([row[key] for row in rows])
    edge = pareto(te, sign * other)
    ax.plot(te[edge], other[edge], color=SOFT, linewidth=1.2)
    for i, row in enumerate(rows):
        colour = INDEX if row["strategy"] in RIVALS else PORTFOLIO
        ax.plot([te[i]], [other[i]], color=colour, marker="o", markersize=6.0, linestyle="none", alpha=0.8)
        if row["strategy"] in NAMED or i in edge:
            right = te[i] > np.sqrt(te.min() * te.max())
            place: Any = {"textcoords": "offset points", "color": SOFT, "fontsize": 9.5, "ha": "right" if right else "left"}
            ax.annotate(row["strategy"], (te[i], other[i]), (-7 if right else 7, 4), **place)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.margins(0.08)
    ax.grid(visible=True, axis="both")
    percent_axis(ax.yaxis)
    legend = (("Trackers", PORTFOLIO), ("Rivals and baselines", INDEX), ("Best trade-offs", SOFT))
    note = f"Across: tracking error, bp a bar, log scale. {up}"
    return finish(figure, f"{market}: tracking error and {words}", legend, note)
