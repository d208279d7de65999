"""RunRecord: what one backtest did, bar by bar, as arrays. Metrics, tear sheets and run folders are all made from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds.bar_length import BarLength
from tracker_strategies.analysis.attribution.stages import Stages
from tracker_strategies.analysis.breaches import bars_outside
from tracker_strategies.analysis.entry import Entry
from tracker_strategies.analysis.eval_from import start_row
from tracker_strategies.analysis.goals import goals_of
from tracker_strategies.analysis.held_rows import names_held
from tracker_strategies.analysis.metrics import COUNTS, METRIC_KEYS, TRACKING_KEYS, not_taken, time_weighted, tracking_metrics

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One run of one strategy. Row t is the close of bar t; row 0 is the first bar, on which nothing has been earned yet.

    The arrays have all bars; the figures are those of the scored bars, at whose start the account was at its target:
    :mod:`~tracker_strategies.analysis.metrics` defines them, :meth:`since` is a record of the scored part alone.

    >>> from datafeeds import load_sample
    >>> from tracker_strategies import backtest
    >>> record = backtest(load_sample().rows(0, 100), "pa").since(0.5)

    Parameters
    ----------
    strategy : str, the name to be shown
    dates : (T,) datetime64[ns]
    value : (T,) float
        Account value at the close, costs paid.
    index : (T, q) float
        Levels of the tracked indices at the close.
    targets, symbols : tuples of q and of N str
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
    periods_per_year : float, optional
        Bars in a year; by default inferred from the dates.
    decisions : (T, N) float, optional
        Weights that the strategy chose at the close of the bar for the time after it; None for strategies that choose none.
    diagnostics : DataFrame, optional
        Diagnostics of the algorithm: one row per bar, one column per figure.
    seen : (T, q) bool, optional
        Where an index has a new level; elsewhere, on its holidays, `index` repeats the last one. None means everywhere.
    blend : (q,) float
        Weights of the indices in what is tracked; equal by default.
    events : tuple of mappings with date, symbol and event
        What happened to the universe over the whole run: :class:`~tracker_strategies.execution.universe.UniverseEvent`.
    sectors : mapping of symbol to sector, where they are known
    data : mapping
        ``source`` of the prices, and ``opens``, whether they have opens; empty where not known.
    kernels : str, optional
        :func:`~tracker_strategies.algorithms.numerics.kernels.in_use` of the process that computed it; None where not known.
    flow, carried : (T,) float, optional
        Cash paid in (+) or taken out (-), booked on the bar; and what it counts at the close: None for none, and for as much.
    entry : Entry
        Between which rows the account reached its target; by default it was there at the first.
    unfilled : (T,) float, optional
        Value of orders that the market did not take, over the account's value at the previous close; None where it takes all.
    breaches : DataFrame, optional
        Where it was outside its limits, see :mod:`~tracker_strategies.analysis.breaches`; None where it had none.
    invested : float
        Share of the account that decisions invest where no limit forbids it.
    rounding : float, optional
        Tracking error per bar that rounding to whole lots was expected to cost, RMS over the decisions; None without lots.
    stages : Stages, optional
        Stages of the decisions, where these were recorded.
    names_held : (T,) float, optional
        Number of names with a position at the close; counted from the weights, where these are kept.
    whole : RunRecord, optional
        The run that this is the scored part of.
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
    periods_per_year: float = math.nan
    decisions: FloatArray | None = None
    diagnostics: pd.DataFrame | None = None
    seen: NDArray[np.bool_] | None = None
    blend: FloatArray = field(default_factory=lambda: np.empty(0))
    events: tuple[Mapping[str, Any], ...] = ()
    sectors: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    kernels: str | None = None
    flow: FloatArray | None = None
    carried: FloatArray | None = None
    entry: Entry = field(default_factory=Entry)
    unfilled: FloatArray | None = None
    breaches: pd.DataFrame | None = None
    invested: float = 1.0
    rounding: float | None = None
    stages: Stages | None = None
    names_held: FloatArray = field(default_factory=lambda: np.empty(0))
    whole: RunRecord | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """A year is one of the data's own bars; indices weigh the same; a flow of nothing is none."""
        if not len(self.blend):
            object.__setattr__(self, "blend", np.full(len(self.targets), 1.0 / len(self.targets)))
        if math.isnan(self.periods_per_year):
            object.__setattr__(self, "periods_per_year", BarLength.usual(self.dates).per_year)
        object.__setattr__(self, "names_held", self.names_held if len(self.names_held) else names_held(self.weights))
        if self.flow is not None and not self.flow.any():
            object.__setattr__(self, "flow", None)
        object.__setattr__(self, "carried", self.flow if self.flow is None or self.carried is None else self.carried)

    @cached_property
    def returns(self) -> FloatArray:
        """(T-1,) simple returns of the account on all bars, time-weighted: cash that came in is no return."""
        return time_weighted(self.value, self.carried) - 1.0

    @cached_property
    def growth(self) -> FloatArray:
        """(T,) what the money of the first row became, without later deposits and withdrawals: the value, when there are none."""
        return self.value if self.flow is None else self.value[0] * np.r_[1.0, np.cumprod(self.returns + 1.0)]

    @cached_property
    def index_returns(self) -> FloatArray:
        """(T-1, q) simple returns of the indices."""
        return np.asarray(self.index[1:] / self.index[:-1] - 1.0)

    def scored(self, target: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Returns of the account and of an index (None: of the blend of all) on the scored bars, from each on which it has a
        level to the next.

        A holiday of the index is not a return of zero: what the account earned meanwhile counts with the next level.
        """
        which, rows = (part := self.part)._seen_rows(target)
        growth, index = part.growth[rows], part.index[rows][:, which]
        return growth[1:] / growth[:-1] - 1.0, self._blended(index[1:] / index[:-1] - 1.0, target)

    def bar_by_bar(self, target: int | None = None) -> tuple[FloatArray, FloatArray]:
        """(T-1,) the same on all bars; 0 before the account was at its target, and on a holiday of the index, made up for."""
        r, y = self.scored(target)
        if len(r) == len(self.value) - 1:
            return r, y
        part, both = self.part, np.zeros((2, len(self.value)))
        rows = np.arange(len(part.value))[part._seen_rows(target)[1]] + len(self.value) - len(part.value)
        both[:, rows[1:]] = r, y
        return both[0, 1:], both[1, 1:]

    def _seen_rows(self, target: int | None) -> tuple[list[int], Any]:
        which = [*range(len(self.targets))] if target is None else [target]
        return which, slice(None) if self.seen is None else np.flatnonzero(self.seen[:, which].all(axis=1))

    def _blended(self, returns: FloatArray, target: int | None) -> FloatArray:
        return np.asarray(returns @ (np.ones(1) if target is not None else self.blend))

    @cached_property
    def active(self) -> FloatArray:
        """(T-1,) return of the account minus that of what is tracked, as :meth:`bar_by_bar` has them."""
        return np.asarray(np.subtract(*self.bar_by_bar()))

    def excess_path(self, target: int | None = None) -> FloatArray:
        """(T,) log return of the account over that of an index (None: of what is tracked), cumulated from 0 at the base row."""
        r, y = self.bar_by_bar(target)
        return np.concatenate([[0.0], np.cumsum(np.log1p(r) - np.log1p(y))])

    def since(self, start: float | str | None) -> RunRecord:
        """The scored part of the run: from a fraction of its bars (0.5) or a date on, or from the end of the entry if later.

        The row before it stays as the base. Learning started at the first bar. If the entry never ends, the last row is left.
        """
        return self.scored_from(start_row(self.dates, start))

    def scored_from(self, row: int) -> RunRecord:
        """The same, from a row on."""
        return self.from_row(len(self.dates) - 1 if self.entry.row is None else max(row - 1, self.entry.row))

    @cached_property
    def part(self) -> RunRecord:
        """The scored part, ``since(None)``."""
        return self.since(None)

    def from_row(self, base: int) -> RunRecord:
        """The rows from a base on. The base has no trades: those of an entry at its very close are paid for in its value."""
        entry, cut, ends_there = self.entry, slice(base, None), self.entry.at_close and base == self.entry.row
        if base <= 0 and not ends_there:
            return self
        value, turnover, cost = self.value[cut], self.turnover[cut].copy(), self.cost[cut].copy()
        turnover[0] = cost[0] = 0.0
        if ends_there and len(value) > 1:
            value = np.r_[value[0] - cost[1], value[1:]]
            turnover[1] = cost[1] = 0.0
            entry = Entry(entry.begin, entry.row, base)
        return replace(
            self,
            dates=self.dates[cut],
            value=value,
            index=self.index[cut],
            weights=self.weights[cut],
            names_held=self.names_held[cut],
            decisions=None if self.decisions is None else self.decisions[cut],
            diagnostics=None if self.diagnostics is None else self.diagnostics.iloc[cut],
            seen=None if self.seen is None else self.seen[cut],
            flow=None if self.flow is None else np.r_[0.0, self.flow[base + 1 :]],
            carried=None if self.carried is None else np.r_[0.0, self.carried[base + 1 :]],
            turnover=turnover,
            cost=cost,
            unfilled=None if self.unfilled is None else np.r_[0.0, self.unfilled[base + 1 :]],
            orders=self.orders[self.orders["date"] > pd.Timestamp(self.dates[base])].reset_index(drop=True),
            breaches=None if self.breaches is None else self.breaches[self.breaches["date"] >= self.dates[base]],
            entry=entry.later(base),
            stages=None if self.stages is None else self.stages.from_row(base),
            whole=self.whole or self,
        )

    @property
    def begins_at_entry(self) -> bool:
        """Whether the first row is the one at whose close the account got to its target, and not one that was chosen."""
        row = (run := self.whole or self).entry.row
        return row is not None and bool(run.dates[row] == self.dates[0])

    def metrics(self, target: int | None = None) -> dict[str, float]:
        """The figures of ``metrics.json`` against one of the indices, or against what is tracked: the only one, or the blend."""
        known: dict[int | None, dict[str, float]] = vars(self).setdefault("_figures", {})  # tables, files and pages ask for them
        if target not in known:
            known[target] = self._metrics(target)
        return dict(known[target])

    def _metrics(self, target: int | None) -> dict[str, float]:
        part, (r, y) = self.part, self.scored(target)
        core = dict.fromkeys(METRIC_KEYS, math.nan) | (tracking_metrics(r, y) if len(r) else {"n_bars": 0.0})
        run = part if len(r) else self.whole or self  # of an account that never got there, all that it tried
        del r, y  # a year of minutes is long
        if len(part.value) > 1:
            core["turnover"] = float(part.turnover[1:].mean())
            core["cost_bps"] = 1e4 * float((part.cost[1:] / part.value[:-1]).mean())
            core["n_holdings"] = float(part.names_held[1:].mean())
        core["final_value"] = float(part.value[-1])
        core |= {f"breaches_{kind}": float(bars_outside(part.breaches, kind)) for kind in ("active", "passive", "forced")}
        core["unfilled"] = not_taken(run.unfilled, run.turnover)
        core["idle_cash"] = float(part.idle_cash.mean()) if part.breaches is not None else 0.0
        core |= (self.whole or self)._entry_metrics(target)
        return {key: int(core[key]) if key in COUNTS else core[key] for key in METRIC_KEYS}

    def _entry_metrics(self, target: int | None) -> dict[str, float]:
        """What it took to get to the target."""
        begin, last = self.entry.begin, len(self.value) - 1
        row = last if self.entry.row is None else self.entry.row
        bars, trades = slice(begin + 1, row + 1), slice(begin + 1, min(max(self.entry.booked, row), last) + 1)
        growth, base = time_weighted(self.value, self.carried), self.value[:-1]
        account = float(np.prod(growth[begin:row]))
        if self.entry.at_close and row < last:
            account *= 1.0 - float(self.cost[row + 1] / self.value[row])
        which, rows = self._seen_rows(target)
        rows = np.arange(last + 1)[rows]
        index = self.index[rows[(rows >= begin) & (rows <= row)]][:, which]
        tracked = float(np.prod(1.0 + self._blended(index[1:] / index[:-1] - 1.0, target)))
        return {
            "entry_bars": float(len(range(*bars.indices(last + 1)))),
            "entry_active_return": account - tracked,
            "entry_turnover": float(self.turnover[trades].sum()),
            "entry_cost_bps": 1e4 * float((self.cost[trades] / base[trades.start - 1 : trades.stop - 1]).sum()),
        }

    @property
    def idle_cash(self) -> FloatArray:
        """(T,) share of the account that each decision left in cash because a limit forced it to; 0 before the first."""
        if self.decisions is None or self.breaches is None:
            return np.zeros(len(self.value))
        invested = self.decisions.sum(axis=1)
        return np.asarray(np.where(invested > 0.0, np.maximum(self.invested - invested, 0.0), 0.0))

    def metrics_by_target(self) -> dict[str, Any]:
        """What ``metrics.json`` holds: the figures, what was requested per year, and with several indices those against each."""
        found: dict[str, Any] = self.metrics() | goals_of(self)
        if len(self.targets) > 1:
            each = {name: self.metrics(j) for j, name in enumerate(self.targets)}
            found["targets"] = {name: {key: figures[key] for key in TRACKING_KEYS} for name, figures in each.items()}
        return found
