r"""SLAIT: sparse index tracking on a window of returns, the batch rival of the online learners.

.. math::

    \min_w\ \frac1m \sum_i \phi\big((Xw - r)_i\big) + \lambda \sum_j \frac{\ln(1 + w_j/p)}{\ln(1 + u/p)}
    \qquad \text{s.t. } 0 \le w \le u,\ \sum_j w_j = 1

with :math:`\phi(e) = e^2` (empirical tracking error, "ete"), :math:`[-e]_+^2` (downside risk, "dr"), or either of them with
linear tails beyond a threshold (Huber, "hete" and "hdr"). The logarithms approximate the number of assets as p decreases.

The problem is not convex: a start moved by 1e-10 ends in another optimum, some percent away. So there are several starts, the
names that each of them keeps are fitted again for as long as that lowers the objective, and the best is kept.

References
----------
Benidis, Feng, Palomar, *Sparse portfolios for high-dimensional financial index tracking*, IEEE Trans. Signal Process. 66, 2018.
Varadhan, Roland, *Simple and globally convergent methods for accelerating the convergence of any EM algorithm*, Scand. J. Stat.
35, 2008 (SQUAREM).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracker_strategies._checks import count, number, one_of
from tracker_strategies.algorithms._validation import Array, finite_vector, real_array
from tracker_strategies.algorithms.passive_aggressive._slait_problem import SlaitProblem
from tracker_strategies.algorithms.sets import projections
from tracker_strategies.errors import InputError, ParameterError

MEASURES = ("ete", "dr", "hete", "hdr")
DUST = 1e-9
"""Weights up to this are set to zero at the end."""
CONTINUATION = tuple(10.0 ** -(7.0 ** (k / 10.0)) for k in range(11))
"""p from 1e-1 to 1e-7, each solution the start of the next."""
STARTS, MOST_STARTS = 8, 10_000
MOVED = 0.1
"""Standard deviation by which the weights of the further starts are moved, as a share of themselves."""
MOST_AGAIN = 20


Fit = tuple[Array, list[list[float]], int]
"""Weights, objectives and number of iterations, as in :class:`SlaitResult`."""


class SlaitResult(NamedTuple):
    """Outcome of :func:`slait`.

    Attributes
    ----------
    w : ndarray, shape (N,)
        Weights; dust removed.
    objective : list of list of float
        For each p of the continuation the objective at its start and after each iteration: never increasing. Of the fit that was
        kept, and so is the next.
    iterations : int
        Number of iterations in all.
    lmax : float
        Largest eigenvalue of X'X/m.
    values : ndarray, shape (starts,)
        Objective that each start led to, dust removed; w has the lowest.
    """

    w: Array
    objective: list[list[float]]
    iterations: int
    lmax: float
    values: Array

    @property
    def spread(self) -> float:
        """How much worse the worst start ended than the best, as a share of the best."""
        least = float(self.values.min())
        return float(self.values.max()) / least - 1.0 if least > 0.0 else 0.0


def slait(
    X: Any,
    r: Any,
    *,
    lam: float = 1e-7,
    u: Any = 1.0,
    measure: str = "ete",
    huber: float = 1e-3,
    p: Any = CONTINUATION,
    max_iter: int = 1000,
    accelerate: bool = True,
    start: Any = None,
    total: float = 1.0,
    starts: int = STARTS,
    seed: int = 0,
) -> SlaitResult:
    """Return sparse weights that track r with the columns of X, by majorisation-minimisation with decreasing p.

    Parameters
    ----------
    X : array_like, shape (m, N)
        Returns of the assets, one row a round.
    r : array_like, shape (m,)
        Returns of the index.
    lam : float, default 1e-7
        Price of an asset, > 0; 1e-8 keeps many of some hundred daily series, 1e-6 few.
    u : float or array_like, shape (N,), default 1
        Caps of the weights.
    measure : {"ete", "dr", "hete", "hdr"}, default "ete"
        Empirical tracking error, downside risk, and both with linear tails.
    huber : float, default 1e-3
        Error beyond which "hete" and "hdr" grow linearly, > 0, in units of returns.
    p : float or sequence of float
        Widths of the logarithm, > 0, in the order in which they are used; from 1e-1 to 1e-7 in eleven steps by default.
    max_iter : int, default 1000
        Most iterations from one start. Each p ends when the objective changes by no more than min(p/10, 1e-3) of itself.
    accelerate : bool, default True
        Whether to extrapolate (SQUAREM): two or more steps for one, the objective still never increases.
    start : array_like, shape (N,), optional
        Uniform by default.
    total : float, default 1
        Sum of the weights.
    starts : int, default 8
        How many starts are tried: `start`, and others in which each weight is moved by some tenth at random. The names that one
        keeps are fitted again from equal weights until that gains nothing, and the lowest objective of all is kept. 1 is the
        paper's iteration and nothing else.
    seed : int, default 0
        Of the moves. They go by the columns' content, not by their positions.

    Returns
    -------
    SlaitResult
        O(m N) an iteration, and O(m N min(m, N)) for the largest eigenvalue.
    """
    X = real_array("X", X, InputError)
    if X.ndim != 2 or 0 in X.shape or not np.isfinite(X).all():
        raise InputError(f"X must be a finite matrix with one row per round, got shape {X.shape}")
    r = finite_vector("r", r, InputError, X.shape[0])
    n = X.shape[1]
    check_slait(lam, measure, huber, max_iter, starts, seed)
    total = number("total", total, least=0.0)
    caps = projections.check_caps(u, n, total)
    steps = [number("p", value, above=0.0) for value in np.atleast_1d(p)]
    problem = SlaitProblem(X, r, lam=lam, caps=caps, u=penalty_cap(u), measure=measure, huber=huber, total=total)
    w = np.full(n, total / n) if start is None else finite_vector("start", start, ParameterError, n)
    values, best = [], None
    for each in several_starts(w, problem.X, starts, seed):
        found = descend(problem, projections.capped_simplex_unchecked(each, caps, total), steps, max_iter, accelerate)
        if starts > 1:
            found = fitted_again(problem, found, steps, max_iter, accelerate)
        values.append(problem.objective(found[0], steps[-1]))
        if best is None or values[-1] < min(values[:-1]):
            best = found
    assert best is not None
    return SlaitResult(*best, problem.lmax, np.array(values))


def several_starts(w: Array, X: Array, starts: int, seed: int) -> list[Array]:
    """Return `w`, and others in which each weight was moved by a little; a move goes with its column, wherever that stands."""
    moves = MOVED * np.random.default_rng(seed).standard_normal((starts - 1, w.shape[0]))
    place = np.argsort(np.lexsort(X[::-1])) if starts > 1 else np.arange(0)
    return [w, *(w * (1.0 + move[place]) for move in moves)]


def fitted_again(problem: SlaitProblem, fit: Fit, steps: list[float], max_iter: int, accelerate: bool) -> Fit:
    """Return a fit to the names of another one, from equal weights, and again to its names, while the objective falls.

    One that ran out of iterations, and is not helped by that, goes on from where it stands, once.
    """
    for _ in range(MOST_AGAIN):
        w = fit[0]
        names = np.flatnonzero(w)
        part = problem.on(names)
        goal, ran_out = (1.0 - 1e-9) * problem.objective(w, steps[-1]), fit[2] >= max_iter
        equal = projections.capped_simplex_unchecked(np.full(names.size, part.total / names.size), part.caps, part.total)
        found = descend(part, equal, steps, max_iter, accelerate)
        helped = part.objective(found[0], steps[-1]) < goal
        if not helped and ran_out:
            found = descend(part, w[names], steps, max_iter, accelerate)
        if not part.objective(found[0], steps[-1]) < goal:
            break
        whole = np.zeros(w.shape[0])
        whole[names] = found[0]
        fit = whole, *found[1:]
        if not helped:
            break
    return fit


def descend(problem: SlaitProblem, w: Array, steps: list[float], max_iter: int, accelerate: bool) -> Fit:
    """Return the weights that the iteration reaches from w, dust removed, the objectives on the way, and the iterations."""
    caps, total = problem.caps, problem.total
    history: list[list[float]] = []
    iterations = 0
    for width in steps:
        value = problem.objective(w, width)
        values = [value]
        while iterations < max_iter:
            iterations += 1
            if accelerate:
                w, new = problem.jump(w, width, value)
            else:
                w = problem.step(w, width)
                new = problem.objective(w, width)
            values.append(new)
            small = abs(value - new) <= min(0.1 * width, 1e-3) * abs(value)
            value = new
            if small:
                break
        history.append(values)
    w = np.where(w > DUST, w, 0.0)
    if w.any():
        held = w > 0.0
        w[held] = projections.capped_simplex_unchecked(w[held] * (total / float(w.sum())), caps[held], total)
    return w, history, iterations


def penalty_cap(u: Any) -> float:
    """Return the u of the penalty: the largest finite cap, 1 at most."""
    return min(1.0, float(np.max(u)))


def check_slait(lam: Any, measure: Any, huber: Any, max_iter: Any, starts: Any, seed: Any) -> None:
    """Raise a ParameterError unless the parameters lie in their domains."""
    number("lam", lam, above=0.0)
    number("huber", huber, above=0.0)
    count("max_iter", max_iter)
    if count("starts", starts) > MOST_STARTS:
        raise ParameterError(f"starts must be at most {MOST_STARTS}, got {starts!r}")
    count("seed", seed, least=0)
    one_of("measure", measure, MEASURES)
