"""The strategy's turn: cerebro runs it over all bars, with the account as the journal has it, up to the orders for tomorrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import backtrader as bt
import numpy as np
from numpy.typing import NDArray

from datafeeds import IndexData, MarketPanel
from tracker_strategies.errors import TrackerError
from tracker_strategies.execution.basket.basket import Basket
from tracker_strategies.execution.basket.broker import BasketBroker
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade.deciding.checkpoint import Balance, Checkpoint, state_hash
from tracker_strategies.papertrade.deciding.tickets import SingleOrder
from tracker_strategies.papertrade.errors import StrategyError
from tracker_strategies.strategies import TrackerStrategy
from tracker_strategies.strategies.bar_lengths import more_to_come

FloatArray = NDArray[np.float64]


@dataclass(eq=False)
class Wish:
    """What a strategy wants after the last session.

    Attributes
    ----------
    weights : (N,) float or None
        Its target weights, if it has any.
    deltas : (N,) float or None
        Units to buy and sell; None when no rebalance is due.
    booked_out : list of (place, price)
        Positions that it books out because there is no market left.
    state_hash : str
        Fingerprint of what its learner has learned.
    checkpoint : str or None
        Its state after the last close, to go on from; None when that cannot be written down.
    past : (T, N) float or None
        Target weights after each session, when all were replayed.
    turnover : float or None
        Most that the orders may buy and sell, as a share of the account.
    singles : list of SingleOrder
        Orders of a strategy's own, beside those of a tracker.
    """

    weights: FloatArray | None
    deltas: FloatArray | None
    booked_out: list[tuple[int, float]]
    state_hash: str
    checkpoint: str | None
    past: FloatArray | None = None
    turnover: float | None = None
    singles: list[SingleOrder] = field(default_factory=list)


class JournalBroker(BasketBroker):
    """A broker that knows how it went: on each bar the account becomes what the journal says, whatever the strategy orders.

    The last bar of the run is tomorrow. What the strategy sends before that opens is kept, and the run ends.
    """

    balances: Sequence[Balance]
    books_out: bool
    tomorrow: FloatArray | None = None

    def prepare(self, balances: Sequence[Balance], *, books_out: bool) -> None:
        """Take the account's past: one balance per session."""
        self.balances, self.books_out = balances, books_out
        self.row = -1
        self.booked_out: list[tuple[int, float]] = []
        self._basket: Basket | None = None

    def submit_basket(self, basket: Basket) -> None:
        """Orders of a rebalance; only the latest are kept. Those for the open say there what they are."""
        self.tomorrow, self._basket = basket.deltas, basket

    def book_out(self, owner: Any, place: int, price: float) -> None:
        """A position without a market: booked out if this account may do that by itself, else left to the broker."""
        if self.row == len(self.balances) - 1:
            self.booked_out.append((place, price))
        if self.books_out:
            super().book_out(owner, place, price)

    def buy(self, owner: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Refuse single orders."""
        raise StrategyError(
            "the strategy calls buy() or sell() itself; a paper account carries out the weights of a tracker: "
            "return them from make_algorithm, or run the strategy in your own cerebro with PaperStore"
        )

    sell = buy

    def next(self) -> None:
        """The broker's turn on a bar."""
        self.row += 1
        due, self.tomorrow = self.tomorrow, None
        basket, self._basket = self._basket, None
        if basket is not None and due is None:
            bar = basket.owner.gate.read()
            # Of tomorrow nobody knows what will be traded.
            due = basket.route.asked(self.cash, bar if self.row < len(self.balances) else replace(bar, depth=None))
        if self.row == len(self.balances):
            self.tomorrow = due
            self.cerebro.runstop()
            return
        balance = self.balances[self.row]
        self.cash = balance.cash
        (strategy,) = self.cerebro.runningstrats
        strategy.route.part.owned.sizes = balance.sizes
        if balance.owed and due is not None:
            strategy.tracker.owe()
        self._get_value()


class _Watcher(bt.Analyzer):
    """Keeps the weights after each close, and the state after the last."""

    def start(self) -> None:
        """Drop the data of an earlier run."""
        self.past: list[FloatArray] = []

    def next(self) -> None:
        """Close of a bar."""
        run = self.strategy
        self.past.append(run.weights)
        if run.broker.row == len(run.broker.balances) - 1:
            route, sent, keeper = run.route, run.broker.tomorrow is not None, run.tracker.keeper
            self.turnover = None if keeper is None else keeper.turnover_limit
            self.state_hash = state_hash(run.algorithm)
            self.checkpoint = Checkpoint(run.tracker, run.bar, Balance(route.cash(), route.sizes()), sent).to_text()

    prenext = next


#: What a strategy may not override, or cerebro is needed to run it.
_HOOKS = (
    "__init__", "next", "prenext", "nextstart", "next_open", "prenext_open", "nextstart_open", "start", "stop", "signal_lines",
    "notify_order", "notify_trade", "notify_cashvalue", "notify_fund", "notify_timer", "notify_data", "notify_store",
)  # fmt: skip


def needs_cerebro(strategy: type[TrackerStrategy]) -> bool:
    """Whether a strategy does more on a bar than its tracker does: lines of its own, other hooks."""
    return any(getattr(strategy, name, None) is not getattr(TrackerStrategy, name, None) for name in _HOOKS)


def wish_by_cerebro(
    panel: MarketPanel,
    strategy: type[TrackerStrategy],
    params: dict[str, Any],
    costs: CostModel,
    balances: Sequence[Balance],
    opening: int,
    *,
    books_out: bool,
) -> Wish:
    """Run a strategy over the bars of an account; return what it wants next.

    Parameters
    ----------
    panel : MarketPanel
        T sessions and tomorrow, in units.
    balances : sequence of T Balance
    opening : int
        Row of the account's first session. Before it nothing is traded, only learned.
    books_out : bool
        Whether the strategy may book out positions that have no market.

    Raises
    ------
    StrategyError
        The strategy raised. Errors that tell what to do come through as they are.
    """
    # Computed ahead of the run, indicators fail when there are fewer bars than they need; a young account has few.
    cerebro = bt.Cerebro(stdstats=False, runonce=not needs_cerebro(strategy))
    IndexData(panel).add_to(cerebro, lazy=True)
    broker = JournalBroker()
    broker.prepare(balances, books_out=books_out)
    cerebro.setbroker(broker)
    charge(broker, costs)
    cerebro.addstrategy(strategy, **params, trade_from=panel.dates[opening])
    cerebro.addanalyzer(_Watcher, _name="watcher")
    try:
        with more_to_come():
            (run,) = cerebro.run()
    except TrackerError:
        raise
    except Exception as problem:  # a strategy may raise anything
        row = min(broker.row, len(balances) - 1)
        raise StrategyError(
            f"{strategy.__name__} raised {type(problem).__name__}: {problem} on {panel.day(max(row, 0))}; nothing "
            "was decided. Fix the strategy and step again"
        ) from problem
    seen = run.analyzers.watcher
    return Wish(
        seen.past[-1], broker.tomorrow, broker.booked_out, seen.state_hash, seen.checkpoint, np.array(seen.past), seen.turnover
    )
