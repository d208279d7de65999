"""Random cases of a mandate: which limits, market, strategy and way to run it, all told by a seed and a number."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from datafeeds import MarketPanel, read_panel
from tests.markets import random_panel
from tests.storm.limits.own_learner import OWN
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.strategies.registry import NAMES, NEED_WEIGHTS
from tracker_strategies.strategies.sparse_pls.trackers import SparsePLSTracker

WAYS = ("replay", "basket", "ordinary", "paper")
#: How often each way is drawn: a paper account is slow.
WAY_SHARES = (0.5, 0.22, 0.16, 0.12)
STRATEGIES = (*(name for name in NAMES if name not in NEED_WEIGHTS), OWN)
#: Names come and go soon enough for a small market.
LIVING = {"listing_warmup": 3, "delist_after": 4}
COSTS = {
    "none": CostModel(),
    "bps": CostModel(bps=5),
    "per share": CostModel(per_share=0.01),
    "min fee": CostModel(bps=1, min_fee=2.0),
    "slippage": CostModel(bps=5, slippage_bps=10),
}
#: Sessions of a paper account.
PAPER_BARS = 16
#: Strategies that learn for seconds per bar on a hundred names, and bars of a real market that they see.
SLOW, SLOW_BARS = ("slait",), 20


@dataclass(frozen=True)
class Market:
    """What cases are drawn on: random small markets, or one real file."""

    data: str | None = None
    sectors: str | None = None
    n_bars: int = 60
    n_names: int = 12
    leavers: bool = False  # whether names leave the index and join it while they trade
    more: int = 0  # limits in a case beside its one or two


@dataclass(frozen=True)
class Case:
    """One run. `name` repeats it: ``--case NAME``."""

    name: str
    strategy: str
    way: str
    limits: tuple[str, ...]
    params: dict[str, Any]
    costs: str
    cash: float
    panel: MarketPanel = field(repr=False)

    @property
    def cost_model(self) -> CostModel:
        """What trades pay."""
        return COSTS[self.costs]

    @property
    def in_force(self) -> dict[str, Any]:
        """The params, and the limit that the strategy has by itself."""
        return {"max_names": SparsePLSTracker.params.max_names} | self.params if self.strategy == "sparse-pls" else self.params

    def told(self) -> str:
        """All that is needed to see what was asked, on one line."""
        shown = {key: value if len(repr(value)) < 400 else f"{repr(value)[:200]}..." for key, value in self.params.items()}
        return f"case {self.name}: {self.strategy}, {self.way}, costs {self.costs}, cash {self.cash:g}, {shown}"


Rng = np.random.Generator
Draw = Callable[[Rng, tuple[str, ...], Mapping[str, str]], dict[str, Any]]


def _picked(rng: Rng, symbols: tuple[str, ...], most: int) -> list[str]:
    return [
        symbols[i] for i in rng.choice(len(symbols), size=min(int(rng.integers(1, most + 1)), len(symbols) - 1), replace=False)
    ]


def _max_names(rng: Rng, symbols: tuple[str, ...], of: Mapping[str, str]) -> dict[str, Any]:
    n = len(symbols)
    return {"max_names": int(rng.integers(max(2, n // 4), max(3, n * 3 // 4)))}


def _max_weight(rng: Rng, symbols: tuple[str, ...], of: Mapping[str, str]) -> dict[str, Any]:
    cap = min(float(np.round(rng.uniform(1.3, 4.0) / len(symbols), 4)), 0.66)
    if rng.random() < 0.3:
        return {
            "max_weight": {"*": cap, symbols[int(rng.integers(len(symbols)))]: float(np.round(cap * rng.uniform(0.2, 1.5), 4))}
        }
    return {"max_weight": cap}


def _min_weight(rng: Rng, symbols: tuple[str, ...], of: Mapping[str, str]) -> dict[str, Any]:
    return {"min_weight": float(np.round(rng.uniform(0.1, 0.9) / len(symbols), 4))}


def _must_hold(rng: Rng, symbols: tuple[str, ...], of: Mapping[str, str]) -> dict[str, Any]:
    return {"must_hold": {name: float(np.round(rng.uniform(0.1, 1.2) / len(symbols), 4)) for name in _picked(rng, symbols, 2)}}


def _shares(of: Mapping[str, str]) -> pd.Series:
    return pd.Series(of).value_counts(normalize=True)


def _sectors(of: Mapping[str, str]) -> dict[str, Any]:
    return {"sectors": dict(of), "unmapped": "group"}


def _max_sector(rng: Rng, symbols: tuple[str, ...], of: Mapping[str, str]) -> dict[str, Any]:
    sizes = _shares(of)
    cap = float(np.round(rng.uniform(1.15, 1.8) / (len(sizes) + 1), 4))
    given: Any = cap
    if rng.random() < 0.4:
        given = {
            "*": min(1.5 * cap, 1.0),
            str(sizes.index[int(rng.integers(len(sizes)))]): float(np.round(cap * rng.uniform(0.2, 0.9), 4)),
        }
    return {**_sectors(of), "max_sector": given}


def _min_sector(rng: Rng, symbols: tuple[str, ...], of: Mapping[str, str]) -> dict[str, Any]:
    sizes = _shares(of)
    name = str(sizes.index[int(rng.integers(len(sizes)))])
    return {**_sectors(of), "min_sector": {name: min(float(np.round(rng.uniform(0.2, 1.5) * sizes[name], 4)), 1.0)}}


def _names_per_group(rng: Rng, symbols: tuple[str, ...], of: Mapping[str, str]) -> dict[str, Any]:
    most = int(_shares(of).max() * len(of))
    return {**_sectors(of), "max_names_per_group": int(rng.integers(1, max(2, most)))}


def _second_grouping(rng: Rng, symbols: tuple[str, ...], of: Mapping[str, str]) -> dict[str, Any]:
    country = {name: "home" if rng.random() < 0.6 else "abroad" for name in symbols}
    rules: dict[str, Any] = {"of": country, "max": {"home": float(np.round(rng.uniform(0.5, 0.9), 3))}}
    if rng.random() < 0.5:
        rules["min"] = {"abroad": float(np.round(rng.uniform(0.05, 0.3), 3))}
    return {"groups": {"country": rules}, "unmapped": "group"}


def _names_list(key: str, most: int) -> Draw:
    return lambda rng, symbols, of: {key: _picked(rng, symbols, most)}


def _only(rng: Rng, symbols: tuple[str, ...], of: Mapping[str, str]) -> dict[str, Any]:
    left_out = set(_picked(rng, symbols, max(1, len(symbols) // 3)))
    return {"only": [name for name in symbols if name not in left_out]}


def _number(key: str, low: float, high: float) -> Draw:
    return lambda rng, symbols, of: {key: float(np.round(rng.uniform(low, high), 4))}


def _lot(rng: Rng, symbols: tuple[str, ...], of: Mapping[str, str]) -> dict[str, Any]:
    return {"lot": int(rng.choice([1, 1, 1, 10]))}


LIMITS: dict[str, Draw] = {
    "max_names": _max_names,
    "max_weight": _max_weight,
    "min_weight": _min_weight,
    "must_hold": _must_hold,
    "max_sector": _max_sector,
    "min_sector": _min_sector,
    "max_names_per_group": _names_per_group,
    "groups": _second_grouping,
    "exclude": _names_list("exclude", 3),
    "only": _only,
    "freeze": _names_list("freeze", 2),
    "min_cash": _number("min_cash", 0.005, 0.2),
    "max_turnover": _number("max_turnover", 0.01, 0.3),
    "entry_turnover": _number("entry_turnover", 0.05, 0.5),
    "lot": _lot,
    "band": _number("band", 0.0005, 0.03),
    "cost_aware": _number("cost_aware", 2.0, 40.0),
    "headroom": _number("headroom", 0.01, 0.15),
    "cure": lambda rng, symbols, of: {"cure": "bar"},
}
"""How each limit is drawn, from the names and their sectors."""
#: What says nothing without a weight to keep.
NEED_A_CAP = ("headroom", "cure")
PAIRS: tuple[tuple[str, ...], ...] = (*((name,) for name in LIMITS), *itertools.combinations(LIMITS, 2))


@cache
def _real(data: str, n_bars: int) -> MarketPanel:
    return read_panel(Path(data), gaps="freeze").rows(0, n_bars)


def _sector_of(market: Market, symbols: tuple[str, ...], rng: Rng) -> dict[str, str]:
    if market.sectors:
        table = pd.read_csv(market.sectors)
        column = "sector" if "sector" in table else "gics_sector"
        known = dict(zip(table["symbol"], table[column], strict=True))
        return {name: str(known[name]) for name in symbols if name in known}
    words = ("Energy", "Health", "Tech", "Utilities")
    return {name: words[int(rng.integers(len(words)))] for name in symbols if rng.random() < 0.95}


def with_gaps(panel: MarketPanel, rng: Rng) -> MarketPanel:
    """The panel with halts, and some names that list late or leave."""
    n_bars, n = panel.close.shape
    absent = ~np.isfinite(panel.close)
    for i in rng.choice(n, size=max(1, n // 3), replace=False).tolist():
        start, length = int(rng.integers(1, n_bars - 1)), int(rng.integers(1, 5))
        absent[start : start + length, i] = True
    if rng.random() < 0.5:
        absent[: int(rng.integers(3, n_bars // 2)), int(rng.integers(n))] = True
    if rng.random() < 0.5:
        absent[int(rng.integers(n_bars // 3, n_bars)) :, int(rng.integers(n))] = True
    absent[:, absent.all(axis=0)] = False
    bars = {kind: getattr(panel, kind) for kind in ("close", "open", "high", "low")}
    holes: dict[str, Any] = {kind: np.where(absent, np.nan, values) for kind, values in bars.items() if values is not None}
    return MarketPanel(panel.dates, panel.symbols, targets=panel.targets, target_close=panel.target_close, **holes)


def with_leavers(panel: MarketPanel, rng: Rng) -> MarketPanel:
    """The panel with an index that some names leave, or join, while they trade."""
    n_bars, n = panel.close.shape
    members = np.ones((n_bars, n), dtype=np.bool_)
    for i in rng.choice(n, size=max(1, n // 4), replace=False).tolist():
        start = int(rng.integers(1, n_bars))
        members[start : start + int(rng.integers(2, n_bars)), i] = False
    return replace(panel, members=members)


def make_case(
    seed: int,
    index: int,
    market: Market | None = None,
    *,
    limits: tuple[str, ...] | None = None,
    strategy: str | None = None,
    way: str | None = None,
) -> Case:
    """A case: the limits go round all single ones and pairs, the rest is drawn; some of it may be given."""
    market = market or Market()
    rng = np.random.default_rng((seed, index))
    order = np.random.default_rng(seed).permutation(len(PAIRS))
    drawn: dict[str, Any] = {
        "limits": PAIRS[order[index % len(PAIRS)]],
        "strategy": STRATEGIES[int(rng.integers(len(STRATEGIES)))],
        "way": str(rng.choice(WAYS, p=WAY_SHARES)),
    }
    limits = limits or tuple(drawn["limits"])
    others = [name for name in LIMITS if name not in limits]
    limits = (*limits, *np.random.default_rng((seed, index, 2)).choice(others, size=market.more, replace=False).tolist())
    strategy, way = strategy or str(drawn["strategy"]), way or str(drawn["way"])
    if market.data:
        panel = _real(market.data, market.n_bars)
    else:
        panel = random_panel(market.n_bars, market.n_names, int(rng.integers(10**6)), ohlc=bool(rng.random() < 0.8))
    if strategy in SLOW and market.data:
        panel = panel.rows(0, min(SLOW_BARS, panel.n_bars))
    if way == "paper":
        panel = panel.rows(0, min(PAPER_BARS, panel.n_bars))
    if rng.random() < 0.6:
        panel = with_gaps(panel, rng)
    if market.leavers and way != "paper":  # an account keeps bars as they come
        panel = with_leavers(panel, np.random.default_rng((seed, index, 1)))
    of = _sector_of(market, panel.symbols, rng)
    params: dict[str, Any] = {}
    asked = limits if set(limits) - set(NEED_A_CAP) - {"entry_turnover", "lot", "band", "cost_aware"} else (*limits, "max_weight")
    for name in asked if set(limits) & set(NEED_A_CAP) else limits:
        params |= LIMITS[name](rng, panel.symbols, of)
    params |= LIVING | {
        "fill": str(rng.choice(["next_open", "open", "close"])),
        "rebalance": [1, 1, 1, 5, "weekly", "monthly", "once"][int(rng.integers(7))],
        "coordinates": str(rng.choice(["weights", "weights", "shares"])),
    }
    if way == "paper" and params["fill"] == "open":
        params["fill"] = "next_open"  # nobody has the opening price before it trades
    if strategy.endswith("ensemble"):  # it learns share counts: there is no other choice
        params["coordinates"] = "shares"
    if strategy == "buy-and-hold":
        params.pop("rebalance")
    if strategy == "constant-weight" and rng.random() < 0.5:
        params["weights"] = dict.fromkeys(_picked(rng, panel.symbols, 3), 1.0)  # excluded ones among them
    cash = float(rng.choice([1e4, 1e5, 1e6]))
    return Case(
        f"{seed}:{index}", strategy, way, limits, params, str(rng.choice(list(COSTS), p=[0.5, 0.15, 0.1, 0.1, 0.15])), cash, panel
    )
