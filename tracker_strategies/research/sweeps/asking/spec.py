"""A sweep as it was asked for, from flags or a TOML file, checked before anything runs; and the cells that it stands for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, Self

from datafeeds import MarketPanel
from datafeeds.choices import not_assets
from tracker_strategies.analysis.inference.objectives import OBJECTIVES
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.mandate.binding import written_out
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.research.sweeps.asking.cells import ENGINES, Cell, Data, Window
from tracker_strategies.research.sweeps.asking.halving import Halving as Halving
from tracker_strategies.research.sweeps.asking.space import Candidate, Space
from tracker_strategies.research.sweeps.asking.windows import WalkForward, windows_of
from tracker_strategies.strategies.registry import full_name, is_strategy

#: ``tpe`` is for tuning only.
SEARCHES = ("grid", "random", "halving", "tpe")
#: Draws of a random search, when nobody says how many.
TRIALS = 50
#: What is done to the prices of all sources.
HOW_PRICES = ("gaps", "adjust", "members", "renames", "clean", "index_file", "dates", "decimal", "calendar")
COST_KEYS = tuple(f.name for f in fields(CostModel))


@dataclass(frozen=True)
class Context:
    """Where candidates compete: everything about a cell but strategy and parameters."""

    data: Data
    costs: CostModel
    fill: str
    window: Window

    def cell(self, candidate: Candidate, sweep: Sweep) -> Cell:
        """The run of a candidate here."""
        c = candidate
        return Cell(c.strategy, self.data, self.window, c.params, self.costs, self.fill, sweep.engine, sweep.cash, sweep.mandate)


@dataclass(frozen=True)
class Sweep:
    """What to run: every candidate (strategy and parameters) in every context (data, costs, fill mode, window).

    Parameters
    ----------
    space : Space
        Strategies and the domains of their parameters.
    data : tuple of str, default ("sample",)
        Sources; see :class:`~tracker_strategies.research.sweeps.asking.cells.Data`.
    index : tuple of str, default ("INDEX",)
        Targets.
    gaps, adjust, members, renames, clean, index_file, dates, decimal, calendar
        How prices are read, and what is done to those of all sources: see :class:`datafeeds.MarketSource`.
    seeds : tuple of int, default (0,)
        Seeds of the synthetic market, one panel each.
    fill : tuple of str, default ("next_open",)
    costs : tuple of CostModel, default (free trading,)
    windows : tuple of str
        Periods such as "2015-01-01:2019-12-31"; the whole history by default. `walk_forward`: folds instead of windows.
    eval_from : float or str, optional
        Fraction of a window, or date, from which on it is scored.
    engine : {"replay", "cerebro"}
    cash : float
    search : {"grid", "random", "halving", "tpe"}
    trials, seed : int, optional
        Draws per strategy, and their seed; 50 for a random search. A halving without trials starts from the grid.
    halving : Halving
    objective : str, default "te_rms"
        What halving and the report go by.
    baselines : tuple of str, default ("equal-weight", "pa")
        Strategies that run with their defaults in every context, for comparison.
    mandate : mapping, Mandate or path of a TOML file
        Limits that hold for all strategies, baselines included. Kept as plain values, with the sectors in the place of a file.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space, Sweep
    >>> sweep = Sweep(Space(("pa",), {"eps": (1e-4, 3e-4)}), data=("sample",), eval_from=0.5)
    >>> sweep.data, sweep.eval_from
    (('sample',), 0.5)
    """

    space: Space
    data: tuple[str, ...] = ("sample",)
    index: tuple[str, ...] = ("INDEX",)
    gaps: str = "error"
    adjust: str = "split"
    members: str | None = None
    renames: str | None = None
    clean: str | None = None
    index_file: str | None = None
    dates: str | None = None
    decimal: str | None = None
    calendar: str | None = None
    seeds: tuple[int, ...] = (0,)
    fill: tuple[str, ...] = ("next_open",)
    costs: tuple[CostModel, ...] = (CostModel(),)
    windows: tuple[str, ...] = ()
    eval_from: float | str | None = None
    walk_forward: WalkForward | None = None
    engine: str = "replay"
    cash: float = 1_000_000.0
    search: str = "grid"
    trials: int | None = None
    seed: int = 0
    halving: Halving = field(default_factory=Halving)
    objective: str = "te_rms"
    baselines: tuple[str, ...] = ("equal-weight", "pa")
    mandate: Any = field(default_factory=dict)

    def __post_init__(self) -> None:
        """All that can be known without the data."""
        object.__setattr__(self, "mandate", written_out(Mandate.of(self.mandate)).told())
        for key in self.asked_params():
            if key in self.mandate:
                raise ParameterError(
                    f"{key} is in the mandate, which applies to all runs, and also among the parameters to try; give it once"
                )
        for name, known in (("engine", ENGINES), ("search", SEARCHES), ("objective", tuple(OBJECTIVES))):
            if getattr(self, name) not in known:
                raise ParameterError(f"{name}={getattr(self, name)!r} is unknown; choose one of {', '.join(known)}")
        for name in ("data", "index", "seeds", "fill", "costs"):
            if not getattr(self, name):
                raise ParameterError(f"{name} is empty; give at least one")
        for name in ("data", "index", "fill", "windows", "baselines"):
            wrong = [value for value in getattr(self, name) if not isinstance(value, str)]
            if wrong:
                raise ParameterError(f"{name}: {wrong[0]!r} must be text")
        for seed in (*self.seeds, self.seed):
            if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
                raise ParameterError(f"seed {seed!r} must be a whole number >= 0")
        if self.trials is not None and not (isinstance(self.trials, int) and self.trials >= 1):
            raise ParameterError(f"trials={self.trials!r} must be a whole number >= 1")
        if not (isinstance(self.cash, (int, float)) and self.cash > 0.0):
            raise ParameterError(f"cash={self.cash!r} must be positive")
        object.__setattr__(self, "fill", tuple(str(FillMode.parse(name)) for name in self.fill))
        object.__setattr__(self, "baselines", tuple(full_name(name) for name in self.baselines))
        drawn = [data.source for data in self.sources() if data.synthetic]
        if drawn and (self.members or self.renames):
            raise ParameterError(f"members and renames are for files, not for {drawn[0]}: remove them, or this market")
        if self.search == "grid":
            if self.trials is not None:
                raise ParameterError("a grid runs every combination: omit trials, or choose search=random")
            if self.space.has_ranges:
                next(iter(self.space.grid()))  # names the range

    # -- what it stands for ----------

    def asked_params(self) -> set[str]:
        """Names of the parameters in which candidates differ."""
        return {key.rpartition(".")[2] for key in self.space.domains}

    def candidates(self) -> Iterator[Candidate]:
        """All candidates, baselines first: a half-finished sweep then has them to compare with."""
        yield from (Candidate(name) for name in self.baselines)
        draws = self.search == "random" or self.trials is not None or self.space.has_ranges
        yield from self.space.random(self.trials or TRIALS, self.seed) if draws else self.space.grid()

    def sources(self) -> list[Data]:
        """Every panel that is needed; only synthetic ones have seeds."""
        how = {name: getattr(self, name) for name in HOW_PRICES}
        how["not_assets"] = not_assets(self.mandate.get("exclude", ()), self.mandate.get("only", ()))
        known = [Data(source, self.index, **how) for source in dict.fromkeys(self.data)]
        return [replace(d, seed=s) for d in known for s in (dict.fromkeys(self.seeds) if d.synthetic else (0,))]

    def contexts(self, panels: Mapping[Data, MarketPanel]) -> Iterator[Context]:
        """All contexts, panel after panel. ``panels`` are those of :func:`open_panels`."""
        dates = {data.source: panel.dates for data, panel in panels.items()}
        for data in self.sources():
            known = next((d for d in panels if replace(d, sha="") == data), data)
            windows = windows_of(
                dates[data.source], eval_from=self.eval_from, periods=self.windows, walk_forward=self.walk_forward
            )
            for costs in dict.fromkeys(self.costs):
                for fill in dict.fromkeys(self.fill):
                    for window in windows:
                        yield Context(known, costs, fill, window)

    # -- in and out of files ----------

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a file such as the one in docs/work/sweeps.md."""
        file = Path(path).expanduser()
        try:
            with file.open("rb") as stream:
                return cls.from_mapping(tomllib.load(stream))
        except OSError as problem:
            raise ParameterError(f"--config {file}: {problem.strerror or problem}") from None
        except tomllib.TOMLDecodeError as problem:
            raise ParameterError(f"--config {file} is not a TOML file: {problem}") from None
        except ParameterError as problem:
            raise ParameterError(f"--config {file}: {problem}") from None

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> Self:
        """From plain values: what TOML holds and :meth:`tell` writes. Every key must be known."""
        left = dict(given)
        params, names = _flat(left.pop("params", {})), _many(left.pop("strategies", ()))
        made: dict[str, Any] = {"space": Space(names, params)}
        costs = {k: _many(left.pop(k if k != "bps" else "cost_bps", 0.0)) for k in COST_KEYS}
        if "costs" in left:
            made["costs"] = tuple(_table(CostModel, c, "costs") for c in _many(left.pop("costs")))
        else:
            made["costs"] = tuple(CostModel(*values) for values in product(*costs.values()))
        for name, kind in (("walk_forward", WalkForward), ("halving", Halving)):
            if name in left:
                table = left.pop(name)
                made[name] = None if table is None else _table(kind, table, name)
        plain = {f.name for f in fields(cls)} - {"space", "costs", "walk_forward", "halving"}
        for key in list(left):
            if key not in plain:
                known = sorted(plain | {"strategies", "params", "walk_forward", "halving", "cost_bps", *COST_KEYS[1:]})
                raise ParameterError(f"unknown key {key!r}; the keys of a sweep are {', '.join(known)}")
            many = key in ("data", "index", "seeds", "fill", "windows", "baselines")
            made[key] = _many(left[key]) if many else left[key]
        return cls(**made)

    def tell(self) -> dict[str, Any]:
        """As plain values, for ``sweep.json``; :meth:`from_mapping` reads them."""
        told = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "space"}
        for name in HOW_PRICES[1:]:  # not told by older sweeps, which are the same sweeps
            if told[name] == getattr(Sweep, name):
                del told[name]
        if not self.mandate:
            del told["mandate"]
        told["costs"] = [asdict(c) for c in self.costs]
        told["walk_forward"] = None if self.walk_forward is None else asdict(self.walk_forward)
        told["halving"] = asdict(self.halving)
        return {"strategies": list(self.space.strategies), "params": self.space.tell()} | {
            k: list(v) if isinstance(v, tuple) else v for k, v in told.items()
        }


def open_panels(sweep: Sweep) -> dict[Data, MarketPanel]:
    """The panels that have to be shipped, and one of each synthetic family for its dates; described with their fingerprint."""
    found: dict[Data, MarketPanel] = {}
    families: set[str] = set()
    for data in sweep.sources():
        if data.source in families:
            continue
        families.add(data.source)
        panel = data.open()
        found[data if data.synthetic else replace(data, sha=panel.fingerprint())] = panel
    return found


def _many(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)


def _flat(params: Any) -> dict[str, Any]:
    """``[params.apas] lam = ...`` as ``apas.lam``; a table with low and high is a range."""
    if not isinstance(params, Mapping):
        raise ParameterError(f"params must be a table of parameters, got {params!r}")
    flat: dict[str, Any] = {}
    for key, value in params.items():
        if isinstance(value, Mapping) and (is_strategy(key) or ":" in key):
            flat |= {f"{key}.{k}": v for k, v in value.items()}
        else:
            flat[key] = value
    return flat


def _table(kind: Any, given: Any, name: str) -> Any:
    known = [f.name for f in fields(kind)]
    unknown = [key for key in given if key not in known] if isinstance(given, Mapping) else [given]
    if unknown:
        raise ParameterError(f"{name} has no key {unknown[0]!r}; its keys are {', '.join(known)}")
    return kind(**given)
