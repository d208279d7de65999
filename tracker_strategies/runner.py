"""One backtest from a description: panel, strategy, parameters, costs and fill mode in, a :class:`RunRecord` out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import backtrader as bt

from datafeeds import IndexData, MarketPanel
from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.analysis.analyzers import DiagnosticsAnalyzer, HoldingsAnalyzer, TrackingAnalyzer
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.recording import record_of
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.strategies import TrackerStrategy
from tracker_strategies.strategies.budget import check_budget
from tracker_strategies.strategies.registry import check_params, load_strategy
from tracker_strategies.strategies.target import check_year

#: Fewer bars than this tell nothing about tracking: one to buy, two returns to score.
MIN_BARS = 3


def check_run(
    panel: MarketPanel, strategy: type[TrackerStrategy] | str, params: Mapping[str, Any] | None, cash: float
) -> tuple[type[TrackerStrategy], dict[str, Any]]:
    """The strategy's class and its parameters as a dict, once everything about the run is known to make sense."""
    cls = load_strategy(strategy) if isinstance(strategy, str) else strategy
    chosen = dict(params or {})
    check_params(cls, chosen)
    panel.require_bars(MIN_BARS)
    if chosen.get("max_tracking_error") is not None:
        year = chosen.get("bars_per_year") or chosen.get("bars_a_year") or panel.periods_per_year
        given = {"max_tracking_error": chosen["max_tracking_error"], "bars_per_year": check_year(year)}
        check_budget(cls, SimpleNamespace(**given), panel.n_bars)
    if not cash > 0.0:
        raise ParameterError(f"cash={cash!r} must be positive")
    return cls, chosen


def backtest(
    panel: MarketPanel,
    strategy: type[TrackerStrategy] | str,
    params: Mapping[str, Any] | None = None,
    *,
    costs: CostModel | None = None,
    cash: float = 1_000_000.0,
    on_bar: Callable[[], None] | None = None,
    orders: bool = True,
    diagnostics: bool = False,
    **cerebro_options: Any,
) -> RunRecord:
    """Run one strategy over a panel through cerebro.

    Parameters
    ----------
    panel : MarketPanel
    strategy : Strategy class or its name
    params : mapping, optional
        The strategy's parameters, ``fill`` among them.
    costs : CostModel, optional
        Free trading by default.
    cash : float, default 1,000,000
        Starting cash, > 0.
    on_bar : callable, optional
        Called after each bar, for progress.
    orders : bool, default True
        Keep the log of all fills in the record.
    diagnostics : bool, default False
        Keep what the algorithm says of itself on each bar.
    **cerebro_options
        Passed to ``bt.Cerebro`` (``runonce``, ``preload``, ``exactbars``, ...).
    """
    cls, params = check_run(panel, strategy, params, cash)
    cerebro = bt.Cerebro(**{"stdstats": False, **cerebro_options})
    IndexData(panel).add_to(cerebro, lazy=True)
    cerebro.broker.setcash(cash)
    charge(cerebro.broker, costs or CostModel())
    cerebro.addstrategy(cls, **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=orders)
    if diagnostics:
        cerebro.addanalyzer(DiagnosticsAnalyzer, _name="diagnostics")
    if on_bar is not None:
        cerebro.addanalyzer(_Progress, on_bar=on_bar)
    (run,) = cerebro.run()
    return record_of(run, kernels=kernels.in_use())


class _Progress(bt.Analyzer):
    """Calls back once per bar."""

    params = (("on_bar", None),)

    def next(self) -> None:
        """A bar is over."""
        self.p.on_bar()

    prenext = next
