r"""Which names may be held: a rule that starts from those held and changes one only where it pays.

At most K names, at most K_g of a group, and none below its least weight: the best choice is a hard problem, and one that is
solved anew on every bar churns. Here the names held stay, and a name gives its place to another one only where the squared
distance to the wish falls by more than :data:`SHARE` of itself.

Which exchange may pay is read off the multipliers :math:`\nu` of the portfolio at hand. For given multipliers the Lagrangian is
a sum over names, and a name that may be held lowers it by

.. math:: a_i = q_i(0) - \min_{l_i \le w \le u_i} q_i(w), \qquad q_i(w) = \tfrac12 d_i (w - z_i)^2 + \nu_i w

By weak duality no exchange of j for i improves by more than :math:`a_i - a_j`: where that is too little for every pair nothing
is tried, and the usual bar costs one small solution. The others are tried with exact amounts, the most promising ones first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from tracker_strategies.execution.mandate.amounts.solver import Start
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Limits, Region
from tracker_strategies.execution.mandate.metric import Metric
from tracker_strategies.execution.mandate.names.exchanges import by_worth, exchanges, exchanges_of_two
from tracker_strategies.execution.mandate.names.leaving import staged
from tracker_strategies.execution.mandate.names.repairing import least_infeasible, repaired
from tracker_strategies.execution.mandate.names.support import Bar, Point, groups_of

SHARE = 0.02
"""Share of the squared distance that an exchange of names has to save: below it, the next bar may well take it back."""
TRIES, FIRST_TRIES = 4, 60
"""Exchanges tried with exact amounts on a bar; and where nothing is held, and the choice is made from nothing."""
SMALL = 200
"""Up to as many pairs of a name held and one not held, as many as :data:`MANY` are tried on every bar."""
MANY = 400
_STRICT = 1e-9
_REPEATS = 8


@dataclass(frozen=True, eq=False)
class Chosen:
    """Names that may be held after a decision.

    Parameters
    ----------
    support : (N,) bool
        Names that may be held; all others are sold in full now.
    lower, upper : (N,) float
        Bounds of each name on this bar: 0 outside the support, what is held for a name that cannot be traded.
    feasible : bool
        Whether the limits, turnover aside, can hold with these names. If not, no choice of names is feasible. Where every name
        may be held there is no choice, and only names that must be held are looked at.
    leaving : (N,) bool
        Names in the support that are on their way out: the turnover does not allow to sell them in full now.
    wanted : (N,) bool
        Names that shall be held in the end.
    start : optional
        Prices of names and groups, where the next bar may start.
    """

    support: BoolArray
    lower: FloatArray
    upper: FloatArray
    feasible: bool
    leaving: BoolArray
    wanted: BoolArray
    start: Start | None = None

    def region(self, limits: Limits, held: FloatArray, turnover: float = np.inf) -> Region:
        """Return the portfolios that are allowed with these names."""
        groups = groups_of(limits)
        return Region(self.lower, self.upper, held, limits.total, groups.members, groups.lower, groups.upper, turnover)


def choose(
    wish: FloatArray,
    held: FloatArray,
    limits: Limits,
    metric: Metric,
    *,
    can_buy: BoolArray,
    must_keep: BoolArray,
    turnover: float = np.inf,
    start: Start | None = None,
    tries: int = TRIES,
    wanted: BoolArray | None = None,
) -> Chosen:
    """Return the names that may be held after this decision.

    A wish that keeps the counts and the minimum weights by itself keeps its names. Otherwise the rule of this module holds; a
    choice that can hold the limits is found whenever there is one.

    Parameters
    ----------
    wish, held : (N,) float
        Weights asked for, and weights now.
    limits : Limits
    metric : Metric
    can_buy : (N,) bool
        Names that may be bought now.
    must_keep : (N,) bool
        Names that cannot be traded now. What is held of them stays, and counts.
    turnover : float
        Most that is bought and sold together. What leaves is sold in full, at most half of the turnover on a bar, and no name
        enters before the place is free.
    start : optional
        `start` of the choice on the bar before; it saves time and changes nothing.
    tries : int
        Exchanges tried with exact amounts; 0 keeps the names held, as long as they can hold the limits.
    wanted : (N,) bool, optional
        With 0 tries: names that were chosen before, and that some of those held are still leaving for.
    """
    bar = Bar(wish, held, limits, metric, can_buy, must_keep)
    point = None
    if bar.most >= np.count_nonzero(bar.allowed | bar.fixed) and not bar.counted and not limits.least.any():
        support, feasible = bar.allowed | bar.fixed, bar.served  # nothing to choose
    else:
        point = None if tries or wanted is None else _as_before(bar, start, wanted)
        point = point or _own(bar, start) or _from_held(bar, start, tries) or _from_nothing(bar)
        feasible = point is not None and bar.served
        support = point.support if point is not None else least_infeasible(bar)
    stage = staged(bar, support, turnover, point)
    start = None if point is None else point.prices
    return Chosen(stage.support, stage.lower, stage.upper, feasible, stage.leaving, support, start)


def _as_before(bar: Bar, start: Start | None, wanted: BoolArray) -> Point | None:
    """Return the portfolio of names that were chosen before, if they may still be held."""
    support = wanted | bar.fixed | bar.forced
    return bar.best(support, start) if bar.fits(support) and not np.any(support & ~(bar.allowed | bar.fixed)) else None


def _own(bar: Bar, start: Start | None) -> Point | None:
    """Return the portfolio of the wish's own names, if it chose them by the rules."""
    own = (bar.wish > 0) | bar.fixed
    if not bar.fits(own) or np.any(own & ~(bar.allowed | bar.fixed)) or np.any(bar.forced & ~own):
        return None
    if np.any(own & ~bar.fixed & (bar.wish < bar.floor * (1 - 1e-12))):
        return None
    return bar.best(own, start)


def _from_held(bar: Bar, start: Start | None, tries: int) -> Point | None:
    """Return the names held, improved by exchanges that pay; None if nothing is held or they cannot hold the limits."""
    kept = (bar.held > 0) & bar.allowed
    if not kept.any():
        return None
    support = kept | bar.forced | bar.fixed
    point = bar.best(support, start)
    if not bar.fits(support):
        support = _picked(bar, point.gains if point is not None else bar.held, kept)
        point = bar.best(support)
    if not tries and point is not None:
        return point
    point = _filled(bar, support, point) or repaired(bar, kept)
    return None if point is None else _improved(bar, point, _tries(bar, tries), SHARE)


def _filled(bar: Bar, support: BoolArray, point: Point | None) -> Point | None:
    """Give free places to the names worth most, if that pays or is needed; all at once, where few names are held."""
    free = bar.most - int(np.count_nonzero(support))
    outside = np.where(bar.allowed & ~support, point.gains if point is not None else np.inf, 0.0)
    if point is not None and (free <= 0 or _largest(outside, free) <= SHARE * point.value):
        return point
    guide = point or _relaxed(bar)
    if guide is None:
        return None
    for _ in range(_REPEATS):
        # Names held come first, whatever they are worth.
        first = np.where(support, 1.0 + 2.0 * np.abs(guide.gains).max(), 0.0)
        better = bar.best(_picked(bar, guide.gains + first, bar.allowed), guide.prices)
        if better is None or (point is not None and better.value >= point.value * (1 - SHARE)):
            break
        guide = point = better
    return point


def _largest(gains: FloatArray, count: int) -> float:
    gains = gains[gains > 0]
    return float(np.sort(gains)[::-1][:count].sum())


def _relaxed(bar: Bar) -> Point | None:
    """Return the portfolio without counts and minimum weights."""
    floor = np.where(bar.fixed, bar.floor, np.where(bar.forced, bar.limits.must, 0.0))
    return bar.best(bar.allowed | bar.fixed, floor=floor)


def _from_nothing(bar: Bar) -> Point | None:
    """Return a choice made without regard to what is held: from the relaxation without counts and minimum weights."""
    relaxed = _relaxed(bar)
    found: list[Point] = []
    if relaxed is not None:
        worth = bar.best(bar.allowed | bar.fixed)
        scores = [np.where(relaxed.weights >= 0.5 * bar.floor, relaxed.weights, 0.0), relaxed.gains]
        for score in scores if worth is None else [*scores, worth.gains]:
            point = bar.best(_picked(bar, score, bar.allowed), relaxed.prices)
            if point is not None:
                found.append(_improved(bar, _repeated(bar, point), _tries(bar, FIRST_TRIES), 0.0))
    if not found:
        point = repaired(bar, None if relaxed is None else relaxed.weights)
        if point is None:
            return None
        found.append(_improved(bar, point, _tries(bar, FIRST_TRIES), 0.0))
    return min(found, key=lambda point: point.value)


def _tries(bar: Bar, usual: int) -> int:
    n = int(np.count_nonzero(bar.allowed))
    return MANY if n * min(bar.most, n) <= SMALL else usual


def _repeated(bar: Bar, point: Point) -> Point:
    """Take the names that the multipliers find worth most, as long as that is better."""
    for _ in range(_REPEATS):
        better = bar.best(_picked(bar, point.gains, bar.allowed), point.prices)
        if better is None or better.value >= point.value * (1 - _STRICT):
            break
        point = better
    return point


def _picked(bar: Bar, score: FloatArray, among: BoolArray) -> BoolArray:
    """Return the names of the largest positive scores that keep counts and leave room for minimum weights, floors first."""
    groups, total = bar.groups, bar.limits.total
    support = bar.forced | bar.fixed
    order = np.flatnonzero(among & ~support)
    order = order[by_worth(score[order])]
    plain = support.copy()
    plain[order[: max(bar.most - int(np.count_nonzero(support)), 0)]] = True
    plain &= support | (score > 0)
    low, high = groups.rows @ (bar.floor * plain), groups.rows @ (bar.cap * plain)
    if not bar.counted and bar.floor[plain].sum() <= total and np.all(low <= groups.upper) and np.all(high >= groups.lower):
        return np.asarray(plain)
    counts, sums = groups.rows @ support, groups.rows @ (bar.floor * support)
    caps = groups.rows @ (bar.cap * support)
    count, taken = int(np.count_nonzero(support)), float(bar.floor[support].sum())

    def add(i: int) -> None:
        nonlocal count, taken
        inside = groups.rows[:, i] > 0
        if count >= bar.most or np.any(counts[inside] >= bar.group_most[inside]):
            return
        if taken + bar.floor[i] > total + 1e-12 or np.any((sums + bar.floor[i])[inside] > groups.upper[inside] + 1e-12):
            return
        support[i] = True
        count, taken = count + 1, taken + float(bar.floor[i])
        counts[inside] += 1
        sums[inside] += bar.floor[i]
        caps[inside] += bar.cap[i]

    for g in np.flatnonzero(groups.lower > 0):
        for i in order[groups.rows[g, order] > 0]:
            if caps[g] >= groups.lower[g]:
                break
            add(int(i))
    for i in order:
        if count >= bar.most or score[i] <= 0:
            break
        if not support[i]:
            add(int(i))
    return np.asarray(support)


def _improved(bar: Bar, point: Point, tries: int, share: float) -> Point:
    """Exchange, add or drop one name at a time, while that saves more than `share` of the squared distance."""
    while tries > 0:
        enough = max(share, _STRICT) * point.value
        trials: Iterable[BoolArray] = exchanges(bar, point, enough, tries)
        if share == 0.0 and tries > FIRST_TRIES:  # a small market, chosen from nothing: two names at once too
            trials = chain(trials, exchanges_of_two(bar, point, enough))
        for trial in islice(trials, tries):
            tries -= 1
            better = bar.best(trial, point.prices)
            if better is not None and better.value < point.value - enough:
                point = better
                break
        else:
            break
    return point
