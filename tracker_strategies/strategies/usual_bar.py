"""The usual bar of a tracker: every name trades and always has, and cash is the only limit to what it orders for the next open.

Most bars of most runs are of this kind. The questions that other bars ask would cost more than the answers to this one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.execution.gate import Bar
from tracker_strategies.execution.order_route import OrderRoute
from tracker_strategies.execution.overnight import Overnight
from tracker_strategies.execution.schedule import Schedule
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.execution.usual_case import Outcome, shrunk
from tracker_strategies.execution.volume.market_fills import MarketFills
from tracker_strategies.strategies.target import Target

FloatArray = NDArray[np.float64]
ONE = np.ones(())  # spares numpy the conversion
#: Steps of the long way that the short one does without. Who puts one of his own on a tracker has it called.
LONG_WAY = frozenset(("observe", "decide", "open", "_learn", "_plan", "_taken", "_misses", "_in", "_out"))


class UsualBar(MarketFills):
    """The short way of a :class:`~tracker_strategies.strategies.tracker.Tracker` over such a bar: the same decisions as on its
    long way, and the same account up to rounding. A subclass, which may do anything else on a bar, always takes the long one.
    """

    algorithm: OnlineAlgorithm
    target: Target
    schedule: Schedule
    signal: Any
    bar: Bar | None
    weights: FloatArray
    wish: FloatArray
    acts: bool
    start: np.datetime64 | None = None
    overnight: Overnight | None = None
    _base: Bar | None
    _span: int
    _order: NDArray[np.int64] | None
    _changed: bool
    _again: bool
    _takes_short_way = False
    #: How many attributes it had when none of them was a step of its own.
    _own = -1

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._takes_short_way = UsualBar in cls.__bases__

    def _may_be_usual(self) -> bool:
        """Whether nothing but cash can limit an order for the next open, and no step of the long way is another one than ours."""
        if self.keeper is not None or self.liquidity is not None or self.fill is not FillMode.NEXT_OPEN:
            return False
        own = self.__dict__
        if len(own) != self._own:  # to look for nine names takes ten times as long as to count
            if not LONG_WAY.isdisjoint(own):
                return False
            self._own = len(own)
        return self._takes_short_way

    def close_usual(self, bar: Bar, route: OrderRoute) -> bool:
        """Learn and decide at the close if the bar is a usual one, and the one before it was; False, and nothing, if not."""
        base = self._base
        if base is None or bar.age is not None or base.age is not None or not bar.fresh or bar.member is not None:
            return False
        if not self._may_be_usual() or self.universe.active is not None or self._span:
            return False
        if self._order is not None or self.start is not None or self.signal is not None or self.overnight is not None:
            return False
        y = self.target.returns(base.target, bar.target)
        x = bar.close / base.close
        x -= ONE
        self.bar, self._span = bar, 1
        self.weights = self.wish = self.algorithm.update(x, y)
        self._base, self._span = bar, 0
        self.acts = due = self.schedule.due(bar.date) or self._changed or self._again or self._owed
        self._changed = self._again = self._owed = False
        self._decided = None
        if due:
            sizes, pending = route.sizes(), route.pending()
            self._decided = self.rebalancer.plan(self.wish, sizes, bar.close, route.cash(), pending=pending)
            self._sizes = sizes if pending is None else None
        return True

    def open_usual(self, bar: Bar, sizes: FloatArray, cash: float) -> tuple[FloatArray, Outcome] | None:
        """Take what was decided for these very sizes, as far as the cash reaches at the open, and what that does there: change of
        cash, value traded and costs. None, and nothing, where there is more to ask.
        """
        decided, rebalancer = self._decided, self.rebalancer
        if decided is None or sizes is not self._sizes or bar.age is not None or not self._may_be_usual():
            return None
        if rebalancer.lot or not rebalancer.costs.by_value:
            return None
        self._decided = None
        return shrunk(decided, bar.open, cash, rebalancer.costs)
