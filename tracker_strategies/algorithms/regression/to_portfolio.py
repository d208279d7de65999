r"""From regression coefficients to one long-only portfolio.

Coefficients that predict an index are no weights: they may be negative, need not sum to one, and q indices have q sets of them.
The papers leave the way to a portfolio open. Ours: combine the sets with the weights of the targets,
:math:`b = \sum_j \omega_j \beta_{\cdot j}`, take the names with :math:`b_i \ne 0` and

- `refit`: fit weights to the target on these names, by least squares on the simplex. The coefficients only select;
- `project`: the nearest point of the simplex of these names;
- `normalise`: positive parts, scaled to sum 1;
- `cash`: positive parts, scaled down to sum 1 if they exceed it; the rest is not invested.

`project` and `normalise` change the exposure to the market when b does not sum to 1, which is the rule for few names out of many:
they track badly, whatever the coefficients are worth.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies._checks import number, one_of
from tracker_strategies.algorithms._validation import Array, finite_vector, real_array, target_weights
from tracker_strategies.algorithms.numerics.simplex_qp import minimise
from tracker_strategies.algorithms.numerics.thresholds import simplex
from tracker_strategies.errors import InputError

RULES = ("refit", "project", "normalise", "cash")
PRUNE = 0.7
"""Share of the names that a fit keeps while there are too many: one that only looked weak beside its likes gets a second look."""


def beta_to_portfolio(
    beta: Any, rule: str = "project", omega: Any = None, previous: Any = None, max_names: int | None = None
) -> Array:
    """Return a portfolio made of coefficients alone.

    Parameters
    ----------
    beta : array_like, shape (p,) or (p, q)
        Coefficients, one column per target.
    rule : {"project", "normalise", "cash"}, default "project"
    omega : array_like, shape (q,), optional
        Weights of the targets, > 0; equal by default.
    previous : array_like, shape (p,), optional
        What to return when no coefficient can be used; equal weights by default.
    max_names : int, optional
        Most names, the largest coefficients.

    Returns
    -------
    ndarray, shape (p,)
        >= 0, with sum 1 (`cash`: at most 1).

    Examples
    --------
    >>> from tracker_strategies.algorithms.regression import beta_to_portfolio
    >>> beta_to_portfolio([0.6, 0.2, -0.1, 0.0], "normalise").round(3).tolist()
    [0.75, 0.25, 0.0, 0.0]
    """
    beta = real_array("beta", beta, InputError)
    if beta.ndim not in (1, 2) or beta.shape[0] == 0 or not np.isfinite(beta).all():
        raise InputError(f"beta must be finite, of shape (p,) or (p, q), got shape {beta.shape}")
    columns = beta.reshape(beta.shape[0], -1)
    b = columns @ target_weights(omega, columns.shape[1])
    one_of("rule", rule, RULES[1:])
    w = np.zeros(b.shape[0])
    support = b.nonzero()[0]
    found = from_coefficients(b[support], rule, 1.0, max_names)
    if found is None:
        return np.full(b.shape[0], 1.0 / b.shape[0]) if previous is None else finite_vector("previous", previous, size=b.shape[0])
    w[support] = found
    return w


def from_coefficients(b: Array, rule: str, total: float, max_names: int | None) -> Array | None:
    """Return weights for the names with coefficients b != 0 by a rule that needs nothing else; None when it finds none."""
    if b.shape[0] == 0:
        return None
    if max_names is not None and b.shape[0] > max_names:
        kept = largest(b, max_names)
        found = from_coefficients(b[kept], rule, total, None)
        if found is None:
            return None
        w = np.zeros(b.shape[0])
        w[kept] = found
        return w
    if rule == "project":
        return simplex(b, total)
    positive = np.maximum(b, 0.0)
    size = float(positive.sum())
    if not 0.0 < size < np.inf:
        return None
    return positive if rule == "cash" and size <= total else positive * (total / size)


def refit_portfolio(
    C: Any, m: Any, support: Any, *, ridge: float = 0.0, total: float = 1.0, max_names: int | None = None, start: Any = None
) -> Array:
    r"""Return the least-squares portfolio on some of the names.

    .. math:: \arg\min \tfrac12 w^\top C w - m^\top w + \tfrac{\rho}{2}\|w - \bar w\|^2, \quad
              w \ge 0,\ \sum_i w_i = \mathrm{total},\ w_i = 0 \text{ off the support}

    with equal weights :math:`\bar w` and :math:`\rho` = ridge times the mean of :math:`C_{ii}` on the support.

    Parameters
    ----------
    C : array_like, shape (p, p)
        Second moments of the names, :math:`\sum_t x_t x_t^\top` with or without discount.
    m : array_like, shape (p,)
        Their moments with the target, :math:`\sum_t x_t y_t`.
    support : array_like of int, shape (k,)
        The names that may be held.
    ridge : float, default 0
        Pull towards equal weights, >= 0.
    total : float, default 1
    max_names : int, optional
        Most names held. The smallest weights are dropped, at most 30 % at a time, and the rest is fitted again.
    start : array_like, shape (p,), optional
        A guess of the answer, for speed.
    """
    C, m = real_array("C", C, InputError), finite_vector("m", m)
    if C.shape != (m.shape[0], m.shape[0]):
        raise InputError(f"C must have shape ({m.shape[0]}, {m.shape[0]}) as m has {m.shape[0]} entries, got {C.shape}")
    index = np.unique(np.asarray(support, dtype=np.intp))
    if index.shape[0] == 0 or index[0] < 0 or index[-1] >= m.shape[0]:
        raise InputError(f"support must name at least one of {m.shape[0]} names by its position, got {support!r}")
    guess = None if start is None else finite_vector("start", start, size=m.shape[0])[index]
    w = np.zeros(m.shape[0])
    w[index] = refit(C[index[:, None], index], m[index], number("ridge", ridge, least=0.0), total, max_names, guess)
    return w


def refit(
    A: Array,
    m: Array,
    ridge: float,
    total: float,
    max_names: int | None = None,
    start: Array | None = None,
    bonus: Array | None = None,
) -> Array:
    """Return the weights of :func:`refit_portfolio` when A and m are those of the support already; A is changed.

    `bonus`, shape (k,), multiplies the weights where they decide who is dropped.
    """
    k = m.shape[0]
    if ridge > 0.0:
        diagonal = A.reshape(-1)[:: k + 1]
        pull = ridge * float(np.add.reduce(diagonal)) / k
        diagonal += pull
        m = m + pull * total / k
    w = minimise(A, m, start, total)
    if max_names is None or k <= max_names or (names := int(np.count_nonzero(w))) <= max_names:
        return w
    kept = largest(w if bonus is None else w * bonus, max(max_names, int(PRUNE * names)))
    fewer = np.zeros(k)
    rest = None if bonus is None else bonus[kept]
    fewer[kept] = refit(A[kept[:, None], kept], m[kept], 0.0, total, max_names, w[kept], rest)
    return fewer


def largest(values: Array, k: int) -> Any:
    """Return the indices of the k largest values, ascending; the lower index among equals."""
    return np.sort(np.argsort(-values, kind="stable")[:k])
