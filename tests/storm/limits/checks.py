"""What is judged: every decision, every holding and every fill of a run, against what the mandate says."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tests.storm.limits.books import Batch, Life, Seen, batches
from tests.storm.limits.cases import Case
from tests.storm.limits.missed import items_missed, missed_by
from tests.storm.limits.programs import Bar, State
from tests.storm.limits.rules import EXACT, RANKS, BoolArray, Bunch, FloatArray, Rules, rules_of

#: What may be missing of the target when an account counts as having reached it.
NEAR = 0.05
#: Least weight of a position that is one: what is smaller was forgotten in a sell-out.
DUST = 1e-10
#: How exactly the least amount of a limit that gives way is met.
AMOUNT = 1e-6


@dataclass
class Verdict:
    """What was found in one run: kinds and words of everything wrong, and some counts."""

    findings: list[tuple[str, int, str]] = field(default_factory=list)
    decisions: int = 0
    forced: int = 0
    passive: int = 0

    def add(self, kind: str, row: int, text: str) -> None:
        """Write a finding down."""
        self.findings.append((kind, row, text))


class Judge:
    """Judges one run of a case."""

    def __init__(self, case: Case, seen: Seen) -> None:
        self.case, self.seen, panel = case, seen, case.panel
        self.rules = rules_of(case.in_force, panel.symbols)
        self.promised = rules_of(case.in_force, panel.symbols, headroom=False)
        self.life = Life.of(panel, case.params["listing_warmup"], case.params["delist_after"])
        self.fill: str = case.params["fill"]
        self.batches = batches(seen, self.life, at_close=self.fill == "close")
        self.forced, self.recorded = seen.rows_of("forced"), seen.rows_of(None)
        self.verdict = Verdict()
        costs = case.cost_model
        lowest = float(np.nanmin(panel.close))
        #: What trades cost at most, per unit of value.
        self.rate = 2.0 * (1e-4 * (costs.bps + 2.0 * costs.slippage_bps) + costs.per_share / lowest)
        self.entered = self._entered()

    def _entered(self) -> int:
        """First row at whose close the account had been at its target; decisions are limited in turnover from there on."""
        decided, held = self.seen.decided, self.seen.held
        small = {batch.row for batch in self.batches if batch.traded < 0.98 * (self.rules.entry or np.inf) * batch.value}
        for t in range(1, len(held)):
            there = held[t].any() and np.maximum(decided[t - 1] - held[t], 0.0).sum() <= NEAR
            if there and self.rules.entry is not None:
                whole = held[t].sum() >= self.rules.total - NEAR
                there = whole and (t - (self.fill == "close")) in small
            if there:
                return t
        return len(held)

    def limit_at(self, row: int) -> float:
        """Most that a decision on this row may trade."""
        rules = self.rules
        if row >= self.entered:
            return np.inf if rules.turnover is None else rules.turnover
        # Whether an account that enters step by step is there yet depends on where it goes, which is not in the record.
        return np.inf if rules.entry is None else max(rules.entry, np.inf if rules.turnover is None else rules.turnover)

    def payable_at(self, row: int) -> float:
        """Most that it may trade and still pay its costs; where two limits are possible, the lower one."""
        limit, rules = self.limit_at(row), self.rules
        if row < self.entered and rules.entry is not None:
            limit = rules.entry if rules.turnover is None else min(rules.entry, rules.turnover)
        return limit * (1.0 - self.rate)

    def judge(self) -> Verdict:
        """All checks."""
        seen, verdict = self.seen, self.verdict
        made = np.asarray(seen.decided.any(axis=1))
        first = int(made.argmax()) if made.any() else len(made)
        fresh: BoolArray = made & np.r_[True, (seen.decided[1:] != seen.decided[:-1]).any(axis=1)]
        verdict.decisions = int(fresh.sum())
        verdict.forced = len({row for row, _, _ in self.forced})
        verdict.passive = len({row for row, _, _ in seen.rows_of("passive")})
        for row, limit, item in sorted(seen.rows_of("active")):
            verdict.add("record-active", row, f"the record itself says active: {limit} {item}")
        for t in np.flatnonzero(fresh).tolist():
            held = np.where(self.life.gone[t], 0.0, seen.held[t])  # booked out before the decision
            state = self._state(t, held, self.life.there[t], self.life.may[t], seen.value[t], self.life.last[t])
            self._decision(t, seen.decided[t], state, self.rules)
        for t in range(len(seen.held)):
            self._holding(t, first)
        for batch in self.batches:
            self._batch(batch)
        self._carried_out(fresh)
        if self.promised.cure_at_once and not self.case.cost_model.min_fee and self.fill != "open":
            self._cured()
        return verdict

    def _state(self, row: int, held: FloatArray, there: BoolArray, may: BoolArray, value: float, prices: FloatArray) -> State:
        rules = self.rules
        lots = np.nan_to_num(rules.lot * prices / value, nan=1.0) if rules.lot else None
        return State(held, rules.frozen | ~there, may, self.limit_at(row), lots)

    # -- decisions ----------

    def _decision(self, row: int, w: FloatArray, state: State, rules: Rules, rows: tuple[int, ...] = ()) -> None:
        """All limits of one decision; what they miss must have been unavoidable, and written down (on one of `rows`)."""
        add, free = self.verdict.add, ~state.fixed & ~state.leaving
        rows = rows or ((row, row + 1) if self.fill == "open" else (row,))
        state, payable = replace(state, kept=w), self.payable_at(min(row, *rows))
        if (w > state.held + EXACT)[state.leaving].any() or (np.isinf(payable) and w[state.leaving].any()):
            add("universe", row, "a name that may no longer be held is bought, or kept without need")
        if not np.isfinite(w).all() or (w < 0.0).any():
            add("long-only", row, f"decided weight {w.min()!r}")
        if (w[rules.banned] > 0.0).any() or (w[rules.frozen] > 0.0).any():
            add("exclude", row, "an excluded or frozen name was decided")
        self._counts(row, w, rules, "decided")
        missed = missed_by(w, state, rules)
        if all(amount <= EXACT for amount in missed.values()):
            return
        allowed: dict[str, float] = {}
        bar = Bar(rules, replace(state, turnover=payable))
        for rank in reversed(("idle", *RANKS)):
            amount = missed[rank]
            if amount <= EXACT or (rank == "idle" and state.lots is not None):
                continue
            least = bar.least(rank, allowed)
            if least is not None and amount > least + (EXACT if least <= 1e-10 else AMOUNT):
                add(rank, row, f"missed by {amount:.3g}, and {least:.3g} would have done{self._whom(w, free, rules, rank)}")
                return
            allowed[rank] = amount + 1e-10
            if rank != "idle" and free.any():
                self._told(row, rows, w, free, rank)

    def _whom(self, w: FloatArray, free: BoolArray, rules: Rules, rank: str) -> str:
        return f" ({', '.join(items_missed(w, free, rules, rank)) or 'the whole'})"

    def _told(self, row: int, rows: tuple[int, ...], w: FloatArray, free: BoolArray, rank: str) -> None:
        """What gave way must be in the record as forced."""
        if rank == "max_turnover":
            if not any((r, rank, "") in self.forced for r in rows):
                self.verdict.add("untold", row, "max_turnover gave way and is not recorded as forced")
            return
        for item in items_missed(w, free, self.promised, rank):
            if not any(r in rows and which == item for r, _, which in self.forced):
                self.verdict.add("untold", row, f"{rank} of {item!r} gave way and is not recorded as forced")

    def _counts(self, row: int, w: FloatArray, rules: Rules, what: str) -> None:
        """No more names than allowed, in all and in every group."""
        if rules.names is not None and np.count_nonzero(w) > rules.names:
            self.verdict.add("max_names", row, f"{np.count_nonzero(w)} names {what}, at most {rules.names}")
        for bunch in rules.bunches:
            if bunch.most is not None and (count := np.count_nonzero(w[bunch.mask])) > bunch.most:
                self.verdict.add("max_names_per_group", row, f"{count} names of {bunch.name} {what}, at most {bunch.most}")

    # -- holdings ----------

    def _holding(self, t: int, first: int) -> None:
        add, held, rules = self.verdict.add, self.seen.held[t], self.promised
        if (held < 0.0).any() or not np.isfinite(held).all():
            add("long-only", t, f"held weight {held.min()!r}")
        if held.sum() > 1.0 + EXACT:
            add("cash", t, f"cash is {1.0 - held.sum():.3g} of the account")
        left = (held > 0.0) & (held < DUST)
        if t:  # somebody may have asked for that little
            left &= (self.seen.decided[t - 1] == 0.0) | (self.seen.decided[t - 1] > 2.0 * DUST)
        if left.any():
            add("dust", t, f"a position of {held[left].min():.3g} of the account is left")
        if (held[rules.banned | rules.frozen] > 0.0).any():
            add("exclude", t, "an excluded or frozen name is held")
        self._counts(t, held, rules, "held")
        if t > max(first, self.entered) and self.case.way != "paper":
            for rank in ("max_weight", "max_sector", "min_cash"):
                for item in items_missed(held, np.ones(len(held), bool), rules, rank, 10.0 * EXACT):
                    if not any(r == t and which == item for r, _, which in self.recorded):
                        add("unrecorded", t, f"held outside {rank} of {item!r}, and no row of the record says so")

    # -- fills ----------

    def _batch(self, batch: Batch) -> None:
        add, rules, t = self.verdict.add, self.rules, batch.row
        row = t if self.fill == "close" else t - 1
        before, after, deltas = batch.before, batch.after, batch.deltas
        value = batch.value
        flow = -float(deltas @ batch.prices) - batch.paid
        slack = EXACT * value + 1e-4 * self.case.cost_model.slippage_bps * batch.traded
        if batch.cash + flow < -slack:
            add("cash", t, f"cash of {batch.cash + flow:.6g} after the fills")
        if (after < -1e-9 * np.maximum(before, 1.0)).any():
            add("long-only", t, "sold more than was held")
        if (deltas[rules.banned | rules.frozen] != 0.0).any():
            add("exclude", t, "an excluded or frozen name was traded")
        if (~self.life.may[max(row, 0)] & (deltas > 0.0)).any():
            add("universe", t, "a name that may not be held was bought")
        if (~self.life.there[t] & (deltas != 0.0)).any():
            add("halted", t, "a name without a price was traded")
        if rules.lot:
            off = np.abs(np.r_[deltas, after] / rules.lot - np.round(np.r_[deltas, after] / rules.lot)).max()
            if off > 1e-6:
                add("lot", t, f"an order or a position is off a whole lot by {off:.3g} lots")
        everything = Bunch("all names", np.ones(len(before), bool), 0.0, 1.0, rules.names)
        for bunch in (everything, *rules.bunches):
            if bunch.most is None:
                continue
            new = (before <= 0.0) & (deltas > 0.0) & bunch.mask
            stay = (before + np.minimum(deltas, 0.0) > 1e-12 * before) & bunch.mask
            if new.any() and int(stay.sum()) + int(new.sum()) > bunch.most:
                add("slots", t, f"{int(new.sum())} names of {bunch.name} enter beside {int(stay.sum())}, at most {bunch.most}")
        limit = self.limit_at(row)
        if batch.traded > limit * value * (1.0 + EXACT) and not any((r, "max_turnover", "") in self.forced for r in (row, t)):
            add("max_turnover", t, f"fills of {batch.traded / value:.9g} of the account, at most {limit:g}")
        if self.fill == "open" and self.case.cost_model.free and row >= 0:
            weights = after * batch.prices / value
            state = self._state(row, before * batch.prices / value, self.life.there[t], self.life.may[row], value, batch.prices)
            self._decision(t, np.where(weights < 1e-13, 0.0, weights), state, rules, (row, t))

    def _carried_out(self, fresh: BoolArray) -> None:
        """What is held after the fills are the shares that were decided, or lie on the way there."""
        if not self.case.cost_model.free or self.fill == "open":
            return
        seen, by_row, panel = self.seen, {batch.row: batch for batch in self.batches}, self.seen.panel
        for t in np.flatnonzero(fresh).tolist():
            later = t + 1
            if later >= panel.n_bars or seen.value[t] <= 0.0:
                continue
            batch = by_row.get(t if self.fill == "close" else later)
            wanted = np.nan_to_num(seen.decided[t] * seen.value[t] / self.life.last[t])
            if self.fill == "close":
                sizes = batch.after if batch is not None else np.nan_to_num(seen.held[t] * seen.value[t] / self.life.last[t])
                off = np.abs(np.nan_to_num((sizes - wanted) * self.life.last[t] / seen.value[t]))
                if off.max() > EXACT:
                    name = panel.symbols[int(off.argmax())]
                    self.verdict.add("not-carried-out", t, f"{name} is {off.max():.3g} of the account off what was decided")
            elif batch is not None:
                low, high = np.minimum(batch.before, wanted), np.maximum(batch.before, wanted)
                off = np.maximum(low - batch.after, batch.after - high) * np.nan_to_num(self.life.last[t]) / seen.value[t]
                if off.max() > EXACT:
                    name = panel.symbols[int(off.argmax())]
                    self.verdict.add("beyond-decided", t, f"{name} is {off.max():.3g} of the account beyond what was decided")

    def _cured(self) -> None:
        """Where a cap is to be restored on the next bar, a name above it is sold there."""
        there, rules = self.life.there, self.promised
        sold = {batch.row: batch.deltas < 0.0 for batch in self.batches}
        none = np.zeros(len(rules.symbols), bool)
        for t in range(self.entered + 1, len(there) - 1):
            row = t if self.fill == "close" else t + 1
            over = (self.seen.held[t] > rules.cap + 1e-8) & there[t] & there[row] & ~rules.frozen & self.life.may[t]
            left = over & ~sold.get(row, none)
            if left.any():
                self.verdict.add(
                    "not-cured", t, f"{rules.symbols[int(left.argmax())]} is above its cap and not sold on the next bar"
                )
