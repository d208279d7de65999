"""Charts of a run as inline SVG: light, without fonts or scripts, in colours that the page decides.

Nothing here touches pyplot: a figure is drawn on its own, written as SVG text and forgotten. Colours leave matplotlib as fixed
hex values and are exchanged for CSS variables, so that one drawing serves a light page, a dark page and paper. Draw inside
:func:`chart_style`.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import matplotlib
import matplotlib.dates
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from datafeeds.bar_length import BarLength
from tracker_strategies.analysis.metrics import drawdown
from tracker_strategies.analysis.pages.words import percent
from tracker_strategies.analysis.record import RunRecord

FloatArray = NDArray[np.float64]
mdates: Any = matplotlib.dates  # not typed by matplotlib

MAX_POINTS = 800
#: Colours while drawing, and the CSS variables that take their place. Chosen to stay apart for colour-blind eyes.
PORTFOLIO, INDEX, LOSS, SOFT, RULE = "#0072b2", "#b87800", "#d55e00", "#5b6575", "#e2e6ec"
OTHERS = ("#009e73", "#aa4499", "#8c6d31", "#6b7280")
STACK = ("#332288", "#3b8bbd", "#2f8f80", "#117733", "#85852a", "#a8841a", "#cc6677", "#882255", "#aa4499", "#59616f", "#8b92a0")
VARIABLES = {
    PORTFOLIO: "portfolio",
    INDEX: "index",
    LOSS: "loss",
    SOFT: "soft",
    RULE: "rule",
    STACK[-2]: "rest",
    STACK[-1]: "cash",
}
VARIABLES |= {colour: f"stack{i}" for i, colour in enumerate(STACK[:-3])} | {
    colour: f"other{i}" for i, colour in enumerate(OTHERS)
}
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text, in the page's own font
    "svg.hashsalt": "tracker",  # same drawing, same ids
    "path.simplify_threshold": 0.4,
    "font.size": 11.0,
    "axes.edgecolor": RULE,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.labelcolor": SOFT,
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "lines.solid_joinstyle": "round",
    "text.parse_math": False,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.major.size": 3.0,
    "xtick.major.pad": 6.0,
    "ytick.major.size": 0.0,
}


@dataclass(frozen=True)
class Chart:
    """One drawing with its words. ``legend`` pairs a label with a CSS colour."""

    title: str
    svg: Markup
    legend: tuple[tuple[str, str], ...] = ()
    note: str = ""


@contextmanager
def chart_style() -> Iterator[None]:
    """Draw with this module's settings, whatever the user has set; put the user's back at the end."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        cast(dict[str, Any], matplotlib.rcParams).update(STYLE)
        yield


def tidy_svg(svg: str, name: str, variables: dict[str, str] = VARIABLES) -> Markup:
    """Matplotlib's SVG, cut down to what a page needs: no prologue, dates or global style; short paths, page colours, own ids."""
    svg = svg[svg.index("<svg") : svg.rindex("</svg>") + 6]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.S)
    view = re.search(r'viewBox="([^"]*)"', svg)
    opening = f'<svg viewBox="{view.group(1) if view else "0 0 576 288"}" role="img" aria-label="{escape(name)}">'
    svg = re.sub(r"<svg[^>]*>", lambda _: opening, svg, count=1)
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg))
    prefix = re.sub(r"\W+", "-", name.lower()).strip("-")
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(url\(#|href="#)', lambda m: f"{m[1]}{prefix}-", svg)
    svg = re.sub(r' d="([^"]*)"', lambda m: f' d="{_short_path(m[1])}"', svg)
    svg = re.sub(r' (x|y)="(-?\d+\.\d\d)\d+"', r' \1="\2"', svg)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    svg = re.sub(r"font-size: ([\d.]+)px", r"font-size: calc(\1px*var(--type,1))", svg)
    svg = re.sub(r"#[0-9a-f]{6}\b", lambda m: f"var(--{variables[m[0]]},{m[0]})" if m[0] in variables else m[0], svg)
    return Markup(re.sub(r">\s+<", "><", svg))


def _short_path(path: str) -> str:
    path = re.sub(r"(\.\d\d)\d+", r"\1", " ".join(path.split()))
    return re.sub(r" ?([A-Za-z]) ?", r"\1", path)


def thin(y: FloatArray, limit: int = MAX_POINTS) -> NDArray[np.intp]:
    """Rows of y to draw: all, or the lowest and highest of each of limit/2 equal stretches, so that no spike is lost."""
    if len(y) <= limit:
        return np.arange(len(y))
    edges = np.linspace(0, len(y), limit // 2).astype(int)
    ends = [(a + int(np.argmin(y[a:b])), a + int(np.argmax(y[a:b]))) for a, b in pairwise(edges)]
    return np.unique(np.r_[0, np.ravel(ends), len(y) - 1])


def percent_axis(axis: Any, ticks: int = 5) -> None:
    """Per cent on an axis, with as many digits as its steps need."""

    def label(value: float, _: int) -> str:
        step = abs(np.diff(axis.get_majorticklocs())[:1] * 100)
        return percent(value, int(np.clip(math.ceil(-math.log10(step[0]) - 1e-9), 0, 4)) if len(step) and step[0] else 1)

    axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(label))


def panels(heights: Sequence[float] = (1.0,), *, height: float = 270, dates: bool = True) -> tuple[Figure, list[Axes]]:
    """A figure of stacked panels, 576 by ``height`` points, margins fixed so that charts stand flush under each other."""
    figure = Figure(figsize=(8.0, height / 72))
    grid = figure.add_gridspec(
        len(heights), 1, height_ratios=heights, left=0.105, right=0.985, top=1 - 12 / height, bottom=30 / height, hspace=0.16
    )
    axes = [figure.add_subplot(grid[i]) for i in range(len(heights))]
    for ax in axes:
        ax.margins(x=0.0)
        ax.yaxis.set_major_locator(MaxNLocator(5))
        if dates:
            locator = mdates.AutoDateLocator(minticks=3, maxticks=7)
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(mdates.ConciseDateFormatter(locator, show_offset=False))
    for ax in axes[:-1]:
        ax.tick_params(labelbottom=False, length=0)
    return figure, axes


def finish(figure: Figure, title: str, legend: Iterable[tuple[str, str]], note: str = "", *, number: int = 0) -> Chart:
    """The figure as a chart. ``legend`` pairs labels with the colours that were drawn, ``number`` tells charts of one title
    apart.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    words = tuple((label, f"var(--{VARIABLES[colour]},{colour})" if colour in VARIABLES else colour) for label, colour in legend)
    return Chart(title, tidy_svg(buffer.getvalue(), f"{title} {number + 1}" if number else title), words, note)


def day_numbers(dates: NDArray[np.datetime64]) -> FloatArray:
    """Plain numbers for a date axis: pandas may have registered a date converter of its own, which would change the ticks."""
    return np.asarray(mdates.date2num(dates), dtype=np.float64)


def curve(ax: Axes, x: FloatArray, y: FloatArray, colour: str, width: float = 1.4, **style: Any) -> None:
    """A line of at most ``MAX_POINTS`` points."""
    rows = thin(y)
    ax.plot(x[rows], y[rows], color=colour, linewidth=width, **style)


def growth(record: RunRecord) -> Chart:
    """What 100 invested in the account and in each index became."""
    figure, (ax,) = panels()
    x, lines = day_numbers(record.dates), record.index / record.index[0] * 100
    colours = (INDEX, *OTHERS)[: lines.shape[1]]
    for level, colour in zip(lines.T, colours, strict=False):
        curve(ax, x, level, colour, 2.4 if colour == INDEX else 1.2)
    account = record.growth / record.growth[0] * 100
    curve(ax, x, account, PORTFOLIO)
    low, high = min(account.min(), lines.min()), max(account.max(), lines.max())
    if high > 4 * low:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high > 20 * low else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
        ax.yaxis.set_minor_locator(NullLocator())
    legend = (("Portfolio", PORTFOLIO), *zip(record.targets, colours, strict=False))
    return finish(figure, "Growth of 100", legend, "Log scale." if high > 4 * low else "")


def active(record: RunRecord, baselines: Sequence[RunRecord] = (), target: int | None = None) -> Chart:
    """Cumulated log return over what is tracked, or over one index, and how far it is below its own best."""
    figure, (top, bottom) = panels((2.2, 1.0))
    legend = [("Portfolio", PORTFOLIO)]
    for run, colour in zip(baselines, OTHERS, strict=False):
        curve(top, day_numbers(run.dates), run.excess_path(target), colour, 1.1)
        legend.append((run.strategy, colour))
    x, excess = day_numbers(record.dates), record.excess_path(target)
    curve(top, x, excess, PORTFOLIO)
    top.axhline(0.0, color=SOFT, linewidth=0.8)
    below = drawdown(excess)
    rows = thin(below)
    bottom.fill_between(x[rows], below[rows], color=LOSS, alpha=0.35, linewidth=0.0)
    bottom.plot(x[rows], below[rows], color=LOSS, linewidth=0.9)
    percent_axis(top.yaxis)
    percent_axis(bottom.yaxis, 2)
    note = f"Cumulated log return over {against(record, target)}; below, distance from its best."
    return finish(figure, "Active return", [*legend, ("Drawdown", LOSS)], note, number=0 if target is None else target + 1)


def against(record: RunRecord, target: int | None) -> str:
    """The index, or what is tracked, in words."""
    if target is not None:
        return record.targets[target]
    return "the index" if len(record.targets) == 1 else "the blend of the indices"


def rolling_error(record: RunRecord, target: int | None = None) -> Chart | None:
    """Tracking error over a quarter, a year's scale, RMS and centred; none when there are not four windows of at least 5 bars."""
    r, y = record.bar_by_bar(target)
    e = r - y
    window = min(max(5, round(record.periods_per_year / 4)), len(e) // 4)
    if window < 5:
        return None
    scale = math.sqrt(record.periods_per_year)
    sums, squares = (np.cumsum(np.r_[0.0, v]) for v in (e, e * e))
    mean, square = ((s[window:] - s[:-window]) / window for s in (sums, squares))
    centred = np.sqrt(np.maximum(square - mean**2, 0.0) * window / (window - 1)) * scale
    figure, (ax,) = panels()
    x = day_numbers(record.dates)[window:]
    curve(ax, x, centred, OTHERS[0], 1.1)
    curve(ax, x, np.sqrt(np.maximum(square, 0.0)) * scale, PORTFOLIO)
    ax.axhline(math.sqrt(float(e @ e) / len(e)) * scale, color=INDEX, linewidth=1.4, linestyle=(0, (5, 3)))
    ax.set_ylim(bottom=0.0)
    percent_axis(ax.yaxis)
    legend = (("RMS", PORTFOLIO), ("Centred", OTHERS[0]), ("RMS, whole period", INDEX))
    note = f"Against {against(record, target)}, last {BarLength.usual(record.dates).count(window)}, annualised."
    return finish(figure, "Rolling tracking error", legend, note, number=0 if target is None else target + 1)


def trading(record: RunRecord) -> Chart:
    """Turnover per bar, averaged over short stretches, and what trading has cost so far."""
    figure, (top, bottom) = panels((1.3, 1.0))
    x, bars = day_numbers(record.dates)[1:], len(record.turnover) - 1
    starts = np.linspace(0, bars, min(bars, 240), endpoint=False).astype(int)
    size = np.diff(np.r_[starts, bars])
    mean = np.add.reduceat(record.turnover[1:], starts) / size
    top.fill_between(np.r_[x[starts], x[-1]], np.r_[mean, mean[-1]], step="post", color=PORTFOLIO, alpha=0.8, linewidth=0.0)
    top.set_ylim(bottom=0.0)
    percent_axis(top.yaxis, 4)
    cost = np.cumsum(1e4 * record.cost[1:] / record.value[:-1])
    curve(bottom, x, cost, LOSS)
    bottom.set_ylim(bottom=0.0)
    bottom.yaxis.set_major_locator(MaxNLocator(3))
    bottom.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.4g}"))
    per = f"Turnover per {BarLength.usual(record.dates).word}" + (f", mean of {round(float(size.mean()))}" if bars > 240 else "")
    return finish(figure, "Turnover and cost", ((per, PORTFOLIO), ("Cumulated cost, bp", LOSS)))


def effective_names(weights: FloatArray) -> FloatArray:
    """(sum w)^2 / sum w^2 row by row: the number of equal positions that would be as concentrated; 0 where nothing is held."""
    square = (weights**2).sum(axis=1)
    return np.asarray(np.divide(weights.sum(axis=1) ** 2, square, out=np.zeros(len(weights)), where=square > 0))


def holdings(record: RunRecord) -> Chart:
    """Names held, and names that count."""
    figure, (ax,) = panels()
    x, names = day_numbers(record.dates)[1:], (record.weights[1:] > 1e-12).sum(axis=1).astype(np.float64)
    curve(ax, x, names, INDEX, 2.0, drawstyle="steps-post")
    curve(ax, x, effective_names(record.weights[1:]), PORTFOLIO)
    ax.set_ylim(bottom=0.0)
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    legend = (("Names held", INDEX), ("Effective number", PORTFOLIO))
    return finish(figure, "Holdings", legend, "Effective: (\u2211w)\u00b2 / \u2211w\u00b2.")


def pareto(cost: FloatArray, other: FloatArray) -> NDArray[np.intp]:
    """Indices of the points that no other point beats in both, both to be small; from left to right."""
    order = np.lexsort((other, cost))
    least = np.minimum.accumulate(np.r_[np.inf, other[order]])[:-1]
    return np.asarray(order[other[order] < least])
