"""Returns over a night in learning: as they are, scaled by their own variance, or skipped. Tracking error of each, in markets of
five minutes whose nights move as much as 64 such bars.

Simulated: twelve names with a common factor and heavy tails, an index of their shares in heavy-tailed proportions, the eight
largest as candidates, so that what the others do is an error that no portfolio of the candidates explains. 25 sessions of 78
bars, second half scored, geometric mean over the seeds, bp per bar, filled at the close, no costs.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks._measure import Report
from datafeeds import MarketPanel
from tracker_strategies.research import replay

STRATEGIES = {
    "pa": {},
    "least-squares": {"coordinates": "weights"},
    "adagrad": {},
    "rls": {},
    "discounted-vaw": {},
}
SEEDS, SESSIONS, BARS, NIGHT = 12, 25, 78, 8.0


def run() -> Report:
    report = Report("overnight")
    panels = [market(seed) for seed in range(SEEDS)]
    for name, params in STRATEGIES.items():
        row: dict[str, object] = {"strategy": name}
        for how in ("learn", "scale", "skip"):
            errors = [te(panel, name, {**params, "overnight": how, "fill": "close"}) for panel in panels]
            row[how] = float(np.exp(np.mean(np.log(errors))))
        report.rows.append(row)
    report.notes.append("TE, RMS, bp per bar; the ensemble scales every round by its size anyway, so neither choice is offered")
    return report


def te(panel: MarketPanel, strategy: str, params: dict[str, object]) -> float:
    return 1e4 * replay(panel, strategy, params).since(0.5).metrics()["te_rms"]


def market(seed: int) -> MarketPanel:
    rng = np.random.default_rng(seed)
    days = pd.bdate_range("2024-03-04", periods=SESSIONS)
    dates = np.concatenate([pd.date_range(day + pd.Timedelta("9h35min"), periods=BARS, freq="5min").to_numpy() for day in days])
    night = np.r_[False, np.diff(dates) > np.timedelta64(4, "h")]
    size = np.where(night, NIGHT, 1.0)[:, None] * 0.012 / np.sqrt(BARS)
    moves = size * (0.6 * rng.standard_normal((len(dates), 1)) + 0.6 * rng.standard_t(5, (len(dates), 12)))
    prices, shares = 50.0 * np.exp(moves.cumsum(axis=0)), rng.pareto(1.5, 12) + 0.3
    largest = np.argsort(-shares)[:8]
    level = (prices @ shares)[:, None]
    return MarketPanel(dates.astype("datetime64[ns]"), tuple(f"A{i}" for i in range(8)), prices[:, largest], ("INDEX",), level)
