"""Every strategy on every market with the same bars, fills and costs: a sweep whose candidates and contexts are fixed.

What ``tracker leaderboard`` runs. The rows are those of the sweep: run in parallel, kept as they come in, found again by a second
call with the same data and code.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from datafeeds import MarketPanel, MarketSource
from datafeeds.files import check_place, write_json
from tracker_strategies._fingerprint import code_version
from tracker_strategies.analysis.places import PART_OF_A_LEADERBOARD, check_outside
from tracker_strategies.errors import DataError, ParameterError, TrackerError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.research.leaderboard.judging import judge_rows, reference
from tracker_strategies.research.sweeps.asking.cells import Data
from tracker_strategies.research.sweeps.asking.refusing import refuse
from tracker_strategies.research.sweeps.asking.space import Candidate, Space
from tracker_strategies.research.sweeps.asking.spec import Sweep
from tracker_strategies.research.sweeps.running.driver import Watcher, run_sweep
from tracker_strategies.research.sweeps.running.store import read_rows
from tracker_strategies.strategies.registry import NAMES, NEED_WEIGHTS, full_name, labels_of, load_strategy

Row = dict[str, Any]

#: Costs in basis points of what is bought and sold, at which the excess return is told.
COSTS: tuple[float, ...] = (0, 5, 10)
SUFFIXES = (".csv", ".csv.gz", ".csv.xz", ".parquet", ".pq")
#: The choices that the recommended tracker is made of, for the ablation.
MEMBERS, COORDINATES, COST_TERMS = ("pa", "least-squares", "ensemble"), ("weights", "shares"), (None, 10.0)
SKFOLIO = "tracker_strategies.research.leaderboard.rivals:SkfolioTracker"

#: Settings in which a rival tracks closer than in its defaults: SLAIT from one start, as in the paper, holds more names than the
#: best of eight starts does.
AT_THEIR_BEST: Mapping[str, Mapping[str, Any]] = {"slait": {"starts": 1}}
#: The page with all runs bar by bar, and the folder of the sweep beside it.
COMPARISON, SWEEP = "comparison.html", PART_OF_A_LEADERBOARD
FIGURES = ("te_rms", "tracking_difference", "turnover", "n_holdings", "n_bars")


@dataclass(frozen=True)
class Entrant:
    """A candidate under a name for the table. ``group`` is the table it belongs to."""

    name: str
    candidate: Candidate
    group: str = "strategies"


@dataclass(frozen=True)
class Leaderboard(Sweep):
    """A sweep of named candidates."""

    entrants: tuple[Entrant, ...] = ()

    def candidates(self) -> Iterator[Candidate]:
        """Those who take part, in their order."""
        return (entrant.candidate for entrant in self.entrants)

    def asked_params(self) -> set[str]:
        """Names of the parameters in which those who take part differ from their defaults."""
        return {key for entrant in self.entrants for key in entrant.candidate.params}

    def tell(self) -> dict[str, Any]:
        """As plain values, for ``sweep.json``."""
        return super().tell() | {"entrants": [[e.name, e.group, e.candidate.strategy, e.candidate.params] for e in self.entrants]}


def entrants(
    names: Sequence[str] = (), *, skfolio: bool = False, max_names: int | None = None, ablation: bool = False
) -> list[Entrant]:
    """The entrants of a leaderboard.

    Parameters
    ----------
    names : sequence of str
        Strategies, also ``path/to/file.py:Class``; by default all of this project, except those that need weights.
    skfolio : bool
        Whether skfolio's ``BenchmarkTracker`` takes part.
    max_names : int, optional
        Also the ensemble and SLAIT with at most this number of names.
    ablation : bool
        Also every combination of members, coordinates and cost term.
    """
    names = names or [name for name in NAMES if name not in ("constant-weight", *NEED_WEIGHTS)]
    labels = labels_of([load_strategy(name) for name in names])
    found = [entrant(name, label=label) for name, label in zip(names, labels, strict=True)]
    if skfolio:
        found.append(entrant(SKFOLIO))
    if max_names is not None:
        few = {"max_names": max_names}
        found += [entrant(name, few, group=f"at most {max_names} names") for name in ("ensemble", "least-squares", "slait")]
    if ablation:
        for name, coordinates, cost in product(MEMBERS, COORDINATES, COST_TERMS):
            if (name, coordinates) == ("ensemble", "weights"):
                continue  # share counts are all that it learns
            params = {"coordinates": coordinates, "cost_aware": cost}
            found.append(entrant(name, params, setting_label(name, coordinates, cost), "ablation"))
    return found


def entrant(name: str, params: Mapping[str, Any] | None = None, label: str = "", group: str = "strategies") -> Entrant:
    """A strategy by its name, at its best but for the parameters given, under its own name or a label."""
    kept, (own,) = full_name(name), labels_of([load_strategy(name)])
    return Entrant(label or own, Candidate.of(kept, {**AT_THEIR_BEST.get(kept, {}), **(params or {})}), group)


def setting_label(name: str, coordinates: str, cost: float | None) -> str:
    """The name of a combination in the ablation."""
    return f"{name}, {coordinates}" + ("" if cost is None else f", cost_aware {cost:g}")


def check_folder(folder: Path) -> None:
    """Raise :class:`OutputError` unless a leaderboard could be written there, in the place of an earlier one if need be."""
    check_place(folder, "leaderboard", {"leaderboard.html", "leaderboard.json", COMPARISON, SWEEP})
    check_outside(folder)


def open_markets(sources: Sequence[str], how: MarketSource | None = None) -> tuple[dict[str, MarketPanel], dict[str, str]]:
    """Panels by name, and why a file of a folder was left out. ``how`` describes them all, but for the source.

    A folder stands for all tables in it, one market each. What is named itself must be readable; in a folder, tables without a
    column ``INDEX`` are passed over.
    """
    market = MarketSource() if how is None else how
    if len(market.targets) > 1:
        raise ParameterError(f"a leaderboard has one index, got {', '.join(market.targets)}: name one, or use tracker compare")
    panels: dict[str, MarketPanel] = {}
    left_out: dict[str, str] = {}
    for source in sources:
        folder = Path(source)
        if not folder.is_dir():
            panels[market_name(source)] = replace(market, source=source).open()
            continue
        files = sorted(path for path in folder.iterdir() if path.name.lower().endswith(SUFFIXES))
        if not files:
            raise DataError(f"{folder} holds no market: it has no file that ends with {', '.join(SUFFIXES)}")
        for path in files:
            try:
                panels[market_name(str(path))] = replace(market, source=str(path)).open()
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
    folder: Path | None = None,
    *,
    fill: str = str(FillMode.NEXT_OPEN),
    cost_bps: float = 0.0,
    eval_from: str = "0.5",
    jobs: int = 1,
    cash: float = 1_000_000.0,
    mandate: Any = None,
    against: str | None = None,
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Run all entrants on all markets.

    Parameters
    ----------
    panels : mapping
        Markets by name.
    taking_part : sequence of Entrant
    folder : Path, optional
        Where the rows are kept, in ``sweep/``: those that are there already are not run again. By default nothing is kept.
    fill : {"next_open", "open", "close"}
    cost_bps : float
        Cost that the account pays during the run; the excess returns are shown at 0, 5 and 10 bp in any case.
    eval_from : str
        Fraction or date from which on is scored; learning begins at the first bar.
    jobs : int
        Processes, each with one thread of linear algebra. Times per bar are only comparable with one.
    cash : float
        Starting cash of every account.
    mandate : Mandate, mapping or path of a TOML file, optional
        Limits that hold for all entrants.
    against : str, optional
        Entrant with which the others are compared; by default the ensemble, or the first entrant if it does not take part.
    watcher : Watcher, optional
        Notified of every row.

    Returns
    -------
    dict
        ``settings``, ``markets`` (name to bars, assets, first and last day) and ``rows``, market by market and by tracking error;
        those that failed come last. A row has the ``key`` under which the sweep keeps it.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C or SIGTERM: finished rows are kept.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies.research import run_leaderboard
    >>> from tracker_strategies.research.leaderboard import entrants
    >>> panels = {"sample": load_sample().rows(0, 200)}
    >>> found = run_leaderboard(panels, entrants(["ensemble", "equal-weight"]))
    """
    base = reference([entrant.name for entrant in taking_part], against)
    # Shipped as they are, whatever they are called: a market named "synthetic" is not drawn anew.
    data = {name: Data(f"market {name}", sha=panel.fingerprint()) for name, panel in panels.items()}
    board = Leaderboard(
        Space(tuple(e.candidate.strategy for e in taking_part)),
        data=tuple(d.source for d in data.values()),
        fill=(fill,),
        costs=(CostModel(cost_bps),),
        eval_from=eval_from,
        baselines=(),
        cash=cash,
        mandate=mandate,
        entrants=tuple(taking_part),
    )
    about = {
        name: {
            "bars": p.n_bars,
            "assets": p.n_assets,
            "first": p.day(0),
            "last": p.day(-1),
            "bars_per_year": p.periods_per_year,
            "opens": p.open is not None,
        }
        for name, p in panels.items()
    }
    opened = {data[name]: panel for name, panel in panels.items()}
    contexts = list(board.contexts(opened))
    refuse(board, contexts, opened)
    settings = {"fill": fill, "cost_bps": cost_bps, "eval_from": eval_from, "jobs": jobs, "cash": cash, "mandate": board.mandate}
    settings["against"] = base
    result: dict[str, Any] = {"settings": settings, "markets": about, "rows": []}
    if folder is not None:
        check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "leaderboard.json").exists():  # by which the folder is known for what it is, also when this is stopped
            write_json(folder / "leaderboard.json", result)
    with nullcontext(folder) if folder is not None else tempfile.TemporaryDirectory() as place:
        kept = Path(place) / SWEEP
        summary = run_sweep(board, kept, jobs=jobs, watcher=watcher, extend=True, retry=True, panels=opened)
        if summary.stopped:
            raise KeyboardInterrupt
        stored = {row["key"]: row for row in read_rows(kept).to_pylist()}
        paths = dict(zip(*(read_rows(kept, ("key", "active"))[name].to_pylist() for name in ("key", "active")), strict=True))
    code = code_version()
    for (name, panel), context in zip(panels.items(), contexts, strict=True):
        rows = [_row(name, panel, e, stored[context.cell(e.candidate, board).key(code)], cost_bps) for e in taking_part]
        judge_rows(rows, {key: np.array(path or (), dtype=np.float64) for key, path in paths.items()}, base)
        result["rows"] += sorted(rows, key=lambda row: (bool(row["error"]), row.get("te_rms", 0.0)))
    return result


def _row(market: str, panel: MarketPanel, entrant: Entrant, found: Row, cost_bps: float) -> Row:
    """The figures of one run, or what went wrong."""
    row: Row = {"market": market, "strategy": entrant.name, "group": entrant.group, "key": found["key"]}
    row["error"] = found["error"][:300]
    if found["status"] != "ok":
        return row
    row |= {key: found[key] for key in FIGURES}
    row |= {f"net_excess_{cost}": net_excess(found, cost - cost_bps, panel.periods_per_year) for cost in COSTS}
    return row | {"ms_per_bar": 1e3 * found["seconds"] / panel.n_bars}
