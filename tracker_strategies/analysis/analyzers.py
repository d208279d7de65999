"""backtrader Analyzers that watch a tracker: how closely it follows, and what it holds and pays."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from typing import Any

import backtrader as bt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracker_strategies.analysis.metrics import tracking_metrics
from tracker_strategies.execution.desk import FillColumns, Fills
from tracker_strategies.execution.order_reader import OrderReader
from tracker_strategies.execution.tracker_desk import TrackerDesk
from tracker_strategies.strategies.roles import find_targets
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]

ORDER_COLUMNS = ("date", "symbol", "size", "price", "value", "commission")


def bar_dates(numbers: Any) -> NDArray[np.datetime64]:
    """Dates, or date numbers of backtrader, as dates; whole days, the usual case, without a loop."""
    if len(numbers) and isinstance(numbers[0], np.datetime64):
        return np.array(numbers, dtype="datetime64[ns]")
    days = np.asarray(numbers, dtype=np.float64)
    if (days == np.floor(days)).all():
        return (days.astype(np.int64) - 719163).astype("datetime64[D]").astype("datetime64[ns]")
    return np.array([np.datetime64(bt.num2date(x).replace(tzinfo=None), "ns") for x in days], dtype="datetime64[ns]")


def order_table(log: Sequence[FillColumns], symbols: Sequence[str]) -> pd.DataFrame:
    """Fills as a table, one row each."""
    if not log:
        return _no_orders().copy()
    asset, when, size, price, fee = (np.concatenate(column) for column in zip(*log, strict=True))
    names = np.array(symbols, dtype=object)[asset]
    columns = (bar_dates(when), names, size, price, np.abs(size) * price, fee)
    return pd.DataFrame(dict(zip(ORDER_COLUMNS, columns, strict=True)))


@cache
def _no_orders() -> pd.DataFrame:
    """The table without rows. pandas takes a millisecond to make it, which counts in a sweep."""
    none = FillColumns(np.zeros(0, dtype=np.int64), *(np.zeros(0) for _ in range(4)))
    return order_table([none], ())


def _stacked(rows: Sequence[FloatArray], width: int) -> FloatArray:
    """Rows of equal length as a matrix; for hundreds of rows several times faster than ``np.array``."""
    return np.concatenate(rows).reshape(len(rows), width) if rows else np.zeros((0, width))


class TrackingAnalyzer(bt.Analyzer):
    """Account value against the tracked index, for any strategy.

    ``get_analysis()`` has te_rms, te_centred, mdte, tracking_difference, excess_log_return and n_bars as
    :mod:`~tracker_strategies.analysis.metrics` defines them, against the target, or against the blend of several that the
    strategy tracks. Bars on which a target has no level of its own are spanned, not counted as returns of zero.

    Params:
      - ``target`` (None): name of the index feed, as for the strategies
    """

    params = (("target", None),)

    def start(self) -> None:
        """Find the targets, forget an earlier run."""
        targets = getattr(self.strategy, "targets", None)
        self.targets = targets if targets and self.p.target is None else find_targets(self.strategy.datas, self.p.target)
        self.names = tuple(d._name for d in self.targets)
        self._tracker: Tracker | None = getattr(self.strategy, "tracker", None) if self.p.target is None else None
        self._broker: Any = self.strategy.broker
        self._when: list[Any] = []
        self._value: list[float] = []
        self._index: list[Any] = []
        self._seen: list[Any] = []
        q = len(self.names)
        self.omega = np.full(q, 1.0 / q) if self._tracker is None else self._tracker.goal.omega

    def stop(self) -> None:
        """Let go of the engine: a result may travel to another process."""
        self.targets, self._tracker, self._broker = [], None, None

    def prenext(self) -> None:
        """Bars before every feed has begun count too."""
        self.next()

    def next(self) -> None:
        """Close of a bar."""
        if not getattr(self.strategy, "new_bar", True):
            return
        self._value.append(self._broker.getvalue())
        tracker = self._tracker
        if tracker is not None and tracker.bar is not None:
            self._when.append(tracker.bar.date)
            self._index.append(tracker.bar.target)
            self._seen.append(tracker.bar.seen)
        else:
            self._when.append(self.strategy.datetime[0])
            self._index.append([d.close[0] if len(d) else np.nan for d in self.targets])
            self._seen.append(None)

    @property
    def dates(self) -> NDArray[np.datetime64]:
        """(T,) dates of the bars."""
        return bar_dates(self._when)

    @property
    def value(self) -> FloatArray:
        """(T,) account value."""
        return np.array(self._value)

    @property
    def index(self) -> FloatArray:
        """(T, q) index levels."""
        return _stacked(self._index, len(self.names))

    @property
    def seen(self) -> NDArray[np.bool_] | None:
        """(T, q) where an index has a level of its own; None when it has everywhere."""
        if all(row is None or row.all() for row in self._seen):
            return None
        return np.array([np.ones(len(self.names), dtype=bool) if row is None else row for row in self._seen])

    def get_analysis(self) -> OrderedDict[str, float]:
        """The tracking figures; empty when there were fewer than two bars."""
        if len(self._value) < 2:
            return OrderedDict()
        value, index, seen = self.value, self.index, self.seen
        known = np.isfinite(index).all(axis=1)  # feeds may begin later than the run
        if seen is not None:
            known &= seen.all(axis=1)
        value, index = value[known], index[known]
        return OrderedDict(tracking_metrics(value[1:] / value[:-1] - 1.0, (index[1:] / index[:-1] - 1.0) @ self.omega))


class HoldingsAnalyzer(bt.Analyzer):
    """What was held, traded and paid, bar by bar, for strategies of this project and any other.

    ``get_analysis()`` has turnover, cost_bps and n_holdings; the arrays behind them are attributes: ``weights`` (T, N),
    ``decisions`` (T, N), ``turnover`` (T,), ``cost`` (T,), and ``orders`` as a DataFrame.

    Params:
      - ``orders`` (False): keep a log of all fills, as columns; without it memory does not grow with the number of orders
    """

    params = (("orders", False),)

    def start(self) -> None:
        """Find the assets, forget an earlier run."""
        strategy = self.strategy
        self.assets = getattr(strategy, "assets", strategy.datas)
        self.symbols = getattr(strategy, "symbols", None) or tuple(d._name for d in self.assets)
        self._desk: TrackerDesk | OrderReader | None = getattr(strategy, "desk", None) or OrderReader(strategy, self.assets)
        self._tracker: Tracker | None = getattr(strategy, "tracker", None)
        self._broker: Any = strategy.broker
        self._held: list[FloatArray] = []
        self._weights: FloatArray | None = None
        self._prices: list[FloatArray] = []
        self._decisions: list[FloatArray] = []
        self._values: list[float] = []
        self._traded: list[float] = []
        self._paid: list[float] = []
        self._log: list[FillColumns] = []
        self._early: Fills | None = None

    def stop(self) -> None:
        """Let go of the engine: a result may travel to another process."""
        self.assets, self._tracker, self._broker, self._desk = [], None, None, None

    def prenext(self) -> None:
        """Bars before every feed has begun count too."""
        self.next()

    def next(self) -> None:
        """Close of a bar."""
        assert self._desk is not None
        fills, early = self._desk.fills(), self._early
        if early is not None:
            fills = early if fills is None else early + fills
        if not getattr(self.strategy, "new_bar", True):  # filled on a turn without a bar: it counts on the next one
            self._early = fills
            return
        self._early = None
        value = self._broker.getvalue()
        before = self._values[-1] if self._values else value
        self._values.append(value)
        self._held.append(self._desk.sizes())
        self._traded.append(0.0 if fills is None else fills.traded / before)
        self._paid.append(0.0 if fills is None else fills.paid)
        if self.p.orders and fills is not None:
            self._log.append(fills.columns())
        tracker = self._tracker
        if tracker is None or tracker.bar is None:
            self._prices.append(np.array([d.close[0] for d in self.assets]))
            chosen = getattr(self.strategy, "weights", None)  # strategies of other origin may have them too
            if chosen is not None:
                self._decisions.append(np.array(chosen))
        else:  # trackers make new arrays on every bar, nobody writes to an old one
            self._prices.append(tracker.bar.close)
            self._decisions.append(tracker.weights)

    @property
    def weights(self) -> FloatArray:
        """(T, N) share of each name in the account. Only held names are priced: one that is not listed yet has no price."""
        if self._weights is None or len(self._weights) != len(self._values):
            weights = _stacked(self._held, len(self.symbols))
            weights *= _stacked(self._prices, len(self.symbols))
            if np.isnan(weights.sum()):
                np.nan_to_num(weights, copy=False, nan=0.0)
            weights /= np.array(self._values)[:, None]
            self._weights = weights
        return self._weights

    @property
    def decisions(self) -> FloatArray | None:
        """(T, N) weights chosen at each close, where the strategy chooses any."""
        return _stacked(self._decisions, len(self.symbols)) if self._decisions else None

    @property
    def turnover(self) -> FloatArray:
        """(T,) value bought plus sold over the account's value at the previous close."""
        return np.array(self._traded)

    @property
    def cost(self) -> FloatArray:
        """(T,) commission and slippage, in money."""
        return np.array(self._paid)

    @property
    def orders(self) -> pd.DataFrame:
        """One row per fill, when they were asked for."""
        return order_table(self._log, self.symbols)

    def get_analysis(self) -> OrderedDict[str, float]:
        """Means over the bars after the first."""
        if len(self._values) < 2:
            return OrderedDict()
        value = np.array(self._values)
        return OrderedDict(
            turnover=float(self.turnover[1:].mean()),
            cost_bps=1e4 * float((self.cost[1:] / value[:-1]).mean()),
            n_holdings=float((self.weights[1:] > 1e-12).sum(axis=1).mean()),
        )


class DiagnosticsAnalyzer(bt.Analyzer):
    """What a tracker's algorithm says of itself, bar by bar: see ``diagnostics()`` of the algorithms.

    ``get_analysis()`` has the last value of each figure; ``table`` is a DataFrame with one row per bar.
    """

    def start(self) -> None:
        """Forget an earlier run."""
        self._lines = list(getattr(self.strategy, "diagnostic_lines", ()))
        self._when: list[Any] = []
        self._said: list[dict[str, float]] = []

    def prenext(self) -> None:
        """Bars before every feed has begun count too."""
        self.next()

    def next(self) -> None:
        """Close of a bar."""
        tracker: Tracker | None = getattr(self.strategy, "tracker", None)
        if tracker is not None and tracker.bar is not None and getattr(self.strategy, "new_bar", True):
            self._when.append(tracker.bar.date)
            self._said.append(tracker.algorithm.diagnostics())

    @property
    def table(self) -> pd.DataFrame:
        """(T, k) figures; NaN where a bar did not have one. ``attrs["lines"]`` names those that tell most."""
        frame = pd.DataFrame(self._said, index=pd.DatetimeIndex(bar_dates(self._when), name="date"), dtype=float)
        frame.attrs["lines"] = self._lines
        return frame

    def get_analysis(self) -> OrderedDict[str, float]:
        """The latest figures."""
        return OrderedDict(self._said[-1] if self._said else {})
