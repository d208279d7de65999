"""How a run tracked its index, as charts: growth, excess return, tracking error, trading and holdings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from datafeeds.bar_length import BarLength
from tracker_strategies.analysis.metrics import drawdown
from tracker_strategies.analysis.pages.charts import (
    INDEX,
    LOSS,
    OTHERS,
    PORTFOLIO,
    SOFT,
    Chart,
    FloatArray,
    curve,
    day_numbers,
    finish,
    panels,
    pattern,
    percent_axis,
    thin,
    time_word,
)
from tracker_strategies.analysis.record import RunRecord


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
    log = high > 4 * low
    return finish(figure, "Growth of 100", legend, y=f"Value of 100{', log scale' if log else ''}", x=time_word(record.dates))


def active(record: RunRecord, baselines: Sequence[RunRecord] = (), target: int | None = None) -> Chart:
    """Cumulated log return over what is tracked, or over one index, and how far it is below its previous maximum."""
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
    titles = f"Cumulated log return over {against(record, target)}", "Below its previous maximum"
    number = 0 if target is None else target + 1
    return finish(figure, "Excess return", legend, y=titles, x=time_word(record.dates), number=number)


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
    ax.axhline(math.sqrt(float(e @ e) / len(e)) * scale, color=INDEX, linewidth=1.4, linestyle=pattern(INDEX))
    ax.set_ylim(bottom=0.0)
    percent_axis(ax.yaxis)
    legend = (("RMS", PORTFOLIO), ("Centred", OTHERS[0]), ("Whole run", INDEX))
    title = f"Tracking error over {BarLength.usual(record.dates).count(window)}, annualised"
    note = f"Against {against(record, target)}. RMS counts drift, centred does not; the whole run is RMS."
    number = 0 if target is None else target + 1
    return finish(figure, "Rolling tracking error", legend, note, y=title, x=time_word(record.dates), number=number)


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
    curve(bottom, x, cost, LOSS, linestyle="-")
    bottom.set_ylim(bottom=0.0)
    bottom.yaxis.set_major_locator(MaxNLocator(3))
    bottom.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.4g}"))
    per = f"Turnover per {BarLength.usual(record.dates).word}" + (f", mean of {round(float(size.mean()))}" if bars > 240 else "")
    titles = f"{per}, of value", "Cumulated cost, bp"
    return finish(figure, "Turnover and cost", (), y=titles, x=time_word(record.dates))


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
    legend = (("Held", INDEX), ("Effective", PORTFOLIO))
    note = "Effective: (\u2211w)\u00b2 / \u2211w\u00b2."
    return finish(figure, "Holdings", legend, note, y="Number of names", x=time_word(record.dates))
