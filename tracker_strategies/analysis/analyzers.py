"""backtrader Analyzers that watch a tracker: how closely it follows, and what it holds and pays."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from typing import Any

import backtrader as bt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracker_strategies.analysis.account_rows import AccountRows, bare_record, figures, whole
from tracker_strategies.analysis.breaches import LimitWatch, breach_table
from tracker_strategies.analysis.entry import Entry
from tracker_strategies.analysis.held_rows import HeldRows, stacked
from tracker_strategies.analysis.metrics import METRIC_KEYS, TRACKING_KEYS
from tracker_strategies.analysis.order_log import bar_dates, order_table
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.execution.mandate.keeper import Keeper
from tracker_strategies.execution.order_route import FillColumns
from tracker_strategies.strategies.feeds import find_targets
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]


def _assets_of(strategy: Any) -> Any:
    return getattr(strategy, "assets", strategy.datas)


class TrackingAnalyzer(bt.Analyzer):
    """Account value against the tracked index, for any strategy.

    ``get_analysis()`` has te_rms, te_centred, mdte, tracking_difference, excess_log_return, n_bars, entry_bars and
    entry_active_return as :mod:`~tracker_strategies.analysis.metrics` defines them, against the target, or against the blend of
    several that the strategy tracks. Bars count from the first one at whose start the account was at its target; deposits and
    withdrawals are not returns. Bars on which a target has no new level are spanned, not counted as returns of zero.

    Params:
      - ``target`` (None): name of the index feed, as for the strategies

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from tracker_strategies import EqualWeight, TrackingAnalyzer
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
    >>> position = cerebro.addstrategy(EqualWeight)
    >>> cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    >>> print(f"{1e4 * cerebro.run()[0].analyzers.tracking.get_analysis()['te_rms']:.0f} bp per bar")
    25 bp per bar
    """

    params = (("target", None),)

    def start(self) -> None:
        """Find the targets, drop the data of an earlier run."""
        targets = getattr(self.strategy, "targets", None)
        self.targets = targets if targets and self.p.target is None else find_targets(self.strategy.datas, self.p.target)
        self.names = tuple(d._name for d in self.targets)
        self._tracker: Tracker | None = getattr(self.strategy, "tracker", None) if self.p.target is None else None
        self._rows: AccountRows | None = AccountRows(self.strategy, _assets_of(self.strategy), trades=False)
        self._when = array("d" if self._tracker is None else "q")
        self._value, self._flow, self._carried, self._traded, self._paid = self._rows.columns
        self._index = array("d")
        self._unseen: dict[int, NDArray[np.bool_]] = {}  # by row, where a target has none of its own
        self._entry = Entry(row=None)
        q = len(self.names)
        self.blend = np.full(q, 1.0 / q) if self._tracker is None else self._tracker.target.blend

    def stop(self) -> None:
        """Drop the references to cerebro, because a result may be sent to another process."""
        self._entry = self.entry
        self.targets, self._tracker, self._rows = [], None, None

    def prenext(self) -> None:
        """Bars before all feeds have begun count, too."""
        self.next()

    def next(self) -> None:
        """Close of a bar."""
        assert self._rows is not None
        if not self._rows.turn():
            return
        tracker = self._tracker
        if tracker is not None and tracker.bar is not None:
            self._when.append(int(tracker.bar.date.astype(np.int64)))
            self._index.extend(tracker.bar.target.tolist())
            seen = tracker.bar.seen
        else:
            now = self.strategy.datetime[0]
            self._when.append(now if tracker is None else int(bar_dates([now])[0].astype(np.int64)))
            self._index.extend([d.close[0] if len(d) else np.nan for d in self.targets])
            seen = np.array([len(d) > 0 and d.datetime[0] >= now and d.close[0] == d.close[0] for d in self.targets])
        if seen is not None and not seen.all():
            self._unseen[len(self._value) - 1] = seen

    @property
    def dates(self) -> NDArray[np.datetime64]:
        """(T,) dates of the bars."""
        return bar_dates(self._when)

    @property
    def value(self) -> FloatArray:
        """(T,) account value."""
        return np.array(self._value)

    @property
    def flow(self) -> FloatArray | None:
        """(T,) cash paid in or taken out, booked on the bar; None when there was none."""
        return whole(self._flow, len(self._value)) if self._flow else None

    @property
    def carried(self) -> FloatArray | None:
        """(T,) what that counts at the close."""
        return np.array(self._carried) if self._carried else None

    @property
    def entry(self) -> Entry:
        """Between which rows the account got to its target."""
        return self._entry if self._rows is None else self._rows.entry

    @property
    def index(self) -> FloatArray:
        """(T, q) index levels."""
        return np.array(self._index).reshape(len(self._value), len(self.names))

    @property
    def seen(self) -> NDArray[np.bool_] | None:
        """(T, q) where an index has its own level; None if it has one everywhere."""
        if not self._unseen:
            return None
        seen = np.ones((len(self._value), len(self.names)), dtype=bool)
        seen[[*self._unseen]] = [*self._unseen.values()]
        return seen

    def get_analysis(self) -> OrderedDict[str, float]:
        """The tracking figures, those of ``metrics.json``; NaN, and 0 bars, for an account that never got to its target."""
        T = len(self._value)
        if not T:
            return OrderedDict()
        record = bare_record(self, self.index, np.zeros((T, 0)), targets=self.names, seen=self.seen, blend=self.blend)
        return figures(record, TRACKING_KEYS)


class HoldingsAnalyzer(bt.Analyzer):
    """What was held, traded and paid, bar by bar, for strategies of this project and any other.

    ``get_analysis()`` has turnover, cost_bps, n_holdings, final_value, entry_turnover, entry_cost_bps, breaches_active,
    breaches_passive, breaches_forced, idle_cash and unfilled as :mod:`~tracker_strategies.analysis.metrics` defines them; what is
    behind them are attributes, with all bars: ``weights`` (T, N), ``decisions`` (T, N), ``turnover`` (T,), ``cost`` (T,), and
    ``orders`` and ``breaches`` as DataFrames.

    Params:
      - ``orders`` (False): keep a log of all fills, as columns; without it memory does not grow with the number of orders
      - ``weights`` (True): keep what was held and decided; without it memory does not grow with bars x names, and the figures are
        the same. Decisions of a strategy with limits are then their sums, (T, 1)

    >>> import backtrader as bt
    >>> from tracker_strategies import HoldingsAnalyzer
    >>> cerebro = bt.Cerebro()
    >>> cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    """

    params = (("orders", False), ("weights", True))

    def start(self) -> None:
        """Find the assets, drop the data of an earlier run."""
        strategy = self.strategy
        assets = _assets_of(strategy)
        self.symbols = getattr(strategy, "symbols", None) or tuple(d._name for d in assets)
        self._rows: AccountRows | None = AccountRows(strategy, assets, trades=True)
        self._value, self._flow, self._carried, self._traded, self._paid = self._rows.columns
        self._entry = Entry(row=None)
        self._unfilled = self._rows.unfilled
        self._decisions: list[FloatArray] = []
        self._log: list[FillColumns] = []
        self._when: Any = [] if self._rows.tracker is None else array("q")
        self._breaches: tuple[int, pd.DataFrame] | None = None
        self._keeper: Keeper | None = getattr(getattr(strategy, "tracker", None), "keeper", None)
        self._limits = None if self._keeper is None or self.p.weights else LimitWatch(self._keeper, self.symbols)
        see = None if self._limits is None else self._see
        self._held = HeldRows(len(self.symbols), keep=self.p.weights, see=see)

    def stop(self) -> None:
        """Drop the references to cerebro, because a result may be sent to another process."""
        self._entry = self.entry
        self._rows = None

    def prenext(self) -> None:
        """Bars before all feeds have begun count, too."""
        self.next()

    def next(self) -> None:
        """Close of a bar."""
        rows = self._rows
        assert rows is not None
        if not rows.turn():
            return
        if self._held.keep or self._limits is not None:
            self._decide(rows.tracker)
        self._held.add(rows.route.sizes(), rows.prices(), self._value[-1])
        if self.p.orders and rows.fills is not None:
            self._log.append(rows.fills.columns())

    def _decide(self, tracker: Tracker | None) -> None:
        """Take in what was decided on a bar."""
        if tracker is not None:
            date = bar_dates([self.strategy.datetime[0]])[0] if tracker.bar is None else tracker.bar.date
            self._when.append(int(date.astype(np.int64)))
            self._decisions.append(tracker.weights)
            return
        self._when.append(self.strategy.datetime[0])
        chosen = getattr(self.strategy, "weights", None)  # strategies of other origin may have them too
        if chosen is not None:
            self._decisions.append(np.array(chosen))

    def _see(self, weights: FloatArray) -> None:
        """Look at a block of bars for what is outside the limits."""
        assert self._limits is not None
        self._limits.add(weights, stacked(self._decisions, len(self.symbols)))
        self._decisions.clear()

    @property
    def entry(self) -> Entry:
        """Between which rows the account got to its target."""
        return self._entry if self._rows is None else self._rows.entry

    @property
    def weights(self) -> FloatArray:
        """(T, N) share of each name in the account; (T, 0) where they are not kept."""
        return self._held.weights

    @property
    def names_held(self) -> FloatArray:
        """(T,) number of names with a position."""
        return self._held.counts

    @property
    def decisions(self) -> FloatArray | None:
        """(T, N) weights chosen at each close, where the strategy chooses any; (T, 1) their sums where weights are not kept."""
        if self._limits is not None:
            self._held.flush()
            return np.array(self._limits.invested)[:, None]
        return stacked(self._decisions, len(self.symbols)) if self._decisions else None

    @property
    def turnover(self) -> FloatArray:
        """(T,) value bought plus sold over the account's value at the previous close."""
        return whole(self._traded, len(self._value))

    @property
    def cost(self) -> FloatArray:
        """(T,) commission and slippage, in money."""
        return whole(self._paid, len(self._value))

    @property
    def unfilled(self) -> FloatArray | None:
        """(T,) value of the orders that the market did not take, over the account's value; None where it takes all."""
        return np.array(self._unfilled) if self._unfilled else None

    @property
    def orders(self) -> pd.DataFrame:
        """One row per fill, if fills were recorded."""
        return order_table(self._log, self.symbols)

    def get_analysis(self) -> OrderedDict[str, float]:
        """The figures of holding and trading, those of ``metrics.json``; NaN for an account that never got to its target."""
        T = len(self._value)
        if not T:
            return OrderedDict()
        return figures(self._record(), [key for key in METRIC_KEYS if key not in TRACKING_KEYS])

    @property
    def breaches(self) -> pd.DataFrame | None:
        """Where the limits were not kept, and why; None for a strategy without limits."""
        decided = self.decisions
        if self._keeper is None or decided is None:
            return None
        if self._breaches is None or self._breaches[0] != len(decided):  # of a run that goes on, it is made anew
            dates, watch = bar_dates(self._when), self._limits
            table = (
                breach_table(self._keeper, self.symbols, dates, self.weights, decided) if watch is None else watch.table(dates)
            )
            self._breaches = len(decided), table
        return self._breaches[1]

    def _record(self) -> RunRecord:
        """What it knows, as a record without an index."""
        more: dict[str, Any] = {"symbols": self.symbols, "targets": ("",), "names_held": self.names_held}
        if self._keeper is not None:
            more |= {"breaches": self.breaches, "invested": self._keeper.limits.total, "decisions": self.decisions}
            more["dates"] = bar_dates(self._when)
        more["unfilled"] = self.unfilled
        return bare_record(self, np.broadcast_to(1.0, (len(self._value), 1)), self.weights, **more)
