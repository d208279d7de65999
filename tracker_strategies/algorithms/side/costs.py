"""Side information with kinks: costs of trading and of holding. Their proximal steps are exact, never by subgradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies._checks import number, one_of
from tracker_strategies.algorithms._names import tag_of
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.sets.grouped import check_positions, disjoint_groups
from tracker_strategies.algorithms.side._prox import Parts
from tracker_strategies.algorithms.side.base import Round, SideInformation, read_only, register, vector_or_number
from tracker_strategies.errors import ParameterError


@register
class SwitchingCost(SideInformation):
    r"""Cost of trading, :math:`h_t(w) = \kappa \|w - r_t\|_1`.

    Parameters
    ----------
    kappa : float
        Price of moving one unit of weight, >= 0. Only lam * kappa matters: it is the dead zone of each weight, 3e-5 is a start.
    reference : array_like, shape (N,), optional
        A fixed :math:`r_t`.
    against : {"weights", "drifted"}, default "weights"
        :math:`r_t` without a reference: the weights of the round, :math:`w_t`, as in the paper; or what they have become after
        the returns of the round, :math:`w_t \circ (1 + x_t)/(1 + w_t \cdot x_t)`, so that the term prices real turnover.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAS, SwitchingCost
    >>> learner = PAS(2, side=SwitchingCost(0.01), lam=0.1)
    >>> learner.update([0.02, -0.01], 0.006).round(3).tolist()
    [0.526, 0.474]
    """

    term = "switching"
    parameters = ("kappa", "reference", "against")

    def __init__(self, kappa: float, reference: Any = None, against: str = "weights") -> None:
        self.kappa = number("kappa", kappa, least=0.0)
        self.reference = None if reference is None else read_only("reference", reference)
        self.against = one_of("against", against, ("weights", "drifted"))

    def _reference(self, at: Round) -> Array:
        if self.reference is not None:
            return self.reference
        return at.w if self.against == "weights" else at.drifted()

    def value(self, w: Array, at: Round) -> float:
        """Return the cost."""
        return self.kappa * float(np.abs(w - self._reference(at)).sum())

    def gradient(self, w: Array, at: Round) -> Array:
        """Return kappa sgn(w - r)."""
        return self.kappa * np.sign(w - self._reference(at))

    def collect(self, parts: Parts, at: Round, nonnegative: bool) -> None:
        """Add a kink at the reference of each weight."""
        r = self._reference(at)
        if self.kappa > 0.0:
            parts.kinks.append((r, np.full(r.shape[0], self.kappa)))

    def scaled(self, factor: float) -> SwitchingCost:
        """Scale kappa."""
        return SwitchingCost(factor * self.kappa, self.reference, self.against)


@register
class WeightedL1(SideInformation):
    r"""Prices of holding assets, :math:`h(w) = \sum_i \rho_i |w_i|`; on the simplex a linear term, without effect for equal rho.

    Parameters
    ----------
    rho : float or array_like, shape (N,)
        Prices, >= 0.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAS, WeightedL1
    >>> learner = PAS(2, side=WeightedL1([0.0, 1.0]), lam=0.1)
    >>> learner.update([0.02, -0.01], 0.006).round(3).tolist()
    [0.577, 0.423]
    """

    term = "weighted_l1"
    parameters = ("rho",)

    def __init__(self, rho: Any) -> None:
        self.rho = vector_or_number("rho", rho, least=0.0)

    def value(self, w: Array, at: Round) -> float:
        """Return the cost."""
        return float((self.rho * np.abs(w)).sum())

    def gradient(self, w: Array, at: Round) -> Array:
        """Return rho sgn(w)."""
        return np.asarray(self.rho * np.sign(w))

    def collect(self, parts: Parts, at: Round, nonnegative: bool) -> None:
        """Add a kink at zero, or a linear term where no weight is negative."""
        rho = np.broadcast_to(self.rho, at.w.shape)
        if nonnegative:
            parts.add_linear(rho)
        else:
            parts.kinks.append((np.zeros(rho.shape[0]), rho))

    def scaled(self, factor: float) -> WeightedL1:
        """Scale rho."""
        return WeightedL1(factor * self.rho)


@register
class GroupLasso(SideInformation):
    r"""A preference for few groups, :math:`h(w) = \sum_g \rho_g \|w_g\|_2`.

    Parameters
    ----------
    groups : sequence of sequences of int
        Positions of the assets of each group, from 0; groups must not overlap. An asset in none costs nothing.
    rho : float or array_like, one per group
        Weights, >= 0.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAS, GroupLasso
    >>> learner = PAS(4, side=GroupLasso([[0, 1], [2, 3]], 0.1), lam=0.1)
    >>> round(float(learner.update([0.02, -0.01, 0.0, 0.01], 0.01).sum()), 9)
    1.0
    """

    term = "group_lasso"

    def __init__(self, groups: Any, rho: Any = 1.0) -> None:
        self.groups = disjoint_groups(groups, smallest=0)
        value = vector_or_number("rho", rho, least=0.0) if len(self.groups) else 1.0
        self.rho = np.broadcast_to(value, (len(self.groups),)) if np.ndim(value) == 0 else np.asarray(value)
        if self.rho.shape != (len(self.groups),):
            raise ParameterError(f"rho has {self.rho.shape[0]} entries for {len(self.groups)} groups")

    def value(self, w: Array, at: Round) -> float:
        """Return the weighted sum of norms."""
        return float(sum(rho * np.linalg.norm(w[list(group)]) for rho, group in zip(self.rho, self.groups, strict=True)))

    def gradient(self, w: Array, at: Round) -> Array:
        """Return rho_g w_g/||w_g||, 0 for a group at zero."""
        result = np.zeros(w.shape[0])
        for rho, group in zip(self.rho, self.groups, strict=True):
            norm = float(np.linalg.norm(w[list(group)]))
            if norm > 0.0:
                result[list(group)] = rho * w[list(group)] / norm
        return result

    def collect(self, parts: Parts, at: Round, nonnegative: bool) -> None:
        """Add the norms."""
        if self.rho.any():
            parts.groups.append(([np.array(group, dtype=np.intp) for group in self.groups], self.rho))

    def slice(self, free: Mask) -> GroupLasso:
        """Return the groups as far as they take part."""
        position = np.cumsum(free) - 1
        kept = [([int(position[i]) for i in g if free[i]], rho) for g, rho in zip(self.groups, self.rho, strict=True)]
        kept = [(g, rho) for g, rho in kept if g]
        return GroupLasso([g for g, _ in kept], np.array([rho for _, rho in kept]) if kept else 1.0)

    def check(self, n: int) -> None:
        """Raise a ParameterError when a group names an asset that does not exist."""
        check_positions(self.groups, n)

    def scaled(self, factor: float) -> GroupLasso:
        """Scale rho."""
        return GroupLasso(self.groups, factor * self.rho)

    def to_dict(self) -> dict[str, Any]:
        """Return groups and weights as lists."""
        return {"term": tag_of(type(self), "term"), "groups": [list(g) for g in self.groups], "rho": self.rho.tolist()}
