"""The page of a capacity: curves against the size of the account, and the table behind them, in one HTML file without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from datafeeds.files import staged_folder, write_json
from tracker_strategies.analysis.pages.chart_labels import End
from tracker_strategies.analysis.pages.charts import (
    INDEX,
    LOSS,
    OTHERS,
    PORTFOLIO,
    SOFT,
    Chart,
    chart_style,
    curve,
    finish,
    panels,
    pattern,
)
from tracker_strategies.analysis.pages.limited import in_reading
from tracker_strategies.analysis.pages.page import Cell, Table, Tile, render

FILES = ("capacity.json", "capacity.html")
_UNITS = ((1e12, "trn"), (1e9, "bn"), (1e6, "m"), (1e3, "k"))
LIMIT = OTHERS[3]
_ENDS = {
    "cost": "beyond it, trading costs more than the limit",
    "unfilled": "beyond it, more of the orders stay unfilled than the limit allows",
    "grid": "the largest account that was tried; it keeps both limits",
}


def money(value: float) -> str:
    """An amount in short: 3.16 m, 1 bn."""
    for unit, name in _UNITS:
        if value >= unit * 0.9995:
            return f"{value / unit:.3g} {name}"
    return f"{value:.3g}"


def verdict(found: Mapping[str, Any]) -> str:
    """The answer in one line."""
    limits = f"{found['max_cost_bps']:g} bp per year and {100 * found['max_unfilled']:g} % unfilled"
    if found["capacity"] is None:
        return f"even the smallest account, {money(found['accounts'][0]['cash'])}, is beyond {limits}"
    return f"{money(found['capacity'])} within {limits}: {_ENDS[found['bound']]}"


def write_capacity(found: Mapping[str, Any], folder: Path) -> Path:
    """Write ``capacity.json`` and ``capacity.html`` into a folder, whole or not at all; return the path of the page."""
    with staged_folder(folder, "capacity", FILES) as stage:
        write_json(stage / FILES[0], found)
        (stage / FILES[1]).write_text(capacity_page(found), encoding="utf-8")
    return folder / FILES[1]


def capacity_page(found: Mapping[str, Any]) -> str:
    """The page as text."""
    rows: Sequence[Mapping[str, float]] = found["accounts"]
    most = 100.0 * found["max_unfilled"]
    with chart_style():
        charts = [
            _chart(rows, "Cost", "cost_bps_per_year", 1.0, "Cost, bp per year", LOSS, found, limit=found["max_cost_bps"]),
            _chart(rows, "Tracking error", "te_per_year", 100.0, "Tracking error, % per year, RMS", PORTFOLIO, found),
            _chart(rows, "Unfilled orders", "unfilled", 100.0, "Unfilled, % of the value of orders", INDEX, found, limit=most),
        ]
    answer = "none" if found["capacity"] is None else money(found["capacity"])
    liquid = ", ".join(f"{key.replace('_', ' ')} {in_reading(key, value)}" for key, value in found["params"].items())
    liquid = liquid[:1].upper() + liquid[1:]
    return render(
        "capacity.html",
        title=f"Capacity of {found['strategy']}",
        lead=f"{found['source']}, {found['days'][0]} to {found['days'][1]}, {found['n_bars']:,} bars. {liquid}.",
        tiles=[Tile("Capacity", Cell(answer, value=found["capacity"]), (verdict(found),))],
        charts=charts,
        table=_table(rows),
    )


def _chart(
    rows: Sequence[Mapping[str, float]],
    title: str,
    key: str,
    scale: float,
    unit: str,
    colour: str,
    found: Mapping[str, Any],
    *,
    limit: float | None = None,
) -> Chart:
    figure, (ax,) = panels(dates=False, height=250)
    x, y = np.array([row["cash"] for row in rows]), scale * np.array([row[key] for row in rows])
    ax.set_xscale("log")
    curve(ax, x, y, colour, marker="o", markersize=3.5, linestyle="-")
    ends = [] if limit is None else [End(0, float(y[-1]), title.split()[0])]
    if limit is not None:
        ax.axhline(limit, color=LIMIT, linewidth=1.2, linestyle=pattern(LIMIT))
        ends.append(End(0, limit, "Limit"))
    if found["capacity"] is not None:
        ax.axvline(found["capacity"], color=SOFT, linewidth=1.0, linestyle=":")
    room = (x[-1] / x[0]) ** 0.08  # the first label stands clear of the zero, the last one inside, on a phone, too
    ax.set_xlim(x[0] / room, x[-1] * room)
    ax.set_ylim(bottom=0.0)
    ax.xaxis.set_major_locator(LogLocator(numticks=8))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: money(value)))
    legend = [(title, colour), ("Limit", LIMIT)] if limit is not None else []
    if found["capacity"] is not None:
        legend.append((f"Capacity, {money(found['capacity'])}", SOFT))
    return finish(figure, title, legend, y=unit, x="Size of the account, log scale", ends=ends)


def _table(rows: Sequence[Mapping[str, float]]) -> Table:
    head = ("Account", "TE, % per year", "Cost, bp per year", "Unfilled, %", "Invested, %", "Final value")
    cells = [
        (
            Cell(money(row["cash"]), value=row["cash"]),
            Cell(f"{100 * row['te_per_year']:.2f}", value=row["te_per_year"]),
            Cell(f"{row['cost_bps_per_year']:.2f}", value=row["cost_bps_per_year"]),
            Cell(f"{100 * row['unfilled']:.2f}", value=row["unfilled"]),
            Cell(f"{100 * row['invested']:.1f}", value=row["invested"]),
            Cell(money(row["final_value"]), value=row["final_value"]),
        )
        for row in rows
    ]
    return Table(head, cells)
