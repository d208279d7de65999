"""The recommended tracker on real markets: against plain PA, SLAIT and skfolio's BenchmarkTracker, on the same bars.

The markets are those of ../shared/data, where they are present. Tracking errors and turnovers are of the second half, filled at
the close without costs, with one and the same setting of the tracker for all markets. Times are of whole runs, side by side.
"""

from __future__ import annotations

import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import Report, side_by_side
from benchmarks.algorithms.prox import market
from datafeeds import MarketPanel, open_source
from tracker_strategies.algorithms import LeastSquares
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import replay
from tracker_strategies.research.leaderboard.rivals import SkfolioTracker, has_skfolio
from tracker_strategies.research.sweeps.running.worker import one_thread
from tracker_strategies.strategies import EnsembleTracker

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
MARKETS = ("nasdaq100_2019_2020_daily", "orlib_sp100_98_weekly", "orlib_nikkei225_weekly", "orlib_hangseng31_weekly")
#: Markets of hundreds of names: SLAIT would take many minutes there and sits out.
LARGE = ("sp500_2015_2020_daily",)
BARS = "us40_ohlcv_2016_2020_daily_LONG"
#: Prices of a name for SLAIT, from many names to few; the best run that holds no more than NAMES is the rival.
PRICES, NAMES = (7e-7, 3e-6), 30
CLOSE = {"fill": "close"}
#: One start, as in the paper: it tracks closer out of sample than the best of several.
PAPERS_SLAIT: dict[str, Any] = {"window": 100, "every": 10, "starts": 1}


def run() -> Report:
    report = Report("ensemble")
    with one_thread():
        for name in (*MARKETS, *LARGE):
            if (DATA / f"{name}.csv.gz").exists():
                compare(report, name, open_source(DATA / f"{name}.csv.gz"), slait=name in MARKETS)
            else:
                report.notes.append(f"{name}: left out, ../shared/data is absent")
        if (DATA / f"{BARS}.csv.gz").exists():
            net_of_costs(report, open_source(DATA / f"{BARS}.csv.gz"))
        products(report)
    if not has_skfolio():
        report.notes.append("skfolio is not installed (extra 'rivals'): it sat out")
    return report


def scored(panel: MarketPanel, strategy: Any, **params: Any) -> dict[str, float]:
    return replay(panel, strategy, {**CLOSE, **params}).since(0.5).metrics()


def compare(report: Report, name: str, panel: MarketPanel, *, slait: bool) -> None:
    """Rows of all contenders on a market, and the claims about them."""
    found = {"ensemble": scored(panel, "ensemble"), "pa": scored(panel, "pa")}
    if slait:
        found["slait"] = scored(panel, "slait", **PAPERS_SLAIT)
    if has_skfolio():
        found["skfolio"] = scored(panel, SkfolioTracker)
    few = min(NAMES, panel.n_assets)
    found[f"ensemble, {few} names"] = scored(panel, "ensemble", max_names=few)
    if slait:
        tried = [scored(panel, "slait", lam=price, **PAPERS_SLAIT) for price in PRICES]
        tried.append(scored(panel, "slait", max_names=few, **PAPERS_SLAIT))
        found[f"slait, {few} names"] = min((m for m in tried if m["n_holdings"] <= few), key=lambda m: m["te_rms"])
    for contender, m in found.items():
        figures = {"TE bp": 1e4 * m["te_rms"], "turnover": m["turnover"], "names": m["n_holdings"]}
        report.rows.append({"market": name, "contender": contender, **figures})
    ours, pa = found["ensemble"], found["pa"]
    report.claim(f"{name}: TE over that of PA", ours["te_rms"] / pa["te_rms"], at_most=0.7)
    report.claim(f"{name}: turnover over that of PA", ours["turnover"] / pa["turnover"], at_most=1.0)
    for rival in ("slait", "skfolio"):
        if rival in found:
            report.claim(f"{name}: TE over that of {rival}", ours["te_rms"] / found[rival]["te_rms"], at_most=1.0)
    if slait:
        mine, theirs = (found[f"{who}, {few} names"]["te_rms"] for who in ("ensemble", "slait"))
        report.claim(f"{name}: TE with {few} names over that of SLAIT", mine / theirs, at_most=1.0)
    if has_skfolio():
        walk, fit = over_a_bar(panel)
        report.claim(f"{name}: a bar of skfolio's walk-forward, over one of ours", walk, at_least=50.0)
        report.notes.append(
            f"{name}: a fit of skfolio alone, without what its walk-forward does around it, is {fit:.0f} bars of ours"
        )


def over_a_bar(panel: MarketPanel, rounds: int = 7) -> tuple[float, float]:
    """How many of our bars fit into one of skfolio's, re-solved at every bar on the last 250 (or half of all): by its own
    walk-forward, and by the fits alone. Medians over rounds in turn.
    """
    import pandas as pd
    from skfolio.model_selection import WalkForward, cross_val_predict
    from skfolio.optimization import BenchmarkTracker

    y = panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    window, X = min(250, len(y) // 2), panel.returns
    learner = EnsembleTracker.make_algorithm(EnsembleTracker.params, panel.symbols, 1)
    learner.run(X[:window], y[:window])
    dates = pd.DatetimeIndex(panel.dates[1:])
    frame, index = pd.DataFrame(X, dates, columns=panel.symbols), pd.Series(y, dates, name="INDEX")
    bars = min(40, (len(y) - window) // 2)
    few = max(1, min(10, 500 // panel.n_assets))
    walks, fits = [], []
    for k in range(rounds):
        first = window + k * (len(y) - window - bars) // rounds
        past, ahead = slice(first - window, first), slice(first - window, first + few)
        begin = time.perf_counter()
        for t in range(first, first + bars):
            learner.update(X[t], float(y[t]))
        ours = (time.perf_counter() - begin) / bars
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.perf_counter()
            cross_val_predict(BenchmarkTracker(), frame[ahead], index[ahead], cv=WalkForward(train_size=window, test_size=1))
            walks.append((time.perf_counter() - begin) / few / ours)
            begin = time.perf_counter()
            BenchmarkTracker().fit(frame[past], index[past])
            fits.append((time.perf_counter() - begin) / ours)
    return statistics.median(walks), statistics.median(fits)


def net_of_costs(report: Report, panel: MarketPanel) -> None:
    """Fills at the next open, 10 bp: how far from the index the accounts end."""
    ends = {}
    for name, params in (("pa", {}), ("ensemble", {}), ("ensemble, cost_aware 10", {"cost_aware": 10.0})):
        m = replay(panel, name.split(",")[0], {"fill": "next_open", **params}, costs=CostModel(10.0)).since(0.5).metrics()
        ends[name] = abs(m["tracking_difference"])
        figures = {"TE bp": 1e4 * m["te_rms"], "turnover": m["turnover"], "names": m["n_holdings"]}
        report.rows.append({"market": BARS, "contender": name, **figures, "net difference %": 100 * m["tracking_difference"]})
    report.claim(f"{BARS}: net tracking difference over that of PA", ends["ensemble"] / ends["pa"], at_most=1.0)


def products(report: Report, n: int = 450, rounds: int = 300) -> None:
    """A round of least squares in products of its matrix with a vector."""
    X, Y = market(n, rounds)
    learner, matrix = LeastSquares(n), np.random.default_rng(0).standard_normal((n, n))
    learner.run(X[:2], Y[:2])
    made, times = LeastSquares(n), 2000

    def multiply() -> None:
        for _ in range(times):
            matrix.dot(X[0])

    timings, _ = side_by_side({"round": lambda: made.fresh().run(X, Y), "product": multiply}, 3)
    ratio = (timings["round"].least / rounds) / (timings["product"].least / times)
    report.claim(f"LeastSquares, N = {n}: a round in matrix-vector products", ratio, at_most=40.0)
