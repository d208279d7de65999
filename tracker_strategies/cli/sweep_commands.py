"""What the commands of :mod:`~tracker_strategies.cli.sweep` do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from inspect import signature
from itertools import product
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tracker_strategies.cli.sweep import run
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research.sweeps.asking.objectives import OBJECTIVES, units
from tracker_strategies.research.sweeps.asking.space import Space, parse_domains
from tracker_strategies.research.sweeps.asking.spec import Halving, Sweep
from tracker_strategies.research.sweeps.asking.values import in_words, parse_value, setting_words
from tracker_strategies.research.sweeps.asking.windows import WalkForward
from tracker_strategies.research.sweeps.running.driver import Summary, run_sweep
from tracker_strategies.research.sweeps.running.status import how_far
from tracker_strategies.research.sweeps.running.watch import watching
from tracker_strategies.research.sweeps.tuning.tuner import Tuning, run_tuning

#: Exit code of a command that was stopped with Ctrl-C, as shells have it.
STOPPED = 130
#: Options of a sweep that say how to run it, not what.
HOW = ("config", "out", "jobs", "scheduler", "extend", "retry")


def sweep_command(given: Mapping[str, Any]) -> None:
    """``tracker sweep run``."""
    if given["config"] is not None:
        said = [name for name, p in signature(run).parameters.items() if name not in HOW and given[name] != p.default]
        if said:
            raise ParameterError(f"--config says what to run: leave out {' and '.join(said)}, or the file")
    sweep = Sweep.from_toml(given["config"]) if given["config"] is not None else sweep_of(given)
    console = Console(stderr=True)
    options = {k: given[k] for k in ("jobs", "scheduler", "extend", "retry")}
    with watching(console) as watcher:
        summary = run_sweep(sweep, given["out"], watcher=watcher, **options)
    _say(console, summary)
    if summary.stopped:
        raise typer.Exit(STOPPED)
    if summary.failed and summary.failed == summary.total:
        raise typer.Exit(1)


def sweep_of(given: Mapping[str, Any], **fixed: Any) -> Sweep:
    """A sweep from the options of the command line."""
    walk = None
    if given["folds"] is not None:
        walk = WalkForward(given["folds"], given["test_from"], given["train"], given["purge"], given["burn_in"])
    costs = product(_numbers(given, "cost_bps"), _numbers(given, "slippage_bps"))
    chosen = {
        "space": Space(tuple(given["strategies"] or ()), parse_domains(given["grid"] or (), given["ranges"] or ())),
        "data": tuple(given["data"] or ("sample",)),
        "index": tuple(given["index"] or ("INDEX",)),
        "gaps": given["gaps"],
        "seeds": _seeds(given["seeds"]),
        "fill": _words(given["fill"]),
        "costs": tuple(CostModel(bps, slippage_bps=slip) for bps, slip in costs),
        "windows": tuple(given["window"] or ()),
        "eval_from": given["eval_from"],
        "walk_forward": walk,
        "engine": given["engine"],
        "cash": given["cash"],
        "search": given["search"],
        "trials": given["trials"],
        "seed": given["seed"],
        "halving": Halving(given["eta"], given["rungs"]),
        "objective": given["objective"] or "te_rms",
        "baselines": () if given["baselines"] == "none" else _words(given["baselines"]),
    }
    return Sweep(**{**chosen, **fixed})


def tune_command(given: Mapping[str, Any]) -> None:
    """``tracker tune``."""
    unused = {"seeds": "0", "window": None, "eval_from": None, "eta": 3, "rungs": 3}
    plain = {**given, **unused, "data": [given["data"]], "cost_bps": str(given["cost_bps"])}
    plain["slippage_bps"] = str(given["slippage_bps"])
    goal = given["objective"] or ("excess_log_return" if given["te_budget"] is not None else "te_rms")
    tuning = Tuning(sweep_of(plain, objective=goal), given["te_budget"], given["turnover_budget"])
    console = Console(stderr=True)
    with watching(console) as watcher:
        options = {k: given[k] for k in ("jobs", "scheduler", "extend")}
        tuned = run_tuning(tuning, given["out"], watcher=watcher, **options)
    if tuned.stopped:
        console.print(f"stopped; finished rows are kept in {tuned.folder}, the same command goes on")
        raise typer.Exit(STOPPED)
    from tracker_strategies.research.sweeps.tuning.report import write_tuning  # draws charts: not for a run that is stopped

    found = write_tuning(tuned)
    if given["as_json"]:
        print(json.dumps(found, indent=2))
        return
    Console().print(_fold_table(found))
    shown = Console()
    shown.print(_best_table(found))
    for word in found["warnings"]:
        shown.print(f"[bold yellow]warning[/]  {escape(word)}")
    shown.print(f"page  [bold]{tuned.folder / 'tune.html'}[/]  (open it in a browser)")


def status_command(folder: str, *, as_json: bool) -> None:
    """``tracker sweep status``."""
    found = how_far(folder)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    console = Console()
    state = "running" if found["running"] else "finished" if found["done"] >= found["cells"] else "stopped"
    console.print(f"[bold]{folder}[/]: {state}, {found['done']:,} of {found['cells']:,} cells, {found['failed']:,} failed")
    if found["seconds_left"] is not None:
        console.print(f"{found['cells_per_second']:.3g} cells a second, about {_clock(found['seconds_left'])} left")
    if found["rows_of_other_code"]:
        console.print(f"{found['rows_of_other_code']:,} rows of another version of the code do not count")
    for words, count in found["errors"].items():
        console.print(f"{count:6,} x  {escape(words)}", style="red", highlight=False)


def report_command(folder: str, *, objective: str | None, axes: tuple[str | None, str | None], draws: int, as_json: bool) -> None:
    """``tracker sweep report``."""
    from tracker_strategies.research.sweeps.judging.report import write_report

    x, y = axes
    if (x is None) != (y is None):
        raise ParameterError("--x and --y belong together: name both parameters of the heat maps, or none")
    found = write_report(folder, objective=objective, axes=None if x is None or y is None else (x, y), draws=draws)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    console = Console()
    for setting in found["settings"]:
        console.print(_best_table({**setting, "objective": found["objective"]}, rows=5))
        for word in setting["warnings"]:
            console.print(f"[bold yellow]warning[/]  {escape(word)}")
    console.print(f"page  [bold]{folder}/report.html[/]  (open it in a browser; the best bar by bar: {folder}/comparison.html)")


def _best_table(told: Mapping[str, Any], rows: int = 20) -> Table:
    objective = OBJECTIVES[told["objective"]]
    scale, unit = units(objective)
    table = Table(title=setting_words(told), title_justify="left", box=None, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("candidate", style="bold", overflow="fold", min_width=20)
    for name in (f"{objective.short}\n{unit}", "95 %\ninterval", *(f"ahead of\n{n}" for n in told["baselines"]), "turnover\n%"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry in (*told["baselines"].values(), *told["best"][:rows]):
        low, high = (scale * v for v in entry["interval"])
        versus = (entry["versus"].get(name) for name in told["baselines"])
        table.add_row(
            f"{entry['strategy']} {in_words(entry['params'])}".strip(),
            f"{scale * entry[objective.name]:.2f}",
            f"{low:.1f}..{high:.1f}",
            *("" if v is None else f"{scale * v['delta']:+.2f}\np {v['p']:.3f}" for v in versus),
            f"{100 * entry['turnover']:.2f}",
        )
    return table


def _fold_table(found: Mapping[str, Any]) -> Table:
    table = Table("test", "chosen", "tried", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for fold in found["folds"]:
        words = f"{fold['strategy']} {in_words(fold['params'])}".strip()
        table.add_row(
            " to ".join(fold["test"]), words + ("" if fold["within_budget"] else "  (beyond the budget)"), str(fold["tried"])
        )
    return table


def _say(console: Console, summary: Summary) -> None:
    kept = f"{summary.before:,} were there before, " if summary.before else ""
    done = summary.before + summary.ran
    console.print(f"{done:,} of {summary.total:,} cells: {kept}{summary.ran:,} run now, {summary.failed:,} failed")
    folder = summary.folder
    if summary.stopped:
        console.print(f"stopped; finished rows are kept in {folder}, the same command goes on")
    elif summary.failed:
        console.print(f"what failed: [bold]tracker sweep status {folder}[/]")
    if not summary.stopped:
        console.print(f"what came out: [bold]tracker sweep report {folder}[/]")


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(given: Mapping[str, Any], name: str) -> list[float]:
    found = [parse_value(part) for part in _words(given[name])]
    if not found or not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in found):
        raise ParameterError(f"--{name.replace('_', '-')} {given[name]!r} must be numbers such as 0,5")
    return [float(v) for v in found]


def _seeds(text: str) -> tuple[int, ...]:
    first, colon, last = text.partition(":")
    try:
        return tuple(range(int(first), int(last))) if colon else tuple(int(part) for part in _words(text))
    except ValueError:
        raise ParameterError(f"--seeds {text!r} must look like 0:50 (0 to 49) or 1,2,3") from None


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
