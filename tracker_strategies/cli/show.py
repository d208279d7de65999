"""What finished runs are shown as: a table in the terminal, a comparison page, a tear sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill

import typer
from rich.table import Table

from datafeeds.files import json_text
from tracker_strategies.analysis.breaches import limits_told
from tracker_strategies.analysis.goals import goals_of, goals_told
from tracker_strategies.analysis.inference.runs import differences, judge_runs
from tracker_strategies.analysis.inference.verdicts import Judged
from tracker_strategies.analysis.pages.judged import EXPLAINED, p_words, reference_of
from tracker_strategies.analysis.pages.page import check_page
from tracker_strategies.analysis.pages.words import unscored
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.runfolder import SHEET, read_run
from tracker_strategies.cli.options import is_run_folder
from tracker_strategies.cli.terminal import Terminal, styled
from tracker_strategies.errors import MissingExtraError, ParameterError

#: Where a long name goes on in the next line, in a terminal that is not as wide as this.
NAME_WIDTH, ROOMY = 14, 100


def show_runs(records: Sequence[RunRecord], setting: str, *, page: str | None, as_json: bool, against: str | None = None) -> None:
    """Metrics as JSON or as a table, which run is better, and the comparison page if one is wanted."""
    shown = {r.strategy: r for r in records if len(r.part.dates) > 1}
    judged, notes = _judged(shown, against)
    if as_json:
        metrics = {r.strategy: r.metrics_by_target() for r in records}
        for name, run in judged.items():
            metrics[name]["judged"] = run.told()
        print(json_text(metrics[records[0].strategy] if len(records) == 1 else metrics))
    else:
        Terminal().print(metrics_table(records, setting))
        kept = [f"{r.strategy}: {limits_told(r.breaches, len(r.dates))}." for r in records if r.breaches is not None]
        for sentence in (*kept, *(words for r in records for words in goals_told(r.strategy, goals_of(r)))):
            Terminal().print(sentence, highlight=False, soft_wrap=True)
        if judged:
            print_judged(judged, notes)
    console = Terminal(stderr=True)
    for words in unscored(records):
        console.print(words, style="yellow", highlight=False, soft_wrap=True)
    if page is not None and shown:
        from tracker_strategies.analysis.pages.comparison_page import comparison

        place = comparison(shown, page, lead=setting, against=against if against in shown else None)
        console.print(styled("page  ", (place, "bold"), "  (open it in a browser)"), soft_wrap=True)


def _judged(shown: Mapping[str, RunRecord], against: str | None) -> tuple[Mapping[str, Judged], list[str]]:
    """Which of several runs is better, and in what they differ; of one run, nothing."""
    if len(shown) < 2:
        return {}, []
    notes = differences(shown)
    if against is not None and against not in shown:
        notes.append(f"No bar of the reference {against} is scored; the others are compared with {next(iter(shown))}.")
        against = None
    return judge_runs(shown, against), notes


def compare_folders(names: Sequence[str], *, page: str | None, as_json: bool, against: str | None = None) -> None:
    """``tracker compare RUN RUN ...``: runs that were written before, under the names of their folders."""
    other = [name for name in names if not is_run_folder(name)]
    if other:
        raise ParameterError(f"{other[0]!r} is not a run folder, but {names[0]!r} is one: compare either strategies or folders")
    from tracker_strategies.analysis.pages.comparison_page import Field

    if page is not None:
        check_page(Path(page).expanduser())
    labels = [Path(name).expanduser().resolve().name for name in names]
    labels = [label if labels.count(label) == 1 else name for label, name in zip(labels, names, strict=True)]
    if against is not None and against not in labels:
        if against not in names:
            raise ParameterError(f"--against {against} is not the name of a run; choose one of {', '.join(labels)}")
        against = labels[names.index(against)]
    records = [replace(read_run(name), strategy=label) for name, label in zip(names, labels, strict=True)]
    if shown := {r.strategy: r for r in records if len(r.dates) > 1}:
        Field.of(shown)  # refuses runs that cannot be compared
    first, last = (str(records[0].dates[i].astype("datetime64[D]")) for i in (0, -1))
    show_runs(
        records,
        f"{' + '.join(records[0].targets)}, {first} to {last}, {len(records[0].dates) - 1} bars.",
        page=page,
        as_json=as_json,
        against=against,
    )


def tearsheet_command(run: str, out: str | None) -> None:
    """``tracker tearsheet``."""
    from tracker_strategies.analysis.pages.tear_sheet import tearsheet

    place = tearsheet(run, Path(run).expanduser() / SHEET if out is None else Path(out).expanduser())
    Terminal().print(styled("tear sheet  ", (place, "bold"), "  (open it in a browser)"), soft_wrap=True)


def draw_sheets(
    records: Sequence[RunRecord],
    places: Mapping[str, Path],
    *,
    baselines: Sequence[RunRecord],
    console: Terminal,
) -> list[Path]:
    """The tear sheet of each run into its folder, where the data are already; return those that were drawn.

    The records are the scored parts of the runs. What goes wrong with a page is told on one line each. It costs no run: without
    QuantStats there is no page, and a page that fails leaves the others, the data, and exit code 1.
    """
    from tracker_strategies.analysis.pages.tear_sheet import tearsheet

    drawn, failed = [], False

    def say(words: str) -> None:
        console.print(words, highlight=False, soft_wrap=True)

    for record in records:
        place = places[record.strategy]
        if len(record.dates) < 2:
            continue  # no bar is scored: the table has said so
        beside = [other for other in baselines if other is not record]
        try:
            with console.status(f"drawing the tear sheet of {record.strategy} ..."):
                drawn.append(tearsheet(record, place / SHEET, baselines=beside))
        except MissingExtraError as problem:
            say(f"no tear sheet: {problem}; then draw it with: tracker tearsheet {place}")
            return drawn
        except KeyboardInterrupt:
            say(f"stopped while drawing; the runs are written. Draw the page later: tracker tearsheet {place}")
            raise
        except Exception as problem:  # whatever it is, the run is not lost
            failed = True
            say(f"no tear sheet of {record.strategy}: {type(problem).__name__}: {problem}. The run is written: {place}")
    if failed:
        raise typer.Exit(1)
    return drawn


def metrics_table(records: Sequence[RunRecord], setting: str) -> Table:
    """The headline figures, one row per strategy; fits a terminal of 80 columns."""
    caption = f"{setting} TE: tracking error, RMS (ctr: centred). TE, turnover and cost are per bar."
    table = Table(caption=caption, caption_justify="left", box=None, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("strategy", style="bold", no_wrap=True)
    for name in (
        "TE\nbp",
        "TE ctr\nbp",
        "tracking\ndiff. %",
        "excess\nlog",
        "turnover\n%",
        "cost\nbp",
        "names",
        "final\nvalue",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for record in records:
        m = record.metrics()
        table.add_row(
            record.strategy,
            _cell(1e4 * m["te_rms"], ".2f"),
            _cell(1e4 * m["te_centred"], ".2f"),
            _cell(100 * m["tracking_difference"], "+.1f"),
            _cell(m["excess_log_return"], "+.3f"),
            _cell(100 * m["turnover"], ".2f"),
            _cell(m["cost_bps"], ".3f"),
            _cell(m["n_holdings"], ".1f"),
            _cell(m["final_value"], ",.0f"),
        )
    return table


def _cell(value: float, form: str) -> str:
    """A figure, or a dash where there is none."""
    return format(value, form) if math.isfinite(value) else "-"


def print_judged(judged: Mapping[str, Judged], notes: Sequence[str] = (), title: str = "") -> None:
    """In what the runs differ, then which is better."""
    console = Terminal()
    for words in notes:
        console.print(words, style="yellow", highlight=False, soft_wrap=True)
    console.print(judged_table(judged, title, console.width))


def judged_table(judged: Mapping[str, Judged], title: str = "", width: int = 80) -> Table:
    """Tracking errors with intervals, and each run against the reference; fits a terminal of 80 columns, in which long names go
    on after a hyphen or a space.
    """
    room = NAME_WIDTH if width < ROOMY else width
    table = Table(
        title=title or None,
        title_justify="left",
        caption=f"* cannot be distinguished from the best. {EXPLAINED}",
        caption_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        header_style="dim",
    )
    table.add_column("strategy", style="bold", overflow="fold", min_width=NAME_WIDTH)
    for name in ("TE\nbp", "95 %\ninterval", f"ahead of\n{fill(reference_of(judged), room)}", "95 %\ninterval", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict")
    for run in judged.values():
        name = fill(f"{run.name}{' *' if run.among_best else ''}", room)
        own = name, _bp(run.figure), f"{_bp(run.low)}..{_bp(run.high)}"
        v = run.versus
        ahead = (
            ("", "", "") if v is None else (_bp(v.delta, "+"), f"{_bp(v.low, '+')}..{_bp(v.high, '+')}", p_words(v.p_adjusted))
        )
        table.add_row(*own, *ahead, run.verdict)
    return table


def _bp(value: float, sign: str = "") -> str:
    """Basis points with two decimals, or fewer where there are more than two digits before them."""
    if not math.isfinite(value):
        return "-"
    places = 2 if abs(value) < 99.995e-4 else 1 if abs(value) < 999.95e-4 else 0
    return f"{1e4 * value:{sign}.{places}f}"


def export_command(run: str, formats: Sequence[str], out: str | None) -> None:
    """``tracker export``."""
    if not formats:
        raise ParameterError("no format is given; add --csv, --xlsx, or both")
    from tracker_strategies.analysis.exporting import export_run

    console = Terminal(stderr=True)
    for place in export_run(run, formats, out):
        console.print(styled("wrote ", (place, "bold")), soft_wrap=True)
