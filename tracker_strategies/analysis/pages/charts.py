"""Charts of a run as inline SVG: light, without fonts or scripts, in colours that the page decides.

Nothing here touches pyplot: a figure is drawn on its own, written as SVG text and forgotten. Colours leave matplotlib as fixed
hex values and are exchanged for CSS variables, so that one drawing serves a light page, a dark page and paper. Draw inside
:func:`chart_style`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, cast

import matplotlib
import matplotlib.dates
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from datafeeds.bar_length import BarLength
from tracker_strategies.analysis.pages.chart_labels import (
    AXIS_TITLE,
    END_LABEL,
    POINT_LABEL,
    WIDTH,
    End,
    axis_titles,
    end_labels,
    ends_of,
)
from tracker_strategies.analysis.pages.words import percent

FloatArray = NDArray[np.float64]
mdates: Any = matplotlib.dates  # not typed by matplotlib

MAX_POINTS = 800
#: Colours while drawing, and the CSS variables that take their place. Chosen to stay apart for colour-blind eyes.
PORTFOLIO, INDEX, LOSS, SOFT, RULE = "#0072b2", "#b87800", "#d55e00", "#5b6575", "#e2e6ec"
#: That of the card on which a chart lies: between areas that touch.
GROUND = "#ffffff"
OTHERS = ("#009e73", "#aa4499", "#8c6d31", "#6b7280")
STACK = ("#332288", "#3b8bbd", "#2f8f80", "#117733", "#85852a", "#a8841a", "#cc6677", "#882255", "#aa4499", "#59616f", "#8b92a0")
VARIABLES = {
    PORTFOLIO: "portfolio",
    INDEX: "index",
    LOSS: "loss",
    SOFT: "soft",
    RULE: "rule",
    GROUND: "card",
    STACK[-2]: "rest",
    STACK[-1]: "cash",
}
VARIABLES |= {colour: f"stack{i}" for i, colour in enumerate(STACK[:-3])} | {
    colour: f"other{i}" for i, colour in enumerate(OTHERS)
}
#: Patterns of lines, in widths of the line: two lines of a chart differ by more than their colours. Other colours are solid.
DASHES: dict[str, tuple[float, ...]] = {
    INDEX: (6.0, 2.0),
    LOSS: (4.0, 1.5, 1.0, 1.5),
    OTHERS[0]: (1.2, 1.4),
    OTHERS[1]: (8.0, 1.5, 1.2, 1.5, 1.2, 1.5),
    OTHERS[2]: (3.0, 1.4),
    OTHERS[3]: (10.0, 3.0),
}
MARKS = {"o": "circle", "D": "diamond", "s": "square", "^": "triangle", "v": "triangle-down", "P": "plus"}
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


class Key(NamedTuple):
    """An entry of a legend: a label, a CSS colour, and how it is drawn: a line and its dashes, an area or a mark."""

    label: str
    colour: str
    look: str = "area"
    dashes: str = ""


@dataclass(frozen=True)
class Chart:
    """One drawing with its words."""

    title: str
    svg: Markup
    legend: tuple[Key, ...] = ()
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
    svg = re.sub(rf' id="({AXIS_TITLE}|{END_LABEL}|{POINT_LABEL})"', r' class="\1"', svg)
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
        step = float(abs(np.diff(axis.get_majorticklocs())[:1] * 100).sum())
        return percent(value, next((d for d in range(4) if abs(step * 10**d - round(step * 10**d)) < 1e-6), 4) if step else 1)

    axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(label))


def panels(heights: Sequence[float] = (1.0,), *, height: float = 300, dates: bool = True) -> tuple[Figure, list[Axes]]:
    """A figure of stacked panels, 576 by ``height`` points, margins fixed so that charts stand flush under each other. Above each
    there is room for the title of its axis.
    """
    figure = Figure(figsize=(WIDTH / 72, height / 72))
    room = (height - 34.0 - 44.0 - 36.0 * (len(heights) - 1)) / len(heights)
    grid = figure.add_gridspec(
        len(heights), 1, height_ratios=heights, left=0.105, right=0.985, top=1 - 34 / height, bottom=44 / height, hspace=36 / room
    )
    axes = [figure.add_subplot(grid[i]) for i in range(len(heights))]
    for ax in axes:
        ax.margins(x=0.0)
        ax.yaxis.set_major_locator(MaxNLocator(5))
        if dates:
            locator = mdates.AutoDateLocator(minticks=3, maxticks=6)
            for step, most in (
                (mdates.MONTHLY, 12),
                (mdates.HOURLY, 24),
                (mdates.MINUTELY, 60),
            ):  # else it warns just below 3 years
                locator.intervald[step] = [*locator.intervald[step], most]
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(mdates.ConciseDateFormatter(locator, show_offset=False))
    for ax in axes[:-1]:
        ax.tick_params(labelbottom=False, length=0)
    return figure, axes


def finish(
    figure: Figure,
    title: str,
    legend: Iterable[tuple[str, str]],
    note: str = "",
    *,
    y: str | Sequence[str],
    x: str = "Date",
    ends: Sequence[End] | None = None,
    number: int = 0,
) -> Chart:
    """The figure as a chart.

    Parameters
    ----------
    figure, title, note
    legend : iterable of (label, colour)
        With the colours that were drawn.
    y, x : str
        Titles of the axes; of several panels one each.
    ends : sequence of End, optional
        What stands at the right; by default the name of each line of the legend.
    number : int
        Tells charts of one title apart.
    """
    axes, words = figure.get_axes(), [*legend]
    end_labels(figure, axes, ends_of(axes, words) if ends is None else ends, SOFT)
    axis_titles(axes, x, (y,) if isinstance(y, str) else y, SOFT)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    keys = tuple(_key(axes, label, colour) for label, colour in words)
    return Chart(title, tidy_svg(buffer.getvalue(), f"{title} {number + 1}" if number else title), keys, note)


def _key(axes: Sequence[Axes], label: str, colour: str) -> Key:
    shown = f"var(--{VARIABLES[colour]},{colour})" if colour in VARIABLES else colour
    for line in (line for ax in axes for line in ax.get_lines() if line.get_color() == colour):
        if line.get_linestyle() == "None":
            return Key(label, shown, MARKS[str(line.get_marker())])
        dashes = "" if line.get_linestyle() == "-" else " ".join(f"{d:g}" for d in DASHES.get(colour, (5.0, 3.0)))
        return Key(label, shown, "line", dashes)
    return Key(label, shown)


def time_word(dates: NDArray[np.datetime64]) -> str:
    """Title of an axis of dates."""
    return "Date and time" if BarLength.usual(dates).intraday else "Date"


def day_numbers(dates: NDArray[np.datetime64]) -> FloatArray:
    """Plain numbers for a date axis: pandas may have registered a date converter of its own, which would change the ticks."""
    return np.asarray(mdates.date2num(dates), dtype=np.float64)


def curve(ax: Axes, x: FloatArray, y: FloatArray, colour: str, width: float = 1.4, **style: Any) -> None:
    """A line of at most ``MAX_POINTS`` points, in the pattern of its colour unless ``linestyle`` says otherwise."""
    rows = thin(y)
    ax.plot(x[rows], y[rows], color=colour, linewidth=width, **{"linestyle": pattern(colour), **style})


def pattern(colour: str) -> Any:
    """How a line of a colour is dashed."""
    return (0, DASHES[colour]) if colour in DASHES else "-"


def pareto(cost: FloatArray, other: FloatArray) -> NDArray[np.intp]:
    """Indices of the points that no other point beats in both, both to be small; from left to right."""
    order = np.lexsort((other, cost))
    least = np.minimum.accumulate(np.r_[np.inf, other[order]])[:-1]
    return np.asarray(order[other[order] < least])
