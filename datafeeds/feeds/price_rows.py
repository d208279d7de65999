"""The latest prices of a panel's names, row by row: what a pause or a late listing leaves open is filled in a block at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from datafeeds.panel import MarketPanel

FloatArray = NDArray[np.float64]

#: Rows that are worked out together. A whole table of them would take as much memory as the panel itself, three times.
BLOCK = 64


class PriceRows:
    """Closes and opens of some names of a panel, at any row of it; quickest where rows are asked for one after the other.

    Parameters
    ----------
    panel : MarketPanel
    columns : sequence of int, optional
        Which names, in which order; all as they are by default.
    """

    def __init__(self, panel: MarketPanel, columns: Sequence[int] | None = None) -> None:
        self._panel, self._columns = panel, slice(None) if columns is None else np.asarray(columns)
        self.n_names = panel.n_assets if columns is None else len(columns)
        self._direct = panel.complete and columns is None
        self._closes, self._opens = panel.close, panel.close if panel.open is None else panel.open
        self._close, self._open = np.empty((2, 0, self.n_names))
        self._age: NDArray[np.int64] = np.empty((0, self.n_names), dtype=np.int64)
        self._go_to_start()

    def _go_to_start(self) -> None:
        self._begin = self._end = 0
        self._before = np.full(self.n_names, np.nan)  # closes before the block,
        self._ages: NDArray[np.int64] = np.full(self.n_names, -1)  # and how old they were on the row before it

    def at(self, row: int) -> tuple[FloatArray, FloatArray, NDArray[np.int64] | None]:
        """Latest closes; opens, or the latest close where there is none; and bars since each name's latest bar, -1 before its
        first, None where all have one on this row.
        """
        if self._direct:
            return self._closes[row], self._opens[row], None
        if row < self._begin:
            self._go_to_start()
        while row >= self._end:
            self._load()
        i = row - self._begin
        return self._close[i], self._open[i], None if self._full[i] else self._age[i]

    def _load(self) -> None:
        """Work out the next block."""
        panel = self._panel
        if self._end:
            self._before, self._ages = self._close[-1], self._age[-1]
        self._begin, self._end = self._end, min(self._end + BLOCK, panel.n_bars)
        rows = slice(self._begin, self._end)
        close = panel.close[rows][:, self._columns]
        opens = close if panel.open is None else panel.open[rows][:, self._columns]
        has = panel.has_bar[rows][:, self._columns]
        turn = np.arange(len(close))[:, None]
        latest = np.maximum.accumulate(np.where(has, turn, -1), axis=0)
        since = np.where(self._ages >= 0, self._ages + turn + 1, -1)
        self._age = np.where(latest >= 0, turn - latest, since)
        self._full = (self._age == 0).all(axis=1)
        self._close = np.where(latest >= 0, np.take_along_axis(close, np.maximum(latest, 0), axis=0), self._before)
        self._open = np.where(self._age == 0, opens, self._close)
