"""The page of a leaderboard: frontiers and tables in one HTML file without scripts, and its numbers as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from datafeeds import MarketPanel
from datafeeds.files import write_json
from tracker_strategies.analysis.inference.verdicts import Judged
from tracker_strategies.analysis.metrics import METRIC_KEYS
from tracker_strategies.analysis.pages.chart_labels import point_labels
from tracker_strategies.analysis.pages.charts import (
    INDEX,
    PORTFOLIO,
    SOFT,
    Chart,
    FloatArray,
    chart_style,
    finish,
    panels,
    pareto,
    percent_axis,
)
from tracker_strategies.analysis.pages.comparison_page import Curve, Field, comparison_page
from tracker_strategies.analysis.pages.judged import BEST, KINDS, judged_cells
from tracker_strategies.analysis.pages.judged import EXPLAINED as JUDGED
from tracker_strategies.analysis.pages.page import Cell, Table, Word, render, write_page
from tracker_strategies.analysis.pages.words import minus, simulated
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.research.leaderboard.run import COMPARISON, SWEEP, Row
from tracker_strategies.research.leaderboard.tables import (
    ERRORS,
    FACTOR_HEAD,
    HEAD,
    OTHERS,
    RECOMMENDED,
    SURVIVORS,
    cells,
    factors,
    identical,
    judged_of,
    tables,
)
from tracker_strategies.research.sweeps.running.store import read_rows
from tracker_strategies.strategies.registry import NAMES

#: Points that get a name first, where there is no room for all.
NAMED = ("ensemble", "pa", "slait", "skfolio", "equal-weight", "buy-and-hold")
#: What trackers have to beat: those of others, the baselines, and names drawn by lot.
RIVALS = ("slait", "skfolio", "random-portfolio", *(name for name, (family, _) in NAMES.items() if family == "baselines"))
TITLE = "Trackers on the same bars"
STAR = f"A star: {BEST}, by one test of all together, which need not agree with the test of a pair."


def write_leaderboard(result: Mapping[str, Any], folder: Path, command: str, panels: Mapping[str, MarketPanel]) -> Path:
    """Write ``leaderboard.json``, ``comparison.html`` with all runs bar by bar, and ``leaderboard.html``, whose path is returned.

    ``folder`` is the one in which :func:`~.run.run_leaderboard` kept the rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from datafeeds import load_sample
    >>> from tracker_strategies.research import run_leaderboard, write_leaderboard
    >>> from tracker_strategies.research.leaderboard import entrants
    >>> panels, folder = {"sample": load_sample().rows(0, 200)}, Path("board")
    >>> found = run_leaderboard(panels, entrants(["ensemble", "equal-weight"]), folder)
    >>> write_leaderboard(found, folder, "by hand", panels).name
    'leaderboard.html'
    """
    write_json(folder / "leaderboard.json", {"command": command, **result})
    if fields := fields_of(result, folder, panels):
        write_page(folder / COMPARISON, comparison_page(fields, TITLE, _lead(result)))
    real = not all(simulated(panel.source) for panel in panels.values())
    return write_page(folder / "leaderboard.html", leaderboard_page(result, command, survivors=real))


def fields_of(result: Mapping[str, Any], folder: Path, panels: Mapping[str, MarketPanel]) -> list[Field]:
    """The runs of each market and group together, best first, on the bars on which the index has a level.

    Those that got to their targets later than others are left to the table: a page compares the same bars.
    """
    kept = {row["key"]: row for row in read_rows(folder / SWEEP, ("key", *METRIC_KEYS, "active", "excess")).to_pylist()}
    found = []
    for market, group, rows in tables(result):
        own = [(row["strategy"], kept[row["key"]]) for row in rows if not row["error"]]
        if not own:
            continue
        panel, n_bars = panels[market], max(len(run["active"]) for _, run in own)
        curves = [
            Curve(
                name, {key: run[key] for key in METRIC_KEYS}, *(np.array(run[p], dtype=np.float32) for p in ("active", "excess"))
            )
            for name, run in own
            if len(run["active"]) == n_bars
        ]
        seen = np.arange(panel.n_bars) if panel.target_seen is None else np.flatnonzero(panel.target_seen.all(axis=1))
        scored = seen[-n_bars - 1 :]
        index = np.diff(np.log(panel.target_close[scored, 0])).astype(np.float32)
        judged = found_runs if len(found_runs := judged_of(rows)) > 1 else {}
        found.append(
            Field(_heading(market, group), curves, panel.dates[scored], index, panel.periods_per_year, judged, (), panel.source)
        )
    return found


def _heading(market: str, group: str) -> str:
    return market if group == "strategies" else f"{market}: {group}"


def _head(against: str) -> list[Word]:
    te, ahead = (Cell(words, "95\u202f% interval") for words in ("TE, bp", f"ahead of {against}, bp"))
    return ["strategy", te, ahead, Cell("p", "adjusted"), "verdict", *HEAD[4:]]


def _line(row: Row) -> list[Word]:
    name, te, *figures = cells(row, judged=False)
    if row["error"]:
        return [name, te, "", "", "", *figures]
    if "judged" not in row:
        return [name, te, "", "", "fewer scored bars", *map(minus, figures)]
    run = Judged.from_told(name, row["te_rms"], row["judged"])
    *judged, _ = judged_cells(run)
    verdict = Cell(run.verdict + (" *" if run.among_best else ""), kind=KINDS.get(run.verdict, ""))
    return [name, *judged, verdict, *map(minus, figures)]


def _lead(result: Mapping[str, Any]) -> str:
    s = result["settings"]
    known = {market.get("opens") for market in result["markets"].values()}
    fills = FillMode.parse(s["fill"]).in_words(opens=known.pop() if len(known) == 1 else None)
    costs = CostModel(s["cost_bps"]).in_words()
    return f"{fills[0].upper()}{fills[1:]}, {costs}, scored {_begin(s['eval_from'])}; verdicts against {s['against']}."


def _begin(eval_from: str) -> str:
    """Where scoring begins: a date, or after which share of the bars."""
    try:
        return f"after {100.0 * float(eval_from):g}\u202f% of the bars"
    except ValueError:
        return f"from {eval_from} on"


def leaderboard_page(result: Mapping[str, Any], command: str, *, survivors: bool = True) -> str:
    """The page as text; with a word on survivors unless all prices were simulated."""
    sections = []
    with chart_style():
        for market, group, rows in tables(result):
            own = [i for i, row in enumerate(rows) if row["strategy"] == RECOMMENDED]
            table = Table(_head(result["settings"]["against"]), [_line(row) for row in rows], own=own, kind="board")
            drawn = frontiers(market, rows) if group == "strategies" else []
            sections.append((_heading(market, group), drawn, table, identical(rows)))
    if found := factors(result):
        sections.append(("What each part is worth", [], Table(FACTOR_HEAD, found), []))
    return render(
        "leaderboard.html",
        title=TITLE,
        lead=_lead(result),
        comparison=COMPARISON if any(not row["error"] for row in result["rows"]) else "",
        command=command,
        warning=SURVIVORS.replace("`", "") if survivors else "",
        explained=f"{ERRORS} {JUDGED} {STAR} {OTHERS}",
        sections=sections,
    )


def frontiers(market: str, rows: Sequence[Row]) -> list[Chart]:
    """Tracking error against turnover and against return; nothing when no strategy has a tracking error."""
    fine = [row for row in rows if not row["error"] and row["te_rms"] > 0.0]
    if not fine:
        return []
    return [
        _frontier(market, fine, "turnover", 1.0, "turnover", "Bought plus sold per bar, of the account"),
        _frontier(market, fine, "net_excess_0", -1.0, "return", "Log return over the index per year, without costs"),
    ]


def _frontier(market: str, rows: Sequence[Row], key: str, sign: float, words: str, up: str) -> Chart:
    figure, (ax,) = panels(height=390, dates=False)
    te, other = np.array([1e4 * row["te_rms"] for row in rows]), np.array([row[key] for row in rows])
    edge = pareto(te, sign * other)
    ax.plot(te[edge], other[edge], color=SOFT, linewidth=1.2)
    legend = [("Best trade-offs", SOFT)] if len(edge) > 1 else []
    for group, colour, marker, rivals in (("Rivals and baselines", INDEX, "D", True), ("Trackers", PORTFOLIO, "o", False)):
        own = [i for i, row in enumerate(rows) if (row["strategy"] in RIVALS) is rivals]
        if own:
            ax.plot(te[own], other[own], color=colour, marker=marker, markersize=6.0, linestyle="none")
            legend.insert(0, (group, colour))
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.margins(0.08)
    ax.grid(visible=True, axis="both")
    percent_axis(ax.yaxis)
    first = sorted((i for i, row in enumerate(rows) if row["strategy"] in NAMED), key=lambda i: NAMED.index(rows[i]["strategy"]))
    labels = {i: rows[i]["strategy"] for i in (*first, *edge.tolist(), *range(len(rows)))}
    named = point_labels(ax, _pairs(te, other), labels, SOFT, line=_pairs(te[edge], other[edge]))
    left = [rows[i]["strategy"] for i in labels if i not in named]
    note = f"Too crowded for a name: {', '.join(left)}." if left else ""
    x = "Tracking error, RMS, bp per bar, log scale"
    return finish(figure, f"{market}: tracking error and {words}", legend, note, y=up, x=x, ends=())


def _pairs(x: FloatArray, y: FloatArray) -> list[tuple[float, float]]:
    return list(zip(x.tolist(), y.tolist(), strict=True))
