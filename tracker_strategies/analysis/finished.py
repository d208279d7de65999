"""A finished run as a :class:`RunRecord`, wherever it lies: in a strategy that cerebro has run, or in a run folder."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import backtrader as bt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracker_strategies.analysis.entry import Entry
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.runfolder import LEVEL
from tracker_strategies.errors import DataError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.strategies import TrackerStrategy
from tracker_strategies.strategies.tracker import Tracker

#: What pages are made of: a record, the folder of a run, or a strategy that ``cerebro.run`` has returned.
Run: TypeAlias = RunRecord | str | os.PathLike[str] | bt.Strategy


def as_record(run: Run) -> RunRecord:
    """The scored part of a run."""
    if isinstance(run, RunRecord):
        return run.part
    return read_run(run).part if isinstance(run, (str, os.PathLike)) else record_of(run).part


def new_record(
    cls: type, params: Mapping[str, Any], costs: CostModel | None, tracker: Tracker | None, **columns: Any
) -> RunRecord:
    """The record of a run of a class with these parameters; ``columns`` are all fields that those do not tell."""
    sectors = params.get("sectors")
    return RunRecord(
        strategy=getattr(cls, "alias_name", "") or cls.__name__,
        params={**params, **({} if costs is None else {"costs": asdict(costs)})},
        events=() if tracker is None else tracker.universe.named_events(columns["symbols"]),
        sectors=dict(sectors) if isinstance(sectors, Mapping) else {},
        **columns,
    )


def record_of(
    strategy: bt.Strategy,
    *,
    costs: CostModel | None = None,
    periods_per_year: float | None = None,
    kernels: str | None = None,
) -> RunRecord:
    """The record of a finished run whose strategy had a TrackingAnalyzer ``tracking`` and a HoldingsAnalyzer ``holdings``.

    Bars per year are the strategy's ``bars_per_year``, or told from the dates, when they are not given. A DiagnosticsAnalyzer
    ``diagnostics`` is used if there is one.
    ``costs`` and ``kernels`` (``algorithms.kernels.in_use()``) are for the record.
    """
    found = getattr(strategy, "analyzers", None)
    for name, kind in (("tracking", "TrackingAnalyzer"), ("holdings", "HoldingsAnalyzer")):
        if not hasattr(found, name):
            raise DataError(
                f"{type(strategy).__name__} has no analyzer {name!r}; before cerebro.run(), call "
                f"cerebro.addanalyzer({kind}, _name={name!r})"
            )
    tracking, holdings = strategy.analyzers.tracking, strategy.analyzers.holdings
    year = getattr(strategy.p, "bars_per_year", None) if periods_per_year is None else periods_per_year
    return new_record(
        type(strategy),
        strategy.p._getkwargs(),
        costs,
        strategy.tracker if isinstance(strategy, TrackerStrategy) else None,
        dates=tracking.dates,
        value=tracking.value,
        index=tracking.index,
        targets=tracking.names,
        symbols=holdings.symbols,
        weights=holdings.weights,
        turnover=holdings.turnover,
        cost=holdings.cost,
        orders=holdings.orders,
        periods_per_year=year if year is not None else math.nan,
        decisions=holdings.decisions,
        seen=tracking.seen,
        omega=tracking.omega,
        diagnostics=strategy.analyzers.diagnostics.table if hasattr(found, "diagnostics") else None,
        kernels=kernels,
        flow=tracking.flow,
        entry=tracking.entry,
    )


def read_run(folder: str | os.PathLike[str], *, whole: bool = False) -> RunRecord:
    """Read back what :func:`~tracker_strategies.analysis.runfolder.write_run` wrote.

    Parameters
    ----------
    folder : path-like
    whole : bool, default False
        All bars, also those before the run's own ``eval_from``.

    Raises
    ------
    DataError
        The folder holds no run, or one that cannot be read.
    """
    place = Path(folder).expanduser()
    if not is_run(place):
        raise DataError(f"{place} is no run folder: it has no run.json; write one with 'tracker run STRATEGY --out {place}'")
    try:
        told = json.loads((place / "run.json").read_text(encoding="utf-8"))
        weights, returns = (pd.read_parquet(place / f"{name}.parquet") for name in ("weights", "returns"))
        targets = tuple(told["targets"])
        levels = returns[[LEVEL + name for name in targets]].to_numpy(dtype=np.float64)
        seen = np.isfinite(levels)
        record = RunRecord(
            strategy=told["strategy"],
            dates=returns.index.to_numpy().astype("datetime64[ns]"),
            value=returns["value"].to_numpy(),
            index=pd.DataFrame(levels).ffill().bfill().to_numpy(),
            targets=targets,
            symbols=tuple(weights.columns),
            weights=weights.to_numpy(),
            turnover=returns["turnover"].to_numpy(),
            cost=returns["cost"].to_numpy(),
            orders=pd.read_parquet(place / "orders.parquet"),
            params=told["params"],
            periods_per_year=told.get("bars_per_year", math.nan),
            decisions=_optional(place / "decisions.parquet", lambda frame: frame.to_numpy()),
            diagnostics=_optional(place / "diagnostics.parquet", lambda frame: frame),
            seen=None if seen.all() else seen,
            omega=None if told["omega"] is None else np.array(told["omega"]),
            events=tuple(told["events"]),
            sectors=told["sectors"],
            kernels=told.get("kernels"),  # older folders do not tell
            flow=returns["flow"].to_numpy() if "flow" in returns else None,
            entry=Entry(**told["entry"]) if "entry" in told else _first_fill(returns["turnover"].to_numpy(), told["params"]),
        )
    except (OSError, ValueError, KeyError) as problem:
        raise DataError(f"{place} cannot be read ({type(problem).__name__}: {problem}); run it again with --out") from None
    return record if whole else record.since(told["eval_from"])


def is_run(folder: str | os.PathLike[str]) -> bool:
    """Whether a run was written there."""
    return (Path(folder).expanduser() / "run.json").is_file()


def _first_fill(turnover: NDArray[np.float64], params: Mapping[str, Any]) -> Entry:
    """The entry of a run of an older version, which did not write it down: the bar of the first fill."""
    filled = np.flatnonzero(turnover > 0.0)
    if not len(filled):
        return Entry(row=None, booked=len(turnover) - 1)
    first = int(filled[0])
    return Entry(max(first - 1, 0), max(first - (params.get("fill") == "close"), 0), first)


def _optional(path: Path, read: Any) -> Any:
    return read(pd.read_parquet(path)) if path.exists() else None
