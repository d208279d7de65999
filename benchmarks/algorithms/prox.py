"""The proximal step of the log return: exact, against Algorithm 2 of the APAS paper (SCA), projected gradient, ADMM and cvxpy.

Inputs are those of APAS on a synthetic market with the trade-off 0.2, the largest of the paper. All methods start from the
weights of the round. The paper leaves the decay `rho` of the steps of Algorithm 2 open: 0.1 and 0.01, our own default, are both
measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks._measure import Report, Timing, side_by_side
from tracker_strategies.algorithms import APAS, NegativeLogReturn, Round, Simplex
from tracker_strategies.algorithms.side import sca

LAM = 0.2
SIZES = (100, 500, 1000, 2000, 5000)
TOLERANCE = 1e-8
INPUTS, LOOPS, REPEATS = 60, 4, 15

W = Simplex()
Input = tuple[np.ndarray, Round]
Solve = Callable[[np.ndarray, Round], np.ndarray]


def market(n: int, rounds: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Daily returns of n stocks with one factor, and an index of them with a little noise."""
    rng = np.random.default_rng(seed)
    beta, mean = rng.normal(1.1, 0.36, n), rng.normal(9e-4, 8e-4, n)
    X = mean + 0.0113 * rng.standard_normal((rounds, 1)) * beta + 0.012 * rng.standard_normal((rounds, n))
    weights = np.exp(rng.standard_normal(n))
    return X, X @ (weights / weights.sum()) + 5e-4 * rng.standard_normal(rounds)


def inputs_of_apas(n: int, count: int, lam: float) -> list[Input]:
    """The last of 120 rounds: the point of the step, and the round as the side information sees it."""
    X, Y = market(n, 120)
    learner = APAS(n, lam=lam)
    found = []
    for x, y in zip(X, Y, strict=True):
        w = learner.weights
        learner.update(x, y)
        said = learner.diagnostics()
        found.append((w + math.copysign(said["tau"], y - said["prediction"]) * x, Round(x, w, xx=float(x.dot(x)))))
    return found[-count:]


H = NegativeLogReturn()


def exact(v: np.ndarray, at: Round) -> np.ndarray:
    return H.prox(v, LAM, W, at)


def algorithm_2(rho: float, tolerance: float = TOLERANCE) -> Solve:
    """The general method of the library, as it runs for a user-defined gradient."""
    return lambda v, at: sca(lambda w: H.gradient(w, at), v, LAM, W.project, at.w, rho=rho, tol=tolerance)


def projected_gradient(v: np.ndarray, at: Round) -> np.ndarray:
    """Gradient steps on the whole objective with the step 1/L, L a bound of its curvature on the simplex."""
    x, w = at.x, at.w
    size = 1.0 / (1.0 / LAM + float(x.dot(x)) / (1.0 + float(x.min())) ** 2)
    for _ in range(5000):
        new = W.project(w - size * ((w - v) / LAM - x / (1.0 + float(x.dot(w)))))
        done = float(np.abs(new - w).max()) <= TOLERANCE
        w = new
        if done:
            break
    return w


def admm(v: np.ndarray, at: Round) -> np.ndarray:
    """Unit penalty; the smooth part of a step is a quadratic equation in 1 + x.w."""
    x, z = at.x, at.w
    xx, weight = float(x.dot(x)), 1.0 / LAM + 1.0
    dual = np.zeros_like(z)
    for _ in range(5000):
        centre = (v / LAM + z - dual) / weight
        p = 1.0 + float(x.dot(centre))
        s = 0.5 * (p + math.sqrt(p * p + 4.0 * xx / weight))
        w = centre + x / (weight * s)
        new = W.project(w + dual)
        dual = dual + w - new
        done = max(float(np.abs(new - z).max()), float(np.abs(new - w).max())) <= TOLERANCE
        z = new
        if done:
            break
    return z


def conic(n: int) -> Solve | None:
    """Return cvxpy with parameters, compiled once, CLARABEL; None when cvxpy is not installed."""
    try:
        import cvxpy as cp
    except ImportError:
        return None
    w, v, x = cp.Variable(n), cp.Parameter(n), cp.Parameter(n)
    objective = -cp.log(1 + x @ w) + cp.sum_squares(w - v) / (2.0 * LAM)
    problem = cp.Problem(cp.Minimize(objective), [w >= 0, cp.sum(w) == 1])

    def solve(point: np.ndarray, at: Round) -> np.ndarray:
        v.value, x.value = point, at.x
        problem.solve(solver=cp.CLARABEL)
        return np.asarray(w.value)

    return solve


def run() -> Report:
    report = Report("prox")
    worst_sca, worst_conic, gap, spread = math.inf, math.inf, 0.0, []
    for n in SIZES:
        inputs = inputs_of_apas(n, INPUTS, LAM)
        solvers: dict[str, tuple[Solve, int, int]] = {
            "exact": (exact, INPUTS, REPEATS),
            "SCA, rho 0.1": (algorithm_2(0.1), INPUTS, REPEATS),
            "SCA, rho 0.01": (algorithm_2(0.01), INPUTS, REPEATS),
            "projected gradient": (projected_gradient, INPUTS, REPEATS),
            "ADMM": (admm, 2, 3),
        }
        peer = conic(n)
        if peer is not None:
            peer(*inputs[0])  # compiles
            solvers["cvxpy CLARABEL"] = (peer, 2, 3)
        micro, results = _measure(solvers, inputs)
        gap = max(
            gap,
            *(
                float(np.abs(a - algorithm_2(1e-9, 1e-16)(*i)).max())
                for a, i in zip(results["exact"][:20], inputs[:20], strict=True)
            ),
        )
        for name, value in micro.items():
            off = max(float(np.abs(a - b).max()) for a, b in zip(results[name], results["exact"], strict=False))
            report.rows.append({"N": n, "method": name, "us": value, "x exact": value / micro["exact"], "off by": off})
        worst_sca = min(worst_sca, micro["SCA, rho 0.1"] / micro["exact"])
        spread.append(micro["SCA, rho 0.01"] / micro["exact"])
        if peer is not None and n >= 500:
            worst_conic = min(worst_conic, micro["cvxpy CLARABEL"] / micro["exact"])
    report.claim("exact against SCA (rho 0.1, to 1e-8), times faster at the worst N", worst_sca, at_least=6)
    if worst_conic < math.inf:
        report.claim(
            "exact against cvxpy (parametrised, CLARABEL), times faster at the worst N >= 500", worst_conic, at_least=100
        )
    else:
        report.notes.append("cvxpy is not installed: its rows are missing")
    report.claim("exact and SCA run to the end differ by at most", gap, at_most=1e-12)
    report.notes.append(
        f"against SCA with rho 0.01, the default of this project: {min(spread):.2g} to {max(spread):.2g} times faster"
    )
    for lam in (None, LAM):
        cost = _update_in_projections(500, lam)
        report.claim(f"time of one APAS update / simplex projection, N = 500, lam {lam or '1/N'}", cost, at_most=6)
    return report


def _measure(solvers: dict[str, tuple[Solve, int, int]], inputs: list[Input]) -> tuple[dict[str, float], dict[str, Any]]:
    """Microseconds a step, and what came out."""
    often = {name: LOOPS if k == INPUTS else 1 for name, (_, k, _) in solvers.items()}  # short runs would be measured cold

    def batch(name: str) -> list[np.ndarray]:
        solve, k, _ = solvers[name]
        for _ in range(often[name]):
            found = [solve(*i) for i in inputs[:k]]
        return found

    contenders = {name: partial(batch, name) for name in solvers}
    timings, results = side_by_side(contenders, {name: r for name, (_, _, r) in solvers.items()})
    return {name: 1e6 * timings[name].least / (k * often[name]) for name, (_, k, _) in solvers.items()}, results


def _update_in_projections(n: int, lam: float | None) -> float:
    """Time of APAS.update over that of a projection of the points that APAS projects."""
    X, Y = market(n, 100)
    points = [v + lam_ * at.x for lam_ in [lam or 1.0 / n] for v, at in inputs_of_apas(n, 100, lam_)]

    def updates() -> None:
        learner = APAS(n, lam=lam)
        for x, y in zip(X, Y.tolist(), strict=True):
            learner.update(x, y)

    contenders: dict[str, Callable[[], Any]] = {"updates": updates, "projections": lambda: [W.project(p) for p in points]}
    timings: dict[str, Timing]
    timings, _ = side_by_side(contenders, REPEATS)
    return timings["updates"].least / timings["projections"].least
