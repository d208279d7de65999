"""What stands below an order list: what is left in cash, how close it will track, which limits hold, and what is not traded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from tracker_strategies.analysis.breaches import breach_table
from tracker_strategies.execution.gate import Bar
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]

#: Bars over which the weights after the orders are held against the index, and fewest that tell anything.
LATEST, FEWEST = 252, 20
_SHOWN = 8


def expected_error(panel: MarketPanel, tracker: Tracker, weights: FloatArray) -> tuple[float, int] | None:
    """Root mean square, per bar, of what these weights would have returned over the target on the latest bars, and their number.

    Only bars on which every name with a weight has a return, and the target a level, count; None where these are too few.
    """
    first = max(0, panel.n_bars - LATEST - 1)
    close, levels, own = panel.close[first:], panel.target_close[first:], weights > 0.0
    if not own.any() or len(close) < 2:
        return None
    x = (close[1:, own] / close[:-1, own] - 1.0) @ weights[own]
    y = tracker.target.returns(levels[:-1], levels[1:])
    y = np.asarray(y if y.ndim == 1 else y @ tracker.target.blend)
    gap = x - y * float(weights.sum())
    if panel.target_seen is not None:
        fresh = np.asarray(panel.target_seen[first:].all(axis=1))
        gap = gap[fresh[1:] & fresh[:-1]]
    gap = gap[np.isfinite(gap)]
    return (float(np.sqrt(np.mean(gap * gap))), len(gap)) if len(gap) >= FEWEST else None


def limits_in_words(tracker: Tracker | None, symbols: Sequence[str], bar: Bar, held: FloatArray) -> str:
    """Whether this decision keeps all limits."""
    keeper = None if tracker is None else tracker.keeper
    if keeper is None or tracker is None:
        return "limits: none are set"
    table = breach_table(keeper, symbols, np.array([bar.date]), held[None, :], tracker.weights[None, :])
    worst = table[table["kind"].isin(("active", "forced"))]
    before = table[table["kind"] == "inherited"]
    told = "limits: all kept by this decision" if worst.empty else "limits that could not be kept: " + _rows(worst)
    return told + ("" if before.empty else f"; held outside a limit before it: {_rows(before)}")


def _rows(table: object) -> str:
    rows = table.itertuples()  # type: ignore[attr-defined]
    parts = [f"{row.limit}{f' of {row.item}' if row.item else ''} ({row.value:.4g}, limit {row.bound:.4g})" for row in rows]
    return ", ".join(parts[:_SHOWN]) + (f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else "")


def not_traded(
    tracker: Tracker, symbols: Sequence[str], bar: Bar, sizes: FloatArray, deltas: FloatArray, value: float
) -> list[str]:
    """Names that could not be traded, by reason: one line each."""
    keeper, active = tracker.keeper, tracker.universe.active
    found: dict[str, list[str]] = {}
    barred, frozen, most = set[str](), set[str](), dict[str, float]()
    if keeper is not None:
        mandate = keeper.mandate
        barred = {*mandate.exclude} | ({*symbols} - {*mandate.only} if mandate.only else set())
        frozen, most = {*mandate.freeze}, dict(zip(keeper.symbols, keeper.limits.upper.tolist(), strict=True))
    for i, name in enumerate(symbols):
        if deltas[i]:
            continue
        why = ""
        if name in frozen:
            why = "frozen by the mandate"
        elif bar.age is not None and bar.age[i] != 0:
            why = "not listed yet" if bar.age[i] < 0 else "no price on the last bar"
        elif name in barred:
            why = "excluded by the mandate"
        elif active is not None and not active[i]:
            why = "not in the index" if bar.member is not None and not bar.member[i] else "listed too recently (listing_warmup)"
        elif keeper is not None and keeper.mandate.lot * bar.close[i] > most[name] * value and not sizes[i]:
            why = "one lot costs more than the account or a limit allows"
        if why:
            found.setdefault(why, []).append(name)
    return [
        f"not traded, {why}: {', '.join(names[:_SHOWN])}" + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        for why, names in found.items()
    ]
