"""What gives way on a bar on which no portfolio keeps all limits: in a stated order, each by the least amount.

First the investment itself: less than the total where no limit has to break for it. Then the least of names (min_weight), the
least of groups and of names that must be held, the turnover, the least cash, the most of groups, and last the most of names. A
limit is touched only where all before it, given up altogether, do not suffice; the amount is the least sum over names or groups
that makes the bar feasible. Never given up: long only, cash of at least zero, no purchase of an excluded name, and the weight of
a name that cannot be traded.

Each amount is a linear program (HiGHS). Where the least sum can be shared among names or groups in several ways, the solution
that the solver finds is taken; which one that is has no meaning.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tracker_strategies.execution.mandate.amounts.dual import group_rows
from tracker_strategies.execution.mandate.amounts.solver import nearest
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Region
from tracker_strategies.execution.mandate.metric import Metric

ORDER = ("total", "min_weight", "min_sector", "max_turnover", "min_cash", "max_sector", "max_weight")
"""What gives way, first to last; floors of names that must be held go with those of groups."""
DUST = 1e-10
"""Amounts below it are the solver's rounding."""
SAFETY = (1e-11, 1e-10, 1e-9)
"""What a relaxed bound gives beyond its least amount, so that rounding does not empty the region again: the first that does."""
TOLERANCES = (1e-10, 1e-9, 1e-7)
"""Of the solver; a looser one where it cannot decide."""
_INFEASIBLE = 2


def relax(region: Region, *, must: FloatArray | None = None, tradable: BoolArray | None = None) -> tuple[Region, dict[str, Any]]:
    """Return a region that is not empty, and what gave way for it.

    Parameters
    ----------
    region : Region
    must : (N,) float, optional
        The part of `region.lower` that stands for names that must be held; the rest of it is min_weight. Zero by default.
    tradable : (N,) bool, optional
        Names that can be traded. By default all whose bounds are not both what is held.

    Returns
    -------
    region : Region
        The same object if it is not empty.
    gave : dict
        "relaxed": list of (limit, position of the name or group or None, bound asked, bound now), in the order in which limits
        give way; "idle_cash": share of the account that stays uninvested for it. Empty if the region is not empty.

    Notes
    -----
    At most 13 linear programs of about 5 N variables; a few milliseconds each.
    """
    n = len(region.held)
    if tradable is None:
        fixed = (region.lower == region.held) & (region.upper == region.held)
    else:
        fixed = ~tradable
        region = _pinned(region, fixed)
    if _has_point(region):
        return region, {}
    # All names full, or all fixed: what they sum to is the total, up to the dust that a rebalance leaves in cash.
    reachable = min(max(region.total, float(region.lower.sum())), float(region.upper.sum()))
    if reachable != region.total and abs(reachable - region.total) <= SAFETY[-1]:
        region = replace(region, total=reachable)
        if _has_point(region):
            return region, {}
    floor = np.zeros(n) if must is None else np.where(fixed, 0.0, np.minimum(np.maximum(must, 0.0), region.lower))
    amounts = _least_amounts(region, floor, fixed)
    for safety in SAFETY:
        # The total is an equality: it moves by a rounding only where it must, as when all names are full or fixed.
        for shift in (0.0, -safety, safety):
            relaxed, gave = _moved(region, amounts, floor, safety, shift)
            if _has_point(relaxed):
                return relaxed, gave
            relaxed = _widened(relaxed, safety)
            if _has_point(relaxed):
                return relaxed, gave
    raise RuntimeError(f"limits relaxed by {amounts} leave no portfolio")


def _pinned(region: Region, fixed: BoolArray) -> Region:
    if (region.lower[fixed] == region.held[fixed]).all() and (region.upper[fixed] == region.held[fixed]).all():
        return region
    lower, upper = np.where(fixed, region.held, region.lower), np.where(fixed, region.held, region.upper)
    return replace(region, lower=lower, upper=upper)


def _has_point(region: Region) -> bool:
    n = len(region.held)
    return nearest(region.held, region, Metric(np.ones(n), np.zeros((n, 0)))).feasible


def _least_amounts(region: Region, floor: FloatArray, fixed: BoolArray) -> dict[str, FloatArray]:
    """Return for each kind of limit (and "must") by how much each of its bounds gives way."""
    program = _Program(region, floor, fixed)
    # From the softest: how far down the order must one go? All harder limits stay as they are.
    for hardest in range(len(ORDER)):
        least = program.least(ORDER[hardest], ORDER[: hardest + 1])
        if least is not None:
            break
    else:
        raise RuntimeError("no portfolio is long only and keeps what cannot be traded")
    # Then back: the least of the harder ones is kept while the softer ones are made small.
    for softer in reversed(range(hardest)):
        program.keep(ORDER[softer + 1], program.sum_of(ORDER[softer + 1]))
        program.least(ORDER[softer], ORDER[: hardest + 1])
    return program.amounts()


class _Program:
    """Minimise the slack of one kind of limit, with that of some others free and that of the rest zero."""

    def __init__(self, region: Region, floor: FloatArray, fixed: BoolArray) -> None:
        from scipy.sparse import csr_array, eye_array, hstack, vstack

        n, rows = len(region.held), group_rows(region.members, len(region.held))[1:]
        g, held = len(rows), region.held
        limited = bool(np.isfinite(region.turnover))
        sizes = {
            "w": n,
            "trade": n if limited else 0,
            "max_weight": n,
            "min_weight": n,
            "must": n,
            "max_sector": g,
            "min_sector": g,
        }
        sizes |= {"max_turnover": 1, "min_cash": 1, "total": 1}
        ends = np.cumsum(list(sizes.values())).tolist()
        self.at = {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        self.n_variables = ends[-1]
        one = np.ones((1, n))
        blocks: list[tuple[dict[str, Any], FloatArray]] = [
            ({"w": eye_array(n), "max_weight": -eye_array(n)}, region.upper),
            ({"w": -eye_array(n), "min_weight": -eye_array(n), "must": -eye_array(n)}, -region.lower),
            ({"w": one, "min_cash": [[-1.0]]}, np.array([region.total])),
            ({"w": -one, "total": [[-1.0]]}, np.array([-region.total])),
        ]
        if g:
            blocks.append(({"w": rows, "max_sector": -eye_array(g)}, region.group_upper))
            blocks.append(({"w": -rows, "min_sector": -eye_array(g)}, -region.group_lower))
        if limited:
            blocks.append(({"w": eye_array(n), "trade": -eye_array(n)}, held))
            blocks.append(({"w": -eye_array(n), "trade": -eye_array(n)}, -held))
            blocks.append(({"trade": one, "max_turnover": [[-1.0]]}, np.array([region.turnover])))
        self.matrix = vstack(
            [
                hstack([csr_array(parts[k]) if k in parts else csr_array((len(b), size)) for k, size in sizes.items()])
                for parts, b in blocks
            ]
        ).tocsr()
        self.right = np.concatenate([b for _, b in blocks])
        # The most that each slack may be. An excluded name may stay as far as it is held, and is not bought.
        most = self.most = np.full(self.n_variables, np.inf)
        self.least_w = np.where(fixed, held, 0.0)
        most[self.at["w"]] = np.where(fixed, held, 1.0)
        room = np.where(region.upper > 0.0, 1.0, np.maximum(held, 0.0)) - region.upper
        most[self.at["max_weight"]] = np.where(fixed, 0.0, np.maximum(room, 0.0))
        most[self.at["min_weight"]] = np.where(fixed, 0.0, np.maximum(region.lower - floor, 0.0))
        most[self.at["must"]] = np.where(fixed, 0.0, floor)
        most[self.at["min_cash"]] = max(max(1.0, float(held[fixed].sum())) - region.total, 0.0)
        self.kept: list[tuple[FloatArray, float]] = []
        self.solution: FloatArray | None = None

    def _cost(self, kind: str) -> FloatArray:
        cost = np.zeros(self.n_variables)
        cost[self.at[kind]] = 1.0
        if kind == "min_sector":
            cost[self.at["must"]] = 1.0
        return cost

    def least(self, kind: str, giving: tuple[str, ...]) -> float | None:
        """Return the least sum of slacks of a kind while those of `giving` may give; None if that leaves no portfolio."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, vstack

        most = self.most.copy()
        for other in ORDER:
            if other not in giving:
                most[self._cost(other) > 0.0] = 0.0
        low = np.zeros(self.n_variables)
        low[self.at["w"]] = self.least_w
        matrix, right = self.matrix, self.right
        if self.kept:
            matrix = vstack([matrix, *(csr_array(cost[None, :]) for cost, _ in self.kept)]).tocsr()
            right = np.append(right, [bound for _, bound in self.kept])
        for tolerance in TOLERANCES:
            answer: Any = linprog(  # type: ignore[call-overload]  # its stubs know no sparse matrices
                self._cost(kind),
                A_ub=matrix,
                b_ub=right,
                bounds=np.column_stack((low, most)),
                method="highs",
                options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
            )
            if answer.status == 0:
                self.solution = np.asarray(answer.x, dtype=np.float64)
                return float(answer.fun)
            if answer.status == _INFEASIBLE:
                return None
        return None

    def sum_of(self, kind: str) -> float:
        """Return the sum of the slacks of a kind in the last solution."""
        return 0.0 if self.solution is None else float(self._cost(kind) @ self.solution)

    def keep(self, kind: str, bound: float) -> None:
        """From now on the slacks of a kind sum to at most a bound."""
        self.kept.append((self._cost(kind), bound + 1e-13))

    def amounts(self) -> dict[str, FloatArray]:
        """Return the slacks of the last solution, without dust."""
        x = self.solution
        if x is None:
            raise RuntimeError("nothing was solved")
        return {kind: np.where(x[self.at[kind]] > DUST, x[self.at[kind]], 0.0) for kind in (*ORDER, "must")}


def _moved(
    region: Region, amounts: dict[str, FloatArray], floor: FloatArray, safety: float, shift: float
) -> tuple[Region, dict[str, Any]]:
    """Return the region with its bounds moved, and what gave way."""
    total, turnover = float(region.total), float(region.turnover)
    idle, borrowed, more = (float(amounts[kind][0]) for kind in ("total", "min_cash", "max_turnover"))

    def lowered(bound: FloatArray, by: FloatArray) -> FloatArray:
        return np.where(by > 0.0, np.maximum(bound - by - safety, 0.0), bound)

    def raised(bound: FloatArray, by: FloatArray, most: FloatArray | float) -> FloatArray:
        return np.where(by > 0.0, np.minimum(bound + by + safety, most), bound)

    now = replace(
        region,
        lower=lowered(region.lower, amounts["min_weight"] + amounts["must"]),
        upper=raised(region.upper, amounts["max_weight"], np.where(region.upper > 0.0, 1.0, np.maximum(region.held, 0.0))),
        total=total - idle + borrowed + shift,
        group_lower=lowered(region.group_lower, amounts["min_sector"]),
        group_upper=raised(region.group_upper, amounts["max_sector"], np.inf),
        turnover=turnover + more + safety if more > 0.0 else turnover,
    )
    must = amounts["must"] > 0.0
    changes: list[tuple[str, int | None, float, float]] = []

    def told(limit: str, gave: BoolArray, before: FloatArray, after: FloatArray) -> None:
        changes.extend((limit, int(i), float(before[i]), float(after[i])) for i in np.flatnonzero(gave))

    told("min_weight", (amounts["min_weight"] > 0.0) & ~must, region.lower, now.lower)
    told("min_weight", (amounts["min_weight"] > 0.0) & must, region.lower, floor)
    told("min_sector", amounts["min_sector"] > 0.0, region.group_lower, now.group_lower)
    told("must_hold", must, floor, now.lower)
    if more > 0.0:
        changes.append(("max_turnover", None, turnover, now.turnover))
    if borrowed > 0.0:
        changes.append(("min_cash", None, 1.0 - total, 1.0 - now.total))
    told("max_sector", amounts["max_sector"] > 0.0, region.group_upper, now.group_upper)
    told("max_weight", amounts["max_weight"] > 0.0, region.upper, now.upper)
    return now, {"relaxed": changes, "idle_cash": idle}


def _widened(region: Region, by: float) -> Region:
    """Return the region with a little more room in its sums, for limits that miss each other by a rounding."""
    return replace(
        region, group_lower=region.group_lower - by, group_upper=region.group_upper + by, turnover=region.turnover + by
    )
