"""Every option that commands share, once: its name, its help, its default, and the value it stands for.

Options come in groups, dataclasses that a command takes as one parameter (:func:`grouped`). Nothing here imports pandas or
backtrader: a word that cannot be right is refused before they are loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from datafeeds.choices import FORMATS, check_choice, not_assets
from datafeeds.texts import parse_pairs
from tracker_strategies.cli.desk.held import HoldingsOptions
from tracker_strategies.cli.desk.known import KnownOptions
from tracker_strategies.cli.limits import NAMES, MandateOptions
from tracker_strategies.cli.prices import MarketOptions
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.mandate.mandate import KEYS
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.strategies.registry import check_name, is_strategy

if TYPE_CHECKING:
    from tracker_strategies.execution.costs import CostModel
    from tracker_strategies.strategies import TrackerStrategy

#: Exit code of a command that was stopped with Ctrl-C, as shells have it.
STOPPED = 130

# -- strategies and what they pay ----------

Param = Annotated[
    list[str] | None, typer.Option("--param", metavar="KEY=VALUE", help="A parameter of the strategy; repeat for several.")
]
Fill = Annotated[str, typer.Option(help="next_open (default, no look-ahead), open, or close (as the papers assume).")]
Coordinates = Annotated[
    str | None,
    typer.Option(
        metavar="weights|shares",
        help="What stays constant while the algorithm is passive; shares then need no orders. "
        "The strategy's own choice by default.",
    ),
]
CostBps = Annotated[float, typer.Option(help="Commission in basis points of the traded value.")]
PerShare = Annotated[float, typer.Option(help="Commission per share, in account currency.")]
MinFee = Annotated[float, typer.Option(help="Minimum commission per order, in account currency.")]
SlippageBps = Annotated[float, typer.Option(help="Slippage in basis points of the price.")]
Cash = Annotated[float | None, typer.Option(help="Starting cash: 1,000,000 by default; with --holdings that of its row CASH.")]
#: Cash of an account that holds nothing.
START_CASH = 1_000_000.0

# -- what becomes of it ----------

EvalFrom = Annotated[
    str | None,
    typer.Option(metavar="0.5|DATE", help="Score from this fraction or date on; learning still starts at the first bar."),
]
Out = Annotated[str | None, typer.Option("--out", metavar="DIR", help="Folder for the results, tear sheet included.")]
Against = Annotated[
    str | None,
    typer.Option("--against", metavar="RUN", help="The run that the others are compared with; by default the first."),
]
Html = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write an interactive page that compares the runs.")]
MetricsJson = Annotated[bool, typer.Option("--json", help="Print the metrics as JSON on stdout and nothing else.")]
NoSheet = Annotated[bool, typer.Option("--no-tearsheet", help="With --out: write no tear sheet (saves some seconds).")]
Formats = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="parquet,csv,xlsx",
        help="With --out: also write the tables as CSV files or as an Excel workbook; Parquet is always written.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a result of another strategy, other parameters or other data.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


@dataclass(frozen=True)
class CostOptions:
    """What a trade costs."""

    cost_bps: CostBps = 0.0
    per_share: PerShare = 0.0
    min_fee: MinFee = 0.0
    slippage_bps: SlippageBps = 0.0

    @cached_property
    def costs(self) -> CostModel:
        """The cost model."""
        from tracker_strategies.execution.costs import CostModel

        return CostModel(self.cost_bps, self.per_share, self.min_fee, self.slippage_bps)


@dataclass(frozen=True)
class StrategyOptions(KnownOptions, MandateOptions, CostOptions, MarketOptions):
    """A strategy on a market: within which limits and how it trades, and what it pays."""

    param: Param = None
    fill: Fill = "next_open"
    coordinates: Coordinates = None

    @property
    def not_assets(self) -> tuple[str, ...]:
        """Columns that look like an index, and that the limits keep out of the portfolio."""
        return not_assets(self.limits.exclude, self.limits.only)

    @cached_property
    def params(self) -> Mapping[str, Any]:
        """What was asked of the strategies, by name, but for the limits."""
        chosen = {} if self.coordinates is None else {"coordinates": self.coordinates}
        given = parse_pairs(self.param or (), "--param", "eps=0.0003")
        return chosen | {key: value for key, value in given.items() if key not in KEYS and key != "mandate"}

    def _in_params(self) -> dict[str, Any]:
        given = parse_pairs(self.param or (), "--param", "eps=0.0003")
        texts = {key.strip(): text.strip() for key, _, text in (pair.partition("=") for pair in self.param or ())}
        found = {key: texts[key] if key in NAMES else given[key] for key in (*KEYS, "mandate") if key in given}
        return {key: None if value in ("none", "None") else value for key, value in found.items()}

    @cached_property
    def fill_mode(self) -> FillMode:
        """When orders fill."""
        return FillMode.parse(self.fill)

    def check(self, names: Sequence[str]) -> None:
        """Refuse what can be no strategy, market, parameter, fill mode or limit, before anything heavy is imported."""
        for name in names:
            check_name(name)
        self.check_known()
        _ = self.market, self.params, self.fill_mode, self.limits

    def params_of(self, cls: type[TrackerStrategy]) -> dict[str, Any]:
        """The parameters of one strategy: those that it has, with ``none`` in the place of a number, and the limits of all."""
        from tracker_strategies.strategies.registry import default_params, none_for

        known = default_params(cls)
        own = {k: none_for(v, known[k]) for k, v in self.params.items() if k in known}
        return {"fill": self.fill_mode, **own, **self.limit_params()}


@dataclass(frozen=True)
class RunOptions(HoldingsOptions, StrategyOptions):
    """A backtest as it was asked for on the command line."""

    cash: Cash = None
    eval_from: EvalFrom = None
    out: Out = None
    html: Html = None
    against: Against = None
    as_json: MetricsJson = False
    no_tearsheet: NoSheet = False
    force: Force = False
    formats: Formats = "parquet"

    def check(self, names: Sequence[str]) -> None:
        """As for every strategy, and the formats of the results."""
        super().check(names)
        for name in words(self.formats):
            check_choice("format", name, FORMATS)
        if self.formats != "parquet" and self.out is None:
            raise ParameterError(f"--format {self.formats} has no effect without --out; add --out DIR")

    @property
    def asked(self) -> dict[str, Any]:
        """All that a result depends on, but for strategy and data, which are not known by what they are called."""
        shown = (
            "data",
            "markets",
            "index_file",
            "dates",
            "decimal",
            "calendar",
            "out",
            "html",
            "against",
            "as_json",
            "no_tearsheet",
            "force",
        )
        told = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in shown}
        if self.holdings is None:  # as runs without holdings are known
            told = {k: v for k, v in told.items() if k not in ("holdings", "outside", "spelling")}
            told["cash"] = START_CASH if self.cash is None else self.cash
        return {name: sorted(value) if isinstance(value, list) else value for name, value in told.items()}


def commands(name: str, about: str, **more: Any) -> typer.Typer:
    """A group of commands; errors that a user can mend are for the entry point to tell."""
    same = {"no_args_is_help": True, "add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": "rich"}
    return typer.Typer(name=name, help=about, **{**same, **more})


def words(text: str) -> tuple[str, ...]:
    """The words of a list with commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def is_run_folder(name: str) -> bool:
    """Whether a word of the command line is the folder of a finished run. A strategy's name is one, whatever lies beside."""
    return not is_strategy(name) and (Path(name).expanduser() / "run.json").is_file()


def said(options: Any) -> list[str]:
    """Names of the options of a group that are not as by default."""
    return [f.name for f in fields(options) if getattr(options, f.name) != f.default]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command for typer in which every parameter that is a group of options stands for the options in it."""
    shown: list[Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if not is_dataclass(kind):
            shown.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        groups[parameter.name] = kind
        hints = get_type_hints(kind, include_extras=True)
        shown += [Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name]) for f in fields(kind)]
    shown.sort(key=lambda p: p.name != "data")  # what it runs on stands first in the help

    @wraps(command)
    def call(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{f.name: given.pop(f.name) for f in fields(kind)})
        said = {key: told for name in groups for key in ("dates", "decimal") if (told := getattr(given[name], key, None))}
        if not said:
            command(**given)
            return
        from datafeeds.readers.reading import deciding

        with deciding(**said):
            command(**given)

    call.__signature__ = Signature(shown)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in shown}
    return call
