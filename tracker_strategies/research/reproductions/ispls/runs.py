"""One Monte-Carlo run of each simulation of the iS-PLS paper: a function of a seed and a number, for any process to call."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import AdaptiveLasso, RecursiveLars, SparsePLS
from tracker_strategies.algorithms.numerics import lars_path
from tracker_strategies.algorithms.regression import SelfTuning
from tracker_strategies.algorithms.sparse_pls import FactorCount, choose_sparse_pls
from tracker_strategies.algorithms.sparse_pls.batch import sparse_pls
from tracker_strategies.research.reproductions.ispls import data

FloatArray = NDArray[np.float64]
Found = dict[str, Any]

SELF = SelfTuning(lam_min=0.01)
NEVER = 10**9
"""Warm-up of learners whose portfolio nobody looks at."""
PLAIN: dict[str, Any] = {"standardise": False, "deflate": "sparse", "loyalty": 0.0, "mapping": "project", "warm_up": NEVER}
PAPER = {**PLAIN, "theta": data.SIZE}
FORGETTING: dict[str, dict[str, Any]] = {
    "lambda 1": {"forgetting": 1.0},
    "lambda 0.9": {"forgetting": 0.9},
    "self-tuned": {"forgetting": SELF},
    "self-tuned, guard 1": {"forgetting": SELF._replace(guard=1.0)},
    "self-tuned, printed loading": {"forgetting": SELF, "loading": "instant"},
    "self-tuned, residual deflation": {"forgetting": SELF, "deflate": "residual"},
}
"""Variants of section 4.3. The last is ours."""
CHECKPOINTS = (10, 25, 50, 100)
ROC_SIZES = (10, 25, 50, 75, 100, 150, 200, 250)
CV_SIZES = (25, 50, 75, 100, 125, 150, 200)
ALPHAS = (1e-5, 0.1, 0.5, 1.0)
WINDOWS = ((0.5, 0.9), (0.2, 0.9), (0.5, 0.95), (0.5, 0.99), (0.7, 0.8))
NOISE_TO_SIGNAL, NOISE_SIZES = (0.25, 1.0, 4.0), (25, 50, 100, 200, 300)
RIVAL_SIZES = (3, 30, 90)
RIVAL_FORGETTING = 0.98
"""Of recursive LARS, which has no rule to tune it. Not tuned here either: with 0.9 it was no more sensitive in a run of section
4.5, and took several times as long."""


def follow(learner: SparsePLS, stream: data.Stream) -> Found:
    """Run a learner; return its sensitivity by component, squared errors, lambda and R in each round."""
    T = len(stream.X)
    sensitivity, errors, lam, R = np.zeros((2, T)), np.empty(T), np.empty(T), np.empty(T)
    for t, (x, y) in enumerate(zip(stream.X, stream.Y, strict=True)):
        errors[t] = float(((y - learner.forecast(x)) ** 2).mean())
        learner.update(x, y)
        U = learner.factors
        for r, group in enumerate((stream.most[t], stream.second[t])[: U.shape[1]]):
            sensitivity[r, t] = share_in(U[:, r], group)
        said = learner.diagnostics()
        lam[t], R[t] = said["lambda"], said["factors"]
    return {"sensitivity": sensitivity, "mse": errors, "lambda": lam, "factors": R}


def share_in(coefficients: FloatArray, *groups: int) -> float:
    """Share of the variables with a coefficient that belong to one of the groups; 0 when there are none."""
    chosen = np.flatnonzero(coefficients) // data.SIZE
    return float(np.isin(chosen, groups).mean()) if chosen.size else 0.0


def selection(seed: int, number: int) -> Found:
    """Section 4.1: what S-PLS selects from the whole sample, against the lasso and sparse principal components, and how many by
    cross-validation.
    """
    stream = data.one_response(data.generator(seed, 1, number), changes=False)
    X, y = stream.X, stream.Y[:, 0]
    C, m = X.T @ X, X.T @ y
    path = lars_path(C, m, max_names=max(ROC_SIZES))
    held = np.count_nonzero(path.coefs, axis=1)
    curves: dict[str, list[tuple[float, float]]] = {"S-PLS": [], "LARS": [], "S-PCA": []}
    for size in ROC_SIZES:
        chosen = {
            "S-PLS": sparse_pls(X, y, theta=size).U[:, 0],
            "S-PCA": sparse_pls(X, y, theta=size, alpha=1.0).U[:, 0],
            "LARS": path.coefs[int(np.flatnonzero(held <= size)[-1])],
        }
        for name, b in chosen.items():
            matters = np.arange(data.VARIABLES) < data.SIZE
            curves[name].append((float((b[matters] != 0.0).mean()), float((b[~matters] != 0.0).mean())))
    choice = choose_sparse_pls(X, y, n_factors=(2,), thetas=CV_SIZES)
    return {
        "sensitivity": share_in(sparse_pls(X, y, theta=data.SIZE).U[:, 0], 0),
        "names by cross-validation": float(choice.theta),
        "roc": {name: np.array(points) for name, points in curves.items()},
    }


def convergence(seed: int, number: int) -> Found:
    """Section 4.2: sensitivity round by round on a stationary stream, without forgetting."""
    stream = data.one_response(data.generator(seed, 1, number), changes=False).first(max(CHECKPOINTS))
    return {"sensitivity": follow(SparsePLS(data.VARIABLES, n_factors=2, forgetting=1.0, **PAPER), stream)["sensitivity"][0]}


def changes(seed: int, number: int) -> Found:
    """Section 4.3: two changes of the important groups, with and without forgetting."""
    stream = data.one_response(data.generator(seed, 2, number), changes=True)
    return {
        name: follow(SparsePLS(data.VARIABLES, n_factors=2, **(PAPER | options)), stream) for name, options in FORGETTING.items()
    }


def parameters(seed: int, number: int) -> Found:
    """Section 4.4: the share alpha, in correlations so that it has no units, the windows a and b, and noise against size."""
    stream = data.one_response(data.generator(seed, 2, number), changes=True)
    tuned = {**PAPER, "n_factors": 2, "forgetting": SELF}
    found: Found = {"alpha": {}, "windows": {}, "noise": {}}
    for alpha in ALPHAS:
        learner = SparsePLS(data.VARIABLES, **(tuned | {"alpha": alpha, "standardise": True}))
        found["alpha"][f"{alpha:g}"] = float(follow(learner, stream)["mse"].mean())
    for a, b in WINDOWS:
        guard = min(SELF.guard, max(1.0, 0.8 * ((1.0 - a) / (1.0 - b)) ** 0.5))  # within what these windows can show
        learner = SparsePLS(data.VARIABLES, **(tuned | {"forgetting": SELF._replace(a=a, b=b, guard=guard)}))
        found["windows"][f"a={a:g}, b={b:g}"] = float(follow(learner, stream)["sensitivity"][0].mean())
    signal = float(data.one_response(data.generator(seed, 3, number), changes=False, noise=0.0).Y.std())
    for ratio in NOISE_TO_SIGNAL:
        noisy = data.one_response(data.generator(seed, 3, number), changes=False, noise=ratio**0.5 * signal).first(100)
        found["noise"][f"{ratio:g}"] = [
            float((sparse_pls(noisy.X, noisy.Y, theta=size).U[: data.SIZE, 0] != 0.0).mean()) for size in NOISE_SIZES
        ]
    return found


def responses(seed: int, number: int) -> Found:
    """Section 4.5: fifty responses at once."""
    stream = data.many_responses(data.generator(seed, 4, number))
    found: Found = {}
    for name in ("lambda 1", "lambda 0.9", "self-tuned"):
        learner = SparsePLS(data.VARIABLES, n_targets=data.RESPONSES, n_factors=2, **(PAPER | FORGETTING[name]))
        start = perf_counter()
        found[name] = follow(learner, stream) | {"seconds": perf_counter() - start}
    return found


def responses_one_by_one(seed: int, number: int, rounds: int = data.ROUNDS) -> Found:
    """Section 4.5 for rivals, which know one response: the first of the fifty stands for all, they are alike."""
    stream = data.many_responses(data.generator(seed, 4, number)).first(rounds)
    common: dict[str, Any] = {"theta": data.SIZE, "standardise": False, "mapping": "project", "warm_up": NEVER}
    rivals: dict[str, RecursiveLars | AdaptiveLasso] = {
        "R-LARS": RecursiveLars(data.VARIABLES, forgetting=RIVAL_FORGETTING, **common),
        "aLasso": AdaptiveLasso(data.VARIABLES, forgetting=SELF, **common),
    }
    found: Found = {}
    for name, learner in rivals.items():
        most, active, errors = np.empty(rounds), np.empty(rounds), np.empty(rounds)
        start = perf_counter()
        for t, (x, y) in enumerate(zip(stream.X, stream.Y[:, 0].tolist(), strict=True)):
            errors[t] = (y - float(x @ learner.coefficients[:, 0])) ** 2
            learner.update(x, y)
            b = learner.coefficients[:, 0]
            most[t], active[t] = share_in(b, stream.most[t]), share_in(b, stream.most[t], stream.second[t])
        found[name] = {"sensitivity": most, "active": active, "mse": errors, "seconds": perf_counter() - start}
    return found


def factors(seed: int, number: int) -> Found:
    """Section 4.6: the number of factors, from one to three and back to two."""
    stream, _ = data.changing_factors(data.generator(seed, 5, number))
    learner = SparsePLS(
        data.VARIABLES, n_targets=data.RESPONSES, n_factors=1, adapt_factors=FactorCount(3), forgetting=0.95, **PAPER
    )
    return {"factors": follow(learner, stream)["factors"]}


def restless(seed: int, number: int) -> Found:
    """Figure 6: random changes, few variables that matter; iS-PLS with one factor against its rivals."""
    found: Found = {}
    for size in RIVAL_SIZES:
        stream, matter = data.restless(data.generator(seed, 6 + size, number), size)
        common: dict[str, Any] = {"theta": size, "standardise": False, "mapping": "project", "warm_up": NEVER}
        learners: dict[str, Any] = {
            "iS-PLS": SparsePLS(data.VARIABLES, n_factors=1, theta=size, forgetting=SELF, **PLAIN),
            "R-LARS": RecursiveLars(data.VARIABLES, forgetting=RIVAL_FORGETTING, **common),
            "aLasso": AdaptiveLasso(data.VARIABLES, forgetting=SELF, **common),
        }
        found[str(size)] = {name: _selected(learner, stream, matter) for name, learner in learners.items()}
    return found


def _selected(learner: Any, stream: data.Stream, matter: NDArray[np.bool_]) -> Found:
    """Mean share of the variables that matter among those selected, and mean squared error."""
    shares, errors = np.empty(len(stream.X)), np.empty(len(stream.X))
    for t, (x, y) in enumerate(zip(stream.X, stream.Y[:, 0].tolist(), strict=True)):
        errors[t] = (y - float(x @ learner.coefficients[:, 0])) ** 2
        learner.update(x, y)
        chosen = learner.coefficients[:, 0] != 0.0
        shares[t] = matter[t, chosen].mean() if chosen.any() else 0.0
    return {"sensitivity": float(shares.mean()), "mse": float(np.median(errors))}


RUNS: dict[str, Callable[[int, int], Found]] = {
    "selection": selection,
    "convergence": convergence,
    "changes": changes,
    "parameters": parameters,
    "responses": responses,
    "factors": factors,
}
RIVAL_RUNS: dict[str, Callable[[int, int], Found]] = {"responses_one_by_one": responses_one_by_one, "restless": restless}
"""What takes long because of recursive LARS."""


def run_one(name: str, seed: int, number: int) -> tuple[str, int, Found]:
    """One run of one experiment, in a process that computes with one thread."""
    return name, number, (RUNS | RIVAL_RUNS)[name](seed, number)
