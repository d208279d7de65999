"""What one update of every learner costs at 100 to 5,000 assets: time, and memory that comes and goes on the way.

Time is counted in a unit that is measured beside it at the same N: a projection on the simplex for learners that keep vectors, a
product of an N x N matrix with a vector for those that keep matrices. Memory is the peak of one update above what the learner
holds before it, in vectors or matrices of that size; the new weights are one of them.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks._measure import Report
from benchmarks.algorithms.prox import inputs_of_apas, market
from tracker_strategies import algorithms as alg
from tracker_strategies.algorithms import OnlineAlgorithm, Simplex

SIZES = (100, 500, 2000, 5000)
ROUNDS = 120
SECONDS = 0.03  # of updates in each repeat, if one is not longer
REPEATS = 5  # short and many: on a busy machine one of them is not disturbed

PROJECTION, PRODUCT = "P", "A x"

Make = Callable[[int], Any]


@dataclass(frozen=True)
class Entry:
    """A learner, what its updates are counted in, the largest N it is run at and why there is an end."""

    name: str
    make: Make
    unit: str = PROJECTION
    largest: int = SIZES[-1]
    why: str = ""
    target: Callable[[float], Any] = float
    warm_up: int = 10  # rounds that are not measured
    period: int = 1  # rounds after which the work repeats


def matrix(name: str, make: Make, largest: int = SIZES[-1], why: str = "", **options: Any) -> Entry:
    return Entry(name, make, PRODUCT, largest, why, **options)


def sign(y: float) -> float:
    return float(np.copysign(1.0, y))


IN_PLACE = ("AROW", "LeastSquares", "VAW", "DiscountedVAW", "RLS")
CUBIC = "one eigenvalue decomposition per round"
MANY = "one N x N matrix for each of its experts"
ONCE = "a fit of N^3 operations at the end of its window"

ENTRIES = [
    Entry("ConstantWeights", alg.ConstantWeights),
    Entry("PA", alg.PA),
    Entry("MultiTargetPA", lambda n: alg.MultiTargetPA(n, n_targets=2), target=lambda y: [y, 0.9 * y]),
    Entry("MultiplicativePA", alg.MultiplicativePA),
    Entry("PAClassifier", alg.PAClassifier, target=sign),
    Entry("PAUniclass", lambda n: alg.PAUniclass(n, eps=0.01)),
    Entry("PAS", alg.PAS),
    Entry("APAS", alg.APAS),
    Entry("APAS, lam 0.2", lambda n: alg.APAS(n, lam=0.2)),
    Entry("APAS, switching cost", lambda n: alg.APAS(n, side=alg.SwitchingCost(0.01))),
    Entry("AdaGrad", alg.AdaGrad),
    Entry("AdaGrad rda", lambda n: alg.AdaGrad(n, rule="rda")),
    Entry("OGD", alg.OGD),
    Entry("FOBOS", lambda n: alg.FOBOS(n, regulariser="l2sq", lam=1e-4)),
    Entry("RDA", alg.RDA),
    Entry("AROW diagonal", lambda n: alg.AROW(n, matrix="diagonal")),
    Entry("Holdings of PA", lambda n: alg.Holdings(n, learner=alg.PA(n))),
    Entry("Tilted PA", lambda n: alg.Tilted(n, learner=alg.PA(n))),
    Entry("Vote of PA and APAS", lambda n: alg.Vote(n, members=[alg.PA(n), alg.APAS(n)])),
    Entry("SketchedVAW", alg.SketchedVAW),
    Entry("SLAIT", lambda n: alg.SLAIT(n, window=50), warm_up=50, period=10),
    matrix("AROW", alg.AROW),
    matrix("AdaGrad full", lambda n: alg.AdaGrad(n, matrix="full"), 500, CUBIC),
    matrix("LeastSquares", alg.LeastSquares),
    matrix("SparseLeastSquares", alg.SparseLeastSquares, warm_up=45, period=20),
    matrix("VAW", lambda n: alg.VAW(n, dual_rounds=0)),
    matrix("DiscountedVAW", lambda n: alg.DiscountedVAW(n, dual_rounds=0)),
    matrix("AdaptiveDiscount", lambda n: alg.AdaptiveDiscount(n, dual_rounds=0), 500, MANY),
    matrix("StronglyAdaptive", lambda n: alg.StronglyAdaptive(n, dual_rounds=0), 100, MANY),
    matrix("RLS", alg.RLS),
    matrix("SparsePLS", lambda n: alg.SparsePLS(n, theta=20), warm_up=25),
    matrix("RecursiveLars", lambda n: alg.RecursiveLars(n, theta=20), warm_up=25),
    matrix("AdaptiveLasso", lambda n: alg.AdaptiveLasso(n, theta=20), warm_up=25),
    matrix("StaticPortfolio", lambda n: alg.StaticPortfolio(n, window=30), 2000, ONCE, warm_up=35),
    matrix("RandomPortfolios", lambda n: alg.RandomPortfolios(n, theta=20), warm_up=25),
]


@cache
def unit_work(unit: str, n: int) -> Callable[[], Any]:
    """One projection of a point that APAS projects, or one product."""
    if unit == PROJECTION:
        W, points = Simplex(), [v + at.x / n for v, at in inputs_of_apas(n, 20, 1.0 / n)]
        turn = iter(range(10**9))
        return lambda: W.project(points[next(turn) % 20])
    A, x = np.ones((n, n)), np.ones(n)
    return lambda: A.dot(x)


def seconds_each(work: Callable[[], Any], times: int) -> float:
    gc.collect()
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


def stream(entry: Entry, n: int) -> Callable[[], Any]:
    """One update a call, over and over the same rounds, after the learner's warm-up."""
    X, Y = market(n, ROUNDS)
    targets = [entry.target(float(y)) for y in Y]
    learner: OnlineAlgorithm = entry.make(n)
    at = -1

    def update() -> None:
        nonlocal at
        at = (at + 1) % ROUNDS
        learner.update(X[at], targets[at])

    for _ in range(entry.warm_up):
        update()
    return update


def peak_bytes(update: Callable[[], Any], rounds: int) -> int:
    """The most that one update has allocated at a time."""
    worst = 0
    tracemalloc.start()
    try:
        for _ in range(rounds):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            update()
            worst = max(worst, tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    return worst


def profile(entry: Entry, n: int) -> tuple[float, float]:
    """Time of an update in units, and its peak in vectors or matrices."""
    update, work = stream(entry, n), unit_work(entry.unit, n)
    one = seconds_each(update, entry.period)
    times = entry.period * max(1, min(ROUNDS, int(SECONDS / one)) // entry.period)
    unit_times = max(1, min(200, int(0.02 / seconds_each(work, 1))))
    ours = units = np.inf
    for _ in range(REPEATS if one < SECONDS else 2):
        ours = min(ours, seconds_each(update, times))
        units = min(units, seconds_each(work, unit_times))
    size = 8 * n * (n if entry.unit == PRODUCT else 1)
    return float(ours / units), peak_bytes(update, max(12 if one < SECONDS else 2, entry.period)) / size


def run() -> Report:
    report = Report("updates")
    peak: dict[str, float] = {}
    for entry in ENTRIES:
        row: dict[str, Any] = {"learner": entry.name}
        for n in SIZES:
            row[f"N {n}"], peak[entry.name] = profile(entry, n) if n <= entry.largest else ("too large", peak[entry.name])
        report.rows.append(row | {"unit": entry.unit, "peak": peak[entry.name]})
    unit_work.cache_clear()
    report.notes.append(f"columns N: time of an update, in projections on the simplex ({PROJECTION}) or products ({PRODUCT})")
    report.notes.append(f"peak: memory of an update in vectors ({PROJECTION}) or matrices ({PRODUCT}), at the largest N measured")
    for why in dict.fromkeys(entry.why for entry in ENTRIES if entry.why):
        names = ", ".join(f"{entry.name} (to {entry.largest})" for entry in ENTRIES if entry.why == why)
        report.notes.append(f"too large, {why}: {names}")
    learners = {
        c for c in vars(alg).values() if isinstance(c, type) and issubclass(c, OnlineAlgorithm) and c is not OnlineAlgorithm
    }
    report.claim("learners that are not in this table", len(learners - {type(e.make(100)) for e in ENTRIES}), at_most=0)
    first_order = [peak[name] for name in ("PA", "MultiTargetPA", "MultiplicativePA", "OGD", "FOBOS", "RDA")]
    report.claim(
        "vectors that an update of PA, its variants and the gradient methods needs at most", max(first_order), at_most=6.1
    )
    report.claim("matrices that an update of AROW, LeastSquares, VAW or RLS needs", max(peak[n] for n in IN_PLACE), at_most=0.1)
    return report
