"""The entry: how an account gets from cash to its target, and from which bar on it is scored.

Bar t is scored when the account was at its target at the close of bar t-1. A day in cash, or half in cash, says nothing about how
well a portfolio tracks; it is told by figures of its own (``entry_bars`` and the like, see
:mod:`~tracker_strategies.analysis.metrics`). Analyzers, replay and paper account all ask :class:`EntryWatch`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.mandate.keeper import NEAR
from tracker_strategies.execution.rebalancer import Rebalancer

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Entry:
    """Rows of a run between which the account got to its target. The default is an account that was there from the first row on.

    Attributes
    ----------
    begin : int
        The close before the first fill.
    row : int or None
        The first close at which the account was at its target: the base of the first scored bar. None: it never got there.
    booked : int
        The bar on which the fills that brought it there were booked: ``row``, or the bar after it when they filled at the close.
    """

    begin: int = 0
    row: int | None = 0
    booked: int = 0

    @property
    def at_close(self) -> bool:
        """Whether the last fills of the entry were filled at the close of ``row`` itself, and booked on the bar after."""
        return self.row is not None and self.booked > self.row

    def later(self, rows: int) -> Entry:
        """The same entry in a record that begins a number of rows later."""
        row = None if self.row is None else self.row - rows
        if row is not None and row < 0:
            return Entry()
        return Entry(max(self.begin - rows, 0), row, max(self.booked - rows, 0))


class EntryWatch:
    """Watches an account until it is at its target for the first time. Call :meth:`close` once per bar, at its close.

    A tracker is there when its rebalancer, asked again for what the tracker is on its way to, would invest at most 5 % of the
    account on top of what is held. Lots, bands and limits keep an account from no target, for they are part of it, nor do least
    fees: what the rebalancer would not buy is not missing. Halted names are missing until they can be bought. The question is
    asked at the prices at which the orders were sized and, should the market have moved since, at the close. A strategy without a
    rebalancer is there as soon as it holds something, because its target is not known.

    Parameters
    ----------
    rebalancer : Rebalancer, optional
        Of the tracker.
    """

    def __init__(self, rebalancer: Rebalancer | None = None) -> None:
        self._rebalancer = rebalancer
        self._row = -1
        self._begin: int | None = None
        self._before: tuple[FloatArray | None, FloatArray, float] | None = None
        self._found: Entry | None = None

    @property
    def waits(self) -> bool:
        """Whether the account has not got there yet; later bars need not be shown."""
        return self._found is None

    @property
    def entry(self) -> Entry:
        """What was seen so far."""
        return self._found or Entry(self._begin or 0, None, max(self._row, 0))

    def close(
        self,
        sizes: FloatArray,
        prices: FloatArray,
        value: float,
        weights: FloatArray | None = None,
        *,
        filled: bool,
        at_close: bool = False,
        begun: bool = True,
    ) -> None:
        """Close of a bar.

        Parameters
        ----------
        sizes : (N,) float
            Shares after the fills booked on the bar.
        prices : (N,) float
            Latest closes; NaN for a name that has none yet.
        value : float
            Of the account.
        weights : (N,) float, optional
            What was decided at this close, for the time after it, whatever one rebalance may turn over.
        filled : bool
            Whether fills were booked on the bar.
        at_close : bool
            Whether they had been filled at the close of the bar before.
        begun : bool
            Whether the strategy may trade by now: what is held before is none of its doing.
        """
        self._row += 1
        before, self._before = self._before, (weights if begun else None, prices, value)
        if filled and self._begin is None:
            self._begin = max(self._row - 1, 0)
        if not begun or not sizes.any() or not self._there(sizes, before, (prices, value)):
            return
        back = at_close and filled and self._row > 0
        self._found = Entry(self._row if self._begin is None else self._begin, self._row - back, self._row)

    def _there(
        self,
        sizes: FloatArray,
        before: tuple[FloatArray | None, FloatArray, float] | None,
        now: tuple[FloatArray, float],
    ) -> bool:
        if before is None or before[0] is None:  # held before the first decision
            before = self._before
        if self._rebalancer is None or before is None or before[0] is None or (sizes < 0.0).any():
            return True
        weights = before[0]
        return any(self._missing(weights, sizes, *at) <= NEAR for at in (before[1:], now))

    def _missing(self, weights: FloatArray, sizes: FloatArray, prices: FloatArray, value: float) -> float:
        """What the rebalancer would still invest, as a share of the account."""
        assert self._rebalancer is not None
        known = np.isfinite(prices)
        worth = np.where(known, prices, 0.0)
        cash = value - float(sizes @ worth)
        if cash <= NEAR * value:
            return 0.0
        wanted = np.where(known, weights, 0.0)
        deltas = self._rebalancer.plan(wanted, sizes, np.where(known, prices, 1.0), cash, tradable=known)
        return float(deltas @ worth) / value
