"""The comparison page: several runs on the same bars in one interactive HTML file that needs nothing but itself.

Drawn by uPlot (MIT), which is written into the page with its licence. A content security policy that names the hash of the one
script and of the one style sheet forbids everything else: other scripts, and any request. Names are text, whatever they contain.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.analysis.inference.runs import differences, judge_runs, on_common_bars
from tracker_strategies.analysis.inference.verdicts import Judged
from tracker_strategies.analysis.pages.judged import EXPLAINED, judged_table
from tracker_strategies.analysis.pages.page import check_page, render, source, write_page
from tracker_strategies.analysis.pages.words import FIGURES, bars_in_words, figure, keys_of, simulated, why_unscored, year_words
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.recording import Run, as_record
from tracker_strategies.errors import DataError, ParameterError

Floats = NDArray[np.float32]
#: Runs of a field that have curves, first come, and bars of all curves of a page; runs beyond are in the table and the frontiers.
MOST_CURVES, MOST_BARS = 24, 150_000
#: Colours of runs in the style sheet; after these they come again, with dashes.
N_COLOURS = 10
VERSION = "1.6.32"


@dataclass(frozen=True, eq=False)
class Curve:
    """One run as the page shows it.

    Parameters
    ----------
    name : str
        Any text.
    metrics : mapping
        Figures of ``metrics.json``, all or some.
    active, excess : (T,) float32
        Bar by bar: return minus that of the index, and log return over that of the index.
    """

    name: str
    metrics: Mapping[str, float]
    active: Floats
    excess: Floats

    @classmethod
    def of(cls, record: RunRecord, name: str | None = None) -> Self:
        """From a record."""
        path, label = np.diff(record.excess_path()), name or record.strategy
        if not np.isfinite(path).all():
            raise DataError(f"run {label!r}: value and index must be finite and positive on every scored bar")
        return cls(label, record.metrics(), record.active.astype(np.float32), path.astype(np.float32))


@dataclass(frozen=True, eq=False)
class Field:
    """Runs on the same bars, to be compared with each other.

    Parameters
    ----------
    name : str
        Of the market, or of the setting.
    curves : sequence of Curve
    dates : (T + 1,) datetime64, optional
        Of the base row and the bars; numbers from 0 on when there are none.
    index : (T,) float32, optional
        Log returns of what is tracked.
    periods_per_year : float, optional
        Without it nothing is annualised.
    judged : mapping of name to Judged
        Which run is better than the reference; empty where nobody asked.
    notes : sequence of str
        In what the runs differ beside their strategies.
    source : str
        Where the prices come from.
    """

    name: str
    curves: Sequence[Curve]
    dates: NDArray[np.datetime64] | None = None
    index: Floats | None = None
    periods_per_year: float | None = None
    judged: Mapping[str, Judged] = field(default_factory=dict)
    notes: Sequence[str] = ()
    source: str = ""

    @classmethod
    def of(cls, records: Mapping[str, RunRecord], name: str = "", against: str | None = None) -> Self:
        """From records by name, on the bars that are scored in all of them, judged against one of them, by default the first."""
        notes = differences(records) if len(records) > 1 else ()
        for label, run in records.items():
            if len(run.part.dates) < 2:
                raise DataError(f"run {label!r}: no bar is scored, {why_unscored(run)}; or remove the run")
        records = on_common_bars(records)
        first = next(iter(records.values()))
        for label, run in records.items():
            same = run.targets == first.targets and np.array_equal(run.blend, first.blend)
            same = same and np.array_equal(run.dates, first.dates) and np.array_equal(run.index, first.index, equal_nan=True)
            if not same:
                raise DataError(
                    f"run {label!r} has other bars, another index or another blend than {next(iter(records))!r}: not comparable"
                )
        index = np.log1p(first.bar_by_bar()[1]).astype(np.float32)
        curves = [Curve.of(run, label) for label, run in records.items()]
        judged = judge_runs(records, against) if len(records) > 1 else {}
        source = str(first.data.get("source", ""))
        return cls(name or " + ".join(first.targets), curves, first.dates, index, first.periods_per_year, judged, notes, source)


def comparison(
    runs: Sequence[Run] | Mapping[str, Run],
    path: str | os.PathLike[str],
    *,
    title: str = "Trackers on the same bars",
    lead: str = "",
    against: str | None = None,
) -> Path:
    """Write the page that compares runs and return its path.

    Parameters
    ----------
    runs : sequence or mapping of name to run
        Records, run folders or finished strategies on the same bars and index. Without names, those of the strategies, numbered
        where they come twice.
    path : path-like
        File to write; missing folders are made, an older file is replaced in one step.
    title, lead : str
        Heading, and a line below it; by default index, dates and number of bars. Any text: it is escaped.
    against : str, optional
        Name of the run that the others are judged against; by default the first.

    Raises
    ------
    DataError
        Runs on other bars or another index, values that are not positive, or a folder that holds none.
    ParameterError
        No runs, or a reference that is none of them.
    OutputError
        The file cannot be written there. Nothing is left behind.

    Notes
    -----
    About 0.4 MB for 10 runs of 2520 bars.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies import backtest, comparison
    >>> panel = load_sample().rows(0, 100)
    >>> comparison({name: backtest(panel, name) for name in ("ensemble", "equal-weight")}, "comparison.html").name
    'comparison.html'
    """
    target = Path(path).expanduser()
    check_page(target)
    if not runs:
        raise ParameterError("no runs to compare: give at least one")
    named = runs if isinstance(runs, Mapping) else dict(zip(_names(found := [as_record(r) for r in runs]), found, strict=True))
    records = {name: as_record(run) for name, run in named.items()}
    return write_page(target, comparison_page([Field.of(records, against=against)], title, lead))


def _names(records: Sequence[RunRecord]) -> list[str]:
    """The names of the strategies, numbered where one comes twice."""
    own = [record.strategy for record in records]
    return [name if own.count(name) == 1 else f"{name} ({own[: i + 1].count(name)})" for i, name in enumerate(own)]


def comparison_page(fields: Sequence[Field], title: str, lead: str = "") -> str:
    """The page as text. With several fields it shows one at a time."""
    # The plotter without its first comment, an address: the licence stands in its place.
    plotter = re.sub(r"^/\*!.*?\*/\s*", "", source("uPlot.iife.min.js"), count=1, flags=re.S)
    script = f"/* uPlot {VERSION}\n{source('uPlot.LICENSE.txt')}\n*/\n{plotter}\n{source('comparison.js')}"
    style = "\n".join(source(name) for name in ("page.css", "uPlot.min.css", "comparison.css"))
    most = min(MOST_CURVES, max(4, MOST_BARS // max(1, sum(len(field.curves[0].active) for field in fields))))
    return render(
        "comparison.html",
        script=script,
        style=style,
        hash_of=_hash,
        title=title,
        lead=lead or _lead(fields[0]),
        fields=[_shown(field) for field in fields],
        most=most,
        colours=N_COLOURS,
        explained=EXPLAINED,
        survivors=not all(simulated(field.source) for field in fields),
        year=year_words(fields[0].periods_per_year, fields[0].dates),
        data={"colours": N_COLOURS, "fields": [_data(field, most) for field in fields]},
    )


def _shown(field: Field) -> dict[str, Any]:
    """The runs of a field with their figures, for the table."""
    keys = keys_of([curve.metrics for curve in field.curves])
    runs = [(c.name, [figure(key, c.metrics[key], field.periods_per_year) for key in keys]) for c in field.curves]
    judged = judged_table(field.judged, field.periods_per_year) if field.judged else None
    return {
        "name": field.name,
        "head": ["Run", *(FIGURES[key][0] for key in keys)],
        "runs": runs,
        "judged": judged,
        "notes": field.notes,
    }


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _lead(field: Field) -> str:
    if field.dates is None:
        return f"{len(field.curves)} runs."
    first, last = (str(field.dates[i].astype("datetime64[D]")) for i in (0, -1))
    return f"{field.name}: {len(field.curves)} runs, {first} to {last}, {bars_in_words(field.dates)}. All figures after costs."


def _data(field: Field, most: int) -> dict[str, Any]:
    dates, years = field.dates, 1.0
    if field.periods_per_year is not None:
        years = len(field.curves[0].active) / field.periods_per_year
    return {
        "name": field.name,
        "x": None if dates is None else (dates.astype("datetime64[s]").astype(np.int64)).tolist(),
        "index": None if field.index is None else _packed(field.index),
        "periods": field.periods_per_year,
        "runs": [
            {
                "name": curve.name,
                "te": float(curve.metrics["te_rms"]),
                "excess": float(curve.metrics["excess_log_return"]) / years,
                "turnover": float(curve.metrics["turnover"]),
                "path": [_packed(curve.active), _packed(curve.excess)] if i < most else None,
            }
            for i, curve in enumerate(field.curves)
        ],
    }


def _packed(values: Floats) -> str:
    """Little-endian single floats in base64: half the size of decimals, and more digits than a screen has points."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()
