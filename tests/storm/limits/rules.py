"""What a mandate asks for, read from its keys a second time: nothing here comes from the product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: What is promised to the last digits.
EXACT = 1e-9
#: In the order in which they give way. Floors of names that must be held go with those of groups.
RANKS = ("min_weight", "min_sector", "max_turnover", "min_cash", "max_sector", "max_weight")


@dataclass(frozen=True)
class Bunch:
    """Names that are limited together."""

    name: str
    mask: BoolArray
    low: float
    high: float
    most: int | None


@dataclass(frozen=True)
class Rules:
    """The limits of a case for its N names. `cap`, `bunches` and `cash` are those that decisions are made with, headroom taken
    off; the ``promised`` ones are without it.
    """

    symbols: tuple[str, ...]
    cap: FloatArray
    least: FloatArray
    must: FloatArray
    banned: BoolArray
    frozen: BoolArray
    bunches: tuple[Bunch, ...]
    names: int | None
    cash: float
    turnover: float | None
    entry: float | None
    lot: float
    cure_at_once: bool

    @property
    def total(self) -> float:
        """Share of the account that is invested if nothing forbids it."""
        return 1.0 - self.cash

    @property
    def counts(self) -> bool:
        """Whether it matters which names are held, and not only how much."""
        return self.names is not None or bool(self.least.any()) or any(bunch.most is not None for bunch in self.bunches)


def rules_of(params: Mapping[str, Any], symbols: tuple[str, ...], *, headroom: bool = True) -> Rules:
    """The rules in the keys of a mandate. Groupings are mappings, and names without a group are in one of their own."""
    spare = params.get("headroom", 0.0) if headroom else 0.0
    n = len(symbols)

    def by_name(key: str, default: float) -> FloatArray:
        given = params.get(key)
        given = given if isinstance(given, Mapping) else {"*": given} if given is not None else {}
        return np.array([given.get(name, given.get("*", default)) for name in symbols], dtype=np.float64)

    def listed(key: str) -> BoolArray:
        return np.array([name in params.get(key, ()) for name in symbols], dtype=np.bool_)

    banned = listed("exclude")
    if params.get("only"):
        banned |= ~listed("only")
    cap = by_name("max_weight", 1.0) * ((1.0 - spare) if "max_weight" in params else 1.0)
    bunches: list[Bunch] = []
    groupings = [(params.get("sectors"), params.get("max_sector"), params.get("min_sector"), params.get("max_names_per_group"))]
    groupings += [
        (rules["of"], rules.get("max"), rules.get("min"), rules.get("max_names") or params.get("max_names_per_group"))
        for rules in (params.get("groups") or {}).values()
    ]
    for of, high, low, most in groupings:
        if of is None or (high is None and low is None and most is None):
            continue
        group = [of.get(name, "unmapped") for name in symbols]
        for name in sorted(set(group)):
            mine = np.array([each == name for each in group])
            top, floor, number = (_for_group(given, name) for given in (high, low, most))
            if top is None and not floor and number is None:
                continue
            bunches.append(
                Bunch(
                    name,
                    mine,
                    min((floor or 0.0) * (1.0 + spare), 1.0),
                    1.0 if top is None else top * (1.0 - spare),
                    None if number is None else int(number),
                )
            )
    names = params.get("max_names")
    return Rules(
        symbols,
        np.where(banned, 0.0, cap),
        by_name("min_weight", 0.0),
        by_name("must_hold", 0.0),
        banned,
        listed("freeze"),
        tuple(bunches),
        None if names is None or names >= n else int(names),
        params.get("min_cash", 0.0) * (1.0 + spare),
        params.get("max_turnover"),
        params.get("entry_turnover"),
        float(params.get("lot", 0.0)),
        params.get("cure") == "bar",
    )


def _for_group(given: Any, name: str) -> Any:
    return given.get(name, given.get("*")) if isinstance(given, Mapping) else given
