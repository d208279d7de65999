"""The commands ``tracker sweep`` and ``tracker tune``. Imports nothing heavy: ``tracker --help`` has to be fast."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup


class _DefaultToRun(TyperGroup):
    """``tracker sweep pa ...`` and ``tracker sweep --config FILE`` mean ``tracker sweep run ...``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the word in front that nobody wants to type."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_DefaultToRun,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Many backtests at once: strategies x parameters x data x costs x fill modes x windows.\n\n"
    "[bold]tracker sweep pa apas --grid eps=1e-4,3e-4 --grid apas.lam=0.001,0.01 --cost-bps 0,5 --out runs/eps[/]\n\n"
    "runs every combination on all cores. Stop it with Ctrl-C; the same command goes on where it stopped. Then\n\n"
    "[bold]tracker sweep report runs/eps[/]\n\n"
    "writes a page with the best cells, how sure they are after so many trials, heat maps and frontiers. "
    "All options: [bold]tracker sweep run --help[/].",
)

Strategies = Annotated[
    list[str] | None, typer.Argument(metavar="STRATEGY...", help="Names of strategies: see 'tracker list'.", show_default=False)
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data", metavar="SOURCE", help="sample, a wide CSV or Parquet file, synthetic or synthetic:n_assets=40,n_bars=300."
    ),
]
OneData = Annotated[str, typer.Option("--data", metavar="SOURCE", help="sample, a wide CSV or Parquet file, or synthetic.")]
Index = Annotated[
    list[str] | None, typer.Option("--index", metavar="NAME", help="Column to track, INDEX by default; repeat for several.")
]
Gaps = Annotated[str, typer.Option(help="A price missing inside a series: error, or freeze (treat it as a trading halt).")]
Grid = Annotated[
    list[str] | None,
    typer.Option("--grid", metavar="KEY=V1,V2", help="Values of a parameter; apas.lam=... for one strategy only. Repeat."),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range", metavar="KEY=LOW:HIGH[:log][:int]", help="Range of a parameter, for random, halving and tpe. Repeat."
    ),
]
Costs = Annotated[str, typer.Option("--cost-bps", metavar="X,Y", help="Commissions in basis points of the traded value.")]
Slippage = Annotated[str, typer.Option("--slippage-bps", metavar="X,Y", help="Slippages in basis points of the price.")]
Fills = Annotated[str, typer.Option("--fill", metavar="MODE,MODE", help="next_open (honest), open, close.")]
OneEngine = Annotated[str, typer.Option("--engine", help="replay (numpy, fast) or cerebro; they agree to 1e-9.")]
Cash = Annotated[float, typer.Option(help="Starting cash.")]
Trials = Annotated[int | None, typer.Option(help="Draws per strategy, 50 by default for random.", show_default=False)]
Seed = Annotated[int, typer.Option(help="Seed of the draws. The rows do not depend on who works.")]
Objective = Annotated[str | None, typer.Option(help="What counts: te_rms, te_centred or excess_log_return.", show_default=False)]
Baseline = Annotated[str, typer.Option("--baselines", metavar="A,B", help="Strategies to compare with, or none.")]
Folds = Annotated[
    int | None, typer.Option(help="Walk-forward folds, each with a training and a test window.", show_default=False)
]
SomeFolds = Annotated[int, typer.Option(help="Walk-forward folds.")]
TestFrom = Annotated[str, typer.Option(metavar="0.5|DATE", help="With folds: where the first test begins.")]
Train = Annotated[int | None, typer.Option(help="With folds: bars of a training window; from the first bar on by default.")]
Purge = Annotated[int, typer.Option(help="With folds: bars between training and test that count for neither.")]
BurnIn = Annotated[int, typer.Option(help="With folds: first bars of a training window that are not scored.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Processes; all cores by default.", show_default=False)]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="tcp://HOST:PORT", help="Run on the workers of a Dask scheduler instead.", show_default=False),
]
Extend = Annotated[bool, typer.Option("--extend", help="Add to another sweep in the same folder; its rows count as trials.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


@app.command("run")
def run(
    strategies: Strategies = None,
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE.toml", help="Read what to run from a file instead: docs/sweeps.md.")
    ] = None,
    data: Data = None,
    index: Index = None,
    gaps: Gaps = "error",
    seeds: Annotated[str, typer.Option(metavar="0:50|1,2", help="Seeds of the synthetic market: a market each.")] = "0",
    grid: Grid = None,
    ranges: Ranges = None,
    cost_bps: Costs = "0",
    slippage_bps: Slippage = "0",
    fill: Fills = "next_open",
    window: Annotated[
        list[str] | None, typer.Option("--window", metavar="FROM:TO", help="Period, two dates; repeat for several.")
    ] = None,
    eval_from: Annotated[
        str | None, typer.Option(metavar="0.5|DATE", help="Score each window from here on; learning starts at its first bar.")
    ] = None,
    folds: Folds = None,
    test_from: TestFrom = "0.5",
    train: Train = None,
    purge: Purge = 5,
    burn_in: BurnIn = 20,
    search: Annotated[str, typer.Option(help="grid (everything), random, or halving (drop the worst early).")] = "grid",
    trials: Trials = None,
    eta: Annotated[int, typer.Option(help="Halving: one in eta goes on, with eta times the bars.")] = 3,
    rungs: Annotated[int, typer.Option(help="Halving: rounds; the last has all bars.")] = 3,
    seed: Seed = 0,
    objective: Objective = None,
    baselines: Baseline = "equal-weight,pa",
    engine: OneEngine = "replay",
    cash: Cash = 1_000_000.0,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder of the rows.")] = "runs/sweep",
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    extend: Extend = False,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed cells again.")] = False,
) -> None:
    """Run a sweep, or go on with one that was stopped.

    For example:

    tracker sweep pa apas --data sample --grid eps=1e-4,3e-4,1e-3 --cost-bps 0,5 --out runs/eps

    tracker sweep apas --range lam=1e-4:1:log --search halving --trials 81 --folds 4 --out runs/halving

    tracker sweep --config sweep.toml --scheduler tcp://10.0.0.5:8786
    """
    from tracker_strategies.cli.sweep_commands import sweep_command

    sweep_command(locals())


@app.command("status")
def status(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of a sweep or a tuning.")],
    as_json: AsJson = False,
) -> None:
    """How far a sweep is, what failed, and when it will end; while it runs or afterwards."""
    from tracker_strategies.cli.sweep_commands import status_command

    status_command(folder, as_json=as_json)


@app.command("report")
def report(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of a sweep, finished or not.")],
    objective: Objective = None,
    x: Annotated[str | None, typer.Option(metavar="PARAM", help="Heat maps: parameter across.", show_default=False)] = None,
    y: Annotated[str | None, typer.Option(metavar="PARAM", help="Heat maps: parameter upwards.", show_default=False)] = None,
    draws: Annotated[int, typer.Option(help="Resamples of the bootstrap.")] = 1000,
    as_json: AsJson = False,
) -> None:
    """The best cells with intervals that know how much was tried, heat maps, frontiers; as report.html in the folder, with
    comparison.html beside it: the best bar by bar.

    Example: tracker sweep report runs/eps --objective excess_log_return
    """
    from tracker_strategies.cli.sweep_commands import report_command

    report_command(folder, objective=objective, axes=(x, y), draws=draws, as_json=as_json)


def tune(
    strategies: Strategies = None,
    data: OneData = "sample",
    index: Index = None,
    gaps: Gaps = "error",
    grid: Grid = None,
    ranges: Ranges = None,
    te_budget: Annotated[
        float | None, typer.Option(help="Largest tracking error (RMS, a bar) in training: 0.001 is 10 bp.", show_default=False)
    ] = None,
    turnover_budget: Annotated[float | None, typer.Option(help="Largest turnover a bar in training.", show_default=False)] = None,
    objective: Objective = None,
    cost_bps: Annotated[float, typer.Option(help="Commission in basis points of the traded value.")] = 0.0,
    slippage_bps: Annotated[float, typer.Option(help="Slippage in basis points of the price.")] = 0.0,
    fill: Annotated[str, typer.Option(help="next_open (honest), open, close.")] = "next_open",
    folds: SomeFolds = 4,
    test_from: TestFrom = "0.5",
    train: Train = None,
    purge: Purge = 5,
    burn_in: BurnIn = 20,
    search: Annotated[str, typer.Option(help="grid, random, or tpe (Optuna: extra 'tune').")] = "grid",
    trials: Trials = None,
    seed: Seed = 0,
    baselines: Baseline = "equal-weight,pa",
    engine: OneEngine = "replay",
    cash: Cash = 1_000_000.0,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder for the results.")] = "runs/tune",
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    extend: Extend = False,
    as_json: AsJson = False,
) -> None:
    """Choose parameters on the past, judge them on what followed (nested walk-forward), under a budget.

    With a tracking-error budget the best excess return within it is chosen, otherwise the smallest tracking error. The result is
    the out-of-sample path of the chosen parameters only, compared with the baselines.

    For example:

    tracker tune apas --grid lam=0.001,0.01,0.1 --te-budget 0.003 --cost-bps 5 --out runs/tune

    tracker tune pa --range eps=1e-5:1e-2:log --search tpe --trials 40 --turnover-budget 0.02
    """
    from tracker_strategies.cli.sweep_commands import tune_command

    tune_command(locals())
