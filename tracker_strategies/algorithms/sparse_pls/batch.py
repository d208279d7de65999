"""Sparse partial least squares on a whole sample (S-PLS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._validation import Array, real_array
from tracker_strategies.algorithms.numerics.lapack import least_squares
from tracker_strategies.algorithms.sparse_pls.thresholding import survivors
from tracker_strategies.errors import InputError, ParameterError

TOLERANCE, MOST_ITERATIONS = 1e-13, 10_000


@dataclass(frozen=True, eq=False)
class SparsePLSFit:
    """Coefficients of a fit.

    Attributes
    ----------
    U : ndarray, shape (p, R)
        Directions of the factors, theta entries each, of unit length; the largest entry is positive.
    W : ndarray, shape (R, q)
        Loadings of the targets on the factors.
    iterations : tuple of int
        Steps of each factor.
    """

    U: Array
    W: Array
    iterations: tuple[int, ...]

    @property
    def beta(self) -> Array:
        """Coefficients U W, shape (p, q)."""
        return self.U @ self.W

    @property
    def support(self) -> Any:
        """Variables that any factor uses, ascending."""
        return np.flatnonzero(self.U.any(axis=1))


def sparse_pls(
    X: Any,
    Y: Any,
    *,
    n_factors: int = 1,
    theta: int,
    alpha: float = 1e-5,
    normalise: bool = False,
    tol: float = TOLERANCE,
    max_iter: int = MOST_ITERATIONS,
) -> SparsePLSFit:
    r"""Fit sparse PLS.

    With :math:`C = X^\top X`, :math:`M = X^\top Y`, :math:`H = \alpha C + (1-\alpha) M M^\top = \sum_k d_k v_k v_k^\top`: for
    each factor r, on :math:`H_r = H - \sum_{k<r} d_k v_k v_k^\top` and from :math:`v = v_r`, repeat

    .. math:: u = \mathrm{sparsify}_\theta(H_r v), \qquad v = H_r u/\|H_r u\|

    until u rests. Then :math:`S = X U`, :math:`W = (S^\top S)^{-1} S^\top Y`.

    Parameters
    ----------
    X : array_like, shape (n, p)
        Variables. Centre them first if their means are far from 0.
    Y : array_like, shape (n,) or (n, q)
        Targets.
    n_factors : int, default 1
        Number of factors R, at most p.
    theta : int
        Variables per factor, at most p.
    alpha : float, default 1e-5
        Share of C in H, in [0, 1]: 0 is PLS, 1 regression on principal components.
    normalise : bool, default False
        Whether both parts of H are divided by their traces. :math:`M M^\top` grows with the fourth power of the data and C with
        the second: without this, alpha means something else in every unit.
    tol, max_iter : float and int
        When a factor rests, and most steps of each.

    Returns
    -------
    SparsePLSFit

    Notes
    -----
    One eigendecomposition, O(p^3), and two products with H a step. The printed iteration runs on H itself and would
    return the first factor R times.

    References
    ----------
    McWilliams, Montana 2010, Eqs. 3-8. Shen, Huang, *Sparse principal component analysis via regularized low rank matrix
    approximation*, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms.sparse_pls import sparse_pls
    >>> X = np.random.default_rng(0).standard_normal((50, 5))
    >>> sparse_pls(X, X[:, 1] + 0.5 * X[:, 3], theta=2).support.tolist()
    [1, 3]
    """
    X, Y = sample(X, Y)
    p = X.shape[1]
    for name, value in (("n_factors", n_factors), ("theta", theta)):
        if count(name, value) > p:
            raise ParameterError(f"{name} must be at most the number of variables, {p}, got {value}")
    U, steps = directions(blend(X, Y, alpha, normalise), n_factors, theta, tol, max_iter)
    S = X @ U
    return SparsePLSFit(U, least_squares(S.T @ S, S.T @ Y), steps)


def blend(X: Array, Y: Array, alpha: float, normalise: bool = False) -> Array:
    """Return H, shape (p, p)."""
    alpha = number("alpha", alpha, least=0.0)
    if alpha > 1.0:
        raise ParameterError(f"alpha must lie in [0, 1], got {alpha!r}")
    C, M = X.T @ X, X.T @ Y
    joint = M @ M.T
    if normalise:
        C, joint = (part / max(float(np.trace(part)), 1e-300) for part in (C, joint))
    return np.asarray(alpha * C + (1.0 - alpha) * joint)


def directions(H: Array, n_factors: int, theta: int, tol: float, max_iter: int) -> tuple[Array, tuple[int, ...]]:
    """Return sparse factors of a positive semidefinite H, shape (p, R), and the steps that each took."""
    values, vectors = np.linalg.eigh(H)
    U, steps = np.zeros((H.shape[0], n_factors)), []
    for r in range(n_factors):
        v, u = vectors[:, -1 - r], np.zeros(H.shape[0])
        for step in range(1, max_iter + 1):  # noqa: B007 (told to the caller)
            kept, entries, _ = survivors(H @ v, theta)
            new = np.zeros(H.shape[0])
            new[kept] = entries
            moved = float(np.linalg.norm(new - u))
            u, v = new, H @ new
            size = float(np.linalg.norm(v))
            if moved < tol or size == 0.0:
                break
            v /= size
        steps.append(step)
        U[:, r] = -u if u[np.abs(u).argmax()] < 0.0 else u
        H = H - values[-1 - r] * np.outer(vectors[:, -1 - r], vectors[:, -1 - r])
    return U, tuple(steps)


def sample(X: Any, Y: Any) -> tuple[Array, Array]:
    """Return X, shape (n, p), and Y, shape (n, q), finite."""
    X, Y = real_array("X", X, InputError), real_array("Y", Y, InputError)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if X.ndim != 2 or Y.ndim != 2 or X.shape[0] != Y.shape[0] or 0 in X.shape or Y.shape[1] == 0:
        raise InputError(f"X must have shape (n, p) and Y (n,) or (n, q), with n, p, q >= 1, got {X.shape} and {Y.shape}")
    if not (np.isfinite(X).all() and np.isfinite(Y).all()):
        raise InputError("X and Y must be finite")
    return X, Y


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
