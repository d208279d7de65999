"""What a market takes of a tracker's orders, and what becomes of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.gate import Bar
from tracker_strategies.execution.mandate.account import AccountState
from tracker_strategies.execution.mandate.keeper import Keeper
from tracker_strategies.execution.order_route import OrderRoute
from tracker_strategies.execution.rebalancer import Rebalancer
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.execution.universe import Universe
from tracker_strategies.execution.volume.depth import Depth
from tracker_strategies.execution.volume.liquidity import Liquidity

FloatArray = NDArray[np.float64]


class MarketFills:
    """The part of a tracker that meets the market: bars that are missing, volume, cash and slots limit what is traded.

    What the volume leaves unfilled is cancelled on the bar that fills. Where it is carried, the shares that the orders were to
    lead to are kept, and what is missing is ordered again on the next bars, until all is filled or a rebalance decides anew.
    """

    keeper: Keeper | None
    liquidity: Liquidity | None
    universe: Universe
    rebalancer: Rebalancer
    fill: FillMode
    _owed: bool

    def begin_fills(self) -> None:
        """Nothing is decided, and nothing under way."""
        self._decided: FloatArray | None = None
        self._sizes: FloatArray | None = None  # what it was decided for; a route never writes to sizes it has handed out
        self._depth: Depth | None = None  # of the bar that fills
        self._goal: FloatArray | None = None  # shares that orders under way lead to
        self._resent = False  # whether the orders of this bar are the rest of older ones
        self.unfilled = self._left = 0.0

    def put_off(self) -> None:
        """Give up what was to be sent at the open; the rebalance stays due."""
        self._decided, self._owed = None, True

    @property
    def waits(self) -> bool:
        """Whether something decided at the last close is still to be sent."""
        return self._decided is not None

    def _taken(
        self, bar: Bar, prices: FloatArray, wanted: FloatArray, route: OrderRoute, pending: FloatArray | None
    ) -> FloatArray:
        """As much of the orders as trades at these prices: as far as bars, volume and cash reach, and slots are free."""
        current, sizes, cash, liquidity, deltas = bar.current, route.sizes(), route.cash(), self.liquidity, wanted
        if current is not None:
            deltas, prices = np.where(current, deltas, 0.0), np.where(np.isfinite(prices), prices, 1.0)
        asked, self._depth, limit = deltas, bar.depth, None
        if liquidity is not None and bar.depth is not None:
            deltas = liquidity.taken(deltas, bar.depth, self.rebalancer.lot)
        limited, market = deltas is not asked, self.market
        same = pending is None and sizes is self._sizes
        if self.keeper is not None:
            account = AccountState.of(sizes, prices, cash, None, None, pending, market.costs)
            limit = self.keeper.turnover_limit if self.fill is FillMode.NEXT_OPEN else None  # others were planned at these prices
            kept = self.keeper.guard.kept(deltas, account, limit, market)
            same, deltas = same and kept is deltas, kept
        deltas = market.fit(deltas, sizes, prices, cash, pending=pending, unchanged=same)
        if liquidity is not None:
            # Buys that wait for the cash of a sell wait with it.
            self._left = float((np.abs(asked) - np.abs(deltas)) @ prices) if limited else 0.0
            waits = limited or (self._resent and bool((asked != wanted).any()))
            if not (waits and liquidity.carries):
                self._goal = None
            elif not self._resent:
                self._goal = sizes + wanted if pending is None else sizes + pending + wanted
        return deltas

    def _rest(self, sizes: FloatArray, pending: FloatArray | None) -> FloatArray:
        """What is left of orders under way."""
        assert self._goal is not None
        return self._goal - sizes if pending is None else self._goal - sizes - pending

    @property
    def market(self) -> Rebalancer:
        """The rebalancer with what the bar that fills charges."""
        if self.liquidity is None or self._depth is None:
            return self.rebalancer
        return self.liquidity.priced(self.rebalancer, self._depth)

    def _misses(self, bar: Bar, route: OrderRoute) -> bool:
        """Whether a rebalance on this bar cannot reach every name, because some cannot be traded: then it stays due."""
        if bar.age is None and self.liquidity is None:  # the usual case, asked twice on every bar
            return False
        tradable, active = self._tradable(bar), self.universe.active
        if tradable is None:
            return False
        absent = ~tradable
        return bool((absent if active is None else absent & (active | (route.sizes() > 0.0))).any())

    def _tradable(self, bar: Bar) -> Any:
        """(N,) names that have a bar, and a past where the market's price depends on it; None for all."""
        if self.liquidity is None or bar.depth is None:
            return bar.current
        return self.liquidity.tradable(bar.depth, bar.current)

    def _cannot_trade(self, bar: Bar) -> bool:
        """Whether no name can be traded yet, because the market's price depends on a past that none has."""
        tradable = None if self.liquidity is None else self._tradable(bar)
        return tradable is not None and not tradable.any()
