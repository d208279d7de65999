"""The page of a sweep: one HTML file without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracker_strategies.analysis.inference.objectives import Objective, units
from tracker_strategies.analysis.pages.charts import chart_style
from tracker_strategies.analysis.pages.judged import KINDS, decimals, p_words
from tracker_strategies.analysis.pages.page import Cell, Table, Tile, Word, render
from tracker_strategies.analysis.pages.words import minus
from tracker_strategies.research.sweeps.asking.values import in_words, setting_words
from tracker_strategies.research.sweeps.judging.charts import charts
from tracker_strategies.research.sweeps.judging.results import Results

#: Settings with charts of their own; further ones have their tables.
CHARTED = 6


def page(results: Results, found: Mapping[str, Any], axes: tuple[str, str] | None = None) -> str:
    """The page of what :func:`~tracker_strategies.research.sweeps.judging.report.findings` found, as text."""
    sections = []
    with chart_style():
        for number, (setting, told) in enumerate(zip(results.settings, found["settings"], strict=True)):
            base = {name: e for name in told["baselines"] if (e := setting.find(name)) is not None}
            drawn = charts(setting, base, axes, told.get("years")) if number < CHARTED and setting.full else []
            best = ("Best candidates, and the baselines", best_table(told, results.objective))
            sections.append(section(told, results.objective, about=_about(told), tables=[best], charts=drawn))
    return render(
        "sweep.html",
        title=f"{len(results.settings)} setting{'s' * (len(results.settings) > 1)}, {_cells(found)} cells",
        lead=_lead(results, found),
        comparison=any(s.full for s in results.settings),
        sections=sections,
        draws=found["draws"],
    )


def section(told: Mapping[str, Any], objective: Objective, **parts: Any) -> dict[str, Any]:
    """What the page says of one setting: the verdict, warnings, and whatever else it has."""
    return {"heading": setting_words(told), "tiles": _tiles(told, objective), "warnings": told["warnings"], **parts}


def _lead(results: Results, found: Mapping[str, Any]) -> str:
    said = f"{results.unfinished} Best by {results.objective.words}.".strip()
    if found["failed"]:
        said += f" {found['failed']:,} cells failed."
    if found["rows_of_other_code"]:
        said += f" {found['rows_of_other_code']:,} rows of another version of the code are left out."
    return said


def _cells(found: Mapping[str, Any]) -> str:
    return f"{found['rows']:,}" if found["finished"] else f"{found['rows']:,} of {found['cells']:,}"


def _about(told: Mapping[str, Any]) -> str:
    where = f"{told['days'][0]} to {told['days'][1]}, {told['n_bars']:,} scored bars"
    if told["n_segments"] > 1:
        where += f" in {told['n_segments']} pieces"
    where += f"; {told['trials']:,} candidates, run by the {told['engine']} engine."
    if told["train_test_rank_correlation"] is not None:
        where += f" Rank correlation of training and test: {told['train_test_rank_correlation']:.2f}."
    return where


def _tiles(told: Mapping[str, Any], objective: Objective) -> list[Tile]:
    """The verdict in large letters."""
    if not told["best"]:
        return []
    scale, _ = units(objective)
    unit, per = ("bp", "per bar; ") if objective.path == "active" else ("%", "")
    best, floor = told["best"][0], told.get("p_floor", 0.0)
    low, high = best["interval"]
    name = f"{best['strategy']} {in_words(best['params'])}".strip()
    digits = decimals(scale * low, scale * high)
    own, low, high = (f"{scale * value:.{digits}f}" for value in (best[objective.name], low, high))
    words = f"{per}95\u202f% interval {minus(low)} to {minus(high)}\u202f{unit}: {name}"
    boxes = [Tile(objective.words[0].upper() + objective.words[1:], Cell(f"{minus(own)}\u202f{unit}", value=own), (words,))]
    for other, v in best["versus"].items():
        digits = decimals(scale * v["low"], scale * v["high"])
        ahead = f"{scale * v['delta']:+.{digits}f}"
        word = Cell(v["verdict"], kind=KINDS.get(v["verdict"], "open"))
        words = f"; p {p_words(v['p'], floor)}"
        boxes.append(Tile(f"Ahead of {other}", Cell(f"{minus(ahead)}\u202f{unit}", value=ahead), (per, word, words)))
    return boxes


def best_table(told: Mapping[str, Any], objective: Objective) -> Table:
    """Baselines, then the best candidates."""
    scale, unit = units(objective)
    others = list(told["baselines"])
    floor, years = told.get("p_floor", 0.0), told.get("years")
    figures = _FIGURES if years is None else [f if f[0] != "excess_log_return" else _yearly(years) for f in _FIGURES]
    shown = [figure for figure in figures if figure[0] != objective.name]
    head: list[Word] = [
        "Candidate",
        Cell(f"{objective.words[0].upper()}{objective.words[1:]}, {unit}", "95\u202f% interval"),
        *(Cell(f"Ahead of {name}", "interval for all at once; adjusted p: verdict") for name in others),
        *(words for _, words, _, _ in shown),
    ]
    rows: list[list[Word]] = []
    for entry in (*told["baselines"].values(), *told["best"]):
        low, high = entry["interval"]
        words = in_words(entry["params"]) or entry.get("words", "defaults")
        role = ", baseline" if len(rows) < len(others) else ""
        best = ", cannot be distinguished from the best" if entry["among_best"] else ""
        line: list[Word] = [Cell(entry["strategy"], f"{words}{role}{best}")]
        n = decimals(scale * low, scale * high)
        line.append(Cell(minus(f"{scale * entry[objective.name]:.{n}f}"), minus(f"{scale * low:.{n}f} to {scale * high:.{n}f}")))
        for name in others:
            if (v := entry["versus"].get(name)) is None:
                line.append("")
                continue
            n = decimals(scale * v["low"], scale * v["high"])
            span = f"{scale * v['low']:+.{n}f} to {scale * v['high']:+.{n}f}; p {p_words(v['p'], floor)}: {v['verdict']}"
            line.append(Cell(minus(f"{scale * v['delta']:+.{n}f}"), minus(span)))
        rows.append([*line, *(minus(show.format(entry[name] * times)) for name, _, show, times in shown)])
    return Table(head, rows, own=[len(others)])


_FIGURES = (
    ("te_rms", "TE RMS, bp per bar", "{:.2f}", 1e4),
    ("excess_log_return", "Excess log return", "{:+.3f}", 1.0),
    ("turnover", "Turnover, % per bar", "{:.2f}", 100.0),
    ("cost_bps", "Cost, bp per bar", "{:.3f}", 1.0),
    ("n_holdings", "Names", "{:.1f}", 1.0),
)


def _yearly(years: float) -> tuple[str, str, str, float]:
    """The column of returns, per year."""
    return "excess_log_return", "Excess log return, % per year", "{:+.2f}", 100.0 / years
