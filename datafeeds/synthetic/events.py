"""What goes wrong in a synthetic market on request: late listings, delistings, halts, holidays, bad prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datafeeds.errors import DataError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

KINDS = ("late_listing", "delisting", "halt", "holiday", "bad_print")
MEAN_HALT = 4.0
BAD_PRINT_FACTOR = 10.0


@dataclass(frozen=True)
class MarketEvent:
    """One event that was added to the clean prices.

    Parameters
    ----------
    kind : str
        One of :data:`KINDS`.
    symbols : tuple of str
        Assets concerned: one, or all of an exchange for a holiday.
    start, stop : int
        Rows `start <= t < stop` that have no bar, or a wrong one.
    factor : float
        What a bad print multiplied the close by; 1 for the other kinds.

    Examples
    --------
    >>> from datafeeds import simulate_market
    >>> market = simulate_market(n_assets=5, n_bars=300, seed=1, delistings=1)
    >>> [event.kind for event in market.events]
    ['delisting']
    """

    kind: str
    symbols: tuple[str, ...]
    start: int
    stop: int
    factor: float = 1.0


def draw_lives(
    n_bars: int, symbols: Sequence[str], late: int, gone: int, rng: np.random.Generator
) -> tuple[IntArray, list[MarketEvent]]:
    """(2, N) first and last row of each asset, and the events. Late names come in the first half, leavers go in the second."""
    n_assets = len(symbols)
    order = rng.permutation(n_assets)
    first = rng.integers(1, max(2, n_bars // 2), size=n_assets)
    last = rng.integers(n_bars // 2, n_bars - 1, size=n_assets) if n_bars > 3 else np.full(n_assets, max(0, n_bars - 2))
    life = np.stack([np.zeros(n_assets, dtype=np.int64), np.full(n_assets, n_bars - 1)])
    comers, leavers = order[:late], order[::-1][:gone]
    life[0, comers], life[1, leavers] = first[comers], last[leavers]
    events = [MarketEvent("late_listing", (symbols[i],), 0, int(life[0, i])) for i in comers]
    events += [MarketEvent("delisting", (symbols[i],), int(life[1, i]) + 1, n_bars) for i in leavers]
    return life, events


def draw_halts(
    count: int, life: IntArray, symbols: Sequence[str], rng: np.random.Generator
) -> tuple[list[MarketEvent], BoolArray]:
    """Runs without a bar, each strictly inside the life of one asset."""
    n_bars = int(life[1].max()) + 1
    mask = np.zeros((n_bars, len(symbols)), dtype=bool)
    able = np.flatnonzero(life[1] - life[0] >= 2)
    if count and not able.size:
        raise DataError(f"halts={count}: no asset has three bars; ask for more bars")
    events = []
    for _ in range(count):
        i = int(able[rng.integers(able.size)])
        start = int(rng.integers(life[0, i] + 1, life[1, i]))
        stop = min(start + int(rng.geometric(1.0 / MEAN_HALT)), int(life[1, i]))
        mask[start:stop, i] = True
        events.append(MarketEvent("halt", (symbols[i],), start, stop))
    return events, mask


def draw_holidays(
    count: int, life: IntArray, symbols: Sequence[str], exchanges: IntArray, rng: np.random.Generator
) -> tuple[list[MarketEvent], BoolArray]:
    """Dates on which no asset of one exchange has a bar; the first and the last bar of an asset are never taken."""
    n_bars = int(life[1].max()) + 1
    mask = np.zeros((n_bars, len(symbols)), dtype=bool)
    if count > n_bars - 2:
        raise DataError(
            f"holidays={count}: at most n_bars - 2 = {n_bars - 2} are possible, because the first and the last date are kept"
        )
    rows = np.sort(rng.permutation(np.arange(1, n_bars - 1))[:count])
    open_exchanges = np.unique(exchanges)
    events = []
    for row in rows.tolist():
        closed = exchanges == open_exchanges[rng.integers(open_exchanges.size)]
        closed &= (life[0] < row) & (row < life[1])
        mask[row] = closed
        events.append(MarketEvent("holiday", tuple(symbols[i] for i in np.flatnonzero(closed).tolist()), row, row + 1))
    return events, mask


def draw_bad_prints(count: int, present: BoolArray, symbols: Sequence[str], rng: np.random.Generator) -> list[MarketEvent]:
    """Cells whose close is ten times too high or too low for one bar; the bars before and after it are there and clean."""
    free = present.copy()
    free[0] = free[-1] = False
    free[1:] &= present[:-1]
    free[:-1] &= present[1:]
    n_assets = present.shape[1]
    events: list[MarketEvent] = []
    if not count:
        return events
    for cell in rng.permutation(np.flatnonzero(free)).tolist():
        row, i = divmod(cell, n_assets)
        if free[row, i]:
            free[row - 1 : row + 2, i] = False
            factor = BAD_PRINT_FACTOR if rng.random() < 0.5 else 1.0 / BAD_PRINT_FACTOR
            events.append(MarketEvent("bad_print", (symbols[i],), row, row + 1, factor))
            if len(events) == count:
                return events
    raise DataError(f"bad_prints={count}: only {len(events)} fit with a clean bar on both sides; ask for fewer or for more bars")
