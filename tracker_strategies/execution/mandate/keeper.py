"""Keeper: the last thing done to a decision. What the learner wishes becomes what the mandate allows.

One order, in one place: names, amounts (with the price of trading and the turnover in the same problem), band, lots. Nothing
comes after it but the arithmetic of paying for it. Inside, names are in the order of their symbols, whatever that of the feeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.mandate.account import AccountState, Decided, Stages
from tracker_strategies.execution.mandate.amounts.reviews import Amounts
from tracker_strategies.execution.mandate.amounts.solver import Start
from tracker_strategies.execution.mandate.banding import banded
from tracker_strategies.execution.mandate.binding import bind
from tracker_strategies.execution.mandate.feasibility.checking import check
from tracker_strategies.execution.mandate.fills import FillGuard
from tracker_strategies.execution.mandate.limits import BarLimits, BoolArray, FloatArray, IndexArray, Region
from tracker_strategies.execution.mandate.lots.shares import mended_lots, shares_in_lots
from tracker_strategies.execution.mandate.mandate import Mandate
from tracker_strategies.execution.mandate.metric import ErrorModel, Metric
from tracker_strategies.execution.mandate.names.choosing import choose
from tracker_strategies.execution.mandate.pacing import ALWAYS, Pacing, prices_of_trading
from tracker_strategies.execution.mandate.record import Forced, said, stuck
from tracker_strategies.execution.sums import total

GivenMetric = Callable[[], tuple[FloatArray, FloatArray] | None] | None
#: Share of the account that may be missing when it counts as having reached its target.
NEAR = 0.05
#: Weights that differ by less are the same: no trade.
SAME = 1e-13
#: By how much a weight may be over a limit before it is cured: rounding.
SLACK = 1e-9
#: Share of the account in cash, above what the last search for lots has left, that asks for another one.
IDLE = 5e-4


class Keeper:
    """Keeps a mandate for one tracker.

    Parameters
    ----------
    mandate : Mandate
    symbols : sequence of N str
        In the order of the feeds.

    Attributes
    ----------
    guard : FillGuard
        What is left of its trades at the prices of the fill.
    entered : bool
        Whether the account has been at its target once.
    forced : list of Forced
        Limits that gave way so far, in the order of time.
    rounding : (float, int)
        Sum of the squared tracking errors per bar that rounding to lots is expected to cost, and the number of decisions.
    stages : Stages or None
        Of the latest decision; None unless somebody asked for them by :meth:`watch`.
    """

    def __init__(self, mandate: Mandate, symbols: Sequence[str]) -> None:
        self.mandate = mandate
        order = sorted(range(len(symbols)), key=symbols.__getitem__)
        plain = order == list(range(len(symbols)))
        self._order: IndexArray | None = None if plain else np.array(order)
        self._place: IndexArray | None = None if plain else np.argsort(order)
        self.symbols = tuple(symbols[i] for i in order)
        self.limits = limits = bind(mandate, self.symbols)
        self.promised = bind(mandate, self.symbols, headroom=False) if mandate.headroom else limits
        self.guard = FillGuard.of(limits, self._order)
        self.model = ErrorModel(len(symbols))
        self.entered = False
        self.forced: list[Forced] = []
        self.rounding = (0.0, 0)
        self._pacing = Pacing()
        self._members = tuple(group.members for group in limits.groups)
        self._group_lower, self._group_upper = (
            np.array([getattr(g, side) for g in limits.groups]) for side in ("lower", "upper")
        )
        self._chooses = limits.max_names is not None or bool(limits.least.any()) or any(g.max_names for g in limits.groups)
        self._amounts = Amounts()
        self._names: Start | None = None  # multipliers of the last choice of names, which save time
        self._wanted: BoolArray | None = None  # names chosen, while others are still leaving for them
        self._aim: FloatArray | None = None
        self._idle = 0.0  # what the last search for lots has left

        self.stages: Stages | None = None

    # -- what it knows ----------

    def watch(self) -> None:
        """Keep the stages of each decision, which takes a second solution where trades are held back."""
        self.stages = Stages(None, np.zeros(len(self.symbols)))

    @property
    def aim(self) -> FloatArray | None:
        """(N,) weights that the account is on its way to: the latest decision, whatever the turnover allows of it in one go."""
        return None if self._aim is None else self._out(self._aim)

    def learn(self, x: FloatArray, y: Any, weights: FloatArray, seen: BoolArray | None = None) -> None:
        """Take in the returns of a bar, and the weights that were decided before it."""
        goal = y if isinstance(y, float) else float(np.mean(y))
        self._pacing.pass_bar()
        self.model.update(self._in(x), goal, self._in(seen), float(weights.dot(x)) - goal * float(np.add.reduce(weights)))

    def forget(self, left: BoolArray) -> None:
        """Forget all about names that left."""
        self.model.forget(self._in(left))

    def look(self, sizes: FloatArray, prices: FloatArray, cash: float) -> None:
        """See whether the account has reached its target; before the first decision, whether it begins invested."""
        if self.entered:
            return
        goal = self.limits.total if self._aim is None else float(self._aim.sum())
        worth = float(np.where(sizes > 0.0, sizes * prices, 0.0).sum())
        self.entered = worth > 0.0 and goal - worth / (cash + worth) <= NEAR

    def is_breached(self, account: AccountState) -> bool:
        """Whether what is held is over a limit that a trade could restore."""
        return self.promised.is_breached(self._in(account.held), self._in(account.tradable))

    # -- deciding ----------

    def decide(
        self,
        wish: FloatArray | None,
        account: AccountState,
        costs: CostModel,
        date: Any,
        *,
        metric: GivenMetric = None,
        pace: tuple[int | None, float] = ALWAYS,
        note: bool = True,
    ) -> Decided:
        """What to hold, from what the learner wishes to hold.

        Parameters
        ----------
        wish : (N,) float or None
            Weights >= 0 with sum 1, in the order of the feeds; None for what is held, which gives the smallest trade that
            restores all limits.
        account : AccountState
        costs : CostModel
            What trades will pay; the turnover is kept with them.
        date
            Of the bar, for the record.
        metric : callable, optional
            Returns what a difference of weights costs, as the learner sees it, (d, B) for diag(d) + BB', or None; called where it
            is needed. By default, as the mandate sees it.
        pace : (int or None, float)
            How many times the learner has reviewed names so far, None for on every bar; and the share of the way to its amounts
            that it goes on a bar.
        note : bool, default True
            Whether to write down which limits gave way. False for a decision that is made once more, at other prices.
        """
        held, active = self._in(account.held), self._in(account.active)
        if self._aim is None:
            self._refuse(account, active)
        target = held if wish is None else self._in(wish) * self.limits.total
        turnover = np.inf if (limit := self.turnover_limit) is None else account.payable_turnover(limit, costs)
        now = {"entered": self.entered, "chooses": self._chooses, "again": not note}
        tries, share, due = (0, 1.0, False) if wish is None else self._pacing.decide(pace, **now)
        lots = self._in(account.lot_values(self.mandate.lot)) if self.mandate.lot else None
        tradable, measure = self._in(account.tradable), None
        region = Region(held, held, held, self.limits.total, self._members, self._group_lower, self._group_upper, turnover)
        known = self._amounts.between(target, region, self.limits, tradable, active, lots, self._idle + IDLE)
        if known is not None and not due:
            weights, bar = known
            aim = weights
        else:
            measure = self._measure(metric)
            if wish is not None:
                self._amounts.forget()
                self._pacing.settle()
            # Between two reviews of the names, those that can keep the limits stay.
            stay = known is not None and not tries and self._wanted is None
            bar = known[1] if known and stay else self._bar(target, held, lots, tradable, active, measure, turnover, tries)
            prices = prices_of_trading(self.mandate.cost_aware, self.model.tracking_error, entered=self.entered)
            weights, region, gave = self._amounts.review(target, bar, self.limits, measure, prices, share, active)
            self.forced += said(gave if note else (), date, self.symbols, self.limits)
            aim = weights
            if not self.entered and turnover < np.inf:  # where it goes in the end, with names that have no place yet
                end = self._bar(target, held, lots, tradable, active, measure, np.inf, tries)
                aim = self._amounts.nearest(target, end, end.region, self.limits, measure, prices).weights
        if (stages := self.stages if note else None) is not None and wish is not None:
            stages = Stages(self._out(self._at_once(metric, target, held, lots, tradable, active)), stages.traded)
        if self.mandate.band:
            weights = banded(weights, region, self.mandate.band)
        if stages is not None:
            self.stages = stages._replace(traded=self._out(weights))
        shares = None
        if lots is not None:
            sizes, values, wanted = self._in(account.sizes), self._in(account.prices), weights
            rate, fee = np.maximum(*costs.taken(self._order).side_rates(values)), costs.min_fee / account.value
            if measure is None:
                shares = mended_lots(weights, region, lots, sizes, self.mandate.lot, rate, fee, self._idle + 2.0 * IDLE)
            if shares is None:
                measure = measure or self._measure(metric)
                within = self.limits.narrowed(region)
                shares = shares_in_lots(weights, region, within, bar, sizes, self.mandate.lot, measure, self.model, rate, fee)
                weights = shares * values / account.value
                self._idle = max(region.total - total(weights), 0.0)
                if note:
                    self.rounding = (self.rounding[0] + measure.square(weights - wanted), self.rounding[1] + 1)
            weights = shares * values / account.value
            aim = weights if turnover == np.inf else aim
        self._aim = aim
        free = bar.can_sell if active is None else bar.can_sell & active
        if note and not np.logical_and.reduce(free):
            self.forced += stuck(weights, ~free, date, self.symbols, self.promised)
        moved = np.abs(weights - held) > SAME * (weights != 0.0)  # a position that is sold out leaves nothing
        weights = self._out(weights)
        weights.setflags(write=False)
        return Decided(weights, self._out(moved), None if shares is None else self._out(shares), limit)

    def _at_once(self, metric: GivenMetric, target: FloatArray, *view: Any) -> FloatArray:
        """What the limits alone allow of a target, whatever holds trades back. It leaves no trace in later decisions."""
        before = self.model, self._names, self._wanted, self._pacing
        self.model, self._pacing = deepcopy(self.model), copy(self._pacing)
        measure = self._measure(metric)
        bar = self._bar(target, *(*view, measure, np.inf, 0))
        found = Amounts().nearest(target, bar, bar.region, self.limits, measure, (0.0, 0.0)).weights
        self.model, self._names, self._wanted, self._pacing = before
        return found

    def _refuse(self, account: AccountState, active: BoolArray | None) -> None:
        """Raise what cannot hold with the names and prices of the first decision."""
        listed = np.ones(len(self.symbols), dtype=np.bool_) if active is None else active
        check(
            self.limits,
            listed & self._in(account.priced),
            self.symbols,
            prices=self._in(account.prices),
            cash=account.value,
            lot=self.mandate.lot,
            headroom=self.mandate.headroom,
        )

    def _measure(self, metric: GivenMetric) -> Metric:
        """What a difference of weights costs, as the learner sees it, or else as the mandate does."""
        given = None if metric is None else metric()
        return self.model.metric() if given is None else Metric(self._in(given[0]), self._in(given[1]))

    def _bar(
        self,
        target: FloatArray,
        held: FloatArray,
        lots: FloatArray | None,
        tradable: BoolArray | None,
        active: BoolArray | None,
        metric: Metric,
        turnover: float,
        tries: int,
    ) -> BarLimits:
        """What is allowed on this bar: which names, and between which bounds."""
        limits = self.limits
        upper, lower, can_buy, can_sell = limits.upper, limits.must, limits.buyable, limits.sellable
        if active is not None:
            upper = np.where(active, upper, 0.0)
        if lots is not None:
            upper = np.where(lots <= upper + SLACK, upper, 0.0)
        if tradable is not None:
            can_sell = can_sell & tradable
        if not (upper is limits.upper and tradable is None):
            can_buy = (upper > 0.0) & can_sell
        unwanted = limits.unwanted if upper is limits.upper else np.flatnonzero(upper == 0.0)
        if self._chooses or (turnover < np.inf and len(unwanted) and bool((held[unwanted] > 0.0).any())):
            now = limits if upper is limits.upper else replace(limits, upper=upper, must=np.where(upper > 0.0, limits.must, 0.0))
            known: dict[str, Any] = {"turnover": turnover, "start": self._names, "tries": tries, "wanted": self._wanted}
            chosen = choose(target, held, now, metric, can_buy=can_buy, must_keep=~can_sell & (held > 0.0), **known)
            self._wanted = chosen.wanted if chosen.leaving.any() else None
            if self._wanted is not None:
                self._pacing.review_again()
            lower, upper, self._names = chosen.lower, chosen.upper, chosen.start
            can_buy = can_buy & chosen.support
        elif active is not None or tradable is not None:
            lower = np.minimum(lower, upper)
        if not np.logical_and.reduce(can_sell):
            upper, lower = np.where(can_sell, upper, held), np.where(can_sell, lower, held)
        region = Region(lower, upper, held, limits.total, self._members, self._group_lower, self._group_upper, turnover)
        return BarLimits(region, can_buy, can_sell, lots)

    @property
    def turnover_limit(self) -> float | None:
        """Most that the next rebalance may buy and sell, as a share of the account."""
        return self.mandate.max_turnover if self.entered else self.mandate.entry_turnover

    # -- order ----------

    def _in(self, values: Any) -> Any:
        return values if self._order is None or values is None else values[self._order]

    def _out(self, values: Any) -> Any:
        return values.copy() if self._place is None else values[self._place]
