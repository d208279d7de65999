"""From a mandate, which speaks of symbols and sectors, to the arrays of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from datafeeds.choices import not_assets
from tracker_strategies.errors import ParameterError, UniverseError
from tracker_strategies.execution.mandate.limits import BoolArray, FloatArray, Group, Limits
from tracker_strategies.execution.mandate.mandate import Mandate
from tracker_strategies.execution.mandate.reading import OTHERS

#: The group of names that a file of sectors does not have, where they are put into one.
UNMAPPED = "unmapped"


def bind(mandate: Mandate, symbols: Sequence[str], *, headroom: bool = True) -> Limits:
    """The limits of a mandate for these names, in their order.

    Parameters
    ----------
    headroom : bool, default True
        Whether caps and floors are those at which decisions are made, with the mandate's headroom, or the ones that it promises.

    Raises
    ------
    UniverseError
        The mandate names something that is not there, or a name has no sector.
    """
    n, spare = len(symbols), mandate.headroom if headroom else 0.0
    upper = _by_name("max_weight", mandate.max_weight, symbols, 1.0) * (1.0 - spare)
    if mandate.max_weight is None:
        upper = np.ones(n)
    upper[~may_hold(mandate, symbols)] = 0.0
    groups = [
        *_groups(
            "sector",
            mandate.sectors,
            mandate.max_sector,
            mandate.min_sector,
            mandate.max_names_per_group,
            mandate,
            symbols,
            spare,
        )
    ]
    for name, rules in (mandate.groups or {}).items():
        most = rules["max_names"] or mandate.max_names_per_group
        groups += _groups(name, rules["of"], rules["max"], rules["min"], most, mandate, symbols, spare)
    return Limits(
        upper=upper,
        least=_by_name("min_weight", mandate.min_weight, symbols, 0.0),
        must=_by_name("must_hold", mandate.must_hold, symbols, 0.0),
        frozen=mask_of("freeze", mandate.freeze, symbols),
        groups=tuple(groups),
        max_names=mandate.max_names,
        min_cash=min(mandate.min_cash * (1.0 + spare), 1.0),
    )


def may_hold(mandate: Mandate, symbols: Sequence[str]) -> BoolArray:
    """Names that are not excluded."""
    gone = {*not_assets(mandate.exclude)} - {*symbols}  # an index that was left out of the panel
    excluded = mask_of("exclude", [name for name in mandate.exclude if name not in gone], symbols)
    if mandate.only:
        excluded |= ~mask_of("only", mandate.only, symbols)
    if len(symbols) and excluded.all():
        raise ParameterError(f"every one of the {len(symbols)} names is excluded: nothing is left to hold; exclude fewer")
    return ~excluded


def mask_of(what: str, names: Sequence[str], symbols: Sequence[str]) -> BoolArray:
    """The names as a mask; a UniverseError for one that is not there."""
    if not names:
        return np.zeros(len(symbols), dtype=np.bool_)
    known = set(symbols)
    for name in names:
        if name not in known:
            raise UniverseError(unknown(f"{what} contains", name, symbols, "assets"))
    chosen = set(names)
    return np.array([symbol in chosen for symbol in symbols], dtype=np.bool_)


def unknown(what: str, name: str, known: Sequence[str], of: str) -> str:
    """A sentence about a name that is not among those known, with the nearest."""
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"{what} {name!r}, which is not one of the {len(known)} {of}" + (f"; did you mean {near[0]!r}?" if near else "")


def _by_name(what: str, given: Mapping[str, float] | None, symbols: Sequence[str], default: float) -> FloatArray:
    given = given or {}
    mask_of(what, [name for name in given if name != OTHERS], symbols)
    rest = given.get(OTHERS, default)
    return np.array([given.get(symbol, rest) for symbol in symbols], dtype=np.float64)


def grouping_of(name: str, given: Any) -> dict[str, str]:
    """The group of each name, from a file or a mapping; it may know more names than there are."""
    if given is None:
        return {}
    if isinstance(given, str):
        file = Path(given).expanduser()
        status = file.stat() if file.exists() else None
        given = _read(name, given, None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino))
    return dict(given)


@lru_cache(maxsize=8)
def _read(name: str, file: str, version: tuple[int, int, int] | None) -> Mapping[str, str]:
    """The groups in a file; read once as long as it is the same: a run binds its limits several times."""
    from datafeeds import read_sectors

    column = None if name == "sector" else name
    return read_sectors(file, column=column) if column and _has_column(file, column) else read_sectors(file)


def written_out(mandate: Mandate) -> Mandate:
    """The mandate with the groups of the names in the place of files, which may change, or be on another machine."""
    if mandate.sectors is None and mandate.groups is None:
        return mandate
    groups = {name: rules | {"of": grouping_of(name, rules["of"])} for name, rules in (mandate.groups or {}).items()}
    sectors = None if mandate.sectors is None else grouping_of("sector", mandate.sectors)
    return mandate.overruled({"sectors": sectors, "groups": groups or None})


def _has_column(file: str, column: str) -> bool:
    from datafeeds.readers.columns import header_of

    return column in header_of(Path(file).expanduser())


def _groups(
    grouping: str,
    given: Any,
    most: Mapping[str, float] | None,
    least: Mapping[str, float] | None,
    names: Mapping[str, int] | None,
    mandate: Mandate,
    symbols: Sequence[str],
    spare: float,
) -> list[Group]:
    """The groups of one grouping that have a limit."""
    if given is None or not (most or least or names):
        return []
    of = grouping_of(grouping, given)
    if not any(symbol in of for symbol in symbols):
        raise UniverseError(f"none of the {len(symbols)} names has a {grouping}; check the spelling of the symbols")
    allowed = may_hold(mandate, symbols)
    missing = [symbol for symbol, may in zip(symbols, allowed, strict=True) if may and symbol not in of]
    if missing and mandate.unmapped == "refuse":
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise UniverseError(
            f"{len(missing)} of {len(symbols)} names have no {grouping} ({shown}); add them to the file, or use unmapped='group' "
            f"(a separate {grouping}) or unmapped='free' (no limit)"
        )
    if mandate.unmapped == "group":
        of |= dict.fromkeys(missing, UNMAPPED)
    known = sorted(set(of.values()))
    for rule, limits in (("max", most), ("min", least), ("max_names", names)):
        for name in limits or ():
            # A limit on names per group may be meant for a group of another grouping.
            if name != OTHERS and name not in known and not (rule == "max_names" and limits is mandate.max_names_per_group):
                raise UniverseError(
                    unknown(f"{rule}{f'_{grouping}' * (rule != 'max_names')} contains", name, known, f"{grouping}s")
                )
    inside: dict[str | None, list[int]] = {}
    for place, symbol in enumerate(symbols):
        inside.setdefault(of.get(symbol), []).append(place)
    caps = {name: (most or {}).get(name, (most or {}).get(OTHERS)) for name in known}
    found = []
    for name in known:
        cap, floor = caps[name], (least or {}).get(name, (least or {}).get(OTHERS, 0.0))
        count = (names or {}).get(name, (names or {}).get(OTHERS))
        if cap is None and not floor and count is None:
            continue
        members = np.array(inside.get(name, []), dtype=np.int64)
        named = (least or {}).get(name)
        if not len(members) and named:
            raise UniverseError(
                f"min_{grouping} {name}={100.0 * named:g} %: none of the {len(symbols)} names is in it; remove this limit"
            )
        if not len(members):
            continue  # a group that others have: there is nothing to limit
        top = 1.0 if cap is None else cap * (1.0 - spare)
        found.append(Group(grouping, name, members, min(floor * (1.0 + spare), 1.0), top, count))
    return found
