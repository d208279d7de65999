"""Where a run was outside its limits, and why: decisions that could not keep them, and prices that carried holdings over them.

kind
    ``forced``: the limit could not hold together with what could not be traded on that bar, and gave way. ``passive``: decided
    within the limit, and carried over it by prices. ``inherited``: the account was outside when the run began, or when the limit
    was set. ``active``: a decision that broke a limit which it could have kept. There are none.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracker_strategies.execution.mandate.keeper import Keeper
from tracker_strategies.execution.mandate.limits import EXACT, Limits
from tracker_strategies.execution.mandate.record import Forced

FloatArray = NDArray[np.float64]
#: Row, limit, item, value, bound.
Outside = tuple[int, str, str, float, float]

COLUMNS = ("date", "limit", "item", "value", "bound", "kind", "reason")
KINDS = ("active", "passive", "forced", "inherited")
#: Limits that whole lots keep to within a lot: only what gave way is told.
FLOORS = ("min_weight", "min_sector", "must_hold")
#: Limits that count names.
COUNTS = ("max_names", "max_names_per_group")
#: Reasons, by kind.
REASONS = {
    "active": "decided outside the limit",
    "passive": "prices, or what trading cost, moved it after the decision",
    "forced": "could not hold with what could not be traded on this bar",
    "inherited": "held before the limit was set",
}


def breach_table(
    keeper: Keeper,
    symbols: Sequence[str],
    dates: NDArray[np.datetime64],
    held: FloatArray,
    decided: FloatArray,
    *,
    taken_over: Iterable[int] = (),
) -> pd.DataFrame:
    """All breaches of a run, in the order of time.

    Parameters
    ----------
    keeper : Keeper
        As the run left it.
    symbols : sequence of N str
        Columns of the arrays.
    dates : (T,) datetime64
    held, decided : (T, N) float
        Weights at the closes, and those decided there.
    taken_over : iterable of int
        Rows before whose decision positions came from outside. What is outside a limit there is inherited until it is back
        within. An account that holds something at its first decision is such a row by itself.
    """
    watch = LimitWatch(keeper, symbols, taken_over=taken_over)
    watch.add(held, decided)
    return watch.table(dates)


class LimitWatch:
    """What the table of breaches needs to know of a run, taken from its weights a block of bars at a time: they need not be kept.

    Parameters
    ----------
    keeper, symbols, taken_over
        As for :func:`breach_table`.

    Attributes
    ----------
    invested : array of float
        Sum of the weights decided on each bar.
    """

    def __init__(self, keeper: Keeper, symbols: Sequence[str], *, taken_over: Iterable[int] = ()) -> None:
        place = {symbol: i for i, symbol in enumerate(symbols)}
        self._order = np.array([place[symbol] for symbol in keeper.symbols])
        self._keeper, self._given = keeper, set(taken_over)
        self._began: int | None = None
        self._last: FloatArray | None = None  # the decision of the latest bar
        self._fresh = bytearray()
        self._held: list[Outside] = []
        self._decided: list[Outside] = []
        self.invested = array("d")

    def add(self, held: FloatArray, decided: FloatArray) -> None:
        """Take in the next bars: (K, N) weights at their closes, and those decided there."""
        if not len(held):
            return
        self.invested.extend(decided.sum(axis=1))
        held, decided, past = held[:, self._order], decided[:, self._order], len(self._fresh)
        made = np.asarray(decided.any(axis=1))
        first = self._last is None or bool((decided[0] != self._last).any())
        fresh = made & np.r_[first, (decided[1:] != decided[:-1]).any(axis=1)]  # a decision stands until the next
        self._last = decided[-1].copy()
        self._fresh += fresh.tobytes()
        if self._began is None and made.any():
            self._began = past + int(made.argmax())
            if held[self._began - past].any():
                self._given.add(self._began)
        rows = np.arange(past, past + len(held))
        looked_at = np.isin(rows, list(self._given)) | (False if self._began is None else rows > self._began)
        keeper = self._keeper
        how: dict[str, Any] = {"past": past, "within_a_lot": keeper.mandate.lot > 0.0}
        self._held += _outside(keeper.promised, keeper.symbols, held, looked_at, **how)
        self._decided += _outside(keeper.promised, keeper.symbols, decided, fresh, **how)

    def table(self, dates: NDArray[np.datetime64]) -> pd.DataFrame:
        """All breaches, in the order of time; `dates` are those of all bars."""
        fresh, began = self._fresh, len(self._fresh) if self._began is None else self._began
        return _told(self._keeper, dates, self._held, self._decided, fresh, began, self._given)


def _told(
    keeper: Keeper,
    dates: NDArray[np.datetime64],
    outside: list[Outside],
    decided: list[Outside],
    fresh: Sequence[int],
    began: int,
    given: set[int],
) -> pd.DataFrame:
    lot, forced = keeper.mandate.lot, _by_date(keeper.forced, dates)
    inherited = _inherited(outside, given)
    rows: list[tuple[Any, ...]] = []

    def add(t: int, limit: str, item: str, value: float, bound: float, kind: str) -> None:
        rows.append((t, limit, item, value, bound, "inherited" if (t, limit, item) in inherited else kind))

    for t, limit, item, value, bound in decided:
        add(t, limit, item, value, bound, "forced" if (limit, item) in forced.get(t, ()) else "active")
    for event in keeper.forced:
        if event.limit == "max_turnover" or (lot > 0.0 and event.limit in FLOORS):
            t = int(np.searchsorted(dates, np.datetime64(event.date, "ns")))
            add(t, event.limit, event.item, event.value, event.bound, "forced")
    standing: set[tuple[str, str]] = set()
    said = {row[:3] for row in rows}
    at = 0
    for t in range(min([began, *given]), len(fresh)):
        while at < len(outside) and outside[at][0] == t:
            _, limit, item, value, bound = outside[at]
            at += 1
            if (t, limit, item) not in said:
                add(t, limit, item, value, bound, "forced" if (limit, item) in standing else "passive")
        if fresh[t] or t in forced:
            standing = forced.get(t, set())
    rows.sort(key=lambda row: row[0])
    columns = dict(zip(("date", "limit", "item", "value", "bound", "kind"), zip(*rows, strict=True), strict=True)) if rows else {}
    found = {name: list(columns.get(name, ())) for name in COLUMNS}
    found["reason"] = [REASONS[kind] for kind in found["kind"]]
    numbers = {name: np.array(found[name], dtype=np.float64) for name in ("value", "bound")}
    return pd.DataFrame(found | numbers | {"date": dates[np.array(found["date"], dtype=np.intp)].astype("datetime64[ns]")})


def _inherited(outside: Iterable[Outside], given: set[int]) -> set[tuple[int, str, str]]:
    """What was outside when positions came from elsewhere, from then on for as long as it stays outside."""
    found: set[tuple[int, str, str]] = set()
    for t, limit, item, _, _ in outside:
        if t in given or (t - 1, limit, item) in found:
            found.add((t, limit, item))
    return found


def _by_date(events: Iterable[Forced], dates: NDArray[np.datetime64]) -> dict[int, set[tuple[str, str]]]:
    found: dict[int, set[tuple[str, str]]] = {}
    for event in events:
        t = int(np.searchsorted(dates, np.datetime64(event.date, "ns")))
        found.setdefault(t, set()).add((event.limit, event.item))
    return found


def _outside(
    limits: Limits, symbols: Sequence[str], weights: FloatArray, rows: NDArray[np.bool_], *, past: int, within_a_lot: bool
) -> list[Outside]:
    """Everything in these rows that is outside the limits, by row, counted from the `past` ones."""
    found: list[Outside] = []
    which = np.flatnonzero(rows)
    w = weights[which]

    def note(limit: str, wrong: NDArray[np.bool_], values: FloatArray, bounds: FloatArray, names: Sequence[str]) -> None:
        for k, i in np.argwhere(wrong).tolist() if wrong.any() else ():
            found.append((past + int(which[k]), limit, names[i], float(values[k, i]), float(bounds[i])))

    over = (w > limits.upper + EXACT) & (limits.upper > 0.0)
    note("max_weight", over, w, limits.upper, symbols)
    note("exclude", (w > 0.0) & (limits.upper <= 0.0), w, limits.upper, symbols)
    if not within_a_lot:
        note("min_weight", (w > 0.0) & (w < limits.least - EXACT), w, limits.least, symbols)
        note("must_hold", w < limits.must - EXACT, w, limits.must, symbols)
    if limits.groups:
        sums = np.stack([w[:, group.members].sum(axis=1) for group in limits.groups], axis=1)
        low, high = (np.array([getattr(group, side) for group in limits.groups]) for side in ("lower", "upper"))
        names = [group.name for group in limits.groups]
        note("max_sector", sums > high + EXACT, sums, high, names)
        if not within_a_lot:
            note("min_sector", sums < low - EXACT, sums, low, names)
    cash = 1.0 - w.sum(axis=1, keepdims=True)
    note("min_cash", cash < limits.min_cash - EXACT, cash, np.array([limits.min_cash]), [""])
    if limits.max_names is not None:
        count = np.count_nonzero(w, axis=1).astype(np.float64)[:, None]
        note("max_names", count > limits.max_names, count, np.array([float(limits.max_names)]), [""])
    for group in (group for group in limits.groups if group.max_names is not None):
        count = np.count_nonzero(w[:, group.members], axis=1).astype(np.float64)[:, None]
        note("max_names_per_group", count > group.max_names, count, np.array([float(group.max_names or 0)]), [group.name])
    return sorted(found, key=lambda row: row[0])


def bars_outside(breaches: pd.DataFrame | None, kind: str) -> int:
    """Number of bars with a breach of a kind."""
    return 0 if breaches is None else len(np.unique(breaches["date"].to_numpy()[breaches["kind"].to_numpy() == kind]))


def limits_told(breaches: pd.DataFrame, n_bars: int) -> str:
    """How the limits were kept, in one sentence."""
    active, forced = (bars_outside(breaches, kind) for kind in ("active", "forced"))
    text = f"limits kept in {n_bars - active - forced} of {n_bars} decisions"
    if forced:
        names = ", ".join(sorted(set(breaches.loc[breaches["kind"] == "forced", "limit"])))
        text += f"; {forced} forced ({names})"
    passive = breaches[breaches["kind"] == "passive"]
    if len(passive):
        counts = passive["limit"].isin(COUNTS)
        beyond = (passive["value"] - passive["bound"]).abs()
        most = [f"{100.0 * float(beyond[~counts].max()):.2g} percentage points"] if not counts.all() else []
        most += [_told_names(int(beyond[counts].max()))] if counts.any() else []
        text += f"; passive on {passive['date'].nunique()} bars, at most {' and '.join(most)}"
    return text


def _told_names(count: int) -> str:
    return f"{count} name{'' if count == 1 else 's'} too many"
