"""What limits cost: CPU per bar with and without a mandate, whole shares, and tracking under limits against skfolio.

CPU is process time of whole runs in cerebro, one thread, the variants in turn, by numpy and, where it is installed, by numba.
Tracking errors under limits are of the second half, filled at the close without costs; skfolio's BenchmarkTracker is solved anew
at every bar on the last 250 bars (or half of all) with the same limits. Whole shares are of the whole run after the entry.
"""

from __future__ import annotations

import time
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks._measure import Report
from benchmarks.runs._tracking_markets import DATA
from datafeeds import MarketPanel, open_source, read_sectors
from tracker_strategies.algorithms import kernels
from tracker_strategies.research import replay
from tracker_strategies.research.leaderboard.rivals import has_skfolio
from tracker_strategies.research.sweeps.running.worker import one_thread
from tracker_strategies.runner import backtest

SECTORS = DATA / "meta_sp500_gics_2025.csv"
#: Caps, sectors, cash, an exclusion and the turnover together; then with a count of names and whole shares.
CONVEX: dict[str, Any] = {
    "max_weight": 0.05,
    "sectors": str(SECTORS),
    "max_sector": 0.2,
    "unmapped": "group",
    "min_cash": 0.01,
    "exclude": ["AAPL"],
    "max_turnover": 0.05,
}
ALL = {**CONVEX, "max_names": 60, "lot": 1.0}
CPU = (("nasdaq100_2019_2020_daily", 503), ("sp500_2015_2020_daily", 260))
CAPPED: dict[str, dict[str, Any]] = {
    "nasdaq100_2019_2020_daily": {"max_weight": 0.05, "sectors": str(SECTORS), "max_sector": 0.2, "unmapped": "group"},
    "nasdaq100_2023_2024_daily": {"max_weight": 0.05, "sectors": str(SECTORS), "max_sector": 0.2, "unmapped": "group"},
    "orlib_sp100_98_weekly": {"max_weight": 0.03},
}
#: Market, bars and the most that the tracking error may be with 10,000, in basis points.
WHOLE = (("nasdaq100_2019_2020_daily", 503, 20.0), ("sp500_2015_2020_daily", 260, 13.0))
ROUNDS = 3
KERNELS = ("numpy", "numba") if find_spec("numba") else ("numpy",)


def run() -> Report:
    report = Report("mandate")
    if not DATA.exists():
        report.notes.append("not measured: ../shared/data does not exist")
        return report
    with one_thread():
        for name, bars in CPU:
            for kind in KERNELS:
                cpu(report, name, market(name).rows(0, bars), kind)
        for name, limits in CAPPED.items():
            tracking(report, name, market(name), limits)
        for name, bars, most in WHOLE:
            whole_shares(report, name, market(name).rows(0, bars), most)
    if not has_skfolio():
        report.notes.append("skfolio is not installed (extra 'rivals') and was not measured")
    return report


def market(name: str) -> MarketPanel:
    return open_source(DATA / f"{name}.csv.gz", gaps="freeze")


def cpu(report: Report, name: str, panel: MarketPanel, kind: str) -> None:
    least = dict.fromkeys(("without", "convex", "all"), np.inf)
    before = kernels.in_use()
    kernels.use(kind)
    for turn in range(ROUNDS + 1):
        for limits, given in (("without", {}), ("convex", CONVEX), ("all", ALL)):
            begin = time.process_time()
            backtest(panel, "ensemble", {"fill": "close", **given}, orders=False)
            if turn:  # the first one may compile
                least[limits] = min(least[limits], time.process_time() - begin)
    kernels.use(before)
    for limits, seconds in least.items():
        report.rows.append({"market": name, "limits": f"{limits}, {kind}", "ms per bar": 1e3 * seconds / panel.n_bars})
    n, base = panel.n_assets, least["without"]
    report.claim(
        f"{n} names by {kind}: CPU with limits on weights, sectors, cash and turnover / CPU without limits",
        least["convex"] / base,
        at_most=1.3,
    )
    report.claim(
        f"{n} names by {kind}: CPU with all limits, names and lots included / CPU without", least["all"] / base, at_most=2.0
    )


def tracking(report: Report, name: str, panel: MarketPanel, limits: dict[str, Any]) -> None:
    free, ours = (replay(panel, "ensemble", {"fill": "close", **given}).since(0.5).metrics() for given in ({}, limits))
    for kind, m in (("ensemble, no limits", free), ("ensemble", ours)):
        report.rows.append({"market": name, "limits": kind, "TE bp": 1e4 * m["te_rms"], "turnover": m["turnover"]})
    report.claim(f"{name}: decisions that break a limit", ours["breaches_active"], at_most=0.0)
    report.claim(f"{name}: turnover within limits / turnover without", ours["turnover"] / free["turnover"], at_most=1.2)
    if has_skfolio():
        te, turnover = skfolio(panel, limits)
        report.rows.append({"market": name, "limits": "skfolio", "TE bp": 1e4 * te, "turnover": turnover})
        report.claim(f"{name}: TE under limits / TE of skfolio", ours["te_rms"] / te, at_most=1.1)


def skfolio(panel: MarketPanel, limits: dict[str, Any]) -> tuple[float, float]:
    """TE and turnover of BenchmarkTracker within the same limits, on the second half."""
    import pandas as pd
    from skfolio.optimization import BenchmarkTracker

    close = pd.DataFrame(panel.close).ffill().to_numpy()
    X = np.nan_to_num(close[1:] / close[:-1] - 1.0)
    y = panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    window, first = min(250, len(y) // 2), (len(y) + 1) // 2
    columns = [f"a{i}" for i in range(X.shape[1])]
    more: dict[str, Any] = {}
    if "max_sector" in limits:
        known = read_sectors(limits["sectors"])
        of = [known.get(symbol, "unmapped").replace(" ", "_") for symbol in panel.symbols]
        more["groups"] = {column: [group] for column, group in zip(columns, of, strict=True)}
        more["linear_constraints"] = [f"{group} <= {limits['max_sector']}" for group in sorted(set(of))]
    errors, trades, before = [], [], None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t in range(first, len(y)):
            past = slice(t - window, t)
            model = BenchmarkTracker(max_weights=limits["max_weight"], **more)
            w = np.asarray(model.fit(pd.DataFrame(X[past], columns=columns), pd.Series(y[past])).weights_)
            if before is not None:
                drifted = before * (1.0 + X[t - 1])
                trades.append(float(np.abs(w - drifted / drifted.sum()).sum()))
            errors.append(float(w @ X[t]) - float(y[t]))
            before = w
    return float(np.sqrt(np.mean(np.square(errors)))), float(np.mean(trades))


def whole_shares(report: Report, name: str, panel: MarketPanel, most: float) -> None:
    found = {}
    for cash, lot in ((1e4, 1.0), (1e5, 1.0), (1e5, 0.0)):
        record = replay(panel, "ensemble", {"fill": "close", "lot": lot}, cash=cash)
        m, left = record.metrics(), record.part.idle_cash
        found[cash, lot] = m
        kind = f"{cash:,.0f}, " + ("whole shares" if lot else "fractions")
        row = {"market": name, "limits": kind, "TE bp": 1e4 * m["te_rms"], "turnover": m["turnover"]}
        report.rows.append(row | {"cash % median": 100 * float(np.median(left)), "cash % most": 100 * float(left.max())})
        if cash == 1e4:
            report.claim(f"{name}: TE in bp of 10,000 in whole shares", 1e4 * m["te_rms"], at_most=most)
            report.claim(f"{name}: turnover of 10,000 in whole shares", m["turnover"], at_most=0.03)
            report.claim(f"{name}: median cash of 10,000 in whole shares", float(np.median(left)), at_most=0.01)
            report.claim(f"{name}: most cash of 10,000 in whole shares", float(left.max()), at_most=0.03)
    whole, part = found[1e5, 1.0], found[1e5, 0.0]
    report.claim(f"{name}: TE of 100,000 in whole shares / in fractions", whole["te_rms"] / part["te_rms"], at_most=1.1)
    report.claim(f"{name}: turnover of 100,000 in whole shares / in fractions", whole["turnover"] / part["turnover"], at_most=1.5)
