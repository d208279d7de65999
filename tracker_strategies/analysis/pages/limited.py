"""Limits of a run and how they were kept, its targets and what was delivered, its parameters in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tracker_strategies.analysis.breaches import KINDS
from tracker_strategies.analysis.goals import goals_of
from tracker_strategies.analysis.pages.page import Cell, Table, Word
from tracker_strategies.analysis.pages.words import count, figure, number, percent
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.execution.mandate.mandate import Mandate
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.strategies.registry import NAMES, default_params, load_strategy

#: Limits of a mandate in words, in the order of the page; those that are no shares of the account are named with their unit.
LIMITS = {
    "max_names": "Number of names, at most",
    "max_weight": "Weight of a name, at most",
    "min_weight": "Weight of a held name, at least",
    "must_hold": "Names that must be held",
    "max_sector": "Weight of a sector, at most",
    "min_sector": "Weight of a sector, at least",
    "groups": "Further groups",
    "max_names_per_group": "Names of a sector or group, at most",
    "exclude": "Excluded names",
    "only": "Only these names",
    "freeze": "Frozen names",
    "min_cash": "Cash, at least",
    "max_turnover": "Turnover per rebalance, at most",
    "entry_turnover": "Turnover per rebalance of the entry, at most",
    "lot": "Shares in a lot",
}
#: Names of other parameters that would not tell a reader what they are.
_NAMES = {"unmapped": "names without a sector", "cure": "limits broken by prices", "headroom": "room for price drift"}
_UNMAPPED = {"refuse": "refused", "group": "one more sector", "free": "without a limit"}
_CURE = {"schedule": "cured at the next rebalance", "bar": "cured on the next bar"}
_SHARES = ("max_weight", "min_weight", "must_hold", "max_sector", "min_sector", "min_cash", "max_turnover", "entry_turnover")
#: Parameters that say what limits mean, or hold tables; they stand with the limits or nowhere.
_APART = ("mandate", "sectors", "index_weights", "holdings", "cash_flows", "enhance", "bars_a_year", "te_budget", "budget_bars")
_NOT_SET: tuple[Any, ...] = (None, (), [], "", {})
#: Names of a list that are written out.
_MOST = 8


def limits_table(record: RunRecord) -> Table:
    """Each limit with its bound and the number of bars outside it: by prices, forced, and by a decision."""
    told = record.metrics()
    head: list[Word] = [
        "Limit",
        "Bound",
        Cell("By prices", "bars outside"),
        Cell("Forced", "bars"),
        Cell("By decision", "bars"),
    ]
    rows: list[list[Word]] = []
    for key, words in LIMITS.items():
        value = record.params.get(key)
        if key in {f.name for f in fields(Mandate)} and value not in _NOT_SET and value != 0:
            bars = (
                [0, 0, 0] if record.breaches is None else [_bars(record, key, kind) for kind in ("passive", "forced", "active")]
            )
            rows.append([words, bound_words(key, value), *(f"{count:,}" for count in bars)])
    if not rows:
        rows.append(["None was set", "", "", "", ""])
    every = (figure(f"breaches_{kind}", told[f"breaches_{kind}"]) for kind in ("passive", "forced", "active"))
    rows.append(["All limits together", "", *every])
    return Table(head, rows, own=(len(rows) - 1,), kind="limits")


def _bars(record: RunRecord, limit: str, kind: str) -> int:
    assert record.breaches is not None
    assert kind in KINDS
    found = record.breaches
    return int(found.loc[(found["limit"] == limit) & (found["kind"] == kind), "date"].nunique())


def goals_table(record: RunRecord) -> Table:
    """What was asked for and what was delivered, per year; cash that limits forced, and orders that the market did not take."""
    told, goals = record.metrics(), goals_of(record)
    rows: list[list[Word]] = []
    if "margin" in goals:
        rows.append(["Return over the index", _share(goals["margin"], sign=True), _share(goals["excess_per_year"], sign=True)])
    if "max_tracking_error" in goals:
        used = Cell(percent(goals["te_year"], 2), f"{percent(goals['budget_used'])} of the budget used", goals["te_year"])
        rows.append(["Budget for the tracking error", _share(goals["max_tracking_error"]), used])
    if "leftover_cash" in goals:
        cost = f"rounding: {number(1e4 * goals['rounding_te'])}\u202fbp per bar expected"
        cash = Cell(percent(goals["leftover_cash"], 2), cost, goals["leftover_cash"])
        rows.append([Cell("Cash left by whole lots", "median"), "", cash])
    rows.append([Cell("Idle cash", "because a limit forces it"), "", figure("idle_cash", told["idle_cash"])])
    if record.unfilled is not None:
        rows.append([Cell("Orders not filled", "lack of volume; share of their value"), "", figure("unfilled", told["unfilled"])])
    return Table(["Returns and errors per year", "Asked", "Delivered"], rows, kind="goals")


def _share(value: float, *, sign: bool = False) -> Cell:
    return Cell(percent(value, 2, sign), value=value)


def bound_words(key: str, value: Any) -> str:
    """A bound as a reader would write it: 5 %, or 4 %, but AAPL 10 %."""
    if isinstance(value, Mapping):
        if key == "groups":
            return " and ".join(map(str, value))
        shown = [f"{name} {bound_words(key, own)}" for name, own in value.items() if name != "*"]
        words = ", ".join(shown[:_MOST]) + (f" and {len(shown) - _MOST} more" if len(shown) > _MOST else "")
        return f"{bound_words(key, value['*'])}{f', but {words}' if words else ''}" if "*" in value else words
    if isinstance(value, list | tuple | set | frozenset):
        names = [*map(str, value)]
        return ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{100 * value:.6g}\u202f%" if key in _SHARES else f"{value:,g}"
    return str(value)


def parameters_of(record: RunRecord) -> tuple[dict[str, str], dict[str, str]]:
    """Parameters in words: those that were set for the run, and those that have their defaults."""
    cls = load_strategy(record.strategy) if record.strategy in NAMES else None
    defaults = {} if cls is None else default_params(cls)
    own: dict[str, str] = {}
    left: dict[str, str] = {}
    for name, value in record.params.items():
        if value in _NOT_SET or (cls is not None and (name in LIMITS or name in _APART)):
            continue
        as_default = name in defaults and (
            value == defaults[name] or f"{value} sessions" == defaults[name] or (not value and not defaults[name])
        )
        (left if as_default else own)[_NAMES.get(name, name.replace("_", " "))] = (
            "next close: the prices have no opens"
            if name == "fill" and value == FillMode.NEXT_OPEN and not record.data.get("opens", True)
            else in_reading(name, value)
        )
    return own, left


def in_reading(name: str, value: object) -> str:
    """A parameter as a reader would write it."""
    if name == "costs" and isinstance(value, Mapping):
        return _costs(value)
    if name == "rebalance" and isinstance(value, int):
        return "every bar" if value == 1 else f"every {value} bars"
    if name == "bars_per_year" and isinstance(value, int | float):
        return f"{value:,g}"
    if name in ("listing_warmup", "delist_after", "review") and isinstance(value, int):
        return count(value, "bar")
    if name in ("margin", "max_tracking_error") and isinstance(value, float):
        return f"{100 * value:.6g}\u202f% per year"
    if name in ("band", "headroom") and isinstance(value, int | float):
        return f"{100 * value:.6g}\u202f%"
    if name in ("unmapped", "cure"):
        return (_UNMAPPED | _CURE).get(str(value), str(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{inner} {in_reading(inner, own)}" for inner, own in value.items() if own not in _NOT_SET)
    if isinstance(value, list | tuple):
        return ", ".join(in_reading("", own) for own in value)
    return (
        str(value).replace("_", " ") if name in ("fill", "unfilled", "cure", "broker", "overnight", "coordinates") else str(value)
    )


def _costs(costs: Mapping[str, Any]) -> str:
    units = {"bps": "bp commission", "per_share": "per share", "min_fee": "per order at least", "slippage_bps": "bp slippage"}
    words = [f"{value:g} {units.get(name, name.replace('_', ' '))}" for name, value in costs.items() if value]
    return ", ".join(words) or "none"
