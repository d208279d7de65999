"""Whether a bar could have been decided better: programs of the storm's own, solved by HiGHS.

A mixed-integer program chooses the names (and lots); with its choice fixed, a linear one with tight tolerances says by how much
each limit is missed. What it finds is a portfolio that exists: nobody is accused because of a solver's tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack, vstack

from tests.storm.limits.rules import RANKS, BoolArray, FloatArray, Rules

TIGHT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class State:
    """What a decision started from.

    `held` are weights, `fixed` names that could not be traded, `may` those that may be held, `turnover` the most that may be
    traded (infinite where there is no limit), `lots` the values of a lot as shares of the account, or None, `kept` what the
    decision left of names that may no longer be held.
    """

    held: FloatArray
    fixed: BoolArray
    may: BoolArray
    turnover: float = np.inf
    lots: FloatArray | None = None
    kept: FloatArray | None = None

    @property
    def leaving(self) -> BoolArray:
        """Names that are held and may not be: how fast they are sold, the turnover says."""
        return np.asarray(~self.may & ~self.fixed & (self.held > 0.0))


class Bar:
    """All portfolios that could have been decided on a bar, with slacks by which limits may be missed."""

    def __init__(self, rules: Rules, state: State) -> None:
        self.rules, self.state = rules, state
        n, g = len(rules.symbols), len(rules.bunches)
        fixed, held = state.fixed, state.held
        can = state.may & ~fixed & (rules.cap > 0.0)
        limited = bool(np.isfinite(state.turnover))
        sizes = {"w": n, "z": n, "trade": n if limited else 0, "idle": 1, "min_weight": n, "must": n, "min_sector": g}
        sizes |= {"max_turnover": 1, "min_cash": 1, "max_sector": g, "max_weight": n}
        ends = np.cumsum(list(sizes.values())).tolist()
        self.at = {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        self.size = ends[-1]
        scale = np.ones(n)
        if state.lots is not None:
            scale = np.where(fixed, 1.0, state.lots)
        self.scale = scale
        W = csr_array(np.diag(scale))
        one = scale[None, :]
        free = np.flatnonzero(~fixed & ~state.leaving)
        pick = csr_array(eye_array(n))[free]
        least, must = rules.least.copy(), rules.must.copy()
        lows = np.array([bunch.low for bunch in rules.bunches])
        if state.lots is not None:  # floors hold to within a lot
            must = np.maximum(must - state.lots, 0.0)
            least = np.maximum(least - state.lots, 0.0)
            lows = np.array([b.low - max((state.lots[b.mask & can]).max(initial=0.0), 0.0) for b in rules.bunches])
        blocks: list[tuple[dict[str, Any], FloatArray]] = [
            ({"w": one, "min_cash": [[-1.0]]}, np.array([rules.total])),
            ({"w": -one, "idle": [[-1.0]]}, np.array([-rules.total])),
            ({"w": pick @ W, "max_weight": -pick}, rules.cap[free]),
            ({"w": pick @ W, "z": -pick}, np.zeros(len(free))),
            ({"w": -(pick @ W), "z": pick @ csr_array(np.diag(least)), "min_weight": -pick}, np.zeros(len(free))),
            ({"w": -(pick @ W), "must": -pick}, -must[free]),
        ]
        if g:
            member = np.array([bunch.mask for bunch in rules.bunches], dtype=np.float64)
            blocks.append(({"w": member * scale, "max_sector": -eye_array(g)}, np.array([b.high for b in rules.bunches])))
            blocks.append(({"w": -member * scale, "min_sector": -eye_array(g)}, -lows))
        if limited:
            blocks.append(({"w": W, "trade": -eye_array(n)}, held))
            blocks.append(({"w": -W, "trade": -eye_array(n)}, -held))
            blocks.append(({"trade": np.ones((1, n)), "max_turnover": [[-1.0]]}, np.array([state.turnover])))
        if rules.names is not None:
            blocks.append(({"z": np.ones((1, n))}, np.array([float(max(rules.names, int((fixed & (held > 0)).sum())))])))
        for bunch in rules.bunches:
            if bunch.most is not None:
                most = max(bunch.most, int((fixed & (held > 0) & bunch.mask).sum()))
                blocks.append(({"z": bunch.mask[None, :].astype(float)}, np.array([float(most)])))
        self.matrix = vstack(
            [
                hstack([csr_array(parts[k]) if k in parts else csr_array((len(b), s)) for k, s in sizes.items()])
                for parts, b in blocks
            ]
        ).tocsr()
        self.right = np.concatenate([b for _, b in blocks])
        self.low, self.high = np.zeros(self.size), np.full(self.size, np.inf)
        leaving, kept = state.leaving, held if state.kept is None else state.kept
        self.low[self.at["w"]] = np.where(fixed, held, np.where(leaving, kept / scale, 0.0))
        self.high[self.at["w"]] = np.where(fixed, held, np.where(leaving, kept / scale, np.where(can, 1.0 / scale, 0.0)))
        stay = (fixed & (held > 0.0)) | (leaving & (kept > 0.0))
        self.low[self.at["z"]] = stay
        self.high[self.at["z"]] = stay | can
        self.integers = np.zeros(self.size)
        if rules.counts:
            self.integers[self.at["z"]] = 1
        if state.lots is not None:
            self.integers[self.at["w"]] = ~fixed & ~leaving

    def cost(self, rank: str) -> FloatArray:
        """Sum of the slacks of a limit."""
        cost = np.zeros(self.size)
        cost[self.at[rank]] = 1.0
        if rank == "min_sector":
            cost[self.at["must"]] = 1.0
        return cost

    def least(self, rank: str, harder: dict[str, float]) -> float | None:
        """The least sum of the slacks of a limit, those that give way earlier set free, those that do so later at most as given;
        None where no portfolio was found.
        """
        high = self.high.copy()
        ranks = ("idle", *RANKS)
        rows, bounds = [], []
        for later in ranks[ranks.index(rank) + 1 :]:
            allowed = harder.get(later, 0.0)
            if allowed > 0.0:
                rows.append(csr_array(self.cost(later)[None, :]))
                bounds.append(allowed)
            else:
                high[self.cost(later) > 0.0] = 0.0
        matrix = vstack([self.matrix, *rows]).tocsr() if rows else self.matrix
        right = np.append(self.right, bounds)
        low = self.low.copy()
        if self.integers.any():
            found = milp(
                self.cost(rank),
                constraints=LinearConstraint(matrix, -np.inf, right),
                bounds=Bounds(low, high),
                integrality=self.integers,
                options={"time_limit": 10.0},
            )
            if found.x is None:
                return None
            chosen, which = np.clip(np.round(found.x), low, high), self.integers > 0
            low, high = np.where(which, chosen, low), np.where(which, chosen, high)
        ends: Any = np.column_stack((low, high))
        sparse: Any = matrix
        answer = linprog(self.cost(rank), A_ub=sparse, b_ub=right, bounds=ends, method="highs", options=TIGHT)
        return float(answer.fun) if answer.status == 0 and answer.fun is not None else None


def feasible(rules: Rules, state: State) -> bool:
    """Whether a portfolio keeps all limits and invests all that may be invested."""
    least = Bar(rules, state).least("idle", {})
    return least is not None and least <= 1e-10
