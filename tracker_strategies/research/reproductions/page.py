"""A page for a reproduction: the paper's claims, what was found, tables and curves, in one HTML file without scripts."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from datafeeds.files import replace_file, write_json
from tracker_strategies.analysis.pages.charts import INDEX, LOSS, OTHERS, PORTFOLIO, Chart, chart_style, curve, finish, panels
from tracker_strategies.analysis.pages.page import fill_page
from tracker_strategies.research.reproductions.apas.page import claims_table, claims_tile, html_table

COLOURS = (PORTFOLIO, INDEX, *OTHERS, LOSS)


def write_paper(result: Mapping[str, Any], folder: Path, name: str, title: str) -> Path:
    """Write ``NAME.html`` and ``NAME.json``; return the path of the page.

    Parameters
    ----------
    result : mapping
        ``paper`` (citation), ``claims`` (claim, found, verdict), ``accepted`` (criterion to bool), ``tables`` (title to head and
        rows of text) and ``charts`` (title to curves: label to a sequence of (x, y)).
    folder : Path
    name, title : str
    """
    folder.mkdir(parents=True, exist_ok=True)
    with chart_style():
        drawn = [_chart(words, lines).html() for words, lines in result["charts"].items()]
    tables = [
        f'<section class="card table"><h3>{html.escape(words)}</h3><div class="scroll">{_table(table)}</div></section>'
        for words, table in result["tables"].items()
    ]
    criteria = [ok for key, ok in result["accepted"].items() if key != "all"]
    text = fill_page(
        "paper.html",
        __package__,
        title=html.escape(title),
        citation=html.escape(result["paper"]),
        passed=f"{sum(criteria)} of {len(criteria)}",
        held=claims_tile(result["claims"]),
        claims=claims_table(result["claims"]),
        charts="\n".join(drawn),
        tables="\n".join(tables),
    )
    write_json(folder / f"{name}.json", json.loads(json.dumps(result, default=float)))
    page = folder / f"{name}.html"
    replace_file(page, text.encode())
    return page


def _table(table: Mapping[str, Any]) -> str:
    return html_table([html.escape(str(c)) for c in table["head"]], [[html.escape(str(c)) for c in row] for row in table["rows"]])


def _chart(title: str, lines: Mapping[str, Sequence[Sequence[float]]]) -> Chart:
    """Curves over their first coordinate; a logarithmic axis when they span more than two powers of ten."""
    figure, (ax,) = panels(dates=False)
    points = {label: np.array(line, dtype=float) for label, line in lines.items()}
    values = np.concatenate([p[:, 1] for p in points.values()])
    for (_, line), colour in zip(points.items(), COLOURS, strict=False):
        curve(ax, line[:, 0], line[:, 1], colour)
    if values.min() > 0.0 and values.max() > 100.0 * values.min():
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_locator(MaxNLocator(6, prune="upper"))
    return finish(figure, title, zip(points, COLOURS, strict=False))
