"""Spaces of parameters: values or ranges by strategy, as a grid or as random draws."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Self

import numpy as np

from datafeeds.texts import parse_value, split_outside
from tracker_strategies.errors import ParameterError
from tracker_strategies.research.sweeps.asking.values import canonical
from tracker_strategies.strategies.registry import NAMES, check_params, default_params, full_name, load_strategy, none_for


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, drawn evenly, or evenly in their logarithm; whole ones if ``whole``.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Range, Space
    >>> Space(("pa",), {"eps": Range(1e-5, 1e-3, log=True)}).has_ranges
    True
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        """An interval that can be drawn from."""
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) for v in (self.low, self.high))
        if not (numbers and self.low < self.high and (self.low > 0 or not self.log)):
            raise ParameterError(f"range from {self.low!r} to {self.high!r} needs low < high, and low > 0 for a log scale")
        if self.whole and math.ceil(self.low) > math.floor(self.high):
            raise ParameterError(
                f"range from {self.low!r} to {self.high!r} contains no whole number; widen it, or omit whole (:int)"
            )

    def draw(self, rng: np.random.Generator) -> float | int:
        """One number."""
        if self.whole:
            low, high = math.ceil(self.low), math.floor(self.high)
            return round(math.exp(rng.uniform(math.log(low), math.log(high)))) if self.log else int(rng.integers(low, high + 1))
        if self.log:
            return math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        return float(rng.uniform(self.low, self.high))

    def ends(self) -> tuple[float | int, float | int]:
        """The smallest and the largest number that can be drawn, approximately: an end is hardly ever drawn."""
        if self.whole:
            return math.ceil(self.low), math.floor(self.high)
        inside = 1e-9 * (self.high - self.low)
        return self.low + inside, self.high - inside

    def tell(self) -> dict[str, Any]:
        """As in a TOML file."""
        return {"low": self.low, "high": self.high, "log": self.log, "whole": self.whole}


Domain = tuple[Any, ...] | Range


@dataclass(frozen=True)
class Candidate:
    """A strategy with the parameters that differ from its defaults.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space
    >>> [candidate.params for candidate in Space(("pa",), {"eps": (1e-4, 3e-4)}).grid()]
    [{}, {'eps': 0.0003}]
    """

    strategy: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, strategy: str, params: Mapping[str, Any]) -> Self:
        """A candidate without parameters that only repeat a default: the same run has the same description. ``none`` instead of a
        number is None, as for ``tracker run``.
        """
        defaults = default_params(load_strategy(strategy))
        own = {k: none_for(v, defaults[k]) for k, v in params.items()}
        return cls(strategy, {k: v for k, v in own.items() if not _same(v, defaults[k])})


def _same(value: Any, default: Any) -> bool:
    try:
        return bool(canonical(value) == canonical(default))
    except ParameterError:  # a default that JSON cannot hold equals nothing that can be asked for
        return False


@dataclass(frozen=True)
class Space:
    """Domains of parameters for several strategies.

    Parameters
    ----------
    strategies : sequence of str
        Names of strategies, or ``path/to/file.py:Class``.
    domains : mapping
        From a parameter to its values (a sequence), one value, or a :class:`Range`. ``"eps"`` goes to every strategy that has
        such a parameter, ``"apas.eps"`` to one.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space
    >>> space = Space(("pa", "apas"), {"eps": (1e-4, 3e-4), "apas.lam": (0.01, 0.1)})
    >>> len(list(space.grid()))
    6
    """

    strategies: tuple[str, ...]
    domains: Mapping[str, Domain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Every name is known, every parameter has somebody who takes it."""
        names = tuple(dict.fromkeys(full_name(name) for name in self.strategies))
        if not names:
            raise ParameterError(f"there is no strategy to run; name at least one of {', '.join(NAMES)}")
        known = {name: default_params(load_strategy(name)) for name in names}
        object.__setattr__(self, "strategies", names)
        object.__setattr__(self, "domains", {key: _domain(key, given) for key, given in self.domains.items()})
        for key in self.domains:
            owner, dot, name = key.rpartition(".")
            if name == "fill":
                raise ParameterError("fill cannot be a parameter of the grid; give the fill modes with fill (--fill)")
            takers = [full_name(owner)] if dot else names
            if takers[0] not in known:
                raise ParameterError(
                    f"{key}: {owner} is not one of the strategies {', '.join(names)}; add it or remove the parameter"
                )
            if not any(name in known[taker] for taker in takers):
                check_params(load_strategy(takers[0]), {name: None})

    def own(self, strategy: str) -> dict[str, Domain]:
        """The domains of one strategy; ``apas.eps`` goes before ``eps``."""
        known = default_params(load_strategy(strategy))
        common = {k: v for k, v in self.domains.items() if "." not in k and k in known}
        special = {
            k.rpartition(".")[2]: v for k, v in self.domains.items() if "." in k and full_name(k.rpartition(".")[0]) == strategy
        }
        return {**common, **special}

    @property
    def has_ranges(self) -> bool:
        """Whether a grid is impossible."""
        return any(isinstance(d, Range) for d in self.domains.values())

    def grid(self) -> Iterator[Candidate]:
        """Every combination of values, strategy after strategy."""
        for name in self.strategies:
            own = self.own(name)
            for key, domain in own.items():
                if isinstance(domain, Range):
                    raise ParameterError(f"{key} is a range, but a grid needs values; list them, or choose search=random")
            for values in product(*own.values()):  # type: ignore[arg-type]
                yield Candidate.of(name, dict(zip(own, values, strict=True)))

    def random(self, trials: int, seed: int) -> Iterator[Candidate]:
        """``trials`` draws for each strategy that has something to draw, one candidate for each other strategy.

        The draws of a strategy depend on the seed and its name alone: neither on the other strategies nor on who works.
        """
        for name in self.strategies:
            own = self.own(name)
            rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
            for _ in range(trials if any(isinstance(d, Range) or len(d) > 1 for d in own.values()) else 1):
                drawn = {k: d.draw(rng) if isinstance(d, Range) else d[int(rng.integers(len(d)))] for k, d in own.items()}
                yield Candidate.of(name, drawn)

    def corners(self) -> Iterator[Candidate]:
        """Of each strategy with ranges, two candidates: all its ranges at their low ends, and all at their high ends."""
        for name in self.strategies:
            own = self.own(name)
            if any(isinstance(domain, Range) for domain in own.values()):
                for end in (0, 1):
                    yield Candidate.of(name, {k: d.ends()[end] if isinstance(d, Range) else d[0] for k, d in own.items()})

    def tell(self) -> dict[str, Any]:
        """The domains as in a TOML file."""
        return {k: d.tell() if isinstance(d, Range) else list(d) for k, d in self.domains.items()}


def _domain(key: str, given: Any) -> Domain:
    if isinstance(given, Range):
        return given
    if isinstance(given, Mapping) and {"low", "high"} <= set(given):
        unknown = set(given) - {"low", "high", "log", "whole"}
        if unknown:
            raise ParameterError(f"{key}: a range takes low, high, log and whole, not {min(unknown)!r}")
        return Range(**given)
    values = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    if not values:
        raise ParameterError(f"{key} has no values; give at least one")
    for value in values:
        canonical(value)
    return values


def parse_domains(grid: Sequence[str], ranges: Sequence[str] = ()) -> dict[str, Domain]:
    """``eps=1e-4,3e-4`` (values) and ``lam=1e-4:1e-1:log`` (ranges; ``:int`` for whole numbers) as domains.

    A comma inside brackets or quotes belongs to its value: ``blend=(0.5,0.5),(1,0)`` are two.
    """
    found: dict[str, Domain] = {}
    for text in grid:
        key, said = _pair(text, found, "--grid", "eps=1e-4,3e-4")
        found[key] = tuple(parse_value(part) for part in split_outside(said))
    for text in ranges:
        key, said = _pair(text, found, "--range", "lam=1e-4:1e-1:log")
        low, *rest = said.split(":")
        kinds = set(rest[1:])
        if not rest or kinds - {"log", "int"}:
            raise ParameterError(f"--range {text!r} must look like lam=1e-4:1e-1, lam=1e-4:1e-1:log or window=20:200:int")
        found[key] = Range(parse_value(low), parse_value(rest[0]), log="log" in kinds, whole="int" in kinds)
    return found


def _pair(text: str, found: Mapping[str, Domain], flag: str, example: str) -> tuple[str, str]:
    key, _, said = (part.strip() for part in text.partition("="))
    if not key or not said:
        raise ParameterError(f"{flag} {text!r} must look like {example}")
    if key in found:
        raise ParameterError(f"{flag} {text!r}: {key} is given twice; give it once")
    return key, said
