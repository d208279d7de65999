"""Every strategy on every market with the same bars, fills and costs, in one table. What ``tracker leaderboard`` runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from datafeeds import MarketPanel, open_source
from datafeeds.files import check_place
from tracker_strategies.analysis.pages.comparison_page import Field
from tracker_strategies.analysis.record import start_row
from tracker_strategies.errors import DataError, ParameterError, TrackerError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.research.leaderboard.rivals import SkfolioTracker
from tracker_strategies.research.replay import replay
from tracker_strategies.research.sweeps.running.worker import one_thread
from tracker_strategies.strategies import STRATEGIES, TrackerStrategy
from tracker_strategies.strategies.registry import load_strategy

Row = dict[str, Any]

#: Costs in basis points of what is bought and sold, at which the excess return is told.
COSTS = (0, 5, 10)
SUFFIXES = (".csv", ".csv.gz", ".csv.xz", ".parquet", ".pq")
#: The choices that the recommended tracker is made of, for the ablation.
MEMBERS, COORDINATES, COST_TERMS = ("pa", "least-squares", "ensemble"), ("weights", "holdings"), (None, 10.0)

#: Settings in which a rival tracks closer than in its defaults: SLAIT from one start, as in the paper, holds more names than the
#: best of eight starts does.
AT_THEIR_BEST: Mapping[str, Mapping[str, Any]] = {"slait": {"starts": 1}}
#: The page with all runs bar by bar.
COMPARISON = "comparison.html"


@dataclass(frozen=True)
class Entrant:
    """A strategy with parameters, under a name for the table. ``group`` is the table it belongs to."""

    name: str
    strategy: type[TrackerStrategy]
    params: Mapping[str, Any] = field(default_factory=dict)
    group: str = "strategies"


def entrants(
    names: Sequence[str] = (), *, skfolio: bool = False, max_names: int | None = None, ablation: bool = False
) -> list[Entrant]:
    """Who takes part.

    Parameters
    ----------
    names : sequence of str
        Strategies; all of :data:`~tracker_strategies.strategies.STRATEGIES` by default, but for the one that has to be told its
        weights.
    skfolio : bool
        Whether skfolio's ``BenchmarkTracker`` takes part.
    max_names : int, optional
        Also the ensemble and SLAIT with at most so many names.
    ablation : bool
        Also every combination of members, coordinates and cost term.
    """
    chosen = [load_strategy(name) for name in names] or [cls for cls in STRATEGIES if cls.alias_name != "constant-weight"]
    found = [Entrant(cls.alias_name, cls, AT_THEIR_BEST.get(cls.alias_name, {})) for cls in chosen]
    if skfolio:
        found.append(Entrant("skfolio", SkfolioTracker))
    if max_names is not None:
        for name in ("ensemble", "least-squares", "slait"):
            few = {"max_names": max_names, **AT_THEIR_BEST.get(name, {})}
            found.append(Entrant(name, load_strategy(name), few, f"at most {max_names} names"))
    if ablation:
        for name, coordinates, cost in product(MEMBERS, COORDINATES, COST_TERMS):
            params = {"coordinates": coordinates, "cost_aware": cost}
            label = f"{name}, {coordinates}" + ("" if cost is None else f", cost_aware {cost:g}")
            found.append(Entrant(label, load_strategy(name), params, "ablation"))
    return found


def check_folder(folder: Path) -> None:
    """Raise :class:`OutputError` unless a leaderboard could be written there, in the place of an earlier one if need be."""
    check_place(folder, "leaderboard", {"leaderboard.html", "leaderboard.json", COMPARISON})


def open_markets(sources: Sequence[str], *, gaps: str = "freeze") -> tuple[dict[str, MarketPanel], dict[str, str]]:
    """Panels by name, and why a file of a folder was left out.

    A folder stands for all tables in it, one market each. What is named itself must be readable; in a folder, tables without a
    column ``INDEX`` are passed over.
    """
    panels: dict[str, MarketPanel] = {}
    left_out: dict[str, str] = {}
    for source in sources:
        folder = Path(source)
        if not folder.is_dir():
            panels[market_name(source)] = open_source(source, gaps=gaps)
            continue
        files = sorted(path for path in folder.iterdir() if path.name.lower().endswith(SUFFIXES))
        if not files:
            raise DataError(f"{folder} holds no market: no file that ends with {', '.join(SUFFIXES)}")
        for path in files:
            try:
                panels[market_name(str(path))] = open_source(path, gaps=gaps)
            except TrackerError as problem:
                left_out[path.name] = " ".join(str(problem).split())
    if not panels:
        raise DataError(f"no market to run on; left out: {left_out}" if left_out else "no market to run on: give --data")
    return panels, left_out


def market_name(source: str) -> str:
    """A file's name without folder and suffix."""
    name = Path(source).name
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        name = name.removesuffix(suffix)
    return name


def score(
    market: str, panel: MarketPanel, entrant: Entrant, fill: str, cost_bps: float, eval_from: str
) -> tuple[Row, Field | None]:
    """One row: figures of the scored part of one run, or what went wrong; and the run as the comparison page shows it."""
    row: Row = {"market": market, "strategy": entrant.name, "group": entrant.group, "error": ""}
    begin = time.perf_counter()
    try:
        with one_thread():
            record = replay(panel, entrant.strategy, {**entrant.params, "fill": fill}, costs=CostModel(cost_bps))
        seconds = time.perf_counter() - begin
        run = Field.of({entrant.name: record.since(eval_from)}, market)  # refuses an account that never got to its target
        figures = run.curves[0].metrics
    except Exception as problem:  # a strategy that fails must not take the others with it
        return row | {"error": " ".join(f"{type(problem).__name__}: {problem}".split())[:300]}, None
    row |= {key: figures[key] for key in ("te_rms", "tracking_difference", "turnover", "n_holdings", "n_bars")}
    row |= {f"net_excess_{cost}": net_excess(figures, cost - cost_bps, record.periods_per_year) for cost in COSTS}
    return row | {"ms_per_bar": 1e3 * seconds / panel.n_bars}, run


def net_excess(figures: Mapping[str, float], cost_bps: float, periods_per_year: float) -> float:
    """Log return over the index a year, after costs of so many basis points of what was bought and sold.

    Costs are taken off a run as turnover times cost: the trades are the same at every cost, and ln(1 - c u) differs from -c u by
    less than a hundredth of a basis point a bar at any turnover u that a tracker has.
    """
    paid = 1e-4 * cost_bps * figures["turnover"] * figures["n_bars"]
    return float((figures["excess_log_return"] - paid) * periods_per_year / figures["n_bars"])


def run_leaderboard(
    panels: Mapping[str, MarketPanel],
    taking_part: Sequence[Entrant],
    *,
    fill: str = str(FillMode.NEXT_OPEN),
    cost_bps: float = 0.0,
    eval_from: str = "0.5",
    jobs: int = 1,
    tick: Callable[[Row], None] = lambda row: None,
    keep: Callable[[Row, Field], None] = lambda row, run: None,
) -> dict[str, Any]:
    """Run all entrants on all markets.

    Parameters
    ----------
    panels : mapping
        Markets by name.
    taking_part : sequence of Entrant
    fill : {"next_open", "open", "close"}
    cost_bps : float
        Cost that the account pays during the run; the excess returns are told at 0, 5 and 10 bp all the same.
    eval_from : str
        Fraction or date from which on is scored; learning begins at the first bar.
    jobs : int
        Processes, each with one thread of linear algebra. Times per bar are only comparable with one.
    tick : callable
        Called with every row as it is finished.
    keep : callable
        Called with every row that went well, and its run as a :class:`Field` with one curve.

    Returns
    -------
    dict
        ``settings``, ``markets`` (name to bars, assets, first and last day) and ``rows``, market by market and by tracking error;
        those that failed come last.
    """
    if not isinstance(jobs, int) or jobs < 1:
        raise ParameterError(f"jobs={jobs!r} must be a number of processes >= 1")
    FillMode.parse(fill)
    for panel in panels.values():
        start_row(panel.dates, eval_from)
    rows = []
    for row, run in _scored([(m, panels[m], e, fill, cost_bps, eval_from) for m, e in product(panels, taking_part)], jobs):
        tick(row)
        if run is not None:
            keep(row, run)
        rows.append(row)
    place = {name: i for i, name in enumerate(panels)}
    rows.sort(key=lambda r: (place[r["market"]], bool(r["error"]), r.get("te_rms", 0.0)))
    about = {
        name: {"bars": p.n_bars, "assets": p.n_assets, "first": p.day(0), "last": p.day(-1), "bars_per_year": p.periods_per_year}
        for name, p in panels.items()
    }
    settings = {"fill": fill, "cost_bps": cost_bps, "eval_from": eval_from, "jobs": jobs}
    return {"settings": settings, "markets": about, "rows": rows}


def _scored(cells: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[tuple[Row, Field | None]]:
    if jobs == 1:
        for cell in cells:
            yield score(*cell)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(score)(*cell) for cell in cells)
