"""Sums and counts that settle whether limits can hold together, and say why not in the user's own numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Group, IndexArray, Limits

#: Rounding of a sum of weights.
_ROUNDING = 1e-11


class ContradictionError(Exception):
    """Limits cannot hold together; the message says why."""


def percent(share: float, digits: int = 4) -> str:
    """A share as percent: 0.05 is "5 %"."""
    return f"{100 * share:.{digits}g} %"


def unlike(a: float, b: float) -> tuple[str, str]:
    """Two shares as percent, with as many digits as tell them apart."""
    texts = ("", "")
    for digits in range(4, 16):
        texts = percent(a, digits), percent(b, digits)
        if texts[0] != texts[1]:
            break
    return texts


def joined(texts: Sequence[str]) -> str:
    """Join as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]])) if texts else ""


def label(kind: str, limits: Limits) -> str:
    """Return the key of a limit with its value, where it has one for all names."""
    if kind == "max_names":
        return f"max_names={limits.max_names}"
    values = {"max_weight": limits.upper[limits.upper > 0], "min_weight": limits.least[limits.upper > 0]}.get(kind)
    if values is None or not len(values) or np.ptp(values) > 0:
        return kind
    return f"{kind}={percent(float(values[0]))}"


def refuse_single_names(
    limits: Limits, listed: BoolArray, dear: BoolArray, symbols: Sequence[str], held: FloatArray | None
) -> None:
    """Refuse what contradicts itself in a single name: its floor above its cap, a name that must be held and cannot be."""
    owned = limits.frozen & (held > 0) if held is not None else np.zeros(limits.n_names, bool)
    if not np.any(owned | (listed & (limits.upper > 0) & ~limits.frozen)):
        closed = int(np.count_nonzero(listed & (limits.upper == 0)))
        raise ContradictionError(
            f"none of the {int(listed.sum())} listed names may be bought: {closed} are excluded or capped at 0, "
            f"{int(listed.sum()) - closed} are frozen without a holding; remove names from exclude or freeze"
        )
    for i in np.flatnonzero(limits.must > 0).tolist():
        must = f"must_hold {symbols[i]}={percent(float(limits.must[i]))}"
        if owned[i]:
            continue
        if limits.frozen[i]:
            raise ContradictionError(
                f"{must}: it is frozen, but not held at the start, so it cannot be bought; remove it from must_hold or freeze"
            )
        if limits.upper[i] == 0:
            raise ContradictionError(f"{must}: it is excluded or capped at 0; remove one of these limits")
        if not listed[i]:
            raise ContradictionError(f"{must}: it is not listed at the first bar; remove it from must_hold")
        if dear[i]:
            cap = percent(float(limits.upper[i]))
            raise ContradictionError(f"{must}: one lot costs more than its cap of {cap}; raise the cap or the cash")
        if limits.must[i] > limits.upper[i] + _ROUNDING:
            low, cap = unlike(float(limits.must[i]), float(limits.upper[i]))
            raise ContradictionError(f"must_hold {symbols[i]}={low} is above its max_weight={cap}; lower one or raise the other")
    high = np.flatnonzero(listed & ~limits.frozen & (limits.upper > 0) & (limits.least > limits.upper + _ROUNDING))
    if len(high):
        least, cap = unlike(float(limits.least[high[0]]), float(limits.upper[high[0]]))
        more = f" and {len(high) - 1} more" if len(high) > 1 else ""
        raise ContradictionError(
            f"min_weight={least} is above max_weight={cap} for {symbols[int(high[0])]}{more}; "
            "lower one, raise the other, or exclude it"
        )


def settle(limits: Limits) -> bool:
    """Return True if the limits can hold together, False if sums and counts cannot tell; raise where they cannot hold.

    For one grouping it is exact but for minimum weights. What k names of a group can hold is the sum of its k largest caps,
    at most the group's own. That is concave in k, and so the best split of names among groups takes the largest gains first.
    """
    _refuse_totals(limits)
    binding = [g for g in limits.groups if g.lower > 0 or g.upper < limits.total or g.max_names is not None]
    for group in binding:
        _refuse_group(limits, group)
    groupings = list(dict.fromkeys(group.grouping for group in binding))
    proved = len(groupings) <= 1
    for grouping in groupings or [""]:
        proved &= _refuse_grouping(limits, grouping, [group for group in binding if group.grouping == grouping])
    return proved


def _refuse_totals(limits: Limits) -> None:
    """Refuse by names alone, without groups."""
    caps, total = limits.upper[limits.upper > 0], limits.total
    k = len(caps) if limits.max_names is None else min(limits.max_names, len(caps))
    forced = int(np.count_nonzero(limits.must > 0))
    if forced > k:
        raise ContradictionError(f"max_names={limits.max_names} and must_hold: {forced} names must be held; raise max_names")
    musts = float(np.maximum(limits.must, limits.least)[limits.must > 0].sum())
    if musts > total + _ROUNDING:
        most, whole = unlike(musts, total)
        raise ContradictionError(
            f"must_hold: {forced} names take at least {most}, but only {whole} can be invested; lower one of them or min_cash"
        )
    if caps.sum() < total - _ROUNDING:
        most, whole = unlike(float(caps.sum()), total)
        raise ContradictionError(
            f"{label('max_weight', limits)}: {_names(caps)} hold {most} together, but {whole} must be invested; raise max_weight "
            "or min_cash"
        )
    largest = np.sort(caps)[::-1][:k]
    if largest.sum() < total - _ROUNDING:
        most, whole = unlike(float(largest.sum()), total)
        raise ContradictionError(
            f"max_names={limits.max_names} and {label('max_weight', limits)}: {_names(largest)} hold {most} together, but "
            f"{whole} must be invested; raise one of them or min_cash"
        )
    _refuse_gaps(limits)


def _refuse_gaps(limits: Limits) -> None:
    """Refuse minimum and maximum weights, the same for all names, between multiples of which the total falls."""
    free = limits.upper > 0
    low, high, total = limits.least[free], limits.upper[free], limits.total
    if np.ptp(low) > 0 or np.ptp(high) > 0 or low[0] == 0 or np.any(limits.must > 0):
        return
    fewest = max(1, int(np.ceil((total - _ROUNDING) / high[0])))
    if fewest * low[0] > total + _ROUNDING:
        least, whole = unlike(fewest * float(low[0]), total)
        if fewest == 1:
            raise ContradictionError(
                f"{label('min_weight', limits)}: one name takes at least {least}, but only {whole} can be invested; lower "
                "min_weight or min_cash"
            )
        raise ContradictionError(
            f"{label('min_weight', limits)} and {label('max_weight', limits)}: {_names(high[: fewest - 1])} hold "
            f"{percent((fewest - 1) * float(high[0]))} together and {fewest} names at least {least}, but {whole} must be "
            "invested; lower min_weight or raise max_weight"
        )


def _refuse_group(limits: Limits, group: Group) -> None:
    """Refuse what contradicts itself in one group."""
    key, item = group.grouping, group.name
    floor = f"min_{key} {item}={percent(group.lower)}"
    if group.lower > group.upper + _ROUNDING:
        low, high = unlike(group.lower, group.upper)
        raise ContradictionError(f"min_{key} {item}={low} is above max_{key} {item}={high}; lower one or raise the other")
    must = limits.must[group.members]
    sure = np.maximum(must, limits.least[group.members])[must > 0]
    if sure.sum() > group.upper + _ROUNDING:
        most, cap = unlike(float(sure.sum()), group.upper)
        raise ContradictionError(
            f"max_{key} {item}={cap}: its names in must_hold take at least {most}; raise the cap or lower must_hold"
        )
    if group.max_names is not None and len(sure) > group.max_names:
        raise ContradictionError(f"max_names_per_group={group.max_names} of {item}: {len(sure)} of its names are in must_hold")
    caps = _ordered(limits, group.members)[1]
    if caps.sum() < group.lower - _ROUNDING:
        most, low = unlike(float(caps.sum()), group.lower)
        if not len(caps):
            raise ContradictionError(
                f"{floor}: none of its {len(group.members)} names can be bought at the first bar; lower the floor"
            )
        raise ContradictionError(f"min_{key} {item}={low}: its {_names(caps)} hold {most} together; lower it or raise max_weight")
    if caps[: group.max_names].sum() < group.lower - _ROUNDING:
        most, low = unlike(float(caps[: group.max_names].sum()), group.lower)
        raise ContradictionError(
            f"min_{key} {item}={low} and max_names_per_group={group.max_names}: {_names(caps[: group.max_names])} hold {most} "
            "together; lower the floor, or raise max_names_per_group or max_weight"
        )


def _refuse_grouping(limits: Limits, grouping: str, groups: list[Group]) -> bool:
    """Refuse by the groups of one grouping; return whether its fewest names can hold everything, minimum weights included."""
    total = limits.total
    alone = np.ones(limits.n_names, bool)
    for group in groups:
        alone[group.members] = False
    rest = Group(grouping, "", np.flatnonzero(alone & (limits.upper > 0)))
    must = np.array([limits.must[g.members].sum() for g in [*groups, rest]])
    floors = np.maximum(must, [g.lower for g in [*groups, rest]])
    if floors.sum() > total + _ROUNDING:
        most, whole = unlike(float(floors.sum()), total)
        count = sum(g.lower > 0 for g in groups)
        raise ContradictionError(
            f"min_{grouping}{' and must_hold' if must.any() else ''}: the floors of {count} {_plural(grouping, count)} "
            f"{'with must_hold ' if must.any() else ''}sum to {most}, but only {whole} can be invested; lower one of them or "
            "min_cash"
        )
    ordered = [_ordered(limits, g.members) for g in [*groups, rest]]
    held = np.array([min(g.upper, float(caps.sum())) for g, (_, caps) in zip([*groups, rest], ordered, strict=True)])
    if held.sum() < total - _ROUNDING:
        most, whole = unlike(float(held.sum()), total)
        outside = f" and {len(rest.members)} names outside them" if len(rest.members) else ""
        narrow = bool(outside) or any(float(caps.sum()) < g.upper for g, (_, caps) in zip(groups, ordered[:-1], strict=True))
        caps_too = f" and {label('max_weight', limits)}" if narrow else ""
        raise ContradictionError(
            f"max_{grouping}{caps_too}: {len(groups)} {_plural(grouping, len(groups))}{outside} hold at most {most}, "
            f"but {whole} must be invested; raise {'one of them' if narrow else f'max_{grouping}'} or min_cash"
        )
    return _enough_names(limits, grouping, [*groups, rest], [names for names, _ in ordered], [caps for _, caps in ordered])


def _enough_names(limits: Limits, grouping: str, groups: list[Group], names: list[IndexArray], caps: list[FloatArray]) -> bool:
    """Whether a choice of the fewest names holds everything. Refuse where floors alone need more names than are allowed."""
    fewest = [_fewest(limits, group, inside, c) for group, inside, c in zip(groups, names, caps, strict=True)]
    if limits.max_names is not None and sum(fewest) > limits.max_names:
        raise ContradictionError(
            f"max_names={limits.max_names} and min_{grouping}: the floors of {sum(g.lower > 0 for g in groups)} "
            f"{_plural(grouping, 2)}{' with must_hold' if np.any(limits.must > 0) else ''} need at least {sum(fewest)} names; "
            "raise max_names or lower a floor"
        )
    gains, owners, invested = [], [], 0.0
    for g, (group, k, c) in enumerate(zip(groups, fewest, caps, strict=True)):
        reached = np.minimum(group.upper, np.concatenate([[0.0], np.cumsum(c)]))[
            : (len(c) if group.max_names is None else group.max_names) + 1
        ]
        invested += float(reached[min(k, len(reached) - 1)])
        gains.append(np.diff(reached[k:]))
        owners.append(np.full(max(len(reached) - 1 - k, 0), g))
    gain, owner = np.concatenate(gains), np.concatenate(owners)
    order = np.argsort(-gain, kind="stable")
    reach = invested + np.concatenate([[0.0], np.cumsum(gain[order])])
    needed = int(np.searchsorted(reach, limits.total - _ROUNDING))
    room = len(order) if limits.max_names is None else min(len(order), limits.max_names - sum(fewest))
    if needed > room:
        return False  # too few names: which limits are to blame is found by leaving them out
    counts = np.array(fewest) + np.bincount(owner[order[:needed]], minlength=len(groups))
    least = [np.maximum(limits.least, limits.must)[inside[:k]].sum() for inside, k in zip(names, counts, strict=True)]
    floors = [max(float(low), group.lower) for low, group in zip(least, groups, strict=True)]
    fits = all(low <= group.upper + _ROUNDING for low, group in zip(least, groups, strict=True))
    return fits and sum(floors) <= limits.total + _ROUNDING


def _fewest(limits: Limits, group: Group, names: IndexArray, caps: FloatArray) -> int:
    forced = int(np.count_nonzero(limits.must[names] > 0))
    return max(forced, int(np.searchsorted(np.cumsum(caps), group.lower - _ROUNDING)) + 1 if group.lower > 0 else 0)


def _ordered(limits: Limits, members: IndexArray) -> tuple[IndexArray, FloatArray]:
    """Names of a group that can be held, those that must be first, then by falling caps; and these caps."""
    names = members[limits.upper[members] > 0]
    names = names[np.lexsort((names, -limits.upper[names], limits.must[names] == 0))]
    return names, limits.upper[names]


def _names(caps: FloatArray) -> str:
    if len(caps) == 1:
        return f"1 name of at most {percent(float(caps[0]))}"
    if np.ptp(caps) == 0:
        return f"{len(caps)} names of at most {percent(float(caps[0]))}"
    return f"{len(caps)} names of at most {percent(float(caps.min()))} to {percent(float(caps.max()))}"


def _plural(word: str, count: int) -> str:
    if count == 1:
        return word
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
