"""A page for a reproduction: the paper's claims, what was found, tables and curves, in one HTML file without scripts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from datafeeds.files import write_json
from tracker_strategies.analysis.pages.charts import INDEX, LOSS, OTHERS, PORTFOLIO, Chart, chart_style, curve, finish, panels
from tracker_strategies.analysis.pages.page import Cell, Table, Tile, render, write_page
from tracker_strategies.research.reproductions.verdicts import CONFIRMED, NOT_CONFIRMED, all_claims, criteria, tally

COLOURS = (PORTFOLIO, INDEX, *OTHERS, LOSS)

_RAISED = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


class Section(NamedTuple):
    """Charts and tables that belong together; the tables by title."""

    title: str
    charts: Sequence[Chart]
    tables: Mapping[str, Table]
    lead: str = ""


def write_paper(result: Mapping[str, Any], folder: Path, name: str, title: str, **parts: Any) -> Path:
    """Write ``NAME.html`` and ``NAME.json``; return the path of the page. Nothing is written when it cannot be drawn.

    Parameters
    ----------
    result : mapping
        ``paper`` (citation), ``claims`` (claim, found, verdict) and ``accepted`` (criterion to bool); where no sections are given
        also ``tables`` (title to head and rows of text), ``charts`` (title to curves: label to a sequence of (x, y)) and ``axes``
        (title of a chart to the titles of its axes, x and y).
    folder : Path
    name, title : str
    **parts
        See :func:`paper_page`.
    """
    page = write_page(folder / f"{name}.html", paper_page(result, title, **parts))
    write_json(folder / f"{name}.json", result)
    return page


def paper_page(
    result: Mapping[str, Any],
    title: str,
    *,
    sections: Sequence[Section] | None = None,
    lead: str = "",
    tiles: Sequence[Tile] = (),
    differences: Sequence[tuple[str, str]] = (),
    setup: Sequence[str] = (),
    terms: Mapping[str, str] | None = None,
) -> str:
    """The page as text; beside what every result has, a paper may bring sections, words and figures of its own."""
    return render(
        "paper.html",
        title=title,
        lead=f"{result['paper']} {lead}".strip(),
        tiles=[claims_tile(all_claims(result)), *tiles, _criteria_tile(result["accepted"])],
        claims=claims_table(result["claims"]),
        criteria=criteria_table(result["accepted"]),
        differences=differences,
        sections=[_figures(result)] if sections is None else sections,
        setup=setup,
        terms=terms or {},
    )


def claims_tile(claims: Sequence[Mapping[str, str]]) -> Tile:
    """How many of a paper's sentences were confirmed, and what became of the others."""
    count = tally(claims)
    held = count.pop(CONFIRMED, 0)
    rest = ", ".join(f"{n} {word}" for word, n in count.items()) or "all of them"
    return Tile("Claims of the paper", Cell(f"{held} of {len(claims)}", value=held), (f"confirmed; {rest}",))


def _criteria_tile(accepted: Mapping[str, bool]) -> Tile:
    found = list(criteria(accepted).values())
    word = Cell("this is the experiment", kind="good") if all(found) else Cell("not the experiment to the letter", kind="bad")
    return Tile("Criteria of the experiment", Cell(f"{sum(found)} of {len(found)}", value=sum(found)), ("met: ", word))


def criteria_table(accepted: Mapping[str, bool]) -> Table:
    """By what a run is the experiment, with the verdict on each criterion."""
    verdicts = {True: Cell("met", kind="good"), False: Cell("not met", kind="bad")}
    return Table(("Criterion", "Verdict"), [(words, verdicts[met]) for words, met in criteria(accepted).items()])


def claims_table(claims: Sequence[Mapping[str, str]]) -> Table:
    """What a paper says, what was found, and the verdict."""
    kinds = {CONFIRMED: "good", NOT_CONFIRMED: "bad"}
    rows = [(c["claim"], c["found"], Cell(c["verdict"], c["tested"], kind=kinds.get(c["verdict"], "open"))) for c in claims]
    return Table(("Claim", "Found", "Verdict"), rows, kind="words")


def _figures(result: Mapping[str, Any]) -> Section:
    with chart_style():
        drawn = [
            _chart(words, lines, *result.get("axes", {}).get(words, ("Round", words)))
            for words, lines in result["charts"].items()
        ]
    tables = {words: Table(table["head"], table["rows"]) for words, table in result["tables"].items()}
    return Section("Figures", drawn, tables)


def power_words(value: float) -> str:
    """A figure of a logarithmic axis: 0.01, 1,000, and powers of ten beyond ten thousand as such."""
    exponent = round(math.log10(value))
    if abs(exponent) > 4 and math.isclose(value, 10.0**exponent):
        return f"10{str(exponent).translate(_RAISED)}"
    return f"{value:,.6g}"


def _chart(title: str, lines: Mapping[str, Sequence[Sequence[float]]], x: str, y: str) -> Chart:
    """Curves over their first coordinate; a logarithmic axis when they span more than two powers of ten."""
    figure, (ax,) = panels(dates=False)
    points = {label: np.array(line, dtype=float) for label, line in lines.items()}
    values = np.concatenate([p[:, 1] for p in points.values()])
    for (_, line), colour in zip(points.items(), COLOURS, strict=False):
        curve(ax, line[:, 0], line[:, 1], colour)
    if values.min() > 0.0 and values.max() > 100.0 * values.min():
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: power_words(value)))
        ax.yaxis.set_minor_locator(NullLocator())
        y += ", log scale"
    ax.xaxis.set_major_locator(MaxNLocator(6, prune="upper"))
    return finish(figure, title, zip(points, COLOURS, strict=False), y=y, x=x)
