"""What is left of planned trades when they are sent: the turnover holds at the prices of the fill, no slot is taken twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracker_strategies.execution.mandate.limits import FloatArray, IndexArray, Limits
from tracker_strategies.execution.rebalancer import LOT_SLACK, Rebalancer

#: Rounding of the value traded.
SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class FillGuard:
    """Keeps counts of names, and the turnover, when trades are sent: at other prices than those they were planned with, and where
    a name that was to be sold may have been halted.

    Parameters
    ----------
    slots : tuple of pairs
        Positions of names (None: all) and how many of them may be held, in the order of the feeds.
    """

    slots: tuple[tuple[IndexArray | None, int], ...] = ()

    @classmethod
    def of(cls, limits: Limits, order: IndexArray | None = None) -> FillGuard:
        """From limits whose names are those of the feeds in another order."""
        found: list[tuple[IndexArray | None, int]] = [] if limits.max_names is None else [(None, limits.max_names)]
        for group in limits.groups:
            if group.max_names is not None:
                found.append((group.members if order is None else order[group.members], group.max_names))
        return cls(tuple(found))

    def kept(self, deltas: FloatArray, account: Any, limit: float | None, rebalancer: Rebalancer) -> FloatArray:
        """The trades that may be sent: the turnover holds at the prices of the account, and a name enters only into a slot that
        is free. The very array where nothing has to change.
        """
        if limit is not None:
            deltas = turnover_kept(deltas, account, limit, rebalancer)
        return slots_kept(deltas, account.sizes, account.prices, self.slots)

    def may_enter(self, place: int, sizes: FloatArray) -> bool:
        """Whether a name that is not held may be bought now, with these positions."""
        one = np.zeros(len(sizes))
        one[place] = 1.0
        return bool(slots_kept(one, sizes, np.ones(len(sizes)), self.slots).any())


def turnover_kept(deltas: FloatArray, account: Any, limit: float, rebalancer: Rebalancer) -> FloatArray:
    """Trades worth at most a share of the account, at fill prices: positions that are sold out go first, the rest shrinks by one
    factor. The very array where nothing has to change.
    """
    most = limit * account.value
    if _traded(deltas, account, rebalancer) <= most * (1.0 + SLACK):
        return deltas
    out = (deltas < 0.0) & (account.sizes + deltas <= 0.0)
    first = np.where(out, deltas, 0.0)
    gone = _traded(first, account, rebalancer)
    if gone > most:
        first, gone = np.zeros_like(deltas), 0.0
    rest = deltas - first
    whole = _traded(rest, account, rebalancer)
    rest = rest * (max(0.0, (most - gone) / whole * (1.0 - SLACK)) if whole > 0.0 else 0.0)
    if rebalancer.lot:
        rest = np.trunc(rest / rebalancer.lot + np.sign(rest) * LOT_SLACK) * rebalancer.lot
    return np.asarray(first + rest)


def _traded(deltas: FloatArray, account: Any, rebalancer: Rebalancer) -> float:
    return rebalancer.costs.outcome(deltas, account.prices)[1]


def slots_kept(
    deltas: FloatArray, sizes: FloatArray, prices: FloatArray, slots: Sequence[tuple[IndexArray | None, int]]
) -> FloatArray:
    """Trades without the buys that would enter into a slot that is not free; the largest enter first.

    Parameters
    ----------
    slots : sequence of pairs
        Positions of names (None: all) and how many of them may be held.
    """
    if not slots:
        return deltas
    entering = (sizes <= 0.0) & (deltas > 0.0)
    if not entering.any():
        return deltas
    stays = sizes + np.minimum(deltas, 0.0) > 0.0
    kept = deltas
    for members, most in slots:
        mine = np.arange(len(deltas)) if members is None else members
        new = mine[entering[mine] & (kept[mine] > 0.0)]
        free = max(most - int(np.count_nonzero(stays[mine])), 0)
        if len(new) <= free:
            continue
        if kept is deltas:
            kept = deltas.copy()
        order = np.argsort(-(kept[new] * prices[new]), kind="stable")
        kept[new[order[free:]]] = 0.0
    return kept
