"""What ``tracker fetch`` does: prices from Yahoo into the cache, a report on every series, and a file for the other commands."""

from __future__ import annotations

import io
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.progress import BarColumn, Progress, TimeElapsedColumn
from rich.table import Table

from datafeeds.files import replace_file
from datafeeds.texts import plain
from datafeeds.yahoo.fetching import FetchedPrices, check_choices, fetch_yahoo
from datafeeds.yahoo.patience import Patience
from datafeeds.yahoo.report import FetchError, FetchReport, Outcome
from datafeeds.yahoo.tickers import tickers_of
from tracker_strategies.cli.terminal import Terminal, progress_text, styled
from tracker_strategies.errors import OutputError

if TYPE_CHECKING:
    from datafeeds.yahoo.client import YahooSession

#: Exit codes. What a user can mend (:class:`TrackerError`) ends with 2, as in every command.
COMPLETE, INCOMPLETE, INTERRUPTED = 0, 1, 130
#: A report on more series than this lists only those that are not as they should be.
FULL_TABLE = 30
_WRITERS = {".parquet": "Parquet", ".pq": "Parquet", ".csv": "CSV"}


def run_fetch(
    index: Sequence[str],
    tickers: str,
    start: str,
    end: str | None = None,
    *,
    cache: str | None = None,
    mode: str = "online",
    adjust: str = "split",
    policy: str = "strict",
    keep_delisted: bool = False,
    currency: str | None = None,
    out: str | None = None,
    timeout: float = Patience.timeout,
    retries: int = Patience.retries,
    as_json: bool = False,
    session: YahooSession | None = None,
) -> int:
    """Fetch, report, and write a wide file of closing prices.

    Parameters
    ----------
    index : sequence of str
        Yahoo's tickers of the indices.
    tickers : str
        A file, or a list with commas.
    start, end : str
        Days, both included; without `end` as far as every series goes.
    cache, mode, keep_delisted, currency, timeout, retries
        See :func:`datafeeds.yahoo.fetching.fetch_yahoo` and :class:`datafeeds.yahoo.patience.Patience`.
    adjust, policy
        See :meth:`datafeeds.yahoo.fetching.FetchedPrices.panel`.
    out : str, optional
        A file that ends with ``.parquet`` or ``.csv``; replaced as a whole. Without it the prices stay in the cache only.
    as_json : bool
        Print the report as JSON on stdout, and nothing else there.
    session : YahooSession, optional
        Carries the requests.

    Returns
    -------
    int
        Exit code: 0 when everything that `policy` asks for is there (and written), 1 when series are missing (then nothing is
        written), 130 when interrupted. In each case the cache is whole and keeps what was fetched.

    Raises
    ------
    TrackerError
        The request cannot be carried out at all: a misspelled choice or ticker, an empty list, an unwritable place.
    """
    check_choices(adjust, policy)
    place = None if out is None else _check_file(Path(out).expanduser())
    names = tickers_of(tickers)
    notes = Terminal(stderr=True)
    done = FetchReport()
    try:
        fetched = _fetch_with_progress(
            notes,
            done,
            len(dict.fromkeys(index)) + len(names),
            index=list(index),
            tickers=names,
            start=start,
            end=end,
            cache=cache,
            mode=mode,
            keep_delisted=keep_delisted,
            currency=currency,
            patience=Patience(timeout=timeout, retries=retries),
            session=session,
        )
    except KeyboardInterrupt:
        kept = sum(outcome.status.ok for outcome in done)
        notes.print(f"interrupted: {kept} series are up to date in the cache; run the same command again to continue")
        return INTERRUPTED
    _show(fetched.report, as_json)
    try:
        fetched.check(policy)
    except FetchError as error:
        print(plain(f"FetchError: {error}"), file=sys.stderr)
        return INCOMPLETE
    panel = fetched.panel(adjust=adjust, policy=policy, gaps="freeze")
    wide, remarks = fetched.frames(adjust)
    for remark in remarks[len(fetched.converted()[1]) :]:  # of currencies the panel has told
        notes.print(remark, style="yellow", highlight=False)
    for name, reason in panel.dropped.items():
        notes.print(f"left out  {name}: {reason}", style="yellow", highlight=False)
    span = f"{panel.n_bars} days from {panel.day(0)} to {panel.day(-1)}, {panel.n_assets} assets, {adjust} prices"
    notes.print(span, highlight=False)
    if place is not None:
        close = wide["close"][[*panel.targets, *panel.symbols]]
        _write(close, place)
        holes = not panel.complete and _has_holes(close)
        how = f"--data {place} " + " ".join(f"--index {name}" for name in panel.targets) + (" --gaps freeze" if holes else "")
        notes.print(styled("wrote ", (place, "bold"), f"; use it with: tracker run pa {how}"), soft_wrap=True)
    return COMPLETE


def _fetch_with_progress(notes: Terminal, done: FetchReport, total: int, **request: Any) -> FetchedPrices:
    what, count = progress_text("{task.description}"), progress_text("{task.completed}/{task.total}")
    with Progress(what, BarColumn(), count, TimeElapsedColumn(), console=notes, transient=True) as progress:
        task = progress.add_task("fetching", total=total)

        def step(outcome: Outcome) -> None:
            done.add(outcome)
            progress.update(task, advance=1, description=f"{outcome.ticker} {outcome.status}")

        def wait(seconds: float, reason: str) -> None:
            progress.update(task, description=f"waiting {seconds:.0f} s: {reason}")

        return fetch_yahoo(on_outcome=step, on_wait=wait, **request)


def _show(report: FetchReport, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "ticker": o.ticker,
                "status": str(o.status),
                "ok": o.status.ok,
                "bars": o.bars,
                "first": o.first and o.first.isoformat(),
                "last": o.last and o.last.isoformat(),
                "note": o.note,
            }
            for o in report
        ]
        print(json.dumps(rows, indent=2))
        return
    Terminal().print(report_table(report))


def report_table(report: FetchReport) -> Table:
    """One row per series, and how many there are of each outcome; a long report leaves the plain ones out."""
    counts = Counter(str(outcome.status) for outcome in report)
    caption = f"{len(report)} series: " + ", ".join(f"{n} {status}" for status, n in counts.most_common())
    table = Table(caption=caption, caption_justify="left", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("series", "outcome", "bars", "first", "last", "note"):
        table.add_column(name, justify="right" if name == "bars" else "left", no_wrap=name != "note", overflow="fold")
    for o in report:
        if len(report) <= FULL_TABLE or not o.status.ok or o.status in ("restated", "delisted"):
            colour = "green" if o.status.ok else "red"
            table.add_row(
                styled((o.ticker, "bold")),
                styled((o.status, colour)),
                f"{o.bars}" if o.bars else "-",
                str(o.first or "-"),
                str(o.last or "-"),
                o.note,
            )
    return table


def _check_file(path: Path) -> Path:
    """To fail before minutes of work, not after."""
    if path.suffix.lower() not in _WRITERS:
        raise OutputError(f"the format of {path} is unknown; use a name that ends with .parquet or .csv")
    if path.is_dir():
        raise OutputError(f"cannot write to {path}: it is a folder; choose a file")
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(
            f"cannot write to {path}: {folder} is {'not writable' if folder.is_dir() else 'not a folder'}; choose another folder"
        )
    return path


def _write(close: pd.DataFrame, path: Path) -> None:
    buffer = io.BytesIO()
    if _WRITERS[path.suffix.lower()] == "CSV":
        close.to_csv(buffer, index_label="date")
    else:
        close.to_parquet(buffer)
    try:
        replace_file(path, buffer.getvalue())
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror}); an older file there is unchanged") from None


def _has_holes(close: pd.DataFrame) -> bool:
    """Whether a price is missing between two others."""
    known = close.notna()
    return bool((~known & known.cummax() & known[::-1].cummax()[::-1]).any(axis=None))
