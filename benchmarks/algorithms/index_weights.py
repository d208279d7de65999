"""What knowing the weights of the index is worth: tracking error with and without them, on indices made of real prices.

An index is made of each market: share counts in heavy-tailed proportions (log-normal, drawn once per market with a fixed seed),
which are changed to others at half time, as by a review. The ensemble does without weights, with those of the first day only, and
with those of both dates; `rounded` are the same in whole basis points, `guessed` off by 10 % each. Filled at the close, no costs;
tracking errors are per bar, in basis points, over the whole run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks._measure import Report
from benchmarks.runs._tracking_markets import DATA
from datafeeds import MarketPanel, open_source
from tracker_strategies.research import replay

MARKETS = ("orlib_sp100_98_weekly", "nasdaq100_2019_2020_daily", "sp500_2006_2012_daily", "sp500_2015_2020_daily")
SEED, SPREAD, OFF = 21, 1.2, 0.1


def run() -> Report:
    report = Report("index_weights")
    if not DATA.exists():
        report.notes.append("not measured: ../shared/data does not exist")
        return report
    worst = 0.0
    for name in MARKETS:
        row = {"market": name, **tracking(open_source(DATA / f"{name}.csv.gz"))}
        report.rows.append(row)
        worst = max(worst, row["ensemble, both dates"] / row["ensemble, without"])
    report.claim("TE of the ensemble with known weights / without, worst market", worst, at_most=0.35)
    report.notes.append("bp per bar, RMS; an index of known shares with one review at half time, filled at the close, no costs")
    return report


def tracking(market: MarketPanel) -> dict[str, Any]:
    rng = np.random.default_rng(SEED)
    half, n = market.n_bars // 2, market.n_assets
    first, second = (np.exp(SPREAD * rng.standard_normal(n)) for _ in range(2))
    shares = first / market.close[0]
    level = market.close @ shares
    later = second / market.close[half]
    level[half:] = market.close[half:] @ later * (level[half] / (market.close[half] @ later))
    panel = replace(market, target_close=level[:, None])
    days = str(market.dates[0].astype("datetime64[D]") - np.timedelta64(1, "D")), str(market.dates[half].astype("datetime64[D]"))
    known = {day: weights / weights.sum() for day, weights in zip(days, (first, second), strict=True)}
    guess = np.exp(OFF * rng.standard_normal(n))
    rows = {
        "both dates": known,
        "first date": {days[0]: known[days[0]]},
        "rounded": {day: np.round(weights, 4) for day, weights in known.items()},
        "guessed": {day: weights * guess / (weights @ guess) for day, weights in known.items()},
    }
    runs: dict[str, tuple[str, dict[str, Any]]] = {"ensemble, without": ("ensemble", {})} | {
        f"{strategy}, {what}": (strategy, {"index_weights": plain(panel, given)})
        for strategy in ("ensemble", "replicate")
        for what, given in rows.items()
    }
    return {
        label: 1e4 * replay(panel, strategy, {"fill": "close", **params}).metrics()["te_rms"]
        for label, (strategy, params) in runs.items()
    }


def plain(panel: MarketPanel, rows: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {day: dict(zip(panel.symbols, (weights / weights.sum()).tolist(), strict=True)) for day, weights in rows.items()}
