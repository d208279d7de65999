"""Tracker: what a tracking strategy does on a bar, without any engine around it.

backtrader's Strategies, the numpy replay and the paper account all drive this one class, which is why they agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.errors import UniverseError
from tracker_strategies.execution.gate import Bar
from tracker_strategies.execution.mandate.account import AccountState
from tracker_strategies.execution.mandate.keeper import Keeper
from tracker_strategies.execution.order_route import OrderRoute
from tracker_strategies.execution.rebalancer import Rebalancer
from tracker_strategies.execution.schedule import Schedule
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.execution.universe import Universe
from tracker_strategies.execution.volume.liquidity import Liquidity
from tracker_strategies.strategies.target import Target
from tracker_strategies.strategies.usual_bar import ONE, UsualBar

FloatArray = NDArray[np.float64]


class Tracker(UsualBar):
    """Learns on every bar, decides when the schedule says so, within the mandate, and trades as the fill mode says.

    Parameters
    ----------
    algorithm : OnlineAlgorithm
        Chooses the weights.
    universe : Universe
        Says which names may be held.
    schedule, rebalancer, fill : Schedule, Rebalancer, FillMode
        When to trade, how weights become orders, and at which prices they fill.
    target : Target
        Says what the targets ask for.
    signal : callable, optional
        From a bar to one number per asset, for algorithms that take side information. NaN is no view.
    order : (n,) int, optional
        Positions of the names that the algorithm knows, in its order; by default all, as the feeds have them. All that goes in
        and comes out here is in the order of the feeds.
    keeper : Keeper, optional
        Keeps the limits that the user has set; None where there are none.
    liquidity : Liquidity, optional
        Says how much of an order the market takes; None for all of it, at the quoted price.

    Attributes
    ----------
    weights : (N,) float
        Target weights for the time after the latest bar: the wish; with a mandate, what it allowed at the latest decision.
    wish : (N,) float
        What the algorithm chose at the latest bar, before the mandate.
    acts : bool
        Whether a decision was made at the latest close.
    bar : Bar or None
        The latest bar.
    start : datetime64 or None
        The first date on which it may decide; on bars before it, it only learns. None: on every bar.
    overnight : Overnight or None
        How returns over a night are learned. None: as any other.
    unfilled : float
        Value of orders that the market did not take, of those whose fills are booked on the latest bar.
    """

    def __init__(
        self,
        algorithm: OnlineAlgorithm,
        universe: Universe,
        schedule: Schedule,
        rebalancer: Rebalancer,
        fill: FillMode,
        target: Target,
        *,
        signal: Callable[[Bar], Any] | None = None,
        order: NDArray[np.int64] | None = None,
        keeper: Keeper | None = None,
        liquidity: Liquidity | None = None,
    ) -> None:
        self.algorithm, self.universe, self.schedule, self.rebalancer, self.fill = algorithm, universe, schedule, rebalancer, fill
        self.target, self.signal, self.keeper, self.liquidity, self._order = target, signal, keeper, liquidity, order
        self._n = algorithm.n_assets if keeper is None else len(keeper.symbols)
        # Where some names are unknown to the algorithm, there is no way back by a permutation.
        self._place = None if order is None or len(order) < self._n else np.argsort(order)
        self.weights: FloatArray = np.zeros(self._n)
        self.wish = self.weights
        self.bar: Bar | None = None
        self._base: Bar | None = None  # the bar that the next return is measured from
        self._span = 0  # bars since
        self._changed = self._owed = self._again = self._curing = self.acts = False
        self.begin_fills()

    def close(self, bar: Bar, route: OrderRoute) -> None:
        """Close of bar t: learn, decide, and (fill mode ``close``) trade."""
        if self.close_usual(bar, route):
            return
        if self.start is not None:
            if bar.date < self.start:
                self.study(bar)
                return
            self.start, self._again = None, True  # its first rebalance, whatever the schedule says
        entering = self.keeper is not None and self._is_entering(bar, route)
        self.decide(bar, route, due=self.observe(bar) or entering or self._owed)

    def study(self, bar: Bar) -> None:
        """A bar on which nothing is decided: learn. What the algorithm chose counts as the target."""
        self.observe(bar)
        self.weights = self.wish

    def decide(self, bar: Bar, route: OrderRoute, *, due: bool = True) -> None:
        """Decide at the close of a bar that was learned from, if a rebalance is due."""
        if (gone := self.universe.gone) is not None:
            for i in np.flatnonzero(gone & (route.sizes() > 0.0)).tolist():
                self.universe.booked_out(bar, i, float(route.sizes()[i]))
                route.book_out(i, float(bar.close[i]))
        self._decided = None
        self.unfilled, self._left = self._left, 0.0
        self._owed = due and self._misses(bar, route)
        curing = not due and self._must_cure(bar, route)
        self.acts = due or curing
        if self.acts:
            self._goal = None
        self._resent = self._goal is not None
        if not (self.acts or self._resent) or (self.liquidity is not None and self._cannot_trade(bar)):
            return
        if self.fill is FillMode.OPEN and self.keeper is None and not self._resent:
            self._decided = self.wish
            return
        sizes, pending = route.sizes(), route.pending()
        deltas = self._rest(sizes, pending) if self._resent else self._plan(bar, bar.close, route, pending, curing=curing)
        if self.fill is FillMode.CLOSE:
            route.submit(deltas if self.liquidity is None else self._taken(bar, bar.close, deltas, route, pending))
        else:
            self._decided, self._sizes, self._curing = deltas, sizes if pending is None else None, curing

    def open(self, bar: Bar, route: OrderRoute) -> None:
        """Open of bar t+1: send what was decided at the close of bar t, as far as the names trade and the cash reaches."""
        if self._decided is None:
            return
        decided, self._decided = self._decided, None
        opens, pending = bar.open, route.pending()
        self._owed = self._owed or self._misses(bar, route)
        if self.fill is FillMode.OPEN and not self._resent:
            deltas = self._plan(bar, opens, route, pending, curing=self._curing, again=True)
            if self.liquidity is not None:
                deltas = self._taken(bar, opens, deltas, route, pending)
        else:
            deltas = self._taken(bar, opens, decided, route, pending)
        route.submit(deltas)

    def _plan(
        self,
        bar: Bar,
        prices: FloatArray,
        route: OrderRoute,
        pending: FloatArray | None,
        *,
        curing: bool = False,
        again: bool = False,
    ) -> FloatArray:
        """Shares to trade, for what the algorithm wishes as far as the mandate allows it; `again`: for a decision that stands."""
        sizes, cash, rebalancer, keeper = route.sizes(), route.cash(), self.rebalancer, self.keeper
        if keeper is None and self.liquidity is None:
            tradable = None if bar.age is None else bar.current
            return rebalancer.plan(self.wish, sizes, prices, cash, tradable=tradable, pending=pending)
        tradable, costs = self._tradable(bar), rebalancer.costs
        if self.liquidity is not None and bar.depth is not None:
            rebalancer = self.liquidity.priced(rebalancer, bar.depth, ahead=True)
        if keeper is None:
            return rebalancer.plan(self.wish, sizes, prices, cash, tradable=tradable, pending=pending)
        account = AccountState.of(sizes, prices, cash, tradable, self.universe.active, pending, costs)
        if keeper.aim is None:
            keeper.look(sizes, prices, cash)  # an account that begins invested has no entry
        view: dict[str, Any] = {"metric": self._metric, "pace": self.algorithm.pace(), "note": not again}
        decided = keeper.decide(None if curing else self.wish, account, costs, bar.date, **view)
        if not again:
            self.weights = decided.weights
        trades = decided.trades(account, rebalancer, keeper.limits.min_cash)
        return keeper.guard.kept(trades, account, None, rebalancer)  # a sell that is not worth its fee keeps its slot

    def _metric(self) -> tuple[FloatArray, FloatArray] | None:
        """What a difference of weights costs, as the algorithm sees it, in the order of the feeds."""
        given = self.algorithm.metric()
        if given is None or self._order is None:
            return given
        d, B = np.full(self._n, float(np.median(given[0]))), np.zeros((self._n, given[1].shape[1]))
        d[self._order], B[self._order] = given
        return d, B

    def _is_entering(self, bar: Bar, route: OrderRoute) -> bool:
        """Whether the account has been on its way to its first target, and is not there yet."""
        if (keeper := self.keeper) is None or keeper.entered or keeper.aim is None:
            return False
        keeper.look(route.sizes(), bar.close, route.cash())
        return not keeper.entered

    def _must_cure(self, bar: Bar, route: OrderRoute) -> bool:
        """Whether prices have carried a weight over a limit that is to be restored on every bar."""
        if (keeper := self.keeper) is None or keeper.mandate.cure != "bar" or not keeper.entered or self._base is None:
            return False
        return keeper.is_breached(AccountState.of(route.sizes(), bar.close, route.cash(), bar.current, self.universe.active))

    @property
    def aim(self) -> FloatArray:
        """(N,) weights that the account is on its way to: the target weights, whatever one rebalance may turn over."""
        aim = None if self.keeper is None else self.keeper.aim
        return self.weights if aim is None else aim

    def owe(self) -> None:
        """Rebalance at the next close, whatever the schedule says."""
        self._again = True

    def observe(self, bar: Bar) -> bool:
        """Learn from a bar without trading; True when the schedule, or a change of the universe, asks for a trade.

        Nothing happens before the targets and one asset have a price. On a bar without a level of the target nothing is learned;
        the next one that has it is compared with the last that had.
        """
        self.bar = bar
        self._span += 1
        before = self.universe.active
        changed = self.universe.follow(bar)
        active = self.universe.active
        if changed and self.keeper is not None and active is not None:
            self.keeper.forget(~active if before is None else before & ~active)
        if self._base is None:
            if not (np.isfinite(bar.target).all() and (active is None or active.any())):
                return False
            self._base, self._span = bar, 0
            self.wish = self._out(self.algorithm.weights if active is None else self.algorithm.restrict(self._allowed(active)))
        elif bar.fresh:
            self.wish = self._learn(self._base, bar)
            self._base, self._span = bar, 0
        elif changed:
            self.wish = self._out(self.algorithm.restrict(self._allowed(active)))
        if self.keeper is None:
            self.weights = self.wish
        # Names enter at weight zero and get their weight on the bar after: a change of the universe is worth two trades.
        late, again, self._changed, self._again = self._changed, self._again, changed, False
        return self.schedule.due(bar.date) or changed or late or again

    def _learn(self, before: Bar, bar: Bar) -> FloatArray:
        y = self.target.returns(before.target, bar.target, self._span)
        x = bar.close / before.close
        x -= ONE
        extra: dict[str, Any] = {}
        if self.signal is not None:
            numbers = np.nan_to_num(np.asarray(self.signal(bar), dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
            extra["signal"] = self._in(numbers) if numbers.shape == x.shape else numbers  # to be refused by the learner
        active, seen = self.universe.active, None
        if not (bar.age is None and before.age is None and active is None):
            seen = bar.traded_since(before)
            x = np.where(seen, x, 0.0)
            extra |= {"active": self._allowed(active), "observed": self._in(seen)}
        if self.keeper is not None:
            self.keeper.learn(x, y, self.weights, seen)
        if self.overnight is not None:
            x, y = self.overnight.weigh(before.date, bar.date, x, y, extra, self.algorithm.n_assets)
        return self._out(self.algorithm.update(self._in(x), y, **extra))

    def run(self, x: FloatArray, y: Any) -> FloatArray:
        """Learn from T bars on which every name was seen and may be held; return the weights before the first and after each."""
        if self._order is None:
            return self.algorithm.run(x, y)
        assert self._place is not None
        return np.ascontiguousarray(self.algorithm.run(x[:, self._order], y)[:, self._place])

    def _in(self, values: Any) -> Any:
        """One value per name (or None), from the order of the feeds to that of the algorithm."""
        return values if self._order is None or values is None else values[self._order]

    def _allowed(self, active: Any) -> Any:
        """The names that may be held, in the order of the algorithm."""
        mine = self._in(active)
        if mine is not None and not mine.any():
            raise UniverseError("no asset can be held: each one is excluded, unlisted, in warm-up or delisted")
        return mine

    def _out(self, weights: FloatArray) -> FloatArray:
        """Weights, from the order of the algorithm to that of the feeds."""
        if self._order is None:
            return weights
        found = np.zeros(self._n) if self._place is None else weights[self._place]
        if self._place is None:
            found[self._order] = weights
        found.setflags(write=False)
        return found
