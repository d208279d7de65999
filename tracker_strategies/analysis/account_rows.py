"""What happens to the account of any strategy, bar by bar, as analyzers and observers see it."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.analysis.entry import Entry, EntryWatch
from tracker_strategies.analysis.metrics import carried_to_close
from tracker_strategies.analysis.order_log import order_table
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.execution.account_watch import AccountWatch
from tracker_strategies.execution.basket.order_reader import OrderReader
from tracker_strategies.execution.order_route import Fills
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.execution.tracker_route import TrackerRoute
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]


class AccountRows:
    """What happens to a strategy's account, bar by bar, as analyzers of any strategy see it.

    Call :meth:`turn` on every turn of the engine. A turn without a bar, which resampled feeds bring, makes no row; what was
    filled and paid in on it counts on the next one.

    Parameters
    ----------
    strategy : bt.Strategy
    assets : sequence of feeds
        Names that it may hold.
    trades : bool
        Whether to look at all fills; else only at those of the entry, and at the cash that comes in and goes out.

    Attributes
    ----------
    value, flow, carried : array of float
        At the close; the cash booked on the bar, and what that counts at the close (empty as long as it is
        the same), where not all fills are looked at. Flow ends with the latest bar with cash booked: :func:`whole`.
    traded, paid : array of float
        Value of the fills over the value at the close before; commission and slippage in money. They end with the latest bar
        with a fill: :func:`whole`.
    unfilled : array of float
        Value of the orders that the market did not take, over the value at the close before; empty where it takes all.
    """

    def __init__(self, strategy: Any, assets: Sequence[Any], *, trades: bool) -> None:
        self.strategy, self.assets, self._trades = strategy, assets, trades
        self.route: TrackerRoute | OrderReader = getattr(strategy, "route", None) or OrderReader(strategy, assets)
        self.tracker: Tracker | None = getattr(strategy, "tracker", None)
        self._watch = AccountWatch(strategy)
        self._entry = EntryWatch(None if self.tracker is None else self.tracker.rebalancer)
        self.value, self.flow, self.carried, self.traded, self.paid, self.unfilled = (array("d") for _ in range(6))
        self.fills: Fills | None = None
        self._booked = 0.0
        self._early: Fills | None = None

    def turn(self) -> bool:
        """A turn of the engine; whether it brought a bar."""
        if not self._trades:
            self._booked += self._watch.flow()
        fills, early = self.route.fills() if self._trades or self._entry.waits else None, self._early
        if early is not None:
            fills = early if fills is None else early + fills
        if not getattr(self.strategy, "new_bar", True):
            self._early = fills
            return False
        value = self._watch.value()
        self._early, self.fills = None, fills
        if fills is not None:
            _put(self.traded, len(self.value), fills.traded / (self.value[-1] if self.value else value))
            _put(self.paid, len(self.value), fills.paid)
        if self.tracker is not None and self.tracker.liquidity is not None:
            self.unfilled.append(self.tracker.unfilled / self.value[-1] if self.value else 0.0)
        self.value.append(value)
        if not self._trades:
            self._book(value)
        self._booked = 0.0
        if self._entry.waits:
            self._see(fills, value)
        return True

    def _book(self, value: float) -> None:
        now = len(self.value) - 1
        if self._booked:
            _put(self.flow, now, self._booked)
        host = self.route if isinstance(self.route, TrackerRoute) else self.strategy.broker
        at_fills: tuple[float, float] | None = getattr(host, "booked", None)
        carried = self._booked if at_fills is None else carried_to_close(*at_fills, value, self._booked - at_fills[0])
        if self.carried or carried != self._booked:
            self.carried.extend(self.flow[len(self.carried) : now])
            _put(self.carried, now, carried)

    def _see(self, fills: Fills | None, value: float) -> None:
        tracker = self.tracker
        filled = fills is not None and fills.traded > 0.0
        self._entry.close(
            self.route.sizes(),
            self.prices(),
            value,
            None if tracker is None else tracker.aim,
            filled=filled,
            at_close=filled and self._at_close(fills),
            begun=tracker is None or tracker.start is None,
        )

    def _at_close(self, fills: Any) -> bool:
        """Whether fills booked on this bar were filled at the close before: backtrader dates them back."""
        if self.tracker is not None:
            return self.tracker.fill is FillMode.CLOSE
        done = fills.columns()
        return all(when < self.assets[i].datetime[0] for i, when in zip(done.asset, done.when, strict=True))

    def prices(self) -> FloatArray:
        """(N,) latest closes."""
        bar = None if self.tracker is None else self.tracker.bar
        # Trackers make new arrays on every bar, nobody writes to an old one.
        return np.array([d.close[0] if len(d) else np.nan for d in self.assets]) if bar is None else bar.close

    @property
    def newest_carried(self) -> float:
        """The flow of the newest row, carried to its close."""
        column = self.carried or self.flow
        return column[-1] if len(column) == len(self.value) else 0.0

    @property
    def columns(self) -> tuple[array[float], ...]:
        """Value, flow, carried, traded and paid, which grow with the rows."""
        return self.value, self.flow, self.carried, self.traded, self.paid

    @property
    def entry(self) -> Entry:
        """How the account got to its target."""
        return self._entry.entry


def _put(column: array[float], row: int, number: float) -> None:
    """A number in its row of a column that ends before it, after zeros."""
    column.extend(repeat(0.0, row - len(column)))
    column.append(number)


def whole(column: array[float], n_bars: int) -> FloatArray:
    """(T,) a column that ends before its last zeros, with them."""
    made = np.zeros(n_bars)
    made[: len(column)] = column
    return made


def figures(record: RunRecord, keys: Iterable[str]) -> OrderedDict[str, float]:
    """Some figures of a record that nobody needs any more."""
    found = record.metrics()
    vars(record).pop("part", None)  # it knows the record, and both would stay until Python looks for such pairs
    return OrderedDict((key, found[key]) for key in keys)


def bare_record(analyzer: Any, index: FloatArray, weights: FloatArray, **more: Any) -> RunRecord:
    """What one analyzer knows, as a record: its figures come from where all others do."""
    dates = np.broadcast_to(np.datetime64(0, "ns"), len(analyzer._value))  # of no matter to the figures
    named: dict[str, Any] = {"symbols": (), "periods_per_year": 1.0, "dates": dates, **more}
    return RunRecord(
        strategy="",
        value=np.array(analyzer._value),
        index=index,
        weights=weights,
        turnover=whole(analyzer._traded, len(dates)),
        cost=whole(analyzer._paid, len(dates)),
        orders=order_table((), ()),
        flow=whole(analyzer._flow, len(dates)) if analyzer._flow else None,
        carried=np.array(analyzer._carried) if analyzer._carried else None,
        entry=analyzer.entry,
        **named,
    )
