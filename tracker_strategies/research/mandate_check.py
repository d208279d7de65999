"""What ``tracker mandate check`` finds: whether limits can hold, which names cannot be bought, and what the limits cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from datafeeds import MarketPanel
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.mandate.binding import grouping_of, may_hold
from tracker_strategies.execution.mandate.feasibility import unbuyable
from tracker_strategies.research.numpy_replay import replay
from tracker_strategies.runner import Bound, check_mandate
from tracker_strategies.strategies.registry import load_strategy


def look_at_mandate(
    mandate: Mandate, panel: MarketPanel, cash: float = 1_000_000.0, strategy: str = "ensemble"
) -> dict[str, Any]:
    """A report on a mandate as plain data, for JSON. It costs two replays of the strategy.

    Returns
    -------
    dict
        ``source``, ``day`` (the first bar that may trade), ``n_names``, ``cash``, ``mandate`` (limits by key);
        ``cannot_be_bought`` (symbol to the reason), ``no_sector`` (names), ``groups`` (one entry per group: ``grouping``,
        ``name``, ``names``, ``can_be_bought``, ``min``, ``max``, ``max_names``; limits as promised, without headroom), and
        ``price``: ``strategy``, and the figures ``without`` and ``within`` the mandate, fills at the close and no costs
        (``te_rms``, ``te_per_year``, ``turnover``, ``n_holdings``, ``cash`` held, ``idle_cash`` that limits left uninvested,
        ``n_bars``; None where no bar is scored).

    Raises
    ------
    ParameterError, UniverseError
        One line, where the limits cannot hold together or name what is not there.
    """
    cls, limits = load_strategy(strategy), mandate.told()
    bound = check_mandate(panel, cls, limits, cash)
    params = {"fill": "close"}
    runs = {
        "without": replay(panel, cls, params, cash=cash),
        "within": replay(panel, cls, {**params, **limits}, cash=cash),
    }
    return {
        "source": panel.source,
        "day": panel.day(0) if bound is None else bound.day,
        "n_names": panel.n_assets,
        "n_bars": panel.n_bars,
        "cash": cash,
        "mandate": limits,
        "cannot_be_bought": {} if bound is None else _not_bought(bound, cash),
        "no_sector": _without_sector(mandate, panel),
        "groups": [] if bound is None else _groups(bound, cash),
        "price": {"strategy": strategy, **{name: _figures(run) for name, run in runs.items()}},
    }


def _not_bought(bound: Bound, cash: float) -> dict[str, str]:
    """Why each of the names that cannot be bought cannot: the first reason that applies."""
    mandate, limits, symbols = bound.mandate, bound.limits, bound.symbols
    dear = unbuyable(limits, bound.prices, cash, mandate.lot) if mandate.lot else np.zeros(len(symbols), bool)
    found = {}
    for i, name in enumerate(symbols):
        cap = min(float(limits.upper[i]), limits.total)
        if name in mandate.exclude:
            found[name] = "excluded"
        elif mandate.only and name not in mandate.only:
            found[name] = "not among the only names"
        elif limits.frozen[i]:
            found[name] = "frozen, and nothing of it is held"
        elif not bound.listed[i]:
            found[name] = f"not listed, or no member of the index, on {bound.day}"
        elif limits.upper[i] <= 0.0:
            found[name] = "its max_weight is 0"
        elif dear[i]:
            lot = "one share" if mandate.lot == 1 else f"a lot of {mandate.lot:g}"
            cost = mandate.lot * float(bound.prices[i])
            found[name] = f"{lot} costs {cost:,.2f}, its cap of {100 * cap:.6g} % is {cap * cash:,.2f}"
    return found


def _without_sector(mandate: Mandate, panel: MarketPanel) -> list[str]:
    if mandate.sectors is None:
        return []
    of, allowed = grouping_of("sector", mandate.sectors), may_hold(mandate, panel.symbols)
    return [name for name, may in zip(panel.symbols, allowed, strict=True) if may and name not in of]


def _groups(bound: Bound, cash: float) -> list[dict[str, Any]]:
    spare, lost = bound.mandate.headroom, set(_not_bought(bound, cash))
    return [
        {
            "grouping": group.grouping,
            "name": group.name,
            "names": len(group.members),
            "can_be_bought": sum(bound.symbols[i] not in lost for i in group.members),
            "min": group.lower / (1.0 + spare),
            "max": None if group.upper >= 1.0 else group.upper / (1.0 - spare),
            "max_names": group.max_names,
        }
        for group in bound.limits.groups
    ]


def _figures(record: RunRecord) -> Mapping[str, Any]:
    scored, metrics = record.part, record.metrics()
    cash = 1.0 - scored.weights[1:].sum(axis=1)  # row 0 is where the first scored bar begins
    found = {key: metrics[key] for key in ("te_rms", "turnover", "n_holdings", "idle_cash")}
    found["te_per_year"] = metrics["te_rms"] * math.sqrt(record.periods_per_year)
    found["cash"] = max(float(cash.mean()), 0.0) if len(cash) else math.nan
    known = {key: float(value) if math.isfinite(value) else None for key, value in found.items()}
    return {**known, "n_bars": metrics["n_bars"]}
