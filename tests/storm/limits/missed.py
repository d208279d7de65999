"""By how much weights miss each limit, and whether the limits of a case can hold together at all."""

from __future__ import annotations

import numpy as np

from tests.storm.limits.books import Life
from tests.storm.limits.cases import Case
from tests.storm.limits.programs import Bar, State, feasible
from tests.storm.limits.rules import EXACT, BoolArray, FloatArray, Rules, rules_of


def missed_by(w: FloatArray, state: State, rules: Rules) -> dict[str, float]:
    """By how much a decision misses each limit, summed over names or groups; what cannot be traded is not to blame."""
    free, lots = ~state.fixed & ~state.leaving, np.zeros(len(w)) if state.lots is None else state.lots
    held = free & (w > 0.0)
    sums = [(float(w[b.mask].sum()), b, float(lots[b.mask].max(initial=0.0))) for b in rules.bunches]
    return {
        "idle": max(rules.total - float(w.sum()), 0.0),
        "min_weight": float(np.maximum(rules.least - lots - w, 0.0)[held].sum()),
        "min_sector": sum(max(b.low - lot - mass, 0.0) for mass, b, lot in sums)
        + float(np.maximum(rules.must - lots - w, 0.0)[free].sum()),
        "max_turnover": max(float(np.abs(w - state.held).sum()) - state.turnover, 0.0),
        "min_cash": max(float(w.sum()) - rules.total, 0.0),
        "max_sector": sum(max(mass - b.high, 0.0) for mass, b, _ in sums),
        "max_weight": float(np.maximum(w - rules.cap, 0.0)[free].sum()),
    }


def items_missed(w: FloatArray, free: BoolArray, rules: Rules, rank: str, by: float = EXACT) -> list[str]:
    """Names or groups that are outside a limit."""
    names = np.array(rules.symbols, dtype=object)
    if rank == "max_weight":
        return list(names[(w > rules.cap + by) & free])
    if rank == "min_weight":
        return list(names[(w > 0.0) & (w < rules.least - by) & free])
    if rank == "max_sector":
        return [b.name for b in rules.bunches if w[b.mask].sum() > b.high + by]
    if rank == "min_sector":
        missing = [b.name for b in rules.bunches if w[b.mask].sum() < b.low - by]
        return [*missing, *names[(w < rules.must - by) & free]]
    if rank == "min_cash":
        return [""] if w.sum() > rules.total + by else []
    return []


def can_begin(case: Case) -> bool | None:
    """Whether the limits can hold together on the first bar; None where that hangs on the last digits."""
    rules, panel = rules_of(case.in_force, case.panel.symbols), case.panel
    there = np.isfinite(panel.close[0])
    if rules.turnover is not None and rules.least.any() and rules.turnover < rules.least.min():
        return False  # said to be refused: a name could never be sold out
    contradictory = rules.banned & (rules.must > 0.0)
    if contradictory.any() or set(case.params.get("exclude", ())) & set(case.params.get("freeze", ())) or rules.banned.all():
        return False
    life = Life.of(panel, case.params["listing_warmup"], case.params["delist_after"])
    wished = [rules.symbols.index(name) for name in case.params.get("weights", rules.symbols)]
    if not (life.may & ~rules.banned).any(axis=1).all() or rules.banned[wished].all():
        return None  # a bar on which nothing may be held, or a wish for excluded names alone: nobody knows what to do
    if rules.lot:
        with np.errstate(invalid="ignore"):
            there = there & (rules.lot * panel.close[0] <= np.minimum(rules.cap, rules.total) * case.cash)
    nothing = np.zeros(len(there))
    state = State(nothing, rules.frozen | ~there, there)
    if (rules.must[state.fixed] > 0.0).any():
        return False
    least = Bar(rules, state).least("idle", {})
    return feasible(rules, state) if least is None or not 1e-10 < least < 1e-7 else None
