"""The tear sheet: one HTML file that tells how a run tracked its index, with the QuantStats report behind it.

The file needs nothing but itself: no network, no scripts, no fonts. Same record, same bytes.
"""

from __future__ import annotations

import html
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from string import Template

import numpy as np
import pandas as pd

from tracker_strategies.analysis import charts, more_charts
from tracker_strategies.analysis.charts import percent
from tracker_strategies.analysis.metrics import annualised
from tracker_strategies.analysis.quantstats_page import check_levels, quantstats_body, require_quantstats
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import DataError, OutputError

TOP_WEIGHTS = 10


def tearsheet(
    record: RunRecord, path: str | os.PathLike[str], *, title: str | None = None, baselines: Sequence[RunRecord] = ()
) -> Path:
    """Write the tear sheet of a run and return where it is.

    Parameters
    ----------
    record : RunRecord
        The run. With several targets the figures are against their blend, and a table has those against each; the charts of
        levels and the QuantStats part show the first.
    path : path-like
        File to write; missing folders are made, an older file is replaced in one step.
    title : str, optional
        Heading, default "<strategy> tracks <first target>". Any text: it is escaped.
    baselines : sequence of RunRecord
        Other runs on the same bars and target, set beside this one in a table and in the chart of active return.

    Raises
    ------
    DataError
        NaN, infinite or non-positive levels, dates that do not ascend or carry a time zone, a baseline on other bars.
    MissingExtraError
        QuantStats is not installed.
    OutputError
        The file cannot be written there. Nothing is left behind.

    Notes
    -----
    About 5 s for 3000 bars, nearly all of it in QuantStats; the file has about 1 MB.
    """
    target = Path(path)
    _check_target(target)
    for run in (record, *baselines):
        _check_record(run)
        if not np.array_equal(run.dates, record.dates) or run.targets[0] != record.targets[0]:
            raise DataError(
                f"baseline {run.strategy!r} has other bars or another target than {record.strategy!r}: not comparable"
            )
    require_quantstats()
    _write(target, _page(record, title or f"{record.strategy} tracks {record.targets[0]}", baselines))
    return target


def _page(record: RunRecord, title: str, baselines: Sequence[RunRecord]) -> str:
    dates = pd.DatetimeIndex(record.dates)
    value, index = pd.Series(record.value, dates), pd.Series(record.index[:, 0], dates)
    span = f"{_day(dates[0])} to {_day(dates[-1])}, {len(dates) - 1:,} bars"
    templates = resources.files(__package__) / "templates"
    with charts.chart_style():
        drawn = [
            charts.growth(record),
            charts.active(record, baselines),
            charts.rolling_error(record),
            charts.trading(record),
            charts.holdings(record),
            charts.weights_over_time(record),
            more_charts.names_held(record),
            *more_charts.diagnostics(record),
        ]
    return Template((templates / "tearsheet.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        css=(templates / "tearsheet.css").read_text(encoding="utf-8"),
        lead=f"{span}, {len(record.symbols)} candidates. All figures after costs.",
        tiles=_tiles(record),
        comparison=_comparison(record, baselines) if baselines else "",
        targets=_targets(record) if len(record.targets) > 1 else "",
        charts="\n".join(chart.html() for chart in drawn if chart),
        weights=_weights(record),
        parameters=_parameters(record.params),
        periods=f"{record.periods_per_year:g}",
        strategy=html.escape(record.strategy),
        target=html.escape(record.targets[0]),
        quantstats=quantstats_body(value, index, periods_per_year=record.periods_per_year),
    )


def _day(date: pd.Timestamp) -> str:
    return f"{date.day} {date:%b %Y}"


def _number(value: float, digits: int = 3, sign: bool = False) -> str:
    """At least three significant digits, thousands apart, a true minus sign."""
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    zeros = -int(np.floor(np.log10(abs(value)))) - 1 if 0 < abs(value) < 1 else 0
    text = f"{value:{'+' if sign else ''},.{min(max(digits - whole + zeros, 0), 8)}f}"
    return text.replace("-", "\u2212")


def _bp(fraction: float) -> str:
    return f"{_number(1e4 * fraction)}\u202fbp"


def _signed_percent(fraction: float) -> str:
    return f"{_number(100 * fraction, sign=True)}\u202f%"


#: Heading and wording of each figure, in the order of the page.
FIGURES: dict[str, tuple[str, Callable[[float], str]]] = {
    "te_rms": ("TE, RMS", _bp),
    "te_centred": ("TE, centred", _bp),
    "tracking_difference": ("Tracking difference", _signed_percent),
    "excess_log_return": ("Excess log return", lambda v: _number(v, sign=True)),
    "final_value": ("Final value", lambda v: f"{v:,.0f}"),
    "turnover": ("Turnover", lambda v: f"{_number(100 * v)}\u202f%"),
    "cost_bps": ("Cost", lambda v: f"{_number(v)}\u202fbp"),
    "n_holdings": ("Holdings", lambda v: f"{v:,.1f}"),
    "mdte": ("MDTE", _bp),
    "n_bars": ("Bars", lambda v: f"{v:,.0f}"),
}


def _data(key: str, value: float) -> str:
    """The figure for people, with the exact value for programs in the attribute."""
    return f'<data data-metric="{key}" value="{value!r}">{FIGURES[key][1](value)}</data>'


def _tiles(record: RunRecord) -> str:
    m, year = record.metrics(), record.periods_per_year
    growth = record.value[-1] / record.value[0] - 1, record.index[-1, 0] / record.index[0, 0] - 1
    effective = charts.effective_names(record.weights[1:])
    details = {
        "te_rms": f"a bar; {percent(annualised(m['te_rms'], year), 2)} annualised",
        "te_centred": f"a bar; {percent(annualised(m['te_centred'], year), 2)} annualised",
        "tracking_difference": f"portfolio {_signed_percent(growth[0])}, index {_signed_percent(growth[1])}",
        "excess_log_return": f"{_signed_percent(m['excess_log_return'] * year / m['n_bars'])} a year",
        "final_value": f"from {record.value[0]:,.0f}",
        "turnover": f"of value a bar; {_number(100 * m['turnover'] * year)}\u202f% a year",
        "cost_bps": f"a bar; {_number(m['cost_bps'] * year)}\u202fbp a year, {record.cost[1:].sum():,.0f} in total",
        "n_holdings": f"names on average; {effective.mean():,.1f} effective",
        "mdte": "\u221a\u2211e\u00b2\u2009/\u2009T; depends on the number of bars",
        "n_bars": f"{year:g} to a year",
    }
    return "\n".join(
        f'<div class="tile"><h3>{FIGURES[key][0]}</h3>{_data(key, m[key])}<p>{details[key]}</p></div>' for key in FIGURES
    )


def _figure_rows(first: str, rows: Sequence[tuple[str, RunRecord, int | None]]) -> str:
    """One run or index a row, with TE also annualised."""
    head, body = f"<th>{first}</th>" + "".join(f"<th>{label}</th>" for label, _ in FIGURES.values()), ""
    for number, (name, run, target) in enumerate(rows):
        m, cells = run.metrics(target), f'<th scope="row">{html.escape(name)}</th>'
        for key in FIGURES:
            yearly = (
                f"<small>{percent(annualised(m[key], run.periods_per_year), 2)} a year</small>" if key.startswith("te_") else ""
            )
            cells += f"<td>{_data(key, m[key])}{yearly}</td>"
        body += f"<tr>{cells}</tr>" if number else f'<tr class="own">{cells}</tr>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _comparison(record: RunRecord, baselines: Sequence[RunRecord]) -> str:
    table = _figure_rows("Run", [(run.strategy, run, None) for run in (record, *baselines)])
    return f'<section class="card table" id="comparison"><h3>Against baselines</h3><div class="scroll">{table}</div></section>'


def _targets(record: RunRecord) -> str:
    blend = " + ".join(f"{w:.0%} {name}" for w, name in zip(record.blend, record.targets, strict=True))
    table = _figure_rows("Index", [(blend, record, None), *((name, record, i) for i, name in enumerate(record.targets))])
    return f'<section class="card table" id="targets"><h3>Index by index</h3><div class="scroll">{table}</div></section>'


def _weights(record: RunRecord) -> str:
    last, mean, peak = record.weights[-1], record.weights[1:].mean(axis=0), record.weights[1:].max(axis=0)
    order = np.argsort(-last, kind="stable")
    shown, rest = order[:TOP_WEIGHTS], order[TOP_WEIGHTS:]
    rows = [(record.symbols[i], last[i], mean[i], percent(peak[i], 2)) for i in shown]
    if len(rest):
        rows.append((f"{len(rest)} others", last[rest].sum(), mean[rest].sum(), ""))
    rows.append(("Cash", 1.0 - last.sum(), 1.0 - mean.sum(), ""))
    widest = max(float(last[shown].max(initial=0.0)), 1e-12)
    body = ""
    for name, end, average, top in rows:
        bar = f'<i style="width:{100 * min(max(end, 0.0) / widest, 1.0):.1f}%"></i>'
        body += f'<tr><th scope="row">{html.escape(name)}</th><td class="bar">{bar}</td><td>{percent(end, 2)}</td>'
        body += f"<td>{percent(average, 2)}</td><td>{top}</td></tr>"
    head = "".join(f"<th>{word}</th>" for word in ("Name", "", "At the end", "Mean", "Highest"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _parameters(params: Mapping[str, object]) -> str:
    if not params:
        return '<p class="small">None recorded.</p>'
    rows = "".join(
        f'<tr><th scope="row">{html.escape(str(k))}</th><td>{html.escape(str(v))}</td></tr>' for k, v in params.items()
    )
    return f'<table class="parameters"><tbody>{rows}</tbody></table>'


def _check_record(run: RunRecord) -> None:
    dates = pd.DatetimeIndex(run.dates)
    for name, levels in (("value", run.value), *((f"index {t}", run.index[:, i]) for i, t in enumerate(run.targets))):
        if len(levels) != len(dates):
            raise DataError(f"{run.strategy}: {name} has {len(levels)} rows for {len(dates)} dates")
        check_levels(pd.Series(levels, dates), f"{run.strategy}: {name}")
    for name, table in (("weights", run.weights), ("turnover", run.turnover), ("cost", run.cost)):
        if len(table) != len(dates) or not np.isfinite(table).all():
            raise DataError(f"{run.strategy}: {name} must be finite, one row for each of the {len(dates)} dates")
    if len(dates) < 2:
        raise DataError(f"{run.strategy}: {len(dates)} row(s), a tear sheet needs the base row and at least one bar")


def _check_target(target: Path) -> None:
    """Fail before the work, not after it."""
    try:
        folder = next(parent for parent in target.absolute().parents if parent.exists())
        if target.is_dir():
            problem = f"it is a folder; name a file in it, such as {target / 'tearsheet.html'}"
        elif not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            problem = f"{folder} is not a folder that can be written to"
        else:
            return
    except OSError as error:
        problem = error.strerror or str(error)
    raise OutputError(f"cannot write {target}: {problem}")


def _write(target: Path, page: str) -> None:
    """Beside the target first, then in its place in one step; on failure neither a part nor a new folder stays."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    made = [folder for folder in target.absolute().parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(page)
        part.replace(target)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
            for folder in made:
                folder.rmdir()
        if isinstance(error, OSError):
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
        raise
