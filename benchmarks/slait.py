"""How near eight starts of SLAIT come to the best of forty, over ten seeds, on each market of ../shared/data that is present.

A fit is that of the learner: the last hundred bars, the default price of a name. Ratios are of objectives to that of a fit from
forty starts, with a seed of its own. "One start" is the paper's iteration, "best of forty" the lowest of forty such.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import Report
from tracker_strategies.algorithms import slait
from tracker_strategies.research.sweeps.worker import one_thread

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
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
    many = slait(X, r, starts=MANY, seed=MANY_SEED)
    fits = [slait(X, r, starts=FEW, seed=seed) for seed in range(SEEDS)]
    best = many.objective[-1][-1]
    ratios = [fit.objective[-1][-1] / best for fit in fits]
    report.rows.append(
        {
            "market": name,
            "N": X.shape[1],
            "one start": float(many.values[0]) / best,
            "best of forty": float(many.values.min()) / best,
            "eight, median": float(np.median(ratios)),
            "eight, worst": max(ratios),
            "spread of forty": many.spread,
            "names": int(np.count_nonzero(many.w)),
        }
    )
    report.claim(f"{name}: objective of {FEW} starts over the best of {MANY}", float(np.median(ratios)), at_most=1.03)


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
