"""``cerebro.plot`` without a screen.

Importing backtrader's plotting selects the TkAgg backend whatever was chosen before, which fails on a machine without a display.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def plot_to_file(
    cerebro: Any, path: str | Path, *, width: float = 14.0, height: float = 9.0, dpi: int = 110, **options: Any
) -> Path:
    """Draw what ``cerebro.plot`` draws into an image file (PNG, SVG or PDF by its ending) and return its path.

    Works with and without a display, leaves the caller's matplotlib backend as it was and closes its figures.
    """
    import matplotlib

    before = matplotlib.get_backend()
    import backtrader.plot  # noqa: F401 - selects TkAgg, without loading it
    import matplotlib.pyplot as plt

    matplotlib.use("Agg", force=True)
    try:
        figures = [
            fig
            for group in cerebro.plot(iplot=False, **{"style": "line", "volume": False, "fmt_x_ticks": "%Y-%m-%d", **options})
            for fig in group
        ]
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        figures[0].set_size_inches(width, height)
        _show_dates(figures[0])
        figures[0].savefig(target, dpi=dpi, bbox_inches="tight")
        for figure in figures:
            plt.close(figure)
    finally:
        matplotlib.use(before, force=True)
    return target


def _show_dates(figure: Any) -> None:
    """Dates under the lowest chart: those that backtrader makes visible are gone when today's matplotlib draws the figure."""
    figure.canvas.draw()
    lowest = min(figure.axes, key=lambda axes: axes.get_position().y0)
    lowest.tick_params(axis="x", labelbottom=True, labelrotation=15)
    for label in lowest.get_xticklabels():
        label.set_visible(True)
