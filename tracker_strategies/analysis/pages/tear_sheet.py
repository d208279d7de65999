"""The tear sheet: one HTML file that tells how a run tracked its index, with the QuantStats report behind it.

The file needs nothing but itself: no network, no scripts, no fonts. Same record, same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup

from datafeeds.bar_length import BarLength
from tracker_strategies.analysis.attribution.ladder import Attribution
from tracker_strategies.analysis.inference.verdicts import interval
from tracker_strategies.analysis.manager.exposure import beta, r_squared
from tracker_strategies.analysis.manager.turnover import trading
from tracker_strategies.analysis.metrics import annualised, capture, drawdown
from tracker_strategies.analysis.pages import charts, charts_held, charts_tracked
from tracker_strategies.analysis.pages.attributed import EXPLAINED, attribution_tables
from tracker_strategies.analysis.pages.limited import goals_table, limits_table, parameters_of
from tracker_strategies.analysis.pages.managed import PERIODS_EXPLAINED, active_tables, holding_words, in_interval, manager_tables
from tracker_strategies.analysis.pages.page import Bar, Cell, Table, Tile, Word, check_page, render, write_page
from tracker_strategies.analysis.pages.quantstats_page import check_levels, quantstats_body, require_quantstats
from tracker_strategies.analysis.pages.words import (
    EXTRA,
    FIGURES,
    bars_in_words,
    begins_later,
    bp,
    figure,
    number,
    percent,
    signed_percent,
    simulated,
    why_unscored,
    year_words,
)
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.recording import Run, as_record, attribution_of
from tracker_strategies.errors import DataError

TOP_WEIGHTS = 10


def tearsheet(
    run: Run,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    baselines: Sequence[RunRecord] = (),
    beside: str = "Against baselines",
    remarks: Sequence[str] = (),
) -> Path:
    """Write the tear sheet of a run and return its path.

    Parameters
    ----------
    run : RunRecord, path-like or Strategy
        A record; the folder of a run, of which the scored part is shown; or a strategy that ``cerebro.run`` has returned, with a
        TrackingAnalyzer ``tracking`` and a HoldingsAnalyzer ``holdings``. With several targets the figures are against their
        blend, and a table has those against each, as have the charts of excess return and a QuantStats part each.
    path : path-like
        File to write; missing folders are made, an older file is replaced in one step.
    title : str, optional
        Heading, default "<strategy> tracks <targets>". Any text: it is escaped.
    baselines : sequence of RunRecord
        Other runs on the same bars and target, shown next to this one in a table and in the chart of excess return. One that got
        to its target later has fewer bars, one that never did is left out.
    beside : str
        Heading of that table.
    remarks : sequence of str
        Sentences below the first figures.

    Raises
    ------
    DataError
        NaN, infinite or non-positive levels, dates that do not ascend or carry a time zone, a baseline on other bars, a folder
        that holds no run, a strategy without the analyzers, an account that never got to its target.
    MissingExtraError
        QuantStats is not installed.
    OutputError
        The file cannot be written there. Nothing is left behind.

    Notes
    -----
    About 5 s for 3000 bars and one target, nearly all of it in QuantStats; the file has about 1 MB.

    >>> from datafeeds import load_sample
    >>> from tracker_strategies import backtest, tearsheet
    >>> page = tearsheet(backtest(load_sample().rows(0, 250), "pa"), "page.html")
    """
    target = Path(path)
    check_page(target)
    record = as_record(run)
    _check_record(record)
    others = [other for baseline in baselines if len((other := _beside(record, baseline)).dates) > 1]
    require_quantstats()
    title = title or f"{record.strategy} tracks {_listed(record.targets)}"
    return write_page(target, _page(record, title, others, attribution_of(run), beside, remarks))


def _beside(record: RunRecord, baseline: RunRecord) -> RunRecord:
    """The scored part of a baseline on the bars of the run; fewer of them when it got to its target later."""
    other = baseline.part
    if record.begins_at_entry and other.dates[0] < record.dates[0]:
        other = other.from_row(int(np.searchsorted(other.dates, record.dates[0])))
    bars = record.dates[-len(other.dates) :] if other.begins_at_entry or len(other.dates) == 1 else record.dates
    if not np.array_equal(other.dates, bars) or other.targets[0] != record.targets[0]:
        raise DataError(f"baseline {other.strategy!r} has other bars or another target than {record.strategy!r}: not comparable")
    if len(other.dates) > 1:
        _check_record(other)
    return other


def _page(
    record: RunRecord,
    title: str,
    baselines: Sequence[RunRecord],
    attribution: Attribution | None,
    beside: str,
    remarks: Sequence[str],
) -> str:
    dates = pd.DatetimeIndex(record.dates)
    span = f"{_day(dates[0])} to {_day(dates[-1])}, {bars_in_words(record.dates)}"
    several = range(len(record.targets)) if len(record.targets) > 1 else ()
    tables = []
    if baselines:
        tables.append((beside, _figures("Run", [(run.strategy, run, None) for run in (record, *baselines)])))
    if several:
        blend = " + ".join(f"{w:.0%} {name}" for w, name in zip(record.blend, record.targets, strict=True))
        own = [(name, record, i) for i, name in enumerate(record.targets)]
        tables.append(("Index by index", _figures("Index", [(blend, record, None), *own])))
    years = manager_tables(record)
    active_words, active = active_tables(record, None if attribution is None else attribution.index_weights)
    attributed = [] if attribution is None else attribution_tables(attribution)
    with charts.chart_style():
        drawn = [
            charts_tracked.growth(record),
            charts_tracked.active(record, baselines),
            charts_tracked.rolling_error(record),
            *(
                chart
                for j in several
                for chart in (charts_tracked.active(record, target=j), charts_tracked.rolling_error(record, j))
            ),
            charts_tracked.trading(record),
            charts_tracked.holdings(record),
            charts_held.weights_over_time(record),
            charts_held.sectors_over_time(record),
            charts_held.names_held(record),
            *charts_held.diagnostics(record),
        ]
    return render(
        "tearsheet.html",
        title=title,
        lead=f"{span}, {len(record.symbols)} candidates. All figures after costs.",
        tiles=_tiles(record),
        tables=tables,
        remarks=remarks,
        causes=attributed[0][1] if attributed else None,
        attributed=attributed[1:],
        attribution_words=EXPLAINED,
        years=years[:2],
        months=years[2:],
        year_words=PERIODS_EXPLAINED,
        first=drawn[:2],
        charts=[chart for chart in drawn[2:] if chart],
        weights=_weights(record),
        active_words=active_words,
        active=active,
        limits=[limits_table(record), goals_table(record)],
        parameters=parameters_of(record),
        year=year_words(record.periods_per_year, record.dates),
        survivors=_may_be_survivors(record),
        strategy=record.strategy,
        performance=[(name, _performance(record, j)) for j, name in enumerate(record.targets)],
    )


def _may_be_survivors(record: RunRecord) -> bool:
    """Whether the excess return may come from names that were chosen with hindsight: there is one in prices that were not
    simulated, the account did not lose, and no name left.
    """
    if simulated(str(record.data.get("source", ""))) or record.growth[-1] <= record.growth[0]:
        return False
    left = any(event["event"] in ("delisted", "settled", "left") for event in (record.whole or record).events)
    return record.metrics()["excess_log_return"] > 0.0 and not left


def _performance(record: RunRecord, target: int) -> Markup:
    """The QuantStats part against one index, on the bars on which it has a level."""
    rows = slice(None) if record.seen is None else record.seen[:, target]
    dates = pd.DatetimeIndex(record.dates[rows])
    value, index = pd.Series(record.growth[rows], dates), pd.Series(record.index[rows, target], dates)
    return quantstats_body(value, index, periods_per_year=record.periods_per_year, number=target)


def _listed(names: Sequence[str]) -> str:
    """A, B and C."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _day(date: pd.Timestamp) -> str:
    return f"{date.day} {date:%b %Y}"


def _tiles(record: RunRecord) -> list[Tile]:
    m, year = record.metrics(), record.periods_per_year
    per = f"per {BarLength.usual(record.dates).word}"
    paid_in = 0.0 if record.flow is None else float(record.flow.sum())
    effective = charts_tracked.effective_names(record.weights[1:])
    r, y = record.scored()
    growth = float(np.prod(1.0 + r)) - 1.0, float(np.prod(1.0 + y)) - 1.0
    index, against = ("index", "the index") if len(record.targets) == 1 else ("blend of the indices", "the blend")
    path = record.excess_path()
    below = drawdown(path)
    deepest = int(below.argmin())
    top = int(path[: deepest + 1].argmax())
    up, down = capture(r, y)
    m |= {"active_drawdown": float(np.expm1(below[deepest])), "up_capture": up, "down_capture": down}
    slope, fit, traded = beta(record), r_squared(record), trading(record)
    m |= {"beta": slope.value, "r_squared": fit.value, "holding_years": traded.holding_years}

    def own(key: str) -> Cell:
        return figure(key, m[key])

    fell = f"against {against}, {_day(pd.Timestamp(record.dates[top]))} to {_day(pd.Timestamp(record.dates[deepest]))}"
    took = "bar" if m["entry_bars"] == 1 else "bars"
    entry = (f"against {against}, in ", own("entry_bars"), f" {took}; bought ", own("entry_turnover"), ", cost ")
    details: dict[str, tuple[Word, ...]] = {
        "te_rms": (f"{per}; {percent(annualised(m['te_rms'], year), 2)} annualised; {in_interval(*interval(r - y), bp)}",),
        "te_centred": (f"{per}; {percent(annualised(m['te_centred'], year), 2)} annualised",),
        "tracking_difference": (f"portfolio {signed_percent(growth[0])}, {index} {signed_percent(growth[1])}",),
        "excess_log_return": (f"{signed_percent(m['excess_log_return'] * year / m['n_bars'])} per year",),
        "final_value": (f"{_from(record)}" + (f"; paid in {paid_in:+,.0f}" if record.flow is not None else ""),),
        "turnover": (
            f"of value {per}, bought plus sold (two-way); {number(100 * traded.two_way)}\u202f% per year, "
            f"one-way {number(100 * traded.one_way)}\u202f%",
        ),
        "cost_bps": (f"{per}; {number(m['cost_bps'] * year)}\u202fbp per year, {record.cost[1:].sum():,.0f} in total",),
        "n_holdings": (f"names on average; {effective.mean():,.1f} effective",),
        "mdte": ("\u221a\u2211e\u00b2\u2009/\u2009T; depends on the number of bars T, here ", own("n_bars")),
        "entry_active_return": (*entry, own("entry_cost_bps"), "; not in other figures"),
        "active_drawdown": (fell if deepest else "always at its maximum",),
        "beta": (in_interval(slope.low, slope.high, EXTRA["beta"][1]),),
        "r_squared": (in_interval(fit.low, fit.high, EXTRA["r_squared"][1]),),
        "holding_years": (holding_words(traded),),
        "up_capture": (f"of {against}'s rises; ", own("down_capture"), " of its falls"),
    }
    return [Tile(label, own(key), details[key]) for key, (label, _) in (FIGURES | EXTRA).items() if key in details]


def _from(record: RunRecord) -> str:
    """What the final value grew from: a part that somebody chose to score ends with the value of the whole run."""
    start = f"from {record.value[0]:,.0f}"
    if record.whole is None or not begins_later(record):
        return start
    return f"of the whole run, from {record.whole.value[0]:,.0f}; {record.value[0]:,.0f} when scoring began"


def _figures(first: str, runs: Sequence[tuple[str, RunRecord, int | None]]) -> Table:
    """One run or index a row."""
    rows: list[list[Word]] = []
    for name, run, target in runs:
        m = run.metrics(target)
        rows.append([name, *(figure(key, m[key], run.periods_per_year) for key in FIGURES)])
    return Table([first, *(label for label, _ in FIGURES.values())], rows, own=(0,), kind="figures")


def _weights(record: RunRecord) -> Table:
    last, mean, peak = record.weights[-1], record.weights[1:].mean(axis=0), record.weights[1:].max(axis=0)
    order = np.argsort(-last, kind="stable")
    shown, rest = order[:TOP_WEIGHTS], order[TOP_WEIGHTS:]
    held = [(record.symbols[i], last[i], mean[i], percent(peak[i], 2)) for i in shown]
    if len(rest):
        held.append((f"{len(rest)} others", last[rest].sum(), mean[rest].sum(), ""))
    held.append(("Cash", 1.0 - last.sum(), 1.0 - mean.sum(), ""))
    widest = max(*(float(end) for _, end, _, _ in held), 1e-12)
    rows: list[list[Word]] = [
        [name, Bar(max(float(end), 0.0) / widest), percent(end, 2), percent(average, 2), highest]
        for name, end, average, highest in held
    ]
    return Table(["Name", "", "At the end", "Mean", "Highest"], rows)


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
        raise DataError(f"{run.strategy}: no bar is scored, {why_unscored(run)}; a tear sheet needs at least one")
