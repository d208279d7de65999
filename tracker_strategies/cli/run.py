"""What ``tracker run``, ``compare``, ``demo`` and ``list`` do: from options to records, each on disk before the next begins."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import BarColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from datafeeds import MarketPanel
from datafeeds.cleaning.report import SHOWN
from tracker_strategies.analysis.eval_from import start_row
from tracker_strategies.analysis.exporting import export_run
from tracker_strategies.analysis.pages.page import check_page
from tracker_strategies.analysis.pages.words import begins_later
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.runfolder import check_run_place, write_run
from tracker_strategies.cli.limits import naming, sector_notes, sectors_of
from tracker_strategies.cli.options import START_CASH, RunOptions, words
from tracker_strategies.cli.show import draw_sheets, metrics_table, show_runs
from tracker_strategies.cli.terminal import Terminal, progress_text, styled
from tracker_strategies.errors import OutputError, ParameterError
from tracker_strategies.execution.holdings import Account
from tracker_strategies.execution.mandate.mandate import KEYS, Mandate
from tracker_strategies.execution.named_costs import fee_notes, fees_in_words
from tracker_strategies.execution.named_costs import named as costs_by_name
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.research.sweeps.asking.values import limits_in_words
from tracker_strategies.runner import backtest, check_run
from tracker_strategies.strategies import TrackerStrategy
from tracker_strategies.strategies.registry import (
    HIDDEN_PARAMS,
    NAMES,
    check_params,
    default_params,
    failure_of,
    labels_of,
    load_strategy,
    unknown_to,
)

#: What the demo shows beside the recommended tracker.
DEMO = ("ensemble", "pa", "equal-weight", "buy-and-hold")
DEMO_COST_BPS = 5.0


@dataclass(frozen=True)
class Plan:
    """Everything that runs need, opened and checked: what can be refused was refused before it was made.

    Parameters
    ----------
    panel : MarketPanel
    runs : mapping of names to classes and their parameters
    sectors : mapping of symbols to sectors
        Empty where nobody told.
    first : int
        First row that may be scored.
    places : mapping of names to folders
        Where results go; empty if they are only shown.
    asked : mapping of names to mappings
        By which a run is known again: another one is not replaced unasked.
    cash : float
        At the start.
    notes : tuple of str
        What a user should know before it runs: which strategies do not have a parameter, which names have no sector.
    against : str, optional
        Name of the run that the others are compared with.
    """

    panel: MarketPanel
    runs: Mapping[str, tuple[type[TrackerStrategy], Mapping[str, Any]]]
    sectors: Mapping[str, str]
    first: int
    places: Mapping[str, Path]
    asked: Mapping[str, Mapping[str, Any]]
    cash: float = START_CASH
    notes: tuple[str, ...] = ()
    against: str | None = None


def plan_runs(names: Sequence[str], options: RunOptions) -> Plan:
    """Load strategies and data, and refuse what cannot work."""
    classes = list(dict.fromkeys(load_strategy(name) for name in names))
    labels = labels_of(classes)
    against = _reference(options.against, dict(zip(labels, classes, strict=True)))
    for key in options.params:
        if not any(key in default_params(cls) for cls in classes):
            check_params(classes[0], {key: None})
    for cls in classes:  # none of several runs begins before all can
        check_params(cls, {key: value for key, value in options.params_of(cls).items() if key in options.params})
    page = None if options.html is None else Path(options.html).expanduser()
    if page is not None:
        check_page(page)
    _ = options.costs  # refused before minutes of reading
    panel = options.market.open()
    sectors = sectors_of(options.limits, panel.symbols)
    account, _, told = options.account(panel.symbols, options.cash)
    held = {} if account is None else {"holdings": dict(account.shares)}
    cash = account.cash if account is not None else START_CASH if options.cash is None else options.cash
    named = dict(zip(labels, classes, strict=True))
    known, used = options.weights_for(named, panel)
    flows, late = options.flow_params(panel)
    runs = {label: (cls, options.params_of(cls) | held | flows | known.get(label, {})) for label, cls in named.items()}
    for label, (cls, params) in runs.items():
        with naming(label if len(runs) > 1 else ""):
            check_run(panel, cls, params, cash)
    notes = (
        *told,
        *used,
        *late,
        *fee_notes(
            costs_by_name(options.costs, options.limits.fees, panel.symbols), panel.n_assets, cash + _worth(account, panel)
        ),
        *unknown_to(options.params, named),
        *sector_notes(options.limits, sectors, panel.symbols),
    )
    first = start_row(panel.dates, options.eval_from)
    folder = None if options.out is None else Path(options.out).expanduser()
    places = {} if folder is None else {label: folder if len(runs) == 1 else folder / label for label in runs}
    if folder is not None and len(runs) > 1 and (folder / "run.json").exists():
        raise OutputError(f"{folder} is the folder of a single run; choose another folder for several runs with --out")
    begins = {} if account is None else {"account": account.to_dict()}
    same = {"data": panel.fingerprint(), **options.asked, **begins, **flows}
    asked = {label: {"strategy": label, **same, **known.get(label, {})} for label in places}
    for label, place in places.items():
        check_run_place(place, asked[label], force=options.force)
        if page is not None and place.resolve() in page.resolve().parents:
            raise OutputError(
                f"--html {options.html} lies in the run folder {place}, which is replaced as a whole; choose a place outside it"
            )
    return Plan(panel, runs, sectors, first, places, asked, cash, notes, against)


def _worth(account: Account | None, panel: MarketPanel) -> float:
    """What is held at the first bar, at its prices."""
    return 0.0 if account is None else float(np.nansum(account.sizes(panel.symbols) * panel.close[0]))


def _reference(asked: str | None, classes: Mapping[str, type[TrackerStrategy]]) -> str | None:
    """The run that the others are compared with, by its name in the tables."""
    if asked is None or asked in classes:
        return asked
    own = [label for label, cls in classes.items() if cls is load_strategy(asked)]
    if not own:
        raise ParameterError(f"--against {asked} is not one of the strategies of this run; choose one of {', '.join(classes)}")
    return own[0]


def carry_out(plan: Plan, options: RunOptions, console: Terminal, wrote: Callable[[Path], None]) -> list[RunRecord]:
    """The scored parts of the runs, one after the other, with a progress bar when a person is watching.

    A finished run is on disk before the next begins, and before anything is drawn.
    """
    panel, keep = plan.panel, options.out is not None
    kept: dict[str, Any] = {"orders": keep, "diagnostics": keep, "stages": keep, "weights": keep or options.html is not None}
    seed = options.seed if options.market.synthetic else None
    columns = (progress_text("{task.description:>16}"), BarColumn(), progress_text("{task.completed}/{task.total} bars"))
    found = []
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:
        for name, (cls, params) in plan.runs.items():
            task = progress.add_task(name, total=panel.n_bars)
            tick = _Tick(progress, task)
            try:
                record = backtest(panel, cls, params, costs=options.costs, cash=plan.cash, on_bar=tick, **kept)
            except Exception as problem:  # a user's own class may raise anything
                raise failure_of(cls, problem) from problem
            progress.update(task, completed=panel.n_bars)
            record = replace(record, strategy=name, sectors=plan.sectors or record.sectors)
            scored = record.scored_from(plan.first)
            if keep:
                told: dict[str, Any] = {"scored": scored, "eval_from": options.eval_from, "seed": seed, "asked": plan.asked[name]}
                wrote(write_run(record, plan.places[name], panel, force=True, **told))  # whether it may was asked before
                if options.formats != "parquet":
                    export_run(plan.places[name], words(options.formats))
            found.append(scored)
    return found


def run_strategies(names: Sequence[str], options: RunOptions) -> None:
    """Run one or several strategies and show, print or write what came out."""
    plan, console = plan_runs(names, options), Terminal(stderr=True)
    if plan.panel.cleaning is not None:
        console.print(plan.panel.cleaning.table(SHOWN), highlight=False, soft_wrap=True)
    for note in plan.notes:
        console.print(note, style="yellow", highlight=False, soft_wrap=True)
    wrote = lambda place: console.print(styled("wrote ", (place, "bold")), soft_wrap=True)  # noqa: E731
    records = carry_out(plan, options, console, wrote)
    setting = setting_of(records[0], plan.panel, options)
    show_runs(records, setting, page=options.html, as_json=options.as_json, against=plan.against)
    if plan.places and not options.no_tearsheet:
        draw_sheets(records, plan.places, baselines=records, console=console)


def run_demo(out: str, *, force: bool = False) -> None:
    """The ensemble, PA and the baselines on the sample; see ``tracker demo --help``."""
    options = RunOptions(cost_bps=DEMO_COST_BPS, out=out, force=force)
    plan, console = plan_runs(DEMO, options), Terminal()
    panel = plan.panel
    console.print(f"{panel.n_assets} large US stocks and the S&P 500, {panel.day(0)} to {panel.day(-1)}, {panel.n_bars} bars.")
    wrote = lambda place: console.print(f"run folder  {place}", soft_wrap=True)  # noqa: E731
    records = carry_out(plan, options, console, wrote)
    console.print(metrics_table(records, setting_of(records[0], panel, options)))
    console.print(
        "The stocks were picked with hindsight: judge the excess return against the baselines, never against zero.\n", style="dim"
    )
    for page in draw_sheets(records[:1], plan.places, baselines=records, console=console):
        console.print(styled("tear sheet  ", (page, "bold"), "  (open it in a browser)"), soft_wrap=True)


def setting_of(record: RunRecord, panel: MarketPanel, options: RunOptions) -> str:
    """Data, bars, fills and costs in one sentence."""
    costs = options.costs.in_words() + fees_in_words(options.limits.fees)
    limits = "" if options.limits.is_free else limits_in_words(options.limits.overruled({"fees": None}).told())
    kept = f" Limits of all: {limits}." if limits else ""
    whole = " Final value: of the whole run; all other figures: of the scored bars." if begins_later(record) else ""
    fills = FillMode.parse(record.params["fill"]).in_words(opens=panel.open is not None)
    return f"{panel.source}: {record.metrics()['n_bars']} scored bars, {fills}, {costs}.{kept}{whole}"


def show_strategies() -> None:
    """A table of all strategies, then the parameters that they share."""
    console, every = Terminal(), default_params(TrackerStrategy)
    common = {k: v for k, v in every.items() if k not in HIDDEN_PARAMS and k not in KEYS}
    table = Table("strategy", "what it does", "parameters and defaults", box=None, padding=(0, 2, 1, 0))
    for cls in map(load_strategy, NAMES):
        own = {k: v for k, v in default_params(cls).items() if k not in HIDDEN_PARAMS and (k not in every or v != every[k])}
        about = (cls.__doc__ or "").strip().splitlines()[0]
        params = ", ".join(f"{k}={v!r}" for k, v in own.items()) or "-"
        table.add_row(styled((cls.alias_name, "bold"), "\n", (cls.__name__, "dim")), about, params)
    console.print(table)
    console.print("Every strategy also has: " + ", ".join(f"{k}={v!r}" for k, v in common.items()), highlight=False)
    limits = Table("limit", "what it means", box=None, padding=(0, 2, 0, 0), title_justify="left")
    limits.title = "Limits of every strategy, kept in every decision (also as options: --max-weight 5%; or in a file: --mandate)"
    for key, meaning in _meanings().items():
        limits.add_row(styled((key, "bold")), meaning)
    console.print()
    console.print(limits, highlight=False)


def _meanings() -> dict[str, str]:
    """What each limit means, from the docstring of the mandate."""
    text = inspect.cleandoc(Mandate.__doc__ or "").partition("Parameters\n----------\n")[2]
    found: dict[str, str] = {}
    for names, told in re.findall(r"^(\w[\w, ]*) : [^\n]*\n((?:[ ]{4}[^\n]*\n?|\n)+)", text, re.M):
        meaning = " ".join(told.split()).replace("``", "")
        found |= dict.fromkeys(names.split(", "), meaning)
    return {key: found[key] for key in KEYS}


class _Tick:
    """Advances a progress bar, but tells it only every so many bars: drawing is slower than a bar."""

    def __init__(self, progress: Progress, task: Any, every: int = 25) -> None:
        self._progress, self._task, self._every, self._count = progress, task, every, 0

    def __call__(self) -> None:
        self._count += 1
        if self._count % self._every == 0:
            self._progress.update(self._task, completed=self._count)
