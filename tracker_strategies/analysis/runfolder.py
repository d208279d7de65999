"""The folder that a run leaves behind: everything needed to check it, repeat it and show it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds import MarketPanel
from datafeeds.files import check_place, staged_folder, write_json
from tracker_strategies._version import DISTRIBUTION
from tracker_strategies.analysis.attribution.index_weights import index_weights_of
from tracker_strategies.analysis.attribution.ladder import attribute
from tracker_strategies.analysis.entry import Entry
from tracker_strategies.analysis.places import check_outside, refuse_other
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import DataError

SHEET, ATTRIBUTION = "tearsheet.html", "attribution.parquet"
#: The workbook of a run, and the tables in it, which may be CSV files as well.
BOOK, TABLES = "results.xlsx", ("metrics", "weights", "trades", "returns", "breaches")
#: All that a run folder holds; a folder with anything else in it is never replaced.
RUN_FILES = {
    "run.json",
    "metrics.json",
    "weights.parquet",
    "decisions.parquet",
    "returns.parquet",
    "orders.parquet",
    "diagnostics.parquet",
    "breaches.parquet",
    "stages.parquet",
    ATTRIBUTION,
    SHEET,
    BOOK,
    *(f"{name}.csv" for name in TABLES),
}
#: Columns of ``returns.parquet`` with the levels of the indices; empty where one has no level of its own.
LEVEL = "level "
_COLUMNS = ("value", "portfolio", "active", "turnover", "cost", "flow", "flow_at_close", "idle_cash", "unfilled")
_VERSIONED = (DISTRIBUTION, "backtrader", "numpy", "pandas", "scipy", "numba")


def write_run(
    record: RunRecord,
    folder: str | Path,
    panel: MarketPanel,
    *,
    scored: RunRecord | None = None,
    eval_from: float | str | None = None,
    seed: int | None = None,
    asked: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Path:
    """Write ``run.json``, ``metrics.json``, ``weights``, ``decisions``, ``returns``, ``orders``, ``breaches``,
    ``diagnostics``, ``stages`` and ``attribution`` (Parquet).

    The folder appears whole or not at all. An older run of the same strategy with the same parameters on the same data is
    replaced; with ``force``, any run. Anything else there is left alone and refused. Same inputs, same bytes, but for the time
    stamp in ``run.json``. Whoever wants a page calls :func:`~tracker_strategies.analysis.pages.tear_sheet.tearsheet` on the
    folder after. ``scored`` is ``record.since(eval_from)``, where somebody has it already; ``asked`` is what a command was asked
    for, by which :func:`check_run_place` knows the run again.
    """
    target = Path(folder).expanduser()
    scored = record.since(eval_from) if scored is None else scored
    told = {**describe(record, scored, panel, eval_from=eval_from, seed=seed), "asked": asked}
    if not force:
        check_outside(target)
        refuse_other(target / "run.json", {"strategy": told["strategy"]}, key="")
        refuse_other(target / "run.json", told["params"], key="params")
        refuse_other(target / "run.json", {"sha256": told["data"]["sha256"]}, key="data")
    with staged_folder(target, "run", RUN_FILES) as stage:
        write_json(stage / "run.json", told)
        write_json(stage / "metrics.json", scored.metrics_by_target())
        dates = pd.DatetimeIndex(record.dates, name="date")
        pd.DataFrame(record.weights, index=dates, columns=list(record.symbols)).to_parquet(stage / "weights.parquet")
        if record.decisions is not None:
            pd.DataFrame(record.decisions, index=dates, columns=list(record.symbols)).to_parquet(stage / "decisions.parquet")
        returns_frame(record).to_parquet(stage / "returns.parquet")
        record.orders.to_parquet(stage / "orders.parquet", index=False)
        if record.breaches is not None:
            record.breaches.to_parquet(stage / "breaches.parquet", index=False)
        if record.stages is not None and len(scored.part.dates) > 1:
            stages_frame(record).to_parquet(stage / "stages.parquet")
            attribute(scored, index_weights_of(scored)).frame().to_parquet(stage / ATTRIBUTION)
        if record.diagnostics is not None and len(record.diagnostics.columns):
            record.diagnostics.to_parquet(stage / "diagnostics.parquet")
    return target


def check_run_place(target: Path, asked: Mapping[str, Any], *, force: bool = False) -> None:
    """Raise :class:`OutputError` where a run cannot be written: where other things lie, inside another result, or, without
    ``force``, over a run that was asked for in another way. To fail before minutes of work, not after.
    """
    check_place(target, "run", RUN_FILES)
    check_outside(target)
    if not force:
        refuse_other(target / "run.json", {"strategy": asked["strategy"]}, key="")
        refuse_other(target / "run.json", {"sha256": asked["data"]}, key="data")
        refuse_other(target / "run.json", asked)


def run_place(folder: str | os.PathLike[str]) -> Path:
    """The folder of a run; :class:`DataError` where there is none."""
    place = Path(folder).expanduser()
    if not is_run(place):
        raise DataError(f"{place} is not a run folder: it has no run.json; create one with 'tracker run STRATEGY --out {place}'")
    return place


def read_run(folder: str | os.PathLike[str], *, whole: bool = False) -> RunRecord:
    """Read back what :func:`write_run` wrote.

    Parameters
    ----------
    folder : path-like
    whole : bool, default False
        All bars, also those before the run's own ``eval_from``.

    Raises
    ------
    DataError
        The folder holds no run, or one that cannot be read.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies import backtest, read_run
    >>> from tracker_strategies.analysis import write_run
    >>> panel = load_sample().rows(0, 100)
    >>> folder = write_run(backtest(panel, "pa"), "run", panel)
    >>> read_run("run").weights.shape
    (99, 20)
    """
    place = run_place(folder)
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
            breaches=_optional(place / "breaches.parquet", lambda frame: frame),
            invested=told.get("invested", 1.0),
            rounding=told.get("rounding"),
            seen=None if seen.all() else seen,
            blend=np.array(told["blend"] if "blend" in told else told["omega"] or ()),  # its name before
            events=tuple(told["events"]),
            sectors=told["sectors"],
            data={key: told["data"][key] for key in ("source", "opens") if key in told["data"]},  # older folders tell less
            kernels=told.get("kernels"),
            flow=returns["flow"].to_numpy() if "flow" in returns else None,
            unfilled=returns["unfilled"].to_numpy() if "unfilled" in returns and "unfilled" not in targets else None,
            carried=returns["flow_at_close"].to_numpy() if "flow_at_close" in returns else None,
            entry=Entry(**told["entry"]) if "entry" in told else _first_fill(returns["turnover"].to_numpy(), told["params"]),
        )
    except (OSError, ValueError, KeyError) as problem:
        raise DataError(f"{place} cannot be read ({type(problem).__name__}: {problem}); run it again with --out") from None
    return record if whole else record.since(told["eval_from"])


def stages_frame(record: RunRecord) -> pd.DataFrame:
    """How decisions came about: columns "wish A", "allowed A", "traded A", "rounded A" and "shares A" of each name A.

    A stage that is the same as the one before it on every bar is left out.
    """
    kept, before = record.stages, None
    assert kept is not None
    parts = []
    for name in ("wish", "allowed", "traded", "rounded", "shares"):
        values = getattr(kept, name)
        if before is None or not np.array_equal(values, before):
            parts.append(pd.DataFrame(values, columns=[f"{name} {symbol}" for symbol in record.symbols]))
        before = values
    return pd.concat(parts, axis=1).set_index(pd.DatetimeIndex(record.dates, name="date"))


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
    frame["flow_at_close"] = 0.0 if record.carried is None else record.carried
    if record.breaches is not None:
        frame["idle_cash"] = record.idle_cash
    if record.unfilled is not None:
        frame["unfilled"] = record.unfilled
    return frame.join(levels)


def first_scored(scored: RunRecord) -> str | None:
    """Day of the first scored bar; None when there is none."""
    return str(scored.dates[1].astype("datetime64[D]")) if len(scored.dates) > 1 else None


def known_of(panel: MarketPanel) -> dict[str, Any]:
    """What a record knows of its prices."""
    return {"source": panel.source, "opens": panel.open is not None}


def describe(
    record: RunRecord, scored: RunRecord, panel: MarketPanel, *, eval_from: float | str | None = None, seed: int | None = None
) -> dict[str, Any]:
    """What was run, on which data, with which versions."""
    return {
        "strategy": record.strategy,
        "params": dict(record.params),
        "targets": list(record.targets),
        "blend": record.blend,
        "sectors": dict(record.sectors),
        "data": {
            **known_of(panel),
            "sha256": panel.fingerprint(),
            "first": panel.day(0),
            "last": panel.day(-1),
            "n_bars": panel.n_bars,
            "assets": list(panel.symbols),
            "targets": list(panel.targets),
            "dropped": dict(panel.dropped),
            "cut": list(panel.cut),
            "read_as": list(panel.read_as),
            "cleaning": None if panel.cleaning is None else panel.cleaning.as_dict(),
        },
        "bars_per_year": record.periods_per_year,
        "entry": asdict(record.entry),
        "invested": record.invested,
        "rounding": record.rounding,
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
