"""What the commands of :mod:`~tracker_strategies.cli.sweeps.asking` do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import product
from typing import Any

import typer
from rich.table import Table

from datafeeds.texts import parse_value
from tracker_strategies.analysis.inference.objectives import OBJECTIVES, units
from tracker_strategies.analysis.pages.judged import p_words
from tracker_strategies.cli.limits import sector_notes, sectors_of
from tracker_strategies.cli.options import STOPPED, words
from tracker_strategies.cli.progress import watching
from tracker_strategies.cli.sweeps.asking import SearchOptions, SweepOptions, TuneOptions, WorkOptions
from tracker_strategies.cli.terminal import Terminal, styled
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.research.sweeps.asking.refusing import checked_panels
from tracker_strategies.research.sweeps.asking.space import Space, parse_domains
from tracker_strategies.research.sweeps.asking.spec import HOW_PRICES, Halving, Sweep
from tracker_strategies.research.sweeps.asking.values import in_words, limits_in_words, setting_words
from tracker_strategies.research.sweeps.asking.windows import WalkForward
from tracker_strategies.research.sweeps.running.driver import Summary, run_sweep
from tracker_strategies.research.sweeps.running.status import how_far
from tracker_strategies.research.sweeps.tuning.tuner import Tuning, run_tuning
from tracker_strategies.strategies.registry import load_strategy, unknown_to


def sweep_command(
    strategies: Sequence[str], options: SweepOptions, work: WorkOptions, *, config: str | None, out: str, retry: bool
) -> None:
    """``tracker sweep run``."""
    sweep = sweep_of(strategies, options) if config is None else Sweep.from_toml(config)
    console, panels = Terminal(stderr=True), checked_panels(sweep)
    _say_before(console, sweep, {data.source: panel.symbols for data, panel in panels.items()})
    with watching(console) as watcher:
        summary = run_sweep(sweep, out, watcher=watcher, retry=retry, panels=panels, **asdict(work))
    _say(console, summary)
    if summary.stopped:
        raise typer.Exit(STOPPED)
    if summary.nothing_went_well:
        raise typer.Exit(1)


def sweep_of(strategies: Sequence[str], options: SweepOptions) -> Sweep:
    """What ``tracker sweep run`` asks for."""
    lists = (numbers(options, name) for name in ("cost_bps", "per_share", "min_fee", "slippage_bps"))
    return Sweep(
        data=options.sources,
        seeds=_seeds(options.seeds),
        fill=words(options.fill),
        costs=tuple(CostModel(*values) for values in product(*lists)),
        windows=tuple(options.window or ()),
        eval_from=options.eval_from,
        halving=Halving(options.eta, options.rungs),
        **_in_common(strategies, options, options.search, options.objective or "te_rms"),
    )


def tuning_of(strategies: Sequence[str], options: TuneOptions) -> Tuning:
    """What ``tracker tune`` asks for."""
    goal = options.objective or ("excess_log_return" if options.te_budget is not None else "te_rms")
    common = _in_common(strategies, options, options.search, goal)
    sweep = Sweep(data=(options.market,), fill=(options.fill,), costs=(options.costs,), **common)
    return Tuning(sweep, options.te_budget, options.turnover_budget)


def _in_common(strategies: Sequence[str], options: SearchOptions, search: str, objective: str) -> dict[str, Any]:
    """What a :class:`Sweep` takes from the options that sweeps and tunings share."""
    walk = None
    if options.folds is not None:
        walk = WalkForward(options.folds, options.test_from, options.train, options.purge, options.burn_in)
    same = {name: getattr(options, name) for name in (*HOW_PRICES, "engine", "cash", "trials", "seed")}
    return same | {
        "space": Space(tuple(strategies), parse_domains(options.grid or (), options.ranges or ())),
        "index": options.targets,
        "walk_forward": walk,
        "search": search,
        "objective": objective,
        "baselines": () if options.baselines == "none" else words(options.baselines),
        "mandate": options.limits,
    }


def tune_command(strategies: Sequence[str], options: TuneOptions, work: WorkOptions, *, out: str, as_json: bool) -> None:
    """``tracker tune``."""
    tuning, console = tuning_of(strategies, options), Terminal(stderr=True)
    with watching(console) as watcher:
        tuned = run_tuning(tuning, out, watcher=watcher, **asdict(work))
    _say_before(console, tuning.sweep, {})
    if tuned.stopped:
        console.print(f"stopped; finished rows are kept in {tuned.folder}; the same command resumes")
        raise typer.Exit(STOPPED)
    from tracker_strategies.research.sweeps.tuning.report import write_tuning  # draws charts: not for a run that is stopped

    found = write_tuning(tuned)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    Terminal().print(_fold_table(found))
    shown = Terminal()
    shown.print(_best_table(found))
    for word in found["warnings"]:
        shown.print(styled(("warning", "bold yellow"), f"  {word}"))
    shown.print(styled("page  ", (tuned.folder / "tune.html", "bold"), "  (open it in a browser)"))


def status_command(folder: str, *, as_json: bool) -> None:
    """``tracker sweep status``."""
    found = how_far(folder)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    console = Terminal()
    state = "running" if found["running"] else "finished" if found["done"] >= found["cells"] else "stopped"
    cells = f": {state}, {found['done']:,} of {found['cells']:,} cells, {found['failed']:,} failed"
    console.print(styled((folder, "bold"), cells))
    if found["seconds_left"] is not None:
        console.print(f"{found['cells_per_second']:.3g} cells per second, about {_clock(found['seconds_left'])} left")
    if found["rows_of_other_code"]:
        console.print(f"{found['rows_of_other_code']:,} rows were computed by another version of the code and do not count")
    for error, count in found["errors"].items():
        console.print(f"{count:6,} x  {error}", style="red", highlight=False)


def report_command(folder: str, *, objective: str | None, axes: tuple[str | None, str | None], draws: int, as_json: bool) -> None:
    """``tracker sweep report``."""
    from tracker_strategies.research.sweeps.judging.report import write_report

    x, y = axes
    if (x is None) != (y is None):
        raise ParameterError("--x and --y go together: name both parameters of the heat maps, or neither")
    found = write_report(folder, objective=objective, axes=None if x is None or y is None else (x, y), draws=draws)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    console = Terminal()
    for setting in found["settings"]:
        console.print(_best_table({**setting, "objective": found["objective"]}, rows=5))
        for word in setting["warnings"]:
            console.print(styled(("warning", "bold yellow"), f"  {word}"))
    more = f"  (open it in a browser; the best bar by bar: {folder}/comparison.html)"
    console.print(styled("page  ", (f"{folder}/report.html", "bold"), more))


def _best_table(told: Mapping[str, Any], rows: int = 20) -> Table:
    objective = OBJECTIVES[told["objective"]]
    scale, unit = units(objective)
    note = "* cannot be distinguished from the best"
    table = Table(
        title=setting_words(told),
        title_justify="left",
        caption=note,
        caption_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        header_style="dim",
    )
    table.add_column("candidate", style="bold", overflow="fold", min_width=20)
    for name in (f"{objective.short}\n{unit}", "95 %\ninterval", *(f"ahead of\n{n}" for n in told["baselines"]), "turnover\n%"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry in (*told["baselines"].values(), *told["best"][:rows]):
        low, high = (scale * v for v in entry["interval"])
        versus = (entry["versus"].get(name) for name in told["baselines"])
        table.add_row(
            f"{entry['strategy']} {in_words(entry['params'])}".strip() + (" *" if entry["among_best"] else ""),
            f"{scale * entry[objective.name]:.2f}",
            f"{low:.1f}..{high:.1f}",
            *(
                "" if v is None else f"{scale * v['delta']:+.2f}\np {p_words(v['p'], told.get('p_floor', 0.0))}\n{v['verdict']}"
                for v in versus
            ),
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


def _say_before(console: Terminal, sweep: Sweep, markets: Mapping[str, Sequence[str]]) -> None:
    """What a user should know before it runs: the limits of all, strategies without a parameter, names without a sector."""
    classes = {name: load_strategy(name) for name in sweep.space.strategies}
    lines = unknown_to([key for key in sweep.space.domains if "." not in key], classes)
    if sweep.mandate:
        limits = Mandate.of(sweep.mandate)
        lines.append(f"limits of all: {limits_in_words(sweep.mandate)}")
        for name, symbols in markets.items():
            lines += [f"{name}: {line}" for line in sector_notes(limits, sectors_of(limits, symbols), symbols)]
    for note in lines:
        console.print(note, style="yellow", highlight=False, soft_wrap=True)


def _say(console: Terminal, summary: Summary) -> None:
    kept = f"{summary.before:,} were there before, " if summary.before else ""
    done = summary.before + summary.ran
    console.print(f"{done:,} of {summary.total:,} cells: {kept}{summary.ran:,} run now, {summary.failed:,} failed")
    folder = summary.folder
    if summary.stopped:
        console.print(f"stopped; finished rows are kept in {folder}; the same command resumes")
    elif summary.failed:
        console.print(styled("failures: ", (f"tracker sweep status {folder}", "bold")))
    if not summary.stopped:
        console.print(styled("results: ", (f"tracker sweep report {folder}", "bold")))


def numbers(options: SweepOptions, name: str) -> list[float]:
    """The numbers of an option that takes several."""
    found = [parse_value(part) for part in words(getattr(options, name))]
    if not found or not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in found):
        raise ParameterError(f"--{name.replace('_', '-')} {getattr(options, name)!r} must be numbers such as 0,5")
    return [float(v) for v in found]


def _seeds(text: str) -> tuple[int, ...]:
    first, colon, last = text.partition(":")
    try:
        return tuple(range(int(first), int(last))) if colon else tuple(int(part) for part in words(text))
    except ValueError:
        raise ParameterError(f"--seeds {text!r} must look like 0:50 (0 to 49) or 1,2,3") from None


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
