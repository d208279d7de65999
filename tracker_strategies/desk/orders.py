"""orders_for: what a strategy would order for tomorrow, from prices and what is held. A pure function: nothing is sent."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from datafeeds.feeds.clock import PanelClock
from datafeeds.files import json_text
from tracker_strategies._checks import fraction, number
from tracker_strategies._fingerprint import strategy_fingerprint
from tracker_strategies.desk.formats import check_format
from tracker_strategies.desk.ids import check_account_name
from tracker_strategies.desk.plan import OrderPlan
from tracker_strategies.desk.prices import check_prices
from tracker_strategies.desk.sessions import until
from tracker_strategies.desk.state import StateFolder
from tracker_strategies.desk.table import Decision, OrderList
from tracker_strategies.errors import DataWarning, ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.fill_prices import check_close_fills
from tracker_strategies.execution.gate import PanelGate
from tracker_strategies.execution.holdings import Account, Spelling
from tracker_strategies.execution.holdings.flows import with_flow
from tracker_strategies.execution.holdings.opening import check_priced
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.execution.volume.liquidity import Liquidity
from tracker_strategies.papertrade.deciding.by_cerebro import needs_cerebro, wish_by_cerebro
from tracker_strategies.papertrade.deciding.by_checkpoint import JournalRoute, bar_before_the_open
from tracker_strategies.papertrade.deciding.checkpoint import Balance
from tracker_strategies.papertrade.market.tomorrow import until_tomorrow
from tracker_strategies.research.learning import learn
from tracker_strategies.runner import check_run
from tracker_strategies.strategies import TrackerStrategy
from tracker_strategies.strategies.bar_lengths import settle_bars
from tracker_strategies.strategies.feeds import asked_assets
from tracker_strategies.strategies.index_weights.informed import check_weights
from tracker_strategies.strategies.index_weights.published import settled_weights
from tracker_strategies.strategies.registry import check_params, default_params, failure_of, strategy_class

FloatArray = NDArray[np.float64]

_NO_STATE = "no state was kept: a strategy that runs in cerebro has none"
#: Params that an order list has no use for, and what takes their place.
_OTHERS = {
    "holdings": "the account states what is held; remove it",
    "trade_from": "only the last bar trades; remove it",
    "capital": "give an account that holds this tracker's part only",
    "cash_flows": "give the amount that comes in or goes out with these orders as flow=",
}


def orders_for(
    panel: MarketPanel,
    strategy: type[TrackerStrategy] | str,
    account: Account | Mapping[str, float] | str | os.PathLike[str],
    params: Mapping[str, Any] | None = None,
    *,
    mandate: Mandate | Mapping[str, Any] | str | None = None,
    index_weights: Any = None,
    costs: CostModel | None = None,
    as_of: Any = None,
    name: str = "desk",
    outside: str = "refuse",
    spelling: Spelling | None = None,
    gap: float | str = 0.0,
    flow: float = 0.0,
    flow_date: Any = None,
    time_in_force: str = "day",
    currency: str = "USD",
    state: str | os.PathLike[str] | None = None,
) -> OrderPlan:
    """Orders for the next session: what a backtest that starts from this account at the last close would send.

    The strategy learns from all bars and decides once, at the last close. The same inputs give the same table, byte by byte; the
    time of day plays no role (:func:`~tracker_strategies.desk.check_session` checks it).

    Parameters
    ----------
    panel : MarketPanel
        Prices in money, as they are quoted, up to the last close.
    strategy : Strategy class or its name
    account : Account, mapping from names to shares, or path of a file of holdings
        What is held at the last close.
    params : mapping, optional
        The strategy's parameters. ``fill`` may be next_open or close; ``rebalance`` is ignored: a list always rebalances.
    mandate : Mandate, mapping of its keys, or path of a file, optional
        Limits of the decision.
    index_weights : mapping, table or path of a file, optional
        Weights of the index; without dates they are those of today.
    costs : CostModel, optional
        What orders will pay; free trading by default.
    as_of : date, optional
        Leave out the bars after this date.
    name : str, default "desk"
        Name of the account, up to 16 letters and digits: it is part of every order's id.
    outside : {"refuse", "keep", "sell"}
        What to do with held names that are not in the data.
    spelling : Spelling, optional
        How brokers write the names, where the rule for classes of shares does not suffice.
    gap : float or str, default 0
        Size buys so that the cash suffices if they open higher by this much: 0.01 or "1%".
    flow : float, default 0
        Money that is paid in (+) or taken out (-) with the fills of these orders, in proportion to the decided weights.
    flow_date : date, optional
        Of the flow, for messages; that of the last bar by default.
    time_in_force : {"day", "opg"}
    currency : str, default "USD"
        For Interactive Brokers' basket.
    state : path, optional
        Folder that keeps what was learned from one day to the next.

    Raises
    ------
    ParameterError, DataError, AccountError
        Before anything is written.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies import Account, orders_for
    >>> plan = orders_for(load_sample(), "pa", Account(100_000.0))
    >>> plan.table[["symbol", "side"]].iloc[0].tolist()
    ['AAPL', 'buy']
    """
    if not isinstance(panel, MarketPanel):
        raise ParameterError(f"panel must be a MarketPanel, got {type(panel).__name__}; open prices with datafeeds.open_source")
    if not isinstance(costs, CostModel | None):
        raise ParameterError(f"costs must be a CostModel, such as CostModel(bps=5), got {costs!r}")
    if not isinstance(state, str | os.PathLike | None):
        raise ParameterError(f"state must be the path of a folder, got {state!r}")
    cls = strategy_class(strategy)
    chosen = dict(params or {})
    for key, instead in _OTHERS.items():
        if chosen.get(key) is not None:
            raise ParameterError(f"{key}={chosen[key]!r} works in backtests only. For an order list: {instead}")
    if mandate is not None:
        if chosen.get("mandate") is not None:
            raise ParameterError("the mandate is given twice, as mandate= and among the params; keep one")
        chosen["mandate"] = mandate
    reserve, paid_in = fraction("gap", gap, least=0.0), number("flow", flow)
    check_account_name(name)
    costs, spelling = costs or CostModel(), spelling or Spelling()
    panel = until(panel, as_of)
    if chosen.get("assets") is not None:
        own = asked_assets(chosen.pop("assets"), panel.symbols)
        panel = panel.take(np.array([symbol in own for symbol in panel.symbols]), "not among the assets asked for")
    told: list[str] = []
    if index_weights is not None:
        if chosen.get("index_weights") is not None:
            raise ParameterError("the weights of the index are given twice, as index_weights= and among the params; keep one")
        chosen["index_weights"], told = settled_weights(index_weights, panel.symbols, today=panel.day(-1), spelling=spelling)
        check_weights(cls, chosen["index_weights"], panel.dates)
    desk = _Desk(panel, cls, chosen, costs)
    desk.notes += told
    check_format("generic", time_in_force, desk.lot)
    whole = Account.of(account)
    inside, rest = whole.within(panel.symbols, outside, spelling)
    check_prices(inside, panel)
    sizes = inside.sizes(panel.symbols)
    check_priced(panel.symbols, sizes, panel.close[-1], panel.day(-1))
    sold = rest if outside == "sell" else Account()
    brought = [costs.cash_flow(np.array([-size]), np.array([sold.prices[one]])) for one, size in sold.shares.items()]
    cash = whole.cash + sum(brought)
    value = cash + float(sizes[sizes > 0.0] @ panel.close[-1, sizes > 0.0])
    check_run(panel, cls, {**chosen, "trade_from": panel.dates[-1]}, value)
    try:
        decision = desk.decide(Balance(cash, sizes), None if state is None else Path(state).expanduser(), paid_in, flow_date)
    except Exception as problem:  # a user's own class may raise anything
        raise failure_of(cls, problem) from problem
    found = OrderList(
        panel, decision, costs, sizes, whole.cash + paid_in, paid_in, sold, reserve, name, time_in_force, currency, spelling
    )
    return found.plan()


class _Desk:
    """A strategy that is asked once."""

    def __init__(self, panel: MarketPanel, cls: type[TrackerStrategy], params: dict[str, Any], costs: CostModel) -> None:
        check_params(cls, params)
        self.panel, self.cls, self.costs, self.notes = panel, cls, costs, list[str]()
        self.params, self.p = params, SimpleNamespace(**{**default_params(cls), **params})
        if Liquidity.of(self.p) is not None:
            raise ParameterError(
                "max_participation and impact describe the fills of a simulated market; remove them for an order list"
            )
        if FillMode.parse(self.p.fill) is FillMode.OPEN:
            raise ParameterError(
                "fill='open' sizes orders by the opening prices, which are not known the evening before; use fill=next_open"
            )
        with warnings.catch_warnings():  # a list always rebalances
            warnings.filterwarnings("ignore", message="rebalance=", category=DataWarning)
            settle_bars(cls, self.p, lambda: panel.bar_length, panel.dates)
        self.tracker = cls.make_tracker(self.p, panel.symbols, costs, len(panel.targets))
        if self.tracker.fill is FillMode.CLOSE:
            check_close_fills(panel)

    @property
    def lot(self) -> float:
        """Smallest number of shares."""
        return self.tracker.rebalancer.lot

    def decide(self, balance: Balance, folder: Path | None, flow: float, day: Any = None) -> Decision:
        """Learn from all bars, then decide at the last close, and size for the next open; a flow is invested in proportion."""
        decision = self._decide(balance, folder)
        if not flow:
            return decision
        bar, rebalancer = decision.bar, decision.tracker.rebalancer
        deltas = with_flow(
            rebalancer, balance.sizes, decision.deltas, balance.cash, bar.close, flow, day or bar.date, current=bar.current
        )
        return replace(decision, deltas=deltas, without_flow=decision.deltas)

    def _decide(self, balance: Balance, folder: Path | None) -> Decision:
        panel, tracker, notes = self.panel, self.tracker, self.notes
        if self.p.rebalance != 1:
            notes.append(f"rebalance={self.p.rebalance} is ignored: the order list always rebalances now")
        if needs_cerebro(self.cls):
            return self._by_cerebro(balance, notes if folder is None else [*notes, f"{folder}: {_NO_STATE}"])
        if folder is None:
            bar = learn(panel, tracker)
        else:
            tracker, bar, told = StateFolder(folder, self.bound_to()).learned(panel, tracker)
            notes += told
        route = JournalRoute(balance, books_out=False)
        tracker.decide(bar, route)
        if tracker.fill is not FillMode.CLOSE:
            tracker.open(bar_before_the_open(bar), route)
        return Decision(tracker, bar, np.zeros(panel.n_assets) if route.deltas is None else route.deltas, notes)

    def _by_cerebro(self, balance: Balance, notes: list[str]) -> Decision:
        """A strategy with hooks or lines of its own runs in cerebro, as in a paper account."""
        panel, tracker = self.panel, self.tracker
        wish = wish_by_cerebro(
            until_tomorrow(panel), self.cls, self.params, self.costs, [balance] * panel.n_bars, panel.n_bars - 1, books_out=False
        )
        tracker.weights = np.zeros(panel.n_assets) if wish.weights is None else wish.weights
        clock = PanelClock(panel)
        clock.go_to(panel.n_bars - 1)
        bar = PanelGate(clock, panel.symbols, panel.targets).read()
        return Decision(tracker, bar, np.zeros(panel.n_assets) if wish.deltas is None else wish.deltas, notes)

    def bound_to(self) -> dict[str, Any]:
        """All that a kept state depends on beside the data."""
        own = self.cls.alias_name or self.cls.__qualname__
        named = f"{self.cls.__module__}:{self.cls.__qualname__}"
        return {
            "strategy": f"{own} {named}",
            "index_weights": json_text(self.p.index_weights),
            "params": json_text({**vars(self.p), "index_weights": None}),
            "costs": asdict(self.costs),
            "symbols": list(self.panel.symbols),
            "targets": list(self.panel.targets),
            "code": strategy_fingerprint(self.cls),
        }
