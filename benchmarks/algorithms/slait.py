"""How near a fit of SLAIT, which tries eight starts, comes to the best of forty starts of the paper's iteration: over ten seeds,
on each market of ../shared/data that is present.

A fit is that of the learner: the last hundred bars, the default price of a name. Ratios are of objectives to the lowest of the
forty, whose starts are moved with a seed of their own. Beside it: the first of the forty, which is the paper's, and a fit that
tries forty starts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks._measure import Report
from tracker_strategies.algorithms.passive_aggressive import slait
from tracker_strategies.algorithms.passive_aggressive.batch_slait import several_starts
from tracker_strategies.research.sweeps.running.worker import one_thread

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
WINDOW, SEEDS, FEW, MANY = 100, 10, 8, 40
MANY_SEED = 1000
"""Of the forty starts: none of the ten."""


def run() -> Report:
    report = Report("slait")
    files = sorted(DATA.glob("*.csv.gz"))
    if not files:
        report.notes.append("nothing to run on: ../shared/data is absent")
    with one_thread():
        for file in files:
            compare(report, file.name.removesuffix(".csv.gz"), *window(file))
    return report


def compare(report: Report, name: str, X: np.ndarray, r: np.ndarray) -> None:
    starts = several_starts(np.full(X.shape[1], 1.0 / X.shape[1]), X, MANY, MANY_SEED)
    forty = np.array([slait(X, r, start=start, starts=1).values[0] for start in starts])
    fits = [slait(X, r, starts=FEW, seed=seed) for seed in range(SEEDS)]
    ratios = [float(fit.values.min() / forty.min()) for fit in fits]
    more = slait(X, r, starts=MANY, seed=MANY_SEED)
    report.rows.append(
        {
            "market": name,
            "N": X.shape[1],
            "paper": float(forty[0] / forty.min()),
            "worst of forty": float(forty.max() / forty.min()),
            "fit, median": float(np.median(ratios)),
            "fit, worst": max(ratios),
            "fit from forty": float(more.values.min() / forty.min()),
            "spread, median": float(np.median([fit.spread for fit in fits])),
            "names": int(np.median([np.count_nonzero(fit.w) for fit in fits])),
        }
    )
    report.claim(f"{name}: objective of {FEW} starts / best of {MANY} starts", float(np.median(ratios)), at_most=1.03)


def window(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """The last returns of all names with a price throughout, and of the index: equal weights where the file has none."""
    table = pd.read_csv(file, index_col=0)
    if file.name.endswith("_LONG.csv.gz"):
        table = table.reset_index().pivot(index="date", columns="ticker", values="adj_close")
    if not file.name.endswith("_RETURNS.csv.gz"):
        table = table.pct_change(fill_method=None)
    table = table.iloc[-WINDOW:].dropna(axis=1)
    r = table.pop("INDEX") if "INDEX" in table else table.mean(axis=1)
    return np.ascontiguousarray(table.to_numpy()), r.to_numpy()
