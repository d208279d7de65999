"""Batch learning by passive-aggressive updates: pass over a set until every loss is small."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracker_strategies._checks import count, number, one_of
from tracker_strategies.algorithms._validation import Array, finite_vector, label, real_array
from tracker_strategies.algorithms.passive_aggressive.pa import ZERO_NORM2
from tracker_strategies.algorithms.passive_aggressive.tasks import TASKS, discrepancy
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, RealSpace
from tracker_strategies.errors import InputError, ParameterError


class BatchResult(NamedTuple):
    """Weights, the examples used for each update in order, and whether all losses are within sqrt(beta)."""

    w: Array
    used: list[int]
    converged: bool


def pa_batch(
    X: Any,
    Y: Any = None,
    *,
    task: str = "regression",
    eps: float = 1e-4,
    beta: float = 1e-8,
    max_iter: int = 100_000,
    start: Any = None,
    feasible: FeasibleSet = RealSpace(),  # noqa: B008 (immutable)
) -> BatchResult:
    r"""Update on the first example whose squared loss exceeds beta, until there is none: the online algorithm as a batch one.

    Parameters
    ----------
    X : array_like, shape (m, N)
        Examples.
    Y : array_like, shape (m,), optional
        Targets, or labels +-1; not used by uniclass.
    task : {"regression", "classification", "uniclass"}, default "regression"
    eps : float, default 1e-4
        Insensitivity; for classification minus the margin, -1 for the hinge loss.
    beta : float, default 1e-8
        Accuracy, > 0: on return every loss is at most sqrt(beta).
    max_iter : int, default 100000
        Most updates; data that no w fits never end otherwise.
    start : array_like, shape (N,), optional
        :math:`w_1`; zero by default, for uniclass the first example.
    feasible : FeasibleSet, default RealSpace()

    Returns
    -------
    BatchResult
        On realizable data after at most :math:`\lceil B \|w^* - w_1\|^2/\beta \rceil` updates, each O(m N).

    References
    ----------
    Crammer, Dekel, Shalev-Shwartz, Singer, *Online passive-aggressive algorithms*, NIPS 2003: sec. 7. Which of several offending
    examples is taken is open there; here it is the one with the lowest index.

    Examples
    --------
    >>> from tracker_strategies.algorithms.passive_aggressive import pa_batch
    >>> result = pa_batch([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], eps=0.0)
    >>> result.w.tolist(), result.used, result.converged
    ([1.0, 2.0], [0, 1], True)
    """
    one_of("task", task, TASKS)
    X = real_array("X", X, InputError)
    if X.ndim != 2 or X.shape[0] < 1 or X.shape[1] < 1 or not np.isfinite(X).all():
        raise InputError(f"X must be a finite matrix with one example per row, got shape {X.shape}")
    Y = np.ones(X.shape[0]) if task == "uniclass" else finite_vector("Y", Y, InputError, X.shape[0])
    if task == "classification":
        Y = np.array([label(float(y)) for y in Y])
    eps = number("eps", eps) if task == "classification" else number("eps", eps, least=0.0)
    beta, max_iter = number("beta", beta, above=0.0), count("max_iter", max_iter)
    feasible.check(X.shape[1])
    if start is not None:
        w = finite_vector("start", start, ParameterError, X.shape[1]).copy()
    else:
        w = feasible.project(X[0]) if task == "uniclass" else feasible.start(X.shape[1])

    used: list[int] = []
    learnable = np.ones(X.shape[0], dtype=np.bool_) if task == "uniclass" else (X**2).sum(axis=1) > ZERO_NORM2
    while True:
        losses = np.maximum(_discrepancies(task, w, X, Y) - eps, 0.0)
        offending = losses**2 > beta
        candidates = np.flatnonzero(offending & learnable)  # an example of zeros has the same loss for every w
        if candidates.size == 0 or len(used) >= max_iter:
            return BatchResult(w, used, not offending.any())
        i = int(candidates[0])
        delta, v, vv = discrepancy(task, w, X[i], float(Y[i]))
        w = feasible.project(w + ((delta - eps) / vv) * v)
        used.append(i)


def _discrepancies(task: str, w: Array, X: Array, Y: Array) -> Array:
    if task == "uniclass":
        distances: Array = np.linalg.norm(X - w, axis=1)
        return distances
    return -Y * (X @ w) if task == "classification" else np.abs(Y - X @ w)
