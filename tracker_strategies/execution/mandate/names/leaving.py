"""Names leave and enter within the turnover: a place is free only when the old position is sold in full."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from tracker_strategies.execution.mandate.amounts.solver import nearest
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Region
from tracker_strategies.execution.mandate.metric import Metric
from tracker_strategies.execution.mandate.names.support import Bar, Point

_ROUNDING = 1e-12
#: Shares of half the turnover that leaving names may take: less where cures of other limits need the rest.
_PARTS = (1.0, 0.5, 0.25, 0.0)
#: Names that may enter alone, tried where cash would be idle.
_TRIED = 30


class Stage(NamedTuple):
    """The names that may be held now, their bounds, and which of them are on their way out."""

    support: BoolArray
    lower: FloatArray
    upper: FloatArray
    leaving: BoolArray
    alone: bool = False


def staged(bar: Bar, support: BoolArray, turnover: float, point: Point | None) -> Stage:
    """Let only as many names leave and enter as the turnover allows; the others keep their places for now.

    Names that may not be held at all leave first, then the smallest holdings, for half the turnover together. A name above that
    is sold down, not below its least weight; where it may not be held and its least weight is above half the turnover, it is
    sold out alone, with all of the turnover, and cash is idle for a bar. Where the limits could not hold besides, or cash would
    be idle, less leaves or nobody.

    Parameters
    ----------
    bar : Bar
    support : (N,) bool
        Names that shall be held.
    turnover : float
        Infinite where there is no limit.
    point : Point, optional
        A portfolio of them: of the names that shall enter, the largest come first.
    """
    if turnover == np.inf or _is_free(bar, support):
        return _whole(bar, support)
    barred = (bar.held > 0) & ~bar.allowed & ~bar.fixed
    stay = _stage(bar, _whole(bar, support | ((bar.held > 0) & ~barred)), turnover, 0.0, turnover, point)
    whole, stages = _whole(bar, support), []
    if bar.limits.total - float(bar.held.sum()) >= turnover and not barred.any():
        # Cash for more than can be bought: nobody leaves before the account is invested.
        return stay if _holds(bar, stay, turnover, idle=True) else _most_invested(bar, whole, [stay], turnover, point)
    # Rather no idle cash than a place that is free sooner; and where some is idle in any case, as little as possible.
    for part in (*_PARTS, None):
        half = 0.5 * (part or 0.0) * turnover
        stages.append(stay if part is None else _stage(bar, whole, turnover, half, half, point))
        if stages[-1].alone or _holds(bar, stages[-1], turnover, idle=False):
            return stages[-1]
    if not barred.any():
        return _most_invested(bar, whole, stages[::-1], turnover, point)
    return next((stage for stage in stages if _holds(bar, stage, turnover, idle=True)), stages[-2])


def _most_invested(bar: Bar, whole: Stage, stages: list[Stage], turnover: float, point: Point | None) -> Stage:
    """Return the stage that leaves least cash idle: one of these, or one in which a single name enters, or none.

    A least weight and the cap of a group may keep a name that enters from being paid for together with the rest.
    """
    stays = whole.support | (bar.held > 0)
    entering = np.flatnonzero(stays & (bar.held == 0))
    for alone in (*entering[:_TRIED].tolist(), None):
        names = stays & (bar.held > 0)
        if alone is not None:
            names[alone] = True
        stages = [*stages, _stage(bar, _whole(bar, names), turnover, 0.0, turnover, point)]
    invested = [_investable(bar, stage, turnover) for stage in stages]
    best = max(invested)
    return stages[next(i for i, much in enumerate(invested) if much >= best - _ROUNDING)]


def _investable(bar: Bar, stage: Stage, turnover: float) -> float:
    """Return the most that can be invested within a stage; less than nothing where it cannot hold at all."""
    n, groups, h = len(bar.held), bar.groups, bar.held
    rows = np.vstack([np.ones(n), groups.rows, -groups.rows])
    room = np.concatenate([[bar.limits.total - h.sum()], groups.upper - groups.rows @ h, groups.rows @ h - groups.lower])
    # What is bought and what is sold of each name: the one or the other.
    low = np.maximum(np.hstack([stage.lower - h, h - stage.upper]), 0.0)
    high = np.maximum(np.hstack([stage.upper - h, h - stage.lower]), 0.0)
    bounds = list(zip(low.tolist(), high.tolist(), strict=True))
    one = np.ones(n)
    sums = np.vstack([np.hstack([rows, -rows]), np.ones(2 * n)])
    limits = np.append(room, turnover) + _ROUNDING
    found = linprog(np.hstack([-one, one]), sums, limits, bounds=bounds, method="highs")
    return float(h.sum() - found.fun) if found.status == 0 and found.fun is not None else -1.0


def _whole(bar: Bar, support: BoolArray) -> Stage:
    """All of these names, at once."""
    return Stage(support, np.where(support, bar.floor, 0.0), np.where(support, bar.cap, 0.0), np.zeros(len(support), bool))


def _is_free(bar: Bar, support: BoolArray) -> bool:
    """Whether no name leaves, and every name that enters has its place, whatever the turnover."""
    held = bar.held > 0
    if np.any(held & ~support):
        return False
    enters = support & ~held
    if not enters.any():
        return True
    return not (bar.counted or np.count_nonzero(support) > bar.most or bar.floor[enters].any())


def _stage(bar: Bar, whole: Stage, turnover: float, sells: float, buys: float, point: Point | None) -> Stage:
    """Names leave for at most `sells` together, and enter with least weights of at most `buys`."""
    held, least = bar.held, bar.limits.least
    support, lower, upper = whole.support.copy(), whole.lower.copy(), whole.upper.copy()
    leaving = np.zeros(len(held), bool)
    left = sells
    gone = np.flatnonzero((held > 0) & ~support)
    for i in gone[np.lexsort((gone, held[gone], bar.allowed[gone]))].tolist():
        if held[i] <= left + _ROUNDING:
            left -= held[i]
            continue
        if left == 0.5 * turnover and not bar.allowed[i] and least[i] > left and held[i] <= turnover:
            kept = support & (held > 0)
            return Stage(kept, np.where(kept, lower, 0.0), np.where(kept, upper, 0.0), leaving, True)
        leaving[i] = support[i] = True
        sold = min(left, max(held[i] - least[i], 0.0)) if held[i] > 0.5 * turnover else 0.0
        left -= sold
        upper[i] = held[i] - sold
        if bar.allowed[i]:  # prices may have carried it below its least weight: while it stays, it is bought up to that
            lower[i] = bar.floor[i]
            upper[i] = max(min(upper[i], bar.cap[i]), lower[i])
        else:
            lower[i] = min(least[i], upper[i])
    _enter(bar, support, buys, point)
    lower[~support] = upper[~support] = 0.0
    return Stage(support, lower, upper, leaving)


def _enter(bar: Bar, support: BoolArray, buys: float, point: Point | None) -> None:
    """Take the names that would enter from the support, but for those whose least weights can be bought, in its place.

    Names that must be held come first, whatever can be bought of them; then names of groups that are short of their least; then
    the largest. What groups are short of is not spent on others.
    """
    groups = bar.groups
    enters = np.flatnonzero(support & (bar.held == 0))
    support[enters] = False
    weight = np.zeros(len(enters)) if point is None else point.weights[enters]
    short = np.maximum(groups.lower - groups.rows @ bar.held, 0.0)
    wanted = (groups.rows[short > 0.0].sum(axis=0) > 0.0)[enters]
    spare = buys - float(short.sum())
    counts, count = groups.rows @ support, int(np.count_nonzero(support))
    order = np.lexsort((enters, -weight, ~wanted, ~bar.forced[enters]))
    for i, first in zip(enters[order].tolist(), wanted[order].tolist(), strict=True):
        inside = groups.rows[:, i] > 0
        if count >= bar.most or np.any(counts[inside] >= bar.group_most[inside]):
            continue
        if bar.forced[i] or bar.floor[i] <= (buys if first else min(buys, spare)) + _ROUNDING:
            support[i] = True
            count, buys = count + 1, max(buys - bar.floor[i], 0.0)
            spare -= 0.0 if first else bar.floor[i]
            counts[inside] += 1


def _holds(bar: Bar, stage: Stage, turnover: float, *, idle: bool) -> bool:
    """Whether the limits can hold together with the turnover; `idle`: with as much cash as that leaves."""
    groups, total = bar.groups, bar.limits.total
    if idle:
        sold = float(np.maximum(bar.held - stage.upper, 0.0).sum())
        total = max(min(total, float(bar.held.sum()) + turnover - 2.0 * sold), 0.0)
    region = Region(stage.lower, stage.upper, bar.held, total, groups.members, groups.lower, groups.upper, turnover)
    return nearest(bar.wish, region, Metric(bar.metric.d, bar.metric.B[:, :0])).feasible  # any metric will do
