"""Charts of the APAS reproduction, in the style of the tear sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from tracker_strategies.analysis.pages.charts import (
    INDEX,
    LOSS,
    OTHERS,
    PORTFOLIO,
    SOFT,
    Chart,
    curve,
    finish,
    panels,
    pattern,
    percent_axis,
)

#: Shapes of the points of a curve, beside its colour.
MARKERS = ("o", "s", "D", "^", "v", "P")
#: Colours of the curves, the same in every chart of the page.
COLOURS = {
    "APAS D=0.01": PORTFOLIO,
    "APAS D=1e-3": OTHERS[0],
    "PAS ε=1e-4": INDEX,
    "PAS ε=5e-4": OTHERS[2],
    "PAS ε=1e-3": LOSS,
    "PAS ε=5e-3": OTHERS[1],
    "PA": LOSS,
    "SLAIT-ETE": OTHERS[2],
    "SLAIT-DR": OTHERS[1],
}
#: What Figures 3 and 5 draw, with colours.
FIGURE_3 = {
    "PA ε=3e-4": LOSS,
    "APAS D=0.01, λ=0.01": OTHERS[0],
    "APAS D=0.01, λ=0.05": PORTFOLIO,
    "SLAIT-ETE λ=1e-7": OTHERS[2],
    "SLAIT-DR λ=1e-7": OTHERS[1],
}
FIGURE_5 = {
    "Equal weight": SOFT,
    "PA ε=3e-4": LOSS,
    "PAS ε=1e-4, λ=0.1": INDEX,
    "APAS D=0.01, λ=1e-3": OTHERS[0],
    "APAS D=0.01, λ=0.1": PORTFOLIO,
    "SLAIT-ETE λ=1e-7": OTHERS[2],
    "SLAIT-DR λ=1e-7": OTHERS[1],
}


def frontier(rows: Sequence[Mapping[str, Any]], curves: Sequence[str], title: str, note: str, *, labels: bool = False) -> Chart:
    """Excess return against MDTE, a line over the trade-off for each curve, standard errors as bars; `labels` names the paper's
    trade-offs.
    """
    figure, (ax,) = panels(height=360, dates=False)
    legend = []
    for k, name in enumerate(curves):
        own = [r for r in rows if r["curve"] == name or (name == "PA" and r["family"] == "PA")]
        if not own:
            continue
        colour = COLOURS[name]
        x, y = [1e4 * r["mdte"] for r in own], [r["excess_return"] for r in own]
        bars: Any = [r["excess_return_se"] or 0.0 for r in own]
        ax.errorbar(
            x,
            y,
            yerr=bars,
            color=colour,
            linewidth=1.5,
            elinewidth=0.8,
            marker=MARKERS[k % len(MARKERS)],
            markersize=4.5,
            capsize=0,
        )
        ax.get_lines()[-1].set_linestyle(pattern(colour))
        if labels and name == "APAS D=0.01":
            for r, a, b in zip(own, x, y, strict=True):
                label = f"λ = {r['parameters']['lam']:g}"
                ax.annotate(label, (a, b), (6, -13), textcoords="offset points", color=SOFT, fontsize=9.5)
        legend.append((name, colour))
    ax.axhline(0.0, color=SOFT, linewidth=0.8)
    ax.margins(x=0.04)
    ax.grid(visible=True, axis="both")
    ax.xaxis.set_major_locator(MaxNLocator(7))
    percent_axis(ax.yaxis)
    return finish(figure, title, legend, note, y="Excess cumulative return", x="MDTE \u00d7 1e-4", ends=())


def over_time(
    curves: Mapping[str, Mapping[str, Sequence[float]]], lines: Mapping[str, str], key: str, title: str, note: str
) -> Chart:
    """One figure up to each scored round, for those of the lines that were run."""
    figure, (ax,) = panels(height=320, dates=False)
    shown = {name: colour for name, colour in lines.items() if name in curves}
    for name, colour in shown.items():
        y = np.asarray(curves[name][key], dtype=np.float64)
        curve(ax, np.arange(1.0, len(y) + 1.0), 1e4 * y if key == "mdte" else y, colour)
    ax.margins(x=0.02)
    if key == "mdte":
        _logarithmic(ax)
        words = "MDTE \u00d7 1e-4, log scale"
    else:
        words = "Excess cumulative return"
        ax.axhline(0.0, color=SOFT, linewidth=0.8)
        percent_axis(ax.yaxis)
    return finish(figure, title, shown.items(), note, y=words, x="Scored round")


def _logarithmic(ax: Axes) -> None:
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.yaxis.set_minor_locator(NullLocator())


def step_times(steps: Sequence[Mapping[str, Any]], paper_seconds: Mapping[str, Mapping[str, float]]) -> Chart:
    """Microseconds of a step against the number of assets, both on log scales."""
    figure, (ax,) = panels(height=360, dates=False)
    sizes = [row["n_assets"] for row in steps]
    lines = {"log_return": ("Exact", PORTFOLIO), "sca_0.01": ("Algorithm 2, decay 0.01", INDEX), "sca_0.1": ("decay 0.1", LOSS)}
    legend = []
    for key, (label, colour) in lines.items():
        ax.plot(
            sizes,
            [row["microseconds"][key] for row in steps],
            color=colour,
            linewidth=1.5,
            linestyle=pattern(colour),
            marker="o",
            markersize=4.5,
        )
        legend.append((label, colour))
    printed = sorted((int(n), 1e6 * row["log_return"]) for n, row in paper_seconds.items())
    ax.plot([n for n, _ in printed], [s for _, s in printed], color=SOFT, linewidth=1.5, marker="s", markersize=4.5)
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{n:g}" for n in sizes])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.margins(x=0.04)
    _logarithmic(ax)
    note = "The paper's times are from another machine."
    y, x = "Microseconds per step, log scale", "Number of assets, log scale"
    return finish(figure, "Time of a proximal step, log return", [*legend, ("Paper, Table 1", SOFT)], note, y=y, x=x)
