"""Names of points lie on no other name, on no line, and no line to a name goes through another name."""

from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from matplotlib.lines import Line2D

from tracker_strategies.analysis.pages.chart_labels import LARGEST, POINT_LABEL, SIZE, point_labels, width_of
from tracker_strategies.analysis.pages.charts import SOFT, chart_style, panels

matplotlib.use("agg")


def drawn(points, names, line):
    """Boxes of the names in points, as large as on a phone, with the lines to them and the line of the chart."""
    with chart_style():
        figure, (ax,) = panels(height=390, dates=False)
        ax.plot(*np.transpose(points), marker="o", linestyle="none")
        ax.plot(*np.transpose(line))
        named = point_labels(ax, points, dict(enumerate(names)), SOFT, line=line)
        figure.canvas.draw()
    width, height = 72.0 * figure.get_size_inches()
    boxes = []
    for text in figure.texts:
        if text.get_gid() == POINT_LABEL:
            wide, x = width_of(text.get_text()) * LARGEST, text.get_position()[0] * width
            left = {"left": x, "right": x - wide, "center": x - wide / 2}[text.get_ha()]
            y = text.get_position()[1] * height
            boxes.append((text.get_text(), left, y - 0.1 * SIZE, left + wide, y + 0.8 * SIZE * LARGEST))
    leaders = [artist.get_xydata() * (width, height) for artist in figure.artists if isinstance(artist, Line2D)]
    edge = ax.transData.transform(line) * 72.0 / figure.get_dpi()
    return named, boxes, leaders, edge


def through(corners, box):
    """Whether a line of several pieces goes through a box."""
    _, x0, y0, x1, y1 = box
    for a, b in pairwise(corners):
        at = np.linspace(a, b, 400)
        if ((at[:, 0] > x0) & (at[:, 0] < x1) & (at[:, 1] > y0) & (at[:, 1] < y1)).any():
            return True
    return False


def away(point, box):
    """Distance of a point from a box."""
    _, x0, y0, x1, y1 = box
    return np.hypot(max(x0 - point[0], point[0] - x1, 0.0), max(y0 - point[1], point[1] - y1, 0.0))


@pytest.mark.parametrize("seed", range(6))
def test_neither_the_line_of_the_chart_nor_that_to_another_name_goes_through_a_name(seed):
    rng = np.random.default_rng(seed)
    crowd = np.c_[rng.normal(20.0, 4.0, 14), rng.normal(2.0, 0.6, 14)]
    points = [*map(tuple, crowd.tolist()), (4.0, 0.3), (60.0, 5.0), (58.0, 0.2)]
    line = [points[14], tuple(crowd[crowd[:, 1].argmax()].tolist()), points[15]]
    names = [f"strategy-{i}" for i in range(17)]
    named, boxes, leaders, edge = drawn(points, names, line)
    assert len(boxes) == len(named) >= 10
    assert leaders
    for box in boxes:
        assert not through(edge, box), box[0]
    for leader in leaders:
        own = min(boxes, key=lambda box: away(leader[-1], box))
        assert not any(through(leader, box) for box in boxes if box is not own)
