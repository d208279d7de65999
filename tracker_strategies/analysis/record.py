"""RunRecord: what one backtest did, bar by bar, as arrays. Metrics, tear sheets and run folders are all made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracker_strategies.analysis.metrics import METRIC_KEYS, TRACKING_KEYS, tracking_metrics
from tracker_strategies.errors import DataError, ParameterError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One run of one strategy. Row t is the close of bar t; row 0 is the first bar, on which nothing has been earned yet.

    Parameters
    ----------
    strategy : str
        Name shown to people.
    dates : (T,) datetime64[ns]
    value : (T,) float
        Account value at the close, costs paid.
    index : (T, q) float
        Levels of the tracked indices at the close.
    targets : tuple of q str
    symbols : tuple of N str
    weights : (T, N) float
        Share of each name in the account's value at the close of the bar, after that bar's fills. Cash is the rest.
    turnover : (T,) float
        Value bought plus value sold by the fills booked on the bar, over the account's value at the previous close.
    cost : (T,) float
        Commission and slippage of those fills, in money.
    orders : DataFrame, columns date, symbol, size, price, value, commission
        One row per executed order.
    params : mapping
        Parameters of the run, for the record.
    periods_per_year : float
    decisions : (T, N) float, optional
        Weights that the strategy chose at the close of the bar for the time after it; None for strategies that choose none.
    diagnostics : DataFrame, optional
        One row per bar, one column per figure that the algorithm tells of itself.
    seen : (T, q) bool, optional
        Where an index has a level of its own; elsewhere, on its holidays, `index` repeats the last one. None means everywhere.
    omega : (q,) float, optional
        Weights of the indices in the blend that is tracked; equal by default.
    events : tuple of mappings with date, symbol and event
        Listings, delistings, settlements (with shares and price), relistings and changes of the members, over the whole run. See
        :class:`~tracker_strategies.strategies.universe.UniverseEvent`.
    sectors : mapping of symbol to sector
        Where they are known; empty otherwise.
    kernels : str, optional
        Who computed it, as :func:`tracker_strategies.algorithms.kernels.in_use` says; None where nobody told.
    """

    strategy: str
    dates: NDArray[np.datetime64]
    value: FloatArray
    index: FloatArray
    targets: tuple[str, ...]
    symbols: tuple[str, ...]
    weights: FloatArray
    turnover: FloatArray
    cost: FloatArray
    orders: pd.DataFrame
    params: Mapping[str, Any] = field(default_factory=dict)
    periods_per_year: float = 252.0
    decisions: FloatArray | None = None
    diagnostics: pd.DataFrame | None = None
    seen: NDArray[np.bool_] | None = None
    omega: FloatArray | None = None
    events: tuple[Mapping[str, Any], ...] = ()
    sectors: Mapping[str, str] = field(default_factory=dict)
    kernels: str | None = None

    @cached_property
    def returns(self) -> FloatArray:
        """(T-1,) simple returns of the account."""
        return np.asarray(self.value[1:] / self.value[:-1] - 1.0)

    @cached_property
    def index_returns(self) -> FloatArray:
        """(T-1, q) simple returns of the indices."""
        return np.asarray(self.index[1:] / self.index[:-1] - 1.0)

    def scored(self, target: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Returns of the account and of an index (None: of the blend of all) from each bar on which it has a level to the next.

        A holiday of the index is no return of zero: what the account earned meanwhile counts with the next level.
        """
        which, rows = self._seen_rows(target)
        value, index = self.value[rows], self.index[rows][:, which]
        omega = np.ones(1) if target is not None else self.blend
        return value[1:] / value[:-1] - 1.0, (index[1:] / index[:-1] - 1.0) @ omega

    def bar_by_bar(self, target: int | None = None) -> tuple[FloatArray, FloatArray]:
        """(T-1,) the same two returns on all bars: both 0 on a holiday of the index, made up for on the next bar."""
        r, y = self.scored(target)
        if self.seen is None:
            return r, y
        both = np.zeros((2, len(self.value)))
        both[:, self._seen_rows(target)[1][1:]] = r, y
        return both[0, 1:], both[1, 1:]

    def _seen_rows(self, target: int | None) -> tuple[list[int], Any]:
        which = [*range(len(self.targets))] if target is None else [target]
        return which, slice(None) if self.seen is None else np.flatnonzero(self.seen[:, which].all(axis=1))

    @property
    def blend(self) -> FloatArray:
        """(q,) weights of the indices in what is tracked."""
        return np.full(len(self.targets), 1.0 / len(self.targets)) if self.omega is None else self.omega

    @cached_property
    def active(self) -> FloatArray:
        """(T-1,) return of the account minus that of what is tracked; 0 on a holiday of it, made up for on the next bar."""
        r, y = self.bar_by_bar()
        return r - y

    def excess_path(self, target: int | None = None) -> FloatArray:
        """(T,) log return of the account over that of an index (None: of what is tracked), cumulated from 0 at the base row."""
        r, y = self.bar_by_bar(target)
        return np.concatenate([[0.0], np.cumsum(np.log1p(r) - np.log1p(y))])

    def since(self, start: float | str | None) -> RunRecord:
        """The part of the run that is scored: from a fraction of the bars (0.5) or a date on; the row before it stays as the
        base.

        Learning is not affected: it started at the first bar.
        """
        row = start_row(self.dates, start)
        if row <= 0:
            return self
        cut = slice(row - 1, None)
        late = self.orders[self.orders["date"] > pd.Timestamp(self.dates[row - 1])]
        zero = np.r_[0.0, self.turnover[row:]], np.r_[0.0, self.cost[row:]]
        return replace(
            self,
            dates=self.dates[cut],
            value=self.value[cut],
            index=self.index[cut],
            weights=self.weights[cut],
            decisions=None if self.decisions is None else self.decisions[cut],
            diagnostics=None if self.diagnostics is None else self.diagnostics.iloc[cut],
            seen=None if self.seen is None else self.seen[cut],
            turnover=zero[0],
            cost=zero[1],
            orders=late.reset_index(drop=True),
        )

    def metrics(self, target: int | None = None) -> dict[str, float]:
        """The figures of ``metrics.json`` against one of the indices, or against what is tracked: the only one, or the blend."""
        core = tracking_metrics(*self.scored(target))
        core["turnover"] = float(self.turnover[1:].mean())
        core["cost_bps"] = 1e4 * float((self.cost[1:] / self.value[:-1]).mean())
        core["n_holdings"] = float((self.weights[1:] > 1e-12).sum(axis=1).mean())
        core["final_value"] = float(self.value[-1])
        return {key: int(core[key]) if key == "n_bars" else core[key] for key in METRIC_KEYS}

    def metrics_by_target(self) -> dict[str, Any]:
        """What ``metrics.json`` holds: the figures, and with several indices under ``targets`` those against each of them."""
        found: dict[str, Any] = self.metrics()
        if len(self.targets) > 1:
            found["targets"] = {
                name: {key: value for key, value in self.metrics(j).items() if key in TRACKING_KEYS}
                for j, name in enumerate(self.targets)
            }
        return found


def start_row(dates: NDArray[np.datetime64], start: float | str | None) -> int:
    """First scored row: a fraction in [0, 1) of the bars, or the first bar on or after an ISO date."""
    if start is None:
        return 0
    try:
        fraction = float(start)
    except ValueError:
        try:
            day = np.datetime64(str(start), "ns")
        except ValueError:
            raise ParameterError(f"eval-from {start!r} is neither a fraction such as 0.5 nor a date such as 2019-06-30") from None
        row = int(np.searchsorted(dates, day))
        if row >= len(dates) - 1:
            raise ParameterError(
                f"eval-from {start}: the data end on {dates[-1].astype('datetime64[D]')}, nothing is left to score"
            ) from None
        return row
    if not 0.0 <= fraction < 1.0:
        raise ParameterError(f"eval-from {fraction:g} must be a fraction in [0, 1) or a date")
    row = int(len(dates) * fraction)
    if row >= len(dates) - 1:
        raise DataError(f"{len(dates)} bars are too few to score the last {1 - fraction:.0%} of them")
    return row
