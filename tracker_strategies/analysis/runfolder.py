"""The folder that a run leaves behind: everything needed to check it, repeat it and show it."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from datafeeds import MarketPanel
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import OutputError, TrackerError

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
    ``tracker tearsheet FOLDER`` draws it later.
    """
    target = Path(folder).expanduser()
    scored = record.since(eval_from)
    with staged_folder(target) as stage:
        write_json(stage / "run.json", describe(record, panel, eval_from=eval_from, seed=seed))
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
    record: RunRecord, panel: MarketPanel, *, eval_from: float | str | None = None, seed: int | None = None
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
        "first_scored": first_scored(record.since(eval_from)),
        "events": list(record.events),
        "cash": float(record.value[0]),
        "eval_from": eval_from,
        "seed": seed,
        "versions": {name: _version(name) for name in _VERSIONED},
        "kernels": record.kernels,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def check_place(target: Path, what: str = "run", files: Collection[str] = RUN_FILES) -> None:
    """Raise :class:`OutputError` unless a run, or something else with files of its own and a ``<what>.json`` among them, could be
    written there, in the place of an earlier one if need be: to fail before minutes of work, not after.
    """
    if target.exists() and not target.is_dir():
        raise OutputError(f"cannot write to {target}: it is a file; choose a folder")
    if target.is_dir():
        entries = {p.name for p in target.iterdir()}
        if entries.difference(files) or (entries and f"{what}.json" not in entries):
            other = min(entries.difference(files), default=f"no {what}.json")
            raise OutputError(f"{target} holds other things than a {what} ({other}); choose an empty or new folder with --out")
        if target.resolve() in (Path.cwd(), *Path.cwd().parents):
            raise OutputError(f"{target} is the folder you are in and cannot be replaced; choose a folder inside it with --out")
    above = next(p for p in target.absolute().parents if p.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write to {target}: {above} is not a folder that may be written to; choose another with --out")


@contextmanager
def staged_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside the target that takes its place when all went well, and vanishes when not."""
    check_place(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        old = stage.with_name(stage.name + "-old")
        try:
            yield stage
            stage.chmod(0o755)
            if target.exists():
                os.replace(target, old)
            os.replace(stage, target)
        finally:
            if old.exists() and not target.exists():  # interrupted between the two: the older run stays
                os.replace(old, target)
            for folder in (stage, old):
                shutil.rmtree(folder, ignore_errors=True)
    except OSError as problem:
        if isinstance(problem, TrackerError):
            raise
        raise OutputError(f"cannot write to {target}: {problem.strerror or problem}; choose another folder with --out") from None


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Sorted as given, two spaces, no NaN (they become null), a newline at the end."""
    path.write_text(as_text(content) + "\n", encoding="utf-8")


def as_text(content: Mapping[str, Any]) -> str:
    """Valid JSON: NaN and infinities become null."""
    return json.dumps(_jsonable(content), indent=2, allow_nan=False)


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(v) for v in value]
    if hasattr(value, "tolist"):
        return _jsonable(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else repr(value)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
