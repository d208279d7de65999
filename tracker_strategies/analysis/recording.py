"""From a finished run to its :class:`RunRecord`, wherever it lies: in a strategy that cerebro has run, or in a run folder."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import backtrader as bt
import pandas as pd

from datafeeds import PanelFeed
from tracker_strategies.analysis.attribution.index_weights import index_weights_of
from tracker_strategies.analysis.attribution.ladder import Attribution, attribute
from tracker_strategies.analysis.breaches import breach_table
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.runfolder import ATTRIBUTION, known_of, read_run
from tracker_strategies.errors import DataError
from tracker_strategies.execution.commission import charged
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


def attribution_of(run: Run) -> Attribution | None:
    """Where the tracking error of a run came from; None where that was not kept, or where no bar is scored."""
    if isinstance(run, (str, os.PathLike)):
        place = Path(run).expanduser()
        if not (place / ATTRIBUTION).is_file():
            return None
        told = json.loads((place / "run.json").read_text(encoding="utf-8"))
        return Attribution.from_frame(pd.read_parquet(place / ATTRIBUTION), told["sectors"])
    record = as_record(run)
    return None if record.stages is None or len(record.dates) < 2 else attribute(record, index_weights_of(record))


def new_record(
    cls: type, params: Mapping[str, Any], costs: CostModel | None, tracker: Tracker | None, **columns: Any
) -> RunRecord:
    """The record of a run of a class with these parameters; ``columns`` are all fields that those do not tell."""
    sectors = params.get("sectors")
    keeper = None if tracker is None else tracker.keeper
    if keeper is not None and columns.get("decisions") is not None:
        if columns.get("breaches") is None:
            columns["breaches"] = breach_table(keeper, *(columns[name] for name in ("symbols", "dates", "weights", "decisions")))
        columns["invested"] = keeper.limits.total
        if keeper.rounding[1]:
            columns["rounding"] = math.sqrt(keeper.rounding[0] / keeper.rounding[1])
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
    periods_per_year: float | None = None,
    kernels: str | None = None,
) -> RunRecord:
    """The record of a finished run whose strategy had a TrackingAnalyzer ``tracking`` and a HoldingsAnalyzer ``holdings``.

    Bars per year are the strategy's ``bars_per_year``, or inferred from the dates, when they are not given. A DiagnosticsAnalyzer
    ``diagnostics`` is used if there is one.
    Costs are recorded where :func:`~tracker_strategies.execution.commission.charge` set them; ``kernels``
    (``algorithms.kernels.in_use()``) are for the record.

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from tracker_strategies import EqualWeight, HoldingsAnalyzer, TrackingAnalyzer, record_of
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
    >>> position = cerebro.addstrategy(EqualWeight)
    >>> cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    >>> cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings")
    >>> record_of(cerebro.run()[0]).weights.shape
    (100, 20)
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
    panel = next((feed.panel for feed in strategy.datas if isinstance(feed, PanelFeed)), None)
    return new_record(
        type(strategy),
        strategy.p._getkwargs(),
        charged(strategy.broker),
        strategy.tracker if isinstance(strategy, TrackerStrategy) else None,
        dates=tracking.dates,
        value=tracking.value,
        index=tracking.index,
        targets=tracking.names,
        symbols=holdings.symbols,
        weights=holdings.weights,
        names_held=holdings.names_held,
        turnover=holdings.turnover,
        cost=holdings.cost,
        unfilled=holdings.unfilled,
        orders=holdings.orders,
        periods_per_year=year if year is not None else math.nan,
        decisions=holdings.decisions,
        breaches=holdings.breaches,
        seen=tracking.seen,
        blend=tracking.blend,
        diagnostics=strategy.analyzers.diagnostics.table if hasattr(found, "diagnostics") else None,
        data={} if panel is None else known_of(panel),
        kernels=kernels,
        flow=tracking.flow,
        carried=tracking.carried,
        entry=tracking.entry,
        stages=strategy.analyzers.stages.stages(tracking.value) if hasattr(found, "stages") else None,
    )
