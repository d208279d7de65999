r"""Proximal steps :math:`\arg\min_{w \in W} h(w) + \|w - v\|^2/(2\lambda)` for sums h of the known terms, exact where it can be.

Terms are collected in :class:`Parts` and folded: linear and quadratic ones move and scale v; those with kinks and group norms
make up an inner step P, solved by one scalar root; the log return adds a root around it (`numerics.log_prox`); user-defined
gradients are handled by SCA around P (:mod:`.sca`). Only combinations without such a structure, like group norms on a box, are
split.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tracker_strategies.algorithms._validation import Array, describe_not_finite
from tracker_strategies.algorithms.numerics.kinks import Kinks, prox_box, prox_budget
from tracker_strategies.algorithms.numerics.log_prox import log_return_root, log_return_simplex
from tracker_strategies.algorithms.sets.feasible import Box, CappedSimplex, FeasibleSet, Hyperplane, L1Ball, RealSpace, Simplex
from tracker_strategies.algorithms.sets.grouped import GroupedSimplex
from tracker_strategies.algorithms.side.convex_approximation import sca
from tracker_strategies.errors import InputError


class GroupNorms:
    r"""The function :math:`\sum_g k_g \|w_g\|_2` of n coordinates; one in no group is free.

    Parameters
    ----------
    groups : list of ndarray of int
        Positions of each group; disjoint.
    k : ndarray, shape (number of groups,)
        Weights, >= 0.
    n : int
    """

    def __init__(self, groups: list[Array], k: Array, n: int) -> None:
        self.labels = np.full(n, len(groups), dtype=np.intp)
        for g, group in enumerate(groups):
            self.labels[group] = g
        self.k = np.append(k, 0.0)

    def _factors(self, a: Array) -> tuple[Array, Array]:
        """Return [1 - k_g/||a_g||]_+ and ||a_g|| of each group."""
        top = float(np.abs(a).max()) or 1.0
        norms = top * np.sqrt(np.bincount(self.labels, (a / top) ** 2, self.k.shape[0]))
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = np.where(norms > self.k, 1.0 - self.k / norms, 0.0)
        return factors, norms

    def shrink(self, a: Array) -> Array:
        """Return the minimiser of ||w-a||^2/2 + sum k_g ||w_g|| over all of R^n."""
        return a * self._factors(a)[0][self.labels]

    def on_simplex(self, z: Array, total: float) -> Array:
        r"""Return the minimiser over {w >= 0, sum w = total}.

        With the multiplier :math:`\mu` of the sum it is shrink([z + mu]_+); the sum increases in mu: a safeguarded Newton root.
        """
        if not np.isfinite(z).all():
            raise InputError(f"the point of a proximal step must be finite, got {describe_not_finite(z)}")
        if total <= 0.0:
            return np.zeros(z.shape[0])
        top = float(z.max())
        with np.errstate(over="ignore"):
            z = np.maximum(z - top, -1e300)
        # At the lower end nothing is held. At the upper one the largest entry alone, after shrinking, reaches the total.
        low, high = 0.0, total + float(self.k.max())
        mu = high
        for _ in range(200):
            a = np.maximum(z + mu, 0.0)
            factors, norms = self._factors(a)
            sums = np.bincount(self.labels, a, self.k.shape[0])
            gap = float(factors.dot(sums)) - total
            if abs(gap) <= 4e-16 * max(1.0, total):
                break
            if gap > 0.0:
                high = mu
            else:
                low = mu
            held = np.bincount(self.labels, a > 0.0, self.k.shape[0])
            on = factors > 0.0
            slope = float((factors * held)[on].sum())
            curved = on & (self.k > 0.0)
            slope += float((self.k[curved] * (sums[curved] / norms[curved]) ** 2 / norms[curved]).sum())
            step = mu - gap / slope if slope > 0.0 else math.inf
            if not low < step < high:
                step = 0.5 * (low + high)
            if step in (mu, low, high):
                break
            mu = step
        return a * factors[self.labels]


Step = Callable[[Array], Array]
SPLIT_TOLERANCE = 1e-13
MAX_SPLITS = 20_000


@dataclass
class Parts:
    """The terms of one round in the form that the step needs. Gradients are of smooth user-defined terms."""

    linear: Array | None = None
    curvature: float = 0.0
    pull: Array | None = None  # sum of q times the reference of quadratic terms
    kinks: list[tuple[Array, Array]] = field(default_factory=list)  # positions and weights
    groups: list[tuple[list[Array], Array]] = field(default_factory=list)  # positions and weights of norms
    logs: list[tuple[float, Array]] = field(default_factory=list)  # weight and returns
    gradients: list[Callable[[Array], Array]] = field(default_factory=list)

    def add_linear(self, c: Array) -> None:
        """Add c.w."""
        self.linear = c if self.linear is None else self.linear + c

    def add_quadratic(self, q: float, ref: Array) -> None:
        """Add (q/2) ||w - ref||^2."""
        self.curvature += q
        self.pull = q * ref if self.pull is None else self.pull + q * ref


def solve(parts: Parts, v: Array, lam: float, W: FeasibleSet, guess: Array) -> Array:
    """Return the proximal step of all parts at v.

    Parameters
    ----------
    parts : Parts
    v : ndarray, shape (n,)
    lam : float
        Trade-off, > 0.
    W : FeasibleSet
    guess : ndarray, shape (n,)
        A point near the solution, to start from.

    Returns
    -------
    ndarray, shape (n,)
        A new array in W.
    """
    if parts.linear is not None:
        v = v - lam * parts.linear
    if parts.curvature > 0.0 and parts.pull is not None:
        v = (v + lam * parts.pull) / (1.0 + lam * parts.curvature)
        lam = lam / (1.0 + lam * parts.curvature)

    logs, gradients = _merged(parts.logs), list(parts.gradients)
    if len(logs) > 1:  # several return vectors: smooth, but no longer one unknown
        gradients += [_log_gradient(a, x) for a, x in logs[1:]]
        logs = logs[:1]
    if logs and not parts.kinks and not parts.groups and not gradients and type(W) is Simplex and W.total > 0.0:
        return log_return_simplex(v, lam * logs[0][0], logs[0][1], W.total, guess)
    inner = _inner(parts, lam, W, v.shape[0])
    step = inner
    if logs:
        a, x = logs[0]

        def step(z: Array) -> Array:
            return log_return_root(inner, z, lam * a, x, guess)

    if gradients:
        return sca(lambda w: sum((g(w) for g in gradients[1:]), gradients[0](w)), v, lam, step, step(guess))
    return step(v)


def _merged(logs: list[tuple[float, Array]]) -> list[tuple[float, Array]]:
    """Add up log terms of the same returns, the current round's as a rule; drop those without a return."""
    merged: list[tuple[float, Array]] = []
    for a, x in logs:
        if a <= 0.0 or not x.any():
            continue
        for i, (b, other) in enumerate(merged):
            if other is x or np.array_equal(other, x):
                merged[i] = (a + b, x)
                break
        else:
            merged.append((a, x))
    return merged


def _log_gradient(a: float, x: Array) -> Callable[[Array], Array]:
    return lambda w: (-a / (1.0 + float(x.dot(w)))) * x


def _inner(parts: Parts, lam: float, W: FeasibleSet, n: int) -> Step:
    """Return the exact step of kinks and group norms over W."""
    kinks = None
    if parts.kinks:
        kinks = Kinks(np.array([r for r, _ in parts.kinks]), lam * np.array([k for _, k in parts.kinks]))
    norms = [GroupNorms(groups, lam * rho, n) for groups, rho in parts.groups]
    if kinks is None and len(norms) == 1:
        if isinstance(W, RealSpace):
            return norms[0].shrink
        if isinstance(W, Simplex):
            return lambda z: norms[0].on_simplex(z, W.total)
    step = W.project if kinks is None else (with_kinks(W, kinks) or _split(kinks.shrink, W.project))
    for one in norms:
        step = _split(one.shrink, step)
    return step


def with_kinks(W: FeasibleSet, kinks: Kinks) -> Step | None:
    """Return the exact step of the kinks over W; None for a set that is not known here."""
    if isinstance(W, RealSpace):
        return kinks.shrink
    if isinstance(W, Box):
        return lambda z: prox_box(z, kinks, W.lo, W.hi)
    if isinstance(W, Simplex):
        return lambda z: prox_budget(z, kinks, 0.0, np.inf, W.total) if W.total > 0.0 else np.zeros(z.shape[0])
    if isinstance(W, CappedSimplex):
        return lambda z: _capped(W, z, kinks)
    if isinstance(W, Hyperplane):
        return lambda z: prox_budget(z, kinks, -np.inf, np.inf, W.b, W.a)
    if isinstance(W, L1Ball):
        return lambda z: _l1_ball(W.c, z, kinks)
    if isinstance(W, GroupedSimplex):
        return lambda z: W.prox(z, kinks)
    return None


def _capped(W: CappedSimplex, z: Array, kinks: Kinks) -> Array:
    caps: Array = np.minimum(np.broadcast_to(W.u, z.shape), W.total)
    return caps.copy() if float(caps.sum()) <= W.total else prox_budget(z, kinks, 0.0, caps, W.total)


def _l1_ball(c: float, z: Array, kinks: Kinks) -> Array:
    """Inside the ball nothing binds. Outside, theta |w| is linear on the side of zero where a coordinate starts and stays."""
    w = kinks.shrink(z)
    if float(np.abs(w).sum()) <= c:
        return w
    side = np.sign(w)
    return prox_budget(z, kinks, np.where(side < 0.0, -np.inf, 0.0), np.where(side > 0.0, np.inf, 0.0), c, side)


def _split(first: Step, second: Step) -> Step:
    r"""Return the step of the sum of two terms from the steps of each, by Dykstra's method in its proximal form.

    References
    ----------
    Bauschke, Combettes, *A Dykstra-like algorithm for two monotone operators*, Pacific J. Optim. 4, 2008: Theorem 3.3.
    """

    def step(z: Array) -> Array:
        b = z
        p = np.zeros_like(z)
        q = np.zeros_like(z)
        for _ in range(MAX_SPLITS):
            a = first(b + p)
            p += b - a
            new = second(a + q)
            q += a - new
            moved = max(float(np.abs(new - a).max()), float(np.abs(a - b).max()))
            b = new
            if moved <= SPLIT_TOLERANCE * max(1.0, float(np.abs(b).max())):
                break
        return b

    return step
