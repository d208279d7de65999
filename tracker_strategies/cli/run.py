"""What the commands of :mod:`tracker_strategies.cli` do. Apart from it so that ``tracker --help`` imports nothing heavy."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from datafeeds import MarketPanel, open_source, read_sectors
from datafeeds.cleaning.report import SHOWN
from datafeeds.files import check_place
from tracker_strategies.analysis.pages.page import check_page
from tracker_strategies.analysis.record import RunRecord, start_row
from tracker_strategies.analysis.runfolder import RUN_FILES, write_run
from tracker_strategies.cli.show import compare_folders, draw_sheets, is_run_name, metrics_table, show_runs
from tracker_strategies.errors import OutputError, ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import STRATEGIES, TrackerStrategy
from tracker_strategies.strategies.registry import check_params, default_params, load_strategy

#: The baselines that the demo and every tear sheet show beside a strategy.
BASELINES = ("equal-weight", "buy-and-hold")
DEMO_COST_BPS = 5.0


@dataclass(frozen=True)
class Request:
    """A backtest as asked for on the command line, checked before anything runs."""

    data: str = "sample"
    targets: tuple[str, ...] = ("INDEX",)
    params: Mapping[str, Any] = field(default_factory=dict)
    fill: FillMode = FillMode.NEXT_OPEN
    costs: CostModel = field(default_factory=CostModel)
    lot: float = 0.0
    cash: float = 1_000_000.0
    eval_from: str | None = None
    gaps: str = "error"
    adjust: str = "split"
    members: str | None = None
    renames: str | None = None
    sectors: str | None = None
    clean: str | None = None
    seed: int = 0
    out: str | None = None
    html: str | None = None
    as_json: bool = False
    tearsheet: bool = True

    @classmethod
    def build(cls, given: Mapping[str, Any]) -> Self:
        """From the options of ``run`` and ``compare``."""
        coordinates = {} if given["coordinates"] is None else {"coordinates": given["coordinates"]}
        same = "data lot cash eval_from gaps adjust members renames sectors clean seed out html as_json"
        return cls(
            targets=tuple(given["index"] or ("INDEX",)),
            params=coordinates | parse_params(given["param"] or ()),
            fill=FillMode.parse(given["fill"]),
            costs=CostModel(given["cost_bps"], given["per_share"], given["min_fee"], given["slippage_bps"]),
            tearsheet=not given["no_tearsheet"],
            **{name: given[name] for name in same.split()},
        )


def open_panel(request: Request) -> MarketPanel:
    """The market that a request asks for."""
    return open_source(
        request.data,
        request.targets,
        gaps=request.gaps,
        seed=request.seed,
        adjust=request.adjust,
        members=request.members,
        renames=request.renames,
        clean=request.clean,
    )


def run_strategies(names: Sequence[str], request: Request) -> None:
    """Run one or several strategies and show, print or write what came out; or compare runs that were written before."""
    if any(is_run_name(name) for name in names):
        if request != Request(html=request.html, as_json=request.as_json):
            raise ParameterError(f"{names[0]} and others are finished runs: only --html and --json can be asked of them")
        compare_folders(names, page=request.html, as_json=request.as_json)
        return
    classes = list(dict.fromkeys(load_strategy(name) for name in names))
    own = [params_for(cls, request, strict=len(classes) == 1) for cls in classes]
    if len(classes) > 1:
        for key in request.params:
            if not any(key in p for p in own):
                check_params(classes[0], {key: None})
    if request.html is not None:
        check_page(Path(request.html).expanduser())
    panel = open_panel(request)
    sectors = {} if request.sectors is None else read_sectors(request.sectors, panel.symbols)
    if sectors:
        for cls, params in zip(classes, own, strict=True):
            params |= {"sectors": sectors} if "sectors" in default_params(cls) and "max_sector" in params else {}
    start_row(panel.dates, request.eval_from)
    folder = None if request.out is None else Path(request.out).expanduser()
    places = {} if folder is None else {c.alias_name: folder if len(classes) == 1 else folder / c.alias_name for c in classes}
    for place in places.values():
        check_place(place, "run", RUN_FILES)
        if request.html is not None and place.resolve() in Path(request.html).expanduser().resolve().parents:
            raise OutputError(
                f"--html {request.html} lies in the run folder {place}, which is replaced as a whole; choose another"
            )
    if folder is not None and len(classes) > 1 and (folder / "run.json").exists():
        raise OutputError(f"{folder} is the folder of one run; choose another for several with --out")
    console = Console(stderr=True)
    if panel.cleaning is not None:
        console.print(panel.cleaning.table(SHOWN), markup=False, highlight=False, soft_wrap=True)

    def keep(record: RunRecord) -> RunRecord:
        """A finished run is on disk before the next begins, and before anything is drawn."""
        told = replace(record, sectors=sectors)
        if places:
            seed = request.seed if request.data == "synthetic" else None
            write_run(told, places[told.strategy], panel, eval_from=request.eval_from, seed=seed)
            console.print(f"wrote [bold]{escape(str(places[told.strategy]))}[/]", soft_wrap=True)
        return told

    records = run_all(panel, classes, own, request, console, keep)
    scored = [r.since(request.eval_from) for r in records]
    words = setting_of(scored[0], panel, request)
    show_runs(scored, words, page=request.html, as_json=request.as_json)
    if places and request.tearsheet:
        draw_sheets(records, places, baselines=records, start=request.eval_from, console=console)


def run_demo(out: str) -> None:
    """The ensemble, PA and the baselines on the sample; see ``tracker demo --help``."""
    request = Request(costs=CostModel(bps=DEMO_COST_BPS), out=out)
    panel = open_source(request.data, request.targets)
    classes = [load_strategy(name) for name in ("ensemble", "pa", *BASELINES)]
    for cls in classes:
        check_place(Path(out).expanduser() / cls.alias_name, "run", RUN_FILES)
    console = Console()
    console.print(f"{panel.n_assets} large US stocks and the S&P 500, {panel.day(0)} to {panel.day(-1)}, {panel.n_bars} bars.")
    places = {cls.alias_name: Path(out).expanduser() / cls.alias_name for cls in classes}

    def keep(record: RunRecord) -> RunRecord:
        console.print(f"run folder  {escape(str(write_run(record, places[record.strategy], panel)))}", soft_wrap=True)
        return record

    records = run_all(panel, classes, [params_for(cls, request) for cls in classes], request, console, keep)
    console.print(metrics_table(records, setting_of(records[0], panel, request)))
    console.print(
        "The stocks were picked with hindsight: judge the excess return against the baselines, never against zero.\n", style="dim"
    )
    for page in draw_sheets(records[:1], places, baselines=records, start=None, console=console):
        console.print(f"tear sheet  [bold]{escape(str(page))}[/]  (open it in a browser)", soft_wrap=True)


def run_all(
    panel: MarketPanel,
    classes: Sequence[type[TrackerStrategy]],
    params: Sequence[Mapping[str, Any]],
    request: Request,
    console: Console,
    keep: Callable[[RunRecord], RunRecord],
) -> list[RunRecord]:
    """Backtests one after the other, with a progress bar when a person is watching; each is kept before the next begins."""
    columns = (TextColumn("{task.description:>16}"), BarColumn(), TextColumn("{task.completed}/{task.total} bars"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:
        records = []
        for cls, own in zip(classes, params, strict=True):
            task = progress.add_task(cls.alias_name, total=panel.n_bars)
            tick = _Tick(progress, task)
            record = backtest(
                panel,
                cls,
                own,
                costs=request.costs,
                cash=request.cash,
                on_bar=tick,
                orders=request.out is not None,
                diagnostics=request.out is not None,
            )
            progress.update(task, completed=panel.n_bars)
            records.append(keep(record))
    return records


def params_for(cls: type[TrackerStrategy], request: Request, *, strict: bool = True) -> dict[str, Any]:
    """The parameters of one strategy: fill and lot from their options, the rest from --param."""
    known = default_params(cls)
    if strict:
        check_params(cls, request.params)
    chosen = {k: v for k, v in request.params.items() if k in known}
    return {"fill": str(request.fill), "lot": request.lot, **chosen}


def setting_of(record: RunRecord, panel: MarketPanel, request: Request) -> str:
    """Data, bars, fills and costs in one sentence."""
    costs = f"{request.costs.bps:g} bp costs" if not request.costs.free else "no costs"
    return f"{panel.source}: {record.metrics()['n_bars']} scored bars, fills at {record.params['fill']}, {costs}."


def parse_params(pairs: Sequence[str]) -> dict[str, Any]:
    """``key=value`` texts as a dict; values that read as Python literals become numbers, None or booleans, others stay text."""
    parsed: dict[str, Any] = {}
    for pair in pairs:
        key, found, text = pair.partition("=")
        if not found or not key.strip():
            raise ParameterError(f"--param {pair!r} must look like key=value, for example eps=0.0003")
        try:
            parsed[key.strip()] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            parsed[key.strip()] = text
    return parsed


def show_strategies() -> None:
    """A table of all strategies, then the parameters that they share."""
    console = Console()
    common = default_params(TrackerStrategy)
    table = Table("strategy", "what it does", "parameters and defaults", box=None, padding=(0, 2, 1, 0))
    for cls in STRATEGIES:
        own = {k: v for k, v in default_params(cls).items() if k not in common or v != common[k]}
        about = (cls.__doc__ or "").strip().splitlines()[0]
        table.add_row(
            f"[bold]{cls.alias_name}[/]\n[dim]{cls.__name__}[/]", about, ", ".join(f"{k}={v!r}" for k, v in own.items()) or "-"
        )
    console.print(table)
    console.print("Every strategy also has: " + ", ".join(f"{k}={v!r}" for k, v in common.items()), highlight=False)


class _Tick:
    """Advances a progress bar, but tells it only every so many bars: drawing is slower than a bar."""

    def __init__(self, progress: Progress, task: Any, every: int = 25) -> None:
        self._progress, self._task, self._every, self._count = progress, task, every, 0

    def __call__(self) -> None:
        self._count += 1
        if self._count % self._every == 0:
            self._progress.update(self._task, completed=self._count)
