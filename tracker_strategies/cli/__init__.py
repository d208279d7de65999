"""The command ``tracker``. Imports nothing heavy: ``tracker --help``, and every refusal of a word, has to be fast."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer

from datafeeds.errors import ReadingNote, TrackerWarning
from datafeeds.texts import plain
from tracker_strategies.cli.accounts.asking import app as paper
from tracker_strategies.cli.capacity import capacity
from tracker_strategies.cli.data import app as data_commands
from tracker_strategies.cli.desk.orders import orders
from tracker_strategies.cli.leaderboard import leaderboard
from tracker_strategies.cli.mandate import app as mandate
from tracker_strategies.cli.metavars import command_of
from tracker_strategies.cli.options import AsJson, Force, RunOptions, commands, grouped, is_run_folder
from tracker_strategies.cli.prices import Adjust
from tracker_strategies.cli.sweeps.asking import app as sweep
from tracker_strategies.cli.sweeps.asking import tune
from tracker_strategies.errors import ParameterError, TrackerError

app = commands(
    "tracker", "Index trackers that learn online, run through backtrader. Start with [bold]tracker demo[/].", add_completion=True
)


def show_version(wanted: bool) -> None:
    """``tracker --version``."""
    if wanted:
        from tracker_strategies._version import __version__

        print(f"tracker {__version__}")
        raise typer.Exit


@app.callback()
def tracker(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options of the command itself."""


@app.command("list")
def list_strategies() -> None:
    """List the strategies with their parameters and defaults."""
    from tracker_strategies.cli.run import show_strategies

    show_strategies()


@grouped
def run(
    strategies: Annotated[
        list[str],
        typer.Argument(
            metavar="STRATEGY", help="Names of strategies: see 'tracker list', or path/to/file.py:Class; or folders of runs."
        ),
    ],
    options: RunOptions,
) -> None:
    """Backtest strategies on the same data with the same costs, or compare finished runs."""
    if any(is_run_folder(name) for name in strategies):
        if options != RunOptions(html=options.html, as_json=options.as_json, against=options.against):
            raise ParameterError(
                f"{strategies[0]} and others are finished runs, for which only --html, --against and --json work; remove the rest"
            )
        from tracker_strategies.cli.show import compare_folders

        compare_folders(strategies, page=options.html, as_json=options.as_json, against=options.against)
        return
    options.check(strategies)
    from tracker_strategies.cli.run import run_strategies

    run_strategies(strategies, options)


app.command(
    "run",
    help="Backtest one or several strategies on the same data with the same costs.\n\n"
    "Examples: tracker run ensemble --data sample --cost-bps 5 --eval-from 0.5 --out runs/ensemble; "
    "tracker run ensemble --data prices.csv --max-names 30 --max-weight 5% --min-cash 1% --whole-shares",
)(run)
app.command(
    "compare",
    help="Compare strategies on the same data with the same costs, or finished runs by their folders. Limits such as "
    "--max-weight hold for all strategies; --param is applied to every strategy that supports it.\n\n"
    "Examples: tracker compare ensemble pa equal-weight buy-and-hold --data sample --cost-bps 5 --html comparison.html; "
    "tracker compare runs/a runs/b --html comparison.html",
)(run)


@app.command()
def tearsheet(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run folder, as created by 'tracker run --out'.")],
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="File to write; tearsheet.html in the folder by default.")
    ] = None,
) -> None:
    """Draw the tear sheet of a finished run again: how it tracked its index, then the QuantStats report.

    It replaces the tear sheet in the folder. It has no baselines: they are known only during the run.

    Example: tracker tearsheet runs/pa --out pa.html
    """
    from tracker_strategies.cli.show import tearsheet_command

    tearsheet_command(run, out)


@app.command()
def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run folder, as created by 'tracker run --out'.")],
    csv: Annotated[bool, typer.Option("--csv", help="One CSV file per table.")] = False,
    xlsx: Annotated[bool, typer.Option("--xlsx", help="One Excel workbook with a sheet per table (extra 'excel').")] = False,
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="Another folder; the run's own by default.")] = None,
) -> None:
    """Metrics, weights, trades, returns and breaches of a finished run as CSV files or as an Excel workbook.

    Example: tracker export runs/pa --xlsx
    """
    from tracker_strategies.cli.show import export_command

    export_command(run, [name for name, wanted in (("csv", csv), ("xlsx", xlsx)) if wanted], out)


@app.command()
def fetch(
    index: Annotated[
        list[str], typer.Option("--index", metavar="TICKER", help="Yahoo's ticker of the index; repeat for several.")
    ],
    tickers: Annotated[
        str, typer.Option("--tickers", metavar="FILE|LIST", help="File with one ticker per line, or AAPL,MSFT,...")
    ],
    start: Annotated[str, typer.Option("--start", metavar="DATE", help="First day, such as 2015-01-01.")],
    end: Annotated[str | None, typer.Option("--end", metavar="DATE", help="Last day; today by default.")] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="Write the closes as a wide CSV or Parquet file.")
    ] = None,
    cache: Annotated[str | None, typer.Option("--cache", metavar="DIR", help="Where prices are kept between fetches.")] = None,
    mode: Annotated[
        str,
        typer.Option(
            metavar="online|prefer-cache|offline", help="Where to read prices: Yahoo, the cache first, or the cache only."
        ),
    ] = "online",
    adjust: Adjust = "split",
    policy: Annotated[
        str, typer.Option(metavar="strict|drop", help="A ticker without prices: stop, or continue without it.")
    ] = "strict",
    keep_delisted: Annotated[
        bool, typer.Option("--keep-delisted", help="Use the cached prices of tickers that Yahoo no longer serves.")
    ] = False,
    currency: Annotated[
        str | None, typer.Option(metavar="CODE", help="Convert all prices to this currency, such as USD, by daily rates.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Request timeout in seconds.")] = 10.0,
    retries: Annotated[int, typer.Option(help="Retries after a rate limit or a network error.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Download prices from Yahoo into a cache, with a report on each ticker.

    Example: tracker fetch --index ^GSPC --tickers AAPL,MSFT,JNJ --start 2015-01-01 --out prices.parquet
    """
    from tracker_strategies.cli.fetch import run_fetch

    options = {key: value for key, value in locals().items() if key not in ("index", "tickers", "start", "end", "run_fetch")}
    raise typer.Exit(run_fetch(index, tickers, start, end, **options))


@app.command()
def demo(
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder for the results.")] = "runs/demo", force: Force = False
) -> None:
    """Run the recommended tracker, plain PA and two baselines on the bundled sample: 5 bp costs, fills at the next close."""
    from tracker_strategies.cli.run import run_demo

    run_demo(out, force=force)


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="Which paper: apas, adagrad, vaw or ispls.")],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder for the page and its numbers.")] = "runs/reproduce",
    sets: Annotated[int, typer.Option(help="apas: data sets of the Monte-Carlo experiment; the paper has 50.")] = 50,
    runs: Annotated[int, typer.Option(help="ispls: Monte-Carlo runs of each simulation; the paper has 500.")] = 20,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A real market as a wide CSV. apas: NASDAQ-100 2019-2020. ispls: S&P 100 and Nikkei 225, one --data each.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the data sets.")] = 0,
    force: Force = False,
) -> None:
    """Run the experiments of a paper with this code, with the paper's figures next to ours and where they differ.

    Examples: tracker reproduce apas --sets 50 --out runs/reproduce; tracker reproduce adagrad; tracker reproduce vaw;
    tracker reproduce ispls --runs 20
    """
    from tracker_strategies.cli.reproduce import run_reproduction

    run_reproduction(paper, out, sets=sets, runs=runs, data=data or (), seed=seed, force=force)


app.add_typer(sweep, name="sweep")
app.command("tune")(tune)
app.command("leaderboard")(leaderboard)
app.command("orders")(orders)
app.command("capacity")(capacity)
app.add_typer(paper, name="paper")
app.add_typer(data_commands, name="data")
app.add_typer(mandate, name="mandate")


def main() -> None:
    """Entry point: errors that a user can mend are one line on stderr and exit code 2; what was left out of data is one line."""
    usual = warnings.formatwarning

    def one_line(message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None) -> str:
        own = issubclass(category, TrackerWarning)
        said = f"{message}\n" if issubclass(category, ReadingNote) else f"{category.__name__}: {message}\n"
        return plain(said) if own else usual(message, category, filename, lineno, line)

    warnings.formatwarning = one_line
    try:
        command_of(app)(prog_name="tracker")
    except TrackerError as problem:
        print(plain(f"{type(problem).__name__}: {problem}"), file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
