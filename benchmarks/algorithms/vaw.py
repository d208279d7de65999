"""Discounted VAW: a step against plain numpy and against solving from scratch, many discounts, the dual form, memory, drift.

Every part runs in a process of its own with one thread of linear algebra for all contenders: a second thread helps the solve and
hardly anything else, and spreads small products so thinly that a busy machine decides the outcome.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks._measure import Report, side_by_side
from benchmarks.algorithms.prox import market
from tracker_strategies.algorithms import AdaptiveDiscount, DiscountedVAW, SketchedVAW
from tracker_strategies.algorithms.vaw import discount_grid
from tracker_strategies.algorithms.vaw._ridge import DiscountedRidge

GAMMA, LAM = 0.999, 1e-2
DISCOUNTS = 12
ROUNDS = {453: 512, 2000: 64}
REPEATS = {453: 15, 2000: 5}
DUAL_ROUNDS = 250
DRIFT = {"d": 200, "rounds": 100_000}

SKETCHED = 1000

Contenders = dict[str, Callable[[], Any]]


# ------------------------------------------------------------------ one step


def ridge_steps(X: np.ndarray, Y: np.ndarray) -> tuple[float, np.ndarray]:
    """Our step: the improper forecast of the round and the causal weights after it."""
    made = DiscountedRidge(X.shape[1], [GAMMA], LAM, 0.0, 1, None, 0)
    made.meet(None)
    one = np.ones((1, 1))
    for x, y in zip(X, Y.tolist(), strict=True):
        look = made.look(x)
        a = look.leverage[0]
        forecast = GAMMA * float(look.predictions[0, 0]) / (GAMMA + a)
        made.learn(x, np.array([y]), look)
        v = made.combined(one)
    return forecast, v


def numpy_steps(X: np.ndarray, Y: np.ndarray) -> tuple[float, np.ndarray]:
    """The same as a user writes it down: the inverse by an out-of-place rank-one update, both weights by products with it."""
    d = X.shape[1]
    P, theta = np.eye(d) / LAM, np.zeros(d)
    for x, y in zip(X, Y.tolist(), strict=True):
        Px = P @ x
        P = (P - np.outer(Px, Px) / (GAMMA + x @ Px)) / GAMMA
        w = P @ (GAMMA * theta)
        forecast = float(x @ w)
        theta = y * x + GAMMA * theta
        v = P @ theta
    return forecast, v


def solve_steps(X: np.ndarray, Y: np.ndarray) -> tuple[float, np.ndarray]:
    """Both weights from one factorisation in every round."""
    d = X.shape[1]
    sigma, theta = LAM * np.eye(d), np.zeros(d)
    for x, y in zip(X, Y.tolist(), strict=True):
        sigma = GAMMA * sigma + np.outer(x, x)
        before = GAMMA * theta
        theta = before + y * x
        both = np.linalg.solve(sigma, np.column_stack([before, theta]))
        forecast = float(x @ both[:, 0])
    return forecast, both[:, 1]


def learner_steps(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    learner = DiscountedVAW(X.shape[1], gamma=GAMMA, lam=LAM, prior=None, dual_rounds=0)
    return np.asarray(learner.run(X, Y)[-1])


def measure_steps(d: int) -> dict[str, Any]:
    """Microseconds a step, and how far the ways are apart."""
    X, Y = market(d, ROUNDS[d])
    few = max(8, ROUNDS[d] // 16)
    contenders: Contenders = {
        "step": lambda: ridge_steps(X, Y),
        "numpy": lambda: numpy_steps(X, Y),
        "whole learner": lambda: learner_steps(X, Y),
        "solve": lambda: solve_steps(X[:few], Y[:few]),
    }
    ridge_steps(X[:2], Y[:2])  # loads the linear algebra
    timings, results = side_by_side(contenders, {name: 3 if name == "solve" else REPEATS[d] for name in contenders})
    rounds = dict.fromkeys(contenders, ROUNDS[d]) | {"solve": few}
    short = ridge_steps(X[:few], Y[:few])
    off = [apart(results["step"], results["numpy"]), apart(short, results["solve"])]
    return {"us": {name: 1e6 * t.least / rounds[name] for name, t in timings.items()}, "off": max(off)}


def apart(a: tuple[float, np.ndarray], b: tuple[float, np.ndarray]) -> float:
    """Largest relative difference of weights and forecasts."""
    return max(float(np.abs(a[1] - b[1]).max() / np.abs(b[1]).max()), abs(a[0] - b[0]) / abs(b[0]))


# ------------------------------------------------------------------ many discounts


def discounts(d: int) -> list[float]:
    return [float(gamma) for gamma in discount_grid(d, 5000)[1 : DISCOUNTS + 1]]


def joint_rounds(d: int, X: np.ndarray, Y: np.ndarray, dual_rounds: int) -> np.ndarray:
    return np.asarray(AdaptiveDiscount(d, gammas=discounts(d), lam=LAM, dual_rounds=dual_rounds).run(X, Y)[-1])


def single_rounds(d: int, X: np.ndarray, Y: np.ndarray) -> None:
    for gamma in discounts(d):
        DiscountedVAW(d, gamma=gamma, lam=LAM, dual_rounds=0).run(X, Y)


def measure_discounts(d: int) -> dict[str, Any]:
    """Twelve discounts in one learner and in twelve, primal form."""
    X, Y = market(d, ROUNDS[d])
    joint_rounds(d, X[:2], Y[:2], 0)
    contenders: Contenders = {"joint": lambda: joint_rounds(d, X, Y, 0), "single": lambda: single_rounds(d, X, Y)}
    timings, _ = side_by_side(contenders, 4)
    return {name: 1e6 * t.least / len(Y) for name, t in timings.items()}


def measure_dual(d: int) -> dict[str, Any]:
    """The first rounds of twelve discounts by inner products, and with matrices (on fewer rounds: they all cost the same)."""
    X, Y = market(d, DUAL_ROUNDS)
    few = 32
    joint_rounds(d, X[:2], Y[:2], d)
    contenders: Contenders = {
        "dual": lambda: joint_rounds(d, X, Y, d),
        "primal": lambda: joint_rounds(d, X[:few], Y[:few], 0),
        "dual, few": lambda: joint_rounds(d, X[:few], Y[:few], d),
    }
    timings, results = side_by_side(contenders, {"dual": 5, "primal": 2, "dual, few": 1})
    off = float(np.abs(results["primal"] - results["dual, few"]).max())
    return {"dual": 1e6 * timings["dual"].least / DUAL_ROUNDS, "primal": 1e6 * timings["primal"].least / few, "off": off}


def measure_memory(d: int) -> dict[str, Any]:
    """Most memory of this process above what it had before the learner was made, in MB, over rounds that fold a block."""
    X, Y = market(d, 66)
    joint_rounds(8, X[:2, :8], Y[:2], 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    joint_rounds(d, X, Y, 0)
    return {"MB": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}


# ------------------------------------------------------------------ drift and the sketch


def measure_drift(d: int) -> dict[str, Any]:
    """Largest relative difference to a solution from sums of the last rounds, after many rounds, and how often P was renewed."""
    rounds, off = DRIFT["rounds"], {}
    X, Y = market(d, rounds)
    for gamma in (1.0, 0.999):
        made = DiscountedRidge(d, [gamma], LAM, 0.0, 1, None, 0)
        made.meet(None)
        for x, y in zip(X, Y.tolist(), strict=True):
            made.learn(x, np.array([y]), made.look(x))
        last = rounds if gamma == 1.0 else 45_000
        rows, weights = X[-last:], gamma ** np.arange(last - 1, -1, -1)
        sigma = gamma**rounds * LAM * np.eye(d) + (rows * weights[:, None]).T @ rows
        fresh = np.linalg.solve(sigma, (rows * weights[:, None]).T @ Y[-last:])
        off[f"{gamma:g}"] = float(np.abs(made.combined(np.ones((1, 1))) - fresh).max() / np.abs(fresh).max())
    return off


def factor_market(d: int, rounds: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Returns with one strong and four weak factors, and an index of uneven weights with a basis point of noise."""
    rng = np.random.default_rng(seed)
    moves = rng.standard_normal((rounds, 5)) * np.array([0.01, 0.004, 0.004, 0.004, 0.004])
    loadings = np.column_stack([rng.normal(1.1, 0.36, d), rng.standard_normal((d, 4))])
    X = moves @ loadings.T + 0.012 * np.exp(0.34 * rng.standard_normal(d)) * rng.standard_normal((rounds, d))
    weights = np.exp(1.5 * rng.standard_normal(d))
    return X, X @ (weights / weights.sum()) + 1e-4 * rng.standard_normal(rounds)


def measure_sketch(d: int) -> dict[str, Any]:
    """Tracking error in basis points on the last third, and microseconds a round, of the exact learner and of sketches."""
    rounds, options = 3 * d // 2, {"gamma": 1.0 - 0.5 / d, "lam": LAM}
    X, Y = factor_market(d, rounds)
    learners = {"exact": DiscountedVAW(d, **options)}  # type: ignore[arg-type]
    learners |= {f"rank {rank}": SketchedVAW(d, rank=rank, **options) for rank in (d // 4, d // 20, 30, 10)}  # type: ignore[arg-type]
    found: dict[str, Any] = {}
    for name, learner in learners.items():
        timings, results = side_by_side({name: partial(learner.run, X, Y)}, 1)
        found[name] = {"bp": tracking(results[name][:-1], X, Y), "us": 1e6 * timings[name].least / rounds}
    return found | {"equal weights": {"bp": tracking(np.full((rounds, d), 1.0 / d), X, Y), "us": 0.0}}


def tracking(W: np.ndarray, X: np.ndarray, Y: np.ndarray) -> float:
    return 1e4 * float(np.sqrt((((W * X).sum(axis=1) - Y)[2 * len(Y) // 3 :] ** 2).mean()))


# ------------------------------------------------------------------ the report

PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "steps": measure_steps,
    "discounts": measure_discounts,
    "dual": measure_dual,
    "memory": measure_memory,
    "drift": measure_drift,
    "sketch": measure_sketch,
}


def part(name: str, d: int) -> Any:
    """Run one part in a process of its own."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "benchmarks.algorithms.vaw", name, str(d)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | threads)
    return json.loads(done.stdout)


def run() -> Report:
    report = Report("vaw")
    for d in ROUNDS:
        found = part("steps", d)
        us = found["us"]
        for name, value in us.items():
            report.rows.append({"d": d, "what": f"one discount: {name}", "us per round": value, "x step": value / us["step"]})
        report.claim(f"a step at d = {d} against out-of-place numpy, times faster", us["numpy"] / us["step"], at_least=8)
        report.claim(f"a step at d = {d} against solving from scratch, times faster", us["solve"] / us["step"], at_least=20)
        report.claim(f"all three ways at d = {d} agree to, relative", found["off"], at_most=1e-8)
    for d in ROUNDS:
        us = part("discounts", d)
        for name, value in us.items():
            report.rows.append({"d": d, "what": f"{DISCOUNTS} discounts, primal: {name}", "us per round": value})
        report.claim(f"{DISCOUNTS} discounts together at d = {d}, in twelve single ones", us["joint"] / us["single"], at_most=2)
    d = max(ROUNDS)
    us = part("dual", d)
    report.rows.append({"d": d, "what": f"{DISCOUNTS} discounts, dual, first {DUAL_ROUNDS} rounds", "us per round": us["dual"]})
    report.claim(f"dual against primal form, d = {d}, T <= {DUAL_ROUNDS}, times faster", us["primal"] / us["dual"], at_least=20)
    report.claim("their portfolios differ by at most", us["off"], at_most=1e-9)
    report.claim(f"memory of {DISCOUNTS} discounts at d = {d}, MB", part("memory", d)["MB"], at_most=600)
    for gamma, off in part("drift", int(DRIFT["d"])).items():
        text = f"drift after {DRIFT['rounds']:,} steps, d = {DRIFT['d']}, gamma {gamma}, relative to a fresh solve"
        report.claim(text, off, at_most=1e-6)
    sketches = part("sketch", SKETCHED)
    for name, found in sketches.items():
        report.rows.append({"d": SKETCHED, "what": f"sketch: {name}", "us per round": found["us"], "error bp": found["bp"]})
    rank = f"rank {SKETCHED // 20}"
    report.claim(
        f"error of a sketch of {rank} at d = {SKETCHED}, in errors of equal weights",
        sketches[rank]["bp"] / sketches["equal weights"]["bp"],
        at_most=1,
    )
    report.notes.append("one thread of linear algebra for all; 'whole learner' adds checks and the projection on the simplex")
    report.notes.append("solving from scratch is measured on fewer rounds; each costs the same")
    return report


if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](int(sys.argv[2]))))
