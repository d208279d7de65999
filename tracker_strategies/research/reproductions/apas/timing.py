"""Time of one proximal step: the exact solution against Algorithm 2 of the APAS paper, side by side in one run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import (
    APAS,
    GroupLasso,
    NegativeLogReturn,
    Round,
    SideInformation,
    Simplex,
    SwitchingCost,
    WeightedL1,
)
from tracker_strategies.algorithms.side import sca
from tracker_strategies.algorithms.side.convex_approximation import sca_iterates
from tracker_strategies.research.reproductions.apas.market import DataSet

FloatArray = NDArray[np.float64]
Step = Callable[[FloatArray, Round], FloatArray]

SIZES = (100, 500, 1000, 2000, 5000)
LAM = 0.2
"""The largest trade-off of the paper: the hardest steps."""
TOLERANCE = 1e-8
"""Algorithm 2 stops when no weight moves by more; the paper names no tolerance."""
DECAYS = (0.01, 0.1)
"""Decay of the steps of Algorithm 2, which the paper leaves open: our default, and a stronger one that needs more steps."""
GROUPS = 20
W = Simplex()
LOG_RETURN = NegativeLogReturn()


def time_steps(sizes: Sequence[int] = SIZES, *, seed: int = 0, rounds: int = 20, repeats: int = 15) -> list[dict[str, Any]]:
    """Return one row per number of assets: microseconds of a step by each method, and how they compare.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of assets.
    seed : int, default 0
        Of the market that the learner runs on.
    rounds : int, default 20
        Steps that are timed: those that APAS has to solve in its last rounds.
    repeats : int, default 15
        Methods take turns so often; the fastest turn of each counts.
    """
    return [_row(n, _steps_of_apas(n, seed, rounds), repeats) for n in sizes]


def _steps_of_apas(n: int, seed: int, rounds: int) -> list[tuple[FloatArray, Round]]:
    """The points that the learner hands to its proximal step, with their rounds, after 30 rounds of learning."""
    X, y = DataSet.draw(seed, 0, 30 + rounds, n).sample()
    learner = APAS(n, lam=LAM)
    found = []
    for x, target in zip(X, y.tolist(), strict=True):
        w = learner.weights
        learner.update(x, target)
        said = learner.diagnostics()
        found.append((w + math.copysign(said["tau"], target - said["prediction"]) * x, Round(x, w)))
    return found[-rounds:]


def _exact(side: SideInformation) -> Step:
    return lambda v, at: side.prox(v, LAM, W, at)


def _algorithm_2(rho: float) -> Step:
    return lambda v, at: sca(lambda w: LOG_RETURN.gradient(w, at), v, LAM, W.project, at.w, rho=rho, tol=TOLERANCE)


def _row(n: int, steps: Sequence[tuple[FloatArray, Round]], repeats: int) -> dict[str, Any]:
    sides: dict[str, SideInformation] = {
        "log_return": LOG_RETURN,
        "switching_cost": SwitchingCost(1e-3),
        "weighted_l1": WeightedL1(np.linspace(0.0, 1e-2, n)),
        "group_lasso": GroupLasso([list(range(g, n, GROUPS)) for g in range(min(GROUPS, n))], 1e-3),
    }
    solvers = {name: _exact(side) for name, side in sides.items()}
    solvers |= {f"sca_{rho:g}": _algorithm_2(rho) for rho in DECAYS}
    micro = _side_by_side(solvers, steps, repeats)
    exact, rival = solvers["log_return"], solvers[f"sca_{DECAYS[0]:g}"]
    return {
        "n_assets": n,
        "microseconds": micro,
        "ratios": {f"{rho:g}": micro[f"sca_{rho:g}"] / micro["log_return"] for rho in DECAYS},
        "iterations": {f"{rho:g}": float(np.mean([_iterations(v, at, rho) for v, at in steps])) for rho in DECAYS},
        "largest_difference": max(float(np.abs(exact(v, at) - rival(v, at)).max()) for v, at in steps),
    }


def _side_by_side(solvers: Mapping[str, Step], steps: Sequence[tuple[FloatArray, Round]], repeats: int) -> dict[str, float]:
    """Microseconds a step. In turns, so that a busy moment of the machine hits all alike."""
    least = dict.fromkeys(solvers, math.inf)
    for _ in range(repeats):
        for name, solve in solvers.items():
            begin = time.perf_counter()
            for v, at in steps:
                solve(v, at)
            least[name] = min(least[name], (time.perf_counter() - begin) / len(steps) * 1e6)
    return least


def _iterations(v: FloatArray, at: Round, rho: float) -> int:
    """Projections that Algorithm 2 needs."""
    steps = sca_iterates(lambda w: LOG_RETURN.gradient(w, at), v, LAM, W.project, at.w, rho=rho)
    return next(k for k, (w, w_tilde, _) in enumerate(steps, 1) if float(np.abs(w_tilde - w).max()) <= TOLERANCE or k >= 500)
