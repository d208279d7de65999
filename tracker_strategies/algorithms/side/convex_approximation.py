"""Successive convex approximation: the general method for a proximal step with smooth side information."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.errors import InputError, ParameterError

SLOW = 20
"""Times as many steps once they have to be short."""


def sca(
    gradient: Callable[[Array], Array],
    v: Array,
    lam: float,
    project: Callable[[Array], Array],
    start: Array,
    *,
    gamma: float = 1.0,
    rho: float = 0.01,
    tol: float = 1e-10,
    max_iter: int = 500,
) -> Array:
    r"""Return the minimiser of :math:`h(w) + \|w - v\|^2/(2\lambda)` over W for smooth convex h, from gradients only.

    .. math::

        \tilde w = P_W(v - \lambda \nabla h(w^k)), \qquad w^{k+1} = w^k + \gamma_k (\tilde w - w^k), \qquad
        \gamma_{k+1} = \gamma_k (1 - \rho\, \gamma_k)

    Parameters
    ----------
    gradient : callable
        :math:`\nabla h` at a point of W, shape (n,).
    v : ndarray, shape (n,)
        Point of the proximal step.
    lam : float
        Trade-off :math:`\lambda > 0`.
    project : callable
        :math:`P_W`; or the proximal step of further terms with kinks, which the iteration then solves with h as well.
    start : ndarray, shape (n,)
        :math:`w^1` in W.
    gamma : float, default 1
        First step :math:`\gamma_1` in (0, 1], below 1/rho.
    rho : float, default 0.01
        Decay of the steps, in (0, 1).
    tol : float, default 1e-10
        Stop when no entry of :math:`\tilde w - w^k` is larger.
    max_iter : int, default 500
        Steps of this kind, enough while :math:`\lambda` times the curvature of h is below about 1. Beyond that they swing:
        then steps that are short enough for it follow, up to 20 times as many.

    Returns
    -------
    ndarray, shape (n,)
        The last :math:`\tilde w`, a point of W. One projection and one gradient an iteration.

    Raises
    ------
    InputError
        When that does not settle either: h is not convex, its gradient is wrong, or it is far too steep for this lam.

    Notes
    -----
    A subgradient of a term with kinks does not converge here: at the solution many weights are exactly at a kink, and the sign
    of the subgradient swings. Such terms have their own exact proximal step.

    References
    ----------
    Shi, Ying, Palomar, *Adaptive passive-aggressive framework with side information*, NeurIPS 2024: Algorithm 2, Eq. 11,
    Proposition 1.
    """
    max_iter, tol = count("max_iter", max_iter), number("tol", tol, least=0.0)
    for w, w_tilde, _ in islice(sca_iterates(gradient, v, lam, project, start, gamma=gamma, rho=rho), max_iter):
        if float(np.abs(w_tilde - w).max()) <= tol:
            return w_tilde
    return _damped(gradient, v, lam, project, w, tol, SLOW * max_iter)


def _damped(
    gradient: Callable[[Array], Array],
    v: Array,
    lam: float,
    project: Callable[[Array], Array],
    w: Array,
    tol: float,
    max_iter: int,
) -> Array:
    """Go on with steps 1/(1 + lam L), which descend for certain, where L is the steepest change of the gradient met so far."""
    g, steepest = gradient(w), 0.0
    for _ in range(max_iter):
        w_tilde = project(v - lam * g)
        way = w_tilde - w
        distance = float(np.abs(way).max())
        if distance <= tol:
            return w_tilde
        step = way / (1.0 + lam * steepest)
        w, before = w + step, g
        g = gradient(w)
        steepest = max(steepest, float(np.linalg.norm(g - before)) / max(float(np.linalg.norm(step)), 1e-300))
    raise InputError(
        f"the step with lam={lam:g} does not converge: after {max_iter} iterations the weights still move by {distance:g}; check "
        "that the side information is convex and its gradient correct, or use a smaller weight or lam"
    )


def sca_iterates(
    gradient: Callable[[Array], Array],
    v: Array,
    lam: float,
    project: Callable[[Array], Array],
    start: Array,
    *,
    gamma: float = 1.0,
    rho: float = 0.01,
) -> Iterator[tuple[Array, Array, float]]:
    r"""Yield :math:`(w^k, \tilde w, \gamma_k)` for k = 1, 2, ... without end: :func:`sca` step by step."""
    rho, gamma = number("rho", rho, above=0.0), number("gamma", gamma, above=0.0)
    if rho >= 1.0 or gamma > 1.0 or gamma * rho >= 1.0:
        raise ParameterError(f"steps need 0 < rho < 1 and 0 < gamma <= 1 with gamma < 1/rho, got rho={rho!r}, gamma={gamma!r}")
    w = start
    while True:
        w_tilde = project(v - lam * gradient(w))
        yield w, w_tilde, gamma
        w = w + gamma * (w_tilde - w)
        gamma *= 1.0 - rho * gamma
