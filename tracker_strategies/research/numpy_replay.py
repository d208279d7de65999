"""A backtest without an engine: the same strategies on the panel's arrays, for sweeps and Monte-Carlo studies.

The same :class:`~tracker_strategies.strategies.tracker.Tracker` decides as in cerebro; only the broker is replaced, by a few
vectors. The results agree with cerebro's to 1e-9 in every fill mode, with costs, lots, bands, schedules and living universes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from datafeeds.feeds.clock import PanelClock
from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.analysis.entry import EntryWatch
from tracker_strategies.analysis.metrics import carried_to_close
from tracker_strategies.analysis.order_log import order_table
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.recording import new_record
from tracker_strategies.analysis.runfolder import known_of
from tracker_strategies.execution.basket.basket import fill_columns, tradable_prices
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.fill_prices import check_close_fills
from tracker_strategies.execution.gate import Bar, PanelGate
from tracker_strategies.execution.holdings.flows import Flows, closed, flows_of, opened, worth_at_open
from tracker_strategies.execution.order_route import FillColumns, Fills
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.research._fast_replay import Path, is_plain, plain_path
from tracker_strategies.runner import check_run
from tracker_strategies.strategies import TrackerStrategy
from tracker_strategies.strategies.bar_lengths import settle_bars
from tracker_strategies.strategies.registry import default_params
from tracker_strategies.strategies.start import settle_holdings
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]


class ReplayRoute:
    """Cash and shares, as an order route: orders fill when the loop says so, at the prices it gives."""

    def __init__(self, cash: float, sizes: FloatArray) -> None:
        self._cash, self._sizes = cash, sizes
        self._waiting: tuple[FloatArray, FloatArray | None, float] | None = None
        self._filled: Fills | None = None
        self._bar: Bar | None = None
        self.now = 0.0

    def cash(self) -> float:
        """Cash in the account."""
        return self._cash

    def sizes(self) -> FloatArray:
        """Shares held."""
        return self._sizes

    def pending(self) -> None:
        """Nothing waits past its bar."""

    def submit(self, deltas: FloatArray) -> None:
        """Take orders; they fill at the next turn."""
        self._waiting = (deltas, None if self._bar is None else tradable_prices(self._bar, "close", deltas), self.now)

    def pay_in(self, amount: float) -> None:
        """Book money that comes in or goes out."""
        self._cash += amount

    def book_out(self, asset: int, price: float) -> None:
        """Book a position out."""
        self._cash += float(self._sizes[asset]) * price
        self._sizes = self._sizes.copy()
        self._sizes[asset] = 0.0

    def fills(self) -> Fills | None:
        """What was filled on this bar."""
        return self._filled

    def turn(self, bar: Bar, now: float, costs: CostModel, *, at_close: bool) -> None:
        """The broker's turn on a bar: fill what waits, at this bar's open or at the closes it was sent at, with these costs."""
        self._filled, waiting = None, self._waiting
        if waiting is not None:
            deltas, closes, sent = waiting
            self._waiting = None
            quoted = closes if at_close and closes is not None else tradable_prices(bar, "open", deltas)
            when = sent if at_close else now
            flow, traded, paid = costs.outcome(deltas, quoted)
            self._cash += flow
            self._sizes = self._sizes + deltas
            self._filled = Fills(traded, paid, partial(fill_columns, deltas, quoted, when, costs))
        self._bar, self.now = bar, now

    def held(self, bar: Bar) -> FloatArray:
        """Value of each position at the close."""
        worth = self._sizes * bar.close
        return worth if bar.age is None else np.where(self._sizes != 0.0, worth, 0.0)


def replay(
    panel: MarketPanel,
    strategy: type[TrackerStrategy] | str,
    params: Mapping[str, Any] | None = None,
    *,
    costs: CostModel | None = None,
    cash: float = 1_000_000.0,
    orders: bool = False,
) -> RunRecord:
    """Run a strategy over a panel without cerebro. Arguments and result are those of :func:`tracker_strategies.runner.backtest`.

    Cost: the learner's, and about twenty vector operations of length N per bar. Without the order log, the usual case (complete
    panel, fractional shares, proportional costs, no limits) is three times faster still: see
    :mod:`~tracker_strategies.research._fast_replay`.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies.research import replay
    >>> replay(load_sample().rows(0, 250), "ensemble", {"max_weight": 0.2}).metrics()["n_bars"]
    248
    """
    cls, chosen = check_run(panel, strategy, params, cash)
    costs = costs or CostModel()
    p = SimpleNamespace(**{**default_params(cls), **chosen})
    settle_bars(cls, p, lambda: panel.bar_length, panel.dates)
    tracker = cls.make_tracker(p, panel.symbols, costs, len(panel.targets))
    if tracker.fill is FillMode.CLOSE:
        check_close_fills(panel)
    log: list[FillColumns] = []
    held = settle_holdings(p, panel.symbols)
    sizes = np.zeros(panel.n_assets) if held is None else held
    flows = flows_of(p.cash_flows)
    if is_plain(panel, tracker) and not orders and flows is None:
        path = plain_path(panel, tracker, cash, sizes)
    else:
        path = _general_path(panel, tracker, cash, sizes, log, orders, p.bars_per_year, flows or Flows())
    return new_record(
        cls,
        vars(p),
        costs,
        tracker,
        dates=panel.dates,
        index=panel.target_close,
        targets=panel.targets,
        symbols=panel.symbols,
        orders=order_table(log, panel.symbols),
        periods_per_year=p.bars_per_year,
        seen=panel.target_seen,
        data=known_of(panel),
        blend=tracker.target.blend,
        kernels=kernels.in_use(),
        **vars(path),
    )


def _general_path(
    panel: MarketPanel,
    tracker: Tracker,
    cash: float,
    sizes: FloatArray,
    log: list[FillColumns],
    orders: bool,
    bars_per_year: float,
    flows: Flows,
) -> Path:
    """Bar by bar with an account of shares, as cerebro does it."""
    account = ReplayRoute(cash, sizes)
    clock = PanelClock(panel)
    gate = PanelGate(clock, panel.symbols, panel.targets)
    if tracker.liquidity is not None:
        gate.measure(bars_per_year)
    at_close = tracker.fill is FillMode.CLOSE
    T = panel.n_bars
    value, turnover, cost, unfilled = np.empty(T), np.zeros(T), np.zeros(T), np.zeros(T)
    weights, decisions = np.empty((T, panel.n_assets)), np.empty((T, panel.n_assets))
    flow, carried, due = np.zeros(T), np.zeros(T), 0.0
    watch = EntryWatch(tracker.rebalancer)
    while clock.step():
        t, bar = clock.row, gate.read()
        base = value[t - 1]
        if t and not at_close:
            due = flows.due(panel.dates[t - 1], bar.date)
            base = account.cash() + worth_at_open(account.sizes(), bar) if due else 0.0
        flow[t] = due
        account.pay_in(due)
        if t and not at_close:
            opened(tracker, bar, account, due)
        account.turn(bar, gate.now(), tracker.market.costs, at_close=at_close)
        held = account.held(bar)
        value[t] = worth = account.cash() + float(np.add.reduce(held))
        if flow[t]:
            carried[t] = carried_to_close(flow[t], base, worth)
        due = flows.due(panel.dates[t - 1], bar.date) if t and at_close else 0.0
        closed(tracker, bar, account, due)
        fills = account.fills()
        if fills is not None:
            turnover[t], cost[t] = fills.traded / value[t - 1], fills.paid
            if orders:
                log.append(fills.columns())
        unfilled[t] = tracker.unfilled / value[t - 1] if t else 0.0
        np.divide(held if bar.age is None else account.held(bar), worth, out=weights[t])  # a name that is gone was booked out
        decisions[t] = tracker.weights
        if watch.waits:
            watch.close(
                account.sizes(),
                bar.close,
                worth,
                tracker.aim,
                filled=turnover[t] > 0.0,
                at_close=at_close,
                begun=tracker.start is None,
            )
    left = None if tracker.liquidity is None else unfilled
    return Path(value, weights, turnover, cost, decisions, watch.entry, left, flow, carried)
