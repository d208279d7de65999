"""Limits on what a portfolio may hold, from the params of a strategy."""

from __future__ import annotations

from typing import Any

from tracker_strategies._checks import number
from tracker_strategies.algorithms import CappedSimplex, FeasibleSet, GroupedSimplex, Simplex
from tracker_strategies.errors import ParameterError, UniverseError


def limits(p: Any, symbols: tuple[str, ...]) -> FeasibleSet:
    """The simplex, with caps on names and sectors where the strategy knows such params and they are set."""
    cap, most, sectors = (getattr(p, name, None) for name in ("max_weight", "max_sector", "sectors"))
    for name, value in (("max_weight", cap), ("max_sector", most)):
        if value is not None:
            number(name, value, above=0.0)
    if most is None and sectors is None:
        return Simplex() if cap is None else CappedSimplex(cap)
    if most is None or sectors is None:
        raise ParameterError("sectors (a mapping of symbol to sector) and max_sector belong together; give both or none")
    unknown = [name for name in sectors if name not in symbols]
    if unknown:
        raise UniverseError(f"sectors name {unknown[0]!r}, which is not among the {len(symbols)} assets")
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(symbols):
        if name in sectors:
            groups.setdefault(sectors[name], []).append(i)
    return GroupedSimplex(list(groups.values()), upper=most, **({} if cap is None else {"u": cap}))
