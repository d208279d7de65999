"""The simplex with sector limits: the mass of each group of assets lies between two bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import number
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.kinks import Kinks, prox_box, prox_budget
from tracker_strategies.algorithms.sets.feasible import KINDS, FeasibleSet, _check_length, _frozen, _part
from tracker_strategies.algorithms.sets.projections import CAP_SLACK
from tracker_strategies.errors import InputError, ParameterError

Groups = tuple[tuple[int, ...], ...]


def disjoint_groups(groups: Any, smallest: int = 1) -> Groups:
    """Return groups of asset positions as tuples, refusing positions that are negative or stand in two groups."""
    try:
        result = tuple(tuple(int(i) for i in group) for group in groups)
        exact = all(int(i) == i for group in groups for i in group)
    except (TypeError, ValueError) as problem:
        raise ParameterError(f"groups must be lists of asset positions such as [[0, 1], [2]], got {groups!r}") from problem
    if not exact or len(result) < smallest or not all(result):
        raise ParameterError(f"groups must be non-empty lists of asset positions such as [[0, 1], [2]], got {groups!r}")
    seen: dict[int, int] = {}
    for number_, group in enumerate(result):
        for i in group:
            if i < 0:
                raise ParameterError(f"groups hold asset positions >= 0, got {i} in group {number_}")
            if i in seen:
                raise ParameterError(f"groups must not overlap, but asset {i} is in group {seen[i]} and in group {number_}")
            seen[i] = number_
    return result


def check_positions(groups: Groups, n: int) -> None:
    """Raise a ParameterError when a group names an asset beyond n."""
    last = max((i for group in groups for i in group), default=0)
    if last >= n:
        raise ParameterError(f"groups name asset {last}, but there are only {n} assets (positions 0 to {n - 1})")


@dataclass(frozen=True, eq=False)
class GroupedSimplex(FeasibleSet):
    r"""Long-only, fully invested, with limits on the mass of groups (sectors, countries).

    .. math:: \{0 \le w_i \le u_i,\ \textstyle\sum_i w_i = \mathrm{total},\
        L_g \le \sum_{i \in g} w_i \le U_g \text{ for every group } g\}

    Parameters
    ----------
    groups : sequence of sequences of int
        Positions of the assets of each group, from 0. Groups must not overlap; an asset in none has no sector limit.
    lower, upper : float or one per group, default 0 and 1
        Bounds of the mass of a group, 0 <= lower <= upper.
    u : float or array_like, shape (N,), default infinity
        Cap of each asset.
    total : float, default 1

    Notes
    -----
    The projection is exact. With :math:`s_g(\mu) = \sum_{i \in g} \mathrm{clip}(y_i + \mu, 0, u_i)` the multiplier of the total
    solves :math:`\sum_g \mathrm{clip}(s_g(\mu), L_g, U_g) = \mathrm{total}`, one scalar equation, increasing and piecewise
    linear; a group that is at a bound is then projected on the mass of that bound by itself. Expected O(n) per Newton step.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import GroupedSimplex
    >>> GroupedSimplex([[0, 1]], upper=0.5).project(np.array([0.6, 0.4, 0.0])).round(6).tolist()
    [0.35, 0.15, 0.5]
    """

    groups: Any
    lower: float | Array = 0.0
    upper: float | Array = 1.0
    u: float | Array = np.inf
    total: float = 1.0

    kind: ClassVar[str] = "grouped"
    portfolio: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", disjoint_groups(self.groups))
        object.__setattr__(self, "total", number("total", self.total, least=0.0))
        object.__setattr__(self, "u", _frozen("u", np.inf if self.u is None else self.u))
        m = len(self.groups)
        for name in ("lower", "upper"):
            bound = _frozen(name, getattr(self, name))
            if isinstance(bound, np.ndarray) and bound.shape != (m,):
                raise ParameterError(f"{name} has {bound.shape[0]} entries for {m} groups")
            vector = np.full(m, bound) if not isinstance(bound, np.ndarray) else bound
            vector.setflags(write=False)
            object.__setattr__(self, name, vector)
        if np.min(self.u) < 0.0:
            raise ParameterError(f"u must be >= 0, got {np.min(self.u)}")
        wrong = (np.asarray(self.lower) < 0.0) | (np.asarray(self.lower) > np.asarray(self.upper))
        if wrong.any():
            g = int(wrong.argmax())
            raise ParameterError(f"group {g} has bounds [{self._L[g]:g}, {self._U[g]:g}]; they must satisfy 0 <= lower <= upper")

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain values; no cap is None."""
        plain = super().to_dict() | {"groups": [list(group) for group in self.groups]}
        return plain | {"u": None if isinstance(self.u, float) and np.isinf(self.u) else plain["u"]}

    @property
    def _L(self) -> Array:
        return np.asarray(self.lower)

    @property
    def _U(self) -> Array:
        return np.asarray(self.upper)

    def check(self, n: int) -> None:
        """Raise a ParameterError when the bounds contradict each other for n assets."""
        check_positions(self.groups, n)
        _check_length("u", self.u, n)
        u = np.broadcast_to(self.u, (n,))
        slack = CAP_SLACK * max(self.total, 1.0)
        for g, group in enumerate(self.groups):
            reach = float(u[list(group)].sum())
            if reach < self._L[g] - slack:
                raise ParameterError(
                    f"group {g} must hold {self._L[g]:g}, but its caps u sum to {reach:g}: lower its lower bound or raise u"
                )
        least = float(self._L.sum())
        if least > self.total + slack:
            raise ParameterError(f"the lower bounds of the groups sum to {least:g}, more than the total of {self.total:g}")
        most = self._reach(u)
        if most < self.total - slack:
            raise ParameterError(
                f"groups and caps can hold {most:g} at most, not the total of {self.total:g}: raise `upper` or `u`"
            )

    def _reach(self, u: Array) -> float:
        labels = self._labels(u.shape[0])
        sums = np.bincount(labels, np.minimum(u, self.total), len(self.groups) + 1)
        return float(np.minimum(sums[:-1], self._U).sum() + sums[-1])

    def _labels(self, n: int) -> Any:
        """Return the group of each asset; those in none share one more."""
        labels = np.full(n, len(self.groups), dtype=np.intp)
        for g, group in enumerate(self.groups):
            labels[list(group)] = g
        return labels

    def project(self, y: Array) -> Array:
        """Return the nearest point."""
        return self.prox(y, None)

    def prox(self, z: Array, kinks: Kinks | None) -> Array:
        """Return the minimiser of ||w-z||^2/2 + kinks over this set."""
        n = z.shape[0]
        u: Array = np.minimum(np.broadcast_to(self.u, (n,)), self.total)
        labels = self._labels(n)
        L, U = np.append(self._L, 0.0), np.append(np.minimum(self._U, self.total), self.total)
        if not np.isfinite(z).all():
            raise InputError(f"the vector to project must be finite, got {z[~np.isfinite(z)][0]}")
        top = float(z.max())
        if abs(top) > 1e3:
            with np.errstate(over="ignore"):
                z = np.maximum(z - top, -1e300)

        def at(mu: float) -> tuple[Array, Array, float]:
            w = prox_box(z + mu, kinks, 0.0, u)
            sums: Array = np.bincount(labels, w, L.shape[0]).astype(np.float64)
            return w, sums, float(np.minimum(np.maximum(sums, L), U).sum()) - self.total

        w, sums, mu = self._root(at, z, kinks, u, labels, L, U)
        for g in np.flatnonzero((sums < L) | (sums > U)):
            held = np.flatnonzero(labels == g)
            c = float(L[g] if sums[g] < L[g] else U[g])
            inside = None if kinks is None else kinks.part(held)
            full = float(u[held].sum()) <= c
            w[held] = u[held] if full else prox_budget(z[held] + mu, inside, 0.0, u[held], c)
        return w

    def _root(
        self, at: Any, z: Array, kinks: Kinks | None, u: Array, labels: Any, L: Array, U: Array
    ) -> tuple[Array, Array, float]:
        """Solve for the multiplier of the total: Newton in a bracket that halves whenever a step would leave it."""
        reach = 0.0 if kinks is None else float(np.abs(kinks.K).max())
        low = -float(z.max()) - reach - 1.0
        high = float((u - z).max()) + reach + 1.0
        mu = min(max((self.total - float(z.sum())) / z.shape[0], low), high)
        for _ in range(200):
            w, sums, gap = at(mu)
            if abs(gap) <= 4e-16 * max(1.0, self.total):
                break
            if gap > 0.0:
                high = mu
            else:
                low = mu
            moving = (w > 0.0) & (w < u) & (True if kinks is None else ~kinks.resting(w))
            slopes = np.bincount(labels, moving, L.shape[0])
            slope = float(slopes[(sums > L) & (sums < U)].sum())
            step = mu - gap / slope if slope > 0.0 else np.inf
            if not low < step < high:
                step = 0.5 * (low + high)
            if step in (mu, low, high):
                break
            mu = step
        return w, sums, mu

    def start(self, n: int) -> Array:
        """Return equal weights, as far as the bounds allow."""
        self.check(n)
        return self.project(np.full(n, self.total / n))

    def slice(self, free: Mask, fixed: Mask, w: Array) -> GroupedSimplex:
        """Return the bounds left for the free coordinates; an InputError when they cannot be met."""
        position = np.cumsum(free) - 1
        groups: list[Sequence[int]] = []
        lower, upper = [], []
        for g, group in enumerate(self.groups):
            held = np.array(group, dtype=np.intp)
            mass = float(w[held[fixed[held]]].sum())
            members = [int(position[i]) for i in group if free[i]]
            low, high = max(float(self._L[g]) - mass, 0.0), max(float(self._U[g]) - mass, 0.0)
            if members:
                groups.append(members)
                lower.append(low)
                upper.append(max(low, high))
            elif low > CAP_SLACK:
                raise InputError(f"group {g} must hold {self._L[g]:g}, but none of its assets may be held and move")
        total = max(self.total - float(w[fixed].sum()), 0.0)
        n = int(np.count_nonzero(free))
        if not groups:  # no limit is left, but a set needs one
            groups, lower, upper = [list(range(n))], [0.0], [total]
        part = GroupedSimplex(groups, np.array(lower), np.array(upper), _part(self.u, free), total)
        try:
            part.check(n)
        except ParameterError as problem:
            raise InputError(f"{n} of {free.size} assets may be held and move: {problem}") from problem
        return part


KINDS[GroupedSimplex.kind] = GroupedSimplex
