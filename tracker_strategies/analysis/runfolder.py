"""The folder that a run leaves behind: everything needed to check it, repeat it and show it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from datafeeds import MarketPanel
from datafeeds.files import staged_folder, write_json
from tracker_strategies.analysis.record import RunRecord

DISTRIBUTION = "backtrader-index-tracker"
SHEET = "tearsheet.html"
#: All that a run folder holds; a folder with anything else in it is never replaced.
RUN_FILES = {
    "run.json",
    "metrics.json",
    "weights.parquet",
    "decisions.parquet",
    "returns.parquet",
    "orders.parquet",
    "diagnostics.parquet",
    SHEET,
}
#: Columns of ``returns.parquet`` with the levels of the indices; empty where one has no level of its own.
LEVEL = "level "
_COLUMNS = ("value", "portfolio", "active", "turnover", "cost", "flow")
_VERSIONED = (DISTRIBUTION, "backtrader", "numpy", "pandas", "scipy", "numba")


def write_run(
    record: RunRecord,
    folder: str | Path,
    panel: MarketPanel,
    *,
    scored: RunRecord | None = None,
    eval_from: float | str | None = None,
    seed: int | None = None,
    tearsheet: bool = False,
    baselines: tuple[RunRecord, ...] = (),
) -> Path:
    """Write ``run.json``, ``metrics.json``, ``weights``, ``decisions``, ``returns``, ``orders`` and ``diagnostics`` (Parquet),
    and ``tearsheet.html`` if asked for and at least one bar is scored.

    The folder appears whole or not at all; an older run in the same place is replaced, anything else there is left alone and
    refused. Same inputs, same bytes, but for the time stamp in ``run.json`` (and one in the tear sheet).

    The data come first, the tear sheet after: should it fail, or be interrupted, the folder is a finished run without a page, and
    ``tracker tearsheet FOLDER`` draws it later. ``scored`` is ``record.since(eval_from)``, where somebody has it already.
    """
    target = Path(folder).expanduser()
    scored = record.since(eval_from) if scored is None else scored
    with staged_folder(target, "run", RUN_FILES) as stage:
        write_json(stage / "run.json", describe(record, scored, panel, eval_from=eval_from, seed=seed))
        write_json(stage / "metrics.json", scored.metrics_by_target())
        dates = pd.DatetimeIndex(record.dates, name="date")
        pd.DataFrame(record.weights, index=dates, columns=list(record.symbols)).to_parquet(stage / "weights.parquet")
        if record.decisions is not None:
            pd.DataFrame(record.decisions, index=dates, columns=list(record.symbols)).to_parquet(stage / "decisions.parquet")
        returns_frame(record).to_parquet(stage / "returns.parquet")
        record.orders.to_parquet(stage / "orders.parquet", index=False)
        if record.diagnostics is not None and len(record.diagnostics.columns):
            record.diagnostics.to_parquet(stage / "diagnostics.parquet")
    if tearsheet and len(scored.dates) > 1:
        from tracker_strategies.analysis.pages.tear_sheet import tearsheet as write_tearsheet

        write_tearsheet(scored, target / SHEET, baselines=[b.since(eval_from) for b in baselines])
    return target


def returns_frame(record: RunRecord) -> pd.DataFrame:
    """Bar by bar: value, portfolio return, index return(s), active return, turnover, cost, cash paid in or out, index level(s).

    The first bar has no return. A bar on which an index has no level of its own has no return of it either. Bars that are not
    scored, because the account had yet to get to its target, have no active return.
    """
    dates = pd.DatetimeIndex(record.dates, name="date")
    frame = pd.DataFrame({"value": record.value}, index=dates)
    frame["portfolio"] = np.r_[np.nan, record.returns]
    levels = pd.DataFrame(record.index, index=dates, columns=[LEVEL + name for name in record.targets])
    if record.seen is not None:
        levels = levels.where(record.seen)
    for name in record.targets:  # an index may be called "value"
        frame[name if name not in _COLUMNS else f"return {name}"] = levels[LEVEL + name].dropna().pct_change()
    frame["active"] = np.r_[np.nan, record.active]
    frame.loc[: record.part.dates[0], "active"] = np.nan
    frame["turnover"], frame["cost"] = record.turnover, record.cost
    frame["flow"] = 0.0 if record.flow is None else record.flow
    return frame.join(levels)


def first_scored(scored: RunRecord) -> str | None:
    """Day of the first scored bar; None when there is none."""
    return str(scored.dates[1].astype("datetime64[D]")) if len(scored.dates) > 1 else None


def describe(
    record: RunRecord, scored: RunRecord, panel: MarketPanel, *, eval_from: float | str | None = None, seed: int | None = None
) -> dict[str, Any]:
    """What was run, on which data, with which versions."""
    return {
        "strategy": record.strategy,
        "params": dict(record.params),
        "targets": list(record.targets),
        "omega": record.omega,
        "sectors": dict(record.sectors),
        "data": {
            "source": panel.source,
            "sha256": panel.fingerprint(),
            "first": panel.day(0),
            "last": panel.day(-1),
            "n_bars": panel.n_bars,
            "assets": list(panel.symbols),
            "targets": list(panel.targets),
            "dropped": dict(panel.dropped),
            "cut": list(panel.cut),
            "cleaning": None if panel.cleaning is None else panel.cleaning.as_dict(),
        },
        "bars_per_year": record.periods_per_year,
        "entry": asdict(record.entry),
        "first_scored": first_scored(scored),
        "events": list(record.events),
        "cash": float(record.value[0]),
        "eval_from": eval_from,
        "seed": seed,
        "versions": {name: _version(name) for name in _VERSIONED},
        "kernels": record.kernels,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
