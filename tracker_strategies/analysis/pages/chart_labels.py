"""What makes a chart readable without its colours: titles on the axes, names at the ends of lines, labels that do not overlap.

On a phone the text of a chart is set larger than on a desk (``--type`` in the style sheet). Room is kept for the larger text, so
that one drawing serves both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
#: Width of every chart in points, size of its labels, and how much larger they are on a phone.
WIDTH, SIZE, LARGEST = 576.0, 10.5, 1.6
#: Longest name at the end of a line; the legend has the whole of a longer one.
MOST_LETTERS = 12
#: Classes that texts keep in the SVG, for the style sheet and for tests.
AXIS_TITLE, END_LABEL, POINT_LABEL = "axis-title", "end-label", "point-label"
_LINE = SIZE * LARGEST * 1.1


@dataclass(frozen=True)
class End:
    """A name for the right end of a chart: of which panel, at which height in its data, and in what colour the line to it is."""

    panel: int
    y: float
    label: str


@cache
def width_of(text: str, size: float = SIZE) -> float:
    """Width of a text in points, in the widest of the fonts that pages ask for."""
    return float(TextPath((0.0, 0.0), text, size=size, prop=FontProperties()).get_extents().width) if text.strip() else 0.0


def shortened(text: str) -> str:
    """At most ``MOST_LETTERS`` letters."""
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}\u2026"


def axis_titles(axes: Sequence[Axes], x: str, y: Sequence[str], colour: str) -> None:
    """What each axis shows: above its upper end for those that go up, below the middle for the one across."""
    for ax, title in zip(axes, y, strict=True):
        place = (5.0 / WIDTH, ax.get_position().y1)
        _text(ax.figure, *place, title, colour, AXIS_TITLE, lift=14.0)
    lowest = axes[-1].get_position()
    _text(axes[-1].figure, (lowest.x0 + lowest.x1) / 2, lowest.y0, x, colour, AXIS_TITLE, lift=-38.0, ha="center")


def _text(figure: Any, x: float, y: float, text: str, colour: str, kind: str, lift: float = 0.0, **style: Any) -> None:
    height = 72.0 * float(figure.get_size_inches()[1])
    figure.text(x, y + lift / height, text, color=colour, fontsize=SIZE, gid=kind, va="baseline", **style)


def ends_of(axes: Sequence[Axes], legend: Sequence[tuple[str, str]]) -> list[End]:
    """The right end of each line that the legend names."""
    found = []
    for label, colour in legend:
        for panel, ax in enumerate(axes):
            lines = [line for line in ax.get_lines() if line.get_color() == colour and line.get_linestyle() != "None"]
            ys = [y for line in lines for y in [_last(line)] if y is not None]
            if ys:
                found.append(End(panel, ys[0], label))
                break
    return found


def _last(line: Line2D) -> float | None:
    values = np.asarray(line.get_ydata(), dtype=np.float64)
    values = values[np.isfinite(values)]
    return float(values[-1]) if len(values) else None


def end_labels(figure: Figure, axes: Sequence[Axes], ends: Sequence[End], colour: str) -> None:
    """Write the names right of the panels, at the heights of the ends or as near as they fit, with a line where they are not."""
    if not ends:
        return
    names = [shortened(end.label) for end in ends]
    room = max(map(width_of, names)) * LARGEST + 20.0
    for ax in axes:
        box = ax.get_position()
        ax.set_position((box.x0, box.y0, 1.0 - room / WIDTH - box.x0, box.height))
    height = 72.0 * float(figure.get_size_inches()[1])
    for panel, ax in enumerate(axes):
        own = [(end, name) for end, name in zip(ends, names, strict=True) if end.panel == panel]
        if not own:
            continue
        box = ax.get_position()
        to_figure = ax.transData + figure.transFigure.inverted()
        left = ax.get_xlim()[1]
        at = np.array([float(to_figure.transform((left, end.y))[1]) for end, _ in own]) * height
        at = np.clip(at, box.y0 * height, box.y1 * height)
        for (_, name), there, y in zip(own, at, spread(at, box.y0 * height, box.y1 * height, _LINE), strict=True):
            x = box.x1 * WIDTH
            ends_at = ([(x + 2.0) / WIDTH, (x + 13.0) / WIDTH], [there / height, y / height])
            figure.add_artist(Line2D(*ends_at, color=colour, linewidth=0.7))
            _text(figure, (x + 16.0) / WIDTH, y / height, name, colour, END_LABEL, lift=-0.36 * SIZE)


def spread(at: FloatArray, low: float, high: float, least: float) -> FloatArray:
    """Heights at least ``least`` apart, in the given order of heights, as near to them as that allows; within the bounds if there
    is room for all.
    """
    order = np.argsort(at, kind="stable")
    steps = np.arange(len(at)) * min(least, max(high - low, least) / max(len(at) - 1, 1))
    # Least squares under an order: pool neighbours that are too near.
    groups: list[tuple[float, int]] = []
    for value in (at[order] - steps).tolist():
        groups.append((value, 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (a, n), (b, m) = groups[-2:]
            groups[-2:] = [((a * n + b * m) / (n + m), n + m)]
    placed = np.concatenate([np.full(n, value) for value, n in groups])
    placed = np.clip(placed, low, max(low, high - float(steps[-1]))) + steps
    found: FloatArray = np.empty_like(placed)
    found[order] = placed
    return found


# ------------------------------------------------------------------ points

Box = tuple[float, float, float, float]
#: Directions in which a label may lie, best first, and how far.
_SIDES = ((1, 0.3), (-1, 0.3), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0.5), (-1, 0.5), (1, -0.5), (-1, -0.5))
_FAR = (0.0, 9.0, 20.0, 34.0, 50.0, 70.0, 90.0)


def point_labels(
    ax: Axes,
    points: Sequence[tuple[float, float]],
    labels: Mapping[int, str],
    colour: str,
    line: Sequence[tuple[float, float]] = (),
) -> Collection[int]:
    """Name points of a scatter chart so that no name lies on another, on a point or on a line, with a line of its own to a name
    that is further away.

    Parameters
    ----------
    ax : Axes
        With its limits and its place in the figure as they will be drawn.
    points : sequence of (x, y)
        All that are drawn.
    labels : mapping of the number of a point to its name
        Most important first: the last may find no place.
    colour : str
    line : sequence of (x, y)
        Corners of a line that names keep off.

    Returns
    -------
    collection of int
        Points that are named.
    """
    figure = ax.get_figure()
    assert figure is not None
    ax.get_xlim(), ax.get_ylim()  # they are worked out when they are asked for
    scale = 72.0 / float(figure.get_dpi())
    both = np.asarray([*points, *line], dtype=np.float64)
    drawn = np.asarray(ax.transData.transform(both), dtype=np.float64) * scale
    at, corners = drawn[: len(points)], drawn[len(points) :]
    (x0, y0), (x1, y1) = ax.transAxes.transform([(0.0, 0.0), (1.0, 1.0)]) * scale
    taken: list[Box] = [(x - 5.0, y - 5.0, x + 5.0, y + 5.0) for x, y in at.tolist()]
    for start, end in pairwise(corners):
        taken += _along(start, end)
    texts: list[Box] = []
    named = []
    for i, label in labels.items():
        wide, high = width_of(label) * LARGEST + 2.0, SIZE * LARGEST
        x, y = at[i]
        for far in _FAR:
            boxes = [_beside(float(x), float(y), wide, high, 7.0 + far, side) for side in _SIDES]
            free = [b for b in boxes if x0 <= b[0] and b[2] <= x1 and y0 <= b[1] and b[3] <= y1 and not _hits(b, taken)]
            free = [b for b in free if far >= _FAR[2] or _nearest(b, at) == _nearest(b, at[i : i + 1])]
            free = [b for b in free if far == 0.0 or not any(_hits(step, texts) for step in _along(at[i], _near(b, at[i])))]
            if free:
                box = free[0]
                taken.append(box)
                texts.append(box)
                named.append(i)
                left = box[0] > x - 1.0
                middle = box[0] <= x <= box[2]
                ha = "center" if middle else "left" if left else "right"
                px = (box[0] + box[2]) / 2 if middle else box[0] + 1.0 if left else box[2] - 1.0
                py = box[1] + 0.26 * high
                if far > 0.0:
                    near = _near(box, at[i])
                    taken += _along(at[i], near)
                    ends = np.array([at[i], near]) / scale
                    inverse = figure.transFigure.inverted().transform(ends)
                    figure.add_artist(Line2D(inverse[:, 0], inverse[:, 1], color=colour, linewidth=0.6))
                fx, fy = figure.transFigure.inverted().transform((px / scale, py / scale))
                figure.text(fx, fy, label, color=colour, fontsize=SIZE, gid=POINT_LABEL, ha=ha, va="baseline")
                break
    return named


def _beside(x: float, y: float, wide: float, high: float, away: float, side: tuple[float, float]) -> Box:
    across, up = side
    left = x + away if across > 0 else x - away - wide if across < 0 else x - wide / 2
    middle = y if abs(up) < 0.4 else y + up * (away + high / 2)
    return left, middle - high / 2, left + wide, middle + high / 2


def _near(box: Box, point: FloatArray) -> FloatArray:
    """Where the line from a point to its name ends."""
    x0, y0, x1, y1 = box
    inner = 0.3 * (y1 - y0)
    return np.array([min(max(point[0], x0), x1), min(max(point[1], y0 + inner), y1 - inner)])


def _along(start: FloatArray, end: FloatArray) -> list[Box]:
    """A line as small boxes that touch each other."""
    steps = max(2, int(np.hypot(*(end - start)) / 2.0) + 1)
    return [(x - 1.0, y - 1.0, x + 1.0, y + 1.0) for x, y in np.linspace(start, end, steps).tolist()]


def _nearest(box: Box, at: FloatArray) -> float:
    """Distance from a box to the nearest point: a name is no nearer to another point than to its own."""
    across = np.maximum(np.maximum(box[0] - at[:, 0], at[:, 0] - box[2]), 0.0)
    up = np.maximum(np.maximum(box[1] - at[:, 1], at[:, 1] - box[3]), 0.0)
    return float(np.hypot(across, up).min())


def _hits(box: Box, taken: Sequence[Box]) -> bool:
    return any(box[0] < b[2] and box[2] > b[0] and box[1] < b[3] and box[3] > b[1] for b in taken)
