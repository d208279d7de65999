"""A choice of names under which the limits can hold, found as a mixed-integer program: slow, exact, and rarely needed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_array, diags_array, eye_array

from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Limits

#: Two sums of weights that differ by less are one.
TOLERANCE = 1e-9
#: The solver is exact to about 1e-6 of what it is given: weights are handed to it in thousandths.
_SCALE = 1e3
NODES = 20_000
#: What one unit of each breach costs, where none can be avoided: idle cash gives way first, caps of groups last.
_LEAST, _FLOOR, _CAP = 30.0, 1e3, 3e4


class Choice(NamedTuple):
    """Names that may be held, and one portfolio of them.

    Attributes
    ----------
    support : (N,) bool
    weights : (N,) float
        A portfolio of these names that invests the most.
    invested : float
        Sum of its weights.
    at_most : float
        Proved bound of what any choice can invest: above `invested` only where the search was cut short.
    """

    support: BoolArray
    weights: FloatArray
    invested: float
    at_most: float


def most_invested(
    limits: Limits, *, elastic: bool = False, full: bool = False, first: FloatArray | None = None, nodes: int = NODES
) -> Choice | None:
    r"""Choose names such that as much as the limits allow is invested, at most `limits.total`.

    Names with the same groups and the same least weight are one class c of m_c names, of which n_c are held with the weight W_c
    together. Those with the largest caps can do all that others can, and the sum F_c(n) of the n largest caps is concave:

    .. math:: \max_{W, n} \sum_c W_c \quad \mathrm{s.t.}\quad l_c n_c \le W_c \le F_c(n_c),\ n_c \in \{0, \ldots, m_c\},\
        \sum_c W_c \le \mathrm{total},\ \sum_c n_c \le K,\
        L_g \le \sum_{c \in g} W_c \le U_g,\ \sum_{c \in g} n_c \le K_g

    Parameters
    ----------
    limits : Limits
        `frozen` is not read: a name that cannot be traded has equal `must` and `upper`.
    elastic : bool
        Where no choice keeps all limits, find one that breaks them least: minimum weights before floors before caps of groups.
    full : bool
        Only a choice that invests `limits.total` will do. That is decided much sooner than what the most is.
    first : (N,) float, optional
        Of names that are equal to the limits those with the largest entries are taken; else by position.
    nodes : int
        The search is cut short after as many: by work, not by time, for the same answer on every machine.

    Returns
    -------
    Choice or None
        None where no portfolio, however small (with `full`: none that invests everything), keeps the limits.
    """
    names = np.flatnonzero((limits.upper > 0) & (elastic | (limits.least <= limits.upper)))
    groups, n_groups = limits.groups, len(limits.groups)
    inside = np.zeros((n_groups, limits.n_names))
    for g, group in enumerate(groups):
        inside[g, group.members] = 1.0
    if not elastic and np.any(limits.must > limits.upper):
        return None
    if not elastic and any(g.lower > TOLERANCE and not row.any() for g, row in zip(groups, inside[:, names], strict=True)):
        return None
    if not len(names):
        return Choice(np.zeros(limits.n_names, bool), np.zeros(limits.n_names), 0.0, 0.0)
    must = np.minimum(limits.must, limits.upper)
    prefer = np.zeros(limits.n_names) if first is None else first
    names = names[np.lexsort((names, -prefer[names], -limits.upper[names]))]
    keys = np.vstack([np.maximum(limits.least, must), must, inside])[:, names]
    classes, owner, size = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    least, must, sums, n = _SCALE * classes[0], classes[1], classes[2:], len(size)
    caps = [_SCALE * limits.upper[names[owner == c]] for c in range(n)]
    # One row for each piece of each F_c: W_c - slope n_c <= start.
    pieces = np.repeat(np.arange(n), size)
    slopes = np.concatenate(caps)
    starts = np.concatenate([np.cumsum(c) - c * np.arange(1, len(c) + 1) for c in caps])
    changes = np.concatenate([np.diff(c, prepend=np.inf) != 0 for c in caps])
    pieces, slopes, starts = pieces[changes], slopes[changes], starts[changes]
    counted = np.array([g.max_names is not None for g in groups], bool)
    # Columns: W, n, what each class lacks to its least, what each group lacks to its floor, what it has above its cap.
    one, unit, by_group = np.ones((1, n)), eye_array(n), eye_array(n_groups)
    rows: list[list[Any]] = [[one, 0 * one, 0 * one, np.zeros((1, n_groups)), np.zeros((1, n_groups))]]
    low, high = [[_SCALE * (limits.total - TOLERANCE) if full else -np.inf]], [[_SCALE * limits.total]]
    if n_groups:
        rows.append([sums, None, None, by_group, -by_group])
        low.append([_SCALE * g.lower for g in groups])
        high.append([_SCALE * g.upper for g in groups])
    if counted.any():
        rows.append([None, sums[counted], None, None, None])
        low.append([-np.inf] * int(counted.sum()))
        high.append([float(g.max_names) for g in groups if g.max_names is not None])
    if limits.max_names is not None:
        rows.append([None, one, None, None, None])
        low.append([-np.inf])
        high.append([float(limits.max_names)])
    rows += [
        [unit, -diags_array(least), unit, None, None],
        [unit.tocsr()[pieces], -diags_array(slopes) @ unit.tocsr()[pieces], None, None, None],
    ]
    low += [[0.0] * n, [-np.inf] * len(pieces)]
    high += [[np.inf] * n, starts]
    constraints = LinearConstraint(block_array(rows, format="csc"), np.concatenate(low), np.concatenate(high))
    cost = np.repeat([-1.0, 0.0, _LEAST, _FLOOR, _CAP], [n, n, n, n_groups, n_groups])
    extra = np.zeros(n + 2 * n_groups)
    bottom = np.concatenate([np.zeros(n), np.where(must > 0, size, 0), extra])
    top = np.concatenate([[c.sum() for c in caps], size, np.full(len(extra), np.inf) if elastic else extra])
    whole = np.repeat([0.0, 1.0, 0.0], [n, n, len(extra)])
    bounds = Bounds(bottom, top)
    solved = milp(
        cost, integrality=whole, bounds=bounds, constraints=constraints, options={"node_limit": nodes, "mip_rel_gap": 0.0}
    )
    cut_short = int(solved.status) not in (0, 2)  # neither solved nor infeasible
    if solved.x is None:
        return Choice(np.zeros(limits.n_names, bool), np.zeros(limits.n_names), 0.0, limits.total) if cut_short else None
    # Whole numbers may be off by 1e-6: they are fixed, and the amounts are solved for once more.
    bottom[n : 2 * n] = top[n : 2 * n] = np.round(solved.x[n : 2 * n])
    amounts = milp(cost, bounds=Bounds(bottom, top), constraints=constraints).x
    found = solved.x if amounts is None else amounts
    support, weights = np.zeros(limits.n_names, bool), np.zeros(limits.n_names)
    for c, count in enumerate(bottom[n : 2 * n].astype(int)):
        taken, low_w, high_w = names[owner == c][:count], classes[0, c], caps[c][:count] / _SCALE
        support[taken] = True
        room = float(np.sum(high_w - low_w))
        part = (found[c] / _SCALE - count * low_w) / room if room > 0 else 0.0
        weights[taken] = np.minimum(high_w, low_w + part * (high_w - low_w))
    bound = limits.total if solved.mip_dual_bound is None else -float(solved.mip_dual_bound) / _SCALE
    return Choice(support, weights, float(weights.sum()), bound if cut_short else float(weights.sum()))
