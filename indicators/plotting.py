"""``cerebro.plot`` without a screen.

Importing backtrader's plotting selects the TkAgg backend whatever was chosen before, which fails on a machine without a display.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import backtrader as bt

from tracker_strategies.errors import DataError, OutputError, ParameterError


def plot_to_file(
    cerebro: Any, path: str | Path, *, width: float = 14.0, height: float = 9.0, dpi: int = 110, **options: Any
) -> Path:
    """Write the figures of ``cerebro.plot`` to image files, after ``cerebro.run``.

    Works with and without a display, leaves the caller's matplotlib backend as it was and closes its figures.

    Parameters
    ----------
    cerebro : Cerebro
        After its run.
    path : path-like
        File to write: PNG, SVG or PDF by its ending, PNG without one. Missing folders are made, an older file is replaced.
    width, height : float
        Of each figure, in inches.
    dpi : int
    **options
        Passed to ``cerebro.plot``: ``numfigs``, ``style``, ``start``, ...

    Returns
    -------
    Path
        The file with the first figure. A cerebro with several strategies, or ``numfigs``, has more figures: the second of
        ``plot.png`` is ``plot-2.png`` in the same folder, the third ``plot-3.png``, in the order of strategies.

    Raises
    ------
    DataError
        There is nothing to draw: ``cerebro.run`` was not called, kept no lines (``exactbars=1``) or was an optimisation.
    ParameterError
        A file name with an ending that matplotlib does not support.
    OutputError
        The file cannot be written there. Nothing is left behind.

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from indicators import plot_to_file
    >>> from tracker_strategies import EqualWeight
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 300)).add_to(cerebro, plot_assets=False)
    >>> position = cerebro.addstrategy(EqualWeight)
    >>> run = cerebro.run()
    >>> plot_to_file(cerebro, "run.png").name
    'run.png'
    """
    import matplotlib

    _check_run(cerebro)
    target = _target(Path(path).expanduser())
    before = matplotlib.get_backend()
    import backtrader.plot  # noqa: F401 - selects TkAgg, without loading it
    import matplotlib.pyplot as plt

    matplotlib.use("Agg", force=True)
    open_before = set(plt.get_fignums())
    try:
        shown = {"style": "line", "volume": False, "fmt_x_ticks": "%Y-%m-%d", **options}
        figures = [figure for group in cerebro.plot(iplot=False, **shown) for figure in group]
        for figure in figures:
            figure.set_size_inches(width, height)
            _show_dates(figure)
        return _save(figures, target, dpi)
    finally:
        for number in set(plt.get_fignums()) - open_before:
            plt.close(number)
        matplotlib.use(before, force=True)


def _check_run(cerebro: Any) -> None:
    """Say what is missing before there is anything to draw."""
    runs = getattr(cerebro, "runstrats", None)
    if not runs or not all(runs):
        raise DataError("nothing to draw yet: call cerebro.run() before plot_to_file(cerebro, path), with at least one strategy")
    if not all(isinstance(strategy, bt.Strategy) for group in runs for strategy in group):
        raise DataError("cerebro.optstrategy keeps no lines to draw; run one set of parameters with cerebro.addstrategy")
    if cerebro._exactbars > 0:
        raise DataError("exactbars=1 keeps no lines to draw; run with exactbars=0, -1 or -2 to plot")


def _target(path: Path) -> Path:
    from matplotlib.backend_bases import FigureCanvasBase

    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a folder; name a file in it, such as {path / 'plot.png'}")
    known = sorted(FigureCanvasBase.get_supported_filetypes())
    target = path if path.suffix else path.with_name(path.name + ".png")
    if target.suffix[1:].lower() not in known:
        raise ParameterError(f"cannot draw a file that ends in {target.suffix!r}; choose one of .{', .'.join(known)}")
    return target


def _save(figures: list[Any], target: Path, dpi: int) -> Path:
    """Write all figures beside their places first, then put them there."""
    mark = secrets.token_hex(4)
    places = [target.with_stem(f"{target.stem}-{k}") if k > 1 else target for k in range(1, len(figures) + 1)]
    parts = [place.with_name(f".{place.stem}.{mark}{place.suffix}") for place in places]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for figure, part in zip(figures, parts, strict=True):
            figure.savefig(part, dpi=dpi, bbox_inches="tight")
        for part, place in zip(parts, places, strict=True):
            part.replace(place)
    except OSError as problem:
        raise OutputError(f"cannot write {target}: {problem.strerror or problem}") from None
    finally:
        with suppress(OSError):
            for part in parts:
                part.unlink(missing_ok=True)
    return target


def _show_dates(figure: Any) -> None:
    """Dates under the lowest chart: those that backtrader makes visible are gone when today's matplotlib draws the figure."""
    figure.canvas.draw()
    lowest = min(figure.axes, key=lambda axes: axes.get_position().y0)
    lowest.tick_params(axis="x", labelbottom=True, labelrotation=15)
    for label in lowest.get_xticklabels():
        label.set_visible(True)
