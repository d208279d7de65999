"""The markets of ../shared/data that have an index, and who tracks them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from datafeeds import MarketPanel, open_source
from tracker_strategies.algorithms import ShareCounts
from tracker_strategies.research.leaderboard.rivals import SkfolioTracker, VoteTracker
from tracker_strategies.strategies.base import strategy_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
#: From few names and bars to many, so that most is known early.
MARKETS = (
    "orlib_hangseng31_weekly",
    "orlib_sp100_98_weekly",
    "nasdaq100_2019_2020_daily",
    "nasdaq100_2023_2024_daily",
    "orlib_nikkei225_weekly",
    "sp500_2010_daily_RETURNS",
    "us40_ohlcv_2016_2020_daily_LONG",
    "orlib_sp500_457_weekly",
    "sp500_1999_2020_weekly",
    "sp500_2015_2020_daily",
    "ftse100_64_2010_2023_daily",
    "sp500_2006_2012_daily",
    "sp500_20_1990_2020_daily",
    "orlib_russell2000_1319_weekly",
)
#: Names up to which SLAIT takes part, and skfolio is solved anew at every bar instead of every 20.
SMALL = 225
COUNTS, OFFSETS = (10, 30, 50), (0, 4, 8, 12, 16)
ALONE: dict[str, dict[str, Any]] = {
    "long memory, log-normal": {"gamma": 0.995, "ridge": 0.01, "prior": "inverse_volatility", "inertia": 3.0, "kappa": 0.0},
    "50 bars, Hadamard": {"gamma": 0.98, "ridge": 0.01, "prior": "inverse_volatility", "inertia": 3.0, "kappa": 2.0},
    "20 bars, log-normal": {"gamma": 0.95, "ridge": 0.03, "prior": "equal", "inertia": 1.0, "kappa": 0.0},
    "10 bars, Gaussian": {"gamma": 0.9, "ridge": 0.001, "prior": "equal", "inertia": 3.0, "kappa": 1.0},
}
#: The ensemble with one ingredient removed.
WITHOUT: dict[str, dict[str, Any]] = {
    "heavy tails": {"kappa": 1.0},
    "the volatility prior": {"prior": "equal"},
    "robust weights": {"robust": 1e6},
    "the ramp": {"ramp": 1_000_000_000},
    "a calm stack": {"psi": 1.0},
    "the half way": {"eta": 1.0},
}


class Contender(NamedTuple):
    """Who takes part: a name, a group, a strategy and its params."""

    name: str
    group: str
    strategy: Any
    params: dict[str, Any]


def ours(n: int) -> Iterator[Contender]:
    """The ensemble on all names and on a few, its members alone, without each ingredient, the vote that it was, and PA."""
    yield Contender("ensemble", "all names", "ensemble", {})
    yield Contender("vote", "all names", VoteTracker, {})
    yield Contender("pa", "all names", "pa", {})
    for group, settings in (("alone", ALONE), ("without", WITHOUT)):
        for name, params in settings.items():
            yield Contender(name, group, strategy_of(ShareCounts), params)
    for count in COUNTS:
        for offset in OFFSETS if count < n else ():
            yield Contender(f"{count}, {offset}", "few names", "ensemble", {"max_names": count, "review_offset": offset})


def rivals(n: int) -> Iterator[Contender]:
    """Trackers of other makers: skfolio and SLAIT."""
    often = {"every": 1, "rebalance": 1} if n <= SMALL else {}
    yield Contender("skfolio", "all names", SkfolioTracker, often)
    if n <= SMALL:
        yield Contender("slait", "all names", "slait", {"window": 100, "every": 10, "starts": 1})


def market(name: str) -> MarketPanel:
    """A market as a user would open it; returns are compounded to prices, base 1 one session before the first row."""
    path = DATA / f"{name}.csv.gz"
    if "RETURNS" in name:
        returns = pd.read_csv(path, index_col=0, parse_dates=True)
        first = returns.index[0] - pd.tseries.offsets.BDay()
        prices = np.vstack([np.ones(returns.shape[1]), np.cumprod(1.0 + returns.to_numpy(np.float64), axis=0)])
        return MarketPanel.from_frame(pd.DataFrame(prices, returns.index.insert(0, first), returns.columns))
    return open_source(path, gaps="freeze", clean="drop" if "russell" in name else None)
