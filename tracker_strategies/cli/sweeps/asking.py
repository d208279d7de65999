"""The commands ``tracker sweep`` and ``tracker tune``. Imports nothing heavy: ``tracker --help`` has to be fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tracker_strategies.cli.limits import MandateOptions
from tracker_strategies.cli.options import AsJson, Cash, CostOptions, Fill, commands, grouped, said, words
from tracker_strategies.cli.prices import Data, Markets, PriceOptions, market_file
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.strategies.registry import check_name


class _DefaultToRun(TyperGroup):
    """``tracker sweep pa ...`` and ``tracker sweep --config FILE`` mean ``tracker sweep run ...``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the word in front that nobody wants to type."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = commands(
    "sweep",
    "Many backtests at once: strategies x parameters x data x costs x fill modes x windows.\n\n"
    "[bold]tracker sweep pa apas --grid eps=1e-4,3e-4 --grid apas.lam=0.001,0.01 --cost-bps 0,5 --out runs/eps[/]\n\n"
    "runs every combination on all cores. Stop it with Ctrl-C; the same command resumes where it stopped. Then\n\n"
    "[bold]tracker sweep report runs/eps[/]\n\n"
    "writes a page with the best cells, how certain they are given the number of trials, heat maps and frontiers. "
    "All options: [bold]tracker sweep run --help[/].",
    cls=_DefaultToRun,
)

Strategies = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="STRATEGY...", help="Names of strategies: see 'tracker list', or path/to/file.py:Class.", show_default=False
    ),
]
Objective = Annotated[str | None, typer.Option(help="Objective: te_rms, te_centred or excess_log_return.", show_default=False)]
Folder = Annotated[str, typer.Argument(metavar="DIR", help="Folder of a sweep or a tuning, finished or not.")]


@dataclass(frozen=True)
class SearchOptions(MandateOptions, PriceOptions):
    """What sweeps and tunings have in common: which candidates, within which limits, and how they are judged."""

    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", metavar="KEY=V1,V2", help="Values of a parameter; apas.lam=... for one strategy only. Repeat."),
    ] = None
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range", metavar="KEY=LOW:HIGH[:log][:int]", help="Range of a parameter, for random, halving and tpe. Repeat."
        ),
    ] = None
    folds: Annotated[
        int | None, typer.Option(help="Walk-forward folds, each with a training and a test window.", show_default=False)
    ] = None
    test_from: Annotated[str, typer.Option(metavar="0.5|DATE", help="With folds: where the first test begins.")] = "0.5"
    train: Annotated[
        int | None, typer.Option(help="With folds: bars of a training window; from the first bar on by default.")
    ] = None
    purge: Annotated[int, typer.Option(help="With folds: bars between training and test that belong to neither.")] = 5
    burn_in: Annotated[int, typer.Option(help="With folds: first bars of a training window that are not scored.")] = 20
    trials: Annotated[int | None, typer.Option(help="Draws per strategy, 50 by default for random.", show_default=False)] = None
    seed: Annotated[int, typer.Option(help="Seed of the draws. Results do not depend on the number of workers.")] = 0
    objective: Objective = None
    baselines: Annotated[str, typer.Option("--baselines", metavar="A,B", help="Strategies to compare with, or none.")] = (
        "equal-weight,pa"
    )
    engine: Annotated[str, typer.Option("--engine", help="replay (numpy, fast) or cerebro; they agree to 1e-9.")] = "replay"
    cash: Cash = 1_000_000.0

    def check(self, strategies: Sequence[str], sources: Sequence[str], fill: str) -> None:
        """Refuse what can be no strategy, market, fill mode or limit, before anything heavy is imported."""
        for name in (*strategies, *words(self.baselines if self.baselines != "none" else "")):
            check_name(name)
        for source in sources:
            self.source(source)
        for mode in words(fill):
            FillMode.parse(mode)
        _ = self.limits


@dataclass(frozen=True)
class SweepOptions(SearchOptions):
    """What a sweep runs: lists, of which every combination is a cell."""

    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="SOURCE", help="As for 'tracker run'; repeat for several markets.")
    ] = None
    seeds: Annotated[str, typer.Option(metavar="0:50|1,2", help="Seeds of the synthetic market, one market per seed.")] = "0"
    cost_bps: Annotated[str, typer.Option(metavar="X,Y", help="Commissions in basis points of the traded value.")] = "0"
    per_share: Annotated[str, typer.Option(metavar="X,Y", help="Commissions per share, in account currency.")] = "0"
    min_fee: Annotated[str, typer.Option(metavar="X,Y", help="Minimum commissions per order, in account currency.")] = "0"
    slippage_bps: Annotated[str, typer.Option(metavar="X,Y", help="Slippages in basis points of the price.")] = "0"
    fill: Annotated[str, typer.Option("--fill", metavar="MODE,MODE", help="next_open (default, no look-ahead), open, close.")] = (
        "next_open"
    )
    window: Annotated[
        list[str] | None, typer.Option("--window", metavar="FROM:TO", help="Period, two dates; repeat for several.")
    ] = None
    eval_from: Annotated[
        str | None, typer.Option(metavar="0.5|DATE", help="Score each window from here on; learning starts at its first bar.")
    ] = None
    search: Annotated[str, typer.Option(help="grid (everything), random, or halving (drop the worst early).")] = "grid"
    eta: Annotated[int, typer.Option(help="Halving: keep 1/eta of the candidates each round, with eta times the bars.")] = 3
    rungs: Annotated[int, typer.Option(help="Halving: rounds; the last has all bars.")] = 3

    markets: Markets = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The markets."""
        if self.markets is not None:
            return (market_file(self.markets, ", ".join(self.data) if self.data else None),)
        return tuple(self.data or ("sample",))


@dataclass(frozen=True)
class TuneOptions(CostOptions, SearchOptions):
    """What a tuning chooses from, under which budget."""

    data: Data = "sample"
    markets: Markets = None
    te_budget: Annotated[
        float | None, typer.Option(help="Maximum tracking error (RMS, per bar) in training: 0.001 is 10 bp.", show_default=False)
    ] = None
    turnover_budget: Annotated[float | None, typer.Option(help="Maximum turnover per bar in training.", show_default=False)] = (
        None
    )
    fill: Fill = "next_open"
    folds: Annotated[int, typer.Option(help="Walk-forward folds.")] = 4
    search: Annotated[str, typer.Option(help="grid, random, or tpe (Optuna: extra 'tune').")] = "grid"

    @property
    def market(self) -> str:
        """Where the prices come from."""
        return self.data if self.markets is None else market_file(self.markets, self.data)


@dataclass(frozen=True)
class WorkOptions:
    """Who works, and whether rows are added to others: nothing that a row depends on."""

    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Processes; all cores by default.", show_default=False)] = None
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="tcp://HOST:PORT", help="Run on the workers of a Dask scheduler instead.", show_default=False),
    ] = None
    cell_seconds: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Time limit of a cell; one that takes longer is stopped and recorded as failed."),
    ] = 3600.0
    cell_memory: Annotated[
        float | None,
        typer.Option(
            metavar="GB",
            help="Memory limit of a cell; by default the machine's memory divided by the number of processes.",
            show_default=False,
        ),
    ] = None
    extend: Annotated[
        bool, typer.Option("--extend", help="Add to another sweep in the same folder; its rows count as trials.")
    ] = False


@app.command("run")
@grouped
def run(
    options: SweepOptions,
    work: WorkOptions,
    strategies: Strategies = None,
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE.toml", help="Read what to run from a file: docs/work/sweeps.md.")
    ] = None,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder of the rows.")] = "runs/sweep",
    retry: Annotated[bool, typer.Option("--retry", help="Run failed cells again.")] = False,
) -> None:
    """Run a sweep, or resume one that was stopped.

    For example:

    tracker sweep pa apas --data sample --grid eps=1e-4,3e-4,1e-3 --cost-bps 0,5 --out runs/eps

    tracker sweep apas --range lam=1e-4:1:log --search halving --trials 81 --folds 4 --out runs/halving

    tracker sweep --config sweep.toml --scheduler tcp://10.0.0.5:8786
    """
    if config is not None and (twice := [*(["strategies"] if strategies else []), *said(options)]):
        raise ParameterError(f"--config already says what to run: remove {' and '.join(twice)}, or --config")
    options.check(strategies or (), options.sources, options.fill)
    from tracker_strategies.cli.sweeps.commands import sweep_command

    sweep_command(strategies or (), options, work, config=config, out=out, retry=retry)


@app.command("status")
def status(folder: Folder, as_json: AsJson = False) -> None:
    """Show the progress of a sweep, its failed cells and the time left, while it runs or later."""
    from tracker_strategies.cli.sweeps.commands import status_command

    status_command(folder, as_json=as_json)


@app.command("report")
def report(
    folder: Folder,
    objective: Objective = None,
    x: Annotated[str | None, typer.Option(metavar="PARAM", help="Heat map x-axis parameter.", show_default=False)] = None,
    y: Annotated[str | None, typer.Option(metavar="PARAM", help="Heat map y-axis parameter.", show_default=False)] = None,
    draws: Annotated[int, typer.Option(help="Resamples of the bootstrap.")] = 1000,
    as_json: AsJson = False,
) -> None:
    """Write report.html in the folder: the best cells, with intervals that account for the number of trials, heat maps and
    frontiers; and comparison.html: the best cells bar by bar.

    Example: tracker sweep report runs/eps --objective excess_log_return
    """
    from tracker_strategies.cli.sweeps.commands import report_command

    report_command(folder, objective=objective, axes=(x, y), draws=draws, as_json=as_json)


@grouped
def tune(
    options: TuneOptions,
    work: WorkOptions,
    strategies: Strategies = None,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder for the results.")] = "runs/tune",
    as_json: AsJson = False,
) -> None:
    """Choose parameters on the past, judge them on what followed (nested walk-forward), under a budget.

    With a tracking-error budget the best excess return within it is chosen, otherwise the smallest tracking error. The result is
    the out-of-sample path of the chosen parameters only, compared with the baselines.

    For example:

    tracker tune apas --grid lam=0.001,0.01,0.1 --te-budget 0.003 --cost-bps 5 --out runs/tune

    tracker tune pa --range eps=1e-5:1e-2:log --search tpe --trials 40 --turnover-budget 0.02
    """
    options.check(strategies or (), (options.market,), options.fill)
    from tracker_strategies.cli.sweeps.commands import tune_command

    tune_command(strategies or (), options, work, out=out, as_json=as_json)
