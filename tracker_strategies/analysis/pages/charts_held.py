"""What a run held over time, name by name and sector by sector; and what its algorithm says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tracker_strategies.analysis.pages.chart_labels import End
from tracker_strategies.analysis.pages.charts import (
    GROUND,
    INDEX,
    LOSS,
    OTHERS,
    PORTFOLIO,
    STACK,
    Chart,
    FloatArray,
    curve,
    day_numbers,
    finish,
    panels,
    percent_axis,
    time_word,
)
from tracker_strategies.analysis.record import RunRecord

COLOURS = (PORTFOLIO, INDEX, *OTHERS, LOSS)
MOST_LINES, MOST_NAMES = 7, 30
#: The members of the ensemble, by the number of bars that each remembers.
ENSEMBLE = {"p_1": "200 bars", "p_2": "50 bars", "p_3": "20 bars", "p_4": "10 bars"}


def diagnostics(record: RunRecord) -> list[Chart]:
    """The votes of an ensemble in one chart, every other figure in a panel of its own, at most three."""
    table = record.diagnostics
    if table is None or len(table) < 2:
        return []
    wanted = [name for name in table.attrs.get("lines", ()) if name in table and np.isfinite(table[name].to_numpy()).any()]
    votes = [str(name) for name in table if str(name).startswith("p_")][:MOST_LINES]
    single = [name for name in wanted if name not in votes][:3]
    x, time, drawn = day_numbers(record.dates), time_word(record.dates), []
    if votes:
        figure, (ax,) = panels()
        for name, colour in zip(votes, COLOURS, strict=False):
            curve(ax, x, table[name].to_numpy(), colour)
        ax.set_ylim(bottom=0.0)
        known = set(votes) == set(ENSEMBLE)
        note = "Members are named by the length of their memory." if known else ""
        labels = [ENSEMBLE[name] for name in votes] if known else [_plain(name) for name in votes]
        drawn.append(
            finish(
                figure, "Weights of the members", list(zip(labels, COLOURS, strict=False)), note, y="Share of the vote", x=time
            )
        )
    if single:
        figure, axes = panels((1.0,) * len(single))
        for ax, name, colour in zip(axes, single, COLOURS, strict=False):
            curve(ax, x, _finite(table[name].to_numpy()), colour, linestyle="-")
            ax.yaxis.set_major_locator(MaxNLocator(4 if len(single) == 1 else 2))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.4g}"))
        drawn.append(finish(figure, "Diagnostics of the algorithm", (), y=single, x=time))
    return drawn


def weights_over_time(record: RunRecord, names: int = 9) -> Chart:
    """The largest names on average, the rest and cash as a stack of shares."""
    order = np.argsort(-record.weights[1:].mean(axis=0), kind="stable")
    layers = [(record.symbols[i], record.weights[:, i]) for i in order[:names]]
    if len(rest := order[names:]):
        layers.append((f"{len(rest)} others", record.weights[:, rest].sum(axis=1)))
    return stacked(record, "Weights", layers)


def stacked(record: RunRecord, title: str, layers: Sequence[tuple[str, FloatArray]]) -> Chart:
    """Shares of the account as a stack, at most ten with cash on top of them; the tenth is grey, for a rest."""
    figure, (ax,) = panels()
    rows = np.unique(np.linspace(1, len(record.weights) - 1, min(len(record.weights) - 1, 240)).astype(int))
    shares = [share[rows] for _, share in layers]
    total = np.sum(shares, axis=0)
    colours = [*STACK[: len(layers)], STACK[-1]]
    ax.stackplot(day_numbers(record.dates)[rows], [*shares, np.maximum(1.0 - total, 0.0)], colors=colours, linewidth=0.0)
    tops = np.cumsum([*shares, np.maximum(1.0 - total, 0.0)], axis=0)
    for top in tops[:-1]:
        ax.plot(day_numbers(record.dates)[rows], top, color=GROUND, linewidth=0.8)
    ax.set_ylim(0.0, max(1.0, float(total.max())))
    percent_axis(ax.yaxis)
    names = [*(name for name, _ in layers), "Cash"]
    last = np.r_[0.0, tops[:, -1]]
    ends = [End(0, (low + high) / 2, name) for name, low, high in zip(names, last, last[1:], strict=False)]
    y, x = "Share of the account", time_word(record.dates)
    return finish(figure, title, zip(names, colours, strict=True), y=y, x=x, ends=ends)


def sectors_over_time(record: RunRecord, most: int = 9) -> Chart | None:
    """Share of each sector in the account, where sectors are known; names without one are told as such."""
    if not record.sectors:
        return None
    shares: dict[str, FloatArray] = {}
    for symbol, weight in zip(record.symbols, record.weights.T, strict=True):
        name = record.sectors.get(symbol, "No sector known")
        shares[name] = shares.get(name, np.zeros(len(weight))) + weight
    order = sorted(shares, key=lambda name: -float(shares[name].mean()))
    layers = [(name, shares[name]) for name in order[:most]]
    if len(order) > most:
        layers.append((f"{len(order) - most} others", np.sum([shares[name] for name in order[most:]], axis=0)))
    return stacked(record, "Sectors", layers)


def names_held(record: RunRecord) -> Chart | None:
    """When each name was held, for portfolios that leave names out; the names held longest, from top to bottom."""
    held = record.weights[1:] > 1e-9
    often = held.mean(axis=0)
    if held.sum(axis=1).mean() > 0.6 * held.shape[1] or not held.any():
        return None
    shown = [int(i) for i in np.argsort(-often, kind="stable")[:MOST_NAMES] if often[i] > 0.0]
    figure, (ax,) = panels(height=120 + 14 * len(shown))
    x = day_numbers(record.dates)
    for row, i in enumerate(shown):
        steps = np.flatnonzero(np.diff(np.r_[False, held[:, i], False]))
        spans = [(float(x[a]), float(x[b] - x[a])) for a, b in steps.reshape(-1, 2)]
        ax.broken_barh(spans, (row - 0.35, 0.7), color=PORTFOLIO, linewidth=0.0)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_yticks(range(len(shown)), [record.symbols[i][:9] for i in shown])
    ax.grid(visible=False, axis="y")
    total = int((often > 0.0).sum())
    note = f"{len(shown)} of {total} names that were ever held."
    return finish(figure, "Names held", (), note, y="Name", x=time_word(record.dates))


def _plain(name: str) -> str:
    """The name of a member as people write it."""
    label = name.removeprefix("p_")
    return label.replace("_", ".", 1) if label[:1].isdigit() else label


def _finite(values: Any) -> FloatArray:
    """Gaps as the last value before them, so that the curve can be thinned."""
    good = np.isfinite(values)
    if good.all():
        return np.asarray(values)
    last = np.maximum.accumulate(np.where(good, np.arange(len(values)), 0))
    return np.asarray(np.nan_to_num(np.asarray(values)[last], nan=float(values[good][0])))
