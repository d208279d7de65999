"""Charts of a sweep, in the style of the tear sheet: heat maps over two parameters, and frontiers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import NDArray

from tracker_strategies.analysis.inference.objectives import units
from tracker_strategies.analysis.pages.chart_labels import point_labels
from tracker_strategies.analysis.pages.charts import (
    INDEX,
    LOSS,
    OTHERS,
    PORTFOLIO,
    SOFT,
    Chart,
    finish,
    panels,
    pareto,
    percent_axis,
)
from tracker_strategies.analysis.pages.words import minus
from tracker_strategies.research.sweeps.judging.results import Entry, Setting
from tracker_strategies.strategies.registry import default_params, load_strategy

FloatArray = NDArray[np.float64]
#: A chart with more points than this shows all on the frontier and a sample of the others.
MOST_POINTS = 800
MOST_LEVELS, BINS = 12, 8
COLOURS = (PORTFOLIO, *OTHERS[:3], LOSS)
#: Shapes of the points of a strategy, beside its colour; diamonds are baselines.
MARKS_OF_RUNS = ("o", "s", "^", "v", "P")


def varying(entries: Sequence[Entry]) -> dict[str, list[Any]]:
    """Parameters of one strategy that take more than one value, in the order of its defaults, each with the entries' values."""
    if not entries:
        return {}
    defaults = default_params(load_strategy(entries[0].strategy))
    named = set().union(*(e.params for e in entries))
    values = {name: [e.params.get(name, default) for e in entries] for name, default in defaults.items() if name in named}
    return {name: own for name, own in values.items() if len({repr(v) for v in own}) > 1}


def heat_map(setting: Setting, strategy: str, axes: tuple[str, str] | None = None) -> Chart | None:
    """The objective over two parameters, mean over all others; None for a strategy without two that vary."""
    own = [e for e in setting.full if e.strategy == strategy]
    found = varying(own)
    x, y = axes if axes is not None else (*found, "", "")[:2]
    if x not in found or y not in found:
        return None
    (i, columns), (j, rows) = _levels(found[x]), _levels(found[y])
    scale, unit = units(setting.objective)
    total, count = np.zeros((len(rows), len(columns))), np.zeros((len(rows), len(columns)))
    np.add.at(total, (j, i), [scale * e.figures[setting.objective.name] for e in own])
    np.add.at(count, (j, i), 1.0)
    mean = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    figure, (ax,) = panels(height=max(200, 90 + 30 * len(rows)), dates=False)
    best_first = "viridis_r" if setting.objective.sign < 0 else "viridis"
    mesh = ax.pcolormesh(np.ma.masked_invalid(mean), cmap=best_first, edgecolors="none")
    _write_values(ax, mean, mesh)
    ax.set_xticks(np.arange(len(columns)) + 0.5, columns)
    ax.set_yticks(np.arange(len(rows)) + 0.5, rows)
    ax.grid(visible=False)
    others = [name for name in found if name not in (x, y)]
    rest = f", mean over {', '.join(others)}" if others else ""
    note = f"{setting.objective.words}, {unit}{rest}. Yellow is better."
    return finish(figure, f"{strategy}: {y} and {x}", (), note, y=y, x=x)


def _levels(values: Sequence[Any]) -> tuple[NDArray[np.intp], list[str]]:
    """The place of each value on an axis, and the axis' labels; many numbers are put into bins of equal counts."""
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    unique = sorted(set(values)) if numbers else sorted({repr(v) for v in values})
    if numbers and len(unique) > MOST_LEVELS:
        data = np.array(values, dtype=np.float64)
        edges = np.unique(np.quantile(data, np.linspace(0.0, 1.0, BINS + 1)))
        place = np.clip(np.searchsorted(edges, data, side="right") - 1, 0, len(edges) - 2)
        return place, [short(float(np.median(data[place == k]))) for k in range(len(edges) - 1)]
    position = {v: i for i, v in enumerate(unique)}
    labels = [short(v) if isinstance(v, float) else str(v) for v in unique]
    return np.array([position[v if numbers else repr(v)] for v in values]), labels


def short(value: float) -> str:
    """Two digits: 0.037, 3.7e-4."""
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}" if 0.0 < abs(value) < 0.01 else f"{value:.2g}"


def _write_values(ax: Axes, mean: FloatArray, mesh: Any) -> None:
    colours = mesh.cmap(mesh.norm(mean))
    largest = float(np.nanmax(np.abs(mean)))
    places = min(max(3 - math.floor(math.log10(largest)), 0), 6) if largest > 0.0 else 0  # four digits, the same in all cells
    dark = colours[..., :3] @ np.array([0.299, 0.587, 0.114]) < 0.55
    for (r, c), value in np.ndenumerate(mean):
        if np.isfinite(value):
            ink = "#fffffe" if dark[r, c] else "#111111"  # pure white and black would be left to the page
            ax.text(c + 0.5, r + 0.5, minus(f"{value:z.{places}f}"), color=ink, ha="center", va="center", fontsize=9.5)


def frontier(
    setting: Setting, baselines: Mapping[str, Entry], figure_name: str, title: str, y: str, note: str, scale: float = 1.0
) -> Chart:
    """Tracking error against another figure: every candidate a point, the best trade-offs joined."""
    figure, (ax,) = panels(height=360, dates=False)
    entries = setting.full
    te = np.array([1e4 * e.figures["te_rms"] for e in entries])
    other = scale * np.array([e.figures[figure_name] for e in entries])
    edge = pareto(te, -other if figure_name == "excess_log_return" else other)
    # A few hopeless candidates would press all others into a corner.
    near = np.flatnonzero(te <= max(3.0 * te.min(), *(1.15e4 * e.figures["te_rms"] for e in baselines.values()), 0.0))
    spread = near[np.linspace(0, len(near) - 1, min(len(near), MOST_POINTS)).astype(int)]
    edge = edge[np.isin(edge, near)]
    shown = {*edge.tolist(), *spread.tolist()}
    beyond = f" {len(te) - len(near)} candidates further to the right are left out." if len(near) < len(te) else ""
    names = list(dict.fromkeys(e.strategy for e in entries))
    legend = []
    for k, name in enumerate(names):
        colour, mark = COLOURS[k % len(COLOURS)], MARKS_OF_RUNS[k % len(MARKS_OF_RUNS)]
        # Baselines have marks of their own.
        own = [i for i in sorted(shown) if entries[i].strategy == name and not any(entries[i] is b for b in baselines.values())]
        if own:
            ax.plot(te[own], other[own], color=colour, marker=mark, markersize=4.5, linestyle="none")
            legend.append((name, colour))
    if len(edge) > 1:
        ax.plot(te[edge], other[edge], color=SOFT, linewidth=1.2)
        legend.append(("Best trade-offs", SOFT))
    at: list[tuple[float, float]] = []
    for entry in baselines.values():
        at.append((1e4 * entry.figures["te_rms"], scale * entry.figures[figure_name]))
        ax.plot(*([value] for value in at[-1]), color=INDEX, marker="D", markersize=8.0, linestyle="none")
    if baselines:
        legend.append(("Baselines", INDEX))
    ax.margins(0.06)
    ax.grid(visible=True, axis="both")
    ax.xaxis.set_major_locator(MaxNLocator(7))
    ax.xaxis.set_minor_locator(NullLocator())
    percent_axis(ax.yaxis)
    rows = sorted(shown)
    points = [*at, *zip(te[rows].tolist(), other[rows].tolist(), strict=True)]
    joined = list(zip(te[edge].tolist(), other[edge].tolist(), strict=True)) if len(edge) > 1 else []
    point_labels(ax, points, dict(enumerate(baselines)), SOFT, line=joined)
    return finish(figure, title, legend, note + beyond, y=y, x="Tracking error, RMS, bp per bar", ends=())


def charts(
    setting: Setting, baselines: Mapping[str, Entry], axes: tuple[str, str] | None, years: float | None = None
) -> list[Chart]:
    """All charts of one setting; returns are per year where it is known how many years are scored."""
    place = setting.about["data"]
    drawn = [
        frontier(
            setting,
            baselines,
            "excess_log_return",
            "Tracking error and return",
            "Log return over the index" + ("" if years is None else " per year"),
            f"{place}.",
            1.0 if years is None else 1.0 / years,
        ),
        frontier(
            setting,
            baselines,
            "turnover",
            "Tracking error and turnover",
            "Bought plus sold per bar, of the account",
            f"{place}.",
        ),
    ]
    for name in dict.fromkeys(e.strategy for e in setting.full):
        drawn += [chart] if (chart := heat_map(setting, name, axes)) is not None else []
    return drawn
