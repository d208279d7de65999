"""Random wishes, regions and metrics, and slow answers to check the fast ones by."""

from __future__ import annotations

import warnings

import numpy as np

from tracker_strategies.execution.mandate.limits import Region
from tracker_strategies.execution.mandate.metric import Metric


def region(rng: np.random.Generator, n: int, *, halts: bool = False) -> Region:
    """A region around a portfolio that is known to be inside; with halts it may be empty."""
    total = float(rng.choice([1.0, 0.99, 0.5]))
    inner = rng.dirichlet(np.full(n, rng.choice([0.3, 1.0, 5.0]))) * total
    held = rng.dirichlet(np.full(n, rng.choice([0.3, 1.0, 5.0]))) * rng.uniform(0.8, 1.0)
    lower = np.where(rng.random(n) < 0.5, 0.0, inner * rng.random(n))
    upper = inner + rng.random(n) * rng.choice([0.0, 0.01, 0.1, 0.5])
    fixed = rng.random(n) < rng.choice([0.0, 0.1, 0.4])
    at = held if halts else inner
    lower, upper = np.where(fixed, at, lower), np.where(fixed, at, upper)
    members, least, most = [], [], []
    for _ in range(int(rng.integers(0, 4))):
        labels = rng.integers(0, int(rng.integers(1, 12)), n)
        for label in range(int(labels.max()) + 2):  # the last one is empty
            positions = np.flatnonzero(labels == label)
            share = float(inner[positions].sum())
            bounds = [(share, share), (0.0, share), (0.0, 1.0), (0.9 * share, share + 0.02), (share, 1.0)]
            a, b = bounds[int(rng.integers(0, 5))]
            members.append(positions)
            least.append(a)
            most.append(b)
    if members and rng.random() < 0.3:
        members.append(members[0])
        least.append(least[0])
        most.append(most[0])
    needed = float(np.abs(inner - held).sum())
    turnover = float(rng.choice([np.inf, 1.02, 1.5])) * needed * (1.0 + 1e-6)
    return Region(lower, upper, held, total, tuple(members), np.array(least), np.array(most), turnover)


def metric(rng: np.random.Generator, n: int) -> Metric:
    k = int(rng.integers(0, 9))
    return Metric(10.0 ** rng.uniform(-4.5, -3.0, n), rng.normal(size=(n, k)) * 10 ** rng.uniform(-3.0, -2.0))


def wish(rng: np.random.Generator, region: Region) -> np.ndarray:
    n = len(region.held)
    kind = int(rng.integers(0, 4))
    if kind == 0:
        return rng.dirichlet(np.ones(n))
    if kind == 1:
        return region.held.copy()
    if kind == 2:
        return rng.normal(size=n) * 3.0
    return 0.5 * (region.lower + region.upper) + 0.01 * rng.normal(size=n)


def price(rng: np.random.Generator, n: int) -> float | np.ndarray:
    kind = int(rng.integers(0, 3))
    if kind == 0:
        return 0.0
    return 10.0 ** rng.uniform(-7.0, -4.5, n) * (rng.random(n) < 0.7) if kind == 1 else float(10.0 ** rng.uniform(-7.0, -4.5))


def excess(w: np.ndarray, region: Region) -> float:
    """The most by which a sum or the turnover is outside its bounds."""
    worst = [abs(w.sum() - region.total), np.abs(w - region.held).sum() - region.turnover]
    for positions, low, high in zip(region.members, region.group_lower, region.group_upper, strict=True):
        worst += [w[positions].sum() - high, low - w[positions].sum()]
    return float(max(worst))


def objective(w: np.ndarray, z: np.ndarray, region: Region, m: Metric, c: float | np.ndarray) -> float:
    e = w - z
    return float(0.5 * (m.d * e * e).sum() + 0.5 * ((m.B.T @ e) ** 2).sum() + (c * np.abs(w - region.held)).sum())


def by_cvxpy(z: np.ndarray, region: Region, m: Metric, c: float | np.ndarray) -> tuple[str, np.ndarray | None]:
    """Status and weights of the same problem from a general solver (Clarabel)."""
    import cvxpy as cp

    n, scale = len(z), 1.0 / float(np.median(m.d))
    w = cp.Variable(n)
    cost = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(m.d * scale), w - z))
    cost += cp.sum(cp.multiply(np.broadcast_to(c, n) * scale, cp.abs(w - region.held)))
    if m.B.shape[1]:
        cost += 0.5 * cp.sum_squares(np.sqrt(scale) * m.B.T @ (w - z))
    limits = [w >= region.lower, w <= region.upper, cp.sum(w) == region.total]
    for positions, low, high in zip(region.members, region.group_lower, region.group_upper, strict=True):
        if len(positions):
            limits += [cp.sum(w[positions]) >= low, cp.sum(w[positions]) <= high]
    if np.isfinite(region.turnover):
        limits.append(cp.norm1(w - region.held) <= region.turnover)
    problem = cp.Problem(cp.Minimize(cost), limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver="CLARABEL", tol_gap_abs=1e-14, tol_gap_rel=1e-14, tol_feas=1e-13, max_iter=200)
        except cp.SolverError:
            return "error", None
    return str(problem.status), w.value


def gap_by_linprog(w: np.ndarray, z: np.ndarray, region: Region, m: Metric, c: float | np.ndarray) -> float:
    """How much the linearised objective could still fall within the region, as a share of its slope: zero at the minimum only.

    Infinite if there is no portfolio in the region; NaN if the solver does not know.
    """
    from scipy.optimize import linprog

    n = len(w)
    slope = m.d * (w - z) + m.B @ (m.B.T @ (w - z))
    scale = 1.0 / max(float(np.abs(slope).max()), 1e-300)
    rows, right = [], []
    for positions, low, high in zip(region.members, region.group_lower, region.group_upper, strict=True):
        row = np.zeros(2 * n)
        row[positions] = 1.0
        rows += [row, -row]
        right += [high, -low]
    both = np.eye(n)
    rows += [*np.hstack((both, -both)), *np.hstack((-both, -both))]
    right += [*region.held, *-region.held]
    if np.isfinite(region.turnover):
        rows.append(np.concatenate((np.zeros(n), np.ones(n))))
        right.append(region.turnover)
    prices = np.broadcast_to(c, n)
    answer = linprog(
        scale * np.concatenate((slope, prices)),
        A_ub=np.array(rows),
        b_ub=right,
        A_eq=np.concatenate((np.ones(n), np.zeros(n)))[None],
        b_eq=[region.total],
        bounds=[*zip(region.lower, region.upper, strict=True), *[(0.0, None)] * n],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if answer.status == 2:
        return np.inf
    if answer.status != 0:  # the solver cannot decide; a test that asks takes another case
        return np.nan
    return float(scale * (slope @ w + prices @ np.abs(w - region.held)) - answer.fun)
