"""The innermost loops by numpy and by numba: projection, passive-aggressive step, step of the log return; and whole updates.

Inputs are those of APAS on a synthetic market, with its default trade-off 1/N, where nearly every name is held, and with 0.2,
where few are. The passive-aggressive step is the large one of a round that missed by one percent.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Report, side_by_side
from benchmarks.prox import Input, inputs_of_apas, market
from tracker_strategies.algorithms import APAS, PA, NegativeLogReturn, OnlineAlgorithm, Simplex, kernels
from tracker_strategies.errors import MissingExtraError

SIZES = (100, 500, 2000, 5000, 20000)
INPUTS, REPEATS, MICROSECONDS = 20, 40, 1500  # of work in a repeat, roughly
KERNELS = ("projection", "PA step", "log-return step")

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
    report.claim("largest difference between the two", gap, at_most=1e-12)
