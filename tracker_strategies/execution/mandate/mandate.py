"""Mandate: all limits that a user sets, for any strategy, in one object."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from tracker_strategies._checks import count, fraction, number, one_of
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.mandate.reading import OTHERS, as_number, counts, fees, grouping, groups, names, shares, whole


@dataclass(frozen=True)
class Mandate:
    """Limits on a portfolio. They hold in every decision of every strategy, or are refused before the run.

    Weights are shares of the account, cash included, and may be written as 0.05 or "5%". Where a number is allowed, a mapping is
    allowed, too, with "*" for all others: ``{"*": 0.05, "AAPL": 0.08}``, or as text "*:5%,AAPL:8%".

    Parameters
    ----------
    max_names : int, optional
        Largest number of names held. Halted names and names that are being sold count.
    max_weight : number or mapping, optional
        Largest weight of a name.
    min_weight : number or mapping, optional
        Smallest weight of a name if it is held at all: a weight is 0 or at least this.
    must_hold : mapping, optional
        Names that are always held, with their minimum weights.
    sectors : file or mapping of symbol to sector, optional
        A table with columns symbol and sector, or a mapping. Names that are not in the data are ignored.
    max_sector, min_sector : number or mapping, optional
        Largest and smallest weight of a sector.
    groups : mapping, optional
        More groupings, by name: ``{"country": {"of": "countries.csv", "max": {"*": 0.3}, "min": {"US": 0.2}, "max_names": 5}}``.
    max_names_per_group : int or mapping, optional
        Largest number of names in one sector, or in a group of another grouping that has no ``max_names`` itself.
    unmapped : {"refuse", "group", "free"}, default "refuse"
        What happens to names without a sector: refuse the run, treat them as one more group, "unmapped", or leave them
        free of sector limits.
    exclude : sequence of str, optional
        Names that are never bought, and sold if they are held. The learner does not see them.
    only : sequence of str, optional
        The only names that may be held: all others are excluded.
    freeze : sequence of str, optional
        Names that are neither bought nor sold. One that is not held at the start is never held.
    min_cash : float, default 0
        Smallest share of the account in cash.
    max_turnover : float, optional
        Largest sum of buys and sells in one rebalance, at fill prices, over the account's value just before the fills. The
        entry, book-outs of delisted names and money paid in or out are not counted.
    entry_turnover : float, optional
        The same for each rebalance until the account has been at its target once; by default the entry is not limited.
    lot : float, default 0
        Smallest number of shares; 1 for whole shares, 0 for fractions of any size.
    band : float, default 0
        A name is not traded while its weight differs from the decision by less than this. A band never leaves cash idle.
    cost_aware : float, optional
        Cost of trading in basis points, as decisions assume it: a name is traded only where the gain in tracking over
        the next five bars pays for it.
    headroom : float, default 0
        Share of max_weight, max_sector, min_sector and min_cash that decisions keep free: with 0.05 they are made at 95 % of the
        caps and 105 % of the floors, so that prices may drift that far before anything is breached.
    cure : {"schedule", "bar"}, default "schedule"
        When a limit is restored after price moves have broken it: at the next scheduled rebalance, or on the next bar by the
        smallest trade.
    fees : mapping, optional
        What names or markets pay instead of what all pay: ``{"AAPL": {"bps": 1}, "*.T": {"bps": 8, "min_fee": 500}}``, or for a
        market ``{"tokyo": {"names": ["7203.T"], "per_share": 2}}``. What a table does not set is as for all names.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies import Mandate, backtest
    >>> mandate = Mandate(max_names=8, max_weight="20%", exclude=["GE"])
    >>> record = backtest(load_sample().rows(0, 100), "ensemble", {"mandate": mandate})
    >>> print(f"{record.weights.max(axis=1)[-1]:.1f}", int((record.weights[-1] > 0).sum()))
    0.2 8
    """

    max_names: int | None = None
    max_weight: Any = None
    min_weight: Any = None
    must_hold: Any = None
    sectors: Any = None
    max_sector: Any = None
    min_sector: Any = None
    groups: Any = None
    max_names_per_group: Any = None
    unmapped: str = "refuse"
    exclude: Any = ()
    only: Any = ()
    freeze: Any = ()
    min_cash: float = 0.0
    max_turnover: float | None = None
    entry_turnover: float | None = None
    lot: float = 0.0
    band: float = 0.0
    cost_aware: float | None = None
    headroom: float = 0.0
    cure: str = "schedule"
    fees: Any = None

    def __post_init__(self) -> None:
        """Bring every value into one form, and refuse what means nothing."""
        put = self._put
        if self.max_names is not None:
            put("max_names", count("max_names", whole(self.max_names)))
        for name in ("max_weight", "min_weight", "must_hold", "max_sector", "min_sector"):
            put(name, shares(name, getattr(self, name), everybody=name != "must_hold"))
        put("max_names_per_group", counts("max_names_per_group", self.max_names_per_group))
        put("sectors", grouping("sectors", self.sectors))
        put("groups", groups(self.groups))
        put("fees", fees(self.fees))
        one_of("unmapped", self.unmapped, ("refuse", "group", "free"))
        one_of("cure", self.cure, ("schedule", "bar"))
        for name in ("exclude", "only", "freeze"):
            put(name, names(name, getattr(self, name)))
        put("min_cash", fraction("min_cash", self.min_cash))
        for name in ("max_turnover", "entry_turnover"):
            if getattr(self, name) is not None:
                put(name, fraction(name, getattr(self, name), above=0.0, most=2.0))
        put("lot", number("lot", as_number(self.lot), least=0.0))
        put("band", fraction("band", self.band))
        put("headroom", fraction("headroom", self.headroom))
        if self.cost_aware is not None:
            put("cost_aware", number("cost_aware", as_number(self.cost_aware), least=0.0))
        self._check()

    def _put(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check(self) -> None:
        """Refuse what cannot be meant, whatever the names are."""
        for name in ("min_cash", "band", "headroom"):
            if not getattr(self, name) < 1.0:
                raise ParameterError(f"{name}={getattr(self, name)!r} must be below 1: nothing would be left to invest")
        if (self.max_sector or self.min_sector) and self.sectors is None:
            given = "max_sector" if self.max_sector else "min_sector"
            raise ParameterError(f"{given} needs the sector of each name: give sectors, a file with columns symbol and sector")
        if self.max_names_per_group and self.sectors is None and not self.groups:
            raise ParameterError(
                "max_names_per_group needs the group of each name: give sectors, a file with columns symbol and sector, or groups"
            )
        both = sorted({*self.exclude} & {*self.freeze, *(self.must_hold or ())})
        if both:
            raise ParameterError(f"{both[0]} is in exclude, but also in must_hold or freeze; remove it from one of these lists")
        if self.max_turnover is not None and self.min_weight:
            least = min(self.min_weight.values())
            if self.max_turnover < least:
                raise ParameterError(
                    f"max_turnover={self.max_turnover:.4g} is below min_weight={least:.4g}: a name could never be sold "
                    "completely; raise max_turnover or lower min_weight"
                )

    @property
    def is_free(self) -> bool:
        """Whether it has no limit that could change a decision."""
        return not self.said(ignoring=("sectors", "unmapped", "cure", "headroom", "groups", "fees")) and not any(
            rules.get(key) for rules in (self.groups or {}).values() for key in ("max", "min", "max_names")
        )

    def said(self, ignoring: Iterable[str] = ()) -> dict[str, Any]:
        """The limits that differ from their defaults, by name."""
        skipped = set(ignoring)
        return {f.name: value for f in fields(self) if f.name not in skipped and (value := getattr(self, f.name)) != f.default}

    def plain(self) -> dict[str, Any]:
        """The limits as plain values that JSON can hold, by name; a number where it is meant for all."""
        found: dict[str, Any] = {}
        for name in KEYS:
            value = getattr(self, name)
            if isinstance(value, dict) and set(value) == {OTHERS} and name != "fees":
                value = value[OTHERS]
            found[name] = list(value) if isinstance(value, tuple) else value
        return found

    def told(self) -> dict[str, Any]:
        """The limits that differ from their defaults, as plain values that JSON can hold."""
        every = self.plain()
        return {name: every[name] for name in self.said()}

    def merged(self, given: Mapping[str, Any], *, other: str = "as params") -> Self:
        """Return a mandate with more limits; a limit that is given twice with different values is refused."""
        mine, both = self.said(), replace(self, **given)
        new = {name: value for name, value in both.said().items() if name in given}
        for name in mine.keys() & new.keys():
            if mine[name] != new[name]:
                old, other_value = (_told(each.plain()[name]) for each in (self, both))
                raise ParameterError(
                    f"{name}={old} in the mandate and {name}={other_value} {other} contradict each other; give only one"
                )
        return replace(self, **{name: given[name] for name in new}) if new else self

    def overruled(self, given: Mapping[str, Any]) -> Self:
        """Return a mandate with some limits replaced."""
        return replace(self, **given)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """From a TOML file with the same keys. Paths in it are relative to it."""
        file = Path(path).expanduser()
        try:
            given = tomllib.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ParameterError(f"there is no mandate file {file}; create it with lines such as max_weight = 0.05") from None
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
            raise ParameterError(f"{file} cannot be read as a mandate: {' '.join(str(problem).split())}") from None
        check_keys(given, str(file))
        if isinstance(given.get("sectors"), str):
            given["sectors"] = str(_beside(file, given["sectors"]))
        for rules in (given.get("groups") or {}).values():
            if isinstance(rules, dict) and isinstance(rules.get("of"), str):
                rules["of"] = str(_beside(file, rules["of"]))
        try:
            return cls(**given)
        except ParameterError as problem:
            raise ParameterError(f"{file}: {problem}") from None

    @classmethod
    def of(cls, given: Any) -> Self:
        """A mandate as it may be given: itself, a mapping of its keys, the path of a TOML file, or None."""
        if given is None:
            return cls()
        if isinstance(given, cls):
            return given
        if isinstance(given, Mapping):
            check_keys(given, "mandate")
            return cls(**given)
        if isinstance(given, str | os.PathLike):
            return cls.read(given)
        raise ParameterError(f"mandate={given!r} must be a Mandate, a mapping of its keys, or the path of a TOML file")


KEYS = tuple(f.name for f in fields(Mandate))
"""Names of all limits: keys of a file, and params of every strategy."""


def check_keys(given: Mapping[str, Any], where: str) -> None:
    """Raise a ParameterError for a key that is no limit."""
    from difflib import get_close_matches

    for key in given:
        if key not in KEYS:
            near = get_close_matches(str(key), KEYS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ParameterError(f"{where}: there is no limit {key!r}{hint}; the limits are {', '.join(KEYS)}")


# -- one form for all the ways to say it ----------


def _beside(file: Path, path: str) -> Path:
    return (file.parent / Path(path).expanduser()).absolute()


def _told(value: Any) -> str:
    return f"{value!r}" if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
