"""One backtest from a description: panel, strategy, parameters, costs and fill mode in, a :class:`RunRecord` out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import backtrader as bt
import numpy as np

from datafeeds import IndexData, MarketPanel
from datafeeds.feeds.clock import PanelClock
from datafeeds.index_levels import Targets
from datafeeds.log import log
from datafeeds.sources import Source
from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.analysis.analyzers import HoldingsAnalyzer, TrackingAnalyzer
from tracker_strategies.analysis.attribution.stages import StagesAnalyzer
from tracker_strategies.analysis.diagnostics_analyzer import DiagnosticsAnalyzer
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.recording import record_of
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.gate import PanelGate
from tracker_strategies.execution.holdings.flows import flows_of
from tracker_strategies.execution.holdings.opening import check_priced
from tracker_strategies.execution.mandate import Limits, Mandate
from tracker_strategies.execution.mandate.binding import bind
from tracker_strategies.execution.mandate.feasibility import check
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray
from tracker_strategies.execution.universe import Universe
from tracker_strategies.execution.volume.depth import require_volume
from tracker_strategies.execution.volume.liquidity import Liquidity
from tracker_strategies.strategies import TrackerStrategy
from tracker_strategies.strategies.bar_lengths import length_for, settle_windows
from tracker_strategies.strategies.budget import check_budget
from tracker_strategies.strategies.compose import settle_mandate
from tracker_strategies.strategies.feeds import asked_assets
from tracker_strategies.strategies.index_weights import check_weights
from tracker_strategies.strategies.index_weights.published import index_weights
from tracker_strategies.strategies.registry import check_params, default_params, strategy_class
from tracker_strategies.strategies.start import first_date, settle_holdings
from tracker_strategies.strategies.target import check_year

#: Fewer bars than this tell nothing about tracking: one to buy, two returns to score.
MIN_BARS = 3


def check_run(
    panel: MarketPanel, strategy: type[TrackerStrategy] | str, params: Mapping[str, Any] | None, cash: float
) -> tuple[type[TrackerStrategy], dict[str, Any]]:
    """The strategy's class and its parameters as a dict, once everything about the run is known to make sense.

    Raises :class:`ParameterError` and its like, for limits that cannot hold together too: see :func:`check_mandate`.
    """
    cls = strategy_class(strategy)
    chosen = dict(params or {})
    check_params(cls, chosen)
    panel.require_bars(MIN_BARS)
    if chosen.get("max_tracking_error") is not None:
        year = chosen.get("bars_per_year") or chosen.get("bars_a_year") or panel.periods_per_year
        given = {"max_tracking_error": chosen["max_tracking_error"], "bars_per_year": check_year(year)}
        check_budget(cls, SimpleNamespace(**given), panel.n_bars)
    worth = _worth_at_start(panel, cls, chosen)
    if not (cash > 0.0 or (cash == 0.0 and worth)):
        raise ParameterError(f"cash={cash!r} must be positive" + (", or 0 with holdings" if worth else ""))
    row = 0
    start = first_date(chosen.get("trade_from"))
    if start is not None:
        row = int(np.searchsorted(panel.dates, start))
        if row >= panel.n_bars:
            raise ParameterError(
                f"trade_from={chosen['trade_from']!r} is after the end of the data ({panel.day(-1)}); give an earlier date"
            )
    check_mandate(panel, cls, chosen, cash + worth, row=row)
    liquid = Liquidity.of({**default_params(cls), **chosen}) is not None
    if liquid:
        require_volume(panel)
    if (flows := flows_of(chosen.get("cash_flows"))) is not None:
        flows.check(panel.dates[0], panel.dates[-1], limited=liquid)
    if chosen.get("index_weights") is not None:
        check_weights(cls, index_weights(chosen["index_weights"], panel.symbols).dates, panel.dates)
    return cls, chosen


def _worth_at_start(panel: MarketPanel, cls: type[TrackerStrategy], params: Mapping[str, Any]) -> float:
    """What is held at the first bar, at its prices. Raises for names that are not in the data or have no price there."""
    p = SimpleNamespace(**{**default_params(cls), **params})
    symbols = panel.symbols if p.assets is None else asked_assets(p.assets, panel.symbols)
    sizes = settle_holdings(p, symbols)
    if sizes is None:
        return 0.0
    closes = panel.close[0, [panel.symbols.index(symbol) for symbol in symbols]]
    check_priced(symbols, sizes, closes, panel.day(0))
    return float(sizes[sizes > 0.0] @ closes[sizes > 0.0])


class Bound(NamedTuple):
    """A mandate for the names of a run, and what is known of them on the first bar that may trade.

    Attributes
    ----------
    mandate : Mandate
    limits : Limits
        With its headroom.
    symbols : tuple of N str
    listed : (N,) bool
        Names that may be bought, as far as prices and the members of the index say.
    prices : (N,) float
        NaN for a name without one.
    day : str
    """

    mandate: Mandate
    limits: Limits
    symbols: tuple[str, ...]
    listed: BoolArray
    prices: FloatArray
    day: str


def check_mandate(
    panel: MarketPanel, cls: type[TrackerStrategy], params: Mapping[str, Any], cash: float, *, row: int = 0
) -> Bound | None:
    """Refuse limits that cannot hold together, before any bar is run.

    Decided from the mandate, the account and the names listed on the first bar that may trade: `row`, or the first after it on
    which every target has a level. No later price, listing or delisting is looked at.

    Returns
    -------
    Bound or None
        None where there are no limits.

    Raises
    ------
    ParameterError, UniverseError
        One line with the arithmetic, or with the name that is unknown.
    """
    p = SimpleNamespace(**{**default_params(cls), **params})
    symbols = panel.symbols if p.assets is None else asked_assets(p.assets, panel.symbols)
    mandate = settle_mandate(cls, p, symbols)
    if mandate.is_free:
        return None
    limits = bind(mandate, symbols)
    settle_windows(cls, p, length_for(p, panel.bar_length))
    clock, universe = PanelClock(panel), Universe(len(symbols), p.listing_warmup, p.delist_after)
    gate = PanelGate(clock, symbols, panel.targets)
    while clock.step():
        bar = gate.read()
        universe.follow(bar)
        active = universe.active
        if clock.row >= row and np.isfinite(bar.target).all() and (active is None or active.any()):
            break
    else:
        return None  # nothing will ever be bought
    listed = np.isfinite(bar.close) if active is None else active & np.isfinite(bar.close)
    capital = 1.0 if p.capital is None else float(p.capital)
    check(limits, listed, symbols, prices=bar.close, cash=cash * capital, lot=mandate.lot, headroom=mandate.headroom)
    return Bound(mandate, limits, symbols, listed, bar.close, panel.day(clock.row))


def backtest(
    panel: Source,
    strategy: type[TrackerStrategy] | str,
    params: Mapping[str, Any] | None = None,
    *,
    costs: CostModel | None = None,
    cash: float = 1_000_000.0,
    on_bar: Callable[[], None] | None = None,
    orders: bool = True,
    diagnostics: bool = False,
    stages: bool = False,
    targets: Targets = "INDEX",
    weights: bool = True,
    **cerebro_options: Any,
) -> RunRecord:
    """Run one strategy over a panel through cerebro.

    Parameters
    ----------
    panel : MarketPanel, DataFrame, mapping of frames, or path
        Anything but a panel is read by :func:`datafeeds.open_source`, with these `targets`.
    strategy : Strategy class or its name
    params : mapping, optional
        The strategy's parameters, ``fill`` among them; ``holdings`` is what is held at the first bar.
    costs : CostModel, optional
        Free trading by default.
    cash : float, default 1,000,000
        Starting cash, > 0; with ``holdings`` it may be 0.
    on_bar : callable, optional
        Called after each bar, for progress.
    orders : bool, default True
        Keep the log of all fills in the record.
    diagnostics : bool, default False
        Keep the diagnostics of the algorithm on each bar.
    stages : bool, default False
        Keep the stages of each decision, for :func:`~tracker_strategies.analysis.attribution.ladder.attribute`.
    weights : bool, default True
        Keep the held and decided weights of each bar; without them the record has the figures only, and memory does not grow with
        bars x names. Of the decisions of a strategy with limits, sums and breaches are kept.
    **cerebro_options
        Passed to ``bt.Cerebro`` (``runonce``, ``preload``, ``exactbars``, ...).

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies import CostModel, backtest
    >>> record = backtest(load_sample().rows(0, 250), "ensemble", {"max_weight": 0.2}, costs=CostModel(bps=5))
    >>> record.metrics()["n_bars"]
    248
    """
    panel = IndexData(panel, targets).panel
    cls, params = check_run(panel, strategy, params, cash)
    cerebro = bt.Cerebro(**{"stdstats": False, **cerebro_options})
    IndexData(panel).add_to(cerebro, lazy=True)
    cerebro.broker.setcash(cash)
    charge(cerebro.broker, costs or CostModel())
    cerebro.addstrategy(cls, **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=orders, weights=weights)
    if diagnostics:
        cerebro.addanalyzer(DiagnosticsAnalyzer, _name="diagnostics")
    if stages:
        cerebro.addanalyzer(StagesAnalyzer, _name="stages")
    if on_bar is not None:
        cerebro.addanalyzer(_Progress, on_bar=on_bar)
    log.info("backtest of %s on %s begins", cls.alias_name or cls.__name__, panel.source)
    (run,) = cerebro.run()
    log.info("backtest of %s on %s ended: %d bars", cls.alias_name or cls.__name__, panel.source, panel.n_bars)
    return record_of(run, kernels=kernels.in_use())


class _Progress(bt.Analyzer):
    """Calls back once per bar."""

    params = (("on_bar", None),)

    def next(self) -> None:
        """A bar is over."""
        self.p.on_bar()

    prenext = next
