"""The number of factors and of names of sparse PLS, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array, count
from tracker_strategies.algorithms.numerics.small_systems import least_squares
from tracker_strategies.algorithms.sparse_pls.batch import MOST_ITERATIONS, SparsePLSFit, blend, directions, sample, sparse_pls
from tracker_strategies.errors import ParameterError


@dataclass(frozen=True, eq=False)
class SparsePLSChoice:
    """What cross-validation found.

    Attributes
    ----------
    n_factors, theta : int
        The pair with the smallest error; fewer factors, then fewer names, among equals.
    errors : ndarray, shape (len(n_factors), len(thetas))
        Mean squared error of the predictions of the rounds left out, for all pairs.
    fit : SparsePLSFit
        With this pair, on all rounds.
    """

    n_factors: int
    theta: int
    errors: Array
    fit: SparsePLSFit


def choose_sparse_pls(
    X: Any,
    Y: Any,
    *,
    n_factors: Sequence[int] = (1, 2, 3),
    thetas: Sequence[int],
    folds: int = 10,
    alpha: float = 1e-5,
    normalise: bool = False,
) -> SparsePLSChoice:
    """Choose the number of factors and the names per factor, and fit with them.

    Parameters
    ----------
    X : array_like, shape (n, p)
    Y : array_like, shape (n,) or (n, q)
    n_factors, thetas : sequences of int
        What to choose from, each at most p.
    folds : int, default 10
        Blocks of consecutive rounds that are left out in turn, from 2 to n: neighbours in time stay together, so that a round is
        not predicted from the one beside it.
    alpha, normalise
        As in :func:`~tracker_strategies.algorithms.sparse_pls.batch.sparse_pls`.

    Returns
    -------
    SparsePLSChoice

    Notes
    -----
    Cost: for each block one eigendecomposition and the iterations of the largest number of factors for each theta; models with
    fewer factors come free.

    References
    ----------
    McWilliams, Montana 2010, sec. 3.1: K-fold cross-validation before online learning.
    """
    X, Y = sample(X, Y)
    n, p = X.shape
    if not 2 <= count("folds", folds) <= n:
        raise ParameterError(f"folds must lie between 2 and the number of rounds, {n}, got {folds}")
    for name, values in (("n_factors", n_factors), ("thetas", thetas)):
        if not values or any(count(name, value) > p for value in values):
            raise ParameterError(f"{name} must hold integers from 1 to the number of variables, {p}, got {values!r}")
    R_values, theta_values = sorted(set(n_factors)), sorted(set(thetas))
    totals = np.zeros((len(R_values), len(theta_values)))
    for left_out in np.array_split(np.arange(n), folds):
        kept = np.ones(n, dtype=np.bool_)
        kept[left_out] = False
        H = blend(X[kept], Y[kept], alpha, normalise)
        for j, names in enumerate(theta_values):
            U, _ = directions(H, R_values[-1], names, 1e-8, MOST_ITERATIONS // 100)
            S, T = X[kept] @ U, X[left_out] @ U
            inner, outer = S.T @ S, S.T @ Y[kept]
            for i, R in enumerate(R_values):
                errors = Y[left_out] - T[:, :R] @ least_squares(inner[:R, :R], outer[:R])
                totals[i, j] += float((errors**2).sum())
    i, j = np.argwhere(totals == totals.min())[0].tolist()
    R, theta = R_values[i], theta_values[j]
    fit = sparse_pls(X, Y, n_factors=R, theta=theta, alpha=alpha, normalise=normalise)
    return SparsePLSChoice(R, theta, totals / Y.size, fit)
