"""The innermost loops by numpy and by numba: projection, passive-aggressive step, step of the log return, the quadratic of least
squares; and whole updates.

Inputs are those of APAS on a synthetic market, with its default trade-off 1/N, where nearly every name is held, and with 0.2,
where few are. The passive-aggressive step is the large one of a round that missed by one percent. Quadratics are those of a
discounted past on the same market, each solved from the minimum of the one before, as precisely as the learner does.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks._measure import Report, side_by_side
from benchmarks.algorithms.prox import Input, inputs_of_apas, market
from tracker_strategies.algorithms import (
    APAS,
    PA,
    Holdings,
    LeastSquares,
    NegativeLogReturn,
    OnlineAlgorithm,
    ShareCounts,
    Simplex,
)
from tracker_strategies.algorithms.least_squares._scaled_quadratic import ScaledQuadratic
from tracker_strategies.algorithms.least_squares.dense import PRECISION
from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.algorithms.numerics.simplex_gradients import Descent
from tracker_strategies.errors import MissingExtraError
from tracker_strategies.research.sweeps.running.worker import one_thread

SIZES = (100, 500, 2000, 5000, 20000)
INPUTS, REPEATS, MICROSECONDS = 20, 40, 1500  # of work in a repeat, roughly
KERNELS = ("projection", "PA step", "log-return step")
#: Names of a quadratic, and how many times faster it and a whole bar of least squares at three discounts are to be.
QUADRATICS = {31: (3.0, 1.2), 100: (4.0, 1.5), 225: (2.0, 1.3)}
#: Names of the ensemble, and how much longer its bar may take by numpy than by numba.
ENSEMBLE = {31: 10.0, 100: 7.0, 225: 3.5, 471: 2.2}
DISCOUNTS, BARS, TIMES = (1.0, 0.98, 0.9), 120, 5

W, H = Simplex(), NegativeLogReturn()


def work(n: int, lam: float) -> dict[str, Callable[[], list[np.ndarray]]]:
    """What is timed, by name; each call goes through all inputs."""
    inputs: list[Input] = inputs_of_apas(n, INPUTS, lam)
    points = [v + lam * at.x for v, at in inputs]
    sizes = [0.01 / float(at.x.dot(at.x)) for _, at in inputs]
    X, Y = market(n, INPUTS, seed=2)
    rounds = list(zip(X, Y.tolist(), strict=True))

    def updates(learner: OnlineAlgorithm) -> list[np.ndarray]:
        return [learner.update(x, y) for x, y in rounds]

    return {
        "projection": lambda: [W.project(p) for p in points],
        "PA step": lambda: [W.step(at.w, size, at.x) for size, (_, at) in zip(sizes, inputs, strict=True)],
        "log-return step": lambda: [H.prox(v, lam, W, at) for v, at in inputs],
        "PA update": lambda: updates(PA(n)),
        "APAS update": lambda: updates(APAS(n, lam=lam)),
    }


Quadratic = tuple[ScaledQuadratic, np.ndarray, float]


def solved(quadratics: list[Quadratic]) -> list[Descent]:
    return [problem.solve(start, 1.0, None, enough) for problem, start, enough in quadratics]


def quadratics_of_least_squares(n: int, pull: float = 3.0) -> list[Quadratic]:
    """The last rounds of a stretch of least squares, with the discounts of the ensemble and its pull to the weights held."""
    X, Y = market(n, BARS)
    found: list[Quadratic] = []
    for gamma in DISCOUNTS:
        w = np.full(n, 1.0 / n)
        for t in range(BARS - INPUTS, BARS):
            shares = gamma ** np.arange(t, 0.0, -1.0)
            discounted, past = X[:t].T * shares, float(shares @ (X[:t] @ w - Y[:t]) ** 2)
            lower = np.tril(discounted @ X[:t])
            diagonal = lower.reshape(-1)[:: n + 1]
            mean = pull * float(diagonal.mean())
            diagonal += mean
            q = discounted @ Y[:t] + mean * w
            problem = ScaledQuadratic(lower.T, diagonal, 1.0, np.ones(n), np.ones(n), q, mean)
            found.append((problem, w, PRECISION * past))
            w = solved(found[-1:])[0].w
    return found


def bars_of(learner: OnlineAlgorithm) -> Callable[[], None]:
    """A learner that has seen a stretch of bars; each call goes through the next stretch."""
    n = learner.n_assets
    X, Y = market(n, (1 + REPEATS) * BARS)
    rounds = iter(zip(X, Y.tolist(), strict=True))

    def bars() -> None:
        for _ in range(BARS):
            learner.update(*next(rounds))

    bars()
    return bars


def by(name: str, task: Callable[[], Any], times: int) -> Any:
    kernels.use(name)
    for _ in range(times):
        result = task()
    return result


def run() -> Report:
    report = Report("kernels")
    before = kernels.in_use()
    try:
        kernels.use("numba")
    except MissingExtraError as missing:
        report.notes.append(f"nothing to compare: {missing}")
        return report
    gc.freeze()  # or a collection between two repeats would walk through all of numba, for longer than the repeats take
    try:
        _measure(report)
        with one_thread():
            _measure_quadratics(report)
            _measure_ensemble(report)
    finally:
        gc.unfreeze()
        kernels.use(before)
    return report


def _measure(report: Report) -> None:
    best, gap = dict.fromkeys(KERNELS, 0.0), 0.0
    for n in SIZES:
        times = max(1, MICROSECONDS // (INPUTS * (5 + n // 200)))
        for held, lam in (("most", 1.0 / n), ("few", 0.2)):
            tasks = work(n, lam)
            contenders = {
                f"{who} {name}": partial(by, who, task, times) for name, task in tasks.items() for who in ("numpy", "numba")
            }
            timings, results = side_by_side(contenders, REPEATS)
            for name in tasks:
                slow, fast = (1e6 * timings[f"{who} {name}"].least / (times * INPUTS) for who in ("numpy", "numba"))
                report.rows.append({"N": n, "held": held, "work": name, "numpy us": slow, "numba us": fast, "x": slow / fast})
                if name in best:
                    best[name] = max(best[name], slow / fast)
                    pairs = zip(results[f"numpy {name}"], results[f"numba {name}"], strict=True)
                    gap = max(gap, *(float(np.abs(a - b).max()) for a, b in pairs))
    for name, ratio in best.items():
        report.claim(f"{name}: numba against numpy, times faster at the best N", ratio, at_least=3)
    report.claim("projection and steps: largest difference between the two", gap, at_most=1e-12)


def _measure_quadratics(report: Report) -> None:
    left = 0.0
    for n, wanted in QUADRATICS.items():
        problems = quadratics_of_least_squares(n)
        contenders: dict[str, Callable[[], Any]] = {}
        for who in ("numpy", "numba"):
            contenders[f"{who} quadratic"] = partial(by, who, partial(solved, problems), TIMES)
            contenders[f"{who} least-squares bar"] = partial(
                by, who, bars_of(Holdings(n, learner=LeastSquares(n, gamma=DISCOUNTS))), 1
            )
        timings, results = side_by_side(contenders, REPEATS)
        for (name, times), least in zip(
            {"quadratic": TIMES * len(problems), "least-squares bar": BARS}.items(), wanted, strict=True
        ):
            slow, fast = (1e6 * timings[f"{who} {name}"].least / times for who in ("numpy", "numba"))
            report.rows.append({"N": n, "held": "most", "work": name, "numpy us": slow, "numba us": fast, "x": slow / fast})
            report.claim(f"{name}, N = {n}: numba against numpy, times faster", slow / fast, at_least=least)
        left = max(left, *(found.gap / p[2] for found, p in zip(results["numba quadratic"], problems, strict=True)))
    report.claim("remaining gap of a quadratic / allowed gap", left, at_most=1.0)


def _measure_ensemble(report: Report) -> None:
    """Its bar is products by BLAS and a few passes over all members at once: numba has nothing of its own to add."""
    for n, most in ENSEMBLE.items():
        contenders = {who: partial(by, who, bars_of(ShareCounts(n)), 1) for who in ("numpy", "numba")}
        timings, _ = side_by_side(contenders, 5)
        slow, fast = (1e6 * timings[who].least / BARS for who in ("numpy", "numba"))
        row = {"N": n, "held": "most", "work": "ensemble bar", "numpy us": slow, "numba us": fast, "x": slow / fast}
        report.rows.append(row)
        report.claim(f"ensemble bar, N = {n}: time by numpy / time by numba", slow / fast, at_most=most)
