"""One step of incremental sparse PLS against one rank-one update of the moment matrix, the least that any such method pays; and
fifty responses at once against recursive LARS response by response.

A step holds the update of the moments, R factors, the regression and the projection on the simplex; with the refit it also
solves least squares on the simplex of the names selected.

Both run on one thread: at these sizes a second one costs more to wake than it earns, and whether it wakes in time is chance. What
the ratio is with as many threads as BLAS likes is noted below the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._measure import Report, side_by_side
from tracker_strategies.algorithms import RecursiveLars, SparsePLS
from tracker_strategies.algorithms.numerics.lapack import blas
from tracker_strategies.research.reproductions.ispls import data

TARGETS, NAMES = 2, 10
SIZES = {323: (400, 20, 60), 2000: (60, 5, 15)}
"""By number of names: rounds before, rounds in a batch, repeats. Batches are short so that some meet a quiet machine."""
FACTORS = (1, 2, 3)
MAPPINGS = ("project", "refit")
AT_MOST = {323: 8.0, 2000: 3.0}
LARS_ROUNDS = 20


def market(n: int, rounds: int, targets: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Daily returns of n stocks with one factor, and indices of them with a little noise."""
    rng = np.random.default_rng(seed)
    X = 0.0113 * rng.standard_normal((rounds, 1)) * rng.normal(1.1, 0.36, n) + 0.012 * rng.standard_normal((rounds, n))
    return X, X @ rng.dirichlet(np.full(n, 0.3), targets).T + 5e-4 * rng.standard_normal((rounds, targets))


class Stepper:
    """A learner in the middle of its stream; each call takes it a batch further, and round again at the end."""

    def __init__(self, learner: Any, X: np.ndarray, Y: np.ndarray, warm: int, batch: int) -> None:
        self._rounds = list(zip(X[warm:], Y[warm:], strict=True))
        self._learner, self._at, self._batch = learner, 0, batch
        for x, y in zip(X[:warm], Y[:warm], strict=True):
            learner.update(x, y)

    def __call__(self) -> None:
        update = self._learner.update
        for x, y in self._rounds[self._at : self._at + self._batch]:
            update(x, y)
        self._at = (self._at + self._batch) % len(self._rounds)


def rank_one(X: np.ndarray, batch: int) -> Callable[[], None]:
    """The same number of rank-one updates of one triangle (dsyr)."""
    C = np.zeros((X.shape[1], X.shape[1]))
    add = blas().dsyr

    def updates() -> None:
        for x in X[:batch]:
            add(1.0, x, a=C.T, overwrite_a=1)

    return updates


def run() -> Report:
    report = Report("pls")
    for p, (warm, batch, repeats) in SIZES.items():
        X, Y = market(p, warm + 20 * batch, TARGETS)
        contenders: dict[str, Callable[[], Any]] = {"dsyr": rank_one(X, batch)}
        for R in FACTORS:
            for mapping in MAPPINGS:
                learner = SparsePLS(p, n_targets=TARGETS, theta=NAMES, n_factors=R, mapping=mapping)
                contenders[f"R = {R}, {mapping}"] = Stepper(learner, X, Y, warm, batch)
        free, _ = side_by_side({name: contenders[name] for name in ("dsyr", "R = 1, project")}, repeats)
        with threadpool_limits(1):
            timings, _ = side_by_side(contenders, repeats)
        base = timings["dsyr"].least
        for name, timing in timings.items():
            row = {"N": p, "what": name, "us": 1e6 * timing.least / batch, "x dsyr": timing.least / base}
            report.rows.append({**row, "x dsyr, medians": timing.median / timings["dsyr"].median})
        report.claim(
            f"time of an iS-PLS step (one factor, coefficients projected) / rank-one update, at N = {p}, q = 2",
            timings["R = 1, project"].least / base,
            at_most=AT_MOST[p],
        )
        refit = timings["R = 1, refit"].least / base
        threads = free["R = 1, project"].least / free["dsyr"].least
        report.notes.append(
            f"at N = {p} the step with the refit, the default of the learner, costs {refit:.2g} rank-one updates; with all "
            f"threads for both, the step without it costs {threads:.2g}"
        )
    _responses(report)
    return report


def _responses(report: Report) -> None:
    """Section 4.5 of the paper: 300 variables, 50 responses, 100 names selected; recursive LARS on one response, times 50."""
    stream = data.many_responses(data.generator(0, 4, 0))
    options: dict[str, Any] = {"theta": data.SIZE, "standardise": False, "mapping": "project", "warm_up": 10**9}
    pls = SparsePLS(
        data.VARIABLES, n_targets=data.RESPONSES, n_factors=2, deflate="sparse", loyalty=0.0, forgetting=0.9, **options
    )
    lars = RecursiveLars(data.VARIABLES, forgetting=0.98, **options)
    warm = data.ROUNDS // 2 - LARS_ROUNDS
    contenders: dict[str, Callable[[], Any]] = {
        "iS-PLS, 50 responses": Stepper(pls, stream.X, stream.Y, warm, LARS_ROUNDS),
        "R-LARS, one response": Stepper(lars, stream.X, stream.Y[:, 0], warm, LARS_ROUNDS),
    }
    timings, _ = side_by_side(contenders, 9)
    ours, theirs = (timings[name].least / LARS_ROUNDS for name in contenders)
    report.rows.append({"N": data.VARIABLES, "what": "iS-PLS, 50 responses", "us": 1e6 * ours})
    report.rows.append({"N": data.VARIABLES, "what": "R-LARS, 50 responses one by one", "us": 50e6 * theirs})
    report.claim("50 responses at once against R-LARS response by response, times faster", 50.0 * theirs / ours, at_least=50)
