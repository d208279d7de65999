"""Limits that cannot hold together are refused before anything runs, in one line with the arithmetic.

Sums and counts come first: they settle the usual cases in both directions, and say what is wrong in the user's own numbers.
What they leave open (minimum weights that do not add up, groupings that overlap) is decided by a mixed-integer program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.mandate.feasibility import arithmetic
from tracker_strategies.execution.mandate.feasibility.arithmetic import ContradictionError, joined, label, percent, unlike
from tracker_strategies.execution.mandate.feasibility.choices import TOLERANCE, most_invested
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Limits

#: Work spent on the sum that a refusal mentions. It is a proved bound, and mostly the sum itself.
_NODES = 500


def check(
    limits: Limits,
    listed: BoolArray,
    symbols: Sequence[str],
    *,
    prices: FloatArray | None = None,
    cash: float | None = None,
    lot: float = 0.0,
    headroom: float = 0.0,
    held: FloatArray | None = None,
) -> None:
    """Raise where no portfolio of the listed names, bought with cash alone, keeps all limits.

    Exact to 1e-9 of the account. About 1 ms for 500 names where sums and counts settle it, else tens of ms; a refusal by the
    mixed-integer program takes up to some seconds, because it looks for the limits that are to blame.

    Parameters
    ----------
    limits : Limits
    listed : (N,) bool
        Names that can be bought at the first bar.
    symbols : sequence of str
        Their names, for the message.
    prices : (N,) float, optional
        Prices at the first bar; with `cash` and `lot`, names whose one lot is dearer than their cap count as not listed.
    cash : float, optional
        Value of the account.
    lot : float
        Shares in a lot; 0 for fractional shares.
    headroom : float
        Share that was taken off the caps and put on the floors already; the message mentions it.
    held : (N,) float, optional
        Weights at the start. Only frozen names keep theirs; what these break is inherited, and no contradiction.

    Raises
    ------
    ParameterError
        With the limits that contradict each other, the sums, and what to change.
    """
    tail = f" (caps and floors with headroom={percent(headroom)})" if headroom > 0 else ""
    try:
        if limits.total <= TOLERANCE:
            raise ContradictionError(f"min_cash={percent(limits.min_cash)}: nothing is left to invest; lower min_cash")
        dear = np.zeros(limits.n_names, bool)
        if prices is not None and cash is not None and lot > 0:
            dear = unbuyable(limits, prices, cash, lot)
            _refuse_small_account(limits, listed & ~limits.frozen, symbols, prices, cash, lot, dear)
            if np.any(dear & listed):
                tail = f"; {_left_out(dear & listed, symbols, prices, lot)}{tail}"
        arithmetic.refuse_single_names(limits, listed, dear, symbols, held)
        asked = attainable(limits, listed & ~dear, held)
        if not arithmetic.settle(asked) and not _holds(asked):
            raise ContradictionError(_blame(asked))
    except ContradictionError as problem:
        raise ParameterError(f"{problem}{tail}") from None


def unbuyable(limits: Limits, prices: FloatArray, cash: float, lot: float) -> BoolArray:
    """Names that are allowed, but of which a single lot costs more than their cap allows: they can never be bought, (N,) bool.

    A name without a price (NaN) is not among them.
    """
    cap = np.minimum(limits.upper, limits.total)
    return np.asarray((limits.upper > 0) & (prices * lot > cap * cash * (1 + 1e-12)))


def attainable(limits: Limits, buyable: BoolArray, held: FloatArray | None = None) -> Limits:
    """Return the limits with a cap of 0 for names that cannot be bought; frozen names keep what is held of them."""
    upper = np.where(buyable & ~limits.frozen, np.minimum(limits.upper, limits.total), 0.0)
    must, least = limits.must.copy(), limits.least.copy()
    stays = limits.frozen & ((held if held is not None else np.zeros(limits.n_names)) > 0)
    result = replace(limits, upper=upper, must=must, least=least)
    if held is None or not stays.any():
        return result
    upper[stays] = must[stays] = held[stays]
    least[stays] = 0.0
    fixed = np.where(stays, held, 0.0)
    groups = tuple(
        replace(
            group,
            upper=max(group.upper, float(fixed[group.members].sum())),
            max_names=None if group.max_names is None else max(group.max_names, int(stays[group.members].sum())),
        )
        for group in limits.groups
    )
    names = None if limits.max_names is None else max(limits.max_names, int(stays.sum()))
    return replace(result, groups=groups, max_names=names, min_cash=min(limits.min_cash, 1.0 - float(fixed.sum())))


def _refuse_small_account(
    limits: Limits, listed: BoolArray, symbols: Sequence[str], prices: FloatArray, cash: float, lot: float, dear: BoolArray
) -> None:
    candidates = np.flatnonzero(listed & (limits.upper > 0) & np.isfinite(prices))
    if not len(candidates) or not dear[candidates].all():
        return
    cheapest = candidates[np.argmin(prices[candidates])]
    cost = lot * prices[cheapest]
    shares = f"{lot:g} share" + ("" if lot == 1 else "s")
    start = f"the cheapest lot of {shares} of {symbols[cheapest]} costs {cost:.6g}, but the account has {cash:.6g}"
    if cost > cash:
        raise ContradictionError(f"{start}; raise the cash or lower the lot")
    if cost > cash * limits.total:
        raise ContradictionError(
            f"{start}, of which min_cash={percent(limits.min_cash)} must stay in cash; raise the cash or lower min_cash"
        )
    cap = float(limits.upper[cheapest])
    raise ContradictionError(
        f"{start}: max_weight={percent(cap)} of it is {cap * cash:.6g}, so no name can be bought; raise the cash or max_weight"
    )


def _left_out(dear: BoolArray, symbols: Sequence[str], prices: FloatArray, lot: float) -> str:
    where = np.flatnonzero(dear)
    example = f"{symbols[where[0]]} at {lot * prices[where[0]]:.6g}"
    if len(where) == 1:
        return f"1 name is left out because one lot costs more than its cap: {example}"
    return f"{len(where)} names are left out because one lot costs more than their cap, such as {example}"


def _blame(limits: Limits) -> str:
    """Name the limits that contradict each other: those without any one of which the others could hold."""
    kinds, left = _without(limits), limits
    culprits = [kind for kind, rest in kinds.items() if _holds(rest)]
    if len(culprits) < 2:  # several contradictions at once: one that has no limit too many
        culprits = []
        for kind in kinds:
            rest = _without(left)[kind]
            if _holds(rest):
                culprits.append(kind)
            else:
                left = rest
    found = most_invested(left, nodes=_NODES)
    names = joined([label(kind, limits) for kind in culprits])
    together = f"{names} cannot hold together" if len(culprits) > 1 else f"{names} cannot hold"
    if found is None:
        return f"{together}, even if nothing is invested; loosen one of them"
    most, total = unlike(min(found.at_most, limits.total), limits.total)
    what = f"at most {most} can be invested, but {total} must be"
    if found.at_most > found.invested + TOLERANCE:  # the search for the most was cut short
        what = f"less than the {total} that must be invested can be"
    return f"{together}: {what}; loosen one of them or raise min_cash"


def _holds(limits: Limits) -> bool:
    """Whether a choice of names keeps the limits; True where the search is cut short: a refusal needs a proof."""
    return most_invested(limits, full=True) is not None


def _without(limits: Limits) -> dict[str, Limits]:
    """Return the limits without each kind of them that says something, by the kind's key."""
    none = np.zeros(limits.n_names)
    result: dict[str, Limits] = {}
    if limits.max_names is not None:
        result["max_names"] = replace(limits, max_names=None)
    for grouping in dict.fromkeys(group.grouping for group in limits.groups):
        mine = [group.grouping == grouping for group in limits.groups]

        def changed(mine: list[bool] = mine, **values: float | None) -> Limits:
            groups = [replace(g, **values) if own else g for g, own in zip(limits.groups, mine, strict=True)]  # type: ignore[arg-type]
            return replace(limits, groups=tuple(groups))

        own = [group for group, inside in zip(limits.groups, mine, strict=True) if inside]
        if any(group.upper < limits.total for group in own):
            result[f"max_{grouping}"] = changed(upper=1.0)
        if any(group.lower > 0 for group in own):
            result[f"min_{grouping}"] = changed(lower=0.0)
        if any(group.max_names is not None for group in own):
            result[f"max_names_per_group of {grouping}"] = changed(max_names=None)
    if np.any(limits.least[limits.upper > 0] > 0):
        result["min_weight"] = replace(limits, least=none)
    if np.any(limits.must[~limits.frozen] > 0):
        result["must_hold"] = replace(limits, must=np.where(limits.frozen, limits.must, none))
    if np.any((limits.upper > 0) & (limits.upper < limits.total) & ~limits.frozen):
        free = np.where((limits.upper > 0) & ~limits.frozen, limits.total, limits.upper)
        result["max_weight"] = replace(limits, upper=free)
    return result
